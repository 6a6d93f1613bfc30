"""Whether the next gold set version can be released: what stands in its way, and what only deserves a look.

Also the one place that decides what belongs to a version: every question that is neither draft nor retired and has a
judgment in force or is marked unanswerable.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from annotator.errors import StoreError
from annotator.model import Adjudication, GoldLabel, GoldQuery, Judgment, Query
from annotator.review import coverage, lint
from annotator.review.settle import RULES, Unsettled, best_first, settle
from annotator.services.facets import facet_names, facet_targets
from annotator.services.permission import labels_blindly
from annotator.store import corpus, decisions, judgments, labels, queries, settings
from annotator.store.database import Workspace

__all__ = [
    "Examined",
    "Item",
    "Readiness",
    "differing_by_rule",
    "examine",
    "labels_of",
    "pairs_unsettled",
    "readiness",
    "settling_rule",
    "unsettled_of",
]

THIN_SLICE = 3
"""A slice of fewer questions says next to nothing."""

_AGREE = "talk it over and grade again, or have a reviewer decide in Review."

_ABOUT_QUESTIONS = ("thin_slice", "not_complete", "no_labels")
"""Warnings that say nothing of anybody's labels."""

PART_OF_A_VERSION = ("open", "complete")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that blocks a release or deserves a look, with the questions and chunks it is about."""

    kind: str
    message: str
    query_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readiness:
    """What the next version would be: `ready_queries` and `pairs` (settled labels) go in, `left_out` would not."""

    blocks: tuple[Item, ...]
    warns: tuple[Item, ...]
    ready_queries: int
    left_out: tuple[str, ...]
    pairs: int

    @property
    def ready(self) -> bool:
        return not self.blocks


@dataclass(frozen=True, slots=True)
class Examined:
    """A question that belongs to the next version, with its settled labels, open pairs and what blocks it."""

    query: Query
    gold: GoldQuery
    unsettled: tuple[Unsettled, ...]
    judgments: tuple[Judgment, ...]
    adjudications: tuple[Adjudication, ...]
    blocks: tuple[Item, ...]


def readiness(workspace: Workspace, who: str = "") -> Readiness:
    """Say what blocks the next release and what only warns; to whoever labels blindly only how much."""
    with workspace.read() as connection:
        watch = _Watch(connection)
        blocks: list[Item] = []
        left_out: list[str] = []
        ready = pairs = 0
        for one in examine(connection):
            watch.see(one)
            blocks += one.blocks
            if one.blocks:
                left_out.append(one.query.query_id)
            else:
                ready += 1
                pairs += len(one.gold.gold)
        if not ready and not left_out:
            blocks.append(Item("empty", "No question has a judgment yet: there is nothing to release."))
        found = Readiness(tuple(blocks), tuple(watch.warnings()), ready, tuple(left_out), pairs)
        return _without_labels(found) if labels_blindly(connection, who) else found


def _without_labels(found: Readiness) -> Readiness:
    """Leave out what would show the labels of others."""
    waiting = f"{_questions(len(found.left_out))} with something open that reviewers look after."
    blocks = (Item("waiting", waiting),) if found.left_out else found.blocks
    return replace(found, blocks=blocks, warns=tuple(one for one in found.warns if one.kind in _ABOUT_QUESTIONS))


def examine(connection: sqlite3.Connection) -> Iterator[Examined]:
    """Yield every question of the next version by id, one at a time."""
    rule = settling_rule(connection)
    members = queries.all_queries(connection, states=PART_OF_A_VERSION)
    for query in sorted(members, key=lambda query: query.query_id):
        said = tuple(judgments.current(connection, query_id=query.query_id))
        decided = tuple(decisions.in_force(connection, query.query_id))
        reopened = _reopened(connection, query.query_id)
        if said or decided or reopened or query.unanswerable:
            yield _examined(connection, query, said, decided, reopened, rule)


def settling_rule(connection: sqlite3.Connection) -> str:
    """Return the name of the workspace's settling rule, one of `settle.RULES`. Raises StoreError for another."""
    name: str = settings.get(connection, "settling_rule", "unanimous")
    if name not in RULES:
        raise StoreError(f"The workspace settles by {name!r}, a rule that is not known.", hint="Update Annotator.")
    return name


def pairs_unsettled(workspace: Workspace) -> list[Unsettled]:
    """Return the pairs without a settled grade, each with everybody's judgment; the disputed ones come first."""
    with workspace.read() as connection:
        rule = settling_rule(connection)
        settled = [_label(*one, rule) for one in _contested(connection)]
    found = [one for one in settled if isinstance(one, Unsettled)]
    order = ("disputed", "unsettled", "reopened", "cannot judge")
    return sorted(found, key=lambda one: (order.index(one.kind), one.query_id, one.chunk_id))


