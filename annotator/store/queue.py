"""Whose turn a question is, as kept: what people said about it as a whole, leases, assignments, plans.

A lease guides the queue and keeps nobody from saving. What the rows mean for a person is `review/standing.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from annotator.store.database import now

__all__ = [
    "Assignment",
    "Plan",
    "Step",
    "assign",
    "assignments",
    "calibrated",
    "finished",
    "first_finished",
    "lease",
    "leases",
    "open_questions",
    "people_with",
    "plan",
    "plans",
    "put_lease",
    "put_plan",
    "record",
    "skips",
    "step",
    "steps",
    "tallies",
    "unassign",
    "working",
]


@dataclass(frozen=True, slots=True)
class Step:
    """What a person last said about a question: `kind` is finished, skipped or returned; `who` recorded it."""

    query_id: str
    annotator: str
    kind: str
    reason: str
    who: str
    at: str


@dataclass(frozen=True, slots=True, order=True)
class Assignment:
    """A question, or a slice with all its questions now and later, given to a person."""

    annotator: str
    query_id: str = ""
    facet: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What differs for one question: the number of people wanted (None: as everywhere), and calibration."""

    overlap: int | None = None
    calibration: bool = False


def record(
    connection: sqlite3.Connection, query_id: str, annotator: str, kind: str, who: str, reason: str = ""
) -> None:
    """Record what the person said, or `who` for them, about the question as a whole."""
    connection.execute(
        "INSERT INTO steps (query_id, annotator, kind, reason, who, at, after_judgment)"
        " VALUES (?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(judgment_id), 0) FROM judgments))",
        (query_id, annotator, kind, reason, who, now()),
    )


def step(connection: sqlite3.Connection, query_id: str, annotator: str) -> Step | None:
    """Return the last step of the person on the question, or None."""
    row = connection.execute(
        "SELECT s.* FROM current_steps c JOIN steps s USING (step_id) WHERE c.query_id = ? AND c.annotator = ?",
        (query_id, annotator),
    ).fetchone()
    return None if row is None else _step(row)


def steps(connection: sqlite3.Connection, query_id: str) -> list[Step]:
    """Return the last step of everybody on the question, by name."""
    rows = connection.execute(
        "SELECT s.* FROM current_steps c JOIN steps s USING (step_id) WHERE c.query_id = ? ORDER BY c.annotator",
        (query_id,),
    )
    return [_step(row) for row in rows]


def people_with(connection: sqlite3.Connection, query_id: str, kind: str) -> frozenset[str]:
    """Return whose last step on the question is of this kind."""
    rows = connection.execute("SELECT annotator FROM current_steps WHERE query_id = ? AND kind = ?", (query_id, kind))
    return frozenset(row[0] for row in rows)


def skips(connection: sqlite3.Connection) -> list[Step]:
    """Return the skips that stand, of questions that are open, newest first."""
    rows = connection.execute(
        "SELECT s.* FROM current_steps c JOIN steps s USING (step_id) JOIN queries q ON q.query_id = c.query_id"
        " WHERE c.kind = 'skipped' AND q.state = 'open' ORDER BY s.step_id DESC"
    )
    return [_step(row) for row in rows]


def working(connection: sqlite3.Connection, annotator: str) -> dict[str, dict[str, set[str]]]:
    """Return query id → kind → people, as far as it can matter to the person: of open questions, and their own."""
    found: dict[str, dict[str, set[str]]] = {}
    cursor = connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        "SELECT c.query_id, c.annotator, c.kind FROM queries q CROSS JOIN current_steps c USING (query_id)"
        " WHERE q.state = 'open'"
        " UNION ALL SELECT c.query_id, c.annotator, c.kind FROM current_steps c CROSS JOIN queries q USING (query_id)"
        " WHERE c.annotator = ? AND q.state = 'complete'",
        (annotator,),
    )
    for query_id, name, kind in rows:
        found.setdefault(query_id, {}).setdefault(kind, set()).add(name)
    return found


