"""The partial mirror of a live table that is searched in place: every chunk somebody was shown, as it was read.

What is remembered between two syncs counts for the next one, so that whoever follows the syncs misses nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from annotator.model import text_hash
from annotator.store.database import Workspace
from annotator.store.sync import SourceRow
from annotator.store.sync_apply import put_chunks

__all__ = ["forget_documents", "ids", "is_whole", "missing", "remember", "whole_documents"]


def remember(workspace: Workspace, rows: Sequence[SourceRow], whole: str = "") -> None:
    """Keep chunks that were just read, of each id the first; what stands in the mirror as it is stays untouched.

    `whole` names a document these are all the chunks of.
    """
    found: dict[str, tuple[SourceRow, bytes]] = {}
    for row in rows:
        found.setdefault(row[1], (row, blake2b(row[7], digest_size=16).digest()))
    with workspace.read() as connection:
        standing = _hashes(connection, found)
        known = not whole or is_whole(connection, whole)
    new = [(row, digest) for chunk_id, (row, digest) in found.items() if standing.get(chunk_id) != digest]
    if not new and known:
        return
    with workspace.write() as connection:
        sync_id = connection.execute("SELECT COALESCE(MAX(sync_id), 0) + 1 FROM syncs").fetchone()[0]
        put_chunks(connection, [(*row[1:7], text_hash(row[2]), digest, sync_id) for row, digest in new])
        if whole and any(row[5] is None for row in rows):
            # Without places the order of the table counts, not the order in which the chunks were looked at.
            last = connection.execute("SELECT MAX(row) FROM chunks").fetchone()[0]
            order = [(last + at, chunk_id) for at, chunk_id in enumerate(found, 1)]
            connection.executemany("UPDATE chunks SET row = ? WHERE chunk_id = ?", order)
        if whole:
            connection.execute("INSERT INTO whole_documents VALUES (?) ON CONFLICT DO NOTHING", (whole,))


def missing(connection: sqlite3.Connection, chunk_ids: Iterable[str]) -> list[str]:
    """Return those of the ids that are not remembered, each once."""
    wanted = dict.fromkeys(chunk_ids)
    standing = _hashes(connection, wanted)
    return [one for one in wanted if one not in standing]


def ids(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of everything remembered."""
    return [row[0] for row in connection.execute("SELECT chunk_id FROM chunks ORDER BY row")]


def is_whole(connection: sqlite3.Connection, doc_id: str) -> bool:
    """Say whether all chunks of the document were read at some time."""
    return connection.execute("SELECT 1 FROM whole_documents WHERE doc_id = ?", (doc_id,)).fetchone() is not None


def whole_documents(connection: sqlite3.Connection) -> list[str]:
    """Return the documents all chunks of which were read at some time."""
    return [row[0] for row in connection.execute("SELECT doc_id FROM whole_documents ORDER BY doc_id")]


def forget_documents(connection: sqlite3.Connection) -> None:
    """Take no document for read as a whole any more, as when another table is connected."""
    connection.execute("DELETE FROM whole_documents")


def _hashes(connection: sqlite3.Connection, chunk_ids: Iterable[str]) -> dict[str, bytes]:
    sql = "SELECT chunk_id, row_hash FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"
    return dict(map(tuple, connection.execute(sql, (json.dumps(list(chunk_ids)),))))
