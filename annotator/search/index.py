"""The index folder of a workspace: built from the mirrored chunks, brought up to date by itself, never trusted.

Owns the pointer file that names the current build, and the readers of this process. A build is written
beside the current one and switched to in one rename; small changes are committed into the current build. Whoever
reads goes on with what it opened. How a question becomes a query is left to `run`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import tantivy

from annotator.errors import Conflict, StoreError
from annotator.model import Chunk
from annotator.search.fields import FORMAT, fields_of, prepare, schema
from annotator.search.fuzzy import Vocabulary
from annotator.search.memory import give_back
from annotator.store import corpus
from annotator.store.database import Workspace

__all__ = ["Reader", "Refreshed", "current", "forget", "page", "reader", "refresh"]

_POINTER = "current.json"
_HEAP = 64_000_000
_KEPT_SECONDS = 600.0
_MOST_KEYS = 1000
_FEWEST_REPLACED = 1000


@dataclass(frozen=True, slots=True)
class State:
    """What the pointer file says: the build folder, the sync it holds, and the documents replaced since built."""

    folder: str
    generation: int
    synced_at: str
    replaced: int


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did. `built` is whether the index was made anew; the counts are chunks."""

    generation: int
    built: bool
    indexed: int
    removed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reader:
    """An opened state of the index, safe to share between threads and unmoved by later refreshes."""

    state: State
    index: tantivy.Index
    searcher: tantivy.Searcher
    vocabulary: Vocabulary
    metadata_keys: frozenset[str]

    @property
    def schema(self) -> tantivy.Schema:
        return self.index.schema


_readers: dict[Path, Reader] = {}
_opening = Lock()

give_back()  # before the first large block is taken anywhere: told later, the C library hardly heeds it


def reader(workspace: Workspace, connection: sqlite3.Connection) -> Reader:
    """Return a reader of the newest state that can be had without waiting for another process.

    Brings the index up to date first, unless another process is at it: then the state before is read. Raises
    Conflict when there is no state at all yet and the other process does not finish in time.
    """
    state = _read_pointer(workspace)
    if not _is_current(state, connection):
        try:
            refresh(workspace, seconds=0.0)
        except Conflict:
            if state is None:
                refresh(workspace)
    try:
        return current(workspace)
    except StoreError:  # damaged from outside
        refresh(workspace, anew=True)
        return current(workspace)


def current(workspace: Workspace) -> Reader:
    """Return a reader of the state the pointer file names, opened once in this process."""
    for _ in range(5):  # the build named may be cleared away between reading its name and opening it
        state = _read_pointer(workspace)
        if state is None:
            break
        known = _readers.get(workspace.index)
        if known is not None and known.state == state:
            return known
        try:
            with _opening:
                known = _readers.get(workspace.index)
                if known is None or known.state != state:
                    known = _readers[workspace.index] = _open(workspace.index / state.folder, state)
                return known
        except (ValueError, OSError):
            continue
    raise StoreError("The search index cannot be read.", hint="Delete the folder `index`: it is built again.")


def forget(workspace: Workspace) -> None:
    """Let go of this process's reader, as when the files under it were replaced from outside."""
    _readers.pop(workspace.index, None)


def refresh(workspace: Workspace, *, seconds: float = 30.0, anew: bool = False) -> Refreshed:
    """Bring the index to the newest sync; build it anew when missing, unreadable, outdated, or when told to.

    Waits up to `seconds` for another process that is at it, then raises Conflict.
    """
    started = time.perf_counter()
    try:
        workspace.index.mkdir(exist_ok=True)
        with workspace.lock("index", seconds=seconds), workspace.read() as connection:
            state = None if anew else _read_pointer(workspace)
            newest = _newest(connection)
            if state is not None and (state.generation, state.synced_at) == newest:
                return Refreshed(state.generation, False, 0, 0, time.perf_counter() - started)
            counts = None
            if state is not None and _can_follow(state, newest, corpus.count(connection)):
                counts = _update(workspace, state, newest, connection)
            built = counts is None
            if counts is None:
                counts = _build(workspace, newest, connection)
            _clear_away(workspace)
    except (OSError, ValueError) as error:  # Tantivy raises ValueError for whatever goes wrong, a full disk too
        raise StoreError(f"The search index in {workspace.index} cannot be written: {error}.") from error
    return Refreshed(newest[0], built, counts[0], counts[1], time.perf_counter() - started)