def tallies(connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
    """Return person → kind → number of questions, of questions that are not retired."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    rows = connection.execute(
        "SELECT c.annotator, c.kind, COUNT(*) FROM current_steps c JOIN queries q USING (query_id)"
        " WHERE q.state <> 'retired' GROUP BY c.annotator, c.kind"
    )
    for name, kind, number in rows:
        found[name][kind] = number
    return found


def finished(connection: sqlite3.Connection) -> dict[str, int]:
    """Return query id → how many people finished it, of open and complete questions that somebody finished."""
    rows = connection.execute(
        "SELECT c.query_id, COUNT(*) FROM current_steps c JOIN queries q USING (query_id)"
        " WHERE c.kind = 'finished' AND q.state IN ('open', 'complete') GROUP BY c.query_id"
    )
    return dict(map(tuple, rows))


def first_finished(connection: sqlite3.Connection, query_id: str) -> dict[str, int]:
    """Return person → the last judgment of the workspace when they first finished the question."""
    rows = connection.execute(
        "SELECT annotator, MIN(after_judgment) FROM steps WHERE query_id = ? AND kind = 'finished' GROUP BY annotator",
        (query_id,),
    )
    return {row[0]: row[1] for row in rows}


def lease(connection: sqlite3.Connection, annotator: str) -> tuple[str, str] | None:
    """Return the question the person works on or worked on last, and until when it is theirs; None without one."""
    row = connection.execute("SELECT query_id, expires_at FROM leases WHERE annotator = ?", (annotator,)).fetchone()
    return None if row is None else (row[0], row[1])


def leases(connection: sqlite3.Connection, moment: str, query_id: str = "") -> dict[str, dict[str, str]]:
    """Return query id → person → end of the leases that run at the moment, of one question or of all."""
    found: dict[str, dict[str, str]] = {}
    of_one = "query_id = ? AND " if query_id else ""
    rows = connection.execute(
        f"SELECT query_id, annotator, expires_at FROM leases WHERE {of_one}expires_at > ?",
        (query_id, moment) if query_id else (moment,),
    )
    for row in rows:
        found.setdefault(row[0], {})[row[1]] = row[2]
    return found


def put_lease(connection: sqlite3.Connection, annotator: str, query_id: str, expires_at: str) -> None:
    """Let the person work on the question until then; their former lease ends."""
    connection.execute(
        "INSERT INTO leases VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET query_id = excluded.query_id, expires_at = excluded.expires_at",
        (annotator, query_id, expires_at),
    )


def assignments(
    connection: sqlite3.Connection, query_id: str = "", facets: Mapping[str, str] | None = None
) -> list[Assignment]:
    """Return all assignments; with a question, those that reach it by its id or one of its facets."""
    if not query_id:
        rows = connection.execute("SELECT annotator, query_id, facet, value FROM assignments ORDER BY 1, 2, 3, 4")
    else:
        rows = connection.execute(
            "SELECT annotator, query_id, facet, value FROM assignments WHERE query_id = ?"
            " UNION SELECT annotator, a.query_id, facet, a.value FROM json_each(?) slice CROSS JOIN assignments a"
            " ON a.query_id = '' AND a.facet = slice.key AND a.value = slice.value",
            (query_id, json.dumps(dict(facets or {}), ensure_ascii=False)),
        )
    return [Assignment(*row) for row in rows]


def assign(connection: sqlite3.Connection, new: Assignment) -> bool:
    """Give the question or slice to the person; False when they have it already."""
    done = connection.execute(
        "INSERT OR IGNORE INTO assignments VALUES (?, ?, ?, ?)", (new.annotator, new.query_id, new.facet, new.value)
    )
    return done.rowcount > 0


def unassign(connection: sqlite3.Connection, old: Assignment) -> bool:
    """Take the question or slice from the person; False when they did not have it."""
    done = connection.execute(
        "DELETE FROM assignments WHERE annotator = ? AND query_id = ? AND facet = ? AND value = ?",
        (old.annotator, old.query_id, old.facet, old.value),
    )
    return done.rowcount > 0


def plan(connection: sqlite3.Connection, query_id: str) -> Plan:
    """Return what differs for the question."""
    row = connection.execute("SELECT overlap, calibration FROM plans WHERE query_id = ?", (query_id,)).fetchone()
    return Plan() if row is None else Plan(row[0], bool(row[1]))


def plans(connection: sqlite3.Connection) -> dict[str, Plan]:
    """Return query id → plan, of the questions for which something differs."""
    rows = connection.execute("SELECT query_id, overlap, calibration FROM plans")
    return {row[0]: Plan(row[1], bool(row[2])) for row in rows}


def put_plan(connection: sqlite3.Connection, query_id: str, new: Plan) -> None:
    """Store what differs for the question."""
    connection.execute(
        "INSERT INTO plans VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET overlap = excluded.overlap, calibration = excluded.calibration",
        (query_id, new.overlap, int(new.calibration)),
    )


def calibrated(connection: sqlite3.Connection) -> list[str]:
    """Return the ids of the questions everybody labels, without retired ones, in the order they were added."""
    rows = connection.execute(
        "SELECT query_id FROM plans JOIN queries q USING (query_id) WHERE calibration = 1 AND q.state <> 'retired'"
        " ORDER BY q.row"
    )
    return [row[0] for row in rows]


def open_questions(connection: sqlite3.Connection) -> list[tuple[str, str, str, str]]:
    """Return (query_id, state, owner, facets as JSON) of the open and complete questions as they were added."""
    cursor = connection.cursor()
    cursor.row_factory = None  # plain tuples: there may be many
    return cursor.execute(
        "SELECT query_id, state, owner, facets FROM queries NOT INDEXED WHERE state IN ('open', 'complete')"
        " ORDER BY row"  # nearly all of them, in the order of the table: reading it through is the shortest way
    ).fetchall()


def _step(row: sqlite3.Row) -> Step:
    return Step(row["query_id"], row["annotator"], row["kind"], row["reason"], row["who"], row["at"])
