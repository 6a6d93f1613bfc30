"""Chunk tables in a JSON Lines file: one object a line, keys may differ from line to line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import msgspec

from annotator.errors import Problem, shorten
from annotator.tables.columns import describe
from annotator.tables.table import BATCH_ROWS, WHOLE_RECORD, Batch, Column
from annotator.tables.textfile import open_text, stamp_of

__all__ = ["JsonlTable"]

_SAMPLED = 1_000
_EXPECTED = 'One JSON object a line is expected, e.g. {"chunk_id": "a#1", "text": "…"}.'


@dataclass(frozen=True, slots=True)
class JsonlTable:
    """One `.jsonl` or `.ndjson` file. Places are line numbers."""

    path: Path
    kind: str = "JSON Lines file"
    open_ended: bool = True

    @property
    def name(self) -> str:
        return self.path.name

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        return describe(dict.fromkeys(key for row in rows for key in row), rows)

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        with open_text(self.path, newline="\n") as lines:
            read = (self._record(number, line) for number, line in _filled(lines))
            return list(islice((record for record in read if isinstance(record, dict)), limit))

    @property
    def table(self) -> str:
        return ""

    def count(self) -> None:
        return None

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        with open_text(self.path, newline="\n") as lines:
            filled = _filled(lines)
            while read := [(number, self._record(number, line)) for number, line in islice(filled, BATCH_ROWS)]:
                problems = [record for _, record in read if isinstance(record, Problem)]
                kept = [(number, record) for number, record in read if isinstance(record, dict)]
                records = [record for _, record in kept]
                values = [
                    records if name == WHOLE_RECORD else [record.get(name) for record in records] for name in columns
                ]
                yield Batch([number for number, _ in kept], values, problems)

    def stamp(self) -> str:
        return stamp_of([self.path])

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, self.name, place, field, value, mend)

    def _record(self, number: int, line: str) -> dict[str, object] | Problem:
        try:
            record = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            try:  # the standard library takes lone surrogates, which are then named by field
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                fault = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                column = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
                return self.problem(number, f"not JSON{column}: {fault}", value=line[:200].strip(), mend=_EXPECTED)
        if not isinstance(record, dict):
            return self.problem(number, f"not an object but {shorten(record, 40)}", mend=_EXPECTED)
        return record


def _filled(lines: TextIO) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, 1) if not line.isspace())
