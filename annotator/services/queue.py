"""A person's queue: which question is theirs now, claiming it, finishing, skipping and taking it back.

A claim is a lease of half an hour that every saved label renews. It guides the queue only: whatever a person does on a
question that is not theirs is kept all the same. Who gets what is decided in `sharing.py`.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from annotator.errors import Conflict, InputError
from annotator.model import Query
from annotator.services.examined import unsettled_of
from annotator.services.permission import allows, require
from annotator.services.turns import Queue, overlap_of, queue_of, turn_of
from annotator.store import decisions, events, judgments, people, queries
from annotator.store import queue as kept
from annotator.store.database import Workspace, now
from annotator.store.decisions import Reopening
from annotator.store.queue import Step

__all__ = [
    "LEASE_MINUTES",
    "LONGEST_REASON",
    "Desk",
    "Mine",
    "Pause",
    "complete_when_done",
    "desk",
    "finish",
    "give_back",
    "mine",
    "minutes_until",
    "renew",
    "skip",
    "standing_of",
    "stay",
    "take_back",
]

LEASE_MINUTES: Final = 30
"""How long a question is kept for a person who does nothing."""

_RENEW_MINUTES: Final = 25
LONGEST_REASON: Final = 1_000


@dataclass(frozen=True, slots=True)
class Desk:
    """One question as a person works on it. `position` counts from 1 among the `total` questions of their list.

    `standing` is the question's for this person. `free_at`: when a question in use comes free, UTC. `compares`: the
    person finished this calibration question once, and may see how their labels compare. `step`: what they last said
    about it. `reopened`: labels of theirs that a reviewer wants judged again.
    """

    query: Query
    position: int
    total: int
    previous: str
    following: str
    next_open: str
    """The next question that needs the person, "" when none does."""
    standing: str
    free_at: str = ""
    calibration: bool = False
    compares: bool = False
    step: Step | None = None
    reopened: tuple[Reopening, ...] = ()

    @property
    def finished(self) -> bool:
        return self.step is not None and self.step.kind == "finished"


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing needs the person now. Others work on questions that may come back: so many, the next one then; none of
    them when every question is given to others."""

    in_use: int
    free_at: str


@dataclass(frozen=True, slots=True)
class Mine:
    """A person's list by standing, the question to go on with ("" without one), and when the next comes free.

    `begun`: it is the one they were at. Another one may be somebody else's by the time it is opened.
    """

    counts: Mapping[str, int]
    next_query: str
    free_at: str
    begun: bool = False


def desk(
    workspace: Workspace, who: str, query_id: str = "", *, after: str = "", moment: str = ""
) -> Desk | Pause | None:
    """Return the desk for a question; without one, for the question the person was at, or the next that needs them.

    `after` names the question just left: the search goes on behind it. A question that needs the person is claimed;
    any other can be looked at and graded all the same. None when there is no question at all. Raises NotFound.
    """
    moment = moment or now()
    with workspace.read() as connection:
        queue = queue_of(connection, who, moment)
        last = kept.lease(connection, who)
        if query_id:
            queries.query(connection, query_id)
    if query_id:
        if queue.standings.get(query_id) == "needs me" and not _fresh(last, query_id, moment):
            with workspace.write() as connection:
                _claim(connection, who, query_id, moment)
    else:
        begin = after or (last[0] if last else "")
        query_id = _claim_first(workspace, queue, begin, after == "", moment)
        if not query_id:
            if free := queue.free():
                return Pause(len(free), free[0])
            query_id = begin or next(iter(queue.ids), "")
            if not query_id:
                return Pause(0, "") if queue.turns else None
    with workspace.read() as connection:
        return _desk(connection, queue, query_id, moment)


def stay(workspace: Workspace, who: str, query_id: str, *, moment: str = "") -> None:
    """Keep the question for a person who is still at it: the sign of life of an open page."""
    with workspace.write() as connection:
        renew(connection, who, query_id, moment or now())


def renew(connection: sqlite3.Connection, who: str, query_id: str, moment: str) -> None:
    """Prolong the person's lease where it is due, as part of a transaction that writes."""
    if not _fresh(kept.lease(connection, who), query_id, moment):
        _claim(connection, who, query_id, moment)


def finish(workspace: Workspace, who: str, query_id: str) -> Query:
    """Say that one is done with the question; complete it is when as many people as wanted are.

    Raises Conflict when the person judged nothing and it is answerable, Forbidden for readers.
    """
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        query = _working(connection, query_id)
        if not judgments.counts(connection, query_id, who)[0] and not query.unanswerable:
            raise Conflict(
                "You judged nothing for this question yet.",
                hint="Grade some chunks first, or mark it unanswerable when no chunk answers it.",
            )
        _say(connection, query_id, who, "finished", who)
        return complete_when_done(connection, query, who)


def skip(workspace: Workspace, who: str, query_id: str, reason: str) -> Query:
    """Leave the question to others, saying why. Raises InputError without a reason, Conflict for a finished one."""
    reason = " ".join(reason.split())
    if not reason:
        raise InputError("Say in a few words why you leave this question to others.")
    if len(reason) > LONGEST_REASON:
        raise InputError(f"The reason has {len(reason):,} characters; {LONGEST_REASON:,} is the most.")
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        query = _working(connection, query_id)
        if who in kept.people_with(connection, query_id, "finished"):
            raise Conflict("You finished this question already.", hint="Take it back first.")
        _say(connection, query_id, who, "skipped", who, reason)
        return complete_when_done(connection, query, who)


