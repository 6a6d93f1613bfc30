"""Chunk tables in an SQLite file: tables and views, opened read-only, read in pages so that writers are not held up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotator.errors import Problem
from annotator.tables.choice import choose
from annotator.tables.columns import describe
from annotator.tables.sqlitefile import quoted, reading
from annotator.tables.sqlitevec import is_part, nearest_beside, nearest_within, vec_tables
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way
from annotator.tables.values import as_stored

__all__ = ["SqliteTable", "open_sqlite", "table_names"]

_SAMPLED = 100
_ROWID_NAMES = ("rowid", "_rowid_", "oid")


class _Undecodable(bytes):
    """A text cell whose bytes are not UTF-8."""


def open_sqlite(path: Path, table: str) -> SqliteTable:
    """Open a table or view of the file; without a name, the only one that has ids and texts.

    Raises InputError when the file is no database or the choice is not clear, NotFound for an unknown name.
    """
    return choose(_tables(path), table, path.name)


def table_names(path: Path) -> list[str]:
    """List the tables and views of the file, without SQLite's own and those of extensions."""
    return [each.table for each in _tables(path)]


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """One table or view. Places are rowids where the table has them, else row numbers in reading order.

    `query` stands for the table where its rows have to be put together first.
    """

    path: Path
    table: str
    query: str = ""
    kind: str = "SQLite table"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return f"{self.path.name}, table {self.table}"

    def columns(self) -> list[Column]:
        with reading(self.path) as connection:
            names = self._names(connection)
        return describe(names, self.sample(_SAMPLED))

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        with reading(self.path) as connection:
            names = self._names(connection)
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            rows = connection.execute(f"SELECT * FROM {self._source} LIMIT ?", (limit,))
            return [dict(zip(names, row, strict=True)) for row in rows]

    def count(self) -> int:
        with reading(self.path) as connection:
            return int(connection.execute(f"SELECT COUNT(*) FROM {self._source}").fetchone()[0])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        with reading(self.path) as connection:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                connection.execute("BEGIN")  # one unmoving state; holds nobody up under WAL
            rowid = self._rowid(connection)
            pages = self._pages(connection, columns, rowid) if rowid else self._stream(connection, columns)
            for rows in pages:
                yield self._batch(rows, columns)

    def way(self, key: str) -> Way:
        query = f"EXPLAIN QUERY PLAN SELECT 1 FROM {self._source} WHERE {quoted(key)} IN (?, ?)"
        with reading(self.path) as connection:
            steps = [row[3] for row in connection.execute(query, ("", ""))]
        return "scan" if any(step.startswith("SCAN") for step in steps) else "index"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        keys = as_stored(ids)
        with reading(self.path, seconds) as connection:
            place = self._rowid(connection) or "0"
            chosen = ", ".join([place, *map(quoted, columns)])
            marks = ",".join("?" * len(keys))
            query = f"SELECT {chosen} FROM {self._source} WHERE {quoted(key)} IN ({marks})"
            return self._batch(_page(connection, query, tuple(keys)), columns)

    def nearest(self, key: str, chunk_id: str, k: int, seconds: float) -> list[str]:
        with reading(self.path, seconds) as connection:
            if self.query:
                return nearest_within(connection, self.table, key, chunk_id, k)
            rowid = self._rowid(connection)
            return nearest_beside(connection, self.table, rowid, key, chunk_id, k) if rowid else []

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, row {place}", field=field, value=value, mend=mend)

    @property
    def _source(self) -> str:
        return f"({self.query})" if self.query else quoted(self.table)

    def _names(self, connection: sqlite3.Connection) -> list[str]:
        return [column[0] for column in connection.execute(f"SELECT * FROM {self._source} LIMIT 0").description]

    def _rowid(self, connection: sqlite3.Connection) -> str:
        if self.query:
            return ""
        kind, without = connection.execute(
            "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", (self.table,)
        ).fetchone()
        if kind != "table" or without:
            return ""
        names = {name.lower() for name in self._names(connection)}
        return next((name for name in _ROWID_NAMES if name not in names), "")

    def _pages(
        self, connection: sqlite3.Connection, columns: Sequence[str], rowid: str
    ) -> Iterator[list[tuple[object, ...]]]:
        """Read by rowid, a page a statement: between pages the file is free for its owner."""
        chosen = ", ".join([rowid, *map(quoted, columns)])
        select = f"SELECT {chosen} FROM {self._source}"
        order = f"ORDER BY {rowid} LIMIT {BATCH_ROWS}"
        rows = _page(connection, f"{select} {order}", ())
        while rows:
            yield rows
            rows = _page(connection, f"{select} WHERE {rowid} > ? {order}", (rows[-1][0],))

    def _stream(self, connection: sqlite3.Connection, columns: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
        """Read views and tables without rowid in one statement, in the order of the primary key if there is one."""
        asked = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
        key = [] if self.query else connection.execute(asked, (self.table,)).fetchall()
        order = f" ORDER BY {', '.join(quoted(row[0]) for row in key)}" if key else ""
        query = f"SELECT {', '.join(map(quoted, columns))} FROM {self._source}{order}"
        cursor = connection.execute(query)
        done = 0
        while True:
            try:
                rows = cursor.fetchmany(BATCH_ROWS)
            except sqlite3.OperationalError as error:
                if connection.text_factory is not str or "decode" not in str(error):
                    raise
                connection.text_factory = _decode
                cursor = connection.execute(f"{query} LIMIT -1 OFFSET {done}")
                continue
            if not rows:
                return
            yield [(done + number, *row) for number, row in enumerate(rows, 1)]
            done += len(rows)

    def _batch(self, rows: list[tuple[object, ...]], columns: Sequence[str]) -> Batch:
        sound = [row for row in rows if _Undecodable not in map(type, row)]
        problems = (
            [
                self._undecodable(int(str(row[0])), column, cell)
                for row in rows
                for column, cell in zip(columns, row[1:], strict=True)
                if isinstance(cell, _Undecodable)
            ]
            if len(sound) < len(rows)
            else []
        )
        places, *values = zip(*sound, strict=True) if sound else ([], *([] for _ in columns))
        return Batch(places, values, problems)

    def _undecodable(self, place: int, column: str, cell: bytes) -> Problem:
        try:
            cell.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = f"the text is not UTF-8 at byte {error.start + 1}"
        return self.problem(place, fault, field=column, value=cell.decode("utf-8", "backslashreplace")[:200])


def _page(connection: sqlite3.Connection, query: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
    """Read a page fast; should a text in it not be UTF-8, read it again cell by cell."""
    try:
        return connection.execute(query, values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    connection.text_factory = _decode
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.text_factory = str


def _decode(raw: bytes) -> str | _Undecodable:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return _Undecodable(raw)


def _tables(path: Path) -> list[SqliteTable]:
    with reading(path) as connection:
        vectors = vec_tables(connection)
        rows = connection.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view') "
            r"AND name NOT LIKE 'sqlite\_%' ESCAPE '\'"
        )
        found = [SqliteTable(path, row[0]) for row in rows if not is_part(row[0], vectors)]
    found += [SqliteTable(path, name, query, "sqlite-vec table") for name, query in vectors.items() if query]
    return sorted(found, key=lambda each: each.table)
