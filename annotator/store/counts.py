"""Figures over the whole workspace, counted by the database: labels and people."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

__all__ = ["Labels", "labels"]


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
