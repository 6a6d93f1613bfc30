"""Rows of text files: tables with a header, and the columns of TREC. What the cells mean is the caller's business."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Final

from annotator.errors import InputError, Problem

__all__ = ["QRELS_LINE", "delimiter_of", "find_columns", "header_of", "table_rows", "trec_rows"]

QRELS_LINE: Final = re.compile(r"[^ \t]+[ \t]+(?:0|Q0)[ \t]+[^ \t]+[ \t]+[+-]?[0-9]+[ \t\r]*")
"""A line of judgments, whatever its ids would be taken for elsewhere: query, 0, chunk, grade."""

_TREC_SPACE: Final = re.compile(r"[ \t\r\f\v]+")


def delimiter_of(first: str) -> str:
    """Return what the cells of a header line are separated by: tab, comma or semicolon."""
    return next((sign for sign in ("\t", ",", ";") if sign in first), ",")


def header_of(text: str) -> tuple[str, ...]:
    """Return the cells of the first line in lower case."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return tuple(cell.strip().strip('"').lower() for cell in first.split(delimiter_of(first)))


def find_columns(header: Sequence[str], wanted: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Place of each wanted column that the header has, by any of its accepted names."""
    return {
        name: next(header.index(spelling) for spelling in spellings if spelling in header)
        for name, spellings in wanted.items()
        if any(spelling in header for spelling in spellings)
    }


def table_rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) below the header; cells may be quoted as spreadsheets do. Blank lines are passed over.

    Raises InputError where quoting is broken.
    """
    delimiter = delimiter_of(text.split("\n", 1)[0])
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 0
    try:
        for number, cells in enumerate(reader):
            start, line = line + 1, reader.line_num
            if number and any(cells):
                yield start, cells
    except csv.Error as error:
        raise InputError(
            f"{file} is not a table.", problems=[Problem(f"broken quoting: {error}", file=file, line=reader.line_num)]
        ) from None


def trec_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, columns) split at ASCII white space. Blank lines and lines starting with `#` are passed over."""
    # str.split would also split at the no-break space and its kin, which are fine inside an id
    split: Callable[[str], list[str]] = str.split if text.isascii() else _split_at_ascii_space
    for number, line in enumerate(text.split("\n"), 1):
        columns = split(line)
        if columns and columns != [""] and not line.startswith("#"):
            yield number, columns


def _split_at_ascii_space(line: str) -> list[str]:
    return _TREC_SPACE.split(line.strip(" \t\r\f\v"))
