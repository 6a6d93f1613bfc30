"""Searching the chunk table: hits for a screen or a script, the filters there are, and marks in whole texts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from annotator.errors import Conflict
from annotator.search import index
from annotator.search.highlight import match_spans, matcher
from annotator.search.query import parse
from annotator.search.run import MODES, SearchHit, SearchResult, search
from annotator.services.baseline import baseline
from annotator.store import corpus
from annotator.store.database import Workspace

__all__ = [
    "MODES",
    "SearchHit",
    "SearchResult",
    "baseline",
    "bring_up_to_date",
    "filters",
    "marks",
    "match_spans",
    "search",
]


def bring_up_to_date(workspace: Workspace) -> None:
    """Take the newest sync into the index now, so that nobody's first search has to wait for it.

    Where another process is at it already, that one's work is enough.
    """
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
