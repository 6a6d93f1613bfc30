"""How far a figure could move if every retrieved chunk that nobody judged (a hole) got a grade from 0 to 3.

Holes within the cut-off are considered, and every way of grading them. For precision, recall, reciprocal rank and hit
rate the ends are "all holes 0" and "all holes 3". For AP and nDCG they need not be: a newly relevant chunk far down
also raises the ideal, so the lowest value has some of the deepest holes relevant.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import log2
from typing import Final

from annotator.metrics.measures import GradedList
from annotator.model import GRADES

__all__ = ["Ends", "bounds"]

Ends = tuple[float, float]
TOP: Final = max(GRADES)
_COMMON: Final = 10_000
"""Cut-offs up to here have a table of discounts of their own."""


def bounds(ranked: GradedList, k: int, threshold: int, values: Mapping[str, float]) -> dict[str, Ends]:
    """Lowest and highest value of each measure at `k`, by canonical name, over all gradings of the holes of one query.

    `values` are the plain ones. The judged share has no bounds, nor have measures without a cut-off.
    """
    plain = {base: values[f"{base}@{k}"] for base in ("P", "R", "RR", "Success", "AP", "nDCG")}
    holes = [rank for rank, grade in enumerate(ranked.grades[:k], 1) if grade is None]
    if not holes:
        return {f"{base}@{k}": (value, value) for base, value in plain.items()}
    ends = {base: (value, value) for base, value in plain.items()}
    if threshold <= TOP:
        found = [rank for rank in ranked.relevant_ranks if rank <= k]
        most = len(found) + len(holes)
        first = min(holes[0], found[0]) if found else holes[0]
        ends["P"] = plain["P"], most / k
        ends["R"] = plain["R"], most / (ranked.relevant + len(holes))
        ends["RR"] = plain["RR"], 1 / first
        ends["Success"] = plain["Success"], 1.0
        ends["AP"] = _average_precision(plain["AP"], ranked.relevant, found, holes)
    ends["nDCG"] = _ndcg(plain["nDCG"], ranked, holes, k)
    return {f"{base}@{k}": found for base, found in ends.items()}


def _average_precision(value: float, relevant: int, found: Sequence[int], holes: Sequence[int]) -> Ends:
    """With a given number of relevant holes, AP is highest when they are the first ones, lowest when the last.

    A hole that becomes relevant brings its own precision, and one more relevant chunk before every later one.
    """
    highest, total, before, later = value, value * relevant, 0, sum(1 / rank for rank in found)
    for count, hole in enumerate(holes, 1):
        while before < len(found) and found[before] < hole:
            later -= 1 / found[before]
            before += 1
        total += (before + count) / hole + later
        highest = max(highest, total / (relevant + count))
    lowest, total, before, later = value, value * relevant, len(found), 0.0
    for count, hole in enumerate(reversed(holes), 1):
        while before and found[before - 1] > hole:
            before -= 1
            later += 1 / found[before]
        total += (before + 1) / hole + later
        later += 1 / hole
        lowest = min(lowest, total / (relevant + count))
    return lowest, min(highest, 1.0)


def _ndcg(value: float, ranked: GradedList, holes: Sequence[int], k: int) -> Ends:
    """DCG and its ideal are sums over grade levels: level t counts the places of the chunks graded t or more.

    The lowest value has grade 3 on some number of the deepest holes and 0 elsewhere, as the ratio of a linear and a
    convex function has its minimum at a corner. The highest is found level by level (Dinkelbach's method): grades fall
    with rank, and the best number of holes at each level follows from the ratio reached so far.
    """
    # no list is longer than this, however large k is
    worth, sum_of_first = _discounts(min(k, max(_COMMON, len(ranked.grades) + len(ranked.ideal))))
    gained = sum(grade * worth[place] for place, grade in enumerate(ranked.grades[:k]) if grade and grade > 0)
    # ideal_at[t][n]: the part of the ideal at level t + 1 with n holes added to it
    ideal_at = []
    ascending = ranked.ideal[::-1]
    for level in range(1, TOP + 1):
        known = len(ascending) - bisect_left(ascending, level)
        parts = sum_of_first[known : known + len(holes) + 1]
        # beyond k nothing is added
        ideal_at.append(parts + [sum_of_first[-1]] * (len(holes) + 1 - len(parts)))
    above = sum((grade - TOP) * worth[place] for place, grade in enumerate(ranked.ideal[:k]) if grade > TOP)

    shallow = [0.0, *accumulate(worth[hole - 1] for hole in holes)]
    deep = [0.0, *accumulate(worth[hole - 1] for hole in reversed(holes))]
    ideals = map(sum, zip(*ideal_at, strict=True))
    lowest = min([_ratio(gained + TOP * worst, above + ideal) for worst, ideal in zip(deep, ideals, strict=True)])
    highest = max(value, _ratio(gained + TOP * shallow[-1], above + sum(ideal[-1] for ideal in ideal_at)))
    while highest < 1:
        best = []
        for ideal in ideal_at:
            worths = [part - highest * of for part, of in zip(shallow, ideal, strict=True)]
            best.append(worths.index(max(worths)))
        reached = _ratio(
            gained + sum([shallow[size] for size in best]),
            above + sum([ideal[size] for ideal, size in zip(ideal_at, best, strict=True)]),
        )
        if reached <= highest + 1e-12:
            break
        highest = reached
    return min(value, lowest), min(highest, 1.0)


@cache
def _discounts(k: int) -> tuple[list[float], list[float]]:
    """What a grade of 1 is worth at each rank down to k, and the sums of the first 0, 1, … k of them."""
    worth = [1 / log2(rank + 1) for rank in range(1, k + 1)]
    return worth, [0.0, *accumulate(worth)]


def _ratio(gained: float, ideal: float) -> float:
    return gained / ideal if ideal else 0.0
