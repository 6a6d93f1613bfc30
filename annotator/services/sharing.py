"""Sharing the questions out: who gets which, how many people label each, in what order, and the calibration set.

Changes take effect at once, on questions finished before as well. What a person is given to do is `queue.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from annotator.errors import InputError
from annotator.services import queue, turns
from annotator.services.permission import allows, require
from annotator.store import events, people, queries, settings
from annotator.store import queue as kept
from annotator.store.database import Workspace
from annotator.store.queue import Assignment, Plan, Step

__all__ = [
    "MOST",
    "Assignment",
    "Load",
    "OfQuestion",
    "Plan",
    "Shared",
    "assign",
    "calibrate",
    "of_question",
    "set_overlap",
    "set_plan",
    "shared",
    "workspace_plan",
]

MOST: Final = 100
"""People per question."""
LONGEST_SEED: Final = 100


@dataclass(frozen=True, slots=True)
class Load:
    """One person's work: how their questions stand, and how many they finished or left to others."""

    name: str
    standings: Mapping[str, int]
    finished: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Shared:
    """How the work is shared out. `plans` holds the questions for which something differs from the workspace's plan."""

    overlap: int
    seed: str
    assignments: Sequence[Assignment]
    plans: Mapping[str, Plan]
    loads: Sequence[Load]
    skips: Sequence[Step]


def shared(workspace: Workspace, who: str) -> Shared:
    """Return how the work is shared out and how far everybody is. Raises Forbidden for annotators and readers."""
    with workspace.read() as connection:
        require(connection, who, "share out questions")
        tallies = kept.tallies(connection)
        loads = [
            Load(
                name,
                queue.mine(connection, name).counts,
                tallies.get(name, {}).get("finished", 0),
                tallies.get(name, {}).get("skipped", 0),
            )
            for name in _able(connection)
        ]
        return Shared(
            turns.overlap_of(connection),
            str(settings.get(connection, "queue_seed", "")),
            kept.assignments(connection),
            kept.plans(connection),
            loads,
            kept.skips(connection),
        )


def workspace_plan(workspace: Workspace) -> tuple[int, str]:
    """Return how many people label each question, and the seed of everybody's own order ("": as they were added)."""
    with workspace.read() as connection:
        return turns.overlap_of(connection), str(settings.get(connection, "queue_seed", ""))


@dataclass(frozen=True, slots=True)
class OfQuestion:
    """Whom one question is given to, by its id or a slice, how many are wanted, and what each last said about it."""

    assigned: Sequence[str]
    overlap: int
    calibration: bool
    steps: Sequence[Step]


def of_question(workspace: Workspace, who: str, query_id: str) -> OfQuestion:
    """Return how one question is shared out. Raises NotFound, and Forbidden for annotators and readers."""
    with workspace.read() as connection:
        require(connection, who, "share out questions")
        query = queries.query(connection, query_id)
        given = {one.annotator for one in kept.assignments(connection, query_id, query.facets)} | {query.owner}
        return OfQuestion(
            sorted(given & set(_able(connection))),
            turns.overlap_of(connection, query_id),
            kept.plan(connection, query_id).calibration,
            kept.steps(connection, query_id),
        )


def assign(
    workspace: Workspace,
    who: str,
    names: Iterable[str],
    *,
    query_ids: Iterable[str] = (),
    part: tuple[str, str] | None = None,
) -> None:
    """Give the questions, or the slice (facet, value) with all its questions, to exactly these people.

    Nobody named: they are for everybody again. Raises NotFound, InputError for somebody who cannot label, Forbidden
    for annotators and readers.
    """
    wanted = set(names)
    with workspace.write() as connection:
        require(connection, who, "share out questions")
        if strangers := wanted - set(_able(connection)):
            raise InputError(f"Nobody who labels here is called {', '.join(sorted(strangers))}.", hint="See Settings.")
        targets = [Assignment("", queries.query(connection, one).query_id) for one in dict.fromkeys(query_ids)]
        targets += [Assignment("", "", *part)] if part and all(part) else []
        every = kept.assignments(connection)
        for target in targets:
            before = {one.annotator for one in every if replace(one, annotator="") == target}
            for name in before - wanted:
                kept.unassign(connection, replace(target, annotator=name))
            for name in wanted - before:
                kept.assign(connection, replace(target, annotator=name))
            if before != wanted:
                subject = f"query:{target.query_id}" if target.query_id else f"slice:{target.facet}: {target.value}"
                events.record(connection, who, "given to people", subject, old=sorted(before), new=sorted(wanted))


