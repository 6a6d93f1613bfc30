"""Brings the mirror up to the live chunk table: what is new, changed or gone, found out first, then written.

Everything that differs is put aside in a file of its own, so that nothing is written unless the whole table is
sound, and then applied as `sync_apply` does it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import blake2b
from typing import Final, Literal

from annotator.errors import Conflict, InputError, StoreError
from annotator.model import text_hash
from annotator.store.database import Workspace, now
from annotator.store.sync_apply import SyncResult, carry_on, carry_out, few_valued, put_plan

__all__ = [
    "Duplicates",
    "SourceRow",
    "Staging",
    "SyncResult",
    "alone",
    "few_valued",
    "finish_killed",
    "staging",
]

Duplicates = Literal["refuse", "first", "last"]
"""What becomes of an id that appears twice with different text."""

SourceRow = tuple[int, str, str, str, str, "int | None", str, bytes]
"""(place, chunk_id, text, doc_id, title, position, metadata as JSON, content: equal exactly when all fields are)."""

MOST_CONFLICTS: Final = 10_000

Known = tuple[int, bytes]  # row and row_hash of a chunk in the mirror


@contextmanager
def staging(workspace: Workspace, duplicates: Duplicates) -> Iterator[Staging]:
    """Give a place to gather the rows of the live table. Raises Conflict while another sync of this workspace runs."""
    aside = workspace.staged
    with ExitStack() as stack:
        stack.enter_context(alone(workspace))
        stack.callback(aside.unlink, missing_ok=True)
        mirror = stack.enter_context(closing(workspace.connect()))
        mirror.row_factory = None
        staged = stack.enter_context(closing(sqlite3.connect(aside, isolation_level=None)))
        try:
            yield Staging(workspace, mirror, staged, duplicates)
        except sqlite3.Error as error:
            hint = "Sync again: it goes on where this one stopped."
            raise StoreError(f"The sync failed: {error}.", hint=hint) from error


@contextmanager
def alone(workspace: Workspace) -> Iterator[None]:
    """Be the only one, across processes, who writes to the mirror, after finishing what a killed sync left to do.

    Raises Conflict while another is at it.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(workspace.lock("sync", seconds=0))
        except Conflict as error:
            raise Conflict("A sync of this workspace is running already.", hint="Wait until it is done.") from error
        carry_on(workspace)
        yield


def finish_killed(workspace: Workspace) -> None:
    """Finish what a killed sync had begun to write, unless another process is at it."""
    with suppress(Conflict), alone(workspace):
        pass


