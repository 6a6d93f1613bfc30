"""Holes: retrieved chunks that nobody judged, and which of them it pays most to judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


def holes(evaluations: Iterable[Evaluation]) -> tuple[Hole, ...]:
    """List the holes of the runs, those that could move the figures most first."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for evaluation in evaluations:
        for query_id in evaluation.per_query:
            for chunk in evaluation.ranked(query_id, evaluation.k[-1]):
                if chunk.grade is None:
                    found.setdefault((query_id, chunk.chunk_id), []).append((chunk.rank, evaluation.run.name))
    listed = [
        Hole(
            query_id,
            chunk_id,
            min(rank for rank, _ in places),
            tuple(name for _, name in places),
            sum(1 / log2(rank + 1) for rank, _ in places),
        )
        for (query_id, chunk_id), places in found.items()
    ]
    return tuple(sorted(listed, key=lambda hole: (-hole.weight, hole.query_id, hole.chunk_id)))