def set_plan(workspace: Workspace, who: str, overlap: int, seed: str = "") -> None:
    """Set how many people label each question, and the seed of everybody's own order ("": as the questions were added).

    Questions finished before are open again where people are wanting, and complete where enough of them finished.
    Raises InputError, and Forbidden for anybody but an admin.
    """
    _check(overlap)
    seed = seed.strip()
    if len(seed) > LONGEST_SEED:
        raise InputError(f"The seed has {len(seed)} characters; {LONGEST_SEED} is the most.")
    with workspace.write() as connection:
        require(connection, who, "change how labels are settled")
        old = {
            "overlap": turns.overlap_of(connection), "queue_seed": str(settings.get(connection, "queue_seed", "")),
        }  # fmt: skip
        new = {"overlap": overlap, "queue_seed": seed}
        if old == new:
            return
        for name, value in new.items():
            settings.put(connection, name, value)
        events.record(connection, who, "queue changed", "setting:queue", old=old, new=new)
        _recount(connection, who)


def set_overlap(workspace: Workspace, who: str, query_ids: Iterable[str], overlap: int | None) -> None:
    """Set how many people label these questions; None: as many as everywhere.

    Raises NotFound, InputError, and Forbidden for annotators and readers.
    """
    if overlap is not None:
        _check(overlap)
    _replan(workspace, who, query_ids, overlap=overlap)


def calibrate(workspace: Workspace, who: str, query_ids: Iterable[str], calibration: bool = True) -> None:
    """Take questions into the calibration set, which everybody labels, or out of it.

    Raises NotFound, and Forbidden for annotators and readers.
    """
    _replan(workspace, who, query_ids, calibration=calibration)


def _replan(workspace: Workspace, who: str, query_ids: Iterable[str], **fields: object) -> None:
    with workspace.write() as connection:
        require(connection, who, "share out questions")
        ids = list(dict.fromkeys(query_ids))
        for query_id in ids:
            queries.query(connection, query_id)
            old = kept.plan(connection, query_id)
            new = replace(old, **fields)  # type: ignore[arg-type]
            if new != old:
                kept.put_plan(connection, query_id, new)
                events.record(
                    connection, who, "sharing changed", f"query:{query_id}", old=_record(old), new=_record(new)
                )
        _recount(connection, who, frozenset(ids))


def _recount(connection: sqlite3.Connection, who: str, only: frozenset[str] | None = None) -> None:
    """Bring the states in line with how many people finished. What came complete with an import stays so."""
    everywhere, plans = turns.overlap_of(connection), kept.plans(connection)
    for query_id, finished in kept.finished(connection).items():
        if only is not None and query_id not in only:
            continue
        state = "complete" if finished >= (plans.get(query_id, Plan()).overlap or everywhere) else "open"
        query = queries.query(connection, query_id)
        if query.state != state:
            queries.change(connection, replace(query, state=state), who)


def _able(connection: sqlite3.Connection) -> list[str]:
    return [one.name for one in people.everyone(connection) if allows(one, "grade chunks")]


def _record(plan: Plan) -> dict[str, object]:
    return {"overlap": plan.overlap, "calibration": plan.calibration}


def _check(overlap: int) -> None:
    if not 1 <= overlap <= MOST:
        raise InputError(f"{overlap} people per question cannot be had.", hint=f"Choose 1 to {MOST}.")
