"""Judgments: an append-only record with a current view, one row per query, chunk and annotator.

Saving is idempotent by operation id. Undo appends too: it restores what stood before. The text that was judged is
kept by `judged_texts.py`, what is still being written by `drafts.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from annotator.errors import Conflict, NotFound
from annotator.model import Evidence, Judgment
from annotator.store import drafts, judged_texts
from annotator.store.database import now

__all__ = [
    "Undoable",
    "append",
    "as_of",
    "counts",
    "current",
    "evidence_json",
    "history",
    "of_pairs",
    "read_evidence",
    "state",
    "undo",
    "undoable",
]

_UNDOABLE = 50
_decode_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode

_COLUMNS = (
    "j.query_id, j.chunk_id, j.annotator, j.grade, j.stale, j.reason, j.evidence, j.sha256, j.judged_at,"
    " j.operation_id, j.seconds, j.origin"
)


@dataclass(frozen=True, slots=True)
class Undoable:
    """A judgment that can still be taken back, and the one it replaced (None: nothing stood before)."""

    operation_id: str
    chunk_id: str
    before: Judgment | None


def append(connection: sqlite3.Connection, new: Judgment) -> bool:
    """Record a judgment and make it the current one; False when its operation was recorded before.

    Raises Conflict when the text that was read is neither the chunk's present text nor kept from an earlier
    judgment: then nobody could ever see again what was judged.
    """
    if _known(connection, new.operation_id):
        return False
    judged_texts.keep(connection, new.chunk_id, new.sha256)
    replaced = _current_id(connection, new.query_id, new.chunk_id, new.annotator)
    _insert(connection, new, withdrawn=False, replaces=replaced, undoes=None)
    drafts.drop(connection, new.query_id, new.chunk_id, new.annotator)
    return True


def undo(connection: sqlite3.Connection, annotator: str, target: str, operation_id: str) -> bool:
    """Restore what stood before the judgment with operation id `target`; False when done before.

    Raises Conflict when something newer stands on the same pair.
    """
    if _known(connection, operation_id):
        return False
    row = connection.execute(
        f"SELECT j.judgment_id, j.replaces, {_COLUMNS} FROM judgments j WHERE operation_id = ? AND annotator = ?",
        (target, annotator),
    ).fetchone()
    if row is None:
        raise NotFound("There is nothing to undo: that label was not found.")
    current_id = _current_id(connection, row["query_id"], row["chunk_id"], annotator)
    if _stands_for(connection, current_id) != row["judgment_id"]:
        raise Conflict("That label was changed since, so it cannot be undone.", hint="Grade the chunk again instead.")
    before = _row(connection, row["replaces"])
    taken = _judgment(before if before is not None else row, operation_id=operation_id, judged_at=now(), origin="undo")
    _insert(connection, taken, withdrawn=before is None, replaces=current_id, undoes=row["judgment_id"])
    return True


def undoable(connection: sqlite3.Connection, query_id: str, annotator: str) -> list[Undoable]:
    """Return the person's judgments on the query that can be undone one after the other, newest first."""
    # Found by going back from those in force: what a person ever said would be too much to look through.
    rows = connection.execute(
        """WITH RECURSIVE back (at) AS (
            SELECT judgment_id FROM current_judgments WHERE query_id = ? AND annotator = ?
            UNION SELECT replaces FROM back CROSS JOIN judgments ON judgment_id = at WHERE replaces IS NOT NULL)
        SELECT j.operation_id, j.chunk_id, j.replaces FROM back CROSS JOIN judgments j ON j.judgment_id = at
        WHERE j.undoes IS NULL AND j.origin = 'annotate'
        AND NOT EXISTS (SELECT 1 FROM judgments u WHERE u.undoes = j.judgment_id)
        ORDER BY j.judgment_id DESC LIMIT ?""",
        (query_id, annotator, _UNDOABLE),
    ).fetchall()
    befores = [(row, _row(connection, row["replaces"])) for row in rows]
    return [
        Undoable(row["operation_id"], row["chunk_id"], None if before is None else _judgment(before))
        for row, before in befores
    ]


def current(
    connection: sqlite3.Connection, *, query_id: str = "", annotator: str = "", query_ids: Iterable[str] | None = None
) -> Iterator[Judgment]:
    """Yield the judgments in force, by query, chunk and annotator; of one query, one person or some queries."""
    where, values = _where({"c.query_id": query_id, "c.annotator": annotator})
    if query_ids is not None:
        where += f"{' AND' if where else 'WHERE'} c.query_id IN (SELECT value FROM json_each(?))"
        values = (*values, json.dumps(list(query_ids)))
    yield from (
        _judgment(row)
        for row in connection.execute(
            f"SELECT {_COLUMNS} FROM current_judgments c JOIN judgments j USING (judgment_id) {where}"
            " ORDER BY c.query_id, c.chunk_id, c.annotator",
            values,
        )
    )


def as_of(connection: sqlite3.Connection, query_id: str, annotator: str, judgment_id: int) -> list[Judgment]:
    """Return the person's labels of the query as they stood after that judgment of the workspace, by chunk.

    Found by going back from those in force; what was taken back altogether since is not among them.
    """
    rows = connection.execute(
        f"""WITH RECURSIVE back (at) AS (
            SELECT judgment_id FROM current_judgments WHERE query_id = ? AND annotator = ?
            UNION SELECT replaces FROM back JOIN judgments ON judgment_id = at WHERE at > ? AND replaces IS NOT NULL)
        SELECT {_COLUMNS} FROM back JOIN judgments j ON j.judgment_id = at
        WHERE at <= ? AND j.withdrawn = 0 ORDER BY j.chunk_id""",
        (query_id, annotator, judgment_id, judgment_id),
    )
    return [_judgment(row) for row in rows]


