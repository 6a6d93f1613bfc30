"""Questions about labels that span tables: how far each query is, which pairs people differ on, what has drifted."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

__all__ = [
    "Progress",
    "contested",
    "documents",
    "drifted",
    "past_texts",
    "progress",
    "queries_about",
    "texts",
    "unjudged_heads",
]

_PAIRS = """(SELECT chunk_id FROM current_judgments WHERE query_id IN (SELECT value FROM json_each(?1))
    UNION SELECT chunk_id FROM adjudications WHERE query_id IN (SELECT value FROM json_each(?1))) AS pair"""
"""The chunks judged or decided on for some queries, whose ids come as JSON."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one query: pairs anybody judged, those with a grade of 1-3, and both of each person."""

    judged: int
    relevant: int
    by: Mapping[str, tuple[int, int]]


def progress(connection: sqlite3.Connection, query_ids: Collection[str] | None = None) -> dict[str, Progress]:
    """Return query id → progress, of every query with a judgment, or of those among these."""
    only, values = _of("c.query_id", query_ids)
    of_people: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for query_id, annotator, judged, relevant in connection.execute(
        f"""SELECT c.query_id, c.annotator, COUNT(*), SUM(COALESCE(j.grade, 0) > 0)
            FROM current_judgments c JOIN judgments j USING (judgment_id) {only} GROUP BY c.query_id, c.annotator""",
        values,
    ):
        of_people[query_id][annotator] = judged, relevant
    rows = connection.execute(
        f"""SELECT query_id, COUNT(*), SUM(relevant) FROM (
                SELECT c.query_id, MAX(COALESCE(j.grade, 0)) > 0 AS relevant
                FROM current_judgments c JOIN judgments j USING (judgment_id) {only} GROUP BY c.query_id, c.chunk_id)
            GROUP BY query_id""",
        values,
    )
    return {row[0]: Progress(row[1], row[2], of_people[row[0]]) for row in rows}


def drifted(connection: sqlite3.Connection, query_ids: Collection[str] | None = None) -> dict[str, frozenset[str]]:
    """Return query id → its judged chunks that are gone or whose present text nobody has judged for it.

    Goes from the texts that were judged and are no longer live, which are few, to the judgments about them.
    Retired queries are left out.
    """
    found: dict[str, set[str]] = defaultdict(set)
    only, values = _of("c.query_id", query_ids)
    judged = "" if query_ids is None else f"AND kept.chunk_id IN (SELECT chunk_id FROM current_judgments c {only})"
    for query_id, chunk_id in connection.execute(
        f"""WITH past AS (
                SELECT kept.chunk_id, kept.sha256, live.sha256 AS present
                FROM judged_chunks kept LEFT JOIN chunks live USING (chunk_id)
                WHERE live.sha256 IS NOT kept.sha256 {judged})
            SELECT c.query_id, past.chunk_id FROM past
            CROSS JOIN current_judgments c ON c.chunk_id = past.chunk_id
            JOIN judgments j ON j.judgment_id = c.judgment_id AND j.sha256 = past.sha256
            JOIN queries q ON q.query_id = c.query_id AND q.state <> 'retired'
            {only or "WHERE TRUE"} AND NOT EXISTS (
                SELECT 1 FROM current_judgments other JOIN judgments newer USING (judgment_id)
                WHERE other.query_id = c.query_id AND other.chunk_id = c.chunk_id AND newer.sha256 = past.present)
            AND NOT EXISTS (
                SELECT 1 FROM adjudications a
                WHERE a.query_id = c.query_id AND a.chunk_id = c.chunk_id AND a.sha256 = past.present)""",
        values * 2,
    ):
        found[query_id].add(chunk_id)
    return {query_id: frozenset(chunk_ids) for query_id, chunk_ids in found.items()}


