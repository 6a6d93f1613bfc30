"""What a person typed, understood: words, exact phrases, words to leave out, document and metadata filters.

Every text has a meaning; none is a syntax error. How the index is asked is left to `run`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from annotator.search import analysis

__all__ = ["LONGEST_QUERY", "Typed", "as_words", "parse"]

LONGEST_QUERY = 5_000
"""Characters of a typed text that are looked at; a pasted page is searched by its beginning."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_PIECE = re.compile(r'(?P<minus>-)?(?:(?P<key>[^\s":]+):)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))|"')
_DASH = re.compile(r"(?<!\S)-(?=\S)")
_DOCUMENT = "doc"


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed text in its parts. `text` is all of it without control characters.

    `words` are in the typed spelling, without question words unless nothing else was typed.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    doc_id: str = ""
    where: tuple[tuple[str, str], ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.phrases or self.without or self.doc_id or self.where)


def as_words(question: str) -> str:
    """Return a question as something to search for: quotation marks and dashes in it are its author's, and ask for
    nothing."""
    return _DASH.sub("", question.translate(dict.fromkeys((ord('"'), *_QUOTES), " ")))


def parse(text: str, metadata_keys: Collection[str] = ()) -> Typed:
    """Understand a typed text. `key:value` is a filter for the keys given, and plain words for any other."""
    text = _CONTROL.sub(" ", text[:LONGEST_QUERY]).translate(_QUOTES).strip()
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    where: list[tuple[str, str]] = []
    doc_id = ""
    for piece in _PIECE.finditer(text):
        key, phrase, word = piece["key"] or "", piece["phrase"] or "", piece["word"] or ""
        begins = piece.start() == 0 or text[piece.start() - 1].isspace()
        # a column may have no name, as the first one of many an export: words without a key are no filters of it
        narrows = key and (key == _DOCUMENT or key in metadata_keys)
        if begins and narrows and not piece["minus"] and (word or phrase.strip()):
            if key == _DOCUMENT:
                doc_id = word or phrase
            else:
                where.append((key, word or phrase))
            continue
        if key:  # not a filter: the colon is part of the text
            word = f"{key}:{word}"
        for meant, kind in ((word, words), (phrase, phrases)):
            if _means(meant):
                (without if piece["minus"] and begins else kind).append(meant)
    if not (words or phrases) and without:  # only exclusions: most likely a dash in front of what is looked for
        words, without = without, []
    return Typed(text, tuple(_telling(words)), tuple(phrases), tuple(without), doc_id, tuple(where))


_QUOTES = {ord(mark): '"' for mark in "“”„‟«»"}


def _means(piece: str) -> bool:
    """Whether there is anything to look for in a piece, beyond punctuation."""
    return bool(piece) and bool(analysis.words(piece) or next(analysis.located_runs(piece), None))


def _telling(words: list[str]) -> list[str]:
    """Leave question words out, unless there are no others. In capitals (`IT`, `WHO`) they are names."""
    shouting = all(word == word.upper() for word in words)
    telling = [
        word
        for word in words
        if not set(analysis.words(word)) <= analysis.STOP_WORDS
        or any(True for _ in analysis.located_runs(word))
        or (not shouting and len(word) > 1 and word.isalpha() and word.isupper())
    ]
    return telling or words
