"""Other things to find than chunks: documents, or the quoted evidence itself.

Each level turns gold and run into ones of its own units, which are then scored like chunks. The span level scores a run
from another chunking against the same gold set, as it asks for the words and not for the ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.model import Chunk, GoldLabel, GoldQuery, Run, RunQuery

__all__ = ["ALIGNED", "LEVELS", "contains", "to_documents", "to_spans"]

LEVELS: Final = ("chunk", "document", "span")
ALIGNED: Final = 90
"""Percent of a quote that has to be found in a chunk, letter by letter, where it is not there word for word."""

_WORD: Final = re.compile(r"\w+")


def to_documents(gold: GoldSet, run: Run, chunks: Mapping[str, Chunk]) -> tuple[GoldSet, Run]:
    """Map chunks to documents: best grade of a document's chunks, first occurrence in the run.

    Documents are those of the labels, then those of `chunks`. A chunk whose document nobody knows stands for itself;
    how many of those were retrieved is a warning. Raises InputError when no document is known at all.
    """
    document = {chunk_id: chunk.doc_id for chunk_id, chunk in chunks.items() if chunk.doc_id}
    document |= {
        label.chunk_id: label.doc_id for query in gold.details.values() for label in query.gold if label.doc_id
    }
    if not document:
        raise InputError(
            "Nothing says which document a chunk belongs to.",
            hint="Score against a release, whose labels name documents, or give --chunks FILE.",
        )
    unknown: set[str] = set()

    def first_of_each(chunk_ids: Sequence[str]) -> dict[str, int]:
        unknown.update(chunk_id for chunk_id in chunk_ids if chunk_id not in document)
        places: dict[str, int] = {}
        for place, chunk_id in enumerate(chunk_ids):
            places.setdefault(document.get(chunk_id, chunk_id), place)
        return places

    queries = {}
    for query_id, answer in run.queries.items():
        places = first_of_each(answer.chunk_ids)
        queries[query_id] = replace(
            answer,
            chunk_ids=tuple(places),
            scores=None if answer.scores is None else tuple(answer.scores[place] for place in places.values()),
            candidates=tuple(first_of_each(answer.candidates)),
            filtered_out=tuple(
                {document.get(c, c): (document.get(c, c), why) for c, why in answer.filtered_out}.values()
            ),
        )
    warnings = run.warnings
    if unknown:
        warnings = (*warnings, f"{len(unknown)} retrieved chunks have no known document; each stands for itself.")
    grades = {query_id: _best(labels, document) for query_id, labels in gold.grades.items()}
    details = {
        query_id: _relabelled(query, grades.get(query_id, {}), document) for query_id, query in gold.details.items()
    }
    return replace(gold, grades=grades, details=details), replace(run, queries=queries, warnings=warnings)


def _best(labels: Mapping[str, int], document: Mapping[str, str]) -> dict[str, int]:
    best: dict[str, int] = {}
    for chunk_id, grade in labels.items():
        unit = document.get(chunk_id, chunk_id)
        best[unit] = max(best.get(unit, grade), grade)
    return best


def _relabelled(query: GoldQuery, grades: Mapping[str, int], document: Mapping[str, str]) -> GoldQuery:
    """A document is outdated when one of its chunks is flagged so and none is relevant."""
    stale = {document.get(label.chunk_id, label.chunk_id) for label in query.gold if label.stale}
    labels = (GoldLabel(unit, grade, stale=unit in stale and grade <= 0) for unit, grade in grades.items())
    return replace(query, gold=tuple(sorted(labels, key=lambda label: (-label.relevance, label.chunk_id))))


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of gold text to be found; `unit` is its id among the units of the query."""

    unit: str
    text: str
    grade: int


