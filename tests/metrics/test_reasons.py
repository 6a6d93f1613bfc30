"""A rule that was not kept names the queries behind it and what became of their chunks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import Evaluation, evaluate
from annotator.metrics.gate import Check, judge, read_gate
from annotator.metrics.reasons import reasons
from annotator.metrics.rendering import as_junit, as_markdown, as_text
from annotator.metrics.report import Report, document, report
from annotator.metrics.runs import Run

GOLD = {
    # query: its relevant chunks
    "q1": ("a", "b", "c", "d"),
    "q2": ("e",),
    "q3": ("f",),
}
BASELINE = [
    {"query_id": "q1", "results": ["a", "b", "c", "d"], "latency_ms": 10},
    {"query_id": "q2", "results": ["x", "e"], "latency_ms": 10},
    {"query_id": "q3", "results": ["y", "f"], "latency_ms": 10},
]
RUN = [
    {
        "query_id": "q1",
        "results": ["x", "y", "z", "w", "a"],
        "candidates": ["x", "y", "z", "w", "a", "b"],
        "filtered_out": [{"chunk_id": "c", "filter": "freshness"}],
        "latency_ms": 40,
    },
    {"query_id": "q2", "results": ["e", "old"], "latency_ms": 10},
    {"query_id": "q3", "results": ["f"], "latency_ms": 5},
]


def scored(folder: Path, name: str, rows: list[dict[str, object]]) -> Evaluation:
    stale = {"chunk_id": "old", "relevance": 0, "stale": True}
    gold = [
        {"query_id": query_id, "question": f"What is {query_id}?",
         "gold": [*({"chunk_id": one, "relevance": 1} for one in ids), stale]}
        for query_id, ids in GOLD.items()
    ]  # fmt: skip
    (folder / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)), "utf-8")
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return evaluate(GoldSet.load(folder / "gold.jsonl"), Run.load(folder / f"{name}.jsonl"), k=[4])


def judged(folder: Path, rule: str) -> tuple[Report, Check]:
    (folder / "gate.yaml").write_text(f"rules:\n  - {rule}\n", "utf-8")
    run, baseline = scored(folder, "new", RUN), scored(folder, "old", BASELINE)
    result = report([run], baseline=baseline, gate=read_gate(str(folder / "gate.yaml")))
    assert result.verdict is not None
    (check,) = result.verdict.checks
    return result, check


@pytest.mark.parametrize(
    ("rule", "behind"),
    [
        # q1 lost all four, q2 and q3 lost nothing
        (
            "{measure: 'R@4', max_drop: 0.0}",
            [
                ("q1", 1.0, 0.0, "a at rank 5; b a candidate at rank 6, not returned; c filtered out (freshness); "
                 "and 1 more")
            ],
        ),
        ("{measure: 'R@4', max_drop: 0.9}", []),
        (
            "{measure: 'RR@4', min: 0.9}",
            [("q1", None, 0.0, "a at rank 5; b a candidate at rank 6, not returned; c filtered out (freshness); "
              "and 1 more")],
        ),
        ("{measure: 'stale_hit_rate@4', max_increase: 0.0}", [("q2", 0.0, 1.0, "old at rank 2 is outdated")]),
        ("{measure: latency_p95_ms, max_increase: 5}", [("q1", 10.0, 40.0, "")]),
        (
            "{measure: 'Judged@4', min: 0.9}",
            [("q1", None, 0.0, "x at rank 1 not judged; y at rank 2 not judged; z at rank 3 not judged; and 1 more")],
        ),
    ],
)  # fmt: skip
def test_the_queries_behind_a_rule_and_what_became_of_their_chunks(
    tmp_path: Path, rule: str, behind: list[tuple[str, float | None, float, str]]
) -> None:
    result, check = judged(tmp_path, rule)
    assert [(one.query_id, one.before, one.now, one.why) for one in result.reasons(check)] == behind


def test_a_worse_order_is_told_from_a_lost_chunk(tmp_path: Path) -> None:
    gold = GoldSet.of({"q": {"a": 3, "b": 1}})
    better, worse = (evaluate(gold, Run.of({"q": ids}, "r"), k=[4]) for ids in (["a", "b"], ["b", "a"]))
    (tmp_path / "gate.yaml").write_text("rules:\n  - {measure: 'nDCG@4', max_drop: 0.0}\n", "utf-8")
    (check,) = judge(read_gate(str(tmp_path / "gate.yaml")), [worse], better).checks
    assert reasons(check, worse, better)[0].why == "no relevant chunk lost from the first 4, but in a worse order"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([], "the run does not have this query"),
        ([{"query_id": "q1", "results": []}], "nothing came back"),
        ([{"query_id": "q1", "results": [], "timed_out": True}], "timed out; nothing came back"),
        (
            [{"query_id": "q1", "results": ["a", "b"], "timed_out": True}],
            "timed out; c not found; d not found",
        ),
    ],
)
def test_a_query_that_is_missing_empty_or_timed_out_says_which(
    tmp_path: Path, answer: list[dict[str, object]], why: str
) -> None:
    run = scored(tmp_path, "new", [*answer, {"query_id": "q2", "results": ["e"]}, {"query_id": "q3", "results": ["f"]}])
    (tmp_path / "gate.yaml").write_text("rules:\n  - {measure: 'R@4', min: 1}\n", "utf-8")
    (check,) = judge(read_gate(str(tmp_path / "gate.yaml")), [run]).checks
    assert [(one.query_id, one.why) for one in reasons(check, run)] == [("q1", why)]


def test_every_report_says_which_queries_and_why(tmp_path: Path) -> None:
    result, _ = judged(tmp_path, "{measure: 'R@4', max_drop: 0.0}")
    assert result.verdict is not None
    assert "q1 1.0000 to 0.0000: a at rank 5" in as_text(result)
    assert "| q1 | What is q1? | 1.0000 | 0.0000 | a at rank 5; b a candidate at rank 6" in as_markdown(result)
    assert "q1 1.0000 to 0.0000: a at rank 5" in as_junit(result, result.verdict)
    (rule,) = document(result)["gate"]["rules"]  # type: ignore[index]
    assert [one["query_id"] for one in rule["queries"]] == ["q1"]
