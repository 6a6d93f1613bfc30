"""The rows of an import file, which know their lines: tables with a header, JSON objects, YAML."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, Final

from annotator.gold.sheet import is_sheet, sheet_rows
from annotator.gold.tablefile import delimiter_of
from annotator.services.importing.files import ImportFile

__all__ = ["Record", "Row", "read_rows"]

_JSON_SPACE: Final = " \t\r\n,"


class Record(dict[str, object]):
    """An object of the file; `line` is where it starts."""

    __slots__ = ("line",)

    def __init__(self, values: Mapping[str, object], line: int) -> None:
        super().__init__(values)
        self.line = line


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its fields by name, and its first line, counted from 1."""

    line: int
    values: Mapping[str, object]


def read_rows(file: ImportFile, columns: Mapping[str, str], needed: Sequence[str] = ()) -> list[Row]:
    """Read the rows of a form that names its fields, noting the faults in the file.

    `columns` maps accepted names to the field meant, or to "" for one to leave out. A table without one of the
    `needed` fields has one fault and no rows.
    """
    read: Callable[[ImportFile], Iterator[Row]] = {"table": _table, "json": _json, "yaml": _yaml}[file.form]
    rows = [Row(row.line, _renamed(file, row, columns)) for row in read(file)]
    asked = file.form == "table" and rows and "gold" not in rows[0].values
    missing = [name for name in needed if asked and name not in rows[0].values]
    for name in missing:
        there = ", ".join(name for name in next(_cells(replace(file, problems=[], spans=[])))[1] if name)
        mend = f"Add it, or say which it is: --column NAME={name}."
        file.fault(1, f"the header has no column {name}", value=there, mend=mend)
    return [] if missing else rows


def _renamed(file: ImportFile, row: Row, columns: Mapping[str, str]) -> Mapping[str, object]:
    values: dict[str, object] = {}
    for name, value in row.values.items():
        meant = columns.get(name.strip().lower(), name.strip())
        if not meant:
            continue
        if meant in values:
            file.fault(row.line, f"the field {meant} is given twice", name)
        values[meant] = value
    return values


def _table(file: ImportFile) -> Iterator[Row]:
    cells = _cells(file)
    _, header = next(cells, (1, []))
    if is_sheet(header):
        for line, values in sheet_rows(header, cells):
            yield Row(line, {**values, "gold": [Record(label, at) for at, label in values["gold"]]})
        return
    header = [cell.strip() for cell in header]
    _check_header(file, header)
    for line, row in cells:
        yield Row(line, dict(zip(header, row, strict=True)))


def _cells(file: ImportFile) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the header and of all rows that are as wide as it."""
    first = file.text.lstrip("\r\n").split("\n", 1)[0]
    csv.field_size_limit(max(csv.field_size_limit(), len(file.text)))
    reader = csv.reader(StringIO(file.text, newline=""), delimiter=delimiter_of(first), strict=True)
    wide = last = 0
    try:
        for cells in reader:
            line, last = last + 1, reader.line_num
            if not any(cells):
                continue
            _note_span(file, line, last)
            wide = wide or len(cells)
            if len(cells) == wide:
                yield line, cells
            else:
                file.fault(
                    line,
                    f"the row has {len(cells)} cells, the header {wide}",
                    value=" | ".join(cells),
                    mend="Put text with commas, quotes or line breaks in double quotes.",
                )
    except csv.Error as error:
        file.fault(last + 1, f"quotes that do not close or match: {error}", mend='Write a quote inside quotes as "".')


def _check_header(file: ImportFile, header: list[str]) -> None:
    for name in sorted({name for name in header if header.count(name) > 1}):
        file.fault(1, "the header names a column twice", name or "(without a name)")


def _json(file: ImportFile) -> Iterator[Row]:
    """Objects one a line; a file that is one list or has objects over several lines is read as well."""
    first = file.text.lstrip().split("\n", 1)[0].rstrip()
    if first.startswith("[") or not first.endswith("}"):
        yield from _json_stream(file)
        return
    decoder = _json_decoder()
    for line, text in enumerate(file.lines, 1):
        if text.strip():
            try:
                value = decoder.decode(text)
            except (ValueError, RecursionError) as error:
                file.fault(line, f"not JSON: {error}", value=text.strip())
            else:
                yield from _object(file, value, line)


def _json_stream(file: ImportFile) -> Iterator[Row]:
    decoder = _json_decoder()
    text = file.text.strip().removeprefix("[").removesuffix("]") if file.text.lstrip().startswith("[") else file.text
    at, line = 0, 1 + file.text[: file.text.find(text)].count("\n")
    while True:
        start = at
        while start < len(text) and text[start] in _JSON_SPACE:
            start += 1
        if start == len(text):
            return
        line += text.count("\n", at, start)
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            wrong = error.pos if isinstance(error, json.JSONDecodeError) else start
            file.fault(line + text.count("\n", start, wrong), f"not JSON: {message}", value=text[wrong : wrong + 40])
            return
        last = line + text.count("\n", start, at)
        _note_span(file, line, last)
        yield from _object(file, value, line)
        line = last


def _object(file: ImportFile, value: object, line: int) -> Iterator[Row]:
    if isinstance(value, dict):
        yield Row(line, value)
    else:
        file.fault(line, "not an object", value=value, mend='Write one object a line: {"query_id": "q1", …}.')


def _note_span(file: ImportFile, first: int, last: int) -> None:
    if last > first:
        file.spans.append((first, last))


def _json_decoder() -> json.JSONDecoder:
    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
            raise ValueError(f"the field {twice!r} is given twice")
        return made

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON value")

    return json.JSONDecoder(object_pairs_hook=whole, parse_constant=no_constant)


def _yaml(file: ImportFile) -> Iterator[Row]:
    """Queries as documents or as one list. Scalars stay text: an id 007, no or null must not become another value."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        for document in yaml.compose_all(file.text, Loader=loader):
            for node in document.value if isinstance(document, yaml.SequenceNode) else [document]:
                yield from _yaml_row(file, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        file.fault(mark.line + 1 if mark else None, f"not YAML: {error.problem or error.context}")
    except (yaml.YAMLError, RecursionError) as error:
        file.fault(None, f"not YAML that can be read: {error}")


def _yaml_row(file: ImportFile, node: Any) -> Iterator[Row]:
    line = node.start_mark.line + 1
    ends_before = node.end_mark.column == 0 and node.end_mark.line > node.start_mark.line
    _note_span(file, line, node.end_mark.line + (0 if ends_before else 1))
    value = _plain(file, node, {})
    if value == "":  # a document that holds nothing, as between two `---`
        return
    if not isinstance(value, Record):
        file.fault(line, "not fields with names", value=value, mend="Write `query_id: …` and the other fields below.")
        return
    yield Row(line, value)


def _plain(file: ImportFile, node: Any, made: dict[int, object]) -> object:
    """Turn a node into text, list or Record; what an alias names is shared, not copied."""
    if id(node) not in made:
        if node.id == "mapping":
            record = Record({}, node.start_mark.line + 1)
            for key, value in node.value:
                name = str(_plain(file, key, made))
                if name in record:
                    file.fault(key.start_mark.line + 1, "the field is given twice", name)
                record[name] = _plain(file, value, made)
            made[id(node)] = record
        elif node.id == "sequence":
            made[id(node)] = [_plain(file, item, made) for item in node.value]
        else:
            made[id(node)] = node.value
    return made[id(node)]
