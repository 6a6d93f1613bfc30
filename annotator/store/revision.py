"""How far the record of the workspace has come, and which questions something was said or changed about since.

Told by the newest numbers of the append-only tables, so that nobody has to read the labels to learn that none came.
"""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, dataclass
from pathlib import Path

__all__ = ["Revision", "changed_questions", "revision"]

_ABOUT_NO_LABEL = ("person:", "version:", "tag:", "run:")
"""Beginnings of the subjects of events that touch neither questions, nor labels, nor what is made of them."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The newest number of each table, of syncs the newest finished one, and which file the database is.

    `moving` says that chunks were written since that sync: by one that runs or was interrupted, or by looking at them.
    """

    judgments: int
    adjudications: int
    reopenings: int
    set_aside: int
    events: int
    syncs: int
    file: int
    moving: bool


def revision(connection: sqlite3.Connection) -> Revision:
    """Return how far the record has come, as this connection sees it."""
    newest = connection.execute(
        """SELECT (SELECT MAX(judgment_id) FROM judgments), (SELECT MAX(adjudication_id) FROM adjudications),
           (SELECT MAX(reopening_id) FROM reopenings), (SELECT MAX(aside_id) FROM set_aside),
           (SELECT MAX(event_id) FROM events),
           (SELECT MAX(sync_id) FROM syncs WHERE finished_at IS NOT NULL),
           (SELECT MAX(sync_id) FROM chunks), (SELECT MAX(sync_id) FROM removed_chunks)"""
    ).fetchone()
    judgments, adjudications, reopenings, set_aside, events, syncs, *chunks = (number or 0 for number in newest)
    path = connection.execute("PRAGMA database_list").fetchone()[2]
    # A restored database is another file, whatever its numbers are.
    file = Path(path).stat().st_ino
    return Revision(judgments, adjudications, reopenings, set_aside, events, syncs, file, max(chunks) > syncs)


def changed_questions(connection: sqlite3.Connection, since: Revision) -> frozenset[str] | None:
    """Return the ids of the questions something changed about, also in a judged chunk's text; None for perhaps all."""
    present = revision(connection)
    numbers = zip(astuple(present)[:-2], astuple(since)[:-2], strict=True)
    if present.file != since.file or any(now < then for now, then in numbers):
        return None
    found = {
        row[0]
        for row in connection.execute(
            """SELECT query_id FROM judgments WHERE judgment_id > ? UNION
               SELECT query_id FROM adjudications WHERE adjudication_id > ? UNION
               SELECT query_id FROM reopenings WHERE reopening_id > ? UNION
               SELECT query_id FROM set_aside WHERE aside_id > ?""",
            (since.judgments, since.adjudications, since.reopenings, since.set_aside),
        )
    }
    for (subject,) in connection.execute("SELECT subject FROM events WHERE event_id > ?", (since.events,)):
        if subject.startswith("query:"):
            found.add(subject.removeprefix("query:"))
        elif not subject.startswith(_ABOUT_NO_LABEL):
            return None
    if present.syncs > since.syncs or present.moving or since.moving:
        rows = connection.execute(
            """WITH moved AS (SELECT chunk_id FROM chunks WHERE sync_id > ?
                              UNION ALL SELECT chunk_id FROM removed_chunks WHERE sync_id > ?)
               SELECT query_id FROM moved CROSS JOIN current_judgments USING (chunk_id)
               UNION SELECT query_id FROM adjudications WHERE chunk_id IN moved""",
            (since.syncs, since.syncs),
        )
        found.update(row[0] for row in rows)
    return frozenset(found)
