"""The record of changes as one list: labels, decisions, re-openings, syncs, and the events of everything else.

Read only: each part is kept, append-only, where it belongs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["EVERYTHING", "Change", "Wanted", "changes", "count", "people_who_changed"]

_LABEL = "json_object('grade', {0}.grade, 'stale', {0}.stale, 'reason', {0}.reason, 'evidence', json({0}.evidence))"
_BEFORE = _LABEL.format("p")
_AFTER = _LABEL.format("j")
_EARLIER = "SELECT MAX(adjudication_id) FROM adjudications e WHERE e.query_id = j.query_id AND e.chunk_id = j.chunk_id"

_RECORD = f"""
    SELECT judged_at AS at, j.annotator AS who, 'label' AS kind, j.query_id AS query_id, j.chunk_id AS chunk_id,
        '' AS subject, judgment_id AS id,
        CASE WHEN j.undoes IS NOT NULL THEN 'label undone' WHEN j.origin = 'import' THEN 'label imported'
            WHEN j.replaces IS NOT NULL THEN 'label changed' ELSE 'label given' END AS action,
        (SELECT {_BEFORE} FROM judgments p WHERE p.judgment_id = j.replaces AND p.withdrawn = 0) AS old,
        CASE WHEN j.withdrawn = 0 THEN {_AFTER} END AS new
    FROM judgments j
    UNION ALL SELECT decided_at, reviewer, 'decision', query_id, chunk_id, '', adjudication_id, 'label decided',
        (SELECT {_BEFORE} FROM adjudications p WHERE p.adjudication_id = ({_EARLIER}
            AND e.adjudication_id < j.adjudication_id)),
        {_AFTER}
    FROM adjudications j
    UNION ALL SELECT reopened_at, reviewer, 'decision', query_id, chunk_id, '', reopening_id, 'label re-opened',
        NULL, json_object('reason', reason)
    FROM reopenings
    UNION ALL SELECT started_at, who, 'sync', '', '', source, sync_id,
        CASE WHEN total IS NULL THEN 'one chunk refreshed' ELSE 'chunk table synced' END, NULL,
        json_object('added', added, 'changed', changed, 'removed', removed, 'unchanged', unchanged, 'total', total)
    FROM syncs WHERE finished_at IS NOT NULL
    UNION ALL SELECT at, who, CASE
            WHEN subject LIKE 'query:%' THEN 'question' WHEN subject LIKE 'setting:facets%' THEN 'facets'
            WHEN subject LIKE 'setting:rubric%' THEN 'rubric' WHEN subject LIKE 'person:%' THEN 'person'
            WHEN subject LIKE 'version:%' OR subject LIKE 'tag:%' THEN 'version'
            WHEN subject LIKE 'file:%' OR subject LIKE 'run:%' THEN 'import'
            WHEN subject = 'table' THEN 'chunk table' WHEN subject = 'drift' THEN 'drift' ELSE 'setting' END,
        CASE WHEN subject LIKE 'query:%' THEN substr(subject, 7) ELSE '' END, '',
        CASE WHEN subject LIKE 'query:%' THEN '' ELSE substr(subject, instr(subject, ':') + 1) END,
        event_id, action, old, new
    FROM events
"""


@dataclass(frozen=True, slots=True)
class Change:
    """Who changed what and when (UTC). `old` and `new` are JSON texts, None where nothing was or is there.

    Labels and decisions name the question and the chunk, questions the question, everything else its `subject`.
    """

    at: str
    who: str
    kind: str
    action: str
    query_id: str
    chunk_id: str
    subject: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for; "" is anything. `since` and `until` are moments in UTC, ISO 8601, the latter not included."""

    who: str = ""
    kind: str = ""
    query_id: str = ""
    chunk_id: str = ""
    since: str = ""
    until: str = ""


EVERYTHING: Final = Wanted()


def changes(connection: sqlite3.Connection, wanted: Wanted, *, limit: int = -1, offset: int = 0) -> Iterator[Change]:
    """Yield the changes, newest first."""
    where, values = _where(wanted)
    rows = connection.execute(
        "SELECT at, who, kind, action, query_id, chunk_id, subject, old, new"
        f" FROM ({_RECORD}) WHERE {where} ORDER BY at DESC, kind, id DESC LIMIT ? OFFSET ?",
        (*values, limit, offset),
    )
    yield from (Change(*row) for row in rows)


def count(connection: sqlite3.Connection, wanted: Wanted) -> int:
    """Count the changes."""
    where, values = _where(wanted)
    return int(connection.execute(f"SELECT COUNT(*) FROM ({_RECORD}) WHERE {where}", values).fetchone()[0])


def people_who_changed(connection: sqlite3.Connection) -> list[str]:
    """Return the name of everybody who is in the record."""
    rows = connection.execute(
        "SELECT annotator FROM judgments UNION SELECT reviewer FROM adjudications UNION SELECT reviewer FROM reopenings"
        " UNION SELECT who FROM syncs UNION SELECT who FROM events ORDER BY 1"
    )
    return [row[0] for row in rows]


def _where(wanted: Wanted) -> tuple[str, tuple[str, ...]]:
    conditions = {
        "who = ?": wanted.who,
        "kind = ?": wanted.kind,
        "query_id = ?": wanted.query_id,
        "chunk_id = ?": wanted.chunk_id,
        "at >= ?": wanted.since,
        "at < ?": wanted.until,
    }
    given = {condition: value for condition, value in conditions.items() if value}
    return " AND ".join(given) or "TRUE", tuple(given.values())
