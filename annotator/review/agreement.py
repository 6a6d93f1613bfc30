"""How far people who judged the same chunks agree: percent, Cohen's kappa for two, Krippendorff's alpha for any number.

Pure. Which judgments are asked about is the services' choice; what becomes of a disagreement is `settle.py`'s.
Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; Cohen (1968), Weighted Kappa.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from annotator.model import GRADES, Judgment

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Agreement", "Confusion", "Figures", "Item", "PairAgreement", "Slice", "agreement", "items"]

SAMPLES: Final = 1000
"""Resamples behind an interval."""
SEED: Final = 20_240_607

Confusion: TypeAlias = tuple[tuple[int, ...], ...]
"""Number of chunks by grade: a row for the first person's 0-3, in it a column for the second's."""

_Counts: TypeAlias = "np.ndarray[Any, np.dtype[np.floating[Any]]]"
"""Of shape (…, grades, grades)."""


@dataclass(frozen=True, slots=True)
class Item:
    """One chunk for one question that two people or more graded, having read the same text."""

    query_id: str
    chunk_id: str
    grades: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two people over the `n` chunks both graded. The kappas are None where both always gave one and the same grade.

    `interval` is that of the quadratic weighted kappa.
    """

    annotators: tuple[str, str]
    n: int
    percent: float
    kappa: float | None
    weighted_kappa: float | None
    interval: tuple[float, float] | None
    confusion: Confusion


@dataclass(frozen=True, slots=True)
class Figures:
    """Any number of people. `percent` is the share (0 to 1) of twos with equal grades, averaged over the items.

    `alpha` is None without items or where all grades are the same: then nothing shows that anybody could tell chunks
    apart. `interval` is the 95 % interval of alpha, from resampling questions; None below two questions.
    """

    alpha: float | None
    interval: tuple[float, float] | None
    percent: float | None
    items: int
    questions: int


@dataclass(frozen=True, slots=True)
class Slice:
    """The agreement about the questions with one facet value."""

    facet: str
    value: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everybody together, every two people, and every slice."""

    overall: Figures
    pairs: tuple[PairAgreement, ...]
    slices: tuple[Slice, ...]


def items(judgments: Iterable[Judgment]) -> list[Item]:
    """Return what two people or more graded; whoever could not judge or read another text does not count."""
    found: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for one in judgments:
        if one.grade is not None:
            found[one.query_id, one.chunk_id, one.sha256][one.annotator] = one.grade
    return [Item(query_id, chunk_id, said) for (query_id, chunk_id, _), said in found.items() if len(said) > 1]


def agreement(shared: Sequence[Item], facets: Mapping[str, Mapping[str, str]]) -> Agreement:
    """Return how far people agree on these items; `facets`: query id → facet → value."""
    both: dict[tuple[str, str], list[tuple[str, tuple[int, int]]]] = defaultdict(list)
    parts: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for one in shared:
        for first, second in combinations(sorted(one.grades), 2):
            both[first, second].append((one.query_id, (one.grades[first], one.grades[second])))
        for part in facets.get(one.query_id, {}).items():
            parts[part].append(one)
    resamples = _Resamples(one.query_id for one in shared)
    return Agreement(
        overall=_figures(shared, resamples),
        pairs=tuple(_pair(people, both[people], resamples) for people in sorted(both)),
        slices=tuple(Slice(facet, value, _figures(parts[facet, value], resamples)) for facet, value in sorted(parts)),
    )


def _figures(shared: Sequence[Item], resamples: _Resamples) -> Figures:
    said = Counter((one.query_id, tuple(sorted(one.grades.values()))) for one in shared)
    of_query: dict[str, _Counts] = {}
    equal = 0.0
    for (query_id, grades), times in said.items():
        matrix = times * _coincidences(grades)
        of_query[query_id] = of_query[query_id] + matrix if query_id in of_query else matrix
        equal += times * _equal(grades)
    return Figures(
        alpha=_finite(_alpha(_sum(of_query))),
        interval=resamples.interval(of_query, _alpha),
        percent=equal / len(shared) if shared else None,
        items=len(shared),
        questions=len(of_query),
    )


def _pair(people: tuple[str, str], said: Sequence[tuple[str, tuple[int, int]]], resamples: _Resamples) -> PairAgreement:
    of_query: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for query_id, grades in said:
        of_query[query_id].append(grades)
    counted = {query_id: _counts(grades) for query_id, grades in of_query.items()}
    total = _sum(counted)
    return PairAgreement(
        annotators=people,
        n=len(said),
        percent=sum(first == second for _, (first, second) in said) / len(said),
        kappa=_finite(_kappa(total, _unequal())),
        weighted_kappa=_finite(_kappa(total, _squared())),
        interval=resamples.interval(counted, lambda counts: _kappa(counts, _squared())),
        confusion=tuple(tuple(int(number) for number in row) for row in total),
    )


def _alpha(coincidences: _Counts) -> _Counts:
    """Krippendorff's alpha for ordered grades, of each matrix; not a number where there is only one grade."""
    import numpy as np

    found = coincidences.sum(axis=-1)
    # The distance of two grades is the number of grades given from the one to the other, the ends counted half.
    upto = np.cumsum(found, axis=-1) - found / 2
    distance = (upto[..., :, None] - upto[..., None, :]) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (coincidences * distance).sum(axis=(-1, -2))
        expected = (found[..., :, None] * found[..., None, :] * distance).sum(axis=(-1, -2))
        return np.asarray(1 - (found.sum(axis=-1) - 1) * observed / expected)


