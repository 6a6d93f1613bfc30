"""Finds chunks by what was typed of their id: the id itself, ids that begin with it, then near ones."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz
from tantivy import Occur, Query

from annotator.search import analysis, spelling
from annotator.search.clauses import filters_of
from annotator.search.index import Reader, page
from annotator.search.query import Typed

__all__ = ["likeness", "ranked_by_id"]

_LONGEST_ID = 500
_NEAR_CANDIDATES = 300
_MOST_NEAR = 20
_LEAST_ALIKE = 60.0
_SHORTEST_MISTYPED = 6
_MOST_SHARING = 5_000
_SLIP_WEIGHT = 20.0


def ranked_by_id(reader: Reader, typed: Typed, limit: int, offset: int) -> tuple[int, list[tuple[str, float]]]:
    """Return the number found and a page of (chunk_id, score): exact (4), same but for case (3), beginning (2), near.

    A document's id finds its chunks as beginnings. Near ids score below 1 and follow only on what begins so.
    """
    wanted = typed.text
    if not wanted or len(wanted) > _LONGEST_ID:
        return 0, []
    key = spelling.fold(wanted)
    begins = _fuzzy(reader, key, 0, prefix=True)
    exact = [
        (Occur.Must, Query.const_score_query(begins, 2.0)),
        (Occur.Should, Query.const_score_query(_term(reader, "id_key", key), 1.0)),
        (Occur.Should, Query.const_score_query(_term(reader, "chunk_id", wanted), 1.0)),
    ]
    narrowed = [(Occur.Must, one) for one in filters_of(reader, typed)]
    total, found = page(reader, Query.boolean_query([*exact, *narrowed]), limit, offset)
    if total < _MOST_NEAR:
        near = _near(reader, key, [(Occur.MustNot, begins), *narrowed])
        start = max(0, offset - total)
        found += near[start : start + limit - len(found)]
        total += len(near)
    return total, found


def _near(reader: Reader, key: str, conditions: list[tuple[Occur, Query]]) -> list[tuple[str, float]]:
    """Return (chunk_id, likeness below 1) of ids that have slips or telling words in common with the typed one."""
    words = [word for word in analysis.words(key) if reader.searcher.doc_freq("identifiers", word) <= _MOST_SHARING]
    candidates = [_term(reader, "identifiers", word) for word in words]
    if len(key) >= _SHORTEST_MISTYPED:
        slips = [_fuzzy(reader, key, edits, prefix=False) for edits in (1, 2)]
        slips.append(_fuzzy(reader, key, 1, prefix=True))
        candidates += [Query.const_score_query(one, _SLIP_WEIGHT) for one in slips]
    if not candidates:
        return []
    either = Query.boolean_query([(Occur.Should, one) for one in candidates])
    _, found = page(reader, Query.boolean_query([(Occur.Must, either), *conditions]), _NEAR_CANDIDATES, 0)
    return likeness(key, (chunk_id for chunk_id, _ in found))


def likeness(typed: str, ids: Iterable[str]) -> list[tuple[str, float]]:
    """Return (chunk_id, likeness below 1) of those ids that are much like the typed one, the likest first."""
    key = spelling.fold(typed)
    alike = []
    for chunk_id in ids:
        folded = spelling.fold(chunk_id)
        like = max(fuzz.ratio(key, folded), 0.9 * fuzz.partial_ratio(key, folded))
        if like >= _LEAST_ALIKE:
            alike.append((chunk_id, like / 101))
    return sorted(alike, key=lambda one: (-one[1], one[0]))[:_MOST_NEAR]


def _term(reader: Reader, field: str, term: str) -> Query:
    return Query.term_query(reader.schema, field, term, index_option="basic")


def _fuzzy(reader: Reader, key: str, distance: int, *, prefix: bool) -> Query:
    return Query.fuzzy_term_query(reader.schema, "id_key", key, distance=distance, prefix=prefix)
