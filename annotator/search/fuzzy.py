"""Words of the corpus that a mistyped word may have meant.

Owns how many slips are forgiven and the list of the corpus's words, read from the index when first needed.
"""

from __future__ import annotations

from collections import defaultdict
from threading import Lock

import tantivy
from rapidfuzz import process
from rapidfuzz.distance import OSA

__all__ = ["Vocabulary", "allowed_edits", "similarity"]

_MOST_WORDS = 500_000
_MOST_MEANT = 30
_LONGEST = 40


def allowed_edits(word: str) -> int:
    """Return how many slips (a letter wrong, missing, too many, or two swapped) are forgiven in a folded word.

    None in short words and in anything with a digit: another number is another thing.
    """
    if len(word) < 4 or len(word) > _LONGEST or not word.isalpha():
        return 0
    return 1 if len(word) < 6 else 2


def similarity(typed: str, word: str) -> float:
    """Return how alike two folded words are, 1.0 for the same, 0.0 when more slips apart than are forgiven."""
    if typed == word:
        return 1.0
    allowed = allowed_edits(typed)
    edits = OSA.distance(typed, word, score_cutoff=allowed) if allowed else allowed + 1
    return 0.0 if edits > allowed else (1.0 - edits / len(typed)) ** 3


class Vocabulary:
    """The words of an opened index, grouped by length; read once, when first asked."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self._by_length: dict[int, list[str]] | None = None
        self._reading = Lock()

    def meant(self, typed: str) -> list[tuple[str, float]]:
        """Return (word, similarity) of the words a folded word may have meant, likeliest first, itself included.

        Of equally similar words the more frequent come first.
        """
        allowed = allowed_edits(typed)
        found: list[tuple[float, int, str]] = [(-1.0, -1, typed)]
        if allowed:
            for length in range(len(typed) - allowed, len(typed) + allowed + 1):
                for word, _, place in process.extract(
                    typed,
                    self._words().get(length, ()),
                    scorer=OSA.distance,
                    processor=None,
                    score_cutoff=allowed,
                    limit=_MOST_MEANT,
                ):
                    if word != typed:
                        found.append((-similarity(typed, word), place, word))
        return [(word, -negative) for negative, _, word in sorted(found)[:_MOST_MEANT]]

    def _words(self) -> dict[int, list[str]]:
        if self._by_length is None:
            with self._reading:
                if self._by_length is None:
                    groups: dict[int, list[str]] = defaultdict(list)
                    for word, _ in self._searcher.terms_with_prefix("words", "", limit=_MOST_WORDS):
                        if word.isalpha() and len(word) <= _LONGEST:
                            groups[len(word)].append(word)
                    self._by_length = dict(groups)
        return self._by_length
