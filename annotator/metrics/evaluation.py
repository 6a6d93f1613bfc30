"""Scoring a run against a gold set: values per query, means over all judged queries, slices, and what is not known.

Sums run in ascending order of query ids and are divided once, so the same input gives the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.metrics.bounds import Ends, bounds
from annotator.metrics.measures import GradedList, all_measures, check_cuts
from annotator.model import Chunk, Run, RunQuery

__all__ = ["Evaluation", "RankedChunk", "Slice", "Unanswerable", "evaluate", "mean"]


@dataclass(frozen=True, slots=True)
class Slice:
    """The queries with one value of a facet ("" where a query has none), ids ascending, and their means."""

    facet: str
    value: str
    query_ids: tuple[str, ...]
    measures: Mapping[str, float]

    @property
    def n(self) -> int:
        """Number of queries."""
        return len(self.query_ids)


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """How the run treats the queries that no chunk answers; they are in no mean."""

    n: int
    returned_nothing: int
    top_scores: Mapping[str, float]
    """Highest score by query id, where the run returned scored chunks. High ones are false confidence."""

    @property
    def share_returned_nothing(self) -> float:
        """Share of the unanswerable queries for which the run returned nothing; 0 without any such query."""
        return self.returned_nothing / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk at its rank, counted from 1. `grade` is None for a hole: retrieved, never judged."""

    rank: int
    chunk_id: str
    score: float | None
    grade: int | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run scored against a gold set. Mappings are keyed by canonical measure name (`nDCG@10`) or query id."""

    gold: GoldSet
    run: Run
    k: tuple[int, ...]
    threshold: int
    counts: Mapping[str, int]
    """judged = answered + missing; empty (answered with no chunk), no_relevant, not_in_gold."""
    measures: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    relevant: Mapping[str, frozenset[str]]
    """The chunks of a query that reach the threshold, retrieved or not."""
    relevant_ranks: Mapping[str, Sequence[int]]
    """Ranks, counted from 1, of a query's relevant chunks in the whole list."""
    judged: Mapping[str, tuple[int, int]]
    """`Judged@k` as a fraction over all queries: judged chunks, retrieved chunks within k."""
    bounds: Mapping[str, Ends]
    query_bounds: Mapping[str, Mapping[str, Ends]]
    slices: tuple[Slice, ...]
    unanswerable: Unanswerable
    warnings: tuple[str, ...]
    level: str

    def ranked(self, query_id: str, depth: int | None = None) -> tuple[RankedChunk, ...]:
        """The run's list for a query, down to `depth`, beside the gold grades; empty when the run lacks the query."""
        answer = self.run.queries.get(query_id, RunQuery(query_id))
        grades = self.gold.grades.get(query_id, {})
        chunk_ids = answer.chunk_ids[:depth]
        scores = answer.scores[:depth] if answer.scores is not None else [None] * len(chunk_ids)
        return tuple(
            RankedChunk(rank, chunk_id, score, grades.get(chunk_id))
            for rank, (chunk_id, score) in enumerate(zip(chunk_ids, scores, strict=True), 1)
        )


