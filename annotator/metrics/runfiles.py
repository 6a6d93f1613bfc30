"""The forms a run comes in: TREC columns, JSON, a JSONL trace, tables with a header; told apart by content.

Every reader collects all faults of its file before it refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Final

from annotator.errors import InputError
from annotator.gold.goldcontent import JsonObject, load_json, looks_like_json
from annotator.gold.tablefile import find_columns, first_line, header_of, repeated_columns, table_rows
from annotator.metrics.runcontent import NUMBER, Rows, RunContent, add_by_score, add_written, score_of
from annotator.metrics.trecrun import read_trec
from annotator.model import id_fault

__all__ = ["read_rankings", "read_run"]

COLUMNS: Final = {
    "query_id": ("query_id", "query-id", "qid"),
    "chunk_id": ("chunk_id", "corpus-id", "corpus_id", "doc_id", "docid"),
    "score": ("score",),
    "rank": ("rank",),
}
LONGEST_MS: Final = 1e12
"""Thirty years: whatever is longer is no number of milliseconds."""
TRACE_FIELDS: Final = ("query_id", "results", "candidates", "filtered_out")


def read_run(text: str, file: str) -> RunContent:
    """Read a run in any accepted form. Raises InputError listing every fault."""
    body = text.lstrip()
    if not body:
        raise InputError(f"{file} is empty: the run is empty.", hint="A run needs at least one line.")
    if looks_like_json(body):
        return _read_json(text, file)
    if _is_trec(first_line(text)):  # also when the first query is called as a column would be
        return read_trec(text, file)
    if body[0] == "[":
        _refuse_list(body, file)
    columns = find_columns(header_of(text), COLUMNS)
    if "query_id" in columns:
        return _read_table(text, file, columns)
    return read_trec(text, file)


def _is_trec(line: str) -> bool:
    columns = line.split()
    return len(columns) == 6 and NUMBER.fullmatch(columns[4]) is not None


def _refuse_list(body: str, file: str) -> None:
    """Raise InputError when the text is a list in JSON; an id of a column form may begin with a bracket as well."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return
    raise InputError(
        f"{file} is a list in JSON, which is no form of a run.",
        hint="Write one object a line (JSONL), or one object of queries: {query_id: {chunk_id: score}}.",
    )


def read_rankings(rankings: object, file: str) -> RunContent:
    """Read `{query_id: {chunk_id: score}}` or `{query_id: [chunk, …]}`, where a chunk is an id, a pair or an object."""
    content = RunContent(file)
    if isinstance(rankings, JsonObject):
        queries: Iterable[tuple[object, object]] = rankings
    elif isinstance(rankings, Mapping):
        queries = rankings.items()
    else:
        queries = ()
        content.fault("not an object of queries, each with its chunks", None, value=rankings)
    for query_id, listed in queries:
        chunk_ids, scores = _listed(content, str(query_id), listed, None)
        content.add(query_id, chunk_ids, scores)
    return content.finish()


def _listed(
    content: RunContent, query_id: str, listed: object, line: int | None
) -> tuple[list[str], list[float] | None]:
    """Take apart a list of chunks; ids are checked later, scores here."""
    if isinstance(listed, Mapping):
        listed = JsonObject(listed.items())
    if not isinstance(listed, list | tuple):
        content.fault(f"query {query_id}: not a list of chunks", line, "results", listed)
        return [], None
    rows = [_chunk_and_score(item) for item in listed]
    chunk_ids: list[str] = [row[0] for row in rows]  # type: ignore[misc]  # RunContent.add refuses what is not text
    scores = [row[1] for row in rows]
    scored = sum(score is not None for score in scores)
    if not scored and not isinstance(listed, JsonObject):
        return chunk_ids, None
    if scored < len(scores):
        content.fault(
            f"query {query_id}: {scored} of {len(scores)} chunks have a score; give all or none", line, "score"
        )
        return chunk_ids, None
    return chunk_ids, [
        score_of(content, query_id, chunk_id, score, line) for chunk_id, score in zip(chunk_ids, scores, strict=True)
    ]


def _chunk_and_score(item: object) -> tuple[object, object]:
    if isinstance(item, JsonObject):
        item = dict(item)
    if isinstance(item, Mapping):
        return item.get("chunk_id"), item.get("score")
    if isinstance(item, list | tuple) and len(item) == 2:
        return item[0], item[1]
    return item, None


def _read_json(text: str, file: str) -> RunContent:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        first = json.loads(lines[0][1])
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and (_is_answer(first) or _is_heading(first, len(lines))):
        return _read_trace(lines, file)
    return read_rankings(load_json(text, file), file)


def _is_answer(first: Mapping[str, object]) -> bool:
    """Say whether a first line is meant as an answer, though it may lack its results."""
    return "results" in first or isinstance(first.get("query_id"), str)


def _is_heading(first: Mapping[str, object], lines: int) -> bool:
    """Say whether a first line tells of the run; alone it might also be the list of a query called `run`."""
    told = first.get("run")
    alone = lines == 1 and isinstance(told, dict) and all(isinstance(value, int | float) for value in told.values())
    return list(first) == ["run"] and not alone


