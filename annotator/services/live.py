"""One chunk beside its row in the live table: whether it still stands there as synced, and taking over what changed.

Looking costs the live table one indexed read. What nobody asked for waits for no answer: it runs beside the caller,
for a moment at most, and not at all where single rows are not found by an index.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from annotator.errors import AnnotatorError, InputError, NotFound
from annotator.gold.words import Piece, text_difference
from annotator.model import Chunk
from annotator.services.chunk_table import STAMP, as_chunk, connected
from annotator.services.permission import require
from annotator.store import corpus, settings
from annotator.store.database import Workspace, now
from annotator.store.single import Change, single
from annotator.tables import Reading, Stamped, Table, Way

__all__ = ["Look", "Standing", "glance", "look", "nearest", "refresh", "standing"]

GLANCE_SECONDS: Final = 0.3
LOOK_SECONDS: Final = 5.0
_INDEXED: Final[tuple[Way, ...]] = ("index",)
_AT_ONCE: Final = 2
_REST_SECONDS: Final = 60.0
"""How long a table that did not answer a glance in time is left alone."""
_KEPT_SECONDS: Final = 600.0
_FIELDS: Final = {"title": "title", "doc_id": "document", "position": "place in the document"}


@dataclass(frozen=True, slots=True)
class Standing:
    """When the table was last synced (UTC, "" for never), and whether looking at one chunk needs no asking."""

    synced_at: str
    at_a_glance: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What the live table has for a chunk. `difference` leads from the text as synced to the present one.

    `other` names what else differs. An `unknown` state says why in `note`.
    """

    chunk_id: str
    state: Literal["same", "changed", "gone", "unknown"]
    looked_at: str
    difference: tuple[Piece, ...] = ()
    other: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Live:
    """The connected table, opened: opening and describing it costs more than a look."""

    chosen: Mapping[str, Any]
    table: Table
    reading: Reading
    way: Way
    opened: float

    @property
    def quick(self) -> bool:
        return self.way == "index" or isinstance(self.table, Stamped)


_opened: dict[str, _Live] = {}
_resting: dict[str, float] = {}
_workers: Final = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="glance")
_under_way: list[Future[Any]] = []


def standing(workspace: Workspace) -> Standing:
    """Return how old the workspace's copy is. Asks the live table nothing."""
    with workspace.read() as connection:
        last, _ = corpus.last_sync(connection)
        connected_to = settings.get(connection, "table")
    known = _opened.get(str(workspace.home))
    quick = connected_to is not None and (known is None or known.chosen != connected_to or known.quick)
    return Standing((last.finished_at or "") if last else "", quick and not _rests(workspace))


def look(workspace: Workspace, chunk_id: str) -> Look:
    """Read the chunk's row of the live table and compare. Raises NotFound for a chunk the workspace does not have.

    A table that cannot be read, or not for one chunk, is an `unknown` state with the reason.
    """
    return _look(workspace, chunk_id, LOOK_SECONDS, ("index", "scan"))


def glance(workspace: Workspace, chunk_id: str) -> Look | None:
    """Look without having been asked to; None where an answer would not come in a moment."""
    home = str(workspace.home)
    _under_way[:] = [one for one in _under_way if not one.done()]
    if _rests(workspace) or len(_under_way) >= _AT_ONCE:
        return None
    if home not in _opened:  # the next glance will find it open
        _under_way.append(_workers.submit(_open, workspace))
        return None
    if not _opened[home].quick:
        return None
    work = _workers.submit(_look, workspace, chunk_id, GLANCE_SECONDS, _INDEXED)
    _under_way.append(work)
    try:
        return work.result(timeout=GLANCE_SECONDS)
    except TookTooLong:
        _resting[home] = time.monotonic() + _REST_SECONDS
    except NotFound:
        pass
    return None


def refresh(workspace: Workspace, who: str, chunk_id: str) -> Change:
    """Take over what the live table has for this chunk, so that the next grade is for the present text.

    Raises Conflict while a sync runs, InputError when the row cannot be read, Forbidden for readers.
    """
    with workspace.read() as connection:
        require(connection, who, "sync the chunk table")
    live = _open(workspace)
    with single(workspace) as one:
        found = live.reading.fetch([chunk_id], LOOK_SECONDS)
        if found.problems:
            raise InputError(f"The row of {chunk_id} has a fault.", problems=found.problems)
        if len({row[7] for row in found.rows}) > 1:
            raise InputError(
                f"{live.table.name} has the id {chunk_id} more than once with different text.",
                hint="Make the ids of the table unique."
                if live.chosen.get("in_place")
                else "Sync, and choose which of them counts.",
            )
        return one.apply(chunk_id, found.rows[0] if found.rows else None, str(live.chosen["url"]), who)


def nearest(workspace: Workspace, chunk_id: str, k: int) -> list[str]:
    """Return the ids of the k chunks nearest by the live table's own vectors; none where it has none.

    Raises InputError when the table cannot be asked or does not answer in time.
    """
    return _open(workspace).reading.nearest(chunk_id, k, LOOK_SECONDS)


def _look(workspace: Workspace, chunk_id: str, seconds: float, ways: Collection[Way]) -> Look:
    with workspace.read() as connection:
        kept = corpus.chunk(connection, chunk_id)
        stamp: Mapping[str, str] = settings.get(connection, STAMP, {})
    seen = Look(chunk_id, "unknown", now())
    try:
        live = _open(workspace)
        if isinstance(live.table, Stamped):
            if stamp == {"url": live.chosen["url"], "stamp": live.table.stamp()}:
                return replace(seen, state="same")
            if live.way not in ways:
                return replace(seen, note=f"{live.table.name} was written to since. Sync to see what changed.")
        if live.way not in ways:
            return replace(seen, note=f"{live.table.name} cannot be asked for one chunk. Sync to see what changed.")
        found = live.reading.fetch([chunk_id], seconds)
    except AnnotatorError as error:
        _opened.pop(str(workspace.home), None)
        return replace(seen, note=str(error))
    if found.problems:
        return replace(seen, note=f"The row has a fault: {found.problems[0]}")
    present = [as_chunk(row) for row in found.rows]
    if not present:
        return replace(seen, state="gone")
    return replace(seen, state="same") if kept in present else _changed(seen, kept, present[0])


def _rests(workspace: Workspace) -> bool:
    return _resting.get(str(workspace.home), 0.0) > time.monotonic()


def _open(workspace: Workspace) -> _Live:
    """Open the connected table, or take it as it was opened a while ago."""
    home = str(workspace.home)
    with workspace.read() as connection:
        chosen = settings.get(connection, "table")
    known = _opened.get(home)
    if known is not None and known.chosen == chosen and time.monotonic() - known.opened < _KEPT_SECONDS:
        return known
    table, columns, _ = connected(workspace)
    reading = Reading(table, columns)
    live = _opened[home] = _Live(chosen, table, reading, reading.way, time.monotonic())
    return live


def _changed(seen: Look, kept: Chunk, present: Chunk) -> Look:
    other = [word for field, word in _FIELDS.items() if getattr(kept, field) != getattr(present, field)]
    names = sorted({*kept.metadata, *present.metadata})
    other += [name for name in names if kept.metadata.get(name) != present.metadata.get(name)]
    return replace(seen, state="changed", difference=text_difference(kept.text, present.text), other=tuple(other))
