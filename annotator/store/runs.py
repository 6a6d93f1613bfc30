"""Imported runs: kept whole, one row a query, so that a screen reads a single query without the rest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from annotator.errors import Conflict, NotFound
from annotator.model import Run, RunQuery
from annotator.store import events
from annotator.store.database import now

__all__ = ["RunInfo", "add", "all_runs", "answers", "info", "is_stored", "run", "run_query"]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A stored run without its results; `queries` is how many queries it answers."""

    run_id: int
    name: str
    digest: str
    meta: Mapping[str, object]
    added_at: str
    added_by: str
    queries: int


_INFO = """SELECT run_id, name, digest, meta, added_at, added_by,
    (SELECT COUNT(*) FROM run_queries WHERE run_queries.run_id = runs.run_id) FROM runs"""

_decode = msgspec.json.Decoder(RunQuery).decode


def add(connection: sqlite3.Connection, new: Run, who: str) -> bool:
    """Store a run; False when the same one is there already. Raises Conflict when its name stands for another."""
    if is_stored(connection, new):
        return False
    run_id = connection.execute(
        "INSERT INTO runs (name, digest, meta, added_at, added_by) VALUES (?, ?, ?, ?, ?)",
        (new.name, new.digest, json.dumps(dict(new.meta), ensure_ascii=False, sort_keys=True), now(), who),
    ).lastrowid
    connection.executemany(
        "INSERT INTO run_queries VALUES (?, ?, ?)",
        ((run_id, query_id, msgspec.json.encode(one).decode()) for query_id, one in new.queries.items()),
    )
    events.record(connection, who, "run added", f"run:{new.name}", new={"digest": new.digest})
    return True


def is_stored(connection: sqlite3.Connection, one: Run) -> bool:
    """Say whether this very run is there already. Raises Conflict when its name stands for another."""
    there = _find(connection, one.name)
    if there is not None and there.digest != one.digest:
        raise Conflict(f"There is another run with the name {one.name!r} already.", hint="Give this one another name.")
    return there is not None


def all_runs(connection: sqlite3.Connection) -> list[RunInfo]:
    """Return all runs, newest first."""
    return [_info(row) for row in connection.execute(f"{_INFO} ORDER BY run_id DESC")]


def info(connection: sqlite3.Connection, name: str) -> RunInfo:
    """Return what is known of a run beside its results. Raises NotFound, naming those there are."""
    found = _find(connection, name)
    if found is None:
        known = ", ".join(one.name for one in all_runs(connection))
        raise NotFound(
            f"There is no run with the name {name!r}.",
            hint=f"There are: {known}." if known else "No run was imported yet.",
        )
    return found


def run(connection: sqlite3.Connection, name: str) -> Run:
    """Return a run with all its results. Raises NotFound."""
    found = info(connection, name)
    rows = connection.execute("SELECT query_id, result FROM run_queries WHERE run_id = ?", (found.run_id,))
    return Run(found.name, {row[0]: _decode(row[1]) for row in rows}, found.meta, found.digest)


def answers(connection: sqlite3.Connection, name: str) -> Iterator[RunQuery]:
    """Yield what the run did, query by query. Raises NotFound."""
    rows = connection.execute("SELECT result FROM run_queries WHERE run_id = ?", (info(connection, name).run_id,))
    yield from (_decode(row[0]) for row in rows)


def run_query(connection: sqlite3.Connection, name: str, query_id: str) -> RunQuery | None:
    """Return what the run did for one query, None when it has no answer for it. Raises NotFound for the run."""
    row = connection.execute(
        "SELECT result FROM run_queries WHERE run_id = ? AND query_id = ?", (info(connection, name).run_id, query_id)
    ).fetchone()
    return None if row is None else _decode(row[0])


def _find(connection: sqlite3.Connection, name: str) -> RunInfo | None:
    row = connection.execute(f"{_INFO} WHERE name = ?", (name,)).fetchone()
    return None if row is None else _info(row)


def _info(row: sqlite3.Row) -> RunInfo:
    run_id, name, digest, meta, added_at, added_by, answered = row
    return RunInfo(run_id, name, digest, json.loads(meta), added_at, added_by, answered)
