"""The live chunk table as people use it: look at it, connect it, and bring the workspace's copy up to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from annotator.errors import InputError, Problem
from annotator.model import Chunk
from annotator.services import in_place
from annotator.services.connected import connected
from annotator.services.permission import require
from annotator.store import events, remembered, settings
from annotator.store import sync as mirror
from annotator.store.database import Workspace
from annotator.store.sync import Duplicates, SyncResult
from annotator.tables import (
    Column,
    Columns,
    InPlace,
    Reading,
    Stamped,
    Table,
    absolute,
    guess,
    list_tables,
    open_table,
    remaining,
    searchable,
)

__all__ = [
    "STAMP",
    "Duplicates",
    "Offer",
    "Preview",
    "SyncResult",
    "as_chunk",
    "connect",
    "connected",
    "preview",
    "sync",
    "tables",
]

STAMP = "table.stamp"
"""Setting that holds what the files of the table were like when the last sync read them."""


_OPTIONS = {"chunk_id": "--id-column", "text": "--text-column"}
_SHOWN_ROWS = 5
_MOST_PROBLEMS = 10_000
_WRITTEN_ANEW = "Sync again."


@dataclass(frozen=True, slots=True)
class Offer:
    """Whether the table can be searched in place, and how; else why not and what to do about it."""

    possible: bool
    said: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a chunk table looks like. `reasons` says by field why its column was chosen.

    `metadata` are the columns that become metadata. `rows` are the first rows as they are, `chunks` the same as
    chunks: none while `missing` fields have no column, and without those that `problems` are about. `offer` is about
    searching in place, None for kinds of table that are always read as a whole.
    """

    url: str
    table: str
    name: str
    kind: str
    count: int | None
    columns: tuple[Column, ...]
    mapping: Columns
    reasons: Mapping[str, str]
    missing: tuple[str, ...]
    metadata: tuple[str, ...]
    rows: tuple[Mapping[str, object], ...]
    chunks: tuple[Chunk, ...] = ()
    problems: tuple[Problem, ...] = ()
    offer: Offer | None = None


def tables(url: str) -> list[str]:
    """List the tables to choose from at an address; none for a file that is one table itself."""
    return list_tables(url)


def preview(
    url: str, table: str = "", columns: Mapping[str, str] | None = None, metadata: Sequence[str] = ()
) -> Preview:
    """Look at a chunk table: what is recognised, which column holds what, the first rows.

    `columns` maps fields to columns where the guess is not wanted, "" for none. Raises InputError when the table
    cannot be read or has no such column.
    """
    live = open_table(url, table)
    found = live.columns()
    guessed, reasons = guess(found, columns or {})
    mapping = replace(guessed, metadata=tuple(metadata))
    seen = Preview(
        url=url,
        table=live.table,
        name=live.name,
        kind=live.kind,
        count=live.count(),
        columns=tuple(found),
        mapping=mapping,
        reasons=reasons,
        missing=tuple(field for field in ("chunk_id", "text") if not getattr(mapping, field)),
        metadata=tuple(metadata or remaining(found, mapping)),
        rows=tuple(live.sample(_SHOWN_ROWS)),
    )
    if seen.missing:
        return seen
    reading = Reading(live, mapping)
    seen = replace(seen, offer=_offer(live, reading))
    first = next(reading.batches(), None)
    if first is None:
        return seen
    chunks = tuple(as_chunk(row) for row in first.rows[:_SHOWN_ROWS])
    return replace(seen, chunks=chunks, problems=tuple(first.problems))


def connect(
    workspace: Workspace,
    who: str,
    url: str,
    table: str = "",
    columns: Mapping[str, str] | None = None,
    metadata: Sequence[str] = (),
    *,
    search_in_place: bool = False,
) -> Preview:
    """Make this the workspace's chunk table; nothing is read into the workspace before the next sync.

    With `search_in_place` the live table itself is searched, at once, and only what was looked at is kept here. Raises
    InputError when the columns are not clear, when the address holds a password, or, with what to create, when the
    table cannot be searched in place; Forbidden for people who are no admins.
    """
    seen = preview(url, table, columns, metadata)
    if absolute(url) == absolute(f"sqlite:///{workspace.database.absolute()}"):
        raise InputError("This is the workspace itself.", hint="Give the address of the chunk table.")
    if seen.missing:
        raise InputError(
            f"No column of {seen.name} has a usual name for the {' and the '.join(seen.missing)}.",
            hint=f"Name it ({' and '.join(_OPTIONS[field] for field in seen.missing)}). "
            f"The columns are: {', '.join(column.name for column in seen.columns) or 'none'}.",
        )
    chosen: dict[str, object] = {"url": absolute(url), "table": seen.table, "columns": asdict(seen.mapping)}
    looked = None
    if search_in_place:
        chosen["in_place"] = True
        reading = Reading(live := open_table(url, seen.table), seen.mapping)
        with closing(searchable(live, reading)) as found:
            looked = in_place.sample(reading, found)
    with workspace.write() as connection:
        require(connection, who, "connect a chunk table")
        old = settings.get(connection, "table")
        settings.put(connection, "table", chosen)
        if old != chosen:
            remembered.forget_documents(connection)
        if looked is not None:
            in_place.keep(connection, looked)
        events.record(connection, who, "connect", "table", old=old, new=chosen)
    return seen