def _read_trace(lines: Sequence[tuple[int, str]], file: str) -> RunContent:
    content = RunContent(file)
    for number, line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            content.fault(f"not JSON: {error}", number)
            continue
        if line.count('"results"') > 1 or line.count('"query_id"') > 1:
            _check_fields(content, line, number)
        if not isinstance(row, dict):
            content.fault("not an object with query_id and results", number, value=row)
        elif number == lines[0][0] and isinstance(row.get("run"), dict) and "query_id" not in row:
            content.meta = row["run"]
            _check_told(content, row["run"], number)
        elif "results" not in row:
            gold = "A gold set is no run." if "gold" in row else ""
            content.fault("no results", number, "results", mend=gold or "A query without any has an empty list.")
        else:
            _add_trace(content, row, number)
    if not content.queries and not content.problems:
        content.fault("the run has no queries", None)
    return content.finish()


def _add_trace(content: RunContent, row: Mapping[str, object], line: int) -> None:
    query_id = row.get("query_id")
    _check_told(content, {name: value for name, value in row.items() if name != "results"}, line)
    chunk_ids, scores = _listed(content, str(query_id), row["results"], line)
    content.add(
        query_id,
        chunk_ids,
        scores,
        [line] * max(1, len(chunk_ids)),
        candidates=tuple(chunk_id for chunk_id, _ in _named(content, row, "candidates", line)),
        filtered_out=tuple(_named(content, row, "filtered_out", line)),
        trace={name: value for name, value in row.items() if name not in TRACE_FIELDS},
    )


def _check_fields(content: RunContent, line: str, number: int) -> None:
    """Refuse a field given twice, of which reading keeps the last in silence."""
    pairs = json.loads(line, object_pairs_hook=JsonObject)
    names = [name for name, _ in pairs] if isinstance(pairs, JsonObject) else []
    for name in TRACE_FIELDS:
        if names.count(name) > 1:
            content.fault("a field is given twice", number, name, mend="Keep one.")


def _check_told(content: RunContent, told: Mapping[str, object], line: int) -> None:
    """Refuse what no report could repeat: NaN and infinity are not JSON, and a latency is a number of milliseconds."""
    try:
        json.dumps(told, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        content.fault("a lone surrogate, which no file can hold", line, value=repr(error.object[error.start]))
    except ValueError:
        content.fault("NaN or infinity, which is not JSON", line)
    except RecursionError:
        content.fault("nested too deeply", line)
    took = told.get("latency_ms")
    if not (took is None or _is_milliseconds(took)):
        content.fault("not a number of milliseconds", line, "latency_ms", took)
    cut = told.get("timed_out")
    if cut is not None and not isinstance(cut, bool):
        content.fault("neither true nor false", line, "timed_out", cut, "Write true or false, without quotes.")


def _is_milliseconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LONGEST_MS


def _named(content: RunContent, row: Mapping[str, object], name: str, line: int) -> list[tuple[str, str]]:
    """Read a list of ids, or of objects with chunk_id and perhaps the filter that took it out."""
    listed = row.get(name) or []
    if not isinstance(listed, list):
        content.fault("not a list of chunk ids", line, name, listed)
        return []
    named = []
    for item in listed:
        chunk_id = item.get("chunk_id") if isinstance(item, dict) else item
        unusable = id_fault(chunk_id)
        if unusable:
            content.fault(unusable, line, name, chunk_id)
        else:
            named.append((str(chunk_id), str(item.get("filter") or "") if isinstance(item, dict) else ""))
    return named


def _read_table(text: str, file: str, columns: Mapping[str, int]) -> RunContent:
    content = RunContent(file)
    order = "score" if "score" in columns else "rank"
    missing = [name for name in ("chunk_id", order) if name not in columns]
    if missing:
        named = " and ".join("score or rank" if name == "rank" else name for name in missing)
        content.fault(f"the header has no column {named}", 1, value=" ".join(header_of(text)))
        return content.finish()
    for name in repeated_columns(header_of(text), columns):
        content.fault("the header has this column twice", 1, name, mend="Keep one.")
    rows: dict[str, Rows] = {}
    for line, cells in table_rows(text, file):
        if len(cells) <= max(columns.values()):
            content.fault(f"{len(cells)} cells, fewer than the header has", line, value=" ".join(cells))
            continue
        add_written(content, rows, cells[columns["query_id"]], cells[columns["chunk_id"]], cells[columns[order]], line)
    if order == "rank":
        return _by_rank(content, rows)
    return add_by_score(content, rows)


def _by_rank(content: RunContent, rows: Mapping[str, Rows]) -> RunContent:
    for query_id, query_rows in rows.items():
        ranked = sorted(zip(query_rows.scores, query_rows.lines, query_rows.chunk_ids, strict=True))
        for (rank, line, _), (other, second, _) in pairwise(ranked):
            if rank == other:
                content.fault(
                    f"query {query_id} has two chunks at rank {rank:g}", second, "rank", mend=f"See line {line}."
                )
        for rank, line, chunk_id in ranked:
            if not isfinite(rank):
                content.fault(f"rank of ({query_id}, {chunk_id}) is no number", line, "rank", str(rank))
        content.add(query_id, [row[2] for row in ranked], None, [row[1] for row in ranked])
    return content.finish()
