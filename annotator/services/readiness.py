"""Whether the next gold set version can be released: what stands in its way, and what only deserves a look.

What each question contributes is remembered until something about it changes; what a question is made of is
`examined.py`'s.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from annotator.model import Query
from annotator.review import coverage, lint
from annotator.services.examined import PART_OF_A_VERSION, Examined, Item, chunks_counted, examine
from annotator.services.facets import facet_names, facet_targets
from annotator.services.per_question import PerQuestion
from annotator.services.permission import labels_blindly
from annotator.store import corpus, labels, queries
from annotator.store.database import Workspace

__all__ = ["Readiness", "readiness"]

THIN_SLICE = 3
"""A slice of fewer questions says next to nothing."""

_ABOUT_QUESTIONS = ("thin_slice", "not_complete", "no_labels")
"""Warnings that say nothing of anybody's labels."""


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
class _Share:
    """What one question of the next version brings along: `pairs` are its settled labels."""

    query: Query
    pairs: int
    blocks: tuple[Item, ...]
    contradicted: tuple[Item, ...]
    copied: tuple[Item, ...]
    cannot_judge: tuple[str, ...]


def readiness(workspace: Workspace, who: str = "") -> Readiness:
    """Say what blocks the next release and what only warns; to whoever labels blindly only how much."""
    with workspace.read() as connection:
        shares = sorted(_shares.of(workspace, connection).values(), key=lambda one: one.query.query_id)
        blocks = [item for one in shares for item in one.blocks]
        ready = [one for one in shares if not one.blocks]
        if not shares:
            blocks.append(Item("empty", "No question has a judgment yet: there is nothing to release."))
        found = Readiness(
            tuple(blocks),
            tuple(_warnings(connection, shares)),
            len(ready),
            tuple(one.query.query_id for one in shares if one.blocks),
            sum(one.pairs for one in ready),
        )
        return _without_labels(found) if labels_blindly(connection, who) else found


def _without_labels(found: Readiness) -> Readiness:
    """Leave out what would show the labels of others."""
    waiting = f"{_questions(len(found.left_out))} with something open that reviewers look after."
    blocks = (Item("waiting", waiting),) if found.left_out else found.blocks
    return replace(found, blocks=blocks, warns=tuple(one for one in found.warns if one.kind in _ABOUT_QUESTIONS))


def _share(connection: sqlite3.Connection, one: Examined) -> _Share:
    query_id = one.query.query_id
    helpful = tuple(label.chunk_id for label in one.gold.gold if label.relevance >= 2)
    contradicted: tuple[Item, ...] = ()
    if one.query.unanswerable and helpful:
        message = f"{query_id} is marked unanswerable, yet {chunks_counted(len(helpful))} answer at least a part of it."
        contradicted = (Item("contradiction", message, (query_id,), helpful),)
    texts = {key: chunk.text for key, chunk in corpus.chunks(connection, helpful).items()}
    copied = tuple(
        Item("copied", f"{query_id}: {warning.message} {warning.mend}", (query_id,), warning.ids)
        for warning in lint.copied_wording(one.query.question, texts)
    )
    cannot_judge = tuple(pair.chunk_id for pair in one.unsettled if not pair.blocks)
    return _Share(one.query, len(one.gold.gold), one.blocks, contradicted, copied, cannot_judge)


def _of_questions(connection: sqlite3.Connection, only: Collection[str] | None, _: object) -> Mapping[str, _Share]:
    return {one.query.query_id: _share(connection, one) for one in examine(connection, only, with_documents=False)}


_shares = PerQuestion(_of_questions)


def _warnings(connection: sqlite3.Connection, shares: Sequence[_Share]) -> Iterator[Item]:
    members = [one.query for one in shares]
    yield from (item for one in shares for item in one.contradicted)
    yield from _thin_slices(connection, members)
    yield from (item for one in shares for item in one.copied)
    yield from _heads(connection, members)
    yield from _states(connection, members)
    cannot_judge = {one.query.query_id: one.cannot_judge for one in shares if one.cannot_judge}
    if cannot_judge:
        chunk_ids = tuple(chunk_id for ids in cannot_judge.values() for chunk_id in ids)
        message = f"Nobody could judge {chunks_counted(len(chunk_ids))}: they stay out of the version, as not judged."
        yield Item("cannot_judge", message, tuple(cannot_judge), chunk_ids)


def _thin_slices(connection: sqlite3.Connection, members: Sequence[Query]) -> Iterator[Item]:
    covered = coverage.coverage(members, facet_names(connection), facet_targets(connection))
    wanting = {(gap.facet, gap.value) for gap in covered.gaps}
    yield from (Item("thin_slice", gap.message) for gap in covered.gaps)
    for facet, counts in covered.counts.items():
        for value, number in counts.items():
            if number < THIN_SLICE and (facet, value) not in wanting:
                message = f"Only {_questions(number)} with {facet} “{value}”: too few for a figure of its own."
                ids = tuple(one.query_id for one in members if one.facets.get(facet) == value)
                yield Item("thin_slice", message, ids)


def _heads(connection: sqlite3.Connection, members: Sequence[Query]) -> Iterator[Item]:
    known = {one.query_id for one in members}
    heads = [pair for pair in labels.unjudged_heads(connection) if pair[0] in known]
    if heads:
        message = f"Nobody judged {chunks_counted(len(heads))} that a run puts among its first three."
        yield Item("unjudged_heads", message, _unique(heads, 0), _unique(heads, 1))


def _states(connection: sqlite3.Connection, members: Sequence[Query]) -> Iterator[Item]:
    known = {one.query_id for one in members}
    working = tuple(one.query_id for one in members if one.state == "open")
    if working:
        verb = "is" if len(working) == 1 else "are"
        yield Item("not_complete", f"{_questions(len(working))} with labels {verb} not marked complete.", working)
    waiting = queries.all_queries(connection, states=PART_OF_A_VERSION)
    ids = tuple(one.query_id for one in waiting if one.query_id not in known)
    if ids:
        yield Item("no_labels", f"{_questions(len(ids))} without labels: not part of the version.", ids)


def _unique(pairs: Sequence[tuple[str, str]], place: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pair[place] for pair in pairs))


def _questions(number: int) -> str:
    return "1 question" if number == 1 else f"{number} questions"
