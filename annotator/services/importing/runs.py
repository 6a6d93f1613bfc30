"""Imports runs: what a retriever answered, kept whole under a name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import chain, islice

from annotator.errors import InputError
from annotator.gold.textfile import decode, name_of, read_bytes, unpack
from annotator.metrics.runfiles import read_run
from annotator.model import Run, id_fault
from annotator.services import in_place
from annotator.services.importing.files import Source
from annotator.services.importing.report import SHOWN_ROWS, ImportReport
from annotator.services.permission import require
from annotator.store import imported, runs
from annotator.store.database import Workspace

__all__ = ["import_run"]

_EXAMPLES = 5


def import_run(
    workspace: Workspace,
    who: str,
    source: Source,
    *,
    name: str,
    meta: Mapping[str, object] | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Store the run under `name`; `meta` is added to what the file says of itself.

    The same run again changes nothing. Ids that are not in the chunk table are told, not refused: a run may be older
    than the table. Raises Conflict when the name stands for another run, InputError with every fault of the file,
    Forbidden for readers.
    """
    fault = id_fault(name)
    if fault:
        raise InputError(f"A run cannot have this name: {fault}.", hint="Give it a short name, e.g. bm25.")
    run = _read(source, name, meta or {})
    with workspace.read() if dry_run else workspace.write() as connection:
        require(connection, who, "import runs")
        same = runs.is_stored(connection, run)
        if not dry_run:
            runs.add(connection, run, who)
        warnings = [*run.warnings, *_unknown(connection, run)]
    number = len(run.queries)
    return ImportReport(
        added=0 if same else number,
        unchanged=number if same else 0,
        warnings=tuple(warnings),
        first_rows=tuple(
            {"query_id": one.query_id, "chunks": len(one.chunk_ids), "first": next(iter(one.chunk_ids), "")}
            for one in islice(run.queries.values(), SHOWN_ROWS)
        ),
        dry_run=dry_run,
    )


def _read(source: Source, name: str, meta: Mapping[str, object]) -> Run:
    if isinstance(source, tuple):
        file, data = source[0], unpack(source[1], source[0])
    else:
        file, data = name_of(source), read_bytes(source)
    content = read_run(decode(data, file), file)
    return Run(name, content.queries, {**content.meta, **meta}, sha256(data).hexdigest(), tuple(content.warnings))


def _unknown(connection: sqlite3.Connection, run: Run) -> Iterable[str]:
    queries = frozenset(imported.query_ids(connection))
    other = [query_id for query_id in run.queries if query_id not in queries]
    if other:
        yield f"{len(other)} of {len(run.queries)} queries are not questions of this workspace{_examples(other)}"
    if in_place.is_on_in(connection):  # the table is known by what was looked at only
        return
    ids = dict.fromkeys(chain.from_iterable(one.chunk_ids for one in run.queries.values()))
    known = imported.text_hashes(connection, ids)
    gone = [chunk_id for chunk_id in ids if chunk_id not in known]
    if gone:
        yield f"{len(gone)} of {len(ids)} chunk ids are not in the chunk table{_examples(gone)}"


def _examples(ids: list[str]) -> str:
    more = ", …" if len(ids) > _EXAMPLES else "."
    return f": {', '.join(ids[:_EXAMPLES])}{more}"
