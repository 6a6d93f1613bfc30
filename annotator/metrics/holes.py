"""Holes: retrieved chunks that nobody judged, and which of them it pays most to judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from math import log2

from annotator.metrics.evaluation import Evaluation

__all__ = ["Hole", "holes"]


@dataclass(frozen=True, slots=True)
class Hole:
    """An unjudged chunk within the deepest cut-off. `weight`: what a grade of 1 there would add to DCG, in all runs."""

    query_id: str
    chunk_id: str
    best_rank: int
    runs: tuple[str, ...]
    weight: float


def holes(evaluations: Iterable[Evaluation], most: int | None = None) -> tuple[Hole, ...]:
    """List the holes of the runs, those that could move the figures most first; at most `most` of them."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for evaluation in evaluations:
        name, depth = evaluation.run.name, evaluation.k[-1]
        for query_id in evaluation.per_query.keys() & evaluation.run.queries.keys():
            judged = evaluation.gold.grades[query_id]
            for rank, chunk_id in enumerate(evaluation.run.queries[query_id].chunk_ids[:depth], 1):
                if chunk_id not in judged:
                    found.setdefault((query_id, chunk_id), []).append((rank, name))
    weighed = ((-sum([1 / log2(rank + 1) for rank, _ in places]), pair) for pair, places in found.items())
    first = sorted(weighed) if most is None else nsmallest(most, weighed)
    return tuple(
        Hole(*pair, min(rank for rank, _ in found[pair]), tuple(name for _, name in found[pair]), -weight)
        for weight, pair in first
    )
