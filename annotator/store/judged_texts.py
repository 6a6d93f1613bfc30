"""Every text anybody ever judged, as it was read: kept under its hash, whatever later happens to the chunk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator

from annotator.errors import Conflict
from annotator.model import Chunk
from annotator.store.database import now

__all__ = ["chunks", "keep"]


def keep(connection: sqlite3.Connection, chunk_id: str, sha256: str) -> None:
    """Keep the chunk as it was read, under the hash of its text. Raises Conflict when that text is gone."""
    known = connection.execute("SELECT 1 FROM judged_chunks WHERE chunk_id = ? AND sha256 = ?", (chunk_id, sha256))
    if known.fetchone():
        return
    live = connection.execute("SELECT * FROM chunks WHERE chunk_id = ? AND sha256 = ?", (chunk_id, sha256)).fetchone()
    if live is None:
        raise Conflict(
            f"The chunk {chunk_id!r} was changed or removed after you opened it, so the label was not saved.",
            hint="Read its present text, then grade it again.",
        )
    connection.execute("INSERT OR IGNORE INTO judged_texts VALUES (?, ?)", (sha256, live["text"]))
    connection.execute(
        "INSERT OR IGNORE INTO judged_chunks VALUES (?, ?, ?, ?, ?, ?, ?)",
        (chunk_id, sha256, live["doc_id"], live["title"], live["position"], live["metadata"], now()),
    )


def chunks(connection: sqlite3.Connection, keys: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Chunk]]:
    """Yield (sha256, chunk as judged) for each known (chunk_id, sha256)."""
    for chunk_id, sha256 in keys:
        row = connection.execute(
            "SELECT * FROM judged_chunks JOIN judged_texts USING (sha256) WHERE chunk_id = ? AND sha256 = ?",
            (chunk_id, sha256),
        ).fetchone()
        if row is not None:
            metadata = json.loads(row["metadata"])
            yield sha256, Chunk(chunk_id, row["text"], row["doc_id"], row["title"], row["position"], metadata)
