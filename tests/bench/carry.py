"""Carrying labels over another cut of the same five texts, and how long 5,000 labels take over 200,000 chunks.

The labels come from excerpts whose place is known: the texts are cut at 800 characters, a chunk is labelled when it
holds any of an excerpt, and every new cut has its own true labels. With evidence these are the chunks that hold a
tenth or more of the quoted excerpt. Labels without evidence stand for their whole chunk: true are the chunks that
share half or more of the shorter of both with it. How many proposals without evidence hold any of the excerpt, which
nothing but the text tells them, is given beside that.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from annotator.gold.carry import CarriedLabel, Proposal, carry
from annotator.model import Chunk, Evidence

Place = tuple[str, int, int]
"""Document, start, end, in code points."""

OLD_SIZE, CUTS = 800, ((400, 50), (1200, 0))
LEAST = 0.1
TABLE, LABELS, WORDS_EACH = 200_000, 5_000, 120


@dataclass(frozen=True, slots=True)
class Figures:
    """Proposals against the true labels. `same_grade`: of the right ones, those with the grade the ranges give."""

    labels: int
    proposals: int
    true: int
    precision: float
    recall: float
    same_grade: float
    touching: float
    """Share of the proposals that hold any of the excerpt."""


@dataclass(frozen=True, slots=True)
class _Case:
    label: CarriedLabel
    where: Place
    inside: tuple[Place, ...]
    """What the labelled chunk holds of the excerpts."""


def run() -> Iterator[dict[str, object]]:
    """Yield the figures of both cuts, with evidence and without, then of the large table."""
    shared = Path(os.environ.get("ANNOTATOR_SHARED") or Path(__file__).resolve().parents[3] / "shared")
    folder = shared / "corpora" / "chroma_chunking_eval"
    for size, overlap in CUTS:
        for evidence in (True, False):
            start = time.perf_counter()
            found = measure(folder, size, overlap, evidence=evidence)
            took = round(time.perf_counter() - start, 1)
            facts = {"cut": size, "overlap": overlap, "evidence": evidence}
            yield {"bench": "carry", **facts, **asdict(found), "seconds": took}
    yield _large()


def measure(folder: Path, size: int, overlap: int, *, evidence: bool, every: int = 1) -> Figures:
    """Cut, label, cut anew, carry, compare. `every`: only each so-manieth question."""
    documents = texts(folder)
    old, new = cut(documents, OLD_SIZE), cut(documents, size, overlap)
    place_of = {chunk.chunk_id: place for place, chunk in new.items()}
    cases = [
        _case(documents, query_id, where, chunk, places, evidence=evidence)
        for query_id, places in list(excerpts(folder).items())[::every]
        for where, chunk in old.items()
        if any(shared(where, place) for place in places)
    ]
    proposed: dict[tuple[str, Place], Proposal] = {}
    touching: set[tuple[str, Place]] = set()
    for case, found in zip(cases, carry((case.label for case in cases), new.values()), strict=True):
        for one in found:
            place = place_of[one.chunk.chunk_id]
            if any(shared(place, excerpt) for excerpt in case.inside):
                touching.add((case.label.query_id, place))
            known = proposed.get((case.label.query_id, place))
            if known is None or known.grade < one.grade:
                proposed[case.label.query_id, place] = one
    return _figures(cases, proposed, _true(cases, new, evidence=evidence), len(touching))


def texts(folder: Path) -> dict[str, str]:
    """Put the documents together again from the chunks of the corpus, whose ids carry their place."""
    pieces: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in (folder / "chunks.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        place = row["chunk_id"].rsplit(":", 1)[1]
        pieces[row["doc_id"]].append((int(place.split("-")[0]), row["text"]))
    return {name: "".join(text for _, text in sorted(found)) for name, found in pieces.items()}


def excerpts(folder: Path) -> dict[str, list[Place]]:
    """Return query id → the places that answer it."""
    found = {}
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        document = row["metadata"]["corpus"] + ".md"
        references = row["metadata"]["references"]
        found[row["query_id"]] = [(document, one["start_index"], one["end_index"]) for one in references]
    return found


def cut(documents: Mapping[str, str], size: int, overlap: int = 0) -> dict[Place, Chunk]:
    """Cut into windows of at most `size` characters that begin and end at white space where there is any."""
    made = {}
    for name, text in documents.items():
        start = number = 0
        while start < len(text):
            end = min(start + size, len(text))
            if end < len(text):
                end = max(text.rfind(" ", start + size // 2, end) + 1, 0) or end
            made[name, start, end] = Chunk(f"{name}#{size}.{number}", text[start:end], name, position=number)
            number += 1
            if end == len(text):
                break
            begin = re.compile(r"\s").search(text, end - overlap, end) if overlap else None
            start = begin.end() if begin else end - overlap
    return made


def shared(one: Place, other: Place) -> int:
    """Return how many characters two places have in common."""
    return max(0, min(one[2], other[2]) - max(one[1], other[1])) if one[0] == other[0] else 0


def _case(
    documents: Mapping[str, str], query_id: str, where: Place, chunk: Chunk, places: list[Place], *, evidence: bool
) -> _Case:
    name, start, end = where
    inside = tuple((name, max(one[1], start), min(one[2], end)) for one in places if shared(one, where))
    spans = tuple(Evidence(documents[name][one[1] : one[2]], one[1] - start, one[2] - start) for one in inside)
    label = CarriedLabel(
        query_id,
        chunk.chunk_id,
        chunk.sha256,
        chunk.text,
        3,
        spans if evidence else (),
        doc_id=name,
        position=chunk.position,
    )
    return _Case(label, where, inside)


def _true(cases: Collection[_Case], new: Mapping[Place, Chunk], *, evidence: bool) -> dict[tuple[str, Place], int]:
    """Return (query id, place) → grade that the ranges give: whole 3, half or more 2, less 1."""
    found: dict[tuple[str, Place], int] = {}
    for case in cases:
        for place in new:
            if evidence:
                share = sum(shared(place, one) for one in case.inside) / sum(one[2] - one[1] for one in case.inside)
                enough = share >= LEAST
            else:
                both = shared(place, case.where)
                share = both / (case.where[2] - case.where[1])
                enough = 2 * both >= min(place[2] - place[1], case.where[2] - case.where[1])
            if enough:
                key = (case.label.query_id, place)
                found[key] = max(found.get(key, 0), 3 if share >= 0.95 else 2 if share >= 0.5 else 1)
    return found


def _figures(
    cases: Collection[_Case],
    proposed: Mapping[tuple[str, Place], Proposal],
    true: Mapping[tuple[str, Place], int],
    touching: int,
) -> Figures:
    right = proposed.keys() & true.keys()
    return Figures(
        labels=len(cases),
        proposals=len(proposed),
        true=len(true),
        precision=round(len(right) / len(proposed), 4),
        recall=round(len(right) / len(true), 4),
        same_grade=round(sum(proposed[key].grade == true[key] for key in right) / len(right), 4),
        touching=round(touching / len(proposed), 4),
    )


def _large() -> dict[str, object]:
    """Time 5,000 labels on texts that were cut otherwise in a table of 200,000 chunks."""
    chance = random.Random(1)
    vocabulary = [f"{chance.choice('bdfgklmnprst')}{chance.choice('aeiou')}{number}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    words = chance.choices(vocabulary, weights, k=TABLE * WORDS_EACH)

    def table() -> Iterator[Chunk]:
        for number in range(TABLE):
            text = " ".join(words[number * WORDS_EACH : (number + 1) * WORDS_EACH])
            yield Chunk(f"new{number}", text, f"d{number // 50}", position=number % 50)

    labels = []
    for number in range(LABELS):
        at = chance.randrange(len(words) - WORDS_EACH)
        text = " ".join(words[at : at + WORDS_EACH])
        quote = " ".join(words[at + 40 : at + 60])
        spans = (Evidence(quote, text.index(quote), text.index(quote) + len(quote)),) if number % 2 else ()
        labels.append(CarriedLabel(f"q{number}", f"old{number}", f"hash{number}", text, 3, spans))
    start, processor = time.perf_counter(), time.process_time()
    found = list(carry(labels, table()))
    return {
        "bench": "carry, large table",
        "chunks": TABLE,
        "labels": LABELS,
        "found_for": sum(map(bool, found)),
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - processor, 1),
    }
