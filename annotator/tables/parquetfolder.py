"""A folder of Parquet files that are one chunk table, as export jobs write them; each file is `parquet.py`'s."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotator.errors import InputError, Problem
from annotator.tables.parquet import ParquetTable
from annotator.tables.table import Batch, Column, Way
from annotator.tables.textfile import stamp_of

__all__ = ["ParquetFolder", "parquet_files"]


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files in the folder and below, by path, without hidden and unfinished ones."""
    found = (path.relative_to(folder) for path in folder.rglob("*.parquet"))
    return [folder / path for path in sorted(found) if not any(part.startswith((".", "_")) for part in path.parts)]


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """All files of a folder, one after the other. Places are row numbers across them, counted from 1."""

    path: Path
    kind: str = "folder of Parquet files"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def table(self) -> str:
        return ""

    def columns(self) -> list[Column]:
        return self._files()[0].columns()

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        return self._files()[0].sample(limit)

    def count(self) -> int:
        return sum(file.count() for file in self._files())

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        done = 0
        for file in self._files():
            lacking = set(columns) - {column.name for column in file.columns()}
            if lacking:
                raise InputError(
                    f"{file.path} has no column {', '.join(sorted(lacking))}.",
                    hint=f"Every file of {self.name} needs the columns of the first.",
                )
            for batch in file.batches(columns):
                yield Batch([done + place for place in batch.places], batch.values, batch.problems)
            done += file.count()

    def way(self, _key: str) -> Way:
        return "scan"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        end = time.monotonic() + seconds
        places: list[int] = []
        values: list[list[object]] = [[] for _ in columns]
        done = 0
        for file in self._files():
            found, columns_found, rows = file.found(key, ids, columns, end)
            places += [done + place for place in found]
            for column, more in zip(values, columns_found, strict=True):
                column += more
            done += rows
        return Batch(places, values)

    def stamp(self) -> str:
        return stamp_of([file.path for file in self._files()])

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        for file in self._files():
            if place <= (rows := file.count()):
                return file.problem(place, message, field=field, value=value, mend=mend)
            place -= rows
        return Problem(message, self.name, field=field, value=value, mend=mend)

    def _files(self) -> list[ParquetTable]:
        found = [ParquetTable(path) for path in parquet_files(self.path)]
        if not found:
            raise InputError(f"There are no Parquet files in {self.path}.")
        return found
