"""The measures: each is declared once, with its name, its words for people and its formula for one query.

A cut-off makes a declared measure concrete: `nDCG@10`. Means over queries are evaluation's business.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import log2
from sys import maxsize
from typing import Final

from annotator.errors import InputError
from annotator.model import RunQuery

__all__ = ["DEFINITIONS", "Definition", "GradedList", "Measure", "all_measures", "check_cuts", "parse"]

_CUT: Final = re.compile("[1-9][0-9]{0,99}", re.ASCII)


@dataclass(slots=True)
class GradedList:
    """One query's ranked list seen through its judgments; all that a measure needs to know."""

    grades: Sequence[int | None]
    """Grade of the chunk at each rank down to the deepest cut-off, best rank first; None where nobody judged it."""
    relevant_ranks: Sequence[int]
    """Ranks in the whole list, counted from 1, whose grade reaches the threshold."""
    relevant_chunks: frozenset[str]
    """Judged chunks of the query that reach the threshold, retrieved or not."""
    ideal: Sequence[int]
    """Positive grades of all judged chunks of the query, highest first."""

    @property
    def relevant(self) -> int:
        """How many relevant chunks there are to find."""
        return len(self.relevant_chunks)

    @classmethod
    def of(cls, answer: RunQuery, judged: Mapping[str, int], threshold: int, depth: int) -> GradedList:
        """Grade a ranked list; cut-offs go down to `depth`, `threshold` is at least 1."""
        chunk_ids = answer.chunk_ids
        relevant = frozenset([chunk_id for chunk_id, grade in judged.items() if grade >= threshold])
        return cls(
            list(map(judged.get, chunk_ids[:depth])),
            [
                *compress(range(1, len(chunk_ids) + 1), map(relevant.__contains__, chunk_ids)),
                *(rank for chunk_id, rank in answer.below.items() if chunk_id in relevant),
            ],
            relevant,
            sorted((grade for grade in judged.values() if grade > 0), reverse=True),
        )


@dataclass(frozen=True, slots=True)
class Definition:
    """A declared measure. `words` is its name on screen; the three sentences help a reader who never met it."""

    name: str
    words: str
    answers: str
    moves: str
    watch: str
    formula: Callable[[GradedList, int], float]
    uncut: bool = False
    """Whether it may stand without a cut-off, over the whole list."""


DEFINITIONS: dict[str, Definition] = {}


def _declare(
    name: str, words: str, *, answers: str, moves: str, watch: str, uncut: bool = False
) -> Callable[[Callable[[GradedList, int], float]], Callable[[GradedList, int], float]]:
    def register(formula: Callable[[GradedList, int], float]) -> Callable[[GradedList, int], float]:
        DEFINITIONS[name] = Definition(name, words, answers, moves, watch, formula, uncut)
        return formula

    return register


def _dcg(grades: Iterable[int | None]) -> float:
    total = 0.0
    for place, grade in enumerate(grades, 2):
        if grade and grade > 0:
            total += grade / log2(place)
    return total


@_declare(
    "nDCG",
    "nDCG",
    answers="Does the list put the best chunks first, as the grades say?",
    moves="A grade 3 moving up or down; swapping a partial answer with a full one.",
    watch="The first figure to compare two rankers with, once grades 0-3 exist.",
)
def _ndcg(ranked: GradedList, k: int) -> float:
    ideal = _dcg(ranked.ideal[:k])
    return _dcg(ranked.grades[:k]) / ideal if ideal else 0.0


@_declare(
    "AP",
    "MAP",
    answers="Are all relevant chunks found, and early?",
    moves="Any relevant chunk moving, most of all near the top; a relevant chunk lost.",
    watch="When a question has several relevant chunks and one figure is wanted.",
    uncut=True,
)
def _average_precision(ranked: GradedList, k: int) -> float:
    total = 0.0
    for found, rank in enumerate(ranked.relevant_ranks, 1):
        if rank > k:
            break
        total += found / rank
    return total / ranked.relevant if ranked.relevant else 0.0


