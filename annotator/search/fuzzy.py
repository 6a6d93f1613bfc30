"""Words of the corpus that a mistyped word may have meant.

Owns how many slips are forgiven and the list of the corpus's words, read from the index when first needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock

import tantivy
from rapidfuzz.distance import OSA
from tantivy import Occur, Query

from annotator.search import analysis

__all__ = ["Vocabulary", "allowed_edits", "meant_in", "similarity"]

_MOST_WORDS = 500_000
_MOST_MEANT = 30
_LONGEST = 40
_HEAP = 50_000_000


@lru_cache(maxsize=10_000)
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
    if abs(len(typed) - len(word)) > allowed:
        return 0.0
    edits = OSA.distance(typed, word, score_cutoff=allowed) if allowed else allowed + 1
    return 0.0 if edits > allowed else (1.0 - edits / len(typed)) ** 3


def meant_in(texts: Iterable[str], typed: str) -> list[tuple[str, float]]:
    """Return (word, similarity) of the words of these texts that a folded word may have meant, likeliest first.

    Itself comes first, found or not.
    """
    counted = Counter(word for text in texts for word in set(analysis.words(text)))
    alike = [(similarity(typed, word), count, word) for word, count in counted.items() if word != typed]
    best = sorted((one for one in alike if one[0]), reverse=True)[:_MOST_MEANT]
    return [(typed, 1.0), *((word, likeness) for likeness, _, word in best)]


class Vocabulary:
    """The words of an opened index, kept as a small index in memory: finding resembling words walks its automaton.

    Read when first asked, which takes about four seconds for each million different words.
    """

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self._words: tantivy.Index | None = None
        self._reading = Lock()

    def meant(self, typed: str) -> list[tuple[str, float]]:
        """Return (word, similarity) of the words a folded word may have meant, likeliest first.

        Itself comes first, known or not; of words as many slips away the more frequent come first.
        """
        allowed = allowed_edits(typed)
        if not allowed:
            return [(typed, 1.0)]
        words = self._read()
        within = [Query.fuzzy_term_query(words.schema, "word", typed, edits) for edits in range(1, allowed + 1)]
        nearer_first = Query.boolean_query([(Occur.Should, Query.const_score_query(one, 1.0)) for one in within])
        searcher = words.searcher()
        found = [searcher.doc(at)["word"][0] for _, at in searcher.search(nearer_first, _MOST_MEANT, count=False).hits]
        return [(typed, 1.0), *((word, similarity(typed, word)) for word in found if word != typed)]

    def _read(self) -> tantivy.Index:
        if self._words is None:
            with self._reading:
                if self._words is None:
                    self._words = _index_of(self._searcher.terms_with_prefix("words", "", limit=_MOST_WORDS))
        return self._words


def _index_of(words: list[tuple[str, int]]) -> tantivy.Index:
    """Index words, most frequent first: the first added ranks first among equals."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("word", stored=True, tokenizer_name="raw", index_option="basic")
    found = tantivy.Index(builder.build())
    writer = found.writer(_HEAP, 1)
    for word, _ in words:
        if word.isalpha() and len(word) <= _LONGEST:
            writer.add_document(tantivy.Document(word=word))
    writer.commit()
    writer.wait_merging_threads()
    found.reload()
    return found
