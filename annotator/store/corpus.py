"""The mirror of the live chunk table: looking up chunks, documents and ids, and what changed since a sync.

Reading only; `sync.py` beside it writes. Who searches by words uses the search room, which is fed by `changes`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from annotator.errors import NotFound
from annotator.model import Chunk
from annotator.store import settings

__all__ = [
    "METADATA_VALUES",
    "Sync",
    "browse",
    "changes",
    "chunk",
    "chunks",
    "count",
    "document",
    "document_length",
    "documents",
    "filter_value",
    "fingerprint",
    "generation",
    "ids_by_text",
    "ids_like",
    "last_sync",
    "metadata_values",
    "syncs",
]

METADATA_VALUES = "corpus.metadata_values"
"""Name of the setting that holds the few-valued metadata, as of the last sync."""

_FIELDS = "chunk_id, text, doc_id, title, position, metadata"
_SYNC = "sync_id, started_at, finished_at, source, who, added, changed, removed, unchanged, total, seconds"
_NEAR_IDS = 5
_FEW_VALUES = 30
_LAST_CHARACTER = "\U0010ffff"

_decode = msgspec.json.decode


@dataclass(frozen=True, slots=True)
class Sync:
    """One reading of the live table; the counts are None while it runs and after it was interrupted.

    `total` and `unchanged` are None as well where one chunk alone was brought up to date.
    """

    sync_id: int
    started_at: str
    finished_at: str | None
    source: str
    who: str
    added: int | None
    changed: int | None
    removed: int | None
    unchanged: int | None
    total: int | None
    seconds: float | None

    @property
    def whole(self) -> bool:
        """Say whether the whole table was read, to its end."""
        return self.finished_at is not None and self.total is not None


def chunk(connection: sqlite3.Connection, chunk_id: str) -> Chunk:
    """Return one chunk. Raises NotFound, naming near ids, when the id is not in the table."""
    found = connection.execute(f"SELECT {_FIELDS} FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone()
    if found is None:
        near = _near_ids(connection, chunk_id)
        hint = f"Near: {', '.join(near)}." if near else "No id looks like it; was the table synced?"
        raise NotFound(f"There is no chunk with the id {chunk_id!r}.", hint=hint)
    return _chunk(found)


def chunks(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Chunk]:
    """Return the chunks with these ids, any number of them; ids that are not in the table are left out."""
    sql = f"SELECT {_FIELDS} FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?))"
    return {row[0]: _chunk(row) for row in connection.execute(sql, (json.dumps(list(ids)),))}


def count(connection: sqlite3.Connection) -> int:
    """Return the number of chunks."""
    return int(connection.execute("SELECT COUNT(*) FROM chunks").fetchone()[0])


def generation(connection: sqlite3.Connection) -> int:
    """Return the id of the newest finished sync, 0 before the first."""
    found = connection.execute("SELECT MAX(sync_id) FROM syncs WHERE finished_at IS NOT NULL").fetchone()[0]
    return int(found or 0)


def fingerprint(connection: sqlite3.Connection) -> str:
    """Return 32 hex digits, the same for the same chunks in whatever order they came. Reads the whole table."""
    hashes = connection.execute("SELECT row_hash FROM chunks")
    return f"{sum(int.from_bytes(row[0], 'big') for row in hashes) % 2**128:032x}"


def changes(connection: sqlite3.Connection, since: int) -> Iterator[tuple[str, Chunk | None]]:
    """Give every chunk that came or changed after generation `since`, and None for every id removed after it.

    `since=0` gives every live chunk. Removals come first. What an interrupted sync wrote is included, again after
    the sync that healed it.
    """
    for row in connection.execute("SELECT chunk_id FROM removed_chunks WHERE sync_id > ?", (since,)):
        yield row[0], None
    if since <= 0:  # the whole table: in row order, without the detour over the index
        rows = connection.execute(f"SELECT {_FIELDS} FROM chunks")
    else:
        rows = connection.execute(f"SELECT {_FIELDS} FROM chunks WHERE sync_id > ?", (since,))
    for row in rows:
        yield row[0], _chunk(row)


def document(connection: sqlite3.Connection, doc_id: str, *, limit: int = -1, offset: int = 0) -> list[Chunk]:
    """Return the chunks of a document in order, all or some. Chunks without a document ("") belong to none."""
    if not doc_id:
        return []
    rows = connection.execute(
        f"SELECT {_FIELDS} FROM chunks WHERE doc_id = ? ORDER BY position, row LIMIT ? OFFSET ?",
        (doc_id, limit, offset),
    )
    return [_chunk(row) for row in rows]


def document_length(connection: sqlite3.Connection, doc_id: str) -> int:
    """Return the number of chunks of a document, 0 for an unknown one and for ""."""
    if not doc_id:
        return 0
    return int(connection.execute("SELECT COUNT(*) FROM chunks WHERE doc_id = ?", (doc_id,)).fetchone()[0])


def browse(connection: sqlite3.Connection, *, after_row: int = 0, limit: int = 50) -> list[tuple[int, Chunk]]:
    """Return a page of (row, chunk) in the order they came; the last row is the next page's `after_row`."""
    rows = connection.execute(
        f"SELECT {_FIELDS}, row FROM chunks WHERE row > ? ORDER BY row LIMIT ?", (after_row, limit)
    )
    return [(row["row"], _chunk(row)) for row in rows]


