"""Finds the chunks that hold a judged text, or pieces of it, in a corpus cut anew, and aligns them word by word.

The judged texts are indexed by runs of words and the new chunks stream past once, so that only the texts, which are
few, and the chunks nearest to each are in memory. What follows for a label is `carry.py`'s business.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

from annotator.gold.words import Word, words_of
from annotator.model import Chunk

__all__ = ["RUN", "Aligned", "Text", "gather", "neighbours"]

RUN: Final = 4
"""Words in a run: long enough to be rare, short enough to stand between two corrections."""

_CANDIDATES: Final = 24
"""Chunks aligned with a text at most."""
_COMMON: Final = 30
"""A run in more of the judged texts than this says little about any of them."""
_KEPT_RUNS: Final = 12
_GAP: Final = 6
"""Words of a correction between two stretches that count as one."""
_RAGGED: Final = 3
"""Words at either end that a cut may have gone through."""


class Text:
    """A judged text: its words, its runs of words, and the new chunks that share most runs with it."""

    def __init__(self, text: str, doc_id: str = "", position: int | None = None) -> None:
        self.doc_id = doc_id
        self.words = words_of(text)
        self.runs = _runs(self.words, RUN)
        # where in its document the text stood, in code points, taking the chunks before for as long as this one
        self.offset = None if position is None else position * len(text)
        self.nearest: list[tuple[int, int, _Met]] = []  # a heap of (weight, -number of the chunk, chunk)
        self._aligned: list[Aligned] | None = None

    def meet(self, shared: int, met: _Met) -> None:
        """Keep the chunk when it is among the nearest so far; of equals one of the same document, then the first."""
        entry = (2 * shared + (met.chunk.doc_id == self.doc_id != ""), -met.number, met)
        if len(self.nearest) < _CANDIDATES:
            heapq.heappush(self.nearest, entry)
        elif entry[:2] > self.nearest[0][:2]:
            heapq.heapreplace(self.nearest, entry)

    def aligned(self) -> list[Aligned]:
        """Align the nearest chunks, once for all labels on this text; in the order of the table."""
        if self._aligned is None:
            matcher: SequenceMatcher[Any] = SequenceMatcher(None, autojunk=False)
            matcher.set_seq2(self.runs)
            in_order = sorted(self.nearest, key=lambda entry: -entry[1])
            self._aligned = [_align(self, met, matcher) for _, _, met in in_order]
        return self._aligned


class _Met(NamedTuple):
    """A new chunk with its number in the table and the code points of its document that came before it."""

    number: int
    offset: int
    chunk: Chunk


def _runs(words: Sequence[Word], size: int) -> list[tuple[str, ...]]:
    plain = [word.plain for word in words]
    return list(zip(*(plain[start:] for start in range(min(size, len(plain)))), strict=False))


def gather(texts: Iterable[Text], chunks: Iterable[Chunk], progress: Callable[[int], None] | None) -> int:
    """Show every chunk to the texts it shares runs with, in one pass; returns how many chunks there are."""
    index = _index(texts)
    sizes = sorted({len(run) for run in index})  # texts shorter than a run are looked for as a whole
    lengths: Counter[str] = Counter()
    number = 0
    for number, chunk in enumerate(chunks, 1):
        met = _Met(number, lengths[chunk.doc_id], chunk)
        lengths[chunk.doc_id] += len(chunk.text)
        words = words_of(chunk.text)
        shared: Counter[int] = Counter()
        known: dict[int, Text] = {}
        for size in sizes:
            for run in index.keys() & set(_runs(words, size)):
                for text in index[run]:
                    shared[id(text)] += 1
                    known[id(text)] = text
        for key, text in known.items():
            text.meet(shared[key], met)
        if progress and number % 500 == 0:
            progress(number)
    return number


def _index(texts: Iterable[Text]) -> dict[tuple[str, ...], list[Text]]:
    """Map runs to texts. What many texts share says little about any, so each goes by its rarer runs."""
    found: dict[tuple[str, ...], list[Text]] = defaultdict(list)
    all_texts = list(texts)
    for text in all_texts:
        for run in dict.fromkeys(text.runs):
            found[run].append(text)
    index: dict[tuple[str, ...], list[Text]] = defaultdict(list)
    for text in all_texts:
        runs = dict.fromkeys(text.runs)
        rare = [run for run in runs if len(found[run]) <= _COMMON]
        if len(rare) < _KEPT_RUNS:
            rare = sorted(runs, key=lambda run: len(found[run]))[:_KEPT_RUNS]
        for run in rare:
            index[run].append(text)
    return dict(index)


@dataclass(frozen=True, slots=True)
class Aligned:
    """A new chunk beside a judged text: number of a judged word → number of the new word that stands for it."""

    met: _Met
    words: Sequence[Word]
    held: Mapping[int, int]
    of_text: float
    of_chunk: float
    seamless: bool
    """Whether what they share ends where one of them ends, as between two cuts of the same text."""

    @property
    def chunk(self) -> Chunk:
        return self.met.chunk

    def follows(self, other: Aligned) -> bool:
        """Say whether it is the chunk after the other one in the same document."""
        if self.chunk.doc_id != other.chunk.doc_id:
            return False
        if self.chunk.position is not None and other.chunk.position is not None:
            return self.chunk.position - other.chunk.position == 1
        return self.met.number - other.met.number == 1

    def order(self) -> tuple[str, int, int]:
        """Sort key: the document, then the order in it."""
        position = self.chunk.position
        return (self.chunk.doc_id, -1 if position is None else position, self.met.number)


def _align(text: Text, met: _Met, matcher: SequenceMatcher[Any]) -> Aligned:
    words = words_of(met.chunk.text)
    size = min(RUN, len(text.words))
    matcher.set_seq1(_runs(words, size) if len(words) >= size else [])
    held: dict[int, int] = {}
    end = end_new = -_GAP - 1
    for new, old, length in matcher.get_matching_blocks()[:-1]:
        if old - end <= _GAP and new - end_new <= _GAP:
            # a correction between two stretches: its words are where the new ones are
            held |= {end + step: min(end_new + step, new) for step in range(old - end)}
        held |= {old + step: new + step for step in range(length + size - 1)}
        end, end_new = old + length + size - 1, new + length + size - 1
    if not held:
        return Aligned(met, words, held, 0.0, 0.0, seamless=False)
    first, last = min(held), max(held)
    before, after = min(first, held[first]), min(len(text.words) - 1 - last, len(words) - 1 - held[last])
    of_text, of_chunk = len(held) / len(text.words), len(set(held.values())) / len(words)
    return Aligned(met, words, held, of_text, of_chunk, seamless=max(before, after) <= _RAGGED)


def neighbours(aligned: Sequence[Aligned]) -> list[list[Aligned]]:
    """Gather neighbouring chunks; each place is one copy of the judged text, or one piece of it."""
    places: list[list[Aligned]] = []
    for one in sorted(aligned, key=Aligned.order):
        if places and one.follows(places[-1][-1]):
            places[-1].append(one)
        else:
            places.append([one])
    return [_needed_members(place) for place in places]


def _needed_members(place: Sequence[Aligned]) -> list[Aligned]:
    """Drop the chunks that only repeat a phrase which the cut of the text beside them holds in its place."""
    kept: list[Aligned] = []
    covered: set[int] = set()
    for one in sorted(place, key=lambda one: (not one.seamless, -len(one.held))):
        if one.seamless or len(one.held.keys() - covered) >= RUN:
            kept.append(one)
            covered |= one.held.keys()
    return kept
