"""The domain's values: what a chunk, a query, a judgment, a gold label and a run are.

Frozen and free of behaviour beyond their own definition; every other module speaks in these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

__all__ = [
    "FACETS",
    "GRADES",
    "QUERY_STATES",
    "Adjudication",
    "Chunk",
    "Evidence",
    "GoldLabel",
    "GoldQuery",
    "Judgment",
    "Person",
    "Query",
    "Run",
    "RunQuery",
    "id_fault",
    "text_hash",
]

GRADES: Final[Mapping[int, str]] = {0: "irrelevant", 1: "related", 2: "partial", 3: "answers"}
"""Grade to its word on screen, worst first."""

QUERY_STATES: Final = ("draft", "open", "complete", "disputed", "retired")
"""`disputed` is derived from the labels; the others are set by people."""

FACETS: Final = ("domain", "risk", "query_type", "source_format")
"""The facets of a new workspace; configurable in Settings."""

MAX_ID_LENGTH: Final = 500


def text_hash(text: str) -> str:
    """SHA-256 of the text in UTF-8, 64 hex digits: the identity of what a person read."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_KINDS: Final = {int: "a number", float: "a number", bool: "true or false", type(None): "null", list: "a list"}


def id_fault(value: object) -> str:
    """Say why the value cannot be an id, or return "" when it can.

    Ids are opaque: `007`, `1e5`, `NA`, slashes, spaces, emoji are all fine. Refused: not a string, empty,
    over 500 characters, control characters, lone surrogates.
    """
    if not isinstance(value, str):
        kind = _KINDS.get(type(value), f"a {type(value).__name__}")
        return f"id is {kind}, not text"
    if value.isprintable() and 0 < len(value) <= MAX_ID_LENGTH and not value.isspace():
        return ""
    if not value.strip():
        return "id is empty"
    if len(value) > MAX_ID_LENGTH:
        return f"id has {len(value)} characters, over {MAX_ID_LENGTH}"
    for character in value:
        code = ord(character)
        if code < 0x20 or 0x7F <= code < 0xA0:
            return f"id has the control character U+{code:04X}"
        if 0xD800 <= code < 0xE000:
            return f"id has the lone surrogate U+{code:04X}"
    return ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document in the chunk table. `position` is its place in the document, counted from 0."""

    chunk_id: str
    text: str
    doc_id: str = ""
    title: str = ""
    position: int | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of the text as judged."""
        return text_hash(self.text)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quoted span of a chunk's text: `text[start:end] == quote`, offsets in code points."""

    quote: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its facets. `revision` grows by one with every change and guards against lost updates."""

    query_id: str
    question: str
    notes: str = ""
    facets: Mapping[str, str] = field(default_factory=dict)
    state: str = "open"
    unanswerable: bool = False
    owner: str = ""
    revision: int = 1


@dataclass(frozen=True, slots=True)
class Judgment:
    """One annotator's view of one (query, chunk).

    `grade` is 0-3, or None when the person could not judge. `stale` (outdated version, must not be used) goes
    with grade 0. `sha256` is the hash of the text that was read. `judged_at` is UTC, ISO 8601.
    """

    query_id: str
    chunk_id: str
    annotator: str
    grade: int | None
    stale: bool = False
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    sha256: str = ""
    judged_at: str = ""
    operation_id: str = ""
    seconds: float | None = None
    """How long the chunk was on screen before the grade, where known."""
    origin: str = "annotate"

    @property
    def cannot_judge(self) -> bool:
        return self.grade is None


@dataclass(frozen=True, slots=True)
class Adjudication:
    """A reviewer's decision that settles one (query, chunk); the judgments it settles stay as they are."""

    query_id: str
    chunk_id: str
    reviewer: str
    grade: int
    stale: bool = False
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    sha256: str = ""
    decided_at: str = ""
    operation_id: str = ""


@dataclass(frozen=True, slots=True)
class GoldLabel:
    """The settled grade of one chunk for one query. `settled_by` names the rule or the adjudicating person."""

    chunk_id: str
    relevance: int
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    doc_id: str = ""
    sha256: str = ""
    stale: bool = False
    settled_by: str = ""


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """A query of a gold set with its labels, best first."""

    query_id: str
    question: str = ""
    gold: tuple[GoldLabel, ...] = ()
    slice: Mapping[str, str] = field(default_factory=dict)
    unanswerable: bool = False
    notes: str = ""


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What a retriever did for one query: its chunks best first, and the trace, where known."""

    query_id: str
    chunk_ids: tuple[str, ...] = ()
    scores: tuple[float, ...] | None = None
    """As long as `chunk_ids`; None when the run gave an order only."""
    candidates: tuple[str, ...] = ()
    filtered_out: tuple[tuple[str, str], ...] = ()
    """(chunk_id, name of the filter or "")."""
    trace: Mapping[str, object] = field(default_factory=dict)
    """route, filters, rewritten_query, latency_ms, timed_out … as given."""
    below: Mapping[str, int] = field(default_factory=dict)
    """Where only the top of a long list was kept: the judged chunks further down, with their ranks, ascending."""

    def rank(self, chunk_id: str) -> int | None:
        """Return the chunk's rank, counted from 1; None when it is not in the list."""
        return self.chunk_ids.index(chunk_id) + 1 if chunk_id in self.chunk_ids else self.below.get(chunk_id)


@dataclass(frozen=True, slots=True)
class Run:
    """A ranked chunk list per query from some retriever. `meta`: index_version, embedding_model, reranker …"""

    name: str
    queries: Mapping[str, RunQuery]
    meta: Mapping[str, object] = field(default_factory=dict)
    digest: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who works here. `role`: annotator, reviewer, admin or reader. Deactivated, never deleted."""

    name: str
    role: str = "annotator"
    active: bool = True
