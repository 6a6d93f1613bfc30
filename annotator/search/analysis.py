"""The tokens of a text: words, stems, beginnings, bigrams.

The index is fed with them, what is typed is cut into them and the marks in a text are found by them, so that what is
found and what is marked agree. How letters are folded is left to `spelling`, names of things to `identifiers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache, lru_cache
from itertools import compress
from typing import Generic, TypeVar

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from annotator.search import spelling

__all__ = [
    "SEVERAL",
    "STOP_WORDS",
    "Remembered",
    "Word",
    "beginning_of",
    "beginnings",
    "bigrams",
    "bigrams_of",
    "located_runs",
    "located_stems",
    "located_words",
    "picked",
    "spaced_words",
    "stem",
    "stem_analyzer",
    "words",
    "words_in",
]

_QUESTION_WORDS = """a about am an and any are as at be been but by can could d did do does for from had has have how i
if in into is it its ll m may me my of on or our re s shall should so such t than that the their them then there these
they this those to us ve was we were what when where which who whom whose why will with would you your"""
STOP_WORDS = frozenset(_QUESTION_WORDS.split())
"""Words of a typed question that say nothing about the answer; looked for only when nothing else was typed."""

Word = tuple[int, int, str, str]
"""Start and end in code points, folded word, stem."""

SEVERAL = "\n"
"""Stands for the stems of a text without spaces that holds several words."""

_REMEMBERED = 100_000
_LONGEST_WORD = 100
_BEGINNING = 5
_TOKEN = re.compile(r"\S+")

T = TypeVar("T")


class Remembered(dict[str, T], Generic[T]):
    """What a function makes of short texts, remembered: the same words come again and again."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        made = self._make(text)
        if len(text) <= _LONGEST_WORD:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[text] = made
        return made


def _locate(token: str) -> tuple[Word, ...]:
    return tuple(
        (match.start(), match.end(), part, stem(part))
        for match in spelling.word().finditer(token)
        for part in _parts(spelling.fold(match[0]))
    )


def _only_stem(token: str) -> str:
    found = _located[token]
    return found[0][3] if len(found) == 1 else SEVERAL if found else ""


def _space(token: str) -> str:
    return " ".join(part for word in spelling.word().findall(token) for part in _parts(spelling.fold(word)))


def _parts(folded: str) -> list[str]:
    """Return the words a folded word consists of: nearly always itself, but `½` is `1` and `2`."""
    return [folded] if folded.isalnum() else spelling.word().findall(folded)


_located = Remembered(_locate)
_only_stems = Remembered(_only_stem)
_spaced = Remembered(_space)


def words(text: str) -> list[str]:
    """Return the folded words of a text in order; text of spaceless scripts is left to `bigrams`."""
    return spaced_words(text).split()


def spaced_words(text: str) -> str:
    """Return the folded words of a text with spaces between them."""
    text = spelling.plain(text)
    if text.isascii():
        return " ".join(spelling.ASCII_WORD.findall(text.lower()))
    return " ".join(map(_spaced.__getitem__, text.split()))


def located_words(text: str) -> Iterator[tuple[int, Word]]:
    """Give (begin, word) in order: the word's start and end count from `begin`, all in code points."""
    located = _located
    for token in _TOKEN.finditer(text):
        if words := located[token[0]]:
            begin = token.start()
            for word in words:
                yield begin, word


def located_stems(text: str, wanted: Set[str]) -> Iterator[tuple[int, Word]]:
    """Give those of `located_words` whose stem is wanted; the quick way for long texts. `wanted` holds SEVERAL."""
    tokens = text.split()
    for begin, token in picked(text, tokens, map(wanted.__contains__, map(_only_stems.__getitem__, tokens))):
        for word in _located[token]:
            if word[3] in wanted:
                yield begin, word


def words_in(token: str) -> tuple[Word, ...]:
    """Return the words in a text without spaces."""
    return _located[token]


def picked(text: str, tokens: list[str], flags: Iterable[object]) -> Iterator[tuple[int, str]]:
    """Give (begin in the text, token) of the flagged ones among all its tokens, as `split` makes them.

    Equal tokens must have equal flags: the next place of a token is then the one meant.
    """
    at = 0
    for token in compress(tokens, flags):
        at = text.index(token, at)
        end = at + len(token)
        while (at and not text[at - 1].isspace()) or not (end == len(text) or text[end].isspace()):
            at = text.index(token, at + 1)
            end = at + len(token)
        yield at, token
        at = end


def bigrams(text: str) -> list[str]:
    """Return the bigrams of every run of a spaceless script, and each run's last character by itself.

    So every character begins a token, and one typed character finds all its places by prefix.
    """
    if text.isascii():
        return []
    found: list[str] = []
    for run in spelling.run().findall(text):
        folded = spelling.fold(run)
        found += bigrams_of(folded)
        found += folded[-1:]
    return found


def bigrams_of(run: str) -> list[str]:
    """Return the overlapping pairs of characters of a folded run; none for a single character."""
    return [run[at : at + 2] for at in range(len(run) - 1)]


def located_runs(text: str) -> Iterator[tuple[int, str]]:
    """Give (start, run folded character by character) for every run of a spaceless script.

    A character of the folded run stands at the same place as in the text.
    """
    if text.isascii():
        return
    for match in spelling.run().finditer(text):
        folded = spelling.fold(match[0])
        if len(folded) != len(match[0]):
            folded = "".join((spelling.fold(character) or " ")[0] for character in match[0])
        yield match.start(), folded


def beginnings(folded: Iterable[str]) -> list[str]:
    """Return the first letters of the longer folded words: what a word keeps under all endings, in any language."""
    return [word[:_BEGINNING] for word in folded if len(word) > _BEGINNING]


def beginning_of(word: str) -> str:
    """Return the first letters of a folded word, or "" when it has hardly more."""
    return word[:_BEGINNING] if len(word) > _BEGINNING else ""


@cache
def stem_analyzer() -> TextAnalyzer:
    """Return the analyzer of the stemmed field: split at spaces, English stems."""
    return (
        TextAnalyzerBuilder(Tokenizer.whitespace())
        .filter(Filter.remove_long(_LONGEST_WORD))
        .filter(Filter.stemmer("english"))
        .build()
    )


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a folded word as the index has it."""
    return next(iter(stem_analyzer().analyze(word)), word)
