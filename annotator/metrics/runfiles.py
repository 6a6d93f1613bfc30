"""The forms a run comes in: TREC columns, JSON, a JSONL trace, tables with a header; told apart by content.

Every reader collects all faults of its file before it refuses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final

from annotator.errors import InputError, Problem
from annotator.gold.goldfiles import JsonObject, load_json
from annotator.gold.tablefile import find_columns, header_of, table_rows, trec_rows
from annotator.metrics.ranking import best_first, list_faults
from annotator.model import RunQuery, id_fault

__all__ = ["RunContent", "read_rankings", "read_run"]

COLUMNS: Final = {
    "query_id": ("query_id", "query-id", "qid"),
    "chunk_id": ("chunk_id", "corpus-id", "corpus_id", "doc_id", "docid"),
    "score": ("score",),
    "rank": ("rank",),
}
TRACE_FIELDS: Final = ("query_id", "results", "candidates", "filtered_out")
BLOCK: Final = 1 << 14
"""Characters split at once: few enough that the pieces stay in the processor's cache (measured, 8-32 thousand)."""

_NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)
_NOT_FINITE: Final = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE)


@dataclass(slots=True)
class _Rows:
    """One query's rows in the order of the file. `lines` may stay empty."""

    chunk_ids: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class RunContent:
    """What a file of a run says; `finish` refuses it when faults were found."""

    file: str
    queries: dict[str, RunQuery] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    reordered: int = 0
    narrow: list[str] = field(default_factory=list)

    def fault(self, message: str, line: int | None, field: str = "", value: object = "", mend: str = "") -> None:
        """Note a fault of the file."""
        shown = value if isinstance(value, str) else json.dumps(value, default=str)
        self.problems.append(Problem(message, self.file, line, field, shown, mend))

    def add(
        self,
        query_id: object,
        chunk_ids: Sequence[str],
        scores: Sequence[float] | None,
        lines: Sequence[int] = (),
        *,
        candidates: tuple[str, ...] = (),
        filtered_out: tuple[tuple[str, str], ...] = (),
        trace: Mapping[str, object] | None = None,
    ) -> None:
        """Take one query's list, ordered by the rule where it has scores, or note what is wrong with it."""
        line = lines[0] if lines else None
        unusable = id_fault(query_id)
        if unusable:
            self.fault(unusable, line, "query_id", query_id, "" if isinstance(query_id, str) else "Ids are text.")
            return
        query = str(query_id)
        if query in self.queries:
            self.fault(f"query {query} is given twice", line, "query_id", query)
            return
        faults = list_faults(query, chunk_ids, scores, lines, self.file)
        if faults:
            self.problems += faults
            return
        if scores is None:
            ranked, ordered = tuple(chunk_ids), None
        else:
            by_rule = best_first(chunk_ids, scores)
            ranked, ordered = by_rule.chunk_ids, by_rule.scores
            self.reordered += by_rule.moved
            if by_rule.narrow:
                self.narrow.append(query)
        self.queries[query] = RunQuery(query, ranked, ordered, candidates, filtered_out, trace or {})

    def finish(self) -> RunContent:
        """Return the content, or raise InputError with every fault found."""
        if self.problems:
            in_order = sorted(self.problems, key=lambda problem: problem.line or 0)
            raise InputError(f"{self.file} cannot be used as a run.", problems=in_order)
        if self.reordered:
            self.warnings.append(
                f"{self.reordered} queries list their chunks in another order than their scores; the score decides."
            )
        if self.narrow:
            named = ", ".join(self.narrow[:5]) + (" …" if len(self.narrow) > 5 else "")
            self.warnings.append(
                f"{len(self.narrow)} queries have neighbouring scores that differ in 64 but not in 32 bits ({named}): "
                "older tools take them for a tie and print another value."
            )
        return self


def read_run(text: str, file: str) -> RunContent:
    """Read a run in any accepted form. Raises InputError listing every fault."""
    body = text.lstrip()
    if not body:
        raise InputError(f"{file} is empty: the run is empty.", hint="A run needs at least one line.")
    if body.startswith("{"):
        return _read_json(text, file)
    columns = find_columns(header_of(text), COLUMNS)
    if "query_id" in columns:
        return _read_table(text, file, columns)
    return _read_trec(text, file)


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
        _number(content, query_id, chunk_id, score, line) for chunk_id, score in zip(chunk_ids, scores, strict=True)
    ]


def _chunk_and_score(item: object) -> tuple[object, object]:
    if isinstance(item, JsonObject):
        item = dict(item)
    if isinstance(item, Mapping):
        return item.get("chunk_id"), item.get("score")
    if isinstance(item, list | tuple) and len(item) == 2:
        return item[0], item[1]
    return item, None


