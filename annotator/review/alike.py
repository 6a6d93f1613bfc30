"""Texts that say the same: their words agree but for a few, and no number differs.

Pure. Needs rapidfuzz, loaded on first use.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from annotator.review.wording import words

__all__ = ["ALIKE", "Wording", "groups"]

ALIKE: Final = 95.0
"""Similarity (0-100) of the words of two texts from which on they say the same."""
SHARED: Final = 0.8
"""Share of the longer one's different words that both must have; told at once, where similarity takes time."""
LONGEST: Final = 20_000
"""Characters beyond which a text says the same as its exact copy only: aligning two longer ones takes too long."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A text as its words in order, and those that differ."""

    words: tuple[str, ...]
    terms: frozenset[str]

    @classmethod
    def of(cls, found: Sequence[str]) -> Wording:
        """Take a text as its words."""
        return cls(tuple(found), frozenset(found))

    def says_the_same_as(self, other: Wording) -> bool:
        """Say whether the two are near-duplicates. Another number makes another text."""
        if len(self.terms & other.terms) < SHARED * max(len(self.terms), len(other.terms)):
            return False
        if any(any(map(str.isdigit, term)) for term in self.terms ^ other.terms):
            return False
        from rapidfuzz import fuzz  # here, as most pairs do not get this far

        return bool(fuzz.ratio(self.words, other.words, score_cutoff=ALIKE))


def groups(texts: Sequence[str]) -> list[list[int]]:
    """Return the groups of two texts or more of which each says the same as every other, as places in `texts`."""
    read = [Wording.of([text] if len(text) > LONGEST else words(text)) for text in texts]
    frequency = Counter(term for one in read for term in one.terms)
    found: list[list[int]] = []
    group_of: dict[int, int] = {}
    copy_of: dict[tuple[str, ...], int] = {}
    # Texts that share most of their words share one of their rarest already: only such pairs are compared.
    near: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(read):
        if not one.words:
            continue
        copy = copy_of.setdefault(one.words, at)
        if copy != at:
            group_of[at] = group_of[copy]
            found[group_of[copy]].append(at)
            continue
        telling = _telling(one.terms, frequency)
        candidates = sorted({group_of[other] for term in telling for other in near[term]})
        group = next((group for group in candidates if _fits(one, found[group], read)), len(found))
        if group == len(found):
            found.append([])
        group_of[at] = group
        found[group].append(at)
        for term in telling:
            near[term].append(at)
    return [group for group in found if len(group) > 1]


def _telling(terms: frozenset[str], frequency: Counter[str]) -> list[str]:
    """The rarest terms, as many as a near-duplicate cannot all lack."""
    least_shared = ceil(SHARED * len(terms) - 1e-9)
    return sorted(terms, key=lambda term: (frequency[term], term))[: len(terms) - least_shared + 1]


def _fits(one: Wording, group: Sequence[int], read: Sequence[Wording]) -> bool:
    different = {read[other].words: read[other] for other in group}
    return all(one.says_the_same_as(other) for other in different.values())