def sync(
    workspace: Workspace,
    who: str,
    *,
    duplicates: Duplicates = "refuse",
    allow_empty: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> SyncResult:
    """Read the live table and bring the workspace's copy up to it; the live table is never written to.

    Of a table that is searched in place, what was looked at is read again. `progress` is told the rows read so far and
    the number of rows, where known. Raises InputError with every fault of the table and every id that appears with
    different texts (unless `duplicates` says which counts), and for a table that lost all its rows (unless
    `allow_empty`); then nothing is written. Raises Conflict while another sync runs, NotFound when no table is
    connected, Forbidden for readers.
    """
    with workspace.read() as connection:
        require(connection, who, "sync the chunk table")
    live, columns, source = connected(workspace)
    if in_place.is_on(workspace):
        return in_place.refresh(workspace, who, source, progress, allow_empty=allow_empty)
    stamp = live.stamp() if isinstance(live, Stamped) else ""
    with mirror.staging(workspace, duplicates) as staging:
        reading = Reading(live, columns)
        problems: list[Problem] = []
        rows, total = 0, live.count() if progress else None
        for batch in reading.batches():
            problems += batch.problems
            if batch.rows:
                staging.add(batch.rows)
            rows += len(batch.rows)
            if progress:
                progress(rows, total)
            if len(problems) >= _MOST_PROBLEMS:
                break
        if isinstance(live, Stamped) and live.stamp() != stamp:  # what was read may be half of it, or of two states
            raise InputError(
                f"{live.name} was written to while it was read.",
                hint="Nothing was changed here. Sync again when the writing is done.",
            )
        if not (rows or problems or allow_empty):
            staging.refuse_empty(live.name)
        doubled = list(_double_ids(live, reading, columns.chunk_id, staging.conflicts))
        problems += doubled
        if problems:
            problems.sort(key=lambda problem: problem.line or 0)
            raise _refusal(live, problems, doubled=sum(1 for one in doubled if one.mend != _WRITTEN_ANEW))
        result = staging.apply(source, who)
    if stamp:
        with workspace.write() as connection:
            settings.put(connection, STAMP, {"url": source, "stamp": stamp})
    return result


def _offer(live: Table, reading: Reading) -> Offer | None:
    if not isinstance(live, InPlace):
        return None
    try:
        with closing(searchable(live, reading)) as found:
            return Offer(True, found.described, tuple(found.notes))
    except InputError as error:
        return Offer(False, str(error))


def _double_ids(live: Table, reading: Reading, column: str, ids: set[str]) -> Iterator[Problem]:
    """Read the table once more for all the places of these ids."""
    if not ids:
        return
    places: dict[str, list[int]] = {}
    for batch in reading.batches():
        for row in batch.rows:
            if row[1] in ids:
                places.setdefault(row[1], []).append(row[0])
    for chunk_id, found in places.items():
        if len(found) == 1:
            told = "this id came twice with different text: its row was written anew while the table was read"
            yield live.problem(found[0], told, field=column, value=chunk_id, mend=_WRITTEN_ANEW)
            continue
        listed = ", ".join(map(str, found[:-1])) + f" and {found[-1]}"
        yield live.problem(
            found[-1],
            f"this id appears {len(found)} times with different text, at {listed}",
            field=column,
            value=chunk_id,
        )


def _refusal(live: Table, problems: Sequence[Problem], doubled: int) -> InputError:
    hint = "Mend the table and sync again; nothing was written."
    if doubled:
        hint = f"Ids with more than one text ({doubled}): keep one each with --duplicates first or last. {hint}"
    more = "at least " if len(problems) >= _MOST_PROBLEMS else ""
    return InputError(
        f"{live.name} has {more}{len(problems)} fault{'' if len(problems) == 1 else 's'}.", problems=problems, hint=hint
    )


def as_chunk(row: Sequence[Any]) -> Chunk:
    """Make a chunk of a row as `Reading` gives it."""
    _, chunk_id, text, doc_id, title, position, metadata, _ = row
    return Chunk(chunk_id, text, doc_id, title, position, msgspec.json.decode(metadata))
