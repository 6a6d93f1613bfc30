"""Rows of text files: tables with a header, and the columns of TREC. What the cells mean is the caller's business."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from typing import Final

from annotator.errors import InputError, Problem

__all__ = [
    "QRELS_LINE",
    "delimiter_of",
    "find_columns",
    "first_line",
    "header_of",
    "repeated_columns",
    "table_rows",
    "trec_rows",
]

QRELS_LINE: Final = re.compile(r"[^ \t]+[ \t]+(?:0|Q0)[ \t]+[^ \t]+[ \t]+[+-]?[0-9]+[ \t\r]*")
"""A line of judgments, whatever its ids would be taken for elsewhere: query, 0, chunk, grade."""

_TREC_SPACE: Final = re.compile(r"[ \t\r\f\v]+")
_LINE_END: Final = re.compile(r"[\r\n]")


def delimiter_of(first: str) -> str:
    """Return what the cells of a header line are separated by: tab, comma or semicolon."""
    return next((sign for sign in ("\t", ",", ";") if sign in first), ",")


def first_line(text: str) -> str:
    """Return the first line that is not empty; lines end as they do anywhere, in one file even in several ways."""
    return _LINE_END.split(text.lstrip("\r\n"), maxsplit=1)[0]


def header_of(text: str) -> tuple[str, ...]:
    """Return the cells of the first line in lower case."""
    first = first_line(text)
    cells = first.split(delimiter_of(first))
    if '"' in first:  # a quoted name may hold the delimiter
        with suppress(csv.Error, StopIteration):  # no header then
            cells = next(csv.reader([first], delimiter=delimiter_of(first)))
    return tuple(cell.strip().strip('"').lower() for cell in cells)


def find_columns(header: Sequence[str], wanted: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Place of each wanted column that the header has, by any of its accepted names."""
    return {
        name: next(header.index(spelling) for spelling in spellings if spelling in header)
        for name, spellings in wanted.items()
        if any(spelling in header for spelling in spellings)
    }


def repeated_columns(header: Sequence[str], columns: Mapping[str, int]) -> list[str]:
    """Name the columns that were found and stand in the header a second time: nobody can know which counts."""
    return [header[place] for place in columns.values() if header.count(header[place]) > 1]


def table_rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) below the header; cells may be quoted as spreadsheets do. Blank lines are passed over.

    Raises InputError where quoting is broken.
    """
    delimiter = delimiter_of(first_line(text))
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 0
    header_passed = False
    try:
        for cells in reader:
            start, line = line + 1, reader.line_num
            if header_passed and any(cells):
                yield start, cells
            header_passed = header_passed or bool(cells)
    except csv.Error as error:
        raise InputError(
            f"{file} is not a table.", problems=[Problem(f"broken quoting: {error}", file=file, line=reader.line_num)]
        ) from None


def trec_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, columns) split at ASCII white space. Blank lines and lines starting with `#` are passed over."""
    if "\r" in text:  # the end of a line too, also where most lines end otherwise
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # str.split would also split at the no-break space and its kin, which are fine inside an id
    split: Callable[[str], list[str]] = str.split if text.isascii() else _split_at_ascii_space
    for number, line in enumerate(text.split("\n"), 1):
        columns = split(line)
        if columns and columns != [""] and not line.startswith("#"):
            yield number, columns


def _split_at_ascii_space(line: str) -> list[str]:
    return _TREC_SPACE.split(line.strip(" \t\r\f\v"))
