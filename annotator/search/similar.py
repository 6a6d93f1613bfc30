"""Chunks whose text is nearly that of another one: found by its rarest words, confirmed word by word.

Which similarity makes two texts the same to a person is left to whoever asks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from rapidfuzz import fuzz
from tantivy import Occur, Query

from annotator.model import Chunk
from annotator.search import analysis
from annotator.search.index import Reader
from annotator.store import corpus

__all__ = ["LEAST", "alike", "near_duplicates"]

LEAST = 80.0
"""Similarity (0-100) of the words of two texts, in their order, from which on they are told of."""

_TERMS = 24
"""Rarest terms of a text that are looked for: nearly the same text has most of them."""
_MOST_POSTINGS = 1_000_000
_CANDIDATES = 50
_LONGEST = 20_000
"""Characters of a text that are compared: aligning longer ones takes too long."""


def near_duplicates(
    reader: Reader, connection: sqlite3.Connection, chunk: Chunk, limit: int = 20
) -> list[tuple[str, float]]:
    """Return (chunk_id, similarity of the words) of the chunks that read nearly as this one does, most alike first."""
    terms = _rarest(reader, chunk.text)
    if not terms:
        return []
    clauses = [(Occur.Should, Query.term_query(reader.schema, *term, index_option="freq")) for term in terms]
    hits = reader.searcher.search(Query.boolean_query(clauses), _CANDIDATES, count=False).hits
    ids = [reader.searcher.doc(at)["chunk_id"][0] for _, at in hits]
    return alike(chunk, corpus.chunks(connection, ids).values(), limit)


def alike(chunk: Chunk, others: Iterable[Chunk], limit: int = 20) -> list[tuple[str, float]]:
    """Return (chunk_id, similarity of the words) of those of the others that read nearly as this one does."""
    own = _tokens(chunk.text)
    found = [
        (one.chunk_id, fuzz.ratio(own, _tokens(one.text), score_cutoff=LEAST))
        for one in others
        if one.chunk_id != chunk.chunk_id
    ]
    return sorted((one for one in found if one[1]), key=lambda one: (-one[1], one[0]))[:limit]


def _rarest(reader: Reader, text: str) -> list[tuple[str, str]]:
    """Return (field, term) of the terms that the fewest other texts have, and at least one of them."""
    counted = sorted((reader.searcher.doc_freq(*term), term) for term in set(_terms(text[:_LONGEST])))
    chosen: list[tuple[str, str]] = []
    postings = 0
    for count, term in counted:
        postings += count
        if len(chosen) == _TERMS or (chosen and postings > _MOST_POSTINGS):
            break
        if count > 1:  # one is this text itself
            chosen.append(term)
    return chosen


def _terms(text: str) -> Iterator[tuple[str, str]]:
    for word in analysis.words(text):
        yield "stems", analysis.stem(word)
    for pair in analysis.bigrams(text):
        yield "bigrams", pair


def _tokens(text: str) -> list[str]:
    text = text[:_LONGEST]
    return [*analysis.words(text), *analysis.bigrams(text)]
