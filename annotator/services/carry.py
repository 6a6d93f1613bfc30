"""Carrying drifted labels over to the chunks that hold their text now: proposed by the machine, decided by people.

A proposal is no label. Accepting one appends the person's own judgment on the new chunk, with its origin, and takes
the label on the vanished text out of force.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from annotator.errors import Conflict, InputError
from annotator.gold.carry import CarriedLabel, Proposal
from annotator.gold.carry import carry as carried
from annotator.gold.goldset import GoldSet
from annotator.gold.words import shared_stretches
from annotator.model import GRADES, Chunk, GoldLabel, Judgment
from annotator.services import in_place
from annotator.services.drift import affected, against, shown_to
from annotator.services.permission import require
from annotator.store import corpus, drifted, events, judged_texts, judgments, queries
from annotator.store.database import Workspace
from annotator.store.drifted import StoredProposal

__all__ = ["Search", "Waiting", "accept", "apply", "marks", "propose", "refuse", "waiting"]


_LOOKED_FOR = 300
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Search:
    """What a search for new places found: the drifted labels, and the proposals of each, best first."""

    labels: tuple[CarriedLabel, ...]
    proposals: tuple[tuple[Proposal, ...], ...]
    seconds: float

    @property
    def found(self) -> tuple[Proposal, ...]:
        return tuple(one for some in self.proposals for one in some)

    @property
    def without(self) -> tuple[CarriedLabel, ...]:
        """The labels for which nothing was found, or whose text nobody kept."""
        return tuple(label for label, some in zip(self.labels, self.proposals, strict=True) if not some)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A proposal to decide on: the question, the chunk as it was judged, and the chunk that is proposed."""

    proposal: StoredProposal
    question: str
    judged: Chunk
    chunk: Chunk


def propose(
    workspace: Workspace, gold: GoldSet | None = None, progress: Callable[[int, int], None] | None = None
) -> Search:
    """Look in the whole chunk table for the text of every drifted label: of those in force, or of a gold set.

    `progress` is told steps done and steps in all.
    """
    started = time.perf_counter()
    with workspace.read() as connection:
        wanted = list(_of_gold(connection, workspace, gold) if gold else _in_force(connection, workspace))
    _look_around(workspace, wanted)
    with workspace.read() as connection:
        total = corpus.count(connection) + len(wanted)
        live = (chunk for _, chunk in corpus.changes(connection, 0) if chunk is not None)
        tell = (lambda done: progress(done, total)) if progress else None
        found = tuple(tuple(some) for some in carried(wanted, live, tell)) if wanted else ()
    return Search(tuple(wanted), found, time.perf_counter() - started)


def _look_around(workspace: Workspace, wanted: Sequence[CarriedLabel]) -> None:
    """Fetch from a table searched in place what may hold the labels' texts: their documents, and hits for them."""
    in_place.look_at_documents(workspace, (one.doc_id for one in wanted))
    if in_place.is_on(workspace):
        for one in wanted:
            for said in [span.quote for span in one.evidence] or [one.text]:
                if said.strip():
                    in_place.search(workspace, said[:_LOOKED_FOR], limit=_LOOKED_AT)


def apply(workspace: Workspace, who: str, search: Search) -> int:
    """Record the proposals for review in place of those undecided so far; returns how many are open now.

    What was decided before stays decided. Proposals for questions that are not here are left out.
    """
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        known = {query.query_id for query in queries.all_queries(connection)}
        new = [_stored(one) for one in search.found if one.label.query_id in known]
        number = drifted.propose(connection, who, new)
        events.record(connection, who, "carry proposed", "drift", new={"proposals": len(new), "open": number})
    return number


def waiting(workspace: Workspace, who: str = "") -> list[Waiting]:
    """Return the proposals that wait for a decision, those of one label together, best first; to whoever labels
    blindly, those of pairs they judged themselves."""
    with workspace.read() as connection:
        may_see = shown_to(connection, who)
        proposals = [one for one in drifted.open_proposals(connection) if may_see((one.query_id, one.chunk_id))]
        chunks = corpus.chunks(connection, (one.to_chunk_id for one in proposals))
        keys = dict.fromkeys((one.chunk_id, one.sha256) for one in proposals)
        judged = {(chunk.chunk_id, sha256): chunk for sha256, chunk in judged_texts.chunks(connection, keys)}
        questions = {query.query_id: query.question for query in queries.all_queries(connection)}
    return [
        Waiting(one, questions[one.query_id], judged[one.chunk_id, one.sha256], chunks[one.to_chunk_id])
        for one in proposals
        if (one.chunk_id, one.sha256) in judged
    ]


def marks(one: Waiting) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]:
    """Return the spans to mark in the judged and in the new text: the evidence, or without any what both share."""
    proposal = one.proposal
    if proposal.from_evidence and proposal.evidence:
        spans = [(span.start, span.end) for span in proposal.from_evidence if span.start >= 0]
        return sorted(spans), sorted((span.start, span.end) for span in proposal.evidence)
    return shared_stretches(one.judged.text, one.chunk.text)


