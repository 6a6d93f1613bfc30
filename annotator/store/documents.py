"""Where chunks stand in their documents: order, place and the chunks next to them."""

from __future__ import annotations

import json
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
    wanted: dict[str, list[str]] = {}
    for chunk in chunks:
        if chunk.doc_id:
            wanted.setdefault(chunk.doc_id, []).append(chunk.chunk_id)
    for doc_id, ids in wanted.items():
        order = _rows(connection, doc_id)
        place_of = {row: place for place, row in enumerate(order, 1)}
        sql = "SELECT chunk_id, row FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"
        for chunk_id, row in connection.execute(sql, (json.dumps(ids),)):
            if row in place_of:
                found[chunk_id] = (place_of[row], len(order))
    return found


def adjacent_ids(connection: sqlite3.Connection, chunk: Chunk) -> tuple[str, str]:
    """Return the ids of the chunk before and after in the document, "" where there is none."""
    order = _rows(connection, chunk.doc_id) if chunk.doc_id else []
    own = connection.execute("SELECT row FROM chunks WHERE chunk_id = ?", (chunk.chunk_id,)).fetchone()
    if own is None or own[0] not in order:
        return "", ""
    at = order.index(own[0])
    beside = (order[at - 1] if at else 0, order[at + 1] if at + 1 < len(order) else 0)
    ids = dict(map(tuple, connection.execute("SELECT row, chunk_id FROM chunks WHERE row IN (?, ?)", beside)))
    return ids.get(beside[0], ""), ids.get(beside[1], "")


def _rows(connection: sqlite3.Connection, doc_id: str) -> list[int]:
    """Return the rows of a document's chunks in order: the index alone knows them, however long the document is."""
    rows = connection.execute("SELECT row FROM chunks WHERE doc_id = ? ORDER BY position, row", (doc_id,))
    return [row[0] for row in rows]
