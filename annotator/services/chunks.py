"""Reading the workspace's copy of the chunk table: its state, documents in order, the syncs.

Connecting a table and syncing it is `chunk_table.py`; finding chunks by words is `search.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotator.model import Chunk
from annotator.services import in_place
from annotator.store import corpus, settings
from annotator.store.corpus import Sync
from annotator.store.database import Workspace

__all__ = [
    "Document",
    "Sync",
    "TableState",
    "browse",
    "chunk",
    "document",
    "document_length",
    "documents",
    "state",
    "syncs",
]


@dataclass(frozen=True, slots=True)
class TableState:
    """The connected table and the last finished sync; `url` is "" while none is connected.

    Of a table searched in place `count` is what was looked at, and `about` roughly how many there are in all.
    """

    url: str
    table: str
    count: int
    last: Sync | None
    interrupted: bool
    """Whether a sync began after that one and has not finished."""
    in_place: bool = False
    about: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A document by the title of its first chunk, with the number of its chunks."""

    doc_id: str
    title: str
    chunks: int


def state(workspace: Workspace) -> TableState:
    """Return what is connected and how fresh the copy is."""
    with workspace.read() as connection:
        chosen = settings.get(connection, "table") or {"url": "", "table": ""}
        last, since = corpus.last_sync(connection)
        interrupted = any(one.finished_at is None for one in since)
        live = bool(chosen.get("in_place"))
        about = in_place.about(connection) if live else None
        return TableState(chosen["url"], chosen["table"], corpus.count(connection), last, interrupted, live, about)


def documents(workspace: Workspace, *, after: str = "", limit: int = 50) -> list[Document]:
    """Return a page of documents by id; `after` is the last id of the page before."""
    with workspace.read() as connection:
        return [Document(*row) for row in corpus.documents(connection, after=after, limit=limit)]


def document(workspace: Workspace, doc_id: str, *, limit: int = -1, offset: int = 0) -> list[Chunk]:
    """Return the chunks of a document in order, all or some, none for an unknown one."""
    in_place.look_at_documents(workspace, [doc_id])
    with workspace.read() as connection:
        return corpus.document(connection, doc_id, limit=limit, offset=offset)


def document_length(workspace: Workspace, doc_id: str) -> int:
    """Return the number of chunks of a document."""
    with workspace.read() as connection:
        return corpus.document_length(connection, doc_id)


def browse(workspace: Workspace, *, after_row: int = 0, limit: int = 50) -> list[tuple[int, Chunk]]:
    """Return a page of (row, chunk) in the order of the table; `after_row` is the last row of the page before."""
    with workspace.read() as connection:
        return corpus.browse(connection, after_row=after_row, limit=limit)


def chunk(workspace: Workspace, chunk_id: str) -> Chunk:
    """Return one chunk. Raises NotFound, naming near ids."""
    in_place.look_up(workspace, [chunk_id])
    with workspace.read() as connection:
        return corpus.chunk(connection, chunk_id)


def syncs(workspace: Workspace, limit: int = 50) -> list[Sync]:
    """Return the newest syncs, newest first."""
    with workspace.read() as connection:
        return corpus.syncs(connection, limit)