def evaluate(
    gold: GoldSet,
    run: Run,
    *,
    k: Iterable[int] = (5, 10),
    threshold: int = 1,
    by: Iterable[str] = (),
    level: str = "chunk",
    chunks: Mapping[str, Chunk] | None = None,
) -> Evaluation:
    """Score a run: every measure at every cut-off `k`, relevant from grade `threshold` on, sliced by the facets `by`.

    A judged query that is missing from the run counts 0. The levels `document` and `span` score documents or quoted
    evidence instead of chunks; `chunks` are those of the run's table, by id. Raises InputError for k or threshold
    under 1, for a facet that no query has, an unknown level, and when a level lacks what it needs.
    """
    cuts = check_cuts(k)
    if threshold < 1:
        raise InputError(f"The threshold is a grade from 1, not {threshold}.", hint="Grade 0 means irrelevant.")
    if level != "chunk":
        gold, run = _at_level(level, gold, run, chunks or {})
    query_ids = gold.judged_queries
    measures = {measure.name: measure for measure in all_measures(cuts)}
    per_query: dict[str, dict[str, float]] = {}
    query_bounds: dict[str, dict[str, Ends]] = {}
    relevant_ranks: dict[str, Sequence[int]] = {}
    judged = {f"Judged@{cut}": (0, 0) for cut in cuts}
    relevant: dict[str, frozenset[str]] = {}
    for query_id in query_ids:
        answer = run.queries.get(query_id, RunQuery(query_id))
        ranked = GradedList.of(answer, gold.grades[query_id], threshold, cuts[-1])
        relevant[query_id], relevant_ranks[query_id] = ranked.relevant_chunks, ranked.relevant_ranks
        values = per_query[query_id] = {name: measure.value(ranked) for name, measure in measures.items()}
        ends = query_bounds[query_id] = {}
        for cut in cuts:
            ends |= bounds(ranked, cut, threshold, values)
            top = ranked.grades[:cut]
            known, retrieved = judged[f"Judged@{cut}"]
            judged[f"Judged@{cut}"] = (known + len(top) - top.count(None), retrieved + len(top))
    names = list(measures)
    answered = [query_id for query_id in query_ids if query_id in run.queries]
    left_out = gold.unanswerable
    return Evaluation(
        gold=gold,
        run=run,
        k=cuts,
        threshold=threshold,
        counts={
            "judged": len(query_ids),
            "answered": len(answered),
            "missing": len(query_ids) - len(answered),
            "empty": sum(not run.queries[query_id].chunk_ids for query_id in answered),
            "no_relevant": sum(not to_find for to_find in relevant.values()),
            "not_in_gold": len(run.queries.keys() - set(query_ids) - set(left_out)),
        },
        measures={name: mean(per_query[query_id][name] for query_id in query_ids) for name in names},
        per_query=per_query,
        relevant=relevant,
        relevant_ranks=relevant_ranks,
        judged=judged,
        bounds={
            name: (
                mean(query_bounds[query_id][name][0] for query_id in query_ids),
                mean(query_bounds[query_id][name][1] for query_id in query_ids),
            )
            for name in names
            if query_ids and name in query_bounds[query_ids[0]]
        },
        query_bounds=query_bounds,
        slices=_slices(gold, per_query, names, by),
        unanswerable=_unanswerable(run, left_out),
        level=level,
        warnings=(*gold.warnings, *(f"{run.name}: {warning}" for warning in run.warnings)),
    )


def _at_level(level: str, gold: GoldSet, run: Run, chunks: Mapping[str, Chunk]) -> tuple[GoldSet, Run]:
    from annotator.metrics.levels import LEVELS, to_documents, to_spans

    if level == "document":
        return to_documents(gold, run, chunks)
    if level == "span":
        return to_spans(gold, run, chunks)
    raise InputError(f"No level is called {level!r}.", hint=f"There are {', '.join(LEVELS)}.")


def mean(values: Iterable[float]) -> float:
    """Sum in the order given and divide once; 0 for no values."""
    total, count = 0.0, 0
    for value in values:
        total += value
        count += 1
    return total / count if count else 0.0


def _slices(
    gold: GoldSet, per_query: Mapping[str, Mapping[str, float]], names: Sequence[str], by: Iterable[str]
) -> tuple[Slice, ...]:
    slices = []
    for facet in dict.fromkeys(by):
        if facet not in gold.facets:
            raise InputError(
                f"No query of the gold set has the facet {facet!r}.",
                hint=f"There are {', '.join(gold.facets)}." if gold.facets else "This gold set has no facets.",
            )
        members: dict[str, list[str]] = {}
        for query_id in per_query:
            members.setdefault(gold.facet_value(query_id, facet), []).append(query_id)
        for value, query_ids in sorted(members.items()):
            means = {name: mean(per_query[query_id][name] for query_id in query_ids) for name in names}
            slices.append(Slice(facet, value, tuple(query_ids), means))
    return tuple(slices)


def _unanswerable(run: Run, query_ids: Sequence[str]) -> Unanswerable:
    answers = {query_id: run.queries.get(query_id, RunQuery(query_id)) for query_id in query_ids}
    return Unanswerable(
        len(answers),
        sum(not answer.chunk_ids for answer in answers.values()),
        {query_id: answer.scores[0] for query_id, answer in answers.items() if answer.scores},
    )
