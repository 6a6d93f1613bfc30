"""Runs a search: opens the index, asks it for what was typed, and shows the hits with their texts.

How the question is understood is left to `query`, how the index is asked to `clauses` and `identity`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from annotator.errors import InputError
from annotator.model import Chunk, id_fault
from annotator.search import advice, index
from annotator.search.clauses import query_of
from annotator.search.highlight import Matcher, matcher
from annotator.search.identity import ranked_by_id
from annotator.search.index import Reader
from annotator.search.query import Typed, parse
from annotator.store import corpus
from annotator.store.database import Workspace

__all__ = ["MODES", "SearchHit", "SearchResult", "ranked", "search"]

MODES = ("words", "fuzzy", "id")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chunk found. `spans` are the (start, end) in code points of what matched within `snippet`."""

    chunk_id: str
    doc_id: str
    title: str
    score: float
    snippet: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page of hits, best first. `total` counts all that match; `advice` says what to try when there are none.

    With `more`, where a live table is searched in place, others match that were not ranked.
    """

    total: int
    hits: tuple[SearchHit, ...]
    seconds: float
    advice: str = ""
    more: bool = False


def search(
    workspace: Workspace,
    text: str,
    *,
    mode: str = "words",
    limit: int = 10,
    offset: int = 0,
    doc_id: str = "",
    where: Mapping[str, str] | None = None,
) -> SearchResult:
    """Find chunks by words, by words with slips forgiven (`fuzzy`), or by id; any text is a valid one.

    `doc_id` and `where` (metadata key to value, all must hold) narrow the search and match exactly.
    Raises InputError for an unknown mode.
    """
    if mode not in MODES:
        raise InputError(f"There is no search mode {mode!r}.", hint=f"Choose one of: {', '.join(MODES)}.")
    started = time.perf_counter()
    with workspace.read() as connection:
        reader = index.reader(workspace, connection)
        typed = parse(text, reader.metadata_keys)
        if mode == "id":  # an id may look like a filter or hold marks of quotation: doc:12#3
            whole = [one for one in (text, text.strip()) if not id_fault(one)]
            typed = next((Typed(one) for one in corpus.chunks(connection, whole)), typed)
        narrowed = replace(typed, doc_id=doc_id or typed.doc_id, where=(*typed.where, *(where or {}).items()))
        total, found = ranked(reader, narrowed, mode=mode, limit=limit, offset=offset)
        chunks = corpus.chunks(connection, [chunk_id for chunk_id, _ in found])
        advised = "" if total else advice.nothing_found(reader, narrowed, mode)
    marking = matcher(typed, mode)
    hits = tuple(_hit(chunks[chunk_id], score, marking) for chunk_id, score in found if chunk_id in chunks)
    return SearchResult(total - len(found) + len(hits), hits, time.perf_counter() - started, advised)


def ranked(
    reader: Reader, typed: Typed, *, mode: str = "words", limit: int = 10, offset: int = 0
) -> tuple[int, list[tuple[str, float]]]:
    """Return the number of chunks found and a page of (chunk_id, score), best first."""
    limit, offset = max(1, limit), max(0, offset)
    if mode == "id":
        return ranked_by_id(reader, typed, limit, offset)
    query = query_of(reader, typed, forgiving=mode == "fuzzy")
    return (0, []) if query is None else index.page(reader, query, limit, offset)


def _hit(chunk: Chunk, score: float, marking: Matcher) -> SearchHit:
    snippet, spans = marking.snippet(chunk.text)
    return SearchHit(chunk.chunk_id, chunk.doc_id, chunk.title, score, snippet, spans)