@_declare(
    "R",
    "Recall",
    answers="How much of the relevant evidence is among the first k?",
    moves="Chunking, parsing, filters, query rewriting, embeddings; a larger k.",
    watch="First of all: what is not found cannot be used. Read it at the k that reaches the prompt.",
)
def _recall(ranked: GradedList, k: int) -> float:
    return bisect_right(ranked.relevant_ranks, k) / ranked.relevant if ranked.relevant else 0.0


@_declare(
    "P",
    "Precision",
    answers="How much of the first k is relevant?",
    moves="Noise in the list; few relevant chunks in all keep it low however good the search is.",
    watch="When the prompt is small and noise crowds out evidence.",
)
def _precision(ranked: GradedList, k: int) -> float:
    return bisect_right(ranked.relevant_ranks, k) / k


@_declare(
    "RR",
    "MRR",
    answers="How far down is the first relevant chunk?",
    moves="Only the first relevant chunk; everything after it is invisible here.",
    watch="When one good chunk is enough, and when tuning a reranker.",
    uncut=True,
)
def _reciprocal_rank(ranked: GradedList, k: int) -> float:
    first = ranked.relevant_ranks[0] if ranked.relevant_ranks else 0
    return 1 / first if 0 < first <= k else 0.0


@_declare(
    "Success",
    "Hit rate",
    answers="For how many questions is anything relevant among the first k?",
    moves="A question found or lost altogether.",
    watch="Daily health and alarms; it hides rank and completeness.",
)
def _success(ranked: GradedList, k: int) -> float:
    return 1.0 if ranked.relevant_ranks and ranked.relevant_ranks[0] <= k else 0.0


@_declare(
    "Judged",
    "Judged",
    answers="How much of the first k has anybody judged?",
    moves="New chunks coming up that no expert has seen; more labelling.",
    watch="Beside every other figure: where it is low, a miss may be a hole in the labels.",
)
def _judged(ranked: GradedList, k: int) -> float:
    top = ranked.grades[:k]
    return (len(top) - top.count(None)) / len(top) if top else 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """A declared measure at a cut-off; `k` is None for the whole list."""

    definition: Definition
    k: int | None

    @property
    def name(self) -> str:
        """Canonical name, `nDCG@10`."""
        return self.definition.name if self.k is None else f"{self.definition.name}@{self.k}"

    @property
    def screen_name(self) -> str:
        """Name for people, `Hit rate@10`."""
        return self.definition.words if self.k is None else f"{self.definition.words}@{self.k}"

    def value(self, ranked: GradedList) -> float:
        """Value for one query."""
        return self.definition.formula(ranked, maxsize if self.k is None else self.k)


def check_cuts(cuts: Iterable[int]) -> tuple[int, ...]:
    """Return the cut-offs ascending, each once. Raises InputError unless they are whole numbers from 1."""
    kept = set()
    for cut in cuts:
        if isinstance(cut, bool) or not isinstance(cut, int) or cut < 1:
            raise InputError(f"A cut-off k is a whole number from 1, not {cut!r}.")
        kept.add(cut)
    if not kept:
        raise InputError("At least one cut-off k is needed.")
    return tuple(sorted(kept))


def all_measures(cuts: Sequence[int]) -> tuple[Measure, ...]:
    """Every measure at every cut-off, then those that stand without one over the whole list."""
    cut = [Measure(definition, k) for definition in DEFINITIONS.values() for k in cuts]
    return (*cut, *(Measure(definition, None) for definition in DEFINITIONS.values() if definition.uncut))


def parse(name: str) -> Measure:
    """Read a canonical name such as `nDCG@10` or `AP`. Raises InputError naming the measures there are."""
    base, at, cut = name.partition("@")
    definition = DEFINITIONS.get(base)
    if definition is None:
        by_words = {known.words: known.name for known in DEFINITIONS.values()}
        hint = f"{base} is written {by_words[base]}." if base in by_words else f"There are {', '.join(DEFINITIONS)}."
        raise InputError(f"No measure is called {name!r}.", hint=hint)
    if at:
        if _CUT.fullmatch(cut) is None:
            raise InputError(f"The cut-off of {name!r} is not a whole number from 1.", hint=f"Write {base}@10.")
        return Measure(definition, int(cut))
    if not definition.uncut:
        raise InputError(f"{name} needs a cut-off.", hint=f"Write {name}@10.")
    return Measure(definition, None)
