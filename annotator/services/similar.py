"""Chunks like one that somebody reads: nearly the same words, near by the table's own vectors, the same document.

Looked for when a person asks, never while they grade: a suggestion what to read next and no label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from annotator.errors import AnnotatorError
from annotator.model import Chunk
from annotator.search import index
from annotator.search.similar import alike, near_duplicates
from annotator.services import in_place, labelling, live
from annotator.store import corpus, documents, judgments
from annotator.store.database import Workspace

__all__ = ["Similar", "neighbours", "similar"]

MOST_ALIKE: Final = 20
LOOKED_FOR: Final = 300
"""Characters of a text that is searched for in the live table."""
MOST_NEAR: Final = 10
MOST_BESIDE: Final = 10
RELEVANT_LOOKED_AT: Final = 20
"""Relevant chunks of a question whose near-duplicates are looked for, best grades first."""


@dataclass(frozen=True, slots=True)
class Similar:
    """What is like a chunk: chunk id → in a few words why, in the order to read. `note` says what was not to be had."""

    found: Mapping[str, str]
    note: str = ""


def similar(workspace: Workspace, chunk_id: str) -> Similar:
    """Return the near-duplicates of a chunk, the nearest by vector where the table has vectors, and those beside it.

    Raises NotFound for an unknown id.
    """
    with workspace.read() as connection:
        chunk = corpus.chunk(connection, chunk_id)
    found = {one: _alike(share) for one, share in _near_duplicates(workspace, chunk)}
    in_place.look_at_documents(workspace, [chunk.doc_id])
    with workspace.read() as connection:
        beside = _beside(documents.document_ids(connection, chunk.doc_id), chunk)
    near, note = _near(workspace, chunk_id)
    for one in near:
        found.setdefault(one, "near by vector")
    for one in beside:
        found.setdefault(one, "same document")
    found.pop(chunk_id, None)
    return Similar(found, note)


def neighbours(workspace: Workspace, who: str, query_id: str) -> dict[str, str]:
    """Return what is around the chunks this person found relevant: near-duplicates first, each with its likeness.

    Then their documents, nearest chunks first; for those the words are "".
    """
    with workspace.read() as connection:
        mine = [one for one in judgments.current(connection, query_id=query_id, annotator=who) if one.grade]
        best = sorted(mine, key=lambda one: (-(one.grade or 0), one.chunk_id))[:RELEVANT_LOOKED_AT]
        relevant = corpus.chunks(connection, (one.chunk_id for one in best))
    likeness: dict[str, float] = {}
    for chunk in relevant.values():
        for one, share in _near_duplicates(workspace, chunk):
            likeness[one] = max(share, likeness.get(one, 0.0))
    graded = {one.chunk_id for one in mine}
    alike = sorted((one for one in likeness if one not in graded), key=lambda one: (-likeness[one], one))
    found = {one: _alike(likeness[one]) for one in alike}
    for one in labelling.neighbour_ids(workspace, who, query_id):
        found.setdefault(one, "")
    return found


def _near_duplicates(workspace: Workspace, chunk: Chunk) -> list[tuple[str, float]]:
    """Return (chunk id, similarity): of a table searched in place among what it finds for the text's beginning."""
    if in_place.is_on(workspace):
        hits = in_place.search(workspace, chunk.text[:LOOKED_FOR], limit=MOST_ALIKE).hits if chunk.text.strip() else ()
        with workspace.read() as connection:
            return alike(chunk, corpus.chunks(connection, (hit.chunk_id for hit in hits)).values(), MOST_ALIKE)
    with workspace.read() as connection:
        return near_duplicates(index.reader(workspace, connection), connection, chunk, MOST_ALIKE)


def _near(workspace: Workspace, chunk_id: str) -> tuple[list[str], str]:
    """Ask the live table for the nearest by vector; what it names and the workspace does not have is left out."""
    try:
        ids = live.nearest(workspace, chunk_id, MOST_NEAR)
    except AnnotatorError as error:
        return [], f"Nearest by vector is not to be had: {error.message}"
    in_place.look_up(workspace, ids)
    with workspace.read() as connection:
        known = corpus.chunks(connection, ids)
    return [one for one in ids if one in known], ""


def _beside(order: list[str], chunk: Chunk) -> Iterable[str]:
    if chunk.chunk_id not in order:
        return ()
    at = order.index(chunk.chunk_id)
    return (order[one] for one in sorted(range(len(order)), key=lambda one: (abs(one - at), one))[1 : MOST_BESIDE + 1])


def _alike(share: float) -> str:
    return "the same words" if share >= 100 else f"{share:.0f} % the same words"
