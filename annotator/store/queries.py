"""Queries of the workspace: their text, facets and state. Retired, never deleted; each change moves the revision."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from annotator.errors import Conflict, NotFound
from annotator.model import Query
from annotator.store import events
from annotator.store.database import now

__all__ = ["add", "all_queries", "change", "find", "query", "record_of"]

_COLUMNS = "query_id, question, notes, facets, state, unanswerable, owner, revision"


def query(connection: sqlite3.Connection, query_id: str) -> Query:
    """Return the query. Raises NotFound."""
    found = find(connection, query_id)
    if found is None:
        raise NotFound(f"There is no question with the id {query_id!r}.", hint="The Queries page lists all of them.")
    return found


def find(connection: sqlite3.Connection, query_id: str) -> Query | None:
    """Return the query, or None."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM queries WHERE query_id = ?", (query_id,)).fetchone()
    return None if row is None else _query(row)


def all_queries(connection: sqlite3.Connection, *, states: Iterable[str] = ()) -> list[Query]:
    """Return queries in the order they were added, of the given stored states or of all."""
    wanted = tuple(states)
    where = f"WHERE state IN ({', '.join('?' * len(wanted))})" if wanted else ""
    return [_query(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM queries {where} ORDER BY row", wanted)]


def add(connection: sqlite3.Connection, new: Query, who: str) -> None:
    """Add a query. Raises Conflict when the id is taken."""
    if find(connection, new.query_id) is not None:
        raise Conflict(f"There is a question with the id {new.query_id!r} already.", hint="Choose another id.")
    moment = now()
    connection.execute(
        f"INSERT INTO queries ({_COLUMNS}, created_at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)",
        (*_values(new), moment, moment),
    )
    events.record(connection, who, "query added", f"query:{new.query_id}", new=record_of(new))


def change(connection: sqlite3.Connection, changed: Query, who: str) -> Query:
    """Store a changed query whose `revision` is the one that was read. Raises Conflict when it is no longer that."""
    old = query(connection, changed.query_id)
    if old.revision != changed.revision:
        raise Conflict(
            f"The question {changed.query_id!r} was changed by somebody else meanwhile.",
            hint="Your text was not saved over theirs: look at the new version, then change it again.",
        )
    if record_of(old) == record_of(changed):
        return old
    query_id, *values = _values(changed)
    connection.execute(
        "UPDATE queries SET question = ?, notes = ?, facets = ?, state = ?, unanswerable = ?, owner = ?,"
        " revision = revision + 1, changed_at = ? WHERE query_id = ?",
        (*values, now(), query_id),
    )
    events.record(connection, who, "query changed", f"query:{query_id}", old=record_of(old), new=record_of(changed))
    return replace(changed, revision=old.revision + 1)


def record_of(one: Query) -> dict[str, object]:
    """Return the query's fields as JSON values, without the revision."""
    return {
        "query_id": one.query_id,
        "question": one.question,
        "notes": one.notes,
        "facets": dict(one.facets),
        "state": one.state,
        "unanswerable": one.unanswerable,
        "owner": one.owner,
    }


def _values(one: Query) -> tuple[object, ...]:
    facets = json.dumps(dict(one.facets), ensure_ascii=False, sort_keys=True)
    return one.query_id, one.question, one.notes, facets, one.state, int(one.unanswerable), one.owner


@lru_cache(maxsize=1_000)
def _facets(stored: str) -> dict[str, str]:
    """Read the facets, which many queries share."""
    found: dict[str, str] = json.loads(stored)
    return found


def _query(row: sqlite3.Row) -> Query:
    return Query(
        query_id=row["query_id"],
        question=row["question"],
        notes=row["notes"],
        facets=dict(_facets(row["facets"])),
        state=row["state"],
        unanswerable=bool(row["unanswerable"]),
        owner=row["owner"],
        revision=row["revision"],
    )