def accept(
    workspace: Workspace, who: str, proposal_id: int, *, grade: int | None = None, reason: str | None = None
) -> Judgment:
    """Label the new chunk as this person, with the proposed grade and reason or those given; returns the judgment.

    Where this person carried another label of the question to the same chunk, the better grade stays and the evidence
    adds up, unless a grade is given. Raises Conflict when it was decided before or the chunk changed meanwhile,
    NotFound when a later search took it back, InputError for a grade that is none.
    """
    if grade is not None and grade not in GRADES:
        raise InputError(f"{grade} is no grade.", hint="Grades are 0 to 3.")
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        proposal = _open(connection, proposal_id)
        judgment = Judgment(
            query_id=proposal.query_id,
            chunk_id=proposal.to_chunk_id,
            annotator=who,
            grade=proposal.grade if grade is None else grade,
            stale=proposal.stale and not grade,
            reason=(proposal.reason if reason is None else reason).strip(),
            evidence=proposal.evidence,
            sha256=proposal.to_sha256,
            operation_id=uuid4().hex,
            origin=f"carried from {proposal.chunk_id}",
        )
        judgment = _joined(connection, judgment, edited=grade is not None)
        judgments.append(connection, judgment)
        drifted.set_aside(
            connection,
            proposal.query_id,
            proposal.chunk_id,
            proposal.sha256,
            action="carried",
            who=who,
            reason=f"carried to {proposal.to_chunk_id}",
        )
        drifted.decide(connection, proposal_id, "accepted", who)
        _note(connection, who, "label carried", proposal, judgment.grade)
    return judgment


def refuse(workspace: Workspace, who: str, proposal_id: int) -> None:
    """Decide against a proposal; its label stays as it is, to be carried elsewhere or dropped. Raises as `accept`."""
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        proposal = _open(connection, proposal_id)
        drifted.decide(connection, proposal_id, "refused", who)
        _note(connection, who, "carry refused", proposal, None)


def _open(connection: sqlite3.Connection, proposal_id: int) -> StoredProposal:
    proposal = drifted.proposal(connection, proposal_id)
    if proposal.decision is not None:
        raise Conflict(f"That proposal was {proposal.decision} already.", hint="Look at the list again.")
    live = corpus.chunks(connection, [proposal.to_chunk_id]).get(proposal.to_chunk_id)
    if live is None or live.sha256 != proposal.to_sha256:
        raise Conflict(f"The chunk {proposal.to_chunk_id!r} changed meanwhile.", hint="Look for new places again.")
    return proposal


def _joined(connection: sqlite3.Connection, new: Judgment, *, edited: bool) -> Judgment:
    """Add what this person carried to the same text before."""
    mine = judgments.current(connection, query_id=new.query_id, annotator=new.annotator)
    before = next((one for one in mine if one.chunk_id == new.chunk_id and one.sha256 == new.sha256), None)
    if before is None or before.grade is None or edited or not before.origin.startswith("carried from "):
        return new
    better = before if before.grade > (new.grade or 0) else new
    spans = sorted({*before.evidence, *new.evidence}, key=lambda span: (span.start, span.end))
    return replace(new, grade=better.grade, stale=better.stale, reason=better.reason, evidence=tuple(spans))


def _in_force(connection: sqlite3.Connection, workspace: Workspace) -> Iterator[CarriedLabel]:
    found = [(one.query_id, one.label) for one in affected(workspace)]
    yield from _with_texts(connection, found, {})


def _of_gold(connection: sqlite3.Connection, workspace: Workspace, gold: GoldSet) -> Iterator[CarriedLabel]:
    gone = {(one.judged.chunk_id, one.judged.sha256) for one in against(workspace, gold)}
    labels = [(query_id, label) for query_id in gold.grades for label in gold.labels(query_id)]
    found = [(query_id, label) for query_id, label in labels if (label.chunk_id, label.sha256) in gone]
    yield from _with_texts(connection, found, gold.texts)


def _with_texts(
    connection: sqlite3.Connection, found: Sequence[tuple[str, GoldLabel]], texts: Mapping[str, str]
) -> Iterator[CarriedLabel]:
    keys = dict.fromkeys((label.chunk_id, label.sha256) for _, label in found)
    kept = {(chunk.chunk_id, sha256): chunk for sha256, chunk in judged_texts.chunks(connection, keys)}
    for query_id, label in found:
        chunk = kept.get((label.chunk_id, label.sha256))
        yield CarriedLabel(
            query_id,
            label.chunk_id,
            label.sha256,
            chunk.text if chunk else texts.get(label.chunk_id, ""),
            label.relevance,
            label.evidence,
            label.stale,
            label.reason,
            label.doc_id,
            chunk.position if chunk else None,
        )


def _stored(one: Proposal) -> StoredProposal:
    label = one.label
    return StoredProposal(
        query_id=label.query_id,
        chunk_id=label.chunk_id,
        sha256=label.sha256,
        to_chunk_id=one.chunk.chunk_id,
        to_sha256=one.chunk.sha256,
        grade=one.grade,
        stale=label.stale,
        reason=label.reason,
        evidence=one.evidence,
        from_grade=label.grade,
        from_evidence=label.evidence,
        score=one.score,
        how=one.how,
    )


def _note(connection: sqlite3.Connection, who: str, action: str, proposal: StoredProposal, grade: int | None) -> None:
    old = {"chunk_id": proposal.chunk_id, "grade": proposal.from_grade}
    new = {"chunk_id": proposal.to_chunk_id, "grade": grade, "how": proposal.how, "score": round(proposal.score, 3)}
    events.record(connection, who, action, f"query:{proposal.query_id}", old=old, new=new)
