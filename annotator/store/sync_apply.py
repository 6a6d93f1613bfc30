"""Writes what a sync put aside to the mirror, in short transactions, so that nobody who labels has to wait.

What there is to do is written down whole before the first of them. So a sync that is killed on the way is finished by
whoever comes next, without the live table: the mirror never stays half old and half new.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Final

import msgspec

from annotator.store import settings
from annotator.store.corpus import METADATA_VALUES, filter_value
from annotator.store.database import Workspace, now

__all__ = ["SyncResult", "carry_on", "carry_out", "few_valued", "put_chunks", "put_plan"]

_APPLIED: Final = 500
_REMEMBERED: Final = 10_000
_MOST_KEYS: Final = 200
_MOST_VALUES: Final = 100


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

    @property
    def shrank(self) -> bool:
        """Say whether more than half of the chunks are gone and no others came: perhaps the table is being rebuilt."""
        return 2 * self.total < self.unchanged + self.changed + self.removed


def put_plan(
    staged: sqlite3.Connection, sync_id: int, started_at: str, counted: SyncResult, gone: Sequence[str]
) -> None:
    """Write down, beside what was put aside, all else that carrying it out takes; the last thing says that it is whole.

    `counted` is what the sync will have done, `gone` the ids to be removed.
    """
    staged.execute("BEGIN")
    staged.execute("CREATE TABLE gone (number INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL)")
    staged.executemany("INSERT INTO gone (chunk_id) VALUES (?)", ((chunk_id,) for chunk_id in gone))
    staged.execute("COMMIT")
    staged.execute(
        "CREATE TABLE plan AS SELECT ? AS sync_id, ? AS started_at, ? AS counted",
        (sync_id, started_at, json.dumps(asdict(counted))),
    )


def carry_out(workspace: Workspace, staged: sqlite3.Connection) -> SyncResult:
    """Do what the plan says and record the sync as finished. What was done of it before may be done again."""
    begun = time.monotonic()
    sync_id, _, counted = staged.execute("SELECT sync_id, started_at, counted FROM plan").fetchone()
    done = SyncResult(**json.loads(counted))
    _remove(workspace, staged, sync_id)
    _write(workspace, staged, sync_id)
    values = None
    if done.added or done.changed or done.removed:
        with closing(workspace.connect()) as mirror:
            values = few_valued(row[0] for row in mirror.execute("SELECT metadata FROM chunks"))
    done = replace(done, seconds=round(done.seconds + time.monotonic() - begun, 3))
    with workspace.write() as connection:
        if values is not None:
            settings.put(connection, METADATA_VALUES, values)
        connection.execute(
            """UPDATE syncs SET finished_at = ?, added = ?, changed = ?, removed = ?, unchanged = ?, total = ?,
               seconds = ? WHERE sync_id = ?""",
            (now(), done.added, done.changed, done.removed, done.unchanged, done.total, done.seconds, sync_id),
        )
    return done


def carry_on(workspace: Workspace) -> None:
    """Finish the sync that was killed while it wrote, if one was; clear away what one left that never got so far.

    Only for whoever keeps other syncs out.
    """
    if not workspace.staged.exists():
        return
    with closing(sqlite3.connect(workspace.staged, isolation_level=None)) as staged:
        if _is_left_over(workspace, staged):
            carry_out(workspace, staged)
    workspace.staged.unlink(missing_ok=True)


def put_chunks(connection: sqlite3.Connection, rows: Sequence[Sequence[object]]) -> None:
    """Write chunks to the mirror, in the place of those with their ids; they are removed ones no longer.

    As (chunk_id, text, doc_id, title, position, metadata as JSON, sha256, row_hash, sync_id).
    """
    connection.executemany(
        """INSERT INTO chunks (chunk_id, text, doc_id, title, position, metadata, sha256, row_hash, sync_id)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chunk_id) DO UPDATE SET text = excluded.text,
           doc_id = excluded.doc_id, title = excluded.title, position = excluded.position,
           metadata = excluded.metadata, sha256 = excluded.sha256, row_hash = excluded.row_hash,
           sync_id = excluded.sync_id""",
        rows,
    )
    connection.executemany("DELETE FROM removed_chunks WHERE chunk_id = ?", [row[:1] for row in rows])


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


def _is_left_over(workspace: Workspace, staged: sqlite3.Connection) -> bool:
    """Say whether there is a whole plan, of a sync that this workspace had begun and that was not finished."""
    try:
        if staged.execute("SELECT 1 FROM sqlite_master WHERE name = 'plan'").fetchone() is None:
            return False
        if staged.execute("PRAGMA quick_check").fetchone()[0] != "ok":  # the machine went down, not just the process
            return False
        sync_id, started_at, _ = staged.execute("SELECT sync_id, started_at, counted FROM plan").fetchone()
    except sqlite3.DatabaseError:
        return False
    with workspace.read() as connection:
        known = connection.execute(
            "SELECT 1 FROM syncs WHERE sync_id = ? AND started_at = ? AND finished_at IS NULL", (sync_id, started_at)
        )
        return known.fetchone() is not None


def _remove(workspace: Workspace, staged: sqlite3.Connection, sync_id: int) -> None:
    rows = staged.execute("SELECT chunk_id FROM gone ORDER BY number")
    while some := rows.fetchmany(_APPLIED):
        with _turn(workspace) as connection:
            connection.executemany(
                """INSERT INTO removed_chunks SELECT chunk_id, ? FROM chunks WHERE chunk_id = ?
                   ON CONFLICT DO UPDATE SET sync_id = excluded.sync_id""",
                ((sync_id, chunk_id) for (chunk_id,) in some),
            )
            connection.executemany("DELETE FROM chunks WHERE chunk_id = ?", some)


def _write(workspace: Workspace, staged: sqlite3.Connection, sync_id: int) -> None:
    rows = staged.execute(
        "SELECT chunk_id, text, doc_id, title, position, metadata, sha256, row_hash, row FROM staged ORDER BY number"
    )
    while some := rows.fetchmany(_APPLIED):
        new = [(*row[:8], sync_id) for row in some if row[8] is None]
        known = [(*row[1:8], sync_id, row[8]) for row in some if row[8] is not None]
        with _turn(workspace) as connection:
            put_chunks(connection, new)
            connection.executemany(
                """UPDATE chunks SET text = ?, doc_id = ?, title = ?, position = ?, metadata = ?, sha256 = ?,
                   row_hash = ?, sync_id = ? WHERE row = ?""",
                known,
            )


@contextmanager
def _turn(workspace: Workspace) -> Iterator[sqlite3.Connection]:
    """Give one short write transaction, and afterwards a moment in which somebody else can have theirs."""
    begun = time.monotonic()
    with workspace.write() as connection:
        yield connection
    time.sleep((time.monotonic() - begun) / 5)