def page(reader: Reader, query: tantivy.Query, limit: int, offset: int) -> tuple[int, list[tuple[str, float]]]:
    """Return the number of chunks a query matches and a page of (chunk_id, score), best first."""
    result = reader.searcher.search(query, limit, offset=offset)
    count: int = result.count  # type: ignore[attr-defined]  # there, though its stub leaves it out
    return count, [(reader.searcher.doc(at)["chunk_id"][0], score) for score, at in result.hits]


def _newest(connection: sqlite3.Connection) -> tuple[int, str]:
    """Return the newest finished sync: its number, and its time, which tells a restored workspace from this one."""
    finished = next((sync for sync in corpus.syncs(connection, 5) if sync.finished_at), None)
    if finished is None:  # none at all, or an unlucky series of interrupted ones
        return corpus.generation(connection), ""
    return finished.sync_id, finished.finished_at or ""


def _is_current(state: State | None, connection: sqlite3.Connection) -> bool:
    return state is not None and (state.generation, state.synced_at) == _newest(connection)


def _can_follow(state: State, newest: tuple[int, str], chunks: int) -> bool:
    """Whether the changes since can be put on top: the past is the same, and not mostly replaced documents."""
    return state.generation < newest[0] and state.replaced <= max(_FEWEST_REPLACED, chunks // 2)


def _build(workspace: Workspace, newest: tuple[int, str], connection: sqlite3.Connection) -> tuple[int, int]:
    folder = f"build-{secrets.token_hex(8)}"
    path = workspace.index / folder
    path.mkdir()
    counts = _write(prepare(tantivy.Index(schema(), str(path))), corpus.changes(connection, 0), replace=False)
    _write_pointer(workspace, State(folder, *newest, replaced=0))
    return counts


def _update(
    workspace: Workspace, state: State, newest: tuple[int, str], connection: sqlite3.Connection
) -> tuple[int, int] | None:
    """Commit the changes into the current build; None when it cannot be opened."""
    try:
        index = prepare(tantivy.Index.open(str(workspace.index / state.folder)))
        counts = _write(index, corpus.changes(connection, state.generation), replace=True)
    except (ValueError, OSError):
        return None
    _write_pointer(workspace, State(state.folder, *newest, replaced=state.replaced + sum(counts)))
    return counts


def _write(index: tantivy.Index, changes: Iterable[tuple[str, Chunk | None]], *, replace: bool) -> tuple[int, int]:
    """Apply (chunk_id, chunk or None) changes in one commit; return how many were indexed and removed.

    `replace` deletes what the id had before. One indexing thread keeps chunks in their order, so that equal
    scores rank the same in every build.
    """
    writer = index.writer(_HEAP, 1)
    indexed = removed = 0
    for chunk_id, chunk in changes:
        if replace:
            writer.delete_documents_by_term("chunk_id", chunk_id)
        if chunk is None:
            removed += 1
        else:
            writer.add_document(tantivy.Document(**fields_of(chunk)))
            indexed += 1
    writer.commit()
    writer.wait_merging_threads()
    return indexed, removed


def _open(path: Path, state: State) -> Reader:
    index = prepare(tantivy.Index.open(str(path)))
    searcher = index.searcher()
    keys = frozenset(key for key, _ in searcher.terms_with_prefix("metadata_key", "", limit=_MOST_KEYS))
    return Reader(state, index, searcher, Vocabulary(searcher), keys)


def _read_pointer(workspace: Workspace) -> State | None:
    """Return what the pointer file says; None when there is none, it is damaged, or its format is another."""
    try:
        found = json.loads((workspace.index / _POINTER).read_bytes())
        if found["format"] != FORMAT or not tantivy.Index.exists(str(workspace.index / found["folder"])):
            return None
        return State(found["folder"], found["generation"], found["synced_at"], found["replaced"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_pointer(workspace: Workspace, state: State) -> None:
    values = {
        "format": FORMAT,
        "folder": state.folder,
        "generation": state.generation,
        "synced_at": state.synced_at,
        "replaced": state.replaced,
    }
    temporary = workspace.index / f"{_POINTER}.new"
    temporary.write_text(json.dumps(values), encoding="utf-8")
    os.replace(temporary, workspace.index / _POINTER)


def _clear_away(workspace: Workspace) -> None:
    """Remove builds nobody names any more, once they are old enough that no one is about to open them.

    Under the lock only the current build is in use, so any other is a former one or what a killed build left.
    """
    state = _read_pointer(workspace)
    for path in workspace.index.glob("build-*"):
        if state is None or path.name != state.folder:
            age = time.time() - path.stat().st_mtime
            if age > _KEPT_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
