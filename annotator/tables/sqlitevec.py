"""Chunks kept by sqlite-vec, read without the extension: the `+` columns of a vec0 table lie in a plain table.

Its metadata columns are packed and stay out of reach. A plain table beside it is a table as any. Only to compare
vectors is the extension needed, which then does it, on a connection that cannot write.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from annotator.errors import InputError
from annotator.tables.sqlitefile import quoted
from annotator.tables.values import as_stored

__all__ = ["is_part", "nearest_beside", "nearest_within", "vec_tables"]

_DECLARED: Final = re.compile(r"create\s+virtual\s+table\s.*?\busing\s+vec0\s*\((.*)\)\s*;?\s*", re.I | re.S)
_PARTS: Final = re.compile(r"_(info|chunks|rowids|auxiliary|(vector_chunks|metadatachunks|metadatatext)\d\d)")
_KEY: Final = re.compile(r"(\S+)\s+(integer|text)\s+primary\s+key", re.I)
_VECTOR: Final = re.compile(r"(\S+)\s+(float|f32|int8|i8|bit)\s*\[\s*\d+\s*\].*", re.I | re.S)
_AS: Final = {"int8": "vec_int8(?)", "i8": "vec_int8(?)", "bit": "vec_bit(?)"}
"""How the extension is told what the bytes of a vector are; without a word they are 32-bit floats."""


def vec_tables(connection: sqlite3.Connection) -> Mapping[str, str]:
    """Find the vec0 tables; by name the query for their key and `+` columns, "" when there are none."""
    declared = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0")
    matches = {name: _DECLARED.fullmatch(written) for name, written in declared}
    return {name: _query(name, match[1]) for name, match in matches.items() if match}


def is_part(name: str, tables: Mapping[str, str]) -> bool:
    """Say whether a table belongs to the inside of a vec0 table."""
    return any(name.startswith(f"{table}_") and _PARTS.fullmatch(name[len(table) :]) for table in tables)


def nearest_within(connection: sqlite3.Connection, table: str, key: str, chunk_id: str, k: int) -> list[str]:
    """Return the ids of the k rows of a vec0 table nearest to one, with its own, by the distance it was made for.

    Raises InputError when the extension cannot be had.
    """
    rows = f"{quoted(table)} AS v"
    return _nearest(connection, table, rows, f"v.{quoted(key)}", rows, chunk_id, k)


def nearest_beside(
    connection: sqlite3.Connection, table: str, rowid: str, key: str, chunk_id: str, k: int
) -> list[str]:
    """Return the same for a plain table whose vectors lie in the vec0 table `…_vec`, by rowid, as LangChain keeps them.

    None when there is no such table. Raises InputError when the extension cannot be had.
    """
    beside, plain = quoted(f"{table}_vec"), quoted(table)
    # In this order the extension is asked once; the other way round it would be asked for every row.
    both = f"{beside} AS v CROSS JOIN {plain} AS c ON c.{rowid} = v.rowid"
    own = f"{plain} AS c CROSS JOIN {beside} AS v ON c.{rowid} = v.rowid"
    return _nearest(connection, f"{table}_vec", both, f"c.{quoted(key)}", own, chunk_id, k)


def _nearest(
    connection: sqlite3.Connection, table: str, rows: str, key: str, own: str, chunk_id: str, k: int
) -> list[str]:
    found = _vector(connection, table)
    if not found:
        return []
    _load(connection)
    vector, kind = f"v.{quoted(found[0])}", found[1]
    ids = as_stored([chunk_id])
    marks = ",".join("?" * len(ids))
    mine = connection.execute(f"SELECT {vector} FROM {own} WHERE {key} IN ({marks}) LIMIT 1", ids).fetchone()
    if mine is None or mine[0] is None:
        return []
    query = f"SELECT {key} FROM {rows} WHERE {vector} MATCH {_AS.get(kind, '?')} AND v.k = ? ORDER BY v.distance"
    return [str(row[0]) for row in connection.execute(query, (mine[0], k))]


def _vector(connection: sqlite3.Connection, table: str) -> tuple[str, str] | None:
    """Find the vectors of a vec0 table, the first of several: their column and what their numbers are."""
    row = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ? AND rootpage = 0", (table,)).fetchone()
    declared = _DECLARED.fullmatch(row[0] or "") if row else None
    parts = declared[1].split(",") if declared else []
    match = next((match for part in parts if (match := _VECTOR.fullmatch(part.strip()))), None)
    return (match[1], match[2].lower()) if match else None


def _load(connection: sqlite3.Connection) -> None:
    allow = getattr(connection, "enable_load_extension", None)
    if allow is None:
        raise InputError("The SQLite of this Python loads no extensions, and sqlite-vec is one.")
    try:
        import sqlite_vec
    except ImportError as error:
        raise InputError("Comparing vectors in SQLite needs its extension: pip install sqlite-vec.") from error
    allow(True)
    try:
        sqlite_vec.load(connection)
    finally:
        allow(False)


def _query(table: str, declared: str) -> str:
    parts = [part.strip() for part in declared.split(",")]
    plain = [part[1:].split()[0] for part in parts if part.startswith("+")]
    if not plain:
        return ""
    chosen = [*_key(parts), *(f"a.value{place:02d} AS {quoted(name)}" for place, name in enumerate(plain))]
    return (
        f"SELECT {', '.join(chosen)} FROM {quoted(table + '_auxiliary')} AS a "
        f"JOIN {quoted(table + '_rowids')} AS r ON r.rowid = a.rowid ORDER BY a.rowid"
    )


def _key(parts: list[str]) -> Iterator[str]:
    found = next((match for part in parts if (match := _KEY.match(part))), None)
    name, kind = (found[1], found[2].lower()) if found else ("rowid", "integer")
    yield f"{'r.id' if kind == 'text' else 'a.rowid'} AS {quoted(name)}"