def differing_by_rule(connection: sqlite3.Connection) -> dict[str, int]:
    """Return settling rule → number of pairs on which people would still differ, so that a reviewer has to decide."""
    contested = _contested(connection)
    settled = {rule: [_label(*one, rule) for one in contested] for rule in RULES}
    return {
        rule: sum(isinstance(one, Unsettled) and one.differs for one in labelled) for rule, labelled in settled.items()
    }


def _contested(
    connection: sqlite3.Connection,
) -> list[tuple[tuple[str, str], Sequence[Judgment], Adjudication | None, bool]]:
    """Return every pair that may be without a settled grade, with what was said and decided, and if it is re-opened."""
    retired = {query.query_id for query in queries.all_queries(connection, states=("retired",))}
    reopened = decisions.reopened(connection)
    pairs = dict.fromkeys((*labels.contested(connection), *reopened))
    said: dict[tuple[str, str], list[Judgment]] = defaultdict(list)
    for one in judgments.of_pairs(connection, pairs):
        said[one.query_id, one.chunk_id].append(one)
    in_force = {(one.query_id, one.chunk_id): one for one in decisions.in_force(connection)}
    return [(pair, said[pair], in_force.get(pair), pair in reopened) for pair in pairs if pair[0] not in retired]


def unsettled_of(connection: sqlite3.Connection, query_id: str) -> list[Unsettled]:
    """Return the pairs of one question without a settled grade, by chunk id."""
    return [one for one in labels_of(connection, query_id) if isinstance(one, Unsettled)]


def labels_of(connection: sqlite3.Connection, query_id: str) -> list[GoldLabel | Unsettled]:
    """Return every pair of one question, settled or not, by chunk id."""
    said = judgments.current(connection, query_id=query_id)
    decided = decisions.in_force(connection, query_id)
    return _settled(query_id, said, decided, _reopened(connection, query_id), settling_rule(connection))


def _examined(
    connection: sqlite3.Connection,
    query: Query,
    said: tuple[Judgment, ...],
    decided: tuple[Adjudication, ...],
    reopened: frozenset[str],
    rule: str,
) -> Examined:
    settled = _settled(query.query_id, said, decided, reopened, rule)
    unsettled = tuple(one for one in settled if isinstance(one, Unsettled))
    origin = labels.provenance(connection, query.query_id)
    gold = best_first(
        replace(one, doc_id=origin[one.chunk_id, one.sha256].doc_id) for one in settled if isinstance(one, GoldLabel)
    )
    drifted = {one.chunk_id for one in gold if origin[one.chunk_id, one.sha256].live_sha256 != one.sha256}
    blocks = tuple(_blocks(query, gold, unsettled, sorted(drifted)))
    facets = {name: value for name, value in query.facets.items() if value}
    labelled = GoldQuery(query.query_id, query.question, gold, facets, query.unanswerable, query.notes)
    return Examined(query, labelled, unsettled, said, decided, blocks)


def _reopened(connection: sqlite3.Connection, query_id: str) -> frozenset[str]:
    return frozenset(chunk_id for _, chunk_id in decisions.reopened(connection, query_id))


def _settled(
    query_id: str, said: Iterable[Judgment], decided: Iterable[Adjudication], reopened: frozenset[str], rule: str
) -> list[GoldLabel | Unsettled]:
    by_chunk: dict[str, list[Judgment]] = defaultdict(list)
    for judgment in said:
        by_chunk[judgment.chunk_id].append(judgment)
    in_force = {decision.chunk_id: decision for decision in decided}
    return [
        _label((query_id, chunk_id), by_chunk.get(chunk_id, ()), in_force.get(chunk_id), chunk_id in reopened, rule)
        for chunk_id in sorted(by_chunk.keys() | in_force.keys() | reopened)
    ]


def _label(
    pair: tuple[str, str], said: Sequence[Judgment], decided: Adjudication | None, reopened: bool, rule: str
) -> GoldLabel | Unsettled:
    return Unsettled(*pair, "reopened", tuple(said)) if reopened else settle(said, decided, rule=rule)


