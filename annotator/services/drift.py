"""What became of judged chunks: a gold set against the chunk table, and the labels in force that need a person's word.

A drifted label holds up the next version until somebody confirms it on the present text, carries it over
(`carry.py`) or drops it. All three append; what was said about the former text stays on record.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from annotator.errors import Conflict, InputError
from annotator.gold.drift import KINDS, Drifted, JudgedText, drift
from annotator.gold.goldset import GoldSet
from annotator.gold.words import Piece, find_words, text_difference
from annotator.model import Chunk, Evidence, GoldLabel, Judgment
from annotator.services import in_place
from annotator.services.examined import examine, labels_of
from annotator.services.live_texts import Standing, standing
from annotator.services.permission import labels_blindly, require
from annotator.store import corpus, drifted, events, judged_texts, judgments
from annotator.store import labels as record
from annotator.store.database import Workspace

__all__ = [
    "KINDS",
    "Affected",
    "Key",
    "Piece",
    "affected",
    "against",
    "confirm",
    "difference",
    "drop",
    "evidence_now",
    "shown_to",
]


@dataclass(frozen=True, slots=True)
class Key:
    """Which label, and what was seen of it: the hash of the text judged and of the present one ("": the id is gone)."""

    query_id: str
    chunk_id: str
    judged: str
    present: str


@dataclass(frozen=True, slots=True)
class Affected:
    """A label in force whose chunk drifted."""

    query_id: str
    question: str
    label: GoldLabel
    drifted: Drifted

    @property
    def key(self) -> Key:
        present = self.drifted.present
        return Key(self.query_id, self.label.chunk_id, self.label.sha256, present.sha256 if present else "")

    @property
    def evidence_stands(self) -> bool:
        """Whether everything quoted is still in the present text; false for a chunk that is gone."""
        present = self.drifted.present
        return present is not None and len(evidence_now(self.label, present)) == len(self.label.evidence)


def against(workspace: Workspace, gold: GoldSet, *, live: bool = False) -> list[Drifted]:
    """Return what of the gold set drifted, by chunk id; the chunk table as of the last sync, or `live` as it is now.

    Without hashes (bare judgments) only missing ids can be told. With `live`, raises what `live_texts.standing` does;
    a table that is searched in place is as it was when its chunks were last looked at.
    """
    found: dict[tuple[str, str], list[str]] = {}
    documents: dict[str, str] = {}
    for query_id in gold.grades:
        for label in gold.labels(query_id):
            found.setdefault((label.chunk_id, label.sha256), []).append(query_id)
            documents[label.chunk_id] = label.doc_id
    in_place.look_up(workspace, documents)
    now = None
    if live and not in_place.is_on(workspace):
        now = standing(workspace, documents.keys(), {sha256 for _, sha256 in found})
    with workspace.read() as connection:
        return _drifted(connection, found, documents, gold.texts, now)


def affected(workspace: Workspace, who: str = "") -> list[Affected]:
    """Return the labels in force whose chunk drifted, by question and chunk; to whoever labels blindly, of pairs they
    judged themselves."""
    found: dict[tuple[str, str], list[str]] = {}
    documents: dict[str, str] = {}
    said: list[tuple[str, str, GoldLabel]] = []
    with workspace.read() as connection:
        may_see = shown_to(connection, who)
        past = {chunk_id for chunk_id, _ in record.past_texts(connection)}
        for one in examine(connection, record.queries_about(connection, past)):
            concerned = {chunk_id for item in one.blocks if item.kind == "drifted" for chunk_id in item.chunk_ids}
            for label in one.gold.gold:
                if label.chunk_id in concerned and may_see((one.query.query_id, label.chunk_id)):
                    said.append((one.query.query_id, one.query.question, label))
                    found.setdefault((label.chunk_id, label.sha256), []).append(one.query.query_id)
                    documents[label.chunk_id] = label.doc_id
        drifted_texts = _drifted(connection, found, documents, {})
    by_text = {(one.judged.chunk_id, one.judged.sha256): one for one in drifted_texts}
    return [
        Affected(query_id, question, label, by_text[label.chunk_id, label.sha256])
        for query_id, question, label in said
        if (label.chunk_id, label.sha256) in by_text
    ]


def shown_to(connection: sqlite3.Connection, who: str) -> Callable[[tuple[str, str]], bool]:
    """Return what says of a (query_id, chunk_id) whether its label may be shown: whoever labels blindly sees what was
    made of their own labels, and no others'."""
    if not labels_blindly(connection, who):
        return lambda _: True
    own = {(one.query_id, one.chunk_id) for one in judgments.current(connection, annotator=who)}
    return own.__contains__


