"""Brings one chunk of the mirror up to its row in the live table, between two syncs and never during one.

It is recorded as a sync that looked at this chunk alone: search, drift and the record of changes follow by themselves.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Literal

from annotator.errors import Conflict
from annotator.model import text_hash
from annotator.store.database import Workspace, now
from annotator.store.sync import SourceRow, alone
from annotator.store.sync_apply import put_chunks

__all__ = ["Change", "Single", "single"]

Change = Literal["added", "changed", "removed", "unchanged"]


@contextmanager
def single(workspace: Workspace) -> Iterator[Single]:
    """Keep syncs out while a row is read and taken over. Raises Conflict while one runs."""
    with alone(workspace):
        yield Single(workspace)


class Single:
    """The mirror, for one chunk at a time."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._started_at = now()
        self._clock = time.monotonic()

    def apply(self, chunk_id: str, row: SourceRow | None, source: str, who: str) -> Change:
        """Write the row of the live table, or None when it is gone from there; says what that changed."""
        with self._workspace.write() as connection:
            known = connection.execute("SELECT row, row_hash FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone()
            digest = blake2b(row[7], digest_size=16).digest() if row else b""
            if (known["row_hash"] if known else b"") == digest:
                return "unchanged"
            change: Change = "removed" if row is None else "changed" if known else "added"
            sync_id = self._record(connection, change, f"{source}, {chunk_id} alone", who)
            if row is None:
                connection.execute(
                    "INSERT INTO removed_chunks VALUES (?, ?) ON CONFLICT DO UPDATE SET sync_id = excluded.sync_id",
                    (chunk_id, sync_id),
                )
                connection.execute("DELETE FROM chunks WHERE row = ?", (known["row"],))
                return change
            put_chunks(connection, [(*row[1:7], text_hash(row[2]), digest, sync_id)])
            return change

    def _record(self, connection: sqlite3.Connection, change: Change, source: str, who: str) -> int:
        seconds = round(time.monotonic() - self._clock, 3)
        found = connection.execute(
            """INSERT INTO syncs (started_at, finished_at, source, who, added, changed, removed, seconds)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                self._started_at,
                now(),
                source,
                who,
                change == "added",
                change == "changed",
                change == "removed",
                seconds,
            ),
        ).lastrowid
        if found is None:
            raise Conflict("The change could not be recorded.")
        return found
