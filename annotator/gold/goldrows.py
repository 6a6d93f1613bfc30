"""Queries with their labels as rows: in JSON, one query a line, in YAML as people write it, and as a spreadsheet."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.errors import InputError
from annotator.gold.goldcontent import OWN_GRADES, GoldContent, JsonObject, load_json
from annotator.gold.sheet import sheet_rows
from annotator.gold.tablefile import delimiter_of, first_line, table_rows
from annotator.model import Evidence, GoldLabel, GoldQuery

__all__ = ["read_jsonl", "read_sheet", "read_yaml"]


def read_jsonl(lines: Sequence[tuple[int, str]], file: str) -> GoldContent:
    """Read `gold.jsonl`, given as (line number, text)."""
    content = GoldContent(file, OWN_GRADES)
    for number, line in lines:
        try:
            _add_row(content, load_json(line, file, number), number)
        except InputError as error:
            content.problems += error.problems
    return content.finish()


def read_yaml(text: str, file: str) -> GoldContent:
    """Read the YAML form: one document per query, or a list of queries."""
    import yaml

    content = GoldContent(file, OWN_GRADES)
    # scalars stay text: an id 007, no or null must not become a number, False or None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        for document in yaml.compose_all(text, Loader=loader):
            rows = document.value if isinstance(document, yaml.SequenceNode) else [document]
            for row in rows:
                if document is row and _is_blank(row):  # a file may end with the mark that another document follows
                    continue
                _add_row(content, _plain(row, {}), row.start_mark.line + 1)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        content.fault(f"not YAML: {error.problem or error.context}", line)
    except (yaml.YAMLError, RecursionError) as error:
        content.fault(f"not YAML that can be read: {' '.join(str(error).split())}", None)
    return content.finish()


def _is_blank(document: Any) -> bool:
    return getattr(document, "value", None) == "" and not getattr(document, "style", "")


def read_sheet(text: str, file: str) -> GoldContent:
    """Read the CSV for people, as it was written or as a spreadsheet saved it."""
    content = GoldContent(file, OWN_GRADES)
    first = first_line(text)
    header = next(csv.reader([first], delimiter=delimiter_of(first)))

    def whole() -> Iterator[tuple[int, list[str]]]:
        for line, cells in table_rows(text, file):
            if len(cells) == len(header):
                yield line, cells
            else:
                content.fault(f"{len(cells)} cells, the header has {len(header)}", line, value=" ".join(cells))

    for line, row in sheet_rows(header, whole()):
        _add_row(content, _as_pairs({**row, "gold": [label for _, label in row["gold"]]}), line)
    return content.finish()


def _as_pairs(value: object) -> object:
    if isinstance(value, dict):
        return JsonObject((name, _as_pairs(one)) for name, one in value.items())
    return [_as_pairs(one) for one in value] if isinstance(value, list) else value


def _plain(node: object, made: dict[int, object]) -> object:
    """Turn a YAML node into text, lists and JsonObject; an alias shares what its anchor made."""
    if id(node) not in made:
        value: Any = getattr(node, "value", "")
        tag = getattr(node, "id", "")
        if tag == "mapping":
            made[id(node)] = JsonObject((str(_plain(key, made)), _plain(item, made)) for key, item in value)
        elif tag == "sequence":
            made[id(node)] = [_plain(item, made) for item in value]
        else:
            made[id(node)] = value
    return made[id(node)]


def _add_row(content: GoldContent, row: object, line: int) -> None:
    """Take one query of the native form, from JSON or (all scalars text) from YAML."""
    if not isinstance(row, JsonObject):
        content.fault("not a query: an object with query_id and gold is expected", line, value=row)
        return
    fields = _fields(content, row, line)
    query_id = fields.get("query_id")
    if not content.id_is_sound(query_id, line, "query_id"):
        return
    if query_id in content.details:
        content.fault(f"query {query_id} is given twice", line, "query_id", query_id)
        return
    facets = fields.get("slice") or JsonObject()
    if not isinstance(facets, JsonObject) or not all(isinstance(value, str) for _, value in facets):
        content.fault("not an object of facet names and text values", line, "slice", facets)
        facets = JsonObject()
    for facet in _repeated(facets):
        content.fault("a facet is given twice", line, "slice", facet, "A query has one value of each facet.")
    unanswerable = _flag(content, fields, "unanswerable", line)
    labels = fields.get("gold") or []
    if not isinstance(labels, list) or isinstance(labels, JsonObject):
        content.fault("not a list of labels", line, "gold", labels)
        labels = []
    gold = [label for label in (_label(content, query_id, item, line) for item in labels) if label]
    content.details[str(query_id)] = GoldQuery(
        str(query_id),
        _text(content, fields, "question", line),
        tuple(sorted(gold, key=lambda label: (-label.relevance, label.chunk_id))),
        {name: str(value) for name, value in facets},
        unanswerable,
        _text(content, fields, "notes", line),
    )


def _label(content: GoldContent, query_id: object, item: object, line: int) -> GoldLabel | None:
    if not isinstance(item, JsonObject):
        content.fault("not a label: an object with chunk_id and relevance is expected", line, "gold", item)
        return None
    fields = _fields(content, item, line)
    stale = _flag(content, fields, "stale", line)
    repeats = content.repeats
    grade = content.add(query_id, fields.get("chunk_id"), fields.get("relevance"), line)
    if grade is None or content.repeats > repeats:
        return None
    evidence = fields.get("evidence") or []
    return GoldLabel(
        str(fields["chunk_id"]),
        grade,
        _text(content, fields, "reason", line),
        tuple(_evidence(content, span, line) for span in (evidence if isinstance(evidence, list) else [evidence])),
        _text(content, fields, "doc_id", line),
        _text(content, fields, "sha256", line),
        stale,
        _text(content, fields, "settled_by", line),
    )


def _fields(content: GoldContent, row: JsonObject, line: int) -> dict[str, object]:
    """The fields of a query or a label; of one given twice nobody can know which counts."""
    for name in _repeated(row):
        content.fault("a field is given twice", line, name)
    fields = dict(row)
    if "<<" in fields:
        content.fault("fields are not merged", line, "<<", mend="Write them out.")
    return fields


def _repeated(pairs: JsonObject) -> list[str]:
    return [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]


def _flag(content: GoldContent, fields: Mapping[str, object], name: str, line: int) -> bool:
    """Read true or false; in YAML they are text here, in the three ways it writes them."""
    value = fields.get(name) or False
    known = (
        value.lower() if isinstance(value, str) and value in (value.lower(), value.upper(), value.title()) else value
    )
    if known not in (True, False, "true", "false"):
        content.fault("neither true nor false", line, name, value, "Write true or false.")
    return known in (True, "true")


def _evidence(content: GoldContent, span: object, line: int) -> Evidence:
    """Read a quoted span; a quote without its place, as people write it, gets the offsets -1."""
    fields = dict(span) if isinstance(span, JsonObject) else {"quote": span}
    try:
        return Evidence(str(fields["quote"]), int(str(fields.get("start", -1))), int(str(fields.get("end", -1))))
    except (KeyError, ValueError):
        content.fault("not a quote with start and end", line, "evidence", span)
        return Evidence("", -1, -1)


def _text(content: GoldContent, fields: Mapping[str, object], name: str, line: int) -> str:
    value = fields.get(name) or ""
    if not isinstance(value, str):
        content.fault("not text", line, name, value)
        return ""
    return value