def _blocks(
    query: Query, gold: tuple[GoldLabel, ...], unsettled: tuple[Unsettled, ...], drifted: list[str]
) -> Iterator[Item]:
    about = (query.query_id,)
    for kind, words in (("disputed", "people disagree"), ("unsettled", "people differ by one grade")):
        chunk_ids = tuple(one.chunk_id for one in unsettled if one.kind == kind)
        if chunk_ids:
            message = f"{query.query_id}: {words} about {_chunks(len(chunk_ids))}; {_AGREE}"
            yield Item(kind, message, about, chunk_ids)
    reopened = tuple(one.chunk_id for one in unsettled if one.kind == "reopened")
    if reopened:
        message = f"{query.query_id}: labels of {_chunks(len(reopened))} were re-opened; {_AGREE}"
        yield Item("reopened", message, about, reopened)
    if drifted:
        message = f"{query.query_id}: {_chunks(len(drifted))} changed or vanished; see Drift under Chunks."
        yield Item("drifted", message, about, tuple(drifted))
    waiting = any(one.blocks for one in unsettled)
    if not query.unanswerable and not waiting and not any(label.relevance for label in gold):
        message = f"{query.query_id}: no chunk is relevant; find one, or mark the question unanswerable."
        yield Item("no_relevant", message, about)


class _Watch:
    """Gathers what deserves a look while the questions pass by, and says it at the end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.members: list[Query] = []
        self.copied: list[Item] = []
        self.contradicted: list[Item] = []
        self.cannot_judge: dict[str, list[str]] = {}

    def see(self, one: Examined) -> None:
        """Take note of a question of the next version."""
        query_id = one.query.query_id
        self.members.append(one.query)
        helpful = tuple(label.chunk_id for label in one.gold.gold if label.relevance >= 2)
        if one.query.unanswerable and helpful:
            message = f"{query_id} is marked unanswerable, yet {_chunks(len(helpful))} answer at least a part of it."
            self.contradicted.append(Item("contradiction", message, (query_id,), helpful))
        texts = {key: chunk.text for key, chunk in corpus.chunks(self.connection, helpful).items()}
        for warning in lint.copied_wording(one.query.question, texts):
            message = f"{query_id}: {warning.message} {warning.mend}"
            self.copied.append(Item("copied", message, (query_id,), warning.ids))
        unjudged = [pair.chunk_id for pair in one.unsettled if not pair.blocks]
        if unjudged:
            self.cannot_judge[query_id] = unjudged

    def warnings(self) -> Iterator[Item]:
        yield from self.contradicted
        yield from self._thin_slices()
        yield from self.copied
        yield from self._heads()
        yield from self._states()
        if self.cannot_judge:
            chunk_ids = tuple(chunk_id for ids in self.cannot_judge.values() for chunk_id in ids)
            message = f"Nobody could judge {_chunks(len(chunk_ids))}: they stay out of the version, as not judged."
            yield Item("cannot_judge", message, tuple(self.cannot_judge), chunk_ids)

    def _thin_slices(self) -> Iterator[Item]:
        covered = coverage.coverage(self.members, facet_names(self.connection), facet_targets(self.connection))
        wanting = {(gap.facet, gap.value) for gap in covered.gaps}
        yield from (Item("thin_slice", gap.message) for gap in covered.gaps)
        for facet, counts in covered.counts.items():
            for value, number in counts.items():
                if number < THIN_SLICE and (facet, value) not in wanting:
                    message = f"Only {_questions(number)} with {facet} “{value}”: too few for a figure of its own."
                    ids = tuple(one.query_id for one in self.members if one.facets.get(facet) == value)
                    yield Item("thin_slice", message, ids)

    def _heads(self) -> Iterator[Item]:
        members = {one.query_id for one in self.members}
        heads = [pair for pair in labels.unjudged_heads(self.connection) if pair[0] in members]
        if heads:
            message = f"Nobody judged {_chunks(len(heads))} that a run puts among its first three."
            yield Item("unjudged_heads", message, _unique(heads, 0), _unique(heads, 1))

    def _states(self) -> Iterator[Item]:
        members = {one.query_id for one in self.members}
        working = tuple(one.query_id for one in self.members if one.state == "open")
        if working:
            verb = "is" if len(working) == 1 else "are"
            yield Item("not_complete", f"{_questions(len(working))} with labels {verb} not marked complete.", working)
        waiting = queries.all_queries(self.connection, states=PART_OF_A_VERSION)
        ids = tuple(one.query_id for one in waiting if one.query_id not in members)
        if ids:
            yield Item("no_labels", f"{_questions(len(ids))} without labels: not part of the version.", ids)


def _unique(pairs: list[tuple[str, str]], place: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pair[place] for pair in pairs))


def _chunks(number: int) -> str:
    return "1 chunk" if number == 1 else f"{number} chunks"


def _questions(number: int) -> str:
    return "1 question" if number == 1 else f"{number} questions"
