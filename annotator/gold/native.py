"""The native rows of a release: how queries with their labels, chunks, judgments and decisions are written as JSON.

One canonical form (keys sorted, no spaces, letters as they are, one row a line), so that the same content is the same
bytes everywhere. Putting rows together to a release is `release.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from annotator.model import Adjudication, Chunk, Evidence, GoldLabel, GoldQuery, Judgment
from annotator.review.settle import best_first

__all__ = ["adjudication_row", "chunk_row", "gold_row", "judgment_row", "line"]

_encode: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def line(row: Mapping[str, object]) -> bytes:
    """Write a row as canonical JSON in UTF-8 with its line end. Raises ValueError for lone surrogates and NaN."""
    return _encode(row).encode() + b"\n"


def gold_row(query: GoldQuery) -> dict[str, Any]:
    """Return the row of `gold.jsonl`: the query with its labels, best first."""
    row: dict[str, Any] = {
        "query_id": query.query_id,
        "question": query.question,
        "gold": [_label_row(label) for label in best_first(query.gold)],
        "slice": {facet: value for facet, value in query.slice.items() if value},
    }
    return row | _filled(unanswerable=query.unanswerable, notes=query.notes)


def chunk_row(chunk: Chunk, sha256: str) -> dict[str, Any]:
    """Return the row of `chunks.jsonl`: the chunk as it was judged."""
    row: dict[str, Any] = {"chunk_id": chunk.chunk_id, "sha256": sha256, "text": chunk.text}
    if chunk.position is not None:
        row |= {"position": chunk.position}
    return row | _filled(doc_id=chunk.doc_id, title=chunk.title, metadata=dict(chunk.metadata))


def judgment_row(one: Judgment) -> dict[str, Any]:
    """Return the row of `judgments.jsonl` for what one person said; `grade` is null for "cannot judge"."""
    row = {"kind": "judgment", "annotator": one.annotator, "judged_at": one.judged_at}
    return row | _pair_row(one)


def adjudication_row(one: Adjudication) -> dict[str, Any]:
    """Return the row of `judgments.jsonl` for a reviewer's decision."""
    row = {"kind": "adjudication", "reviewer": one.reviewer, "decided_at": one.decided_at}
    return row | _pair_row(one)


def _pair_row(one: Judgment | Adjudication) -> dict[str, Any]:
    row = {"query_id": one.query_id, "chunk_id": one.chunk_id, "grade": one.grade, "sha256": one.sha256}
    return row | _filled(stale=one.stale, reason=one.reason, evidence=_evidence_rows(one.evidence))


def _label_row(label: GoldLabel) -> dict[str, Any]:
    row = {"chunk_id": label.chunk_id, "relevance": label.relevance, "sha256": label.sha256}
    return row | _filled(
        reason=label.reason,
        evidence=_evidence_rows(label.evidence),
        doc_id=label.doc_id,
        stale=label.stale,
        settled_by=label.settled_by,
    )


def _evidence_rows(evidence: tuple[Evidence, ...]) -> list[dict[str, Any]]:
    return [{"quote": span.quote, "start": span.start, "end": span.end} for span in evidence]


def _filled(**fields: object) -> dict[str, object]:
    """Keep the fields that say something: the rest is left out of the row."""
    return {name: value for name, value in fields.items() if value}
