"""Candidate pools: what was gathered for each query, from where, and at which rank; builds only add."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from annotator.store.database import now

__all__ = ["Build", "Entry", "Found", "add_build", "entries", "last_build", "sizes"]

Found = tuple[str, str, Mapping[str, int]]
"""query_id, chunk_id, source to rank."""


@dataclass(frozen=True, slots=True)
class Build:
    """One gathering of candidates: the top `depth` of these runs, of the built-in search (its mode, "" for none) and
    of the retriever (its name, "" for none)."""

    runs: tuple[str, ...]
    search: str
    retriever: str
    depth: int
    built_at: str = ""
    built_by: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate of a query. `hole`: nobody had judged it when it was first gathered."""

    chunk_id: str
    origins: Mapping[str, int]
    depth: int
    hole: bool


def add_build(connection: sqlite3.Connection, new: Build, found: Iterable[Found]) -> int:
    """Record a build and what it found that is not known from the same places already; return how many are new."""
    build_id = connection.execute(
        "INSERT INTO pool_builds (built_at, built_by, runs, search, retriever, depth) VALUES (?, ?, ?, ?, ?, ?)",
        (now(), new.built_by, json.dumps(new.runs, ensure_ascii=False), new.search, new.retriever, new.depth),
    ).lastrowid
    before = _pairs(connection)
    connection.executemany(
        """INSERT INTO pool_entries SELECT :query, :chunk, :origins, :build, NOT EXISTS (
            SELECT 1 FROM current_judgments WHERE query_id = :query AND chunk_id = :chunk)
        WHERE NOT EXISTS (SELECT 1 FROM pool_entries
            WHERE query_id = :query AND chunk_id = :chunk AND origins = :origins)""",
        (
            {
                "query": query_id,
                "chunk": chunk_id,
                "origins": json.dumps(dict(origins), ensure_ascii=False, sort_keys=True),
                "build": build_id,
            }
            for query_id, chunk_id, origins in found
        ),
    )
    return _pairs(connection) - before


def last_build(connection: sqlite3.Connection) -> Build | None:
    """Return the newest build, or None."""
    row = connection.execute("SELECT * FROM pool_builds ORDER BY build_id DESC LIMIT 1").fetchone()
    if row is None:
        return None
    return Build(
        tuple(json.loads(row["runs"])), row["search"], row["retriever"], row["depth"], row["built_at"], row["built_by"]
    )


def entries(connection: sqlite3.Connection, query_id: str) -> Iterator[Entry]:
    """Yield the candidates of a query, each once, with the best rank every source ever gave it."""
    rows = connection.execute(
        "SELECT chunk_id, origins, depth, hole FROM pool_entries JOIN pool_builds USING (build_id)"
        " WHERE query_id = ? ORDER BY chunk_id, build_id",
        (query_id,),
    )
    known: Entry | None = None
    for chunk_id, origins, depth, hole in rows:
        ranks: dict[str, int] = json.loads(origins)
        if known is not None and known.chunk_id == chunk_id:
            both = (*known.origins.items(), *ranks.items())
            best = {source: min(rank for name, rank in both if name == source) for source, _ in both}
            known = Entry(chunk_id, best, max(known.depth, depth), known.hole)
            continue
        if known is not None:
            yield known
        known = Entry(chunk_id, ranks, depth, bool(hole))
    if known is not None:
        yield known


def sizes(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Return query id → (candidates, those that nobody has judged up to now)."""
    rows = connection.execute(
        """SELECT query_id, COUNT(*), SUM(NOT EXISTS (SELECT 1 FROM current_judgments c
            WHERE c.query_id = e.query_id AND c.chunk_id = e.chunk_id))
        FROM (SELECT DISTINCT query_id, chunk_id FROM pool_entries) e GROUP BY query_id"""
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def _pairs(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT COUNT(*) FROM (SELECT DISTINCT query_id, chunk_id FROM pool_entries)")
    return int(found.fetchone()[0])
