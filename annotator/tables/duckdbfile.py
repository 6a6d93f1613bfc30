"""Chunk tables in a DuckDB file: tables and views, opened read-only, never their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, Final

from annotator.errors import InputError, Problem
from annotator.tables.choice import choose
from annotator.tables.columns import describe
from annotator.tables.sqlitefile import quoted
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way

__all__ = ["DuckTable", "duck_names", "open_duck"]

_SAMPLED: Final = 100
_PLAIN: Final = frozenset(
    ("VARCHAR", "JSON", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
)
_REAL: Final = frozenset(("FLOAT", "DOUBLE"))


def open_duck(path: Path, table: str) -> DuckTable:
    """Open a table or view; without a name, the only one that has ids and texts.

    Raises InputError when the file cannot be read or the choice is not clear, NotFound for an unknown name.
    """
    return choose(_tables(path), table, path.name)


def duck_names(path: Path) -> list[str]:
    """List the tables and views of the file; those of another schema than `main` with its name before theirs."""
    return [each.table for each in _tables(path)]


@dataclass(frozen=True, slots=True)
class DuckTable:
    """One table or view. `types` are the columns with their types; places are row numbers."""

    path: Path
    table: str
    source: str
    types: Mapping[str, str]
    kind: str = "DuckDB table"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return f"{self.path.name}, table {self.table}"

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        found: list[Column] = []
        for name, kind in self.types.items():
            skipped = _skipped(kind)
            found += [Column(name, skipped)] if skipped else describe([name], rows)
        return found

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        names = [name for name, kind in self.types.items() if not _skipped(kind)]
        with _reading(self.path) as connection:
            rows = connection.execute(f"{self._select(names)} LIMIT {limit:d}").fetchall()
        return [dict(zip(names, row, strict=True)) for row in rows]

    def count(self) -> int:
        with _reading(self.path) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {self.source}").fetchall()[0][0])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        done = 0
        with _reading(self.path) as connection:
            cursor = connection.execute(self._select(columns))
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield Batch(range(done + 1, done + len(rows) + 1), list(zip(*rows, strict=True)))
                done += len(rows)

    def way(self, _key: str) -> Way:
        return "scan"  # also with an index: while the file is open here, nobody else can open it for writing

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        marks = ",".join("?" * len(ids))
        rows = self._asked(f"{self._select(columns)} WHERE {quoted(key)}::VARCHAR IN ({marks})", list(ids), seconds)
        return Batch(range(1, len(rows) + 1), list(zip(*rows, strict=True)) if rows else [[] for _ in columns])

    def nearest(self, key: str, chunk_id: str, k: int, seconds: float) -> list[str]:
        vector = next((name for name, kind in self.types.items() if _skipped(kind) == "vector"), None)
        if vector is None:
            return []
        kind = "list" if self.types[vector].endswith("[]") else "array"
        own = f"(SELECT {quoted(vector)} FROM {self.source} WHERE {quoted(key)}::VARCHAR = ? LIMIT 1)"
        query = (
            f"SELECT {quoted(key)}::VARCHAR FROM {self.source} "
            f"WHERE {quoted(vector)} IS NOT NULL AND {own} IS NOT NULL "
            f"ORDER BY {kind}_cosine_distance({quoted(vector)}, {own}) LIMIT {k:d}"
        )
        return [row[0] for row in self._asked(query, [chunk_id, chunk_id], seconds)]

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, row {place}", field=field, value=value, mend=mend)

    def _asked(self, query: str, values: list[str], seconds: float) -> list[tuple[Any, ...]]:
        with _reading(self.path) as connection:
            alarm = Timer(seconds, connection.interrupt)
            alarm.start()
            try:
                found: list[tuple[Any, ...]] = connection.execute(query, values).fetchall()
            finally:
                alarm.cancel()
        return found

    def _select(self, columns: Sequence[str]) -> str:
        chosen = ", ".join(_expression(name, self.types.get(name, "VARCHAR")) for name in columns)
        return f"SELECT {chosen} FROM {self.source}"


def _tables(path: Path) -> list[DuckTable]:
    with _reading(path) as connection:
        rows = connection.execute(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, table_name, column_index"
        ).fetchall()
    types: dict[tuple[str, str], dict[str, str]] = {}
    for schema, table, column, kind in rows:
        types.setdefault((schema, table), {})[column] = kind
    return [
        DuckTable(path, table if schema == "main" else f"{schema}.{table}", f"{quoted(schema)}.{quoted(table)}", found)
        for (schema, table), found in types.items()
    ]


def _skipped(kind: str) -> str:
    """Say what a column that is never read holds, "" for one that is."""
    if kind == "BLOB":
        return "blob"
    return "vector" if kind.endswith("]") and kind.partition("[")[0] in _REAL else ""


def _expression(name: str, kind: str) -> str:
    """Ask for objects as JSON and for all that Python would give a type of its own as text."""
    column = quoted(name)
    if kind in _PLAIN | _REAL:
        return column
    return f"to_json({column})::VARCHAR" if kind.startswith(("STRUCT", "MAP")) else f"{column}::VARCHAR"


@contextmanager
def _reading(path: Path) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError as error:
        raise InputError("Reading DuckDB needs duckdb.", hint="Install it: pip install duckdb.") from error
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
    except duckdb.Error as error:
        said = " ".join(str(error).split())
        hint = "Is it a DuckDB file? While a program has it open for writing, nobody can read it: close that first."
        raise InputError(f"{path} cannot be read: {said[:300]}.", hint=hint) from error
