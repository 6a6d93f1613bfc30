"""One small run per kind of failure; figures of operation and holes from the same traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotator.gold.goldfiles import read_gold
from annotator.gold.goldset import GoldSet
from annotator.metrics.diagnose import Finding, count_kinds, diagnose, reading
from annotator.metrics.evaluation import Evaluation, evaluate
from annotator.metrics.holes import holes
from annotator.metrics.operations import operations, percentile
from annotator.metrics.runfiles import read_run
from annotator.metrics.runs import Run
from annotator.model import Run as PlainRun


def traced(grades: dict[str, Any], rows: list[dict[str, Any]], k: int = 2, stale: tuple[str, ...] = ()) -> Evaluation:
    """Score a trace against gold written as {query: {chunk: grade}}; chunks named in `stale` are flagged so."""
    gold = [
        {
            "query_id": query,
            "gold": [{"chunk_id": c, "relevance": g, "stale": c in stale} for c, g in labels.items()],
        }
        for query, labels in grades.items()
    ]
    content = read_run("\n".join(map(json.dumps, rows)), "trace")
    gold_set = GoldSet.of(grades)
    details = read_gold("\n".join(map(json.dumps, gold)), "gold").details
    gold_set = GoldSet(gold_set.grades, details, digest="d")
    return evaluate(gold_set, PlainRun("run", content.queries), k=[k])


def kinds(found: tuple[Finding, ...]) -> list[tuple[str, tuple[str, ...], int | None]]:
    return [(finding.kind, finding.chunk_ids, finding.rank) for finding in found]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"results": ["a", "x"]}, []),
        ({"results": ["x", "y", "z", "a"]}, [("buried", ("a",), 4)]),
        ({"results": ["x"], "candidates": ["x", "y", "a"]}, [("buried", ("a",), 3)]),
        ({"results": ["x", "y", "z", "a"], "candidates": ["a"]}, [("buried", ("a",), 4)]),
        ({"results": ["x", "y"]}, [("missing", ("a",), None)]),
        ({"results": ["x"], "filtered_out": [{"chunk_id": "a", "filter": "tenant"}]}, [("filtered", ("a",), None)]),
        ({"results": ["x"], "candidates": ["a"], "filtered_out": ["a"]}, [("filtered", ("a",), None)]),
        ({"results": []}, [("empty", (), None)]),
        ({"results": [], "filtered_out": ["a"]}, [("empty", (), None), ("filtered", ("a",), None)]),
        ({"results": ["x"], "timed_out": True}, [("timed_out", (), None)]),
        ({"results": ["old", "a"]}, [("stale", ("old",), 1)]),
    ],
)
def test_each_failure_has_its_kind(row: dict[str, Any], expected: list[Any]) -> None:
    evaluation = traced({"q": {"a": 3, "old": 0}}, [{"query_id": "q", **row}], stale=("old",))
    assert kinds(diagnose(evaluation)) == expected


def test_a_query_missing_from_the_run_came_back_empty() -> None:
    evaluation = traced({"p": {"a": 1}, "q": {"a": 1}}, [{"query_id": "p", "results": ["a"]}])
    assert [(finding.query_id, finding.kind) for finding in diagnose(evaluation)] == [("q", "empty")]


def test_a_list_with_all_evidence_and_mostly_other_chunks_is_noisy_wherever_the_evidence_stands() -> None:
    lists = {"p": list("wxyza"), "q": list("awxyz"), "r": ["a"], "s": ["a", "x"], "t": list("wxyzv")}
    rows = [{"query_id": query_id, "results": found} for query_id, found in lists.items()]
    evaluation = traced({query_id: {"a": 1} for query_id in lists}, rows, k=5)
    noise = ("w", "x", "y", "z")
    found = [(one.query_id, one.kind, one.chunk_ids) for one in diagnose(evaluation)]
    assert found == [("p", "noisy", noise), ("q", "noisy", noise), ("t", "missing", ("a",))]


def test_a_top_full_of_relevant_chunks_buries_nothing() -> None:
    evaluation = traced({"q": {"a": 1, "b": 1, "c": 1}}, [{"query_id": "q", "results": ["a", "b", "c"]}], k=2)
    assert diagnose(evaluation) == ()


def test_drifted_chunks_are_stale_too() -> None:
    evaluation = traced({"q": {"a": 1}}, [{"query_id": "q", "results": ["a", "gone"]}])
    assert kinds(diagnose(evaluation, drifted=["gone"])) == [("stale", ("gone",), 2)]


def test_kinds_are_counted_in_the_order_of_blame() -> None:
    rows = [{"query_id": "p", "results": ["x"]}, {"query_id": "q", "results": []}, {"query_id": "r", "results": ["x"]}]
    evaluation = traced({query: {"a": 1} for query in "pqr"}, rows)
    assert list(count_kinds(diagnose(evaluation)).items()) == [("empty", 1), ("missing", 2)]


def test_recall_at_two_cut_offs_tells_ranking_from_discovery() -> None:
    gold = GoldSet.of({"q": {"a": 1}})
    deep = [f"x{i}" for i in range(20)]
    assert "ranking is weak" in reading(evaluate(gold, Run.of({"q": [*deep, "a"]}), k=[5, 50]))
    assert "discovery is weak" in reading(evaluate(gold, Run.of({"q": deep}), k=[5, 50]))
    assert reading(evaluate(gold, Run.of({"q": ["a"]}), k=[5, 50])) == ""


def test_a_run_that_tells_only_of_time_outs_that_happened_tells_that_no_other_did() -> None:
    rows = [{"query_id": query_id, "results": ["a"]} for query_id in "pqrs"]
    grades = {query_id: {"a": 1} for query_id in "pqrs"}
    assert operations(traced(grades, rows))["timeout_rate"] is None
    assert operations(traced(grades, [rows[0] | {"timed_out": True}, *rows[1:]]))["timeout_rate"] == 1 / 4
    assert operations(traced(grades, [rows[0] | {"timed_out": False}, *rows[1:]]))["timeout_rate"] == 0.0


def test_figures_of_operation_by_hand() -> None:
    rows = [
        {"query_id": "p", "results": ["old", "a"], "latency_ms": 10, "timed_out": False},
        {"query_id": "q", "results": [], "latency_ms": 30, "timed_out": True, "filtered_out": ["a"]},
        {"query_id": "other", "results": ["a"], "latency_ms": 9999},
    ]
    grades = {"p": {"a": 1, "old": 0}, "q": {"a": 1}, "r": {"a": 1}, "s": {"a": 1}}
    found = operations(traced(grades, rows, stale=("old",)))
    assert found == {
        "latency_p50_ms": 20.0,
        "latency_p95_ms": pytest.approx(29.0),
        "timeout_rate": 1 / 2,
        "empty_rate": 3 / 4,
        "stale_hit_rate@2": 1 / 4,
        "filtered_gold_rate": 1 / 4,
    }


def test_what_a_run_does_not_tell_is_unknown() -> None:
    found = operations(evaluate(GoldSet.of({"q": {"a": 1}}), Run.of({"q": ["a"]}), k=[5]))
    assert {name for name, value in found.items() if value is None} == {
        "latency_p50_ms", "latency_p95_ms", "timeout_rate", "filtered_gold_rate",
    }  # fmt: skip


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([], 50) is None
    assert percentile([7.0], 95) == 7.0
    assert percentile([10.0, 20.0, 30.0, 40.0], 50) == 25.0


def test_holes_that_matter_most_come_first(tmp_path: Path) -> None:
    gold = GoldSet.of({"p": {"a": 1}, "q": {"a": 1}})
    one = evaluate(gold, Run.of({"p": ["x", "a"], "q": ["a", "y"]}, "one"), k=[2])
    two = evaluate(gold, Run.of({"p": ["a", "x"], "q": ["a", "b", "too deep"]}, "two"), k=[2])
    found = holes([one, two])
    assert [(hole.query_id, hole.chunk_id, hole.best_rank, hole.runs) for hole in found] == [
        ("p", "x", 1, ("one", "two")),
        ("q", "b", 2, ("two",)),
        ("q", "y", 2, ("one",)),
    ]
