"""Where chunks stand in their documents: order, place and the chunks next to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from annotator.model import Chunk

__all__ = ["adjacent_ids", "document_ids", "places"]


def document_ids(connection: sqlite3.Connection, doc_id: str) -> list[str]:
    """Return the ids of a document's chunks in order; none for the empty id."""
    if not doc_id:
        return []
    rows = connection.execute("SELECT chunk_id FROM chunks WHERE doc_id = ? ORDER BY position, row", (doc_id,))
    return [row[0] for row in rows]


def places(connection: sqlite3.Connection, chunks: Iterable[Chunk]) -> dict[str, tuple[int, int]]:
    """Return chunk id → (place in its document counted from 1, chunks of the document); chunks of no document lack."""
    found: dict[str, tuple[int, int]] = {}
    wanted: dict[str, set[str]] = {}
    for chunk in chunks:
        wanted.setdefault(chunk.doc_id, set()).add(chunk.chunk_id)
    for doc_id, ids in wanted.items():
        order = document_ids(connection, doc_id)
        found.update({one: (at, len(order)) for at, one in enumerate(order, 1) if one in ids})
    return found


def adjacent_ids(connection: sqlite3.Connection, chunk: Chunk) -> tuple[str, str]:
    """Return the ids of the chunk before and after in the document, "" where there is none."""
    order = document_ids(connection, chunk.doc_id)
    if chunk.chunk_id not in order:
        return "", ""
    at = order.index(chunk.chunk_id)
    return (order[at - 1] if at else "", order[at + 1] if at + 1 < len(order) else "")
