"""Chunk tables in a CSV or TSV file with a header; cells may be quoted and hold line breaks."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from annotator.errors import InputError, Problem, shorten
from annotator.tables.columns import describe
from annotator.tables.table import BATCH_ROWS, Batch, Column
from annotator.tables.textfile import open_text, stamp_of

__all__ = ["CsvTable"]

_SAMPLED = 100
_LARGEST_CELL = 64 * 1024 * 1024
"""Characters; also bounds the memory that a quote which is never closed can take."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """One `.csv` or `.tsv` file. Places are the line numbers where records start."""

    path: Path
    delimiter: str
    kind: str = "CSV file"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def table(self) -> str:
        return ""

    def columns(self) -> list[Column]:
        with self._records() as (header, _):
            return describe(header, self.sample(_SAMPLED))

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        with self._records() as (header, records):
            sound = (record for _, record in records if not isinstance(record, Problem))
            return [dict(zip(header, record, strict=True)) for record in islice(sound, limit)]

    def count(self) -> None:
        return None

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        with self._records() as (header, records):
            chosen = [header.index(name) for name in columns]
            while read := list(islice(records, BATCH_ROWS)):
                problems = [record for _, record in read if isinstance(record, Problem)]
                kept = [(line, record) for line, record in read if not isinstance(record, Problem)]
                values = [[record[index] for _, record in kept] for index in chosen]
                yield Batch([line for line, _ in kept], values, problems)

    def stamp(self) -> str:
        return stamp_of([self.path])

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, self.name, place, field, value, mend)

    @contextmanager
    def _records(self) -> Iterator[tuple[list[str], Iterator[tuple[int, list[str] | Problem]]]]:
        csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
        with open_text(self.path, newline="") as text:
            reader = csv.reader(text, delimiter=self._delimiter(text), strict=True)
            try:
                header = next(reader, [])
            except csv.Error as error:
                raise InputError(f"The header of {self.name} cannot be read: {error}.") from error
            self._check(header)
            yield header, self._numbered(reader, len(header))

    def _numbered(self, reader: Any, width: int) -> Iterator[tuple[int, list[str] | Problem]]:
        while True:
            line = reader.line_num + 1
            try:
                record = next(reader, None)
            except csv.Error as error:
                mend = 'A cell that holds a quote, a line break or the delimiter goes into "…", its quotes doubled.'
                yield line, self.problem(line, f"the record cannot be read: {error}", mend=mend)
                continue
            if record is None:
                return
            if len(record) == width:
                yield line, record
            elif record:  # a blank line is no record
                message = f"the record has {len(record)} cells, the header {width}"
                yield line, self.problem(line, message, value=self.delimiter.join(record)[:200])

    def _delimiter(self, text: TextIO) -> str:
        """Take the semicolon, as some spreadsheets do, when a .csv file's header has no comma but one of those."""
        start = text.readline()
        text.seek(0)
        semicolons = self.delimiter == "," and "," not in start and ";" in start
        return ";" if semicolons else self.delimiter

    def _check(self, header: list[str]) -> None:
        if not header:
            raise InputError(f"{self.name} is empty.", hint="A header with the names of the columns is expected.")
        doubled = [name for name, times in Counter(header).items() if times > 1]
        if doubled:
            raise InputError(
                f"The header of {self.name} names a column twice: {', '.join(shorten(name) for name in doubled)}.",
                hint="Give every column its own name.",
            )
