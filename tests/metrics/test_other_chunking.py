"""One gold set, two chunkings: a speech cut every 400 and every 800 characters, scored by evidence and by hand."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import evaluate
from annotator.metrics.runs import Run
from annotator.model import Chunk

Range = tuple[int, int]
SHORTEST = 20
"""Where a cut leaves fewer characters of an excerpt than this nobody would quote them, and they stand everywhere."""


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "corpora" / "chroma_chunking_eval" / "original"


@pytest.fixture(scope="module")
def speech(folder: Path) -> str:
    return (folder / "state_of_the_union.md").read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def questions(folder: Path) -> dict[str, tuple[str, list[Range]]]:
    """Question and the exact ranges of its evidence, by id."""
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus_id"] == "state_of_the_union"]
    return {
        f"q{number:02}": (
            row["question"],
            [(one["start_index"], one["end_index"]) for one in json.loads(row["references"])],
        )
        for number, row in enumerate(rows, 1)
    }


def cut(speech: str, size: int) -> dict[str, Range]:
    return {f"{start}-{start + size}": (start, min(start + size, len(speech))) for start in range(0, len(speech), size)}


def quotes(evidence: Sequence[Range], chunks: dict[str, Range]) -> dict[str, list[Range]]:
    """What an annotator quotes of each chunk: the part of the evidence that stands in it."""
    found: dict[str, list[Range]] = {}
    for start, end in evidence:
        for chunk_id, (first, last) in chunks.items():
            part = max(start, first), min(end, last)
            if part[1] - part[0] >= SHORTEST:
                found.setdefault(chunk_id, []).append(part)
    return found


def gold_set(folder: Path, speech: str, questions: dict[str, tuple[str, list[Range]]]) -> GoldSet:
    """Labels on the chunks of 800 characters, each with its quotes."""
    chunks = cut(speech, 800)
    rows = []
    for query_id, (question, evidence) in questions.items():
        labels = [
            {
                "chunk_id": chunk_id,
                "relevance": 3,
                "evidence": [
                    {"quote": speech[a:b], "start": a - chunks[chunk_id][0], "end": b - chunks[chunk_id][0]}
                    for a, b in parts
                ],
            }
            for chunk_id, parts in quotes(evidence, chunks).items()
        ]
        rows.append({"query_id": query_id, "question": question, "gold": labels})
    (folder / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return GoldSet.load(folder / "gold.jsonl")


def table(speech: str, chunks: dict[str, Range]) -> dict[str, Chunk]:
    return {chunk_id: Chunk(chunk_id, speech[start:end]) for chunk_id, (start, end) in chunks.items()}


def by_shared_words(speech: str, chunks: dict[str, Range], question: str) -> list[str]:
    asked = set(re.findall(r"\w+", question.lower()))

    def shared_words(chunk_id: str) -> int:
        start, end = chunks[chunk_id]
        return len(asked & set(re.findall(r"\w+", speech[start:end].lower())))

    return sorted(chunks, key=lambda chunk_id: (-shared_words(chunk_id), chunks[chunk_id]))[:10]


def test_the_first_question_by_hand(tmp_path: Path, speech: str, questions: dict[str, tuple[str, list[Range]]]) -> None:
    # its evidence: the late fees of credit cards, and the total price up front, which the cut at 28000 goes through
    assert questions["q01"][1] == [(27346, 27425), (27866, 28023)]
    gold = gold_set(tmp_path, speech, {"q01": questions["q01"]})
    assert [(label.chunk_id, len(label.evidence)) for label in gold.labels("q01")] == [
        ("27200-28000", 2),
        ("28000-28800", 1),
    ]
    retrieved = {
        # the fees alone, then the first part of the price, then neither, then the rest of the price
        400: (["27200-27600", "27600-28000", "0-400", "28000-28400"], [1 / 3, 2 / 3, 2 / 3, 1.0]),
        # fees and first part come in one chunk and are one unit; the rest is the other
        800: (["0-800", "27200-28000", "28000-28800"], [0.0, 1 / 2, 1.0, 1.0]),
    }
    for size, (chunk_ids, recall) in retrieved.items():
        found = evaluate(
            gold, Run.of({"q01": chunk_ids}), k=[1, 2, 3, 4], level="span", chunks=table(speech, cut(speech, size))
        )
        assert [found.measures[f"R@{k}"] for k in (1, 2, 3, 4)] == pytest.approx(recall)
        assert found.measures["RR"] == (1.0 if size == 400 else 1 / 2)


@pytest.mark.parametrize("size", [400, 800])
def test_scores_by_evidence_are_those_counted_from_the_exact_ranges(
    tmp_path: Path, speech: str, questions: dict[str, tuple[str, list[Range]]], size: int
) -> None:
    chunks = cut(speech, size)
    gold = gold_set(tmp_path, speech, questions)
    run = Run.of({query_id: by_shared_words(speech, chunks, question) for query_id, (question, _) in questions.items()})
    found = evaluate(gold, run, k=[3, 10], level="span", chunks=table(speech, chunks))
    assert len(found.per_query) == len(questions) > 70
    for query_id, (_, evidence) in questions.items():
        left = [part for parts in quotes(evidence, cut(speech, 800)).values() for part in parts]
        units, hits = len(left), []
        for chunk_id in run.queries[query_id].chunk_ids:
            first, last = chunks[chunk_id]
            new = [(a, b) for a, b in left if min(b, last) - max(a, first) >= 0.9 * (b - a)]
            hits.append(bool(new))
            units -= max(0, len(new) - 1)  # found together, they are one
            left = [part for part in left if part not in new]
        for k in (3, 10):
            assert found.per_query[query_id][f"R@{k}"] == pytest.approx(sum(hits[:k]) / units), query_id
            assert found.per_query[query_id][f"P@{k}"] == pytest.approx(sum(hits[:k]) / k), query_id
        first_hit = hits.index(True) + 1 if any(hits) else 0
        assert found.per_query[query_id]["RR"] == (1 / first_hit if first_hit else 0.0), query_id
