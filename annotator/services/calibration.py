"""The calibration set: what everybody said about its chunks beside the settled grade, and how far each agrees with it.

A person's labels count as they stood when the person first finished the question: what was learnt from the comparison
does not improve the figure. Until then nobody is shown anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotator.model import Chunk, GoldLabel, Judgment, Query
from annotator.review.agreement import Item, agreement
from annotator.review.settle import Unsettled
from annotator.services.examined import labels_of
from annotator.services.permission import require
from annotator.store import corpus, judgments, people, queries
from annotator.store import queue as kept
from annotator.store.database import Workspace

__all__ = ["Calibration", "Compared", "Difference", "Own", "Pair", "calibration", "own"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One chunk of a calibration question: what everybody who finished it said, and the settled grade if there is one.

    `title` is the chunk's or its document's, "" when the chunk is gone.
    """

    query_id: str
    chunk_id: str
    title: str
    said: tuple[Judgment, ...]
    label: GoldLabel | Unsettled

    @property
    def differs(self) -> bool:
        """Whether somebody said something else than another or than the settled grade."""
        votes = {(one.grade, one.stale) for one in self.said}
        if isinstance(self.label, GoldLabel):
            votes.add((self.label.relevance, self.label.stale))
        return len(votes) > 1


@dataclass(frozen=True, slots=True)
class Compared:
    """One person against the settled grades: questions finished, chunks compared, equal ones, quadratic weighted kappa.

    `weighted_kappa` is None where all grades are one and the same, or nothing can be compared.
    """

    name: str
    finished: int
    n: int
    equal: int
    weighted_kappa: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The whole set, for reviewers."""

    questions: tuple[Query, ...]
    pairs: tuple[Pair, ...]
    people: tuple[Compared, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A chunk the person graded otherwise than it was settled."""

    query: Query
    chunk_id: str
    title: str
    mine: Judgment
    settled: GoldLabel


@dataclass(frozen=True, slots=True)
class Own:
    """What a person may learn: of the `questions` of the set they finished so many; chunks compared and differences."""

    questions: int
    finished: int
    compared: Compared
    differences: tuple[Difference, ...]


def calibration(workspace: Workspace, who: str) -> Calibration:
    """Return the set with everything said about it. Raises Forbidden for annotators and readers."""
    with workspace.read() as connection:
        require(connection, who, "see the labels of others")
        found = [(queries.query(connection, one), _pairs(connection, one)) for one in kept.calibrated(connection)]
        names = [one.name for one in people.everyone(connection) if one.active]
        finished = {query.query_id: kept.first_finished(connection, query.query_id) for query, _ in found}
    pairs = tuple(pair for _, group in found for pair in group)
    done = {name: sum(name in by for by in finished.values()) for name in names}
    compared = tuple(_compared(name, done[name], pairs) for name in names if done[name])
    return Calibration(tuple(query for query, _ in found), pairs, compared)


def own(workspace: Workspace, who: str) -> Own:
    """Return how the person's labels of the calibration questions they finished differ from the settled ones."""
    with workspace.read() as connection:
        every = kept.calibrated(connection)
        mine = [one for one in every if who in kept.first_finished(connection, one)]
        texts = {one: queries.query(connection, one) for one in mine}
        pairs = [pair for one in mine for pair in _pairs(connection, one)]
    differences = tuple(
        Difference(texts[pair.query_id], pair.chunk_id, pair.title, one, pair.label)
        for pair in pairs
        if isinstance(pair.label, GoldLabel)
        for one in pair.said
        if one.annotator == who and not _same(one, pair.label) and one.grade is not None
    )
    return Own(len(every), len(mine), _compared(who, len(mine), pairs), differences)


def _pairs(connection: sqlite3.Connection, query_id: str) -> list[Pair]:
    said: dict[str, list[Judgment]] = {}
    for name, upto in kept.first_finished(connection, query_id).items():
        for one in judgments.as_of(connection, query_id, name, upto):
            said.setdefault(one.chunk_id, []).append(one)
    settled = {one.chunk_id: one for one in labels_of(connection, query_id)}
    live = corpus.chunks(connection, said)
    return [
        Pair(query_id, chunk_id, _title(live, chunk_id), tuple(said[chunk_id]), settled[chunk_id])
        for chunk_id in sorted(said)
        if chunk_id in settled
    ]


def _title(live: Mapping[str, Chunk], chunk_id: str) -> str:
    chunk = live.get(chunk_id)
    return "" if chunk is None else chunk.title or chunk.doc_id


def _compared(name: str, finished: int, pairs: Sequence[Pair]) -> Compared:
    both = [
        (pair, one.grade, pair.label)
        for pair in pairs
        if isinstance(pair.label, GoldLabel)
        for one in pair.said
        if one.annotator == name and one.grade is not None and one.sha256 == pair.label.sha256
    ]
    items = [
        Item(pair.query_id, pair.chunk_id, {"person": grade, "settled": label.relevance}) for pair, grade, label in both
    ]
    kappa = agreement(items, {}).pairs[0].weighted_kappa if items else None
    return Compared(name, finished, len(items), sum(grade == label.relevance for _, grade, label in both), kappa)


def _same(mine: Judgment, settled: GoldLabel) -> bool:
    return (mine.grade, mine.stale) == (settled.relevance, settled.stale) or mine.sha256 != settled.sha256
