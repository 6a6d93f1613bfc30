"""The forms gold comes in: native rows, YAML, TREC qrels, tables with a header, JSON; told apart by content."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from annotator.errors import InputError
from annotator.gold.goldcontent import GoldContent, JsonObject, load_json, looks_like_json
from annotator.gold.goldrows import read_jsonl, read_sheet, read_yaml
from annotator.gold.sheet import is_sheet
from annotator.gold.tablefile import QRELS_LINE, find_columns, header_of, repeated_columns, table_rows, trec_rows
from annotator.model import MAX_ID_LENGTH

__all__ = ["read_gold", "read_pairs"]

COLUMNS: Final = {
    "query_id": ("query_id", "query-id", "qid"),
    "chunk_id": ("chunk_id", "corpus-id", "corpus_id"),
    "grade": ("grade", "relevance", "score"),
}

_YAML_START: Final = re.compile(r"---|(- )?(query_id|question|gold|slice|notes|unanswerable)\s*:")


def read_gold(text: str, file: str) -> GoldContent:
    """Read gold in any accepted form. Raises InputError listing every fault."""
    body = text.strip()
    if not body:
        raise InputError(f"{file} is empty: no judgments.")
    meaningful = next((line for line in body.split("\n") if line.strip() and not line.startswith("#")), "")
    if QRELS_LINE.fullmatch(meaningful):
        return _read_qrels(text, file)
    if looks_like_json(body):
        return _read_json(text, file)
    if file.endswith((".yaml", ".yml")) or _YAML_START.match(meaningful):
        return read_yaml(text, file)
    header = header_of(text)
    if is_sheet(header):
        return read_sheet(text, file)
    columns = find_columns(header, COLUMNS)
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
    if _add_regular_qrels(content, text):
        return content.finish()
    content.grades.clear()
    for line, columns in trec_rows(text):
        if len(columns) == 4:
            content.add(columns[0], columns[2], columns[3], line)
        else:
            mend = "Judgments have four: query, 0, chunk, grade; a table needs a header with query_id, chunk_id, grade."
            content.fault(f"{len(columns)} columns instead of 4", line, value=" ".join(columns), mend=mend)
    return content.finish()


def _add_regular_qrels(content: GoldContent, text: str) -> bool:
    """Take judgments of four columns that raise no question; False when any line has to be looked at carefully."""
    if not text.isascii():
        return False
    low, high = content.grade_range
    accepted = {str(grade): grade for grade in range(low, high + 1)}
    grades = content.grades
    count = 0
    try:
        for line in text.split("\n"):
            if line:
                query_id, _, chunk_id, grade = line.split()
                count += 1
                if query_id in grades:
                    grades[query_id][chunk_id] = accepted[grade]
                else:
                    grades[query_id] = {chunk_id: accepted[grade]}
    except (ValueError, KeyError):
        return False
    ids = [*grades, *(chunk_id for labels in grades.values() for chunk_id in labels)]
    sound = "".join(ids).isprintable() and max(map(len, ids), default=0) <= MAX_ID_LENGTH
    return sound and not any(query_id.startswith("#") for query_id in grades) and len(ids) == len(grades) + count


def _read_table(text: str, file: str, columns: Mapping[str, int]) -> GoldContent:
    content = GoldContent(file)
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        content.fault(f"the header has no column {' and no column '.join(missing)}", 1, value=" ".join(header_of(text)))
        return content.finish()
    for name in repeated_columns(header_of(text), columns):
        content.fault("the header has this column twice", 1, name, mend="Keep one.")
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
    return read_jsonl(lines, file)
