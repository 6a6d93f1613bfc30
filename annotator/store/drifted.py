"""Labels whose text is gone from the table: set aside once dealt with, and the proposals to carry them over.

Setting aside appends: the judgments and decisions about the text stay on record and only leave the current view.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from annotator.errors import NotFound
from annotator.model import Evidence
from annotator.store.database import now
from annotator.store.judgments import evidence_json, read_evidence

__all__ = ["StoredProposal", "decide", "open_proposals", "proposal", "propose", "set_aside"]

_FIELDS = (
    "proposal_id, query_id, chunk_id, sha256, to_chunk_id, to_sha256, grade, stale, reason, evidence, from_grade,"
    " from_evidence, score, how, decision"
)


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """A proposal to label `to_chunk_id` as (`query_id`, `chunk_id`) was labelled on the text `sha256`.

    `from_grade` and `from_evidence` are those of that label.
    """

    query_id: str
    chunk_id: str
    sha256: str
    to_chunk_id: str
    to_sha256: str
    grade: int
    stale: bool
    reason: str
    evidence: tuple[Evidence, ...]
    from_grade: int
    from_evidence: tuple[Evidence, ...]
    score: float
    how: str
    proposal_id: int = 0
    decision: str | None = None


def set_aside(
    connection: sqlite3.Connection, query_id: str, chunk_id: str, sha256: str, *, action: str, who: str, reason: str
) -> None:
    """Take everything said about this text of the pair out of force; `action` is "dropped" or "carried"."""
    connection.execute(
        "INSERT INTO set_aside (query_id, chunk_id, sha256, action, who, reason, at, last_adjudication)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(adjudication_id), 0) FROM adjudications))",
        (query_id, chunk_id, sha256, action, who, reason, now()),
    )


def propose(connection: sqlite3.Connection, who: str, new: Iterable[StoredProposal]) -> int:
    """Record proposals in place of the undecided ones; returns how many are open now.

    Those decided before stay decided, and of a label that was carried in part the rest stays open.
    """
    connection.execute(
        "DELETE FROM carry_proposals AS p WHERE decision IS NULL AND NOT EXISTS (SELECT 1 FROM carry_proposals other"
        " WHERE other.query_id = p.query_id AND other.chunk_id = p.chunk_id AND other.sha256 = p.sha256"
        " AND other.decision = 'accepted')"
    )
    connection.executemany(
        "INSERT OR IGNORE INTO carry_proposals (query_id, chunk_id, sha256, to_chunk_id, to_sha256, grade, stale,"
        " reason, evidence, from_grade, from_evidence, score, how, proposed_by, proposed_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                *(one.query_id, one.chunk_id, one.sha256, one.to_chunk_id, one.to_sha256, one.grade, int(one.stale)),
                *(one.reason, evidence_json(one.evidence), one.from_grade, evidence_json(one.from_evidence)),
                *(one.score, one.how, who, now()),
            )
            for one in new
        ),
    )
    return int(connection.execute("SELECT COUNT(*) FROM carry_proposals WHERE decision IS NULL").fetchone()[0])


def open_proposals(connection: sqlite3.Connection) -> Iterator[StoredProposal]:
    """Yield the undecided proposals whose new chunk still stands as it was proposed, best first within each label."""
    rows = connection.execute(
        f"SELECT {_FIELDS} FROM carry_proposals p WHERE decision IS NULL AND EXISTS (SELECT 1 FROM chunks c"
        " WHERE c.chunk_id = p.to_chunk_id AND c.sha256 = p.to_sha256)"
        " ORDER BY query_id, chunk_id, sha256, score DESC, proposal_id"
    )
    yield from map(_proposal, rows)


def proposal(connection: sqlite3.Connection, proposal_id: int) -> StoredProposal:
    """Return one proposal. Raises NotFound, as after a search that no longer proposes it."""
    row = connection.execute(f"SELECT {_FIELDS} FROM carry_proposals WHERE proposal_id = ?", (proposal_id,)).fetchone()
    if row is None:
        raise NotFound("That proposal is no longer there.", hint="Look at the list again.")
    return _proposal(row)


def decide(connection: sqlite3.Connection, proposal_id: int, decision: str, who: str) -> None:
    """Note what became of a proposal: "accepted" or "refused"."""
    connection.execute(
        "UPDATE carry_proposals SET decision = ?, decided_by = ?, decided_at = ? WHERE proposal_id = ?",
        (decision, who, now(), proposal_id),
    )


def _proposal(row: sqlite3.Row) -> StoredProposal:
    values = dict(row)
    values["stale"] = bool(values["stale"])
    for name in ("evidence", "from_evidence"):
        values[name] = read_evidence(values[name])
    return StoredProposal(**values)
