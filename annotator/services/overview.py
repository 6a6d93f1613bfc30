"""How the workspace stands: the counts of `status`, and what the Home page tells a person to do next."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from annotator.model import QUERY_STATES, Person, Query
from annotator.review.coverage import Coverage, coverage
from annotator.services import in_place, permission, queue
from annotator.services.examined import differing
from annotator.services.facets import facet_names, facet_targets
from annotator.services.per_question import PerQuestion
from annotator.store import corpus, counts, labels, people, queries, runs, settings, versions
from annotator.store.corpus import Sync
from annotator.store.database import Workspace
from annotator.store.runs import RunInfo
from annotator.store.versions import Version

__all__ = ["Home", "NextStep", "home", "status"]


@dataclass(frozen=True, slots=True)
class NextStep:
    """What to do next: one sentence, the page where it is done, and the question it is about if it is about one."""

    sentence: str
    page: str
    query_id: str = ""


@dataclass(frozen=True, slots=True)
class Home:
    """What the Home page shows one person."""

    connected: bool
    chunks: int
    last_sync: Sync | None
    drift: int
    queries: Mapping[str, int]
    """State → number of questions; every state is there."""
    queue: Mapping[str, int]
    """Standing → number of questions of this person's list; none for who does not label."""
    free_at: str
    """When the next question in use comes free, "" when none is in use."""
    next_query: str
    disputes: int
    coverage: Coverage
    targets: Mapping[str, Mapping[str, int]]
    latest_version: Version | None
    latest_run: RunInfo | None
    next_step: NextStep
    in_place: bool = False
    """Whether the live table is searched in place: `chunks` are then those that were looked at."""
    about: int | None = None
    """Roughly how many chunks it has."""

    @property
    def progress(self) -> float:
        """Share of the questions, without drafts and retired ones, on which work is finished; 0 to 1."""
        working = sum(self.queries[state] for state in ("open", "complete", "disputed"))
        return self.queries["complete"] / working if working else 0.0


def status(workspace: Workspace) -> dict[str, object]:
    """Return the counts of the workspace under the names that scripts rely on."""
    with workspace.read() as connection:
        disputed = differing(workspace, connection)
        every = queries.all_queries(connection)
        said = counts.labels(connection)
        return {
            "chunks": corpus.count(connection),
            "queries": _states(every, frozenset(disputed)),
            "judgments": said.judgments,
            "judged_pairs": said.pairs,
            "annotators": said.annotators,
            "disputes": sum(disputed.values()),
            "coverage": {facet: dict(values) for facet, values in _coverage(connection, every).counts.items()},
            "versions": len(versions.all_versions(connection)),
            "drift": _drift(workspace, connection),
        }


def home(workspace: Workspace, annotator: str) -> Home:
    """Return what the Home page shows this person."""
    with workspace.read() as connection:
        disputed = differing(workspace, connection)
        every = queries.all_queries(connection)
        person = people.find(connection, annotator) or Person(annotator, "reader")
        grades = permission.allows(person, "grade chunks")
        mine = queue.mine(connection, annotator, frozenset(disputed)) if grades else queue.Mine({}, "", "")
        following = queries.find(connection, mine.next_query)
        known_versions = versions.all_versions(connection)
        known_runs = runs.all_runs(connection)
        found = Home(
            connected=settings.get(connection, "table") is not None,
            chunks=corpus.count(connection),
            last_sync=corpus.last_sync(connection)[0],
            drift=_drift(workspace, connection),
            queries=_states(every, frozenset(disputed)),
            queue=mine.counts,
            free_at=mine.free_at,
            next_query=mine.next_query,
            disputes=sum(disputed.values()),
            coverage=_coverage(connection, every),
            targets=facet_targets(connection),
            latest_version=known_versions[0] if known_versions else None,
            latest_run=known_runs[0] if known_runs else None,
            next_step=NextStep("", "home"),
            in_place=in_place.is_on_in(connection),
            about=in_place.about(connection),
        )
    return replace(found, next_step=_next_step(found, person, following if mine.begun else None))


def _drift(workspace: Workspace, connection: sqlite3.Connection) -> int:
    """Count the judged chunks that changed or vanished, each once."""
    return len(frozenset().union(*_drifted.of(workspace, connection).values()))


def _drifted_of(
    connection: sqlite3.Connection, only: Collection[str] | None, _: object
) -> Mapping[str, frozenset[str]]:
    return labels.drifted(connection, only)


_drifted = PerQuestion(_drifted_of)


def _states(every: Sequence[Query], disputed: frozenset[str]) -> dict[str, int]:
    found = dict.fromkeys(QUERY_STATES, 0)
    for one in every:
        derived = one.query_id in disputed and one.state in ("open", "complete")
        found["disputed" if derived else one.state] += 1
    return found


def _coverage(connection: sqlite3.Connection, every: Sequence[Query]) -> Coverage:
    working = [one for one in every if one.state in ("open", "complete")]
    return coverage(working, facet_names(connection), facet_targets(connection))


def _next_step(found: Home, person: Person, following: Query | None) -> NextStep:
    decides = permission.allows(person, "settle labels")
    if not found.connected and permission.allows(person, "connect a chunk table"):
        return NextStep("Connect the chunk table of your retrieval system.", "settings")
    if not (found.chunks or found.in_place) and permission.allows(person, "sync the chunk table"):
        return NextStep("Read in the chunk table: it was not synced yet.", "chunks")
    if not sum(found.queries.values()) and permission.allows(person, "write questions"):
        return NextStep("Write the first question, or import some.", "queries")
    if decides and found.disputes:
        return NextStep(f"Decide {_number(found.disputes, 'disputed label')}.", "review")
    if following is not None:
        return NextStep(f"Go on with “{_short(following.question)}”", "annotate", following.query_id)
    if found.next_query:
        waiting = _number(found.queue["needs me"], "question")
        return NextStep(
            f"Label the next question: {waiting} need{'s' if waiting == '1 question' else ''} you.", "annotate"
        )
    if found.free_at:
        wait = queue.minutes_until(found.free_at)
        return NextStep(f"The last questions are in use by others: the next one is free in {wait}.", "annotate")
    if decides and found.drift:
        return NextStep(
            f"See what became of {_number(found.drift, 'judged chunk')} that changed or vanished.", "chunks"
        )
    if found.coverage.gaps and permission.allows(person, "write questions"):
        return NextStep(f"Add a question: {found.coverage.gaps[0].message}.", "queries")
    if decides and found.latest_version is None:
        return NextStep("Freeze the first version of the gold set.", "gold_sets")
    return NextStep("Compare your runs against the gold set.", "metrics")


def _number(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _short(question: str) -> str:
    return question if len(question) <= 80 else question[:79] + "…"
