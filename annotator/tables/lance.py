"""Chunk tables of a LanceDB folder, scanned once in the order they lie in, never their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from annotator.errors import InputError, Problem
from annotator.tables.choice import choose
from annotator.tables.columns import describe
from annotator.tables.parquet import values_of
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way
from annotator.tables.values import as_stored

__all__ = ["LanceTable", "lance_names", "open_lance"]

_SAMPLED: Final = 100


def open_lance(folder: Path, table: str) -> LanceTable:
    """Open a table; without a name, the only one that has ids and texts.

    Raises InputError when it cannot be read or the choice is not clear, NotFound for an unknown name.
    """
    return choose([LanceTable(folder, name) for name in lance_names(folder)], table, folder.name)


def lance_names(folder: Path) -> list[str]:
    """List the tables of the folder."""
    return sorted(path.stem for path in folder.glob("*.lance"))


@dataclass(frozen=True, slots=True)
class LanceTable:
    """One table as of its newest version. Places are row numbers."""

    folder: Path
    table: str
    kind: str = "LanceDB table"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return f"{self.folder.name}, table {self.table}"

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        found: list[Column] = []
        with self._open() as table:
            for field in table.schema:
                found += describe([field.name], rows) if _is_read(field) else [Column(field.name, "vector")]
        return found

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        with self._open() as table:
            names = [field.name for field in table.schema if _is_read(field)]
            rows = [row for _, columns in _scan(table, names, limit) for row in zip(*columns, strict=True)]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def count(self) -> int:
        with self._open() as table:
            return int(table.count_rows())

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        done = 0
        with self._open() as table:
            for size, values in _scan(table, columns):
                yield Batch(range(done + 1, done + size + 1), values)
                done += size

    def way(self, key: str) -> Way:
        with self._open() as table:
            indexed = {name for index in table.list_indices() for name in index.columns}
        return "index" if key in indexed else "scan"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], _seconds: float) -> Batch:
        with self._open() as table:
            found = list(_scan(table, columns, where=_among(table.schema.field(key), ids)))
        values = [[value for _, page in found for value in page[at]] for at in range(len(columns))]
        return Batch(range(1, sum(size for size, _ in found) + 1), values)

    def nearest(self, key: str, chunk_id: str, k: int, _seconds: float) -> list[str]:
        with self._open() as table:
            vector = next((field.name for field in table.schema if not _is_read(field)), None)
            own = table.search().where(_among(table.schema.field(key), [chunk_id])).limit(1).to_list() if vector else []
            if vector is None or not own or own[0][vector] is None:
                return []
            query = table.search(own[0][vector], vector_column_name=vector).select([key]).limit(k)
            return [str(row[key]) for row in query.to_list()]

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, row {place}", field=field, value=value, mend=mend)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            import lancedb
        except ImportError as error:
            raise InputError("Reading LanceDB needs lancedb.", hint="Install it: pip install lancedb.") from error
        if not (self.folder / f"{self.table}.lance").is_dir():  # the library would make a folder that is missing
            raise InputError(f"There is no LanceDB table {self.table} in {self.folder}.")
        try:
            yield lancedb.connect(str(self.folder)).open_table(self.table)
        except (OSError, RuntimeError, ValueError) as error:  # the library has no error of its own
            raise InputError(f"{self.name} cannot be read: {' '.join(str(error).split())[:300]}.") from error


def _is_read(field: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    is_list = types.is_list(field.type) or types.is_large_list(field.type) or types.is_fixed_size_list(field.type)
    return not (is_list and types.is_floating(field.type.value_type))


def _among(field: Any, ids: Sequence[str]) -> str:
    """Write the condition that a column holds one of these ids."""
    import pyarrow

    if pyarrow.types.is_integer(field.type):
        values = [str(each) for each in as_stored(ids) if isinstance(each, int)] or ["NULL"]
    else:
        values = ["'" + each.replace("'", "''") + "'" for each in ids]
    return f"`{field.name}` IN ({', '.join(values)})"


def _scan(
    table: Any, columns: Sequence[str], limit: int | None = None, where: str = ""
) -> Iterator[tuple[int, list[list[object]]]]:
    query = table.search().select(list(columns))
    if where:
        query = query.where(where)
    if limit is not None:
        query = query.limit(limit)
    for batch in query.to_batches(BATCH_ROWS):
        yield batch.num_rows, [values_of(batch.column(name))[0] for name in columns]
