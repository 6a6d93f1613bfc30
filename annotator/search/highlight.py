"""Where a text matches what was typed: spans to mark, and the two lines of a text worth showing.

Works on the text alone, without the index, by the same words, stems, bigrams and identifiers. All offsets are code
points of the text given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from annotator.search import analysis, fuzzy, identifiers, spelling
from annotator.search.query import Typed

__all__ = ["SNIPPET_LENGTH", "Matcher", "matcher"]

SNIPPET_LENGTH = 240
_MOST_MARKS = 2_000
_LONGEST_SEARCHED = 200_000

Span = tuple[int, int]


@lru_cache(maxsize=256)
def matcher(typed: Typed, mode: str = "words") -> Matcher:
    """Return the matcher of a typed text, remembered: a page marks many texts for one query."""
    return Matcher(typed, mode)


class Matcher:
    """Finds in texts what was typed. In mode `fuzzy` words with forgiven slips match; in mode `id` the typed text."""

    def __init__(self, typed: Typed, mode: str = "words") -> None:
        self._fuzzy = mode == "fuzzy"
        self._literal = spelling.fold(typed.text) if mode == "id" else ""
        self._stems = {analysis.SEVERAL: ""}
        self._beginnings: dict[str, str] = {}
        self._sequences: dict[str, list[tuple[str, ...]]] = {}
        self._typed: set[str] = set()
        self._squeezed: set[str] = set()
        self._characters: set[str] = set()
        self._runs: list[str] = []
        if mode != "id":
            self._want(typed)
        self._known = analysis.Remembered(self._matches_in)

    def _want(self, typed: Typed) -> None:
        foreign = not spelling.plain(typed.text).isascii()
        for word in typed.words:
            parts = analysis.words(word)
            for identifier in identifiers.codes(word):
                self._squeezed.add(identifiers.squeeze(identifier))
                self._want_sequence(analysis.words(identifier))
            self._squeezed.update(map(identifiers.squeeze, parts if len(parts) == 1 else ()))
            for part in identifiers.telling_parts(word):
                self._stems[analysis.stem(part)] = part
                self._typed.add(part)
                if foreign and (beginning := analysis.beginning_of(part)):
                    self._beginnings[beginning] = part
            for _, run in analysis.located_runs(word):
                self._characters.update(analysis.bigrams_of(run) or [run])
        self._squeezed.discard("")
        for squeezed in self._squeezed:
            self._stems.setdefault(analysis.stem(squeezed), squeezed)
        for phrase in typed.phrases:
            self._want_sequence(analysis.words(phrase))
            self._runs += [run for _, run in analysis.located_runs(phrase)]

    def _want_sequence(self, words: list[str]) -> None:
        if words:
            self._sequences.setdefault(words[0], []).append(tuple(words))

    def spans(self, text: str) -> tuple[Span, ...]:
        """Return the (start, end) of everything to mark in a text: sorted, none overlapping or touching."""
        return tuple(_merged((start, end) for start, end, _ in self._found(text)))

    def snippet(self, text: str, length: int = SNIPPET_LENGTH) -> tuple[str, tuple[Span, ...]]:
        """Return the part of a text that holds the most of what was typed, on one line, with the spans to mark.

        At most `length` characters and an ellipsis at each cut, cut between words where there are spaces.
        """
        found = sorted(self._found(text))
        start, end = _window(text, length, found)
        part = text[start:end]
        shown = " ".join(part.split())
        before = "…" if start > 0 else ""
        told = f"{before}{shown}{'…' if end < len(text) else ''}"
        if shown != part:  # what was found stands elsewhere then
            return told, self.spans(told)
        shift = len(before) - start
        within = ((a + shift, b + shift) for a, b, _ in found if start <= a and b <= end)
        return told, tuple(_merged(within))

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Give (start, end, what it stands for) of every match, in no particular order, some overlapping."""
        text = text[:_LONGEST_SEARCHED]
        if self._literal:
            yield from _literal_places(text, self._literal)
            return
        if not (self._beginnings or self._fuzzy):
            for begin, (start, end, _, stem) in analysis.located_stems(text, self._stems.keys()):
                yield begin + start, begin + end, self._stems[stem]
        else:
            tokens = text.split()
            for begin, token in analysis.picked(text, tokens, map(self._known.__getitem__, tokens)):
                for start, end, meaning in self._known[token]:
                    yield begin + start, begin + end, meaning
        if self._sequences:
            yield from self._sequences_in(text)
        if self._squeezed:
            for start, end, identifier in identifiers.located_identifiers(text):
                if (squeezed := identifiers.squeeze(identifier)) in self._squeezed:
                    yield start, end, squeezed
        if self._characters or self._runs:
            yield from self._characters_in(text)

    def _matches_in(self, token: str) -> tuple[tuple[int, int, str], ...]:
        """Return (start, end, typed word) of what matches in a text without spaces."""
        located = ((start, end, self._meaning(word, stem)) for start, end, word, stem in analysis.words_in(token))
        return tuple(one for one in located if one[2])

    def _meaning(self, word: str, stem: str) -> str:
        """Return the typed word that a folded word of a text matches, or ""."""
        if found := self._stems.get(stem) or self._beginnings.get(analysis.beginning_of(word)):
            return found
        return max(self._typed, key=lambda typed: fuzzy.similarity(typed, word)) if self._resembles(word) else ""

    def _resembles(self, word: str) -> bool:
        return self._fuzzy and any(fuzzy.similarity(typed, word) for typed in self._typed)

    def _sequences_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        words = [(begin + start, begin + end, word) for begin, (start, end, word, _) in analysis.located_words(text)]
        for at, (start, _, word) in enumerate(words):
            for sequence in self._sequences.get(word, ()):
                last = at + len(sequence)
                if last <= len(words) and all(
                    words[at + offset][2] == wanted for offset, wanted in enumerate(sequence)
                ):
                    yield start, words[last - 1][1], " ".join(sequence)

    def _characters_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        for start, run in analysis.located_runs(text):
            for phrase in self._runs:
                at = run.find(phrase)
                while at >= 0:
                    yield start + at, start + at + len(phrase), phrase
                    at = run.find(phrase, at + 1)
            if self._characters:
                for size in {len(piece) for piece in self._characters}:
                    for at in range(len(run) - size + 1):
                        if (piece := run[at : at + size]) in self._characters:
                            yield start + at, start + at + size, piece


