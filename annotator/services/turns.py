"""Whose turn each question is: what was asked of whom, what people said, and who is at it, read together.

What follows from a turn is `review/standing.py`; acting on it is `queue.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from annotator.model import Query
from annotator.review.standing import Order, Turn
from annotator.services.permission import allows
from annotator.store import people, settings
from annotator.store import queue as kept

__all__ = ["Queue", "overlap_of", "queue_of", "turn_of"]

_AS_EVERYWHERE: Final = kept.Plan()
_NOTHING: Final[Mapping[str, Any]] = {}


def overlap_of(connection: sqlite3.Connection, query_id: str = "") -> int:
    """Return how many people are to label a question: its own number, or the workspace's."""
    own = kept.plan(connection, query_id).overlap if query_id else None
    return own if own is not None else int(settings.get(connection, "overlap", 1))


@dataclass(frozen=True, slots=True)
class Queue:
    """Every open or complete question with what decides whose turn it is, and how it stands for the person.

    `ids` is the person's list in their order.
    """

    who: str
    turns: Mapping[str, Turn]
    standings: Mapping[str, str]
    ids: Sequence[str]

    def needing(self, begin: str, *, stay: bool) -> list[str]:
        """Return the questions that need the person: what came back first, then from `begin` on and around."""
        at = self.ids.index(begin) if begin in self.turns and begin in self.ids else -1
        start = at if stay and at >= 0 else at + 1
        around = [*self.ids[start:], *self.ids[:start]]
        wanted = [one for one in around if self.standings[one] == "needs me"]
        if not stay or not wanted or wanted[0] != begin:
            wanted.sort(key=self._urgency)
        return wanted

    def free(self) -> list[str]:
        """Return when each of the questions in use comes free, the next one first."""
        return sorted(self.turns[one].free_at(self.who) for one in self.ids if self.standings[one] == "in use")

    def _urgency(self, query_id: str) -> int:
        turn = self.turns[query_id]
        return 0 if self.who in turn.returned else 1 if turn.calibration else 2


def queue_of(connection: sqlite3.Connection, who: str, moment: str, disputed: frozenset[str] = frozenset()) -> Queue:
    """Return how every open and complete question stands for the person, and their list, at the moment."""
    person = people.find(connection, who)
    sees_all = person is None or allows(person, "see the labels of others")
    turns = _turns(connection, who, moment, disputed, sees_all)
    known: dict[int, tuple[bool, str]] = {}  # most questions share one turn
    standings, ids = {}, []
    for query_id, turn in turns.items():
        found = known.get(id(turn))
        if found is None:
            found = known[id(turn)] = turn.is_for(who), turn.standing(who)
        mine, standings[query_id] = found
        if mine:
            ids.append(query_id)
    seed = str(settings.get(connection, "queue_seed", ""))
    if seed:
        ids.sort(key=Order(seed, who).key)
    first = [one for one in kept.calibrated(connection) if one in turns]
    if first:
        everywhere = set(first)
        ids = [*(one for one in ids if one in everywhere), *(one for one in ids if one not in everywhere)]
    return Queue(who, turns, standings, ids)


def _turns(
    connection: sqlite3.Connection, who: str, moment: str, disputed: frozenset[str], sees_all: bool
) -> dict[str, Turn]:
    """Return query id → turn of the open and complete questions, in the order they were added."""
    overlap = overlap_of(connection)
    able = _able(connection)
    given, sliced = _given(connection, able)
    plans, leases, steps = kept.plans(connection), kept.leases(connection, moment), kept.working(connection, who)
    special = given.keys() | plans.keys() | leases.keys() | steps.keys() | disputed
    plain: dict[tuple[str, str, str], Turn] = {}  # most questions share their turn with many
    turns = {}
    for query_id, state, owner, facets in kept.open_questions(connection):
        shared = plain.get((state, owner, facets))
        if shared is None:
            parts = json.loads(facets).items() if sliced else ()
            assigned = ({owner} & able).union(*(sliced.get(one, ()) for one in parts))
            shared = plain[state, owner, facets] = Turn(state, overlap, assigned=frozenset(assigned))
        if query_id not in special:
            turns[query_id] = shared
            continue
        turn = _turn(
            able,
            state,
            overlap,
            plans.get(query_id, _AS_EVERYWHERE),
            steps.get(query_id, _NOTHING),
            shared.assigned.union(given.get(query_id, ())),
            leases.get(query_id, _NOTHING),
        )
        shown = query_id in disputed and (sees_all or who in turn.finished)
        turns[query_id] = replace(turn, disputed=True) if shown else turn
    return turns


def _turn(
    able: frozenset[str],
    state: str,
    overlap: int,
    plan: kept.Plan,
    steps: Mapping[str, set[str]],
    assigned: frozenset[str],
    leases: Mapping[str, str],
) -> Turn:
    return Turn(
        state,
        plan.overlap or overlap,
        plan.calibration,
        frozenset(steps.get("finished", ())),
        able.intersection(steps.get("returned", ())),
        frozenset(steps.get("skipped", ())),
        assigned,
        leases,
    )


def turn_of(connection: sqlite3.Connection, query: Query, moment: str) -> Turn:
    """Return the turn of one question as it is now."""
    able = _able(connection)
    assigned = {one.annotator for one in kept.assignments(connection, query.query_id, query.facets)} | {query.owner}
    steps: dict[str, set[str]] = {}
    for one in kept.steps(connection, query.query_id):
        steps.setdefault(one.kind, set()).add(one.annotator)
    leases = kept.leases(connection, moment, query.query_id).get(query.query_id, {})
    plan = kept.plan(connection, query.query_id)
    return _turn(able, query.state, overlap_of(connection), plan, steps, able & assigned, leases)


def _able(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(one.name for one in people.everyone(connection) if allows(one, "grade chunks"))


def _given(
    connection: sqlite3.Connection, able: frozenset[str]
) -> tuple[dict[str, set[str]], dict[tuple[str, str], set[str]]]:
    """Return query id → people and (facet, value) → people."""
    given: dict[str, set[str]] = {}
    sliced: dict[tuple[str, str], set[str]] = {}
    for one in kept.assignments(connection):
        if one.annotator in able and one.query_id:
            given.setdefault(one.query_id, set()).add(one.annotator)
        elif one.annotator in able:
            sliced.setdefault((one.facet, one.value), set()).add(one.annotator)
    return given, sliced
