"""Candidate pools: gathering what runs, the built-in search and the team's retriever find for every open question,
and the order in which a person sees it.

Where a candidate came from, and how far up it stood, is on record and never shown to those who grade.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from annotator.errors import InputError
from annotator.model import Query
from annotator.review import alike
from annotator.search import index
from annotator.search.query import as_words, parse
from annotator.search.run import ranked
from annotator.services import in_place, retriever
from annotator.services.asking import NoAnswer, ask
from annotator.services.permission import require
from annotator.store import corpus, events, imported, judgments, pools, queries, runs
from annotator.store.database import Workspace
from annotator.store.pools import Build, Entry

__all__ = ["DEPTH", "MODES", "Build", "Built", "Entry", "Pool", "build", "last_build", "origins", "pool", "sizes"]

DEPTH = 20
"""How far down each source is gathered unless said otherwise, and how far down runs are where no pool was built."""
DEEPEST = 200
MODES = ("words", "fuzzy")
PATIENCE = 3
"""Questions in a row without an answer after which the retriever is asked no more."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one question in one person's order, from how many sources, and how far down in each."""

    ids: tuple[str, ...]
    sources: int
    depth: int


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did: questions asked, candidates found, how many of them are new, and what went wrong."""

    questions: int
    candidates: int
    new: int
    told: tuple[str, ...]


def build(workspace: Workspace, who: str, wanted: Build, progress: Progress | None = None) -> Built:
    """Gather candidates for every open question and add them to the pools; nothing is ever taken out of a pool.

    `wanted.retriever` is any text to have the retriever asked. `progress` is told the questions done and their number.
    Raises Forbidden for annotators and readers, NotFound for an unknown run, InputError for what cannot be asked.
    """
    _check(wanted)
    with workspace.read() as connection:
        require(connection, who, "build pools")
        asked = queries.all_queries(connection, states=("open",))
        gathering = _Gathering({one.query_id: {} for one in asked})
        for name in wanted.runs:
            for answer in runs.answers(connection, name):
                gathering.add(answer.query_id, f"run {name}", answer.chunk_ids[: wanted.depth])
    wanted = replace(wanted, built_by=who, retriever=_search_and_ask(workspace, wanted, asked, gathering, progress))
    in_place.look_up(workspace, gathering.chunk_ids)
    with workspace.write() as connection:
        require(connection, who, "build pools")
        live = imported.text_hashes(connection, gathering.chunk_ids)
        found = [
            (query_id, chunk_id, places)
            for query_id, chunks in gathering.found.items()
            for chunk_id, places in chunks.items()
            if chunk_id in live
        ]
        gone = len(gathering.chunk_ids) - len(live)
        if gone:
            gathering.told.append(f"Left out: {gone} chunk ids that are not in the chunk table.")
        new = pools.add_build(connection, wanted, found)
        facts = {"depth": wanted.depth, "questions": len(asked), "candidates": len(found), "new": new}
        events.record(connection, who, "pool built", "setting:pool", new={**facts, "sources": _sources(wanted)})
    return Built(len(asked), len(found), new, tuple(gathering.told))


def pool(workspace: Workspace, who: str, query_id: str) -> Pool:
    """Return the pool of the question as this person sees it; where none was built, the tops of all imported runs.

    The order is the person's own and the same at every visit, so that neither rank nor retriever shows through it.
    What the person graded comes last. A candidate that nobody had judged when it was gathered draws its place twice
    and keeps the better one: holes come up early, but no place tells whether somebody else has judged what stands
    there, and nothing moves because a colleague grades. Near-duplicates stand together.
    """
    with workspace.read() as connection:
        entries = list(pools.entries(connection, query_id)) or _from_runs(connection, query_id)
    in_place.look_up(workspace, (one.chunk_id for one in entries))
    with workspace.read() as connection:
        live = corpus.chunks(connection, (one.chunk_id for one in entries))
        mine = {one.chunk_id for one in judgments.current(connection, query_id=query_id, annotator=who)}
    here = [one for one in entries if one.chunk_id in live]
    ids = _order(here, f"{who}\n{query_id}", mine)
    sources = {name for one in here for name in one.origins}
    depth = max((one.depth for one in here), default=0)
    return Pool(tuple(_together(ids, [live[one].text for one in ids])), len(sources), depth)


def origins(workspace: Workspace, who: str, query_id: str) -> list[Entry]:
    """Return the built pool of a question with where each candidate came from, those found by most, highest up, first.

    Raises Forbidden for annotators and readers: whoever grades must not know.
    """
    with workspace.read() as connection:
        require(connection, who, "build pools")
        found = list(pools.entries(connection, query_id))
    return sorted(found, key=lambda one: (-len(one.origins), min(one.origins.values()), one.chunk_id))


def last_build(workspace: Workspace) -> Build | None:
    """Return the newest build, None when no pool was built yet."""
    with workspace.read() as connection:
        return pools.last_build(connection)


def sizes(workspace: Workspace, who: str) -> dict[str, tuple[int, int]]:
    """Return query id → (candidates, holes among them), where a pool was built. Raises Forbidden as `origins`."""
    with workspace.read() as connection:
        require(connection, who, "build pools")
        return pools.sizes(connection)


class _Gathering:
    """Candidates by question and chunk with their places, and what went wrong on the way."""

    def __init__(self, found: dict[str, dict[str, dict[str, int]]]) -> None:
        self.found = found
        self.told: list[str] = []

    @property
    def chunk_ids(self) -> set[str]:
        return {chunk_id for chunks in self.found.values() for chunk_id in chunks}

    def add(self, query_id: str, source: str, chunk_ids: Sequence[str]) -> None:
        """Note the list of a source; of a question that is not open it is left alone."""
        chunks = self.found.get(query_id)
        if chunks is not None:
            for rank, chunk_id in enumerate(chunk_ids, 1):
                chunks.setdefault(chunk_id, {})[source] = rank


def _search_and_ask(
    workspace: Workspace, wanted: Build, asked: Sequence[Query], gathering: _Gathering, progress: Progress | None
) -> str:
    """Ask the built-in search and the retriever, as far as they are wanted; return the name of the latter."""
    hook = retriever.find(workspace) if wanted.retriever else None
    if wanted.retriever and hook is None:
        raise InputError("No retriever is set, so none can be asked.", hint="Set one in Settings, under Retriever.")
    name = hook.name if hook else ""
    search = _searching(workspace, wanted) if wanted.search else None
    failures: list[str] = []
    silent = 0
    for done, one in enumerate(asked, 1):
        if search is not None:
            hits = search(one.question)
            gathering.add(one.query_id, f"search by {wanted.search}", [chunk_id for chunk_id, _ in hits])
        if hook is not None and silent < PATIENCE:
            try:
                answer = ask(hook, one.query_id, one.question, wanted.depth)
            except NoAnswer as error:
                failures.append(f"{one.query_id}: {error}")
                silent += 1
            else:
                late = answer.trace.get("timed_out") is True
                silent = silent + 1 if late and not answer.chunk_ids else 0
                if late:
                    failures.append(f"{one.query_id}: the retriever ran out of time.")
                gathering.add(one.query_id, f"retriever {name}", answer.chunk_ids)
        if progress:
            progress(done, len(asked))
    if silent >= PATIENCE:
        failures.append(f"After {PATIENCE} questions in a row without an answer it was asked no more.")
    gathering.told += failures
    return name


def _searching(workspace: Workspace, wanted: Build) -> Callable[[str], list[tuple[str, float]]]:
    """Return what finds (chunk id, score) for a question: the index, or the live table itself."""
    if in_place.is_on(workspace):
        return lambda question: in_place.ranked(workspace, as_words(question), wanted.search, wanted.depth)
    index.refresh(workspace)
    reader = index.current(workspace)
    return lambda question: ranked(reader, parse(as_words(question)), mode=wanted.search, limit=wanted.depth)[1]


def _check(wanted: Build) -> None:
    if not (wanted.runs or wanted.search or wanted.retriever):
        raise InputError("A pool needs a source.", hint="Choose a run, the built-in search or the retriever.")
    if wanted.search not in ("", *MODES):
        raise InputError(f"There is no search mode {wanted.search!r}.", hint=f"Choose one of: {', '.join(MODES)}.")
    if not 1 <= wanted.depth <= DEEPEST:
        raise InputError(f"A pool cannot be {wanted.depth} deep.", hint=f"Choose a depth of 1 to {DEEPEST}.")


def _sources(wanted: Build) -> list[str]:
    found = [f"run {name}" for name in wanted.runs]
    if wanted.search:
        found.append(f"search by {wanted.search}")
    if wanted.retriever:
        found.append(f"retriever {wanted.retriever}")
    return found


def _from_runs(connection: sqlite3.Connection, query_id: str) -> list[Entry]:
    found: dict[str, dict[str, int]] = {}
    for info in runs.all_runs(connection):
        answer = runs.run_query(connection, info.name, query_id)
        for rank, chunk_id in enumerate(answer.chunk_ids[:DEPTH] if answer else (), 1):
            found.setdefault(chunk_id, {})[f"run {info.name}"] = rank
    return [Entry(chunk_id, places, DEPTH, False) for chunk_id, places in found.items()]


def _order(entries: Sequence[Entry], seed: str, mine: Collection[str]) -> list[str]:
    def place(one: Entry) -> tuple[bool, float, str]:
        draw = random.Random(f"{seed}\n{one.chunk_id}")
        first, second = draw.random(), draw.random()
        return one.chunk_id in mine, min(first, second) if one.hole else first, one.chunk_id

    return [one.chunk_id for one in sorted(entries, key=place)]


def _together(ids: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """Give near-duplicates one after the other, where the first of them stands."""
    group_of: Mapping[int, list[int]] = {at: group for group in alike.groups(texts) for at in group}
    for at, chunk_id in enumerate(ids):
        group = group_of.get(at)
        if group is None:
            yield chunk_id
        elif at == group[0]:
            yield from (ids[one] for one in group)
