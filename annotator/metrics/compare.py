"""A run against a baseline on the same gold set: paired by query, with an honest test of the difference.

The test flips signs of the per-query differences (Fisher's randomisation test, two-sided): exact for up to 16 queries
that differ, seeded draws beyond. Queries that are missing from a run count 0 on its side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem, itemgetter
from random import Random

from annotator.errors import Conflict
from annotator.metrics.evaluation import Evaluation, mean

__all__ = [
    "FEWEST_FOR_5_PERCENT",
    "Comparison",
    "Difference",
    "SliceComparison",
    "compare",
    "difference",
    "holm",
    "p_figure",
    "p_words",
    "randomisation_p",
]

EXACT_UP_TO = 16
DRAWS = 10_000
RESAMPLES = 2_000
SEED = 20
FEWEST_FOR_5_PERCENT = 6
"""With n queries the smallest possible p is 2 / 2**n: under 6 queries no difference can reach 0.05."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure, candidate against baseline. `interval` is the 95 % bootstrap interval of the delta."""

    baseline: float
    candidate: float
    delta: float
    p_value: float
    interval: tuple[float, float]
    wins: int
    losses: int
    ties: int
    n: int

    @property
    def too_few(self) -> bool:
        """Whether there are too few queries for any difference to be significant at 5 %."""
        return self.n < FEWEST_FOR_5_PERCENT


@dataclass(frozen=True, slots=True)
class SliceComparison:
    """The same for the queries of one slice; `adjusted` holds the p-values corrected for the number of slices."""

    facet: str
    value: str
    measures: Mapping[str, Difference]
    adjusted: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against a baseline, by canonical measure name; the judged share is not a quality and left out."""

    baseline: str
    measures: Mapping[str, Difference]
    slices: tuple[SliceComparison, ...]


def compare(candidate: Evaluation, baseline: Evaluation, names: Collection[str] | None = None) -> Comparison:
    """Compare two runs scored in the same way, on every measure or on those named, canonically.

    Raises Conflict when gold, cut-offs, threshold or level differ.
    """
    for name, here, there in (
        ("gold digest", candidate.gold.digest, baseline.gold.digest),
        ("k", candidate.k, baseline.k),
        ("threshold", candidate.threshold, baseline.threshold),
        ("level", candidate.level, baseline.level),
    ):
        if here != there:
            raise Conflict(
                f"{candidate.run.name} and {baseline.run.name} cannot be compared: {name} {here} and {there}.",
                hint="Score both against the same gold set version.",
            )
    names = [name for name in candidate.measures if name not in candidate.judged and (names is None or name in names)]
    parts = [(part.facet, part.value, _paired(candidate, baseline, names, part.query_ids)) for part in candidate.slices]
    adjusted = {name: holm([measures[name].p_value for _, _, measures in parts]) for name in names}
    return Comparison(
        baseline.run.name,
        _paired(candidate, baseline, names, tuple(candidate.per_query)),
        tuple(
            SliceComparison(facet, value, measures, {name: adjusted[name][place] for name in names})
            for place, (facet, value, measures) in enumerate(parts)
        ),
    )


def _paired(
    candidate: Evaluation, baseline: Evaluation, names: Sequence[str], query_ids: Sequence[str]
) -> dict[str, Difference]:
    before, after = (
        [[scored.per_query[query_id][name] for query_id in query_ids] for name in names]
        for scored in (baseline, candidate)
    )
    deltas = [_deltas(*columns) for columns in zip(before, after, strict=True)]
    intervals = _bootstrap_intervals(deltas, SEED)
    found = map(_difference, before, after, deltas, intervals)
    return dict(zip(names, found, strict=True))


def difference(baseline: Sequence[float], candidate: Sequence[float], seed: int = SEED) -> Difference:
    """Compare values paired by place."""
    deltas = _deltas(baseline, candidate)
    return _difference(baseline, candidate, deltas, _bootstrap_intervals([deltas], seed)[0], seed)


def _deltas(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    return [new - old for old, new in zip(baseline, candidate, strict=True)]


def _difference(
    baseline: Sequence[float],
    candidate: Sequence[float],
    deltas: Sequence[float],
    interval: tuple[float, float],
    seed: int = SEED,
) -> Difference:
    before, after = mean(baseline), mean(candidate)
    wins, losses = sum(delta > 0 for delta in deltas), sum(delta < 0 for delta in deltas)
    return Difference(
        before,
        after,
        after - before,
        randomisation_p(deltas, seed),
        interval,
        wins,
        losses,
        len(deltas) - wins - losses,
        len(deltas),
    )


def randomisation_p(deltas: Sequence[float], seed: int = SEED) -> float:
    """Two-sided p-value of the mean difference: how often random signs give one at least as large. 1 for no difference.

    Differences of 0 are the same under either sign and are left out, which changes nothing.
    """
    moved = [delta for delta in deltas if delta]
    if not moved:
        return 1.0
    # sums in another order differ in the last bits; they must still count as equally large
    observed = abs(sum(moved)) * (1 - 1e-9)
    if len(moved) <= EXACT_UP_TO:
        sums = [moved[0]]  # the other half, with the first sign flipped, mirrors this one
        for delta in moved[1:]:
            sums = [total + delta for total in sums] + [total - delta for total in sums]
        return sum(abs(total) >= observed for total in sums) / len(sums)
    random = Random(seed)
    tables = _signed_sums(moved)
    count = sum(abs(sum(map(getitem, tables, random.randbytes(len(tables))))) >= observed for _ in range(DRAWS))
    return (count + 1) / (DRAWS + 1)


def _signed_sums(deltas: Sequence[float]) -> list[list[float]]:
    """For every eight differences, their sum under each of the 256 choices of signs: one look-up for eight flips."""
    tables = []
    for start in range(0, len(deltas), 8):
        sums = [0.0]
        for delta in deltas[start : start + 8]:
            sums = [total + delta for total in sums] + [total - delta for total in sums]
        tables.append(sums * (256 // len(sums)))
    return tables


def _bootstrap_intervals(columns: Sequence[Sequence[float]], seed: int) -> list[tuple[float, float]]:
    """95 % percentile intervals of the mean differences over resampled queries; every column has the same draws."""
    moved = [deltas for deltas in columns if any(deltas)]
    sums: list[list[float]] = [[] for _ in moved]
    if moved:
        random, n = Random(seed), len(moved[0])
        for _ in range(RESAMPLES):
            # drawing costs more than summing, so it is done once; a single place would not come as a tuple
            drawn = random.choices(range(n), k=n)
            take = itemgetter(*drawn, drawn[0])
            for column, deltas in zip(sums, moved, strict=True):
                column.append(sum(take(deltas)[:-1]) / n)
    low, high = int(0.025 * RESAMPLES), int(0.975 * RESAMPLES) - 1
    ends = iter([(means[low], means[high]) for means in map(sorted, sums)])
    return [next(ends) if any(deltas) else (0.0, 0.0) for deltas in columns]


def p_figure(p_value: float) -> str:
    """Write a p-value with 3 decimals; one too small for them is not 0, as chance could always have done it."""
    return f"{p_value:.3f}" if p_value >= 0.0005 else "<0.001"


def p_words(p_value: float) -> str:
    """Write a p-value for the middle of a sentence: `p = 0.042`, `p < 0.001`."""
    figure = p_figure(p_value)
    return f"p < {figure[1:]}" if figure.startswith("<") else f"p = {figure}"


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm's step-down), in the order given."""
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for step, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - step) * p_values[place]))
        adjusted[place] = reached
    return adjusted