def _window(text: str, length: int, found: Sequence[tuple[int, int, str]]) -> Span:
    """Return the stretch of a text in which the most of what was found stands, cut between words."""
    if len(text) <= length:
        return 0, len(text)
    best, best_worth, last = 0, 0.0, 0
    counts: dict[str, int] = {}
    distinct = 0
    for first, (start, _, meaning) in enumerate(found):  # the window slides: each place enters and leaves once
        last = max(last, first)
        while last < len(found) and found[last][1] <= start + length:
            counts[found[last][2]] = counts.get(found[last][2], 0) + 1
            distinct += counts[found[last][2]] == 1
            last += 1
        worth = distinct + 0.1 * (last - first)
        if worth > best_worth:
            best, best_worth = first, worth
        if last > first:
            counts[meaning] -= 1
            distinct -= counts[meaning] == 0
    if not found:
        return 0, _cut_before(text, length)
    start, end = found[best][0], found[best][1]
    while best < len(found) and found[best][1] <= start + length:
        end = max(end, found[best][1])
        best += 1
    # The matches stand a third into the window, unless the text ends before.
    begin = max(0, min(start - max(0, length - (end - start)) // 3, len(text) - length))
    begin = _cut_after(text, begin, start)
    return begin, _cut_before(text, begin + length)


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    marked: list[Span] = []
    for start, end in sorted(spans):
        if marked and start <= marked[-1][1]:
            marked[-1] = (marked[-1][0], max(end, marked[-1][1]))
        elif len(marked) == _MOST_MARKS:
            break
        else:
            marked.append((start, end))
    return iter(marked)


def _literal_places(text: str, wanted: str) -> Iterator[tuple[int, int, str]]:
    folded = text.lower()
    if len(folded) == len(text):
        at = folded.find(wanted)
        while at >= 0:
            yield at, at + len(wanted), wanted
            at = folded.find(wanted, at + len(wanted))


def _cut_after(text: str, at: int, latest: int) -> int:
    """Move a cut forward to the next beginning of a word, if there is one before `latest`."""
    if at == 0 or text[at - 1].isspace():
        return at
    for place in range(at, min(latest, at + 40)):
        if text[place].isspace():
            return place + 1
    return at


def _cut_before(text: str, at: int) -> int:
    """Move a cut back to the end of the word before."""
    if at >= len(text):
        return len(text)
    for place in range(at, max(0, at - 40), -1):
        if text[place].isspace():
            return place
    return at
