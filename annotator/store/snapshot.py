"""Whole databases: copied while people work, put in place of another in one transaction, counted and checked.

A copy is one file without a log beside it. What its content means is left to the other modules of the store.
"""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from annotator.errors import StoreError
from annotator.model import text_hash
from annotator.store.database import BUSY_SECONDS, Workspace

__all__ = [
    "RESTORED",
    "copy",
    "counts",
    "digest",
    "faults",
    "is_barred",
    "is_broken",
    "open_copy",
    "put_in_place",
    "schema_of",
]

RESTORED: Final = "workspace restored"
"""The event that says so: the one thing in which a restored workspace differs from its backup."""

_COUNTED: Final = {
    "chunks": "chunks",
    "queries": "queries",
    "judgments": "judgments",
    "in_force": "current_judgments",
    "decisions": "adjudications",
    "people": "people",
    "runs": "runs",
    "versions": "versions",
    "events": f"events WHERE action <> '{RESTORED}'",
}
_NEWEST: Final = """WITH newest AS MATERIALIZED (
    SELECT query_id, chunk_id, annotator, MAX(judgment_id) AS judgment_id FROM judgments
    GROUP BY query_id, chunk_id, annotator)"""
_THEIR_CURRENT: Final = """current_judgments c ON c.query_id = newest.query_id AND c.chunk_id = newest.chunk_id
    AND c.annotator = newest.annotator"""
_IN_FORCE: Final = {
    "labels in force are not the last ones given": f"""SELECT (SELECT COUNT(*) FROM current_judgments) - COUNT(*)
        FROM newest CROSS JOIN {_THEIR_CURRENT} AND c.judgment_id = newest.judgment_id
        CROSS JOIN judgments j ON j.judgment_id = newest.judgment_id AND j.withdrawn = 0""",
    "labels that were given are not in force": f"""SELECT COUNT(*)
        FROM newest CROSS JOIN judgments j ON j.judgment_id = newest.judgment_id AND j.withdrawn = 0
        LEFT JOIN {_THEIR_CURRENT}
        WHERE c.judgment_id IS NULL AND NOT EXISTS (SELECT 1 FROM set_aside s
            WHERE s.query_id = j.query_id AND s.chunk_id = j.chunk_id AND s.sha256 = j.sha256)""",
}
"""What may be wrong with the labels in force, and how to count it."""
_STEPS: Final = """WITH newest AS MATERIALIZED (SELECT MAX(step_id) AS step_id FROM steps GROUP BY query_id, annotator)
    SELECT (SELECT COUNT(*) FROM newest) + (SELECT COUNT(*) FROM current_steps)
        - 2 * (SELECT COUNT(*) FROM newest JOIN current_steps USING (step_id))"""
_DERIVED: Final = ("_sqlite_migrations", "sqlite_stat1", "sqlite_sequence")


def open_copy(path: Path) -> sqlite3.Connection:
    """Open a database file for reading one unmoving state of it. Raises StoreError when there is none."""
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
        connection.execute("BEGIN")
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"{path} is not a workspace database that can be read: {error}.") from error
    return connection


def copy(source: sqlite3.Connection, target: Path) -> None:
    """Write the database as it is at this moment to a new file; writers do not wait for it."""
    with closing(sqlite3.connect(target)) as connection:
        source.backup(connection)
        connection.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it


def put_in_place(copied: Path, workspace: Workspace) -> None:
    """Make the content of a copy that of the workspace's database, in one transaction: all of it or nothing.

    Those who have the database open see the new content with their next transaction. Raises sqlite3.DatabaseError
    when what is there is no database any more.
    """
    with (
        closing(open_copy(copied)) as source,
        workspace.turn(),
        closing(sqlite3.connect(workspace.database, timeout=BUSY_SECONDS)) as connection,
    ):
        connection.execute("PRAGMA journal_mode=WAL")
        source.backup(connection)
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


def schema_of(connection: sqlite3.Connection) -> int:
    """Return the number of the schema, 0 for a database that is no workspace."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_broken(error: BaseException | None) -> bool:
    """Say whether the error, or what caused it, means that a file is no intact database."""
    if isinstance(error, sqlite3.Error) and hasattr(error, "sqlite_errorcode"):
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return error is not None and is_broken(error.__cause__)


def is_barred(error: BaseException | None) -> bool:
    """Say whether the error, or what caused it, means that a file may not be opened, which says nothing about it."""
    if isinstance(error, sqlite3.Error) and hasattr(error, "sqlite_errorcode"):
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
    return error is not None and is_barred(error.__cause__)


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Count what is in the database."""
    return {
        name: int(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]) for name, table in _COUNTED.items()
    }


def digest(connection: sqlite3.Connection) -> str:
    """Return the SHA-256 of every row of every table, but for the note that a workspace was restored.

    Of the chunk table the ids and the hashes of the rows stand for the whole.
    """
    found = hashlib.sha256()
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    for (table,) in tables.fetchall():
        if table in _DERIVED:
            continue
        found.update(f"\n{table}\n".encode())
        columns = "chunk_id, row_hash" if table == "chunks" else "*"
        where = f"WHERE action <> '{RESTORED}'" if table == "events" else ""
        places = ", ".join(str(number + 1) for number in range(_width(connection, table, columns)))
        for row in connection.execute(f"SELECT {columns} FROM {table} {where} ORDER BY {places}"):
            found.update(msgspec.msgpack.encode(tuple(row)))
    return found.hexdigest()


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Say what is wrong with a database: its pages, links between tables, guards, texts, labels in force."""
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield f"SQLite: {line}"
    for table, row, other, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table}, row {row}: points to a row of {other} that is not there"
    missing = list(_schema_faults(connection))
    yield from missing
    if missing:
        return  # what follows counts on it
    for sha256, text in connection.execute("SELECT sha256, text FROM judged_texts"):
        if text_hash(text) != sha256:
            yield f"judged_texts: the text kept as {sha256} is another one"
    for problem, sql in _IN_FORCE.items():
        number = connection.execute(f"{_NEWEST} {sql}").fetchone()[0]
        if number:
            yield f"current_judgments: {number} {problem}"
    number = connection.execute(_STEPS).fetchone()[0]
    if number:
        yield f"current_steps: {number} are not the last thing the person said about the question"


def _schema_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Compare with a new workspace: everything has to be there, and the guards word for word."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Workspace(Path(folder) / "fresh")
        fresh.create()
        with closing(open_copy(fresh.database)) as other:
            if schema_of(connection) != schema_of(other):
                return  # of another version: it is brought up to date, with its guards, before anybody works on it
            wanted, found = _schema(other), _schema(connection)
    for name, sql in wanted.items():
        if name not in found:
            yield f"{name}: missing from the database"
        elif found[name] != sql and name.startswith("trigger "):
            yield f"{name}: not as Annotator made it"


def _schema(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1")
    return {row[0]: " ".join(row[1].split()) for row in rows if not row[0].endswith(_DERIVED)}


def _width(connection: sqlite3.Connection, table: str, columns: str) -> int:
    return len(connection.execute(f"SELECT {columns} FROM {table} LIMIT 0").description)