def take_back(workspace: Workspace, who: str, query_id: str) -> Query:
    """Go on with a question one had finished or skipped. Raises NotFound or Conflict."""
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        query = _working(connection, query_id)
        before = kept.people_with(connection, query_id, "finished")
        give_back(connection, query_id, [who], who)
        if query.state == "complete" and who in before and len(before) - 1 < overlap_of(connection, query_id):
            return queries.change(connection, replace(query, state="open"), who)
        return query


def give_back(connection: sqlite3.Connection, query_id: str, names: Iterable[str], who: str, reason: str = "") -> None:
    """Put the question into these people's queues again, whatever others do with it."""
    for name in names:
        _say(connection, query_id, name, "returned", who, reason)


def complete_when_done(connection: sqlite3.Connection, query: Query, who: str) -> Query:
    """Complete a question that as many people finished as are wanted."""
    finished = kept.people_with(connection, query.query_id, "finished")
    if query.state not in ("draft", "open") or len(finished) < overlap_of(connection, query.query_id):
        return query
    return queries.change(connection, replace(query, state="complete"), who)


def minutes_until(moment: str) -> str:
    """Write how long it is until the moment, in whole minutes and at least one: "12 minutes"."""
    left = datetime.fromisoformat(moment) - datetime.fromisoformat(now())
    number = max(1, -int(-left.total_seconds() // 60))
    return "1 minute" if number == 1 else f"{number} minutes"


def mine(connection: sqlite3.Connection, who: str, disputed: frozenset[str] = frozenset()) -> Mine:
    """Return how the person's questions stand. `disputed` are the questions people differ on.

    That a question is disputed is told to those who finished it and to those who may see the labels of others.
    """
    queue = queue_of(connection, who, now(), disputed)
    last = kept.lease(connection, who)
    left = last[0] if last else ""
    following = next(iter(queue.needing(left, stay=True)), "")
    counts = Counter(queue.standings[one] for one in queue.ids)
    return Mine(counts, following, next(iter(queue.free()), ""), bool(following) and following == left)


def standing_of(
    connection: sqlite3.Connection, who: str, disputed: frozenset[str] = frozenset(), moment: str = ""
) -> dict[str, str]:
    """Return query id → standing for this person, of every open and complete question."""
    return dict(queue_of(connection, who, moment or now(), disputed).standings)


def _claim(connection: sqlite3.Connection, who: str, query_id: str, moment: str) -> bool:
    """Let the person work on the question if it needs them; decided in the transaction that writes the lease."""
    person = people.find(connection, who)
    query = queries.find(connection, query_id)
    if person is None or query is None or not allows(person, "grade chunks"):
        return False
    if turn_of(connection, query, moment).standing(who) != "needs me":
        return False
    kept.put_lease(connection, who, query_id, _later(moment, LEASE_MINUTES))
    return True


def _claim_first(workspace: Workspace, queue: Queue, begin: str, stay: bool, moment: str) -> str:
    wanted = queue.needing(begin, stay=stay)
    if not wanted:
        return ""
    with workspace.write() as connection:
        person = people.find(connection, queue.who)
        if person is None or not allows(person, "grade chunks"):
            return wanted[0]  # looks on without a claim
        return next((one for one in wanted if _claim(connection, queue.who, one, moment)), "")


def _desk(connection: sqlite3.Connection, queue: Queue, query_id: str, moment: str) -> Desk:
    who, ids = queue.who, queue.ids
    query = queries.query(connection, query_id)
    turn = turn_of(connection, query, moment)
    person = people.find(connection, who)
    if who in turn.finished or person is None or allows(person, "see the labels of others"):
        turn = replace(turn, disputed=any(one.differs for one in unsettled_of(connection, query_id)))
    at = ids.index(query_id) if query_id in queue.turns and query_id in ids else -1
    own = {one.chunk_id for one in judgments.current(connection, query_id=query_id, annotator=who)}
    reopened = decisions.reopened(connection, query_id)
    return Desk(
        query=query,
        position=at + 1,
        total=len(ids),
        previous=ids[at - 1] if at > 0 else "",
        following=ids[at + 1] if at + 1 < len(ids) else "",
        next_open=next((one for one in queue.needing(query_id, stay=False) if one != query_id), ""),
        standing=turn.standing(who),
        free_at=turn.free_at(who),
        calibration=turn.calibration,
        compares=turn.calibration and who in kept.first_finished(connection, query_id),
        step=kept.step(connection, query_id, who),
        reopened=tuple(one for (_, chunk_id), one in reopened.items() if chunk_id in own),
    )


def _say(connection: sqlite3.Connection, query_id: str, annotator: str, kind: str, who: str, reason: str = "") -> None:
    """Record a step, once; whoever leaves a question ends the lease on it."""
    before = kept.step(connection, query_id, annotator)
    if before is not None and (before.kind, before.reason) == (kind, reason):
        return
    kept.record(connection, query_id, annotator, kind, who, reason)
    events.record(
        connection, who, f"question {kind}", f"query:{query_id}",
        old=None if before is None else {"annotator": annotator, "said": before.kind, "reason": before.reason},
        new={"annotator": annotator, "said": kind, "reason": reason},
    )  # fmt: skip
    held = kept.lease(connection, annotator)
    if kind != "returned" and held is not None and held[0] == query_id:
        kept.put_lease(connection, annotator, query_id, now())


def _working(connection: sqlite3.Connection, query_id: str) -> Query:
    query = queries.query(connection, query_id)
    if query.state == "retired":
        raise Conflict(f"The question {query_id!r} is retired.", hint="Reopen it on the Queries page first.")
    return query


def _fresh(held: tuple[str, str] | None, query_id: str, moment: str) -> bool:
    return held is not None and held[0] == query_id and held[1] > _later(moment, _RENEW_MINUTES)


def _later(moment: str, minutes: int) -> str:
    at = datetime.fromisoformat(moment) + timedelta(minutes=minutes)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