def _kappa(counts: _Counts, weights: _Counts) -> _Counts:
    """Cohen's kappa of each confusion matrix, under weights of disagreement; not a number without variation."""
    import numpy as np

    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = rows[..., :, None] * columns[..., None, :] / counts.sum(axis=(-1, -2))[..., None, None]
        return np.asarray(1 - (weights * counts).sum(axis=(-1, -2)) / (weights * expected).sum(axis=(-1, -2)))


def _unequal() -> _Counts:
    import numpy as np

    return 1.0 - np.eye(len(GRADES))


def _squared() -> _Counts:
    import numpy as np

    grades = np.arange(len(GRADES), dtype=np.float64)
    return np.asarray((grades[:, None] - grades[None, :]) ** 2)


class _Resamples:
    """How often each question is drawn when as many are drawn with replacement, the same draws for every figure.

    Questions, not chunks: the labels of one question are no independent witnesses of each other.
    """

    def __init__(self, query_ids: Iterable[str]) -> None:
        import numpy as np

        self._place = {query_id: at for at, query_id in enumerate(sorted(set(query_ids)))}
        number = len(self._place)
        drawn = np.random.default_rng(SEED).integers(0, max(number, 1), size=(SAMPLES, number))
        sample = np.arange(SAMPLES)[:, None]
        self._times = np.bincount((drawn * SAMPLES + sample).ravel(), minlength=number * SAMPLES)
        self._times = self._times.reshape(number, SAMPLES).astype(np.float32)

    def interval(
        self, of_query: Mapping[str, _Counts], statistic: Callable[[_Counts], _Counts]
    ) -> tuple[float, float] | None:
        """Return the middle 95 % of the statistic over the draws; None below two questions."""
        import numpy as np

        if len(of_query) < 2:
            return None
        query_ids = sorted(of_query)
        matrices = np.stack([of_query[query_id] for query_id in query_ids])
        times = self._times[[self._place[query_id] for query_id in query_ids]]
        sums = times.T @ matrices.reshape(len(query_ids), -1).astype(np.float32)
        drawn = statistic(sums.astype(np.float64).reshape(SAMPLES, *matrices.shape[1:]))
        drawn = drawn[np.isfinite(drawn)]
        if not len(drawn):
            return None
        low, high = np.quantile(drawn, (0.025, 0.975))
        return float(low), float(high)


def _coincidences(grades: Sequence[int]) -> _Counts:
    """Every ordered pair of two people's grades of one item, weighing as much together as there are people."""
    pairs = [(first, second) for at, first in enumerate(grades) for to, second in enumerate(grades) if at != to]
    return _counts(pairs) / (len(grades) - 1)


def _counts(pairs: Iterable[tuple[int, int]]) -> _Counts:
    import numpy as np

    counted = np.zeros((len(GRADES), len(GRADES)))
    for first, second in pairs:
        counted[first, second] += 1
    return counted


def _sum(of_query: Mapping[str, _Counts]) -> _Counts:
    return sum(of_query.values(), start=_counts(()))


def _equal(grades: Sequence[int]) -> float:
    pairs = list(combinations(grades, 2))
    return sum(first == second for first, second in pairs) / len(pairs)


def _finite(value: _Counts) -> float | None:
    number = float(value)
    return number if number - number == 0 else None
