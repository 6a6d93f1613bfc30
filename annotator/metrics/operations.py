"""How the retriever ran, from the trace and the lists: latency, time-outs, empty lists, stale and filtered chunks.

All rates are shares of queries. What the run does not tell is None, never 0; a run that says of any query whether it
timed out says that no other did.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from annotator.metrics.evaluation import Evaluation
from annotator.model import RunQuery

__all__ = ["latencies", "operation", "operation_names", "operations", "stale_chunks"]


def operation_names(cuts: Sequence[int]) -> tuple[str, ...]:
    """Names of all figures of operation at these cut-offs."""
    stale = (f"stale_hit_rate@{cut}" for cut in cuts)
    return ("latency_p50_ms", "latency_p95_ms", "timeout_rate", "empty_rate", *stale, "filtered_gold_rate")


def operations(evaluation: Evaluation, query_ids: Collection[str] | None = None) -> dict[str, float | None]:
    """Figures of operation over the judged queries, or over some of them."""
    return {name: operation(name, evaluation, query_ids) for name in operation_names(evaluation.k)}


def operation(name: str, evaluation: Evaluation, query_ids: Collection[str] | None = None) -> float | None:
    """One figure of operation, by its name, over the judged queries or over some of them."""
    asked = list(evaluation.per_query if query_ids is None else query_ids)
    if name.startswith("latency_"):
        return percentile(latencies(evaluation, asked), 50 if name == "latency_p50_ms" else 95)
    answers = [evaluation.run.queries.get(query_id, RunQuery(query_id)) for query_id in asked]
    if name == "timeout_rate":
        told = any(isinstance(one.trace.get("timed_out"), bool) for one in evaluation.run.queries.values())
        answered = [answer for answer in answers if answer.query_id in evaluation.run.queries]
        return _share([answer.trace.get("timed_out") is True for answer in answered]) if told else None
    if name == "empty_rate":
        return _share([not answer.chunk_ids for answer in answers])
    if name == "filtered_gold_rate":
        traced = any(answer.filtered_out for answer in evaluation.run.queries.values())
        return _share([_filtered_gold(evaluation, answer) for answer in answers]) if traced else None
    cut = int(name.partition("@")[2])
    stale = [set(stale_chunks(evaluation, query_id)) for query_id in asked]
    return _share([not old.isdisjoint(answer.chunk_ids[:cut]) for old, answer in zip(stale, answers, strict=True)])


def latencies(evaluation: Evaluation, query_ids: Collection[str]) -> list[float]:
    """Milliseconds that the queries took, ascending, of those where the run says it."""
    traces = [evaluation.run.queries[query_id].trace for query_id in query_ids if query_id in evaluation.run.queries]
    told = [trace.get("latency_ms") for trace in traces]
    return sorted(float(took) for took in told if isinstance(took, int | float) and not isinstance(took, bool))


def stale_chunks(evaluation: Evaluation, query_id: str) -> tuple[str, ...]:
    """Chunks of a query that the gold set flags as outdated."""
    query = evaluation.gold.details.get(query_id)
    return tuple(label.chunk_id for label in query.gold if label.stale) if query else ()


def _filtered_gold(evaluation: Evaluation, answer: RunQuery) -> bool:
    return not evaluation.relevant[answer.query_id].isdisjoint(chunk_id for chunk_id, _ in answer.filtered_out)


def percentile(ascending: Sequence[float], percent: float) -> float | None:
    """Percentile of values in ascending order, interpolated between neighbours; None without values."""
    if not ascending:
        return None
    place = (len(ascending) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (ascending[above] - ascending[below]) * (place - below)


def _share(happened: Sequence[bool]) -> float | None:
    return sum(happened) / len(happened) if happened else None
