"""Searching the chunk table: hits for a screen or a script, the filters there are, and marks in whole texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from annotator.errors import Conflict
from annotator.search import index
from annotator.search.highlight import matcher
from annotator.search.query import as_words, parse
from annotator.search.run import MODES, SearchHit, SearchResult
from annotator.search.run import search as search_index
from annotator.services import in_place
from annotator.services.baseline import baseline
from annotator.store import corpus
from annotator.store.database import Workspace

__all__ = [
    "MODES",
    "SearchHit",
    "SearchResult",
    "as_words",
    "baseline",
    "bring_up_to_date",
    "filters",
    "marks",
    "search",
]


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
    """Find chunks by words, by words with slips forgiven (`fuzzy`), or by id: in the index, or in place.

    `doc_id` and `where` (metadata key to value, all must hold) narrow the search and match exactly. Raises InputError
    for an unknown mode, and when a table that is searched in place does not answer.
    """
    if mode in MODES and in_place.is_on(workspace):
        return in_place.search(workspace, text, mode=mode, limit=limit, offset=offset, doc_id=doc_id, where=where)
    return search_index(workspace, text, mode=mode, limit=limit, offset=offset, doc_id=doc_id, where=where)


def bring_up_to_date(workspace: Workspace) -> None:
    """Take the newest sync into the index now, so that nobody's first search has to wait for it.

    Where another process is at it already, that one's work is enough; a table searched in place needs no index.
    """
    if in_place.is_on(workspace):
        return
    with suppress(Conflict):
        index.refresh(workspace)


def filters(workspace: Workspace) -> dict[str, list[str]]:
    """Return the metadata keys with few values, and their values: what a search can be narrowed by."""
    with workspace.read() as connection:
        return corpus.metadata_values(connection)


def marks(
    workspace: Workspace, ids: Iterable[str], text: str, mode: str = "words"
) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return per chunk id the spans (code points) of its text that match what was typed."""
    with workspace.read() as connection:
        chunks = corpus.chunks(connection, ids)
        known = corpus.metadata_values(connection)
    marking = matcher(parse(text, frozenset(known)), mode)
    return {one: marking.spans(chunk.text) for one, chunk in chunks.items()}
