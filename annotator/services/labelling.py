"""The grading loop's server side: the candidates of a question, and storing what was graded.

Operations come in batches from the screen and may come twice; each is stored once. A grade is acknowledged only
after its transaction has committed. Which question a person works on is `queue.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Literal

import msgspec

from annotator.errors import AnnotatorError, Conflict, InputError
from annotator.model import Chunk, Evidence, Judgment, text_hash
from annotator.review import alike
from annotator.services import evidence, in_place, queue
from annotator.services.permission import require
from annotator.store import corpus, decisions, documents, drafts, judgments, people, queries
from annotator.store.database import Workspace, now

__all__ = [
    "Candidate",
    "Operation",
    "Outcome",
    "apply",
    "around",
    "candidates",
    "counts",
    "decode_operations",
    "judged_ids",
    "neighbour_ids",
    "twins",
    "undoable",
]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a person did on the screen. `id` is unique for ever; `who` is the person it was done by.

    `judge` stores a grade (None: cannot judge, needs a reason); `undo` takes back the operation named by `target`;
    `draft` keeps an unfinished reason.
    """

    id: str
    kind: Literal["judge", "undo", "draft"]
    who: str
    query_id: str
    chunk_id: str
    sha256: str = ""
    grade: int | None = None
    stale: bool = False
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    seconds: float | None = None
    target: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch: acknowledged operation ids, refused ones with the reason, and when (UTC)."""

    acknowledged: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    saved_at: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk to grade: where it stands in its document (from 1, of `siblings`), and this person's own label.

    `reopened`: a reviewer wants that label given anew.
    """

    chunk: Chunk
    place: int
    siblings: int
    mine: Judgment | None
    draft: tuple[str, tuple[Evidence, ...]] | None
    reopened: bool = False


def neighbour_ids(workspace: Workspace, who: str, query_id: str) -> list[str]:
    """Return the chunks around those this person found relevant, nearest first within each document."""
    with workspace.read() as connection:
        mine = [one for one in judgments.current(connection, query_id=query_id, annotator=who) if one.grade]
        relevant = corpus.chunks(connection, (one.chunk_id for one in mine))
    in_place.look_at_documents(workspace, (one.doc_id for one in relevant.values()))
    with workspace.read() as connection:
        near: dict[str, None] = {}
        for doc_id in dict.fromkeys(one.doc_id for one in relevant.values() if one.doc_id):
            ids = documents.document_ids(connection, doc_id)
            spots = [at for at, chunk_id in enumerate(ids) if chunk_id in relevant]
            by_distance = sorted(range(len(ids)), key=partial(_distance, spots))
            near.update({ids[at]: None for at in by_distance if ids[at] not in relevant})
    return list(near)


def judged_ids(workspace: Workspace, who: str, query_id: str) -> list[str]:
    """Return the chunks this person judged for the question, best grade first."""
    with workspace.read() as connection:
        mine = list(judgments.current(connection, query_id=query_id, annotator=who))
    return [
        one.chunk_id for one in sorted(mine, key=lambda one: (-(-1 if one.grade is None else one.grade), one.chunk_id))
    ]


def candidates(workspace: Workspace, who: str, query_id: str, ids: Sequence[str]) -> list[Candidate]:
    """Return the chunks with these ids in this order, each with the person's own label; vanished ids are left out."""
    with workspace.read() as connection:
        live = corpus.chunks(connection, ids)
        mine = {one.chunk_id: one for one in judgments.current(connection, query_id=query_id, annotator=who)}
        begun = drafts.of(connection, query_id, who)
        places = documents.places(connection, _placed(connection, live.values()))
        reopened = {chunk_id for _, chunk_id in decisions.reopened(connection, query_id)} & mine.keys()
    return [
        Candidate(live[one], *places.get(one, (0, 0)), mine.get(one), _draft(begun.get(one)), one in reopened)
        for one in ids
        if one in live
    ]


def twins(shown: Iterable[Candidate]) -> dict[str, int]:
    """Return chunk id → number of its group, from 1, of those that say nearly the same as another one shown."""
    read = {one.chunk.chunk_id: one.chunk.text for one in shown}
    groups = _groups(_Texts(tuple(map(text_hash, read.values())), tuple(read.values())))
    ids = list(read)
    return {ids[at]: number for number, group in enumerate(groups, 1) for at in group}