def to_spans(gold: GoldSet, run: Run, chunks: Mapping[str, Chunk]) -> tuple[GoldSet, Run]:
    """Map retrieved chunks to the gold evidence their text contains.

    Each quote of a relevant label is one span; a label without a quote is one span of its whole text. A chunk stands
    for the best span it brings that no chunk before it brought; others it brings along count as found with it, and
    are one unit with it. A chunk that repeats nothing new is judged and not relevant; so is one with the text of an
    irrelevant label. Everything else is a hole. Raises InputError when texts are missing.
    """
    answers = {query_id: answer for query_id, answer in run.queries.items() if query_id in gold.grades}
    missing = {chunk_id for answer in answers.values() for chunk_id in answer.chunk_ids if chunk_id not in chunks}
    if missing:
        named = ", ".join(sorted(missing)[:5])
        raise InputError(
            f"The texts of {len(missing)} retrieved chunks are not given: {named} …",
            hint="The span level reads them: give the run's chunk table with --chunks FILE, or name the workspace.",
        )
    grades: dict[str, dict[str, int]] = {}
    queries = dict(run.queries)
    for query_id in gold.grades:
        answer = answers.get(query_id, RunQuery(query_id))
        units, grades[query_id] = _matched(answer.chunk_ids, _spans(gold, query_id, chunks), chunks, gold, query_id)
        if query_id in answers:
            queries[query_id] = replace(answer, chunk_ids=units, candidates=(), filtered_out=())
    return replace(gold, grades=grades), replace(run, queries=queries)


def _spans(gold: GoldSet, query_id: str, chunks: Mapping[str, Chunk]) -> list[_Span]:
    found: dict[str, _Span] = {}
    for label in gold.labels(query_id):
        if label.relevance <= 0:
            continue
        texts = [span.quote for span in label.evidence if span.quote.strip()] or [_judged_text(gold, label, chunks)]
        for number, text in enumerate(texts, 1):
            if not text.strip():
                raise InputError(
                    f"The label of {label.chunk_id} for {query_id} has neither evidence nor a text.",
                    hint="The span level needs a release, which carries the texts, or quotes on every relevant label.",
                )
            plain = _plain(text)
            # labels come best first: the same words under a lower grade are the same span
            found.setdefault(plain, _Span(f"{label.chunk_id} ¶{number}", plain, label.relevance))
    return list(found.values())


def _judged_text(gold: GoldSet, label: GoldLabel, chunks: Mapping[str, Chunk]) -> str:
    """Text of a labelled chunk: as the release has it, else as the chunk table has it unless it changed since."""
    there = chunks.get(label.chunk_id)
    unchanged = there is not None and label.sha256 in ("", there.sha256)
    return gold.texts.get(label.chunk_id) or (there.text if there and unchanged else "")


def _matched(
    chunk_ids: Sequence[str], spans: Sequence[_Span], chunks: Mapping[str, Chunk], gold: GoldSet, query_id: str
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Unit of every retrieved chunk, in order, and the grades of all units of the query."""
    grades = {span.unit: span.grade for span in spans}
    labels = (label for label in gold.labels(query_id) if label.relevance <= 0)
    irrelevant = {_plain(_judged_text(gold, label, chunks)) for label in labels} - {""}
    units: list[str] = []
    left = list(spans)
    for chunk_id in chunk_ids:
        text = _plain(chunks[chunk_id].text)
        brought = [span for span in spans if contains(text, span.text)]
        new = [span for span in brought if span in left]
        if new:
            units.append(new[0].unit)
            left = [span for span in left if span not in new]
            for along in new[1:]:
                del grades[along.unit]
        else:
            units.append(chunk_id)
            if brought or text in irrelevant:
                grades[chunk_id] = 0
    return tuple(units), grades


def contains(text: str, quote: str) -> bool:
    """Say whether the text holds the quote, exactly or at least `ALIGNED` percent of it aligned; both as `_plain`."""
    if quote in text:
        return True
    # most pairs have nothing in common: counting shared words spares the alignment
    words = _words(quote)
    if len(text) < len(quote) * ALIGNED / 100 or (words and len(words & _words(text)) < len(words) * 0.4):
        return False
    from rapidfuzz import fuzz
    from rapidfuzz.distance import LCSseq

    place = text
    if len(text) > len(quote):
        aligned = fuzz.partial_ratio_alignment(quote, text, score_cutoff=ALIGNED)
        if aligned is None:
            return False
        # at the ends of the text the aligned place may be shorter, and is then like only a part of the quote
        place = text[aligned.dest_start : aligned.dest_end]
    return LCSseq.similarity(quote, place) >= len(quote) * ALIGNED / 100


def _plain(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=50_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))
