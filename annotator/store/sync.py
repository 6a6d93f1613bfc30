"""Brings the mirror up to the live chunk table: what is new, changed or gone, found out first, then written.

Everything that differs is put aside in a file of its own, so that nothing is written unless the whole table is
sound, and then applied in short transactions, so that nobody who labels has to wait. A sync that dies half-way
leaves a mirror that the next one completes.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

import msgspec

from annotator.errors import Conflict, StoreError
from annotator.model import text_hash
from annotator.store import settings
from annotator.store.corpus import METADATA_VALUES, filter_value
from annotator.store.database import Workspace, now

__all__ = ["Duplicates", "SourceRow", "Staging", "SyncResult", "alone", "few_valued", "staging"]

Duplicates = Literal["refuse", "first", "last"]
"""What becomes of an id that appears twice with different text."""

SourceRow = tuple[int, str, str, str, str, "int | None", str, bytes]
"""(place, chunk_id, text, doc_id, title, position, metadata as JSON, content: equal exactly when all fields are)."""

MOST_CONFLICTS: Final = 10_000
_APPLIED: Final = 500
_REMEMBERED: Final = 10_000
_MOST_KEYS: Final = 200
_MOST_VALUES: Final = 100

Known = tuple[int, bytes]  # row and row_hash of a chunk in the mirror


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What a sync did. `repeated` counts rows whose id had come before, `empty` rows without text."""

    added: int
    changed: int
    removed: int
    unchanged: int
    total: int
    seconds: float
    repeated: int = 0
    empty: int = 0


@contextmanager
def staging(workspace: Workspace, duplicates: Duplicates) -> Iterator[Staging]:
    """Give a place to gather the rows of the live table. Raises Conflict while another sync of this workspace runs."""
    aside = workspace.home / ".sync-staging.db"
    with ExitStack() as stack:
        stack.enter_context(alone(workspace))
        aside.unlink(missing_ok=True)  # left behind by a sync that was killed
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
    """Be the only one, across processes, who writes to the mirror. Raises Conflict while another is at it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(workspace.lock("sync", seconds=0))
        except Conflict as error:
            raise Conflict("A sync of this workspace is running already.", hint="Wait until it is done.") from error
        yield


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

    def apply(self, source: str, who: str) -> SyncResult:
        """Write what differs to the mirror and record the sync."""
        with self._workspace.write() as connection:
            sync_id = connection.execute(
                "INSERT INTO syncs (started_at, source, who) VALUES (?, ?, ?)", (self.started_at, source, who)
            ).lastrowid
        if sync_id is None:
            raise StoreError("The sync could not be recorded.")
        removed = self._remove(sync_id)
        added, changed = self._write(sync_id)
        unchanged = sum(self._seen) - changed
        values = self._metadata_values() if added or changed or removed else None
        result = SyncResult(
            added,
            changed,
            removed,
            unchanged,
            added + changed + unchanged,
            round(time.monotonic() - self._clock, 3),
            self._repeated,
            self._empty,
        )
        with self._workspace.write() as connection:
            if values is not None:
                settings.put(connection, METADATA_VALUES, values)
            connection.execute(
                """UPDATE syncs SET finished_at = ?, added = ?, changed = ?, removed = ?, unchanged = ?, total = ?,
                   seconds = ? WHERE sync_id = ?""",
                (now(), added, changed, removed, unchanged, result.total, result.seconds, sync_id),
            )
        return result

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

    def _remove(self, sync_id: int) -> int:
        """Take out the chunks that did not come."""
        seen = self._seen
        if sum(seen) == self._mirror.execute("SELECT COUNT(*) FROM chunks").fetchone()[0]:
            return 0
        removed = 0
        standing = self._mirror.execute("SELECT row FROM chunks WHERE row < ?", (self._begun_with,))
        gone = [row for (row,) in standing if not seen[row]]
        for start in range(0, len(gone), _APPLIED):
            some = [(row,) for row in gone[start : start + _APPLIED]]
            with self._turn() as connection:
                connection.executemany(
                    f"""INSERT INTO removed_chunks SELECT chunk_id, {sync_id} FROM chunks WHERE row = ?
                        ON CONFLICT DO UPDATE SET sync_id = excluded.sync_id""",
                    some,
                )
                connection.executemany("DELETE FROM chunks WHERE row = ?", some)
            removed += len(some)
        return removed

    def _write(self, sync_id: int) -> tuple[int, int]:
        """Write what was put aside; returns how many chunks are new and how many changed."""
        added = changed = 0
        rows = self._staged.execute(
            "SELECT chunk_id, text, doc_id, title, position, metadata, sha256, row_hash, row FROM staged "
            "ORDER BY number"
        )
        while some := rows.fetchmany(_APPLIED):
            new = [(*row[:8], sync_id) for row in some if row[8] is None]
            known = [(*row[1:8], sync_id, row[8]) for row in some if row[8] is not None]
            with self._turn() as connection:
                connection.executemany(
                    """INSERT INTO chunks (chunk_id, text, doc_id, title, position, metadata, sha256, row_hash, sync_id)
                       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chunk_id) DO UPDATE SET text = excluded.text,
                       doc_id = excluded.doc_id, title = excluded.title, position = excluded.position,
                       metadata = excluded.metadata, sha256 = excluded.sha256, row_hash = excluded.row_hash,
                       sync_id = excluded.sync_id""",
                    new,
                )
                connection.executemany("DELETE FROM removed_chunks WHERE chunk_id = ?", [row[:1] for row in new])
                connection.executemany(
                    """UPDATE chunks SET text = ?, doc_id = ?, title = ?, position = ?, metadata = ?, sha256 = ?,
                       row_hash = ?, sync_id = ? WHERE row = ?""",
                    known,
                )
            added += len(new)
            changed += len(known)
        return added, changed

    @contextmanager
    def _turn(self) -> Iterator[sqlite3.Connection]:
        """Give one short write transaction, and afterwards a moment in which somebody else can have theirs."""
        begun = time.monotonic()
        with self._workspace.write() as connection:
            yield connection
        time.sleep((time.monotonic() - begun) / 5)

    def _metadata_values(self) -> dict[str, list[str]]:
        return few_valued(row[0] for row in self._mirror.execute("SELECT metadata FROM chunks"))


def few_valued(written: Iterable[str]) -> dict[str, list[str]]:
    """Gather from metadata as JSON the keys with few different scalar values, and the values."""
    found: dict[str, set[str]] = {}
    seen: set[str] = set()
    for metadata in written:
        if metadata in seen:
            continue
        if len(seen) >= _REMEMBERED:
            seen.clear()
        seen.add(metadata)
        for key, value in msgspec.json.decode(metadata).items():
            values = found.setdefault(key, set()) if len(found) < _MOST_KEYS else found.get(key)
            if values is not None and len(values) <= _MOST_VALUES and isinstance(value, (str, int, float)):
                values.add(filter_value(value))
    return {key: sorted(values) for key, values in sorted(found.items()) if 0 < len(values) <= _MOST_VALUES}