def of_pairs(connection: sqlite3.Connection, pairs: Iterable[tuple[str, str]]) -> Iterator[Judgment]:
    """Yield the judgments in force of these (query_id, chunk_id), each pair's by annotator."""
    sql = f"""SELECT {_COLUMNS} FROM json_each(?) pair
        CROSS JOIN current_judgments c ON c.query_id = json_extract(pair.value, '$[0]')
            AND c.chunk_id = json_extract(pair.value, '$[1]')
        JOIN judgments j USING (judgment_id) ORDER BY pair.key, c.annotator"""
    rows = connection.execute(sql, (json.dumps(list(pairs)),))
    yield from (_judgment(row) for row in rows)


def counts(connection: sqlite3.Connection, query_id: str, annotator: str) -> tuple[int, int]:
    """Return how many chunks the person judged for the query, and how many of them with a grade of 1-3."""
    judged, relevant = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(j.grade > 0), 0) FROM current_judgments c JOIN judgments j USING (judgment_id)"
        " WHERE c.query_id = ? AND c.annotator = ?",
        (query_id, annotator),
    ).fetchone()
    return judged, relevant


def state(connection: sqlite3.Connection) -> str:
    """Return a text that is another one as soon as any judgment or question changed."""
    judged, asked = connection.execute(
        "SELECT (SELECT MAX(judgment_id) FROM judgments), (SELECT MAX(event_id) FROM events)"
    ).fetchone()
    return f"{judged}/{asked}"


def history(connection: sqlite3.Connection, query_id: str, chunk_id: str) -> list[Judgment]:
    """Return everything ever recorded for the pair, oldest first, undone ones included."""
    sql = f"SELECT {_COLUMNS} FROM judgments j WHERE j.query_id = ? AND j.chunk_id = ? ORDER BY j.judgment_id"
    return [_judgment(row) for row in connection.execute(sql, (query_id, chunk_id))]


def evidence_json(evidence: Sequence[Evidence]) -> str:
    """Write evidence as the JSON kept in the database."""
    spans = [{"quote": one.quote, "start": one.start, "end": one.end} for one in evidence]
    return json.dumps(spans, ensure_ascii=False)


def read_evidence(text: str) -> tuple[Evidence, ...]:
    """Return the evidence kept as JSON."""
    if text == "[]":  # most have none
        return ()
    return _decode_evidence(text)


def _known(connection: sqlite3.Connection, operation_id: str) -> bool:
    return connection.execute("SELECT 1 FROM judgments WHERE operation_id = ?", (operation_id,)).fetchone() is not None


def _current_id(connection: sqlite3.Connection, query_id: str, chunk_id: str, annotator: str) -> int | None:
    row = connection.execute(
        "SELECT judgment_id FROM current_judgments WHERE query_id = ? AND chunk_id = ? AND annotator = ?",
        (query_id, chunk_id, annotator),
    ).fetchone()
    return None if row is None else int(row[0])


def _stands_for(connection: sqlite3.Connection, judgment_id: int | None) -> int | None:
    """Follow undo rows to the judgment they restored."""
    while judgment_id is not None:
        row = connection.execute("SELECT undoes FROM judgments WHERE judgment_id = ?", (judgment_id,)).fetchone()
        if row["undoes"] is None:
            return judgment_id
        undone = connection.execute("SELECT replaces FROM judgments WHERE judgment_id = ?", (row["undoes"],)).fetchone()
        judgment_id = undone["replaces"]
    return None


def _row(connection: sqlite3.Connection, judgment_id: int | None) -> sqlite3.Row | None:
    if judgment_id is None:
        return None
    row: sqlite3.Row | None = connection.execute(
        f"SELECT {_COLUMNS} FROM judgments j WHERE judgment_id = ?", (judgment_id,)
    ).fetchone()
    return row


def _insert(
    connection: sqlite3.Connection, new: Judgment, *, withdrawn: bool, replaces: int | None, undoes: int | None
) -> None:
    connection.execute(
        "INSERT INTO judgments (operation_id, query_id, chunk_id, annotator, withdrawn, grade, stale, reason, evidence,"
        " sha256, judged_at, seconds, origin, replaces, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.operation_id,
            new.query_id,
            new.chunk_id,
            new.annotator,
            int(withdrawn),
            new.grade,
            int(new.stale),
            new.reason,
            evidence_json(new.evidence),
            new.sha256,
            new.judged_at or now(),
            new.seconds,
            new.origin,
            replaces,
            undoes,
        ),
    )


def _judgment(row: sqlite3.Row, **changed: str) -> Judgment:
    values = {
        "operation_id": row["operation_id"],
        "judged_at": row["judged_at"],
        "origin": row["origin"],
    } | changed
    return Judgment(
        query_id=row["query_id"],
        chunk_id=row["chunk_id"],
        annotator=row["annotator"],
        grade=row["grade"],
        stale=bool(row["stale"]),
        reason=row["reason"],
        evidence=read_evidence(row["evidence"]),
        sha256=row["sha256"],
        seconds=row["seconds"],
        **values,
    )


def _where(wanted: dict[str, str]) -> tuple[str, tuple[str, ...]]:
    given = {column: value for column, value in wanted.items() if value}
    return ("WHERE " + " AND ".join(f"{column} = ?" for column in given) if given else ""), tuple(given.values())
