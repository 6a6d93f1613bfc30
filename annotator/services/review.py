"""What reviewers do: see what everybody said, decide where people differ, open labels again, and look at odd ones.

A decision is added to the record; the judgments it settles stay as they are. It counts only when nobody said anything
about the pair since the reviewer read it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from uuid import uuid4

from annotator.errors import Conflict, InputError, NotFound
from annotator.model import GRADES, Adjudication, Chunk, Evidence, GoldLabel, Judgment, Query
from annotator.review.settle import Unsettled
from annotator.review.suspicious import KINDS, Suspicion, everyday_terms
from annotator.review.suspicious import suspicious as odd
from annotator.services import evidence as quotes
from annotator.services import queue
from annotator.services.examined import labels_of, pairs_unsettled
from annotator.services.per_question import PerQuestion
from annotator.services.permission import require
from annotator.store import corpus, decisions, judged_texts, judgments, queries
from annotator.store import labels as record
from annotator.store.database import Workspace, now
from annotator.store.decisions import Reopening

__all__ = [
    "KINDS",
    "LONGEST_REASON",
    "Case",
    "Reopening",
    "Suspicion",
    "Unsettled",
    "case",
    "decide",
    "labels",
    "reopen",
    "said_with",
    "suspicious",
    "waiting",
]

LONGEST_REASON = 10_000
_TEXTS_SAMPLED = 2_000


@dataclass(frozen=True, slots=True)
class Case:
    """One chunk for one question with everything said about it. `chunk` is the live one, else as it was judged.

    `kind` is that of `Unsettled`, "" for a settled pair. `revision` has to come back with the decision.
    """

    query: Query
    chunk: Chunk
    live: bool
    kind: str
    judgments: tuple[Judgment, ...]
    decision: Adjudication | None
    reopened: Reopening | None
    revision: str


def waiting(workspace: Workspace, who: str) -> list[Unsettled]:
    """Return the pairs without a settled grade with everybody's judgments, the disputed ones first.

    Raises Forbidden for annotators and readers, as everything here does.
    """
    _allowed(workspace, who)
    return pairs_unsettled(workspace)


def case(workspace: Workspace, who: str, query_id: str, chunk_id: str) -> Case:
    """Return all that was said about one pair. Raises NotFound when nothing was."""
    with workspace.read() as connection:
        require(connection, who, "see the labels of others")
        query = queries.query(connection, query_id)
        said = tuple(one for one in judgments.current(connection, query_id=query_id) if one.chunk_id == chunk_id)
        decided = [one for one in decisions.in_force(connection, query_id) if one.chunk_id == chunk_id]
        reopened = decisions.reopened(connection, query_id).get((query_id, chunk_id))
        label = next((one for one in labels_of(connection, query_id) if one.chunk_id == chunk_id), None)
        if label is None:
            raise NotFound(f"Nobody has judged {chunk_id!r} for {query_id!r}.")
        chunk = corpus.chunks(connection, [chunk_id]).get(chunk_id)
        shown = chunk or _as_judged(connection, chunk_id, [*decided, *said], label)
        return Case(
            query=query,
            chunk=shown,
            live=chunk is not None,
            kind=label.kind if isinstance(label, Unsettled) else "",
            judgments=said,
            decision=decided[-1] if decided else None,
            reopened=reopened,
            revision=decisions.revision(connection, query_id, chunk_id),
        )


def said_with(found: Case, grade: int, stale: bool = False) -> tuple[str, tuple[Evidence, ...]]:
    """Return the fullest reason, with its author, and the evidence of those who gave this grade; "" without one.

    Of people who read another text than the one shown, only the reasons count.
    """
    agreeing = [one for one in found.judgments if (one.grade, one.stale) == (grade, stale)]
    spans = {span for one in agreeing if one.sha256 == found.chunk.sha256 for span in one.evidence}
    reasoned = sorted((one for one in agreeing if one.reason), key=lambda one: (-len(one.reason), one.annotator))
    reason = f"As {reasoned[0].annotator}: {reasoned[0].reason}" if reasoned else ""
    return reason, tuple(sorted(spans, key=lambda span: (span.start, span.end)))


def decide(
    workspace: Workspace,
    who: str,
    query_id: str,
    chunk_id: str,
    grade: int,
    stale: bool = False,
    reason: str = "",
    evidence: Sequence[Evidence] = (),
    *,
    sha256: str,
    seen: str,
    operation_id: str = "",
) -> Adjudication:
    """Settle a pair by decision, after reading the text with this hash and the record at revision `seen`.

    The same operation twice is one decision. Raises Conflict when somebody judged, decided or re-opened the pair
    since, or the text is gone; InputError without a reason; Forbidden for annotators and readers.
    """
    reason = reason.strip()
    if grade not in GRADES or (stale and grade):
        raise InputError(
            f"A pair cannot be settled as {grade!r}{' and stale' if stale else ''}.", hint="Grades: 0 to 3."
        )
    new = Adjudication(
        query_id,
        chunk_id,
        who,
        grade,
        stale,
        _reason(reason),
        tuple(evidence),
        sha256,
        now(),
        operation_id or _operation(),
    )
    with workspace.write() as connection:
        require(connection, who, "settle labels")
        query = queries.query(connection, query_id)
        if decisions.known(connection, new.operation_id):
            return new
        if query.state == "retired":
            raise Conflict(f"The question {query_id!r} is retired.", hint="Reopen it on the Queries page first.")
        if decisions.revision(connection, query_id, chunk_id) != seen:
            raise Conflict(
                "Somebody judged or decided this pair after you opened it, so your decision was not saved.",
                hint="Read what they said, then decide again.",
            )
        new = replace(new, evidence=quotes.located(connection, chunk_id, sha256, new.evidence))
        decisions.append(connection, new)
        queue.complete_when_done(connection, query, who)
    return new


def reopen(workspace: Workspace, who: str, pairs: Sequence[tuple[str, str]], reason: str) -> int:
    """Open labels again, all or none, and with them their questions; return how many were not open already.

    The questions come back to those who gave the labels. What was said stays in the record, but settles nothing until
    somebody judges the pair again or a reviewer decides. Raises NotFound for a pair without a label, InputError without
    a reason, Forbidden for annotators and readers.
    """
    reason = _reason(reason.strip())
    number = 0
    with workspace.write() as connection:
        require(connection, who, "settle labels")
        for query_id, chunk_id in dict.fromkeys(pairs):
            query = queries.query(connection, query_id)
            if not decisions.revision(connection, query_id, chunk_id):
                raise NotFound(f"Nobody has judged {chunk_id!r} for {query_id!r}.")
            if (query_id, chunk_id) in decisions.reopened(connection, query_id):
                continue
            decisions.reopen(connection, Reopening(query_id, chunk_id, who, reason, operation_id=_operation()))
            if query.state == "complete":
                queries.change(connection, replace(query, state="open"), who)
            said = judgments.of_pairs(connection, [(query_id, chunk_id)])
            authors = [one.annotator for one in said if one.origin != "import"]  # those by import may never come here
            queue.give_back(connection, query_id, authors, who, reason)
            number += 1
    return number


def labels(workspace: Workspace, who: str, query_id: str) -> list[GoldLabel | Unsettled]:
    """Return every pair of a question, settled or not, by chunk id."""
    with workspace.read() as connection:
        require(connection, who, "see the labels of others")
        queries.query(connection, query_id)
        return labels_of(connection, query_id)


def suspicious(workspace: Workspace, who: str) -> list[Suspicion]:
    """Return what is odd about labels no reviewer has decided on, of all questions that are not retired."""
    with workspace.read() as connection:
        require(connection, who, "see the labels of others")
        everyday = everyday_terms(record.texts(connection, limit=_TEXTS_SAMPLED).values())
        found = [one for some in _odd_labels.of(workspace, connection, everyday).values() for one in some]
    order = list(KINDS)
    return sorted(found, key=lambda one: (order.index(one.kind), one.query_id, one.chunk_ids))


def _odd_in(
    connection: sqlite3.Connection, only: Collection[str] | None, everyday: frozenset[str]
) -> Mapping[str, Sequence[Suspicion]]:
    found: dict[str, Sequence[Suspicion]] = {}
    working = {one.query_id: one for one in queries.all_queries(connection, states=("draft", "open", "complete"))}
    decided = {(one.query_id, one.chunk_id) for one in decisions.in_force(connection)}
    for query_id, group in groupby(judgments.current(connection, query_ids=only), key=lambda one: one.query_id):
        if query_id in working:
            said = [one for one in group if (query_id, one.chunk_id) not in decided]
            texts = record.texts(connection, {one.sha256 for one in said})
            if some := odd(working[query_id].question, said, texts, everyday):
                found[query_id] = some
    return found


_odd_labels = PerQuestion(_odd_in)


def _allowed(workspace: Workspace, who: str) -> None:
    with workspace.read() as connection:
        require(connection, who, "see the labels of others")


def _as_judged(
    connection: sqlite3.Connection,
    chunk_id: str,
    said: Sequence[Adjudication | Judgment],
    label: GoldLabel | Unsettled,
) -> Chunk:
    """Return the chunk as it was read, by the settled label where there is one."""
    hashes = [label.sha256] if isinstance(label, GoldLabel) else [one.sha256 for one in said]
    return next(chunk for _, chunk in judged_texts.chunks(connection, ((chunk_id, one) for one in hashes)))


def _reason(reason: str) -> str:
    if not reason:
        raise InputError("Say why in a few words: the reason stays with the label.")
    if len(reason) > LONGEST_REASON:
        raise InputError(f"The reason has {len(reason):,} characters; {LONGEST_REASON:,} is the most.")
    return reason


def _operation() -> str:
    return f"review-{uuid4()}"