def apply(workspace: Workspace, who: str, operations: Iterable[Operation]) -> Outcome:
    """Store a batch of operations in order, each once; those of other people are left alone, not acknowledged.

    A refused operation does not hold up the others. Everything acknowledged is committed when this returns. Whoever
    saves is at work: the question stays theirs. Raises InputError for a name that is nobody's, Forbidden for readers.
    """
    done: list[str] = []
    last = ""
    refused: list[tuple[str, str]] = []
    with workspace.write() as connection:
        if people.find(connection, who) is None:
            raise InputError(f"There is nobody called {who!r} in this workspace.", hint="Pick a name first.")
        require(connection, who, "grade chunks")
        for operation in operations:
            if operation.who != who:
                continue
            connection.execute("SAVEPOINT one")
            try:
                _apply(connection, operation)
            except (AnnotatorError, sqlite3.IntegrityError) as error:
                connection.execute("ROLLBACK TO one")
                message = str(error) if isinstance(error, AnnotatorError) else "The label does not fit the record."
                refused.append((operation.id, message))
            else:
                done.append(operation.id)
                last = operation.query_id
            connection.execute("RELEASE one")
        if last:
            queue.renew(connection, who, last, now())
    return Outcome(tuple(done), tuple(refused), now())


def counts(workspace: Workspace, who: str, query_id: str) -> tuple[int, int]:
    """Return how many chunks the person judged for the question, and how many of them are relevant."""
    with workspace.read() as connection:
        return judgments.counts(connection, query_id, who)


def undoable(workspace: Workspace, who: str, query_id: str) -> list[judgments.Undoable]:
    """Return what the person can take back on the question, newest first."""
    with workspace.read() as connection:
        return judgments.undoable(connection, query_id, who)


def around(workspace: Workspace, chunk_id: str) -> tuple[Chunk | None, Chunk | None]:
    """Return the chunk before and the chunk after in the document. Raises NotFound."""
    with workspace.read() as connection:
        doc_id = corpus.chunk(connection, chunk_id).doc_id
    in_place.look_at_documents(workspace, [doc_id])
    with workspace.read() as connection:
        ids = documents.adjacent_ids(connection, corpus.chunk(connection, chunk_id))
        found = corpus.chunks(connection, [one for one in ids if one])
    before, after = ids
    return found.get(before), found.get(after)


def _placed(connection: sqlite3.Connection, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Leave out chunks whose document was not read as a whole: their place in it is not known."""
    if not in_place.is_on_in(connection):
        return list(chunks)
    return [one for one in chunks if in_place.knows_document(connection, one.doc_id)]


def _apply(connection: sqlite3.Connection, operation: Operation) -> None:
    if operation.kind == "undo":
        judgments.undo(connection, operation.who, operation.target, operation.id)
        return
    spans = evidence.located(connection, operation.chunk_id, operation.sha256, operation.evidence)
    if operation.kind == "draft":
        text = judgments.evidence_json(spans)
        drafts.put(connection, operation.query_id, operation.chunk_id, operation.who, operation.reason, text)
        return
    if operation.grade is None and not operation.reason.strip():
        raise InputError("Say in a few words why the chunk cannot be judged.")
    new = judgments.append(
        connection,
        Judgment(
            query_id=queries.query(connection, operation.query_id).query_id,
            chunk_id=operation.chunk_id,
            annotator=operation.who,
            grade=operation.grade,
            stale=operation.stale,
            reason=operation.reason.strip(),
            evidence=spans,
            sha256=operation.sha256,
            operation_id=operation.id,
            seconds=operation.seconds,
        ),
    )
    # Asked last, because what was stored before stays acknowledged whatever became of the chunk since.
    if new:
        live = corpus.chunks(connection, [operation.chunk_id]).get(operation.chunk_id)
        if live is None:
            raise Conflict(f"The chunk {operation.chunk_id!r} is in the chunk table no more: the label was not saved.")
        if live.sha256 != operation.sha256:
            raise Conflict(
                f"The chunk {operation.chunk_id!r} was changed after you opened it, so the label was not saved.",
                hint="Read its present text, then grade it again.",
            )


def decode_operations(raw: object) -> tuple[Operation, ...]:
    """Check what the screen sent. Raises InputError naming the field that is wrong."""
    try:
        return msgspec.convert(raw, tuple[Operation, ...], strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"The screen sent an operation that cannot be read: {error}.") from error


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of a list, equal when their hashes are: a grade shows the same list again."""

    hashes: tuple[str, ...]
    texts: tuple[str, ...] = field(compare=False)


@lru_cache(maxsize=16)
def _groups(shown: _Texts) -> list[list[int]]:
    return alike.groups(shown.texts)


def _distance(spots: Sequence[int], at: int) -> tuple[int, int]:
    return min(abs(at - spot) for spot in spots), at


def _draft(kept: tuple[str, str] | None) -> tuple[str, tuple[Evidence, ...]] | None:
    return None if kept is None else (kept[0], judgments.read_evidence(kept[1]))
