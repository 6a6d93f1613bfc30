"""Checks and converts the values of one field of a chunk, a whole column of a batch at a time.

Each function tells by the types of the whole column whether there is anything to do before it looks at single values.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from annotator.errors import Problem
from annotator.model import MAX_ID_LENGTH, id_fault
from annotator.tables.table import Columns, Table

__all__ = ["LARGEST", "Faults", "as_stored", "contents", "documents", "ids", "positions", "texts", "titles"]

_SEPARATORS: Final = 5
LARGEST: Final = 2**63 - 1
_KINDS: Final = {
    int: "a number",
    float: "a number",
    bool: "true or false",
    bytes: "binary data",
    list: "a list",
    dict: "an object",
}


class Faults:
    """The faults of a batch, and which of its rows have one."""

    def __init__(self, table: Table, places: Sequence[int]) -> None:
        self._table = table
        self._places = places
        self.problems: list[Problem] = []
        self.rows: set[int] = set()

    def add(self, index: int, message: str, column: str, value: object = "", mend: str = "") -> None:
        self.rows.add(index)
        shown = value if isinstance(value, str) else repr(value)
        self.problems.append(
            self._table.problem(self._places[index], message, field=column, value=shown[:200], mend=mend)
        )


def ids(values: Sequence[Any], faults: Faults, column: str) -> Sequence[str]:
    """Return chunk ids; whole numbers become their digits, anything else that is no id a fault."""
    if (
        set(map(type, values)) == {str}
        and all(map(str.isprintable, values))
        and not any(map(str.isspace, values))
        and 0 < min(map(len, values)) <= max(map(len, values)) <= MAX_ID_LENGTH
    ):
        return values
    found = []
    for index, value in enumerate(values):
        chunk_id = str(value) if type(value) is int else value
        fault = "id is empty" if value is None else id_fault(chunk_id)
        if fault:
            faults.add(index, fault, column, "" if value is None else value)
        found.append(chunk_id if isinstance(chunk_id, str) else "")
    return found


def as_stored(ids: Sequence[str]) -> list[str | int]:
    """Return what these chunk ids may stand as in a column: the text, and the number it is the digits of."""
    found: list[str | int] = list(ids)
    found += [int(each) for each in ids if each.removeprefix("-").isdecimal() and each.isascii() and _is_number(each)]
    return found


def _is_number(digits: str) -> bool:
    return len(digits) < 20 and str(int(digits)) == digits and abs(int(digits)) <= LARGEST


def texts(values: Sequence[Any], faults: Faults, column: str) -> Sequence[str]:
    """Return texts; a missing one is empty, anything that is not text a fault."""
    if set(map(type, values)) == {str}:
        return values
    found = []
    for index, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            faults.add(index, f"the text is {_KINDS.get(type(value), 'something else')}, not text", column, value)
        found.append(value if isinstance(value, str) else "")
    return found


def documents(values: Sequence[Any], faults: Faults, column: str) -> Sequence[str]:
    """Return document ids, "" for none; they have to be ids like those of chunks."""
    if set(map(type, values)) == {str} and all(map(str.isprintable, values)) and max(map(len, values)) <= MAX_ID_LENGTH:
        return values
    found = []
    for index, value in enumerate(values):
        doc_id = "" if value is None else str(value) if type(value) is int else value
        if doc_id != "" and (fault := id_fault(doc_id)):
            faults.add(index, f"document {fault}", column, value)
        found.append(doc_id if isinstance(doc_id, str) else "")
    return found


def titles(values: Sequence[Any]) -> Sequence[str]:
    """Return titles, "" for none; numbers and lists are written as JSON."""
    if set(map(type, values)) == {str}:
        return values
    return [
        value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
        for value in values
    ]


def positions(values: Sequence[Any]) -> tuple[Sequence[int | None], dict[int, object]]:
    """Return whole numbers or None, and by index the values that are neither a whole number nor missing."""
    types = set(map(type, values))
    if types == {type(None)} or (types == {int} and min(values) >= -LARGEST and max(values) <= LARGEST):
        return values, {}
    found = [_position(value) for value in values]
    unusable = {
        index: value
        for index, (value, position) in enumerate(zip(values, found, strict=True))
        if position is None and value is not None and value != ""
    }
    return found, unusable


def _position(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value) if "." in str(value) else int(value)
    except (ValueError, OverflowError):  # text, infinity
        return None
    return int(number) if number == number // 1 and abs(number) <= LARGEST else None


def contents(
    ids: Sequence[str],
    docs: Sequence[str],
    titles: Sequence[str],
    positions: Sequence[int | None],
    metadata: Sequence[str],
    texts: Sequence[str],
    faults: Faults,
    columns: Columns,
) -> Sequence[bytes]:
    """Join the fields of each chunk into its content; NUL characters and lone surrogates are faults."""
    joined = list(map("\0".join, zip(ids, docs, titles, map(str, positions), metadata, texts, strict=True)))
    found = []
    for index, content in enumerate(joined):
        try:
            found.append(content.encode())
            sound = content.count("\0") == _SEPARATORS
        except UnicodeEncodeError:
            found.append(b"")
            sound = False
        if not sound and index not in faults.rows:
            for column, value in ((columns.text, texts[index]), (columns.title, titles[index])):
                if fault := _character_fault(value):
                    faults.add(index, fault, column, mend="Mend the row, or the export that wrote it.")
    return found


def _character_fault(value: str) -> str:
    for place, character in enumerate(value):
        if character == "\0":
            return f"a NUL character stands at character {place + 1} of the text"
        if 0xD800 <= ord(character) < 0xE000:
            return f"the lone surrogate U+{ord(character):04X} stands at character {place + 1} of the text"
    return ""
