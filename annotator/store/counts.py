"""Figures over the whole workspace, counted by the database: labels, people, what has drifted, the last sync."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

__all__ = ["Labels", "drifted_chunks", "judged_queries", "labels"]


@dataclass(frozen=True, slots=True)
class Labels:
    """Judgments in force, the (query, chunk) pairs they are about, and the people who gave them."""

    judgments: int
    pairs: int
    annotators: int


def labels(connection: sqlite3.Connection) -> Labels:
    """Count the judgments in force."""
    judgments, pairs = connection.execute(
        "SELECT COALESCE(SUM(said), 0), COUNT(*) FROM ("
        "SELECT COUNT(*) AS said FROM current_judgments GROUP BY query_id, chunk_id)"
    ).fetchone()
    annotators = connection.execute("SELECT COUNT(DISTINCT annotator) FROM current_judgments").fetchone()[0]
    return Labels(judgments, pairs, annotators)


def drifted_chunks(connection: sqlite3.Connection) -> int:
    """Count the judged chunks that are gone or whose present text nobody has judged for some question.

    Goes from the texts that were judged and are no longer live, which are few, to the judgments about them.
    """
    found = connection.execute(
        """WITH past AS (
               SELECT kept.chunk_id, kept.sha256, live.sha256 AS present
               FROM judged_chunks kept LEFT JOIN chunks live USING (chunk_id) WHERE live.sha256 IS NOT kept.sha256)
           SELECT COUNT(DISTINCT past.chunk_id) FROM past
           CROSS JOIN current_judgments c ON c.chunk_id = past.chunk_id
           JOIN judgments j ON j.judgment_id = c.judgment_id AND j.sha256 = past.sha256
           JOIN queries q ON q.query_id = c.query_id AND q.state <> 'retired'
           WHERE NOT EXISTS (
               SELECT 1 FROM current_judgments other JOIN judgments newer USING (judgment_id)
               WHERE other.query_id = c.query_id AND other.chunk_id = c.chunk_id AND newer.sha256 = past.present)
           AND NOT EXISTS (
               SELECT 1 FROM adjudications a
               WHERE a.query_id = c.query_id AND a.chunk_id = c.chunk_id AND a.sha256 = past.present)"""
    ).fetchone()
    return int(found[0])


def judged_queries(connection: sqlite3.Connection, annotator: str) -> frozenset[str]:
    """Return the ids of the questions for which this person has judgments in force."""
    rows = connection.execute("SELECT DISTINCT query_id FROM current_judgments WHERE annotator = ?", (annotator,))
    return frozenset(row[0] for row in rows)
