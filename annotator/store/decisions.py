"""What reviewers decide about pairs, and the pairs they open again; append-only both.

A re-opening says up to which judgment and decision it reaches: those stay as they are, but settle nothing until
somebody judges the pair anew or a reviewer decides.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from annotator.model import Adjudication
from annotator.store import judged_texts
from annotator.store.database import now
from annotator.store.judgments import evidence_json, read_evidence

__all__ = ["Reopening", "append", "in_force", "known", "reopen", "reopened", "revision"]


@dataclass(frozen=True, slots=True)
class Reopening:
    """Who opened a pair again, why and when (UTC)."""

    query_id: str
    chunk_id: str
    reviewer: str
    reason: str
    reopened_at: str = ""
    operation_id: str = ""


def append(connection: sqlite3.Connection, new: Adjudication) -> bool:
    """Record a reviewer's decision; False when its operation was recorded before."""
    if known(connection, new.operation_id):
        return False
    judged_texts.keep(connection, new.chunk_id, new.sha256)
    connection.execute(
        "INSERT INTO adjudications (operation_id, query_id, chunk_id, reviewer, grade, stale, reason, evidence, sha256,"
        " decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.operation_id,
            new.query_id,
            new.chunk_id,
            new.reviewer,
            new.grade,
            int(new.stale),
            new.reason,
            evidence_json(new.evidence),
            new.sha256,
            new.decided_at or now(),
        ),
    )
    return True


def known(connection: sqlite3.Connection, operation_id: str) -> bool:
    """Say whether the decision made by this operation was recorded."""
    found = connection.execute("SELECT 1 FROM adjudications WHERE operation_id = ?", (operation_id,))
    return found.fetchone() is not None


def in_force(connection: sqlite3.Connection, query_id: str = "") -> Iterator[Adjudication]:
    """Yield every decision not re-opened or set aside since, oldest first; the last one of a pair is in force."""
    where, values = _of(query_id)
    sql = (
        f"SELECT * FROM adjudications a {where} AND NOT EXISTS (SELECT 1 FROM reopenings r"
        " WHERE r.query_id = a.query_id AND r.chunk_id = a.chunk_id AND r.after_adjudication >= a.adjudication_id)"
        " AND NOT EXISTS (SELECT 1 FROM set_aside s WHERE s.query_id = a.query_id AND s.chunk_id = a.chunk_id"
        " AND s.sha256 = a.sha256 AND s.last_adjudication >= a.adjudication_id)"
        " ORDER BY adjudication_id"
    )
    for row in connection.execute(sql, values):
        yield Adjudication(
            query_id=row["query_id"],
            chunk_id=row["chunk_id"],
            reviewer=row["reviewer"],
            grade=row["grade"],
            stale=bool(row["stale"]),
            reason=row["reason"],
            evidence=read_evidence(row["evidence"]),
            sha256=row["sha256"],
            decided_at=row["decided_at"],
            operation_id=row["operation_id"],
        )


def reopen(connection: sqlite3.Connection, new: Reopening) -> None:
    """Record that a pair is open again."""
    connection.execute(
        "INSERT INTO reopenings (operation_id, query_id, chunk_id, reviewer, reason, reopened_at, after_judgment,"
        " after_adjudication) VALUES (?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(judgment_id), 0) FROM judgments),"
        " (SELECT COALESCE(MAX(adjudication_id), 0) FROM adjudications))",
        (new.operation_id, new.query_id, new.chunk_id, new.reviewer, new.reason, new.reopened_at or now()),
    )


def reopened(connection: sqlite3.Connection, query_id: str = "") -> dict[tuple[str, str], Reopening]:
    """Return (query_id, chunk_id) → re-opening of the pairs that still wait, of one query or of all."""
    where, values = _of(query_id)
    rows = connection.execute(f"SELECT * FROM reopened {where} ORDER BY reopening_id", values)
    return {
        (row["query_id"], row["chunk_id"]): Reopening(
            row["query_id"], row["chunk_id"], row["reviewer"], row["reason"], row["reopened_at"], row["operation_id"]
        )
        for row in rows
    }


def revision(connection: sqlite3.Connection, query_id: str, chunk_id: str) -> str:
    """Return a text that is another one as soon as anybody judges, undoes, decides or re-opens the pair.

    "" for a pair about which nothing stands.
    """
    pair = (query_id, chunk_id)
    sql = "SELECT judgment_id FROM current_judgments WHERE query_id = ? AND chunk_id = ? ORDER BY judgment_id"
    judged = ",".join(str(row[0]) for row in connection.execute(sql, pair))
    decided, opened = connection.execute(
        "SELECT (SELECT MAX(adjudication_id) FROM adjudications WHERE query_id = ?1 AND chunk_id = ?2),"
        " (SELECT MAX(reopening_id) FROM reopenings WHERE query_id = ?1 AND chunk_id = ?2)",
        pair,
    ).fetchone()
    return f"{judged}/{decided or ''}/{opened or ''}" if judged or decided else ""


def _of(query_id: str) -> tuple[str, tuple[str, ...]]:
    return ("WHERE query_id = ?", (query_id,)) if query_id else ("WHERE TRUE", ())
