"""Chunk tables in a Parquet file, read in batches of only the columns that are needed: never the vectors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotator.errors import InputError, Problem
from annotator.tables.columns import describe
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way
from annotator.tables.textfile import stamp_of

__all__ = ["ParquetTable", "values_of"]

_SAMPLED = 100
_SCANNED = 50_000
_BUFFER = 1 << 20
"""Bytes read at a time; without it a whole column of a row group is, which may be gigabytes of vectors."""


@dataclass(frozen=True, slots=True)
class ParquetTable:
    """One `.parquet` file. Places are row numbers, counted from 1."""

    path: Path
    kind: str = "Parquet file"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def table(self) -> str:
        return ""

    def columns(self) -> list[Column]:
        with self._open() as file:
            names = list(file.schema_arrow.names)
        return describe(names, self.sample(_SAMPLED))

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        with self._open() as file:
            for batch in file.iter_batches(batch_size=limit):
                columns = [values_of(column)[0] for column in batch.columns]
                return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
        return []

    def count(self) -> int:
        with self._open() as file:
            return int(file.metadata.num_rows)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        done = 0
        with self._open() as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns)):
                read = {name: values_of(batch.column(name)) for name in columns}
                faults: dict[int, Problem] = {}
                for name, (_, undecodable) in read.items():
                    for index, error in undecodable.items():
                        faults[index] = self._undecodable(done + index + 1, name, error)
                kept = [index for index in range(batch.num_rows) if index not in faults]
                values = [read[name][0] for name in columns]
                if faults:
                    values = [[column[index] for index in kept] for column in values]
                yield Batch([done + index + 1 for index in kept], values, [faults[index] for index in sorted(faults)])
                done += batch.num_rows

    def way(self, _key: str) -> Way:
        return "scan"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        places, values, _ = self.found(key, ids, columns, time.monotonic() + seconds)
        return Batch(places, values)

    def found(
        self, key: str, ids: Sequence[str], columns: Sequence[str], end: float
    ) -> tuple[list[int], list[list[object]], int]:
        """Look through the ids alone for these, then read the row groups they are in; also give the number of rows.

        Raises InputError when the clock passes `end`.
        """
        wanted = set(ids)
        places: list[int] = []
        values: list[list[object]] = [[] for _ in columns]
        done = 0
        with self._open() as file:
            for group in range(file.num_row_groups):
                hits = [at for at, one in enumerate(_ids(file, group, key, end)) if str(one) in wanted]
                if hits:
                    table = file.read_row_group(group, columns=list(columns)).take(hits)
                    for name, column in zip(columns, values, strict=True):
                        column += values_of(table.column(name))[0]
                places += [done + at + 1 for at in hits]
                done += file.metadata.row_group(group).num_rows
        return places, values, done

    def stamp(self) -> str:
        return stamp_of([self.path])

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, row {place}", field=field, value=value, mend=mend)

    def _undecodable(self, place: int, column: str, error: UnicodeDecodeError) -> Problem:
        shown = error.object.decode("utf-8", "backslashreplace")[:200]
        return self.problem(place, f"the text is not UTF-8 at byte {error.start + 1}", field=column, value=shown)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise InputError("Reading Parquet needs pyarrow.", hint="Install it: pip install pyarrow.") from error
        try:
            with pyarrow.parquet.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False) as file:
                yield file
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{self.path} cannot be read: {error}.", hint="Is it a whole Parquet file?") from error


def _ids(file: Any, group: int, key: str, end: float) -> Iterator[object]:
    for batch in file.iter_batches(batch_size=_SCANNED, row_groups=[group], columns=[key]):
        if time.monotonic() > end:
            raise InputError("Looking through the Parquet file for one chunk took too long.", hint="Sync instead.")
        yield from values_of(batch.column(key))[0]


def values_of(column: Any) -> tuple[list[object], dict[int, UnicodeDecodeError]]:
    """Return the values of an Arrow column as Python has them, and by index the texts that are not UTF-8.

    Points in time are given as text.
    """
    import pyarrow

    kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    if pyarrow.types.is_temporal(kind):
        column = column.cast(pyarrow.string())
    try:
        return column.to_pylist(), {}
    except UnicodeDecodeError:
        pass
    values: list[object] = []
    undecodable: dict[int, UnicodeDecodeError] = {}
    for index, value in enumerate(column):
        try:
            values.append(value.as_py())
        except UnicodeDecodeError as error:
            values.append(None)
            undecodable[index] = error
    return values, undecodable
