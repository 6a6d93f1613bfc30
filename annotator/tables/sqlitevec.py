"""Chunks kept by sqlite-vec, read without the extension: the `+` columns of a vec0 table lie in a plain table.

Its vectors and its metadata columns are packed and stay out of reach. A plain table beside it is a table as any.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from annotator.tables.sqlitefile import quoted

__all__ = ["is_part", "vec_tables"]

_DECLARED: Final = re.compile(r"create\s+virtual\s+table\s.*?\busing\s+vec0\s*\((.*)\)\s*;?\s*", re.I | re.S)
_PARTS: Final = re.compile(r"_(info|chunks|rowids|auxiliary|(vector_chunks|metadatachunks|metadatatext)\d\d)")
_KEY: Final = re.compile(r"(\S+)\s+(integer|text)\s+primary\s+key", re.I)


def vec_tables(connection: sqlite3.Connection) -> Mapping[str, str]:
    """Find the vec0 tables; by name the query for their key and `+` columns, "" when there are none."""
    declared = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0")
    matches = {name: _DECLARED.fullmatch(written) for name, written in declared}
    return {name: _query(name, match[1]) for name, match in matches.items() if match}


def is_part(name: str, tables: Mapping[str, str]) -> bool:
    """Say whether a table belongs to the inside of a vec0 table."""
    return any(name.startswith(f"{table}_") and _PARTS.fullmatch(name[len(table) :]) for table in tables)


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