def _number(content: RunContent, query_id: str, chunk_id: object, value: object, line: int | None) -> float:
    """Take a score; what is no number is noted and becomes 0, as the run is refused anyway."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return float("inf")
    mend = "Use a decimal point." if isinstance(value, str) and "," in value else ""
    content.fault(f"score of ({query_id}, {chunk_id}) is not a number", line, "score", value, mend)
    return 0.0


def _written(content: RunContent, query_id: str, chunk_id: str, value: str, line: int) -> float:
    """Take a score written in a column; stricter than `float`, which reads `1_0` and digits of any script."""
    if _NUMBER.fullmatch(value) or _NOT_FINITE.fullmatch(value):
        return float(value)
    return _number(content, query_id, chunk_id, value, line)


def _read_json(text: str, file: str) -> RunContent:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        first = json.loads(lines[0][1])
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, dict) and ("results" in first or (list(first) == ["run"] and len(lines) > 1)):
        return _read_trace(lines, file)
    return read_rankings(load_json(text, file), file)


def _read_trace(lines: Sequence[tuple[int, str]], file: str) -> RunContent:
    content = RunContent(file)
    for number, line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            content.fault(f"not JSON: {error}", number)
            continue
        if not isinstance(row, dict):
            content.fault("not an object with query_id and results", number, value=row)
        elif number == lines[0][0] and isinstance(row.get("run"), dict) and "query_id" not in row:
            content.meta = row["run"]
            _check_told(content, row["run"], number)
        elif "results" not in row:
            content.fault("no results", number, "results", mend="A query without any has an empty list.")
        else:
            _add_trace(content, row, number)
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


def _check_told(content: RunContent, told: Mapping[str, object], line: int) -> None:
    """Refuse what no report could repeat: NaN and infinity are not JSON, and a latency is a number of milliseconds."""
    try:
        json.dumps(told, allow_nan=False)
    except ValueError:
        content.fault("NaN or infinity, which is not JSON", line)
    took = told.get("latency_ms", 0)
    if not isinstance(took, int | float) or isinstance(took, bool) or took < 0:
        content.fault("not a number of milliseconds", line, "latency_ms", took)


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
    rows: dict[str, _Rows] = {}
    for line, cells in table_rows(text, file):
        if len(cells) <= max(columns.values()):
            content.fault(f"{len(cells)} cells, fewer than the header has", line, value=" ".join(cells))
            continue
        _add_row(content, rows, cells[columns["query_id"]], cells[columns["chunk_id"]], cells[columns[order]], line)
    if order == "rank":
        return _by_rank(content, rows)
    return _by_score(content, rows)


def _add_row(content: RunContent, rows: dict[str, _Rows], query: str, chunk: str, score: str, line: int) -> None:
    query_rows = rows.get(query)
    if query_rows is None:
        query_rows = rows[query] = _Rows()
    query_rows.chunk_ids.append(chunk)
    query_rows.scores.append(_written(content, query, chunk, score, line))
    query_rows.lines.append(line)


def _by_score(content: RunContent, rows: Mapping[str, _Rows]) -> RunContent:
    for query_id, query_rows in rows.items():
        content.add(query_id, query_rows.chunk_ids, query_rows.scores, query_rows.lines)
    return content.finish()


def _by_rank(content: RunContent, rows: Mapping[str, _Rows]) -> RunContent:
    for query_id, query_rows in rows.items():
        ranked = sorted(zip(query_rows.scores, query_rows.lines, query_rows.chunk_ids, strict=True))
        for (rank, line, _), (other, second, _) in pairwise(ranked):
            if rank == other:
                content.fault(
                    f"query {query_id} has two chunks at rank {rank:g}", second, "rank", mend=f"See line {line}."
                )
        content.add(query_id, [row[2] for row in ranked], None, [row[1] for row in ranked])
    return content.finish()


def _read_trec(text: str, file: str) -> RunContent:
    content = RunContent(file)
    if _add_regular_trec(content, text) and not content.problems:
        return content.finish()
    content = RunContent(file)  # irregular or faulty: once more, line by line, to name the lines
    rows: dict[str, _Rows] = {}
    longer = 0
    for line, columns in trec_rows(text):
        if len(columns) < 6:
            mend = "A TREC run has six: query, Q0, chunk, rank, score, tag; a table needs a header."
            content.fault(f"{len(columns)} columns instead of 6", line, value=" ".join(columns), mend=mend)
            continue
        longer += len(columns) > 6
        _add_row(content, rows, columns[0], columns[2], columns[4], line)
    if longer:
        content.warnings.append(f"{longer} lines have more than six columns; the rest of those lines is ignored.")
    if not rows and not content.problems:
        content.fault("the run is empty", None)
    return _by_score(content, rows)


def _add_regular_trec(content: RunContent, text: str) -> bool:
    """Read a TREC run of six columns with one and the same separator, query after query; False when it is not one.

    Splitting a block of lines at once is several times cheaper than line by line. With five separators a line, the
    pieces at 5, 10, … are the tag, the line end and the next query; anything irregular shows there or in the count,
    and has to go the careful way, which names its faults.
    """
    separator, other = ("\t", " ") if text.count("\t", 0, text.find("\n")) == 5 else (" ", "\t")
    query_id = ""
    chunk_ids: list[str] = []
    scores: list[float] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start + BLOCK) + 1 or len(text)
        block = text[start:end]
        start = end
        if not block.endswith("\n"):
            block += "\n"
        pieces = block.split(separator)
        if len(pieces) != 5 * block.count("\n") + 1 or other in block or not block.isascii():
            return False
        written = pieces[4::5]
        try:
            numbers = list(map(float, written))
        except ValueError:
            return False
        if "" in pieces[1::5] or "" in pieces[3::5] or not pieces[-1].strip():
            return False
        if "_" in block and "_" in "".join(written):
            return False
        named = pieces[2::5]
        place = 0
        for head, group in groupby([f"tag\n{pieces[0]}", *pieces[5:-1:5]]):
            tag, _, query = head.partition("\n")
            if not tag.strip() or not query or "\n" in query or query.startswith("#"):
                return False
            if query != query_id:
                if chunk_ids:
                    content.add(query_id, chunk_ids, scores)
                query_id, chunk_ids, scores = query, [], []
            until = place + len(list(group))
            chunk_ids += named[place:until]
            scores += numbers[place:until]
            place = until
    content.add(query_id, chunk_ids, scores)
    return True
