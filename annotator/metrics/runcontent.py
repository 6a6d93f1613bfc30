"""What a file of a run says, collected query by query together with every fault, whatever form it has."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotator.errors import InputError, Problem, as_written
from annotator.metrics.ranking import Id, Ordered, best_first, list_faults
from annotator.model import RunQuery, id_fault

__all__ = ["NUMBER", "Kept", "Rows", "RunContent", "add_by_score", "add_written", "score_of"]

NUMBER: Final = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*", re.ASCII)
_NOT_FINITE: Final = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of long lists: the first `depth` chunks, and those `judged` (by query) at their ranks."""

    depth: int
    judged: Mapping[str, Collection[str]]


@dataclass(slots=True)
class Rows:
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
        self.problems.append(Problem(message, self.file, line, field, as_written(value), mend))

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
            by_rule = self.ordered(query, best_first(chunk_ids, scores))
            ranked, ordered = by_rule.chunk_ids, by_rule.scores
        self.queries[query] = RunQuery(query, ranked, ordered, candidates, filtered_out, trace or {})

    def ordered(self, query_id: str, by_rule: Ordered[Id]) -> Ordered[Id]:
        """Note for the warnings what the order of a list shows, and hand it on."""
        self.reordered += by_rule.moved
        if by_rule.narrow:
            self.narrow.append(query_id)
        return by_rule

    def finish(self) -> RunContent:
        """Return the content, or raise InputError with every fault found."""
        if self.problems:
            in_order = sorted(self.problems, key=lambda problem: problem.line or 0)
            raise InputError(f"{self.file} cannot be used as a run.", problems=in_order)
        if self.reordered:
            self.warnings.append(
                f"{self.reordered} queries list their chunks in another order than their scores say (equal scores: by "
                "id, descending); the scores decide."
            )
        if self.narrow:
            named = ", ".join(self.narrow[:5]) + (" …" if len(self.narrow) > 5 else "")
            self.warnings.append(
                f"{len(self.narrow)} queries have neighbouring scores that differ in 64 but not in 32 bits ({named}): "
                "older tools take them for a tie and print another value."
            )
        return self


def add_written(content: RunContent, rows: dict[str, Rows], query: str, chunk: str, score: str, line: int) -> None:
    query_rows = rows.get(query)
    if query_rows is None:
        query_rows = rows[query] = Rows()
    query_rows.chunk_ids.append(chunk)
    query_rows.scores.append(_written(content, query, chunk, score, line))
    query_rows.lines.append(line)


def add_by_score(content: RunContent, rows: Mapping[str, Rows]) -> RunContent:
    for query_id, query_rows in rows.items():
        content.add(query_id, query_rows.chunk_ids, query_rows.scores, query_rows.lines)
    return content.finish()


def score_of(content: RunContent, query_id: str, chunk_id: object, value: object, line: int | None) -> float:
    """Take a score; what is no number is noted and becomes 0, as the run is refused anyway."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return float("inf")
    mend = "Use a decimal point." if isinstance(value, str) and "," in value else "Write a number."
    content.fault(f"score of ({query_id}, {chunk_id}) is not a number", line, "score", value, mend)
    return 0.0


def _written(content: RunContent, query_id: str, chunk_id: str, value: str, line: int) -> float:
    """Take a score written in a column; stricter than `float`, which reads `1_0` and digits of any script."""
    if NUMBER.fullmatch(value) or _NOT_FINITE.fullmatch(value):
        return float(value)
    return score_of(content, query_id, chunk_id, value, line)
