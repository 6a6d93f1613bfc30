"""The forms gold comes in: native rows, YAML, TREC qrels, tables with a header, JSON; told apart by content.

Every reader collects all faults of its file; `read_gold` refuses the file with the whole list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from annotator.errors import InputError, Problem
from annotator.gold.tablefile import find_columns, header_of, table_rows, trec_rows
from annotator.model import GRADES, Evidence, GoldLabel, GoldQuery, id_fault

__all__ = ["FOREIGN_GRADES", "GoldContent", "JsonObject", "load_json", "read_gold", "read_pairs"]

FOREIGN_GRADES: Final = (-10, 100)
"""Accepted grades of judgments made elsewhere; negative means judged and not relevant."""
OWN_GRADES: Final = (min(GRADES), max(GRADES))

COLUMNS: Final = {
    "query_id": ("query_id", "query-id", "qid"),
    "chunk_id": ("chunk_id", "corpus-id", "corpus_id"),
    "grade": ("grade", "relevance", "score"),
}

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?", re.ASCII)
_YAML_START: Final = re.compile(r"---|(- )?(query_id|question|gold|slice|notes|unanswerable)\s*:")


class JsonObject(list[tuple[str, object]]):
    """A JSON object as its pairs, so that a repeated key is seen and not lost."""


def load_json(text: str, file: str, line: int = 1) -> object:
    """Decode JSON, objects as JsonObject. Raises InputError naming the line, counted from `line`."""
    try:
        return json.loads(text, object_pairs_hook=JsonObject)
    except json.JSONDecodeError as error:
        problem = Problem(f"not JSON: {error.msg}", file=file, line=line + error.lineno - 1)
    except (ValueError, RecursionError) as error:
        problem = Problem(f"not JSON that can be read: {error}", file=file, line=line)
    raise InputError(f"{file} cannot be read.", problems=[problem])


@dataclass(slots=True)
class GoldContent:
    """What a file of gold says, filled judgment by judgment; `refuse_faults` decides in the end."""

    file: str
    grade_range: tuple[int, int] = FOREIGN_GRADES
    grades: dict[str, dict[str, int]] = field(default_factory=dict)
    details: dict[str, GoldQuery] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    repeats: int = 0
    first_lines: dict[tuple[str, str], int | None] = field(default_factory=dict)

    def fault(self, message: str, line: int | None, field: str = "", value: object = "", mend: str = "") -> None:
        """Note a fault of the file."""
        shown = value if isinstance(value, str) else json.dumps(value, default=str)
        self.problems.append(Problem(message, self.file, line, field, shown, mend))

    def id_is_sound(self, value: object, line: int | None, field: str) -> bool:
        """Say whether the value can be an id, and note the fault when not."""
        fault = id_fault(value)
        if fault:
            self.fault(fault, line, field, value, "Quote it: ids are text." if isinstance(value, int | float) else "")
        return not fault

    def add(self, query_id: object, chunk_id: object, grade: object, line: int | None = None) -> int | None:
        """Take one judgment and return its grade, or note what is wrong with it. Identical repeats count once."""
        number = self._grade(query_id, chunk_id, grade, line)
        sound = self.id_is_sound(query_id, line, "query_id") & self.id_is_sound(chunk_id, line, "chunk_id")
        if number is None or not sound:
            return None
        query, chunk = str(query_id), str(chunk_id)
        known = self.grades.setdefault(query, {})
        if chunk not in known:
            known[chunk] = number
            self.first_lines[query, chunk] = line
        elif known[chunk] == number:
            self.repeats += 1
        else:
            first = self.first_lines[query, chunk]
            message = f"conflicting judgments for ({query}, {chunk}): {known[chunk]} and {number}"
            self.fault(
                message, line, "grade", mend=f"The first is in line {first}; keep one." if first else "Keep one."
            )
        return number

    def _grade(self, query_id: object, chunk_id: object, value: object, line: int | None) -> int | None:
        low, high = self.grade_range
        whole = isinstance(value, int) and not isinstance(value, bool)
        whole |= isinstance(value, float) and value.is_integer()
        whole |= isinstance(value, str) and _WHOLE.fullmatch(value.strip()) is not None
        if not whole:
            message = f"grade of ({query_id}, {chunk_id}) is not a whole number"
            self.fault(message, line, "grade", value, f"Write {low} to {high}.")
            return None
        number = int(float(str(value)))
        if low <= number <= high:
            return number
        self.fault(f"grade of ({query_id}, {chunk_id}) is outside {low} to {high}", line, "grade", value)
        return None

    def finish(self) -> GoldContent:
        """Return the content, or raise InputError with every fault found."""
        if self.problems:
            raise InputError(f"{self.file} cannot be used as gold.", problems=self.problems)
        if self.repeats:
            self.warnings.append(f"{self.repeats} judgments are repeated word for word; each counts once.")
        unjudged = sorted(
            query_id
            for query_id in self.details.keys() | self.grades.keys()
            if not self.grades.get(query_id) and not (query_id in self.details and self.details[query_id].unanswerable)
        )
        if unjudged:
            named = ", ".join(unjudged[:10]) + (" …" if len(unjudged) > 10 else "")
            self.warnings.append(f"{len(unjudged)} queries have no judgments and are left out: {named}.")
        self.grades = {query_id: grades for query_id, grades in self.grades.items() if grades}
        return self


def read_gold(text: str, file: str) -> GoldContent:
    """Read gold in any accepted form. Raises InputError listing every fault."""
    body = text.strip()
    if not body:
        raise InputError(f"{file} is empty: no judgments.")
    if body.startswith("{"):
        return _read_json(text, file)
    meaningful = next((line for line in body.split("\n") if line.strip() and not line.startswith("#")), "")
    if file.endswith((".yaml", ".yml")) or _YAML_START.match(meaningful):
        return _read_yaml(text, file)
    columns = find_columns(header_of(text), COLUMNS)
    if len(columns) > 1:
        return _read_table(text, file, columns)
    return _read_qrels(text, file)


def read_pairs(judgments: object, file: str) -> GoldContent:
    """Read `{query_id: {chunk_id: grade}}`; rows `(query_id, chunk_id, grade)` or `(chunk_id, grade)` do as well."""
    content = GoldContent(file)
    queries = _rows(judgments, 2)
    if queries is None:
        for row in _rows(judgments, 3) or []:
            content.add(row[0], row[1], row[2])
        if not content.grades and not content.problems:
            content.fault(
                "not an object of queries, each with an object of chunk ids and grades", None, value=judgments
            )
    for query_id, labels in queries or []:
        rows = _rows(labels, 2)
        if rows is None:
            content.fault("not an object of chunk ids and grades", None, str(query_id), labels)
        elif content.id_is_sound(query_id, None, "query_id"):
            content.grades.setdefault(str(query_id), {})
            for chunk_id, grade in rows:
                content.add(query_id, chunk_id, grade)
    return content.finish()


def _rows(value: object, width: int) -> list[Sequence[object]] | None:
    """Return the pairs of a mapping, or the rows of a list when all of them have the width; else None."""
    if isinstance(value, Mapping):
        return list(value.items()) if width == 2 else None
    if isinstance(value, list | tuple) and all(isinstance(row, list | tuple) and len(row) == width for row in value):
        return list(value)
    return None


def _read_qrels(text: str, file: str) -> GoldContent:
    content = GoldContent(file)
    for line, columns in trec_rows(text):
        if len(columns) == 4:
            content.add(columns[0], columns[2], columns[3], line)
        else:
            mend = "Judgments have four: query, 0, chunk, grade; a table needs a header with query_id, chunk_id, grade."
            content.fault(f"{len(columns)} columns instead of 4", line, value=" ".join(columns), mend=mend)
    return content.finish()


def _read_table(text: str, file: str, columns: Mapping[str, int]) -> GoldContent:
    content = GoldContent(file)
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        content.fault(f"the header has no column {' and no column '.join(missing)}", 1, value=" ".join(header_of(text)))
        return content.finish()
    places = [columns[name] for name in COLUMNS]
    for line, cells in table_rows(text, file):
        if len(cells) > max(places):
            content.add(cells[places[0]], cells[places[1]], cells[places[2]], line)
        else:
            content.fault(f"{len(cells)} cells, fewer than the header has", line, value=" ".join(cells))
    return content.finish()


def _read_json(text: str, file: str) -> GoldContent:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        first: object = load_json(lines[0][1], file)
    except InputError:
        first = None
    fields = dict(first) if isinstance(first, JsonObject) else {}
    if "query_id" not in fields or isinstance(fields["query_id"], JsonObject):
        return read_pairs(load_json(text, file), file)
    content = GoldContent(file, OWN_GRADES)
    for number, line in lines:
        try:
            _add_row(content, load_json(line, file, number), number)
        except InputError as error:
            content.problems += error.problems
    return content.finish()


def _read_yaml(text: str, file: str) -> GoldContent:
    import yaml

    content = GoldContent(file, OWN_GRADES)
    # scalars stay text: an id 007, no or null must not become a number, False or None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        for document in yaml.compose_all(text, Loader=loader):
            rows = document.value if isinstance(document, yaml.SequenceNode) else [document]
            for row in rows:
                _add_row(content, _plain(row, {}), row.start_mark.line + 1)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        content.fault(f"not YAML: {error.problem or error.context}", line)
    except (yaml.YAMLError, RecursionError) as error:
        content.fault(f"not YAML that can be read: {error}", None)
    return content.finish()


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
    fields = dict(row)
    if len(fields) < len(row):
        content.fault("a field is given twice", line)
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
    unanswerable = fields.get("unanswerable", False)
    if unanswerable not in (True, False, "true", "false", ""):
        content.fault("neither true nor false", line, "unanswerable", unanswerable)
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
        unanswerable in (True, "true"),
        _text(content, fields, "notes", line),
    )


def _label(content: GoldContent, query_id: object, item: object, line: int) -> GoldLabel | None:
    if not isinstance(item, JsonObject):
        content.fault("not a label: an object with chunk_id and relevance is expected", line, "gold", item)
        return None
    fields = dict(item)
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
        fields.get("stale") in (True, "true"),
        _text(content, fields, "settled_by", line),
    )


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