def contested(connection: sqlite3.Connection, query_ids: Collection[str] | None = None) -> list[tuple[str, str]]:
    """Return the (query_id, chunk_id) whose judgments in force are not all the same grade, by id; of these queries."""
    only, values = _of("c.query_id", query_ids)
    rows = connection.execute(
        f"""SELECT c.query_id, c.chunk_id FROM current_judgments c JOIN judgments j USING (judgment_id) {only}
           GROUP BY c.query_id, c.chunk_id
           HAVING MIN(j.grade) IS NULL OR MIN(j.grade) <> MAX(j.grade) OR MIN(j.stale) <> MAX(j.stale)""",
        values,
    )
    return [(row[0], row[1]) for row in rows]


def documents(connection: sqlite3.Connection, query_ids: Collection[str]) -> dict[tuple[str, str], str]:
    """Return (chunk_id, sha256 as judged) → document as judged, for every chunk something was said about."""
    rows = connection.execute(
        f"SELECT kept.chunk_id, kept.sha256, kept.doc_id FROM {_PAIRS} JOIN judged_chunks kept USING (chunk_id)",
        (json.dumps(list(query_ids)),),
    )
    return {(row[0], row[1]): row[2] for row in rows}


def past_texts(connection: sqlite3.Connection, query_ids: Collection[str] | None = None) -> set[tuple[str, str]]:
    """Return the (chunk_id, sha256) that were judged and are no longer the chunk's text, or whose chunk is gone."""
    source, values = (
        ("judged_chunks kept", ())
        if query_ids is None
        else (
            f"{_PAIRS} JOIN judged_chunks kept USING (chunk_id)",
            (json.dumps(list(query_ids)),),
        )
    )
    rows = connection.execute(
        f"""SELECT kept.chunk_id, kept.sha256 FROM {source} LEFT JOIN chunks live USING (chunk_id)
            WHERE live.sha256 IS NOT kept.sha256""",
        values,
    )
    return {(row[0], row[1]) for row in rows}


def queries_about(connection: sqlite3.Connection, chunk_ids: Iterable[str]) -> frozenset[str]:
    """Return the ids of the queries for which one of these chunks was judged or decided on."""
    rows = connection.execute(
        """WITH asked AS (SELECT value AS chunk_id FROM json_each(?))
           SELECT c.query_id FROM asked CROSS JOIN current_judgments c USING (chunk_id)
           UNION SELECT query_id FROM adjudications WHERE chunk_id IN asked""",
        (json.dumps(list(chunk_ids)),),
    )
    return frozenset(row[0] for row in rows)


def unjudged_heads(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return the (query_id, chunk_id) among the first three of any stored run that nobody has judged, by id."""
    rows = connection.execute(
        """SELECT DISTINCT result.query_id, head.value AS chunk_id FROM run_queries result, json_each(json_array(
               json_extract(result, '$.chunk_ids[0]'), json_extract(result, '$.chunk_ids[1]'),
               json_extract(result, '$.chunk_ids[2]'))) AS head
           WHERE head.value IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM current_judgments c WHERE c.query_id = result.query_id AND c.chunk_id = head.value)
           ORDER BY result.query_id, chunk_id"""
    )
    return [(row[0], row[1]) for row in rows]


def texts(connection: sqlite3.Connection, hashes: Iterable[str] | None = None, *, limit: int = -1) -> dict[str, str]:
    """Return hash → text as judged, of these hashes or of all, at most `limit`."""
    if hashes is None:
        return dict(map(tuple, connection.execute("SELECT sha256, text FROM judged_texts LIMIT ?", (limit,))))
    wanted = json.dumps(list(hashes))
    rows = connection.execute(
        "SELECT sha256, text FROM json_each(?) JOIN judged_texts ON sha256 = value LIMIT ?", (wanted, limit)
    )
    return dict(map(tuple, rows))


def _of(column: str, query_ids: Collection[str] | None) -> tuple[str, tuple[str, ...]]:
    if query_ids is None:
        return "", ()
    return f"WHERE {column} IN (SELECT value FROM json_each(?))", (json.dumps(list(query_ids)),)