def documents(connection: sqlite3.Connection, *, after: str = "", limit: int = 50) -> list[tuple[str, str, int]]:
    """Return a page of (doc_id, title of its first chunk, number of chunks), by id; `after` is the last id seen."""
    rows = connection.execute(
        """SELECT doc_id, (SELECT title FROM chunks first WHERE first.doc_id = chunks.doc_id
                           ORDER BY position, row LIMIT 1), COUNT(*)
           FROM chunks WHERE doc_id > ? GROUP BY doc_id ORDER BY doc_id LIMIT ?""",
        (after, limit),
    )
    return [(row[0], row[1], row[2]) for row in rows]


def ids_like(connection: sqlite3.Connection, text: str, limit: int) -> list[str]:
    """Return the ids that begin with `text`, the exact one first, then in code point order."""
    rows = connection.execute(
        "SELECT chunk_id FROM chunks WHERE chunk_id >= ? AND chunk_id < ? ORDER BY chunk_id LIMIT ?",
        (text, text + _LAST_CHARACTER, limit),
    )
    return [row[0] for row in rows]


def ids_by_text(connection: sqlite3.Connection, hashes: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each of these text hashes that occurs, the ids that carry the text. Reads the whole table."""
    wanted = set(hashes)
    found: dict[str, list[str]] = {}
    if wanted:
        for row in connection.execute("SELECT sha256, chunk_id FROM chunks ORDER BY row"):
            if row[0] in wanted:
                found.setdefault(row[0], []).append(row[1])
    return found


def metadata_values(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the metadata keys with few different scalar values, with the values, for filters."""
    known: dict[str, list[str]] = settings.get(connection, METADATA_VALUES, {})
    return {key: values for key, values in known.items() if len(values) <= _FEW_VALUES}


def filter_value(value: object) -> str:
    """Write a scalar of the metadata the way a filter names it: text as it is, all else as in JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def syncs(connection: sqlite3.Connection, limit: int = 20) -> list[Sync]:
    """Return the newest syncs, newest first."""
    return [
        Sync(*row) for row in connection.execute(f"SELECT {_SYNC} FROM syncs ORDER BY sync_id DESC LIMIT ?", (limit,))
    ]


def last_sync(connection: sqlite3.Connection) -> tuple[Sync | None, list[Sync]]:
    """Return the newest sync that read the whole table to its end, and those begun since (the newest first)."""
    rows = connection.execute(f"SELECT {_SYNC} FROM syncs ORDER BY sync_id DESC")
    since: list[Sync] = []
    for row in rows:
        sync = Sync(*row)
        if sync.whole:
            return sync, since
        since.append(sync)
    return None, since


def _chunk(row: Any) -> Chunk:
    metadata = row[5]
    return Chunk(row[0], row[1], row[2], row[3], row[4], {} if metadata == "{}" else _decode(metadata))


def _near_ids(connection: sqlite3.Connection, typed: str) -> list[str]:
    """Ids with the longest prefix in common, if that is at least half of what was typed; else ids containing it."""
    typed = typed.strip()
    for length in range(len(typed), len(typed) // 2, -1):
        if found := ids_like(connection, typed[:length], _NEAR_IDS):
            return found
    if not typed:
        return []
    rows = connection.execute(
        "SELECT chunk_id FROM chunks WHERE instr(lower(chunk_id), lower(?)) ORDER BY chunk_id LIMIT ?",
        (typed, _NEAR_IDS),
    )
    return [row[0] for row in rows]
