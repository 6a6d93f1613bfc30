"""The file that is imported: read and decoded, its form told by its content, and the faults found in it so far.

Reading its rows is `rows.py`; which fields there are, and what they mean, is left to the kinds of import.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Final, TypeAlias

from annotator.errors import InputError, Problem, as_written
from annotator.gold.tablefile import QRELS_LINE, header_of
from annotator.gold.textfile import decode, name_of, read_bytes, unpack

__all__ = ["ImportFile", "Source", "flag_of", "named_columns", "open_file", "text_fault"]

Source: TypeAlias = Path | str | tuple[str, bytes]
"""A path (`-` is standard input), or the name and content of an uploaded file."""

_STARTS_JSON: Final = re.compile(r"\{\s*(\"|\}|$)|\[\s*([{\[\]]|$)")
"""An id may start with a bracket as well."""
_FOREIGN: Final = re.compile(r"(?P<XML><\?xml|<(top|doc|root|xml|document)\b)|(?P<SMART>\.I +\S+\s)", re.IGNORECASE)
_AS_TEXT: Final = (
    "Questions: write one a line, its id, a tab and the question; where judgments count the questions by their place "
    "in the file, as Cranfield's do, number them 1, 2, 3 …. Judgments: write query id, 0, chunk id, grade."
)
_FLAGS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
_YAML_KEY: Final = re.compile(r"(?:- )?([\w-]+):(?: |$)")


@dataclass(slots=True)
class ImportFile:
    """A file being imported, with the faults found so far; `form` is table, json, yaml or bare."""

    name: str
    text: str
    form: str
    problems: list[Problem] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """First and last line of every row that takes more than one, in order."""

    @property
    def lines(self) -> list[str]:
        """The lines with their ends."""
        return list(StringIO(self.text, newline=""))

    def fault(self, line: int | None, message: str, name: str = "", value: object = "", mend: str = "") -> None:
        """Note a fault."""
        self.problems.append(Problem(message, self.name, line, name, as_written(value), mend))

    def refuse_faults(self, *, hint: str = "") -> None:
        """Raise InputError with all faults in the order of the file, if there are any."""
        if self.problems:
            number = len(self.problems)
            raise InputError(
                f"{self.name} was not imported: {number} fault{'s' if number > 1 else ''}. Nothing was written.",
                problems=sorted(self.problems, key=lambda problem: problem.line or 0),
                hint=hint,
            )

    def refused(self) -> str:
        """Return the rows with faults as a file of their own, as they were written, with the header if there is one."""
        if not self.problems:
            return ""
        lines = self.lines
        wanted = {1} if self.form == "table" else set()
        for problem in self.problems:
            first, last = self._span(problem.line or 1)
            wanted.update(range(first, last + 1))
        kept = [lines[number - 1] for number in sorted(wanted) if number <= len(lines)]
        return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n" for line in kept)

    def _span(self, line: int) -> tuple[int, int]:
        """The lines of the row that this line is part of."""
        place = bisect_right(self.spans, (line, len(self.text)))
        if place and self.spans[place - 1][1] >= line:
            return self.spans[place - 1]
        return line, line


def open_file(source: Source, columns: Iterable[str]) -> ImportFile:
    """Read and decode the file and tell its form; a first line that holds one of `columns` is a header.

    Raises InputError when it cannot be read, is not UTF-8 or marked UTF-16, or is empty.
    """
    if isinstance(source, tuple):
        name, data = source
        text = decode(unpack(data, name), name)
    else:
        name = name_of(source)
        text = decode(read_bytes(source), name)
    if not text.strip():
        raise InputError(f"{name} is empty.", hint="Choose a file with at least one row.")
    foreign = _FOREIGN.match(text.lstrip())
    if foreign:
        raise InputError(f"{name} is {foreign.lastgroup}, which is not read.", hint=_AS_TEXT)
    return ImportFile(name, text, _form(name, text, frozenset(columns)))


def named_columns(known: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the accepted names with those added that somebody gave: column of the file → field, "" leaves it out.

    Raises InputError for a field that is none.
    """
    fields = dict.fromkeys(known.values())
    for column, meant in given.items():
        if meant and meant not in fields:
            raise InputError(f"Column {column!r} cannot be {meant!r}.", hint=f"There are: {', '.join(fields)}.")
    return {**known, **{column.strip().lower(): meant for column, meant in given.items()}}


def text_fault(value: object) -> str:
    """Say why the value cannot be stored as text, or return "" when it can."""
    if not isinstance(value, str):
        return f"is a {type(value).__name__}, not text"
    if value.isascii():
        return ""
    broken = next((character for character in value if "\ud800" <= character <= "\udfff"), "")
    return f"has the lone surrogate U+{ord(broken):04X}" if broken else ""


def flag_of(value: object) -> bool | None:
    """Return what a field says that is true or false, nothing being false; None when it says neither."""
    return _FLAGS.get("" if value is None else str(value).strip().lower())


def _form(name: str, text: str, columns: frozenset[str]) -> str:
    start = text.lstrip()
    first = start.split("\n", 1)[0].rstrip()
    if QRELS_LINE.fullmatch(first):
        return "bare"
    if _STARTS_JSON.match(start):
        return "json"
    key = _YAML_KEY.match(first)
    if name.lower().endswith((".yaml", ".yml")) or first == "---" or (key and key[1] in columns):
        return "yaml"
    header = header_of(first)
    return "table" if columns.intersection(header) else "bare"
