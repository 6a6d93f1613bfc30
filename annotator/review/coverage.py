"""Which kinds of question a set has and which it lacks: counts per facet value, against targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotator.model import Query

__all__ = ["DEFAULT_TARGETS", "UNANSWERABLE", "Coverage", "Gap", "coverage"]

UNANSWERABLE: Final = "unanswerable"
"""The query type that questions marked unanswerable count for, whatever else they are."""

DEFAULT_TARGETS: Final[Mapping[str, Mapping[str, int]]] = {
    "query_type": {
        "factual_lookup": 5,
        "comparison": 3,
        "how_it_works": 3,
        "exact_identifier": 3,
        "multi_chunk": 3,
        UNANSWERABLE: 3,
    }
}
"""A credible first set: 20 to 30 questions that fail in different ways."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A facet value with fewer questions than wanted."""

    facet: str
    value: str
    have: int
    want: int

    @property
    def message(self) -> str:
        kind = self.value.replace("_", " ")
        kind = kind if self.facet == "query_type" else f"{self.facet.replace('_', ' ')} “{kind}”"
        if self.have == 0:
            return f"no {kind} question yet" + (f" ({self.want} wanted)" if self.want > 1 else "")
        return f"{self.have} of {self.want} {kind} questions"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Questions per facet and value, most first; `unset` counts those without a value; `gaps` what is missing."""

    total: int
    counts: Mapping[str, Mapping[str, int]]
    unset: Mapping[str, int]
    gaps: tuple[Gap, ...]


def coverage(
    queries: Iterable[Query], facets: Sequence[str], targets: Mapping[str, Mapping[str, int]] | None = None
) -> Coverage:
    """Count the questions by facet value. Which questions count (drafts, retired ones) is the caller's choice.

    Values that only the targets know are counted as well, with 0. `targets` default to DEFAULT_TARGETS.
    """
    wanted = DEFAULT_TARGETS if targets is None else targets
    names = list(dict.fromkeys([*facets, *wanted]))
    found: dict[str, dict[str, int]] = {facet: dict.fromkeys(wanted.get(facet, {}), 0) for facet in names}
    unset = dict.fromkeys(names, 0)
    total = 0
    for query in queries:
        total += 1
        for facet in names:
            values = _values(query, facet)
            unset[facet] += not values
            for value in values:
                found[facet][value] = found[facet].get(value, 0) + 1
    gaps = [
        Gap(facet, value, found[facet][value], want)
        for facet, values_wanted in wanted.items()
        for value, want in values_wanted.items()
        if found[facet][value] < want
    ]
    counts = {facet: dict(sorted(values.items(), key=lambda one: (-one[1], one[0]))) for facet, values in found.items()}
    return Coverage(total, counts, unset, tuple(gaps))


def _values(query: Query, facet: str) -> set[str]:
    values = {query.facets.get(facet, "")} - {""}
    if facet == "query_type" and query.unanswerable:
        values.add(UNANSWERABLE)
    return values
