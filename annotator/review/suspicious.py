"""Labels that deserve a second look: given without visible ground, against everybody else, in no time, or otherwise
than those of a chunk that says the same.

Pure, and no more than hints: what to do about them is a reviewer's choice. Needs rapidfuzz, loaded on first use.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Final, TypeAlias

from annotator.model import GRADES, Judgment
from annotator.review.alike import Wording
from annotator.review.wording import weight, words

__all__ = ["KINDS", "Suspicion", "everyday_terms", "suspicious"]

KINDS: Final[Mapping[str, str]] = {
    "groundless": "high grade without a shared word or evidence",
    "outlier": "one person far from the rest",
    "too_fast": "graded faster than anybody reads",
    "twins": "same text, different grades",
}
"""Kind of suspicion to its words on the screen."""

HIGH: Final = 2
FAR: Final = 2
"""Grades between one person and the middle of the others."""
WORDS_A_SECOND: Final = 25
"""People read four words a second, and skim twelve."""
SHORTEST_LOOK: Final = 0.5
"""Seconds below which nobody has read anything."""
EVERYDAY_SHARE: Final = 3
"""A term in every third text tells nothing about any of them."""
_FEWEST_TEXTS: Final = 9
_STEM: Final = 5

_Words: TypeAlias = Mapping[str, Sequence[str]]
"""Hash of a text as judged → its words."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One odd label or more of one question; `annotator` is "" where it is about nobody in particular."""

    kind: str
    query_id: str
    chunk_ids: tuple[str, ...]
    annotator: str
    message: str


def suspicious(
    question: str,
    judgments: Sequence[Judgment],
    texts: Mapping[str, str],
    everyday: frozenset[str] = frozenset(),
) -> list[Suspicion]:
    """Return what is odd about the judgments in force of one question; `texts`: hash of a text as judged → text."""
    by_chunk: dict[str, list[Judgment]] = defaultdict(list)
    for one in judgments:
        by_chunk[one.chunk_id].append(one)
    read = {key: words(text) for key, text in texts.items()}
    found = [*_groundless(question, judgments, read, everyday), *_outliers(by_chunk)]
    return [*found, *_too_fast(judgments, read), *_twins(by_chunk, read)]


def everyday_terms(texts: Iterable[str]) -> frozenset[str]:
    """Return the terms that so many texts have that sharing one says nothing; none of fewer than nine texts."""
    counted: Counter[str] = Counter()
    number = 0
    for text in texts:
        counted.update(_terms(words(text)))
        number += 1
    if number < _FEWEST_TEXTS:
        return frozenset()
    return frozenset(term for term, times in counted.items() if times * EVERYDAY_SHARE >= number)


def _groundless(
    question: str, judgments: Iterable[Judgment], read: _Words, everyday: frozenset[str]
) -> Iterator[Suspicion]:
    asked = _terms(words(question)) - everyday
    for one in judgments:
        if (one.grade or 0) < HIGH or one.evidence or one.sha256 not in read:
            continue
        if asked and not asked & _terms(read[one.sha256]):
            message = (
                f"{one.annotator} gave {_grade(one)} without evidence, and the chunk shares no word with the question"
            )
            yield _about(one, "groundless", message)


def _outliers(by_chunk: Mapping[str, Sequence[Judgment]]) -> Iterator[Suspicion]:
    for said in by_chunk.values():
        graded = [one for one in said if one.grade is not None and one.sha256 == said[0].sha256]
        for one in graded:
            others = [other.grade or 0 for other in graded if other is not one]
            if len(others) < 2 or max(others) - min(others) > 1:
                continue
            middle = median(others)
            if abs((one.grade or 0) - middle) >= FAR:
                listed = ", ".join(map(str, sorted(others)))
                yield _about(one, "outlier", f"{one.annotator} gave {_grade(one)}, the others {listed}")


def _too_fast(judgments: Iterable[Judgment], read: _Words) -> Iterator[Suspicion]:
    for one in judgments:
        if one.seconds is None or one.grade is None or one.sha256 not in read:
            continue
        length = weight(read[one.sha256])
        needed = max(SHORTEST_LOOK, length / WORDS_A_SECOND if one.grade else 0.0)  # a glance may do to rule one out
        if one.seconds < needed:
            message = f"{one.annotator} gave {_grade(one)} after {one.seconds:.1f} s; the text has {length:.0f} words"
            yield _about(one, "too_fast", message)


def _twins(by_chunk: Mapping[str, Sequence[Judgment]], read: _Words) -> Iterator[Suspicion]:
    chunks = [one for chunk_id, said in by_chunk.items() if (one := _Graded.of(chunk_id, said, read)) is not None]
    for one, other in combinations(chunks, 2):
        if one.grade != other.grade and one.wording.says_the_same_as(other.wording):
            message = f"nearly the same text has {one.grade:g} in one chunk and {other.grade:g} in the other"
            yield Suspicion("twins", one.query_id, (one.chunk_id, other.chunk_id), "", message)


@dataclass(frozen=True, slots=True)
class _Graded:
    """A chunk with the middle of its grades, and its wording; a stale one may well differ from its twin."""

    query_id: str
    chunk_id: str
    grade: float
    wording: Wording

    @classmethod
    def of(cls, chunk_id: str, said: Sequence[Judgment], read: _Words) -> _Graded | None:
        graded = [one for one in said if one.grade is not None]
        if not graded or any(one.stale for one in graded) or graded[-1].sha256 not in read:
            return None
        grade = float(median(one.grade or 0 for one in graded))
        return cls(said[0].query_id, chunk_id, grade, Wording.of(read[graded[-1].sha256]))


def _terms(some: Iterable[str]) -> frozenset[str]:
    """The telling words by their beginnings, so that `refund` and `refunds` are one."""
    return frozenset(word[:_STEM] for word in some if len(word) > 2 or word.isdigit() or weight([word]) < 1)


def _about(one: Judgment, kind: str, message: str) -> Suspicion:
    return Suspicion(kind, one.query_id, (one.chunk_id,), one.annotator, message)


def _grade(one: Judgment) -> str:
    return f"{one.grade} ({GRADES[one.grade or 0]})"
