"""Words of any language, made comparable: case, accents of composition and punctuation do not count.

In scripts written without spaces every character is a word of its own, and weighs less than a word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["longest_shared_span", "plain", "weight", "words"]

_HEAVY: Final = 1.0  # a written word
_IDEOGRAPH: Final = 0.5  # two make a word, as a rule
_LETTER: Final = 0.2  # five make a word, in the scripts of South-East Asia

_IDEOGRAPHS: Final = ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
                      (0x20000, 0x3FFFF))  # fmt: skip
_UNSPACED_LETTERS: Final = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0xA9E0, 0xA9FF))


def words(text: str) -> list[str]:
    """Return the words of the text, folded."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_SPLIT).split()


def plain(text: str) -> str:
    """Return the text's words with single spaces between them."""
    return " ".join(words(text))


def weight(some: Iterable[str]) -> float:
    """Return how many words these are worth: characters of scripts without spaces count in part."""
    return sum(map(_weight, some))


def longest_shared_span(question: list[str], text: list[str]) -> list[str]:
    """Return the longest run of the question's words, by weight, that stands word for word in the text."""
    haystack = f" {' '.join(text)} "
    best: list[str] = []
    best_weight = 0.0
    end = 0
    for start in range(len(question)):
        end = max(end, start)
        while end < len(question) and f" {' '.join(question[start : end + 1])} " in haystack:
            end += 1
        if (span := weight(question[start:end])) > best_weight:
            best, best_weight = question[start:end], span
    return best


def _weight(word: str) -> float:
    if len(word) > 1:
        return _HEAVY
    code = ord(word)
    if _within(code, _IDEOGRAPHS):
        return _IDEOGRAPH
    return _LETTER if _within(code, _UNSPACED_LETTERS) else _HEAVY


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


class _Split(dict[int, str]):
    """What becomes of a character: kept, set apart or a space; worked out once for each."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character)[0] not in "LMN":
            kept = " "
        elif _within(code, _IDEOGRAPHS) or _within(code, _UNSPACED_LETTERS):
            kept = f" {character} "
        else:
            kept = character
        self[code] = kept
        return kept


_SPLIT: Final = _Split()
