"""Reasons and evidence that are still being written: kept at once, never part of the record."""

from __future__ import annotations

import sqlite3

from annotator.store.database import now

__all__ = ["drop", "of", "put"]


def put(
    connection: sqlite3.Connection, query_id: str, chunk_id: str, annotator: str, reason: str, evidence: str
) -> None:
    """Keep an unfinished reason and its evidence (JSON); an empty one is dropped."""
    if not reason and evidence in ("", "[]"):
        drop(connection, query_id, chunk_id, annotator)
        return
    connection.execute(
        "INSERT INTO drafts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason,"
        " evidence = excluded.evidence, written_at = excluded.written_at",
        (query_id, chunk_id, annotator, reason, evidence or "[]", now()),
    )


def drop(connection: sqlite3.Connection, query_id: str, chunk_id: str, annotator: str) -> None:
    """Forget the unfinished reason for one chunk, as once it is graded."""
    connection.execute(
        "DELETE FROM drafts WHERE query_id = ? AND chunk_id = ? AND annotator = ?", (query_id, chunk_id, annotator)
    )


def of(connection: sqlite3.Connection, query_id: str, annotator: str) -> dict[str, tuple[str, str]]:
    """Return chunk id → (reason, evidence JSON) of the person's unfinished reasons for the query."""
    rows = connection.execute(
        "SELECT chunk_id, reason, evidence FROM drafts WHERE query_id = ? AND annotator = ?", (query_id, annotator)
    )
    return {row[0]: (row[1], row[2]) for row in rows}