def confirm(workspace: Workspace, who: str, keys: Sequence[Key], reason: str = "") -> int:
    """Give the labels again, with the same grade, on the present texts, as this person; returns how many.

    Of the evidence, what is still in the text is kept. Raises InputError for a label whose chunk is gone, Conflict
    when a label or its text is no longer as it was seen; then nothing was written.
    """
    with workspace.write() as connection:
        require(connection, who, "grade chunks")
        for key, label in _seen(connection, keys):
            if not key.present:
                raise InputError(
                    f"The chunk {key.chunk_id!r} is gone: its label cannot be confirmed.", hint="Carry or drop it."
                )
            present = corpus.chunk(connection, key.chunk_id)
            judgment = Judgment(
                query_id=key.query_id,
                chunk_id=key.chunk_id,
                annotator=who,
                grade=label.relevance,
                stale=label.stale,
                reason=reason.strip() or label.reason,
                evidence=evidence_now(label, present),
                sha256=key.present,
                operation_id=uuid4().hex,
                origin="confirmed",
            )
            judgments.append(connection, judgment)
        _note(connection, who, "labels confirmed", keys, reason)
    return len(keys)


def drop(workspace: Workspace, who: str, keys: Sequence[Key], reason: str) -> int:
    """Take the labels out of force: the next version is without them; returns how many.

    Raises InputError without a reason, Conflict when a label or its text is no longer as it was seen, Forbidden for
    annotators and readers; then nothing was written.
    """
    if not reason.strip():
        raise InputError("Say in a few words why these labels are dropped.")
    with workspace.write() as connection:
        require(connection, who, "settle labels")
        for key, _ in _seen(connection, keys):
            drifted.set_aside(
                connection, key.query_id, key.chunk_id, key.judged, action="dropped", who=who, reason=reason.strip()
            )
        _note(connection, who, "labels dropped", keys, reason)
    return len(keys)


def difference(one: Affected) -> tuple[Piece, ...]:
    """Return how the present text differs from the one judged, in pieces; all of it is gone with a missing chunk."""
    present = one.drifted.present
    return text_difference(one.drifted.judged.text or "", present.text if present else "")


def evidence_now(label: GoldLabel, present: Chunk) -> tuple[Evidence, ...]:
    """Return the label's quotes in the present text; those it has not letter by letter are left out.

    Nothing fuzzy here: 14 days and 10 days are nearly the same letters.
    """
    found = (find_words(present.text, span.quote, span.start) for span in label.evidence)
    return tuple(Evidence(present.text[slice(*place)], *place) for place in found if place is not None)


def _drifted(
    connection: sqlite3.Connection,
    found: Mapping[tuple[str, str], Sequence[str]],
    documents: Mapping[str, str],
    texts: Mapping[str, str],
    now: Standing | None = None,
) -> list[Drifted]:
    """Compare (chunk id, hash) → query ids with the table: as it stands now, where given, else the workspace's copy.

    Texts judged come from the workspace, else from `texts` by id.
    """
    live = corpus.chunks(connection, (chunk_id for chunk_id, _ in found)) if now is None else now.by_id
    suspect = [
        (chunk_id, sha256)
        for chunk_id, sha256 in sorted(found)
        if chunk_id not in live or (sha256 and live[chunk_id].sha256 != sha256)
    ]
    kept = {(chunk.chunk_id, sha256): chunk.text for sha256, chunk in judged_texts.chunks(connection, suspect)}
    by_text = _by_text(connection, suspect) if now is None else now.by_text
    judged = (
        JudgedText(
            chunk_id,
            sha256,
            kept.get((chunk_id, sha256), texts.get(chunk_id)),
            documents.get(chunk_id, ""),
            tuple(dict.fromkeys(found[chunk_id, sha256])),
        )
        for chunk_id, sha256 in suspect
    )
    return list(drift(judged, live, by_text))


def _by_text(connection: sqlite3.Connection, suspect: Iterable[tuple[str, str]]) -> dict[str, list[Chunk]]:
    """Return the chunks of the workspace's copy that carry the texts of these, by hash."""
    ids = corpus.ids_by_text(connection, (sha256 for _, sha256 in suspect if sha256))
    found = corpus.chunks(connection, (chunk_id for some in ids.values() for chunk_id in some))
    return {sha256: [found[one] for one in some] for sha256, some in ids.items()}


def _seen(connection: sqlite3.Connection, keys: Iterable[Key]) -> Iterator[tuple[Key, GoldLabel]]:
    """Give each label, checked against what was seen of it."""
    wanted = list(keys)
    hashes = {key: one.sha256 for key, one in corpus.chunks(connection, (key.chunk_id for key in wanted)).items()}
    by_query: dict[str, dict[str, GoldLabel]] = {}
    for key in wanted:
        if key.query_id not in by_query:
            pairs = labels_of(connection, key.query_id)
            by_query[key.query_id] = {one.chunk_id: one for one in pairs if isinstance(one, GoldLabel)}
        label = by_query[key.query_id].get(key.chunk_id)
        if label is None or label.sha256 != key.judged or hashes.get(key.chunk_id, "") != key.present:
            raise Conflict(
                f"The label of {key.chunk_id!r} for {key.query_id!r} was dealt with, or its text changed again.",
                hint="Look at the list again.",
            )
        yield key, label


def _note(connection: sqlite3.Connection, who: str, action: str, keys: Sequence[Key], reason: str) -> None:
    facts = {"reason": reason.strip(), "labels": [[key.query_id, key.chunk_id] for key in keys]}
    events.record(connection, who, action, "drift", new=facts)
