"""The questions of the next gold set version with their settled labels, open pairs, and what stands in their way.

The one place that decides what belongs to a version: every question that is neither draft nor retired and has a
judgment in force or is marked unanswerable.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from annotator.errors import StoreError
from annotator.model import Adjudication, GoldLabel, GoldQuery, Judgment, Query
from annotator.review.settle import RULES, Unsettled, best_first, settle
from annotator.services.per_question import PerQuestion
from annotator.store import decisions, judgments, labels, queries, settings
from annotator.store.database import Workspace

__all__ = [
    "PART_OF_A_VERSION",
    "Examined",
    "Item",
    "chunks_counted",
    "differing",
    "differing_by_rule",
    "examine",
    "labels_of",
    "pairs_unsettled",
    "settling_rule",
    "unsettled_of",
]

_AGREE = "talk it over and grade again, or have a reviewer decide in Review."

PART_OF_A_VERSION = ("open", "complete")

_TOGETHER = 200
"""Questions whose labels are read at once: one by one most of the time would go into asking."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that blocks a release or deserves a look, with the questions and chunks it is about."""

    kind: str
    message: str
    query_ids: tuple[str, ...] = ()
    chunk_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """A question that belongs to the next version, with its settled labels, open pairs and what blocks it."""

    query: Query
    gold: GoldQuery
    unsettled: tuple[Unsettled, ...]
    judgments: tuple[Judgment, ...]
    adjudications: tuple[Adjudication, ...]
    blocks: tuple[Item, ...]


def examine(
    connection: sqlite3.Connection, only: Collection[str] | None = None, *, with_documents: bool = True
) -> Iterator[Examined]:
    """Yield every question of the next version by id, one at a time; of these ids alone where they are given.

    Looking up the documents of the labels takes a while: without them every `doc_id` is "".
    """
    members = queries.all_queries(connection, states=PART_OF_A_VERSION)
    members = [query for query in members if only is None or query.query_id in only]
    members.sort(key=lambda query: query.query_id)
    known = _Known(connection, only, with_documents)
    for start in range(0, len(members), _TOGETHER):
        yield from known.examined(members[start : start + _TOGETHER])


def settling_rule(connection: sqlite3.Connection) -> str:
    """Return the name of the workspace's settling rule, one of `settle.RULES`. Raises StoreError for another."""
    name: str = settings.get(connection, "settling_rule", "unanimous")
    if name not in RULES:
        raise StoreError(f"The workspace settles by {name!r}, a rule that is not known.", hint="Update Annotator.")
    return name


def pairs_unsettled(workspace: Workspace) -> list[Unsettled]:
    """Return the pairs without a settled grade, each with everybody's judgment; the disputed ones come first."""
    with workspace.read() as connection:
        by_question = _unsettled_pairs.of(workspace, connection)
    found = [one for pairs in by_question.values() for one in pairs]
    order = ("disputed", "unsettled", "reopened", "cannot judge")
    return sorted(found, key=lambda one: (order.index(one.kind), one.query_id, one.chunk_id))


def differing(workspace: Workspace, connection: sqlite3.Connection) -> dict[str, int]:
    """Return question id → number of pairs on which people differ, so that a reviewer has to decide."""
    by_question = _unsettled_pairs.of(workspace, connection)
    numbers = {query_id: sum(one.differs for one in pairs) for query_id, pairs in by_question.items()}
    return {query_id: number for query_id, number in numbers.items() if number}


def differing_by_rule(connection: sqlite3.Connection) -> dict[str, int]:
    """Return settling rule → number of pairs on which people would still differ, so that a reviewer has to decide."""
    contested = _contested(connection, None)
    settled = {rule: [_label(*one, rule) for one in contested] for rule in RULES}
    return {
        rule: sum(isinstance(one, Unsettled) and one.differs for one in labelled) for rule, labelled in settled.items()
    }