class Staging:
    """The rows of one sync, compared with the mirror as they come. `conflicts` holds ids with more than one text."""

    def __init__(
        self, workspace: Workspace, mirror: sqlite3.Connection, staged: sqlite3.Connection, duplicates: Duplicates
    ) -> None:
        self.started_at = now()
        self.conflicts: set[str] = set()
        self._clock = time.monotonic()
        self._workspace = workspace
        self._mirror = mirror
        self._staged = staged
        self._duplicates = duplicates
        self._repeated = 0
        self._empty = 0
        self._reached = 0
        # Rows beyond the last of these come from elsewhere meanwhile, and stay.
        self._seen = bytearray(int(mirror.execute("SELECT COALESCE(MAX(row), 0) + 1 FROM chunks").fetchone()[0]))
        self._begun_with = len(self._seen)
        staged.execute("PRAGMA journal_mode=OFF")
        staged.execute("PRAGMA synchronous=OFF")
        staged.execute(
            "CREATE TABLE staged (number INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL UNIQUE, text, doc_id, title, "
            "position, metadata, sha256, row_hash, row)"
        )

    def add(self, rows: Sequence[SourceRow]) -> None:
        """Compare these rows with the mirror and put aside what differs."""
        ids = [row[1] for row in rows]
        hashes = [blake2b(row[7], digest_size=16).digest() for row in rows]
        known = self._known(ids)
        self._empty += sum(1 for row in rows if not row[2])
        if len(set(ids)) < len(ids):  # which came first matters: one by one
            self._stage([(row, digest, known.get(row[1])) for row, digest in zip(rows, hashes, strict=True)])
            return
        seen = self._seen
        others = []
        for row, digest in zip(rows, hashes, strict=True):
            stands = known.get(row[1])
            if stands is not None and stands[1] == digest and not seen[stands[0]]:
                seen[stands[0]] = 1
            else:
                others.append((row, digest, stands))
        if others:
            self._stage(others)

    def refuse_empty(self, name: str) -> None:
        """Raise InputError where taking over a table without rows would remove every chunk there is."""
        (standing,) = self._mirror.execute("SELECT COUNT(*) FROM chunks").fetchone()
        if standing:
            raise InputError(
                f"{name} has no rows, but {standing:,} of its chunks were here after the last sync.",
                hint="Nothing was removed. Is it being filled anew? Sync again when that is done. Where it is meant to "
                "be empty, --allow-empty says so.",
            )

    def apply(self, source: str, who: str) -> SyncResult:
        """Write what differs to the mirror and record the sync."""
        with self._workspace.write() as connection:
            sync_id = connection.execute(
                "INSERT INTO syncs (started_at, source, who) VALUES (?, ?, ?)", (self.started_at, source, who)
            ).lastrowid
        if sync_id is None:
            raise StoreError("The sync could not be recorded.")
        gone = self._gone()
        count = "SELECT COUNT(row), COUNT(*) - COUNT(row) FROM staged"
        changed, added = self._staged.execute(count).fetchone()
        unchanged = sum(self._seen) - changed
        total, seconds = added + changed + unchanged, time.monotonic() - self._clock
        counted = SyncResult(added, changed, len(gone), unchanged, total, seconds, self._repeated, self._empty)
        put_plan(self._staged, sync_id, self.started_at, counted, gone)
        return carry_out(self._workspace, self._staged)

    def _known(self, ids: Sequence[str]) -> Mapping[str, Known]:
        """Look ids up. The mirror is mostly in the order of the table, so what follows the last find is tried first."""
        select = "SELECT chunk_id, row, row_hash FROM chunks WHERE"
        following = self._mirror.execute(f"{select} row > ? ORDER BY row LIMIT ?", (self._reached, len(ids)))
        known = {chunk_id: (row, row_hash) for chunk_id, row, row_hash in following}
        missing = [chunk_id for chunk_id in ids if chunk_id not in known]
        if missing:
            marks = ",".join("?" * len(missing))
            found = self._mirror.execute(f"{select} chunk_id IN ({marks})", missing)
            known.update((chunk_id, (row, row_hash)) for chunk_id, row, row_hash in found)
        beyond = max((row for row, _ in known.values()), default=0) + 1 - len(self._seen)
        self._seen.extend(bytes(max(0, beyond)))  # what was remembered since the sync began
        self._reached = max((known[chunk_id][0] for chunk_id in ids if chunk_id in known), default=self._reached)
        return known

    def _stage(self, rows: Sequence[tuple[SourceRow, bytes, Known | None]]) -> None:
        marks = ",".join("?" * len(rows))
        staged: dict[str, bytes] = dict(
            self._staged.execute(
                f"SELECT chunk_id, row_hash FROM staged WHERE chunk_id IN ({marks})", [row[1] for row, _, _ in rows]
            )
        )
        pending: dict[str, tuple[object, ...]] = {}
        for row, digest, known in rows:
            chunk_id = row[1]
            before = staged.get(chunk_id) or (known[1] if known and self._seen[known[0]] else None)
            if before is not None:
                self._repeated += 1
                if before == digest or not self._replaces(row, pending):
                    continue
            if known:
                self._seen[known[0]] = 1
            if known and known[1] == digest:  # as the mirror has it
                pending.pop(chunk_id, None)
                if staged.pop(chunk_id, None):
                    self._staged.execute("DELETE FROM staged WHERE chunk_id = ?", (chunk_id,))
                continue
            staged[chunk_id] = digest
            pending[chunk_id] = (*row[1:7], text_hash(row[2]), digest, known[0] if known else None)
        self._put(pending)

    def _put(self, rows: Mapping[str, tuple[object, ...]]) -> None:
        self._staged.execute("BEGIN")
        self._staged.executemany(
            """INSERT INTO staged (chunk_id, text, doc_id, title, position, metadata, sha256, row_hash, row)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chunk_id) DO UPDATE SET text = excluded.text,
               doc_id = excluded.doc_id, title = excluded.title, position = excluded.position,
               metadata = excluded.metadata, sha256 = excluded.sha256, row_hash = excluded.row_hash""",
            rows.values(),
        )
        self._staged.execute("COMMIT")

    def _replaces(self, row: SourceRow, pending: Mapping[str, tuple[object, ...]]) -> bool:
        """Say whether a row takes the place of an earlier one with its id; note a conflict where that is refused."""
        if self._duplicates == "last":
            return True
        if self._duplicates == "refuse" and len(self.conflicts) < MOST_CONFLICTS:
            chunk_id = row[1]
            if chunk_id in pending:
                sha256 = pending[chunk_id][6]
            else:
                find = "SELECT sha256 FROM {} WHERE chunk_id = ?"
                found = self._staged.execute(find.format("staged"), (chunk_id,)).fetchone()
                found = found or self._mirror.execute(find.format("chunks"), (chunk_id,)).fetchone()
                sha256 = found[0]
            if sha256 != text_hash(row[2]):
                self.conflicts.add(chunk_id)
        return False

    def _gone(self) -> list[str]:
        """Return the chunks that did not come."""
        seen = self._seen
        if sum(seen) == self._mirror.execute("SELECT COUNT(*) FROM chunks").fetchone()[0]:
            return []
        standing = self._mirror.execute("SELECT row, chunk_id FROM chunks WHERE row < ?", (self._begun_with,))
        return [chunk_id for row, chunk_id in standing if not seen[row]]
