"""Why a gate rule was not kept: the queries that moved the figure the wrong way, and what became of their chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from annotator.metrics.evaluation import Evaluation
from annotator.metrics.gate import Check
from annotator.metrics.measures import parse
from annotator.metrics.operations import stale_chunks
from annotator.model import RunQuery

__all__ = ["Reason", "lost_chunks", "reasons"]

NAMED = 3
"""Chunks named of a query; of the others the number is told."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A query behind a rule that was not kept: its figure, the baseline's where the rule compares, and why."""

    query_id: str
    question: str
    before: float | None
    now: float
    why: str


def reasons(check: Check, evaluation: Evaluation, baseline: Evaluation | None = None) -> tuple[Reason, ...]:
    """Explain a check of this run, query by query, the worst first; nothing for a rule that was kept."""
    measure = check.rule.measure
    found = []
    for one in check.queries:
        query = evaluation.gold.details.get(one.query_id)
        why = ""
        if measure.startswith("Judged@"):
            top = evaluation.ranked(one.query_id, parse(measure).k)
            why = _listed([f"{hit.chunk_id} at rank {hit.rank} not judged" for hit in top if hit.grade is None])
        elif measure in evaluation.measures:
            against = baseline if one.before is not None else None
            why = _lost(evaluation, against, one.query_id, parse(measure).k or evaluation.k[-1])
        elif measure.startswith("stale_hit_rate@"):
            old = set(stale_chunks(evaluation, one.query_id))
            top = evaluation.ranked(one.query_id, int(measure.partition("@")[2]))
            why = _listed([f"{hit.chunk_id} at rank {hit.rank} is outdated" for hit in top if hit.chunk_id in old])
        found.append(Reason(one.query_id, query.question if query else "", one.before, one.now, why))
    return tuple(found)


def lost_chunks(
    evaluation: Evaluation, baseline: Evaluation | None, query_id: str, k: int
) -> Iterator[tuple[str, str]]:
    """Yield each relevant chunk that is not among the first k, with what became of it.

    With a baseline only those that it has there, in its order; else all, by id.
    """
    answer, relevant = _answer(evaluation, query_id), evaluation.relevant[query_id]
    top = set(answer.chunk_ids[:k])
    wanted = _answer(baseline, query_id).chunk_ids[:k] if baseline else tuple(sorted(relevant))
    filters = dict(answer.filtered_out)
    for chunk_id in wanted:
        if chunk_id not in relevant or chunk_id in top:
            continue
        if chunk_id in filters:
            yield chunk_id, f"filtered out ({filters[chunk_id]})" if filters[chunk_id] else "filtered out"
        elif (rank := answer.rank(chunk_id)) is not None:
            yield chunk_id, f"at rank {rank}"
        elif chunk_id in answer.candidates:
            yield chunk_id, f"a candidate at rank {answer.candidates.index(chunk_id) + 1}, not returned"
        else:
            yield chunk_id, "not found"


def _lost(evaluation: Evaluation, baseline: Evaluation | None, query_id: str, k: int) -> str:
    if query_id not in evaluation.run.queries:
        return "the run does not have this query"
    answer = _answer(evaluation, query_id)
    late = "timed out; " if answer.trace.get("timed_out") is True else ""
    if not answer.chunk_ids:
        return f"{late}nothing came back"
    lost = [f"{chunk_id} {what}" for chunk_id, what in lost_chunks(evaluation, baseline, query_id, k)]
    if not lost and baseline:
        return f"{late}no relevant chunk lost from the first {k}, but in a worse order"
    return late + _listed(lost)


def _listed(parts: Sequence[str]) -> str:
    more = len(parts) - NAMED
    return "; ".join(parts[:NAMED]) + (f"; and {more} more" if more > 0 else "")


def _answer(evaluation: Evaluation, query_id: str) -> RunQuery:
    return evaluation.run.queries.get(query_id, RunQuery(query_id))