def _unsettled_in(
    connection: sqlite3.Connection, only: Collection[str] | None, _: object
) -> Mapping[str, tuple[Unsettled, ...]]:
    rule = settling_rule(connection)
    settled = (_label(*one, rule) for one in _contested(connection, only))
    found: dict[str, list[Unsettled]] = defaultdict(list)
    for one in settled:
        if isinstance(one, Unsettled):
            found[one.query_id].append(one)
    return {query_id: tuple(pairs) for query_id, pairs in found.items()}


_unsettled_pairs = PerQuestion(_unsettled_in)


def _contested(
    connection: sqlite3.Connection, only: Collection[str] | None
) -> list[tuple[tuple[str, str], Sequence[Judgment], Adjudication | None, bool]]:
    """Return every pair that may be without a settled grade, with what was said and decided, and if it is re-opened."""
    retired = {query.query_id for query in queries.all_queries(connection, states=("retired",))}
    reopened = {pair: one for pair, one in decisions.reopened(connection).items() if only is None or pair[0] in only}
    pairs = dict.fromkeys((*labels.contested(connection, only), *reopened))
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


class _Known:
    """What is read once for all questions: the rule, decisions, and judged texts no longer those of their chunks."""

    def __init__(self, connection: sqlite3.Connection, only: Collection[str] | None, with_documents: bool) -> None:
        self._connection = connection
        self._with_documents = with_documents
        self._rule = settling_rule(connection)
        self._past = labels.past_texts(connection, only)
        self._decided: dict[str, list[Adjudication]] = defaultdict(list)
        for one in decisions.in_force(connection):
            self._decided[one.query_id].append(one)
        self._reopened: dict[str, set[str]] = defaultdict(set)
        for query_id, chunk_id in decisions.reopened(connection):
            self._reopened[query_id].add(chunk_id)

    def examined(self, members: Sequence[Query]) -> Iterator[Examined]:
        """Yield those of the questions, in this order, that belong to a version."""
        ids = [query.query_id for query in members]
        given = groupby(judgments.current(self._connection, query_ids=ids), key=lambda one: one.query_id)
        said = {query_id: tuple(of_query) for query_id, of_query in given}
        documents = labels.documents(self._connection, ids) if self._with_documents else None
        for query in members:
            decided = tuple(self._decided.get(query.query_id, ()))
            reopened = frozenset(self._reopened.get(query.query_id, ()))
            of_query = said.get(query.query_id, ())
            if of_query or decided or reopened or query.unanswerable:
                yield self._one(query, of_query, decided, reopened, documents)

    def _one(
        self,
        query: Query,
        said: tuple[Judgment, ...],
        decided: tuple[Adjudication, ...],
        reopened: frozenset[str],
        documents: Mapping[tuple[str, str], str] | None,
    ) -> Examined:
        settled = _settled(query.query_id, said, decided, reopened, self._rule)
        unsettled = tuple(one for one in settled if isinstance(one, Unsettled))
        gold = best_first(one for one in settled if isinstance(one, GoldLabel))
        if documents is not None:
            gold = tuple(replace(one, doc_id=documents[one.chunk_id, one.sha256]) for one in gold)
        drifted = {one.chunk_id for one in gold if (one.chunk_id, one.sha256) in self._past}
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
            message = f"{query.query_id}: {words} about {chunks_counted(len(chunk_ids))}; {_AGREE}"
            yield Item(kind, message, about, chunk_ids)
    reopened = tuple(one.chunk_id for one in unsettled if one.kind == "reopened")
    if reopened:
        message = f"{query.query_id}: labels of {chunks_counted(len(reopened))} were re-opened; {_AGREE}"
        yield Item("reopened", message, about, reopened)
    if drifted:
        message = f"{query.query_id}: {chunks_counted(len(drifted))} changed or vanished; see Drift under Chunks."
        yield Item("drifted", message, about, tuple(drifted))
    waiting = any(one.blocks for one in unsettled)
    if not query.unanswerable and not waiting and not any(label.relevance for label in gold):
        message = f"{query.query_id}: no chunk is relevant; find one, or mark the question unanswerable."
        yield Item("no_relevant", message, about)


def chunks_counted(number: int) -> str:
    """Write a number of chunks."""
    return "1 chunk" if number == 1 else f"{number} chunks"
