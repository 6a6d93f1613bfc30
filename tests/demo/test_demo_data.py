"""What the demo promises: sizes, honest spans, settled disputes, runs that hold only chunks of the table."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

DEMO = Path(__file__).parents[2] / "data" / "demo"
PEOPLE = {"Ana Kovač", "Jonas Lindqvist", "Mei Tanaka"}
RUNS = ("bm25", "dense", "hybrid")
FACET_VALUES = {
    "domain": {"policy", "product", "operations", "support"},
    "risk": {"low", "medium", "high"},
    "query_type": {
        "factual_lookup",
        "comparison",
        "how_it_works",
        "exact_identifier",
        "multi_chunk",
        "procedure",
        "unanswerable",
    },
    "source_format": {"markdown", "table", "faq", "runbook"},
}


@cache
def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


@cache
def chunks() -> dict[str, dict[str, Any]]:
    db = sqlite3.connect(f"file:{DEMO / 'chunks.db'}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    rows = [dict(row) for row in db.execute("SELECT * FROM chunks ORDER BY doc_id, position")]
    db.close()
    return {row["chunk_id"]: row | {"metadata": json.loads(row["metadata"])} for row in rows}


def queries() -> dict[str, dict[str, Any]]:
    return {query["query_id"]: query for query in lines("queries.jsonl")}


def views() -> dict[tuple[str, str], list[dict[str, Any]]]:
    pairs: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for judgment in lines("judgments.jsonl"):
        pairs[judgment["query_id"], judgment["chunk_id"]].append(judgment)
    return pairs


def disputed() -> set[tuple[str, str]]:
    grades = {
        pair: {(j["grade"], j.get("stale", False)) for j in judgments if j["grade"] is not None}
        for pair, judgments in views().items()
    }
    return {pair for pair, given in grades.items() if len(given) > 1}


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_corpus_has_the_promised_size_and_metadata() -> None:
    assert 240 <= len(chunks()) <= 320
    assert len({chunk["doc_id"] for chunk in chunks().values()}) >= 40
    for chunk in chunks().values():
        assert {"version", "status", "domain", "source_format", "updated_at", "tenant"} <= chunk["metadata"].keys()
        assert chunk["metadata"]["status"] in {"current", "superseded"}
        assert chunk["metadata"]["source_format"] in FACET_VALUES["source_format"]
        assert " › " in chunk["title"]


def test_positions_of_a_document_count_up_from_zero() -> None:
    positions = defaultdict(list)
    for chunk in chunks().values():
        positions[chunk["doc_id"]].append(chunk["position"])
    assert all(found == list(range(len(found))) for found in positions.values())


def test_chunks_are_between_40_and_150_words_long() -> None:
    for chunk in chunks().values():
        if chunk["metadata"].get("lang") == "ja":
            assert 100 <= len(chunk["text"]) <= 400, chunk["chunk_id"]
        else:
            assert 40 <= len(re.findall(r"[^\s|]+", chunk["text"])) <= 150, chunk["chunk_id"]


def test_no_text_stands_twice() -> None:
    assert len({chunk["text"] for chunk in chunks().values()}) == len(chunks())


def test_questions_cover_every_facet_value_and_six_are_open() -> None:
    assert len(queries()) == len(lines("queries.jsonl")) == 28
    for facet, values in FACET_VALUES.items():
        assert {query["facets"][facet] for query in queries().values()} == values
    assert sum(query["state"] == "open" for query in queries().values()) == 6
    assert sum(query["state"] == "complete" for query in queries().values()) == 22
    unanswerable = [query for query in queries().values() if query.get("unanswerable")]
    assert len(unanswerable) >= 2
    assert all(query["facets"]["query_type"] == "unanswerable" for query in unanswerable)


def test_every_judgment_is_about_a_known_question_and_chunk_by_a_known_person() -> None:
    for judgment in lines("judgments.jsonl"):
        assert judgment["query_id"] in queries()
        assert judgment["chunk_id"] in chunks()
        assert judgment["annotator"] in PEOPLE


def test_one_person_judges_a_pair_once() -> None:
    keys = [(j["query_id"], j["chunk_id"], j["annotator"]) for j in lines("judgments.jsonl")]
    assert len(set(keys)) == len(keys)
    assert 450 <= len(keys) <= 600


def test_complete_questions_have_eight_to_fifteen_judged_chunks_and_open_ones_none() -> None:
    judged = defaultdict(int)
    for query_id, _ in views():
        judged[query_id] += 1
    for query_id, query in queries().items():
        if query["state"] == "open":
            assert judged[query_id] == 0
        else:
            assert 8 <= judged[query_id] <= 15


def test_grades_are_whole_numbers_from_0_to_3_and_stale_means_0() -> None:
    for label in lines("judgments.jsonl") + lines("adjudications.jsonl"):
        if label.get("cannot_judge"):
            assert label["grade"] is None
            assert label["reason"]
        else:
            assert label["grade"] in {0, 1, 2, 3}
        if label.get("stale"):
            assert label["grade"] == 0


def test_evidence_stands_where_its_offsets_say() -> None:
    for label in lines("judgments.jsonl") + lines("adjudications.jsonl"):
        text = chunks()[label["chunk_id"]]["text"]
        for span in label.get("evidence", []):
            assert text[span["start"] : span["end"]] == span["quote"]
            assert span["quote"]


def test_partial_answering_and_disputed_grades_carry_a_reason() -> None:
    for pair, judgments in views().items():
        for judgment in judgments:
            if judgment["grade"] in {2, 3} or pair in disputed():
                assert judgment.get("reason"), pair


def test_people_disagree_and_the_reviewer_left_two_pairs_open() -> None:
    settled = {(a["query_id"], a["chunk_id"]) for a in lines("adjudications.jsonl")}
    assert 12 <= len(disputed()) <= 18
    assert settled < disputed()
    left = disputed() - settled
    assert len(left) == len({query_id for query_id, _ in left}) == 2


def test_every_answerable_complete_question_has_an_answering_chunk() -> None:
    answered = {query_id for (query_id, _), judgments in views().items() if any(j["grade"] == 3 for j in judgments)}
    complete = {query_id for query_id, query in queries().items() if query["state"] == "complete"}
    assert answered == {query_id for query_id in complete if not queries()[query_id].get("unanswerable")}


def test_no_question_copies_six_words_of_a_chunk_it_grades_high() -> None:
    for (query_id, chunk_id), judgments in views().items():
        if any(judgment["grade"] in {2, 3} for judgment in judgments):
            asked, text = words(queries()[query_id]["question"]), words(chunks()[chunk_id]["text"])
            spans = {tuple(text[at : at + 6]) for at in range(len(text) - 5)}
            assert not spans & {tuple(asked[at : at + 6]) for at in range(len(asked) - 5)}, (query_id, chunk_id)


@pytest.mark.parametrize("name", RUNS)
def test_runs_answer_every_question_with_chunks_of_the_table(name: str) -> None:
    header, *answers = lines(f"runs/{name}.jsonl")
    assert {"name", "index_version", "embedding_model", "reranker", "prompt_version"} <= header["run"].keys()
    assert header["run"]["name"] == name
    assert {answer["query_id"] for answer in answers} == queries().keys()
    for answer in answers:
        ids = [hit["chunk_id"] for hit in answer["results"]]
        dropped = [entry["chunk_id"] for entry in answer.get("filtered_out", [])]
        assert len(ids) == len(set(ids)) <= 20
        assert set(ids) | set(answer["candidates"]) | set(dropped) <= chunks().keys()
        scores = [(hit["score"], hit["chunk_id"]) for hit in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        assert answer["latency_ms"] > 0


def test_hybrid_drops_by_status_alone_and_so_loses_a_document_in_force() -> None:
    dropped = set()
    for answer in lines("runs/hybrid.jsonl")[1:]:
        shown = {hit["chunk_id"] for hit in answer["results"]}
        assert all(chunks()[chunk_id]["metadata"]["status"] == "current" for chunk_id in shown)
        dropped |= {(answer["query_id"], entry["chunk_id"]) for entry in answer["filtered_out"]}
    decided = {(a["query_id"], a["chunk_id"]) for a in lines("adjudications.jsonl") if a["grade"] == 3}
    assert ("KW-009", "policy-addendum-ref-2024-07#purpose") in dropped & decided


def test_gate_speaks_of_known_facets_only() -> None:
    rules = yaml.safe_load((DEMO / "gate.yaml").read_text(encoding="utf-8"))["rules"]
    assert 5 <= len(rules) <= 7
    for rule in rules:
        for facet, value in rule.get("where", {}).items():
            assert value in FACET_VALUES[facet]
