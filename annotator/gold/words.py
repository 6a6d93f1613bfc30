"""Texts as words with their places, and what differs between two texts word by word: for drift and carrying over.

A word is a run of letters and digits, or a single character of the scripts that are written without spaces. Texts
that differ in white space, punctuation or case only have the same words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["Piece", "Word", "find_words", "shared_stretches", "text_difference", "words_of"]

_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = re.compile(rf"[^\W{_UNSPACED}]+|[{_UNSPACED}]")
_TOKEN: Final = re.compile(rf"[^\W{_UNSPACED}]+|[{_UNSPACED}]|\s+|[^\w\s]")
_MOST_TOKENS: Final = 20_000
_SHARED: Final = 4


class Word(NamedTuple):
    """A word, folded, and its place in the text in code points."""

    plain: str
    start: int
    end: int


Piece: TypeAlias = tuple[Literal["same", "gone", "new"], str]
"""A stretch of text that both have, only the old one has, or only the new one."""


def words_of(text: str) -> list[Word]:
    """Return the words in order."""
    return [Word(found.group().casefold(), *found.span()) for found in _WORD.finditer(text)]


def find_words(text: str, quote: str, near: int = 0) -> tuple[int, int] | None:
    """Return where the text has the quote letter by letter, white space aside; of several places the nearest one."""
    places = [found.span() for found in re.finditer(r"\s+".join(map(re.escape, quote.split())), text)]
    return min(places, key=lambda place: abs(place[0] - near)) if places and quote.split() else None


def shared_stretches(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return where the two texts have four words or more in a row in common: spans of the old, of the new one."""
    from difflib import SequenceMatcher

    before, after = words_of(old), words_of(new)
    matcher = SequenceMatcher(None, _runs(before, _SHARED), _runs(after, _SHARED), autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    return (
        [(before[block.a].start, before[block.a + block.size + _SHARED - 2].end) for block in blocks],
        [(after[block.b].start, after[block.b + block.size + _SHARED - 2].end) for block in blocks],
    )


def _runs(words: Sequence[Word], size: int) -> list[tuple[str, ...]]:
    return list(zip(*([word.plain for word in words[start:]] for start in range(size)), strict=False))


def text_difference(old: str, new: str) -> tuple[Piece, ...]:
    """Return the pieces in reading order: what is same or gone joins up to the old text, same or new to the new one.

    By words, white space and punctuation marks; texts beyond 20,000 of those are compared as a whole.
    """
    from rapidfuzz.distance import Indel

    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(before), len(after)) > _MOST_TOKENS:
        return _filled([("same", old)] if old == new else [("gone", old), ("new", new)])
    pieces: list[Piece] = []
    for step in Indel.opcodes(before, after):
        gone, come = before[step.src_start : step.src_end], after[step.dest_start : step.dest_end]
        if step.tag == "equal":
            pieces.append(("same", "".join(come)))
        else:
            pieces += [("gone", "".join(gone)), ("new", "".join(come))]
    return _readable(_filled(pieces))


def _filled(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces if piece[1])


def _readable(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Gather gone and new stretches that only white space parts, so that phrases are replaced and not letters."""
    found: list[Piece] = []
    gone = new = ""

    def close() -> None:
        nonlocal gone, new
        found.extend(_filled([("gone", gone), ("new", new)]))
        gone = new = ""

    for place, (kind, text) in enumerate(pieces):
        between = kind == "same" and text.isspace() and 0 < place < len(pieces) - 1 and (gone or new)
        if kind == "gone" or between:
            gone += text
        if kind == "new" or between:
            new += text
        if kind == "same" and not between:
            close()
            found.append((kind, text))
    close()
    return tuple(found)
