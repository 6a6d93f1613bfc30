"""How far a figure could move if every retrieved chunk that nobody judged (a hole) got a grade from 0 to 3.

Holes within the cut-off are considered, and every way of grading them. For precision, recall, reciprocal rank and hit
rate the ends are "all holes 0" and "all holes 3". For AP and nDCG they need not be: a newly relevant chunk far down
also raises the ideal, so the lowest value has some of the deepest holes relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import log2
from typing import Final

from annotator.metrics.measures import GradedList, Measure
from annotator.model import GRADES

__all__ = ["bounds"]

TOP: Final = max(GRADES)


def bounds(measure: Measure, ranked: GradedList, threshold: int) -> tuple[float, float] | None:
    """Lowest and highest value of one query over all gradings of its holes within the cut-off.

    None for measures that have no bounds: those without a cut-off, and the judged share itself.
    """
    find = _BOUNDS.get(measure.definition.name)
    if find is None or measure.k is None:
        return None
    holes = [rank for rank, grade in enumerate(ranked.grades[: measure.k], 1) if grade is None]
    if not holes:
        value = measure.value(ranked)
        return value, value
    return find(measure, ranked, holes, threshold)


def _all_or_none(measure: Measure, ranked: GradedList, holes: Sequence[int], threshold: int) -> tuple[float, float]:
    """Measures that only grow when a hole turns out relevant."""
    if threshold > TOP:
        value = measure.value(ranked)
        return value, value
    best = GradedList(
        ranked.grades, sorted([*ranked.relevant_ranks, *holes]), ranked.relevant + len(holes), ranked.ideal
    )
    return measure.value(ranked), measure.value(best)


def _average_precision(
    measure: Measure, ranked: GradedList, holes: Sequence[int], threshold: int
) -> tuple[float, float]:
    """With a given number of relevant holes, AP is highest when they are the first ones, lowest when the last."""
    value = measure.value(ranked)
    if threshold > TOP:
        return value, value
    k = measure.k or 0
    known = [rank for rank in ranked.relevant_ranks if rank <= k]
    total = value * ranked.relevant
    highest = _extreme(max, total, ranked.relevant, known, holes)
    lowest = _extreme(min, total, ranked.relevant, known, list(reversed(holes)))
    return min(value, lowest), max(value, highest)


def _extreme(
    better: Callable[[float, float], float], total: float, relevant: int, known: Sequence[int], holes: Sequence[int]
) -> float:
    """Add the holes one by one in the order given and keep the best AP on the way."""
    best = total / relevant if relevant else 0.0
    chosen = list(known)
    for count, hole in enumerate(holes, 1):
        before = sum(rank < hole for rank in chosen)
        total += (before + 1) / hole + sum(1 / rank for rank in chosen if rank > hole)
        chosen.append(hole)
        best = better(best, total / (relevant + count))
    return best


def _ndcg(measure: Measure, ranked: GradedList, holes: Sequence[int], _threshold: int) -> tuple[float, float]:
    """DCG and its ideal are sums over grade levels: level t counts the places of the chunks graded t or more.

    The lowest value has grade 3 on some number of the deepest holes and 0 elsewhere, as the ratio of a linear and a
    convex function has its minimum at a corner. The highest is found level by level (Dinkelbach's method): grades fall
    with rank, and the best number of holes at each level follows from the ratio reached so far.
    """
    k = measure.k or 0
    worth = [1 / log2(rank + 1) for rank in range(1, k + 1)]
    ideal_of = [0.0, *accumulate(worth)]
    gained = sum(grade * worth[place] for place, grade in enumerate(ranked.grades[:k]) if grade and grade > 0)
    at_level = [sum(grade >= level for grade in ranked.ideal) for level in range(1, TOP + 1)]
    levels = range(TOP)
    above = sum(grade * worth[place] for place, grade in enumerate(ranked.ideal[:k]))
    above -= sum(ideal_of[min(k, count)] for count in at_level)  # the part of the ideal over grade 3

    def ideal(counts: Sequence[int]) -> float:
        return above + sum(ideal_of[min(k, at_level[level] + counts[level])] for level in levels)

    shallow = [0.0, *accumulate(worth[hole - 1] for hole in holes)]
    deep = [0.0, *accumulate(worth[hole - 1] for hole in reversed(holes))]
    sizes = range(len(holes) + 1)
    lowest = min(_ratio(gained + TOP * deep[size], ideal([size] * TOP)) for size in sizes)

    counts = [len(holes)] * TOP
    highest = max(_ratio(gained, ideal([0] * TOP)), _ratio(gained + TOP * shallow[-1], ideal(counts)))
    while True:
        counts = [
            max(sizes, key=lambda size, n=at_level[level], r=highest: shallow[size] - r * ideal_of[min(k, n + size)])  # type: ignore[misc]
            for level in levels
        ]
        reached = _ratio(gained + sum(shallow[count] for count in counts), ideal(counts))
        if reached <= highest + 1e-12:
            break
        highest = reached
    value = measure.value(ranked)
    return min(value, lowest), max(value, min(highest, 1.0))


def _ratio(gained: float, ideal: float) -> float:
    return gained / ideal if ideal else 0.0


_BOUNDS: Final[dict[str, Callable[[Measure, GradedList, Sequence[int], int], tuple[float, float]]]] = {
    "P": _all_or_none,
    "R": _all_or_none,
    "RR": _all_or_none,
    "Success": _all_or_none,
    "AP": _average_precision,
    "nDCG": _ndcg,
}
