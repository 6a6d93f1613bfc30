"""The reference cases: each isolates one trap that people met in public, with its known right value."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import Evaluation, evaluate
from annotator.metrics.measures import parse
from annotator.metrics.runs import Run


def cases(shared: Path, *kinds: str) -> list[dict[str, Any]]:
    found = [
        case for case in json.loads((shared / "cases/metric_cases.json").read_text("utf-8")) if case["kind"] in kinds
    ]
    assert found
    return found


def assert_values(evaluation: Evaluation, expected: Mapping[str, Any], name: str) -> None:
    for measure, values in expected.items():
        for query_id, value in values["per_query"].items():
            assert evaluation.per_query[query_id][measure] == value, (name, measure, query_id)
        assert evaluation.measures[measure] == pytest.approx(values["mean"], rel=0, abs=1e-12), (name, measure)
        assert set(values["per_query"]) == set(evaluation.per_query), name


def test_every_value_is_exact(shared: Path) -> None:
    for case in cases(shared, "value", "divergent"):
        evaluation = evaluate(
            GoldSet.of(case["qrels"]), Run.of(case["run"]), k=(1, 5, 10), threshold=case["relevance_level"]
        )
        assert_values(evaluation, case["measures"], case["name"])
        for query_id, counted in case.get("judged@5", {}).items():
            shown = [chunk for chunk in evaluation.ranked(query_id) if chunk.rank <= 5]
            assert sum(chunk.grade is not None for chunk in shown) == counted["judged"], case["name"]
            assert len(shown) == counted["retrieved"], case["name"]
            share = counted["over_min_k_retrieved"] or 0.0
            assert evaluation.per_query[query_id]["Judged@5"] == share, case["name"]


def test_runs_that_older_tools_read_otherwise_are_warned_about(shared: Path) -> None:
    for case in cases(shared, "divergent"):
        assert "32 bits" in " ".join(Run.of(case["run"]).warnings), case["name"]


def test_what_cannot_be_scored_is_refused_naming_the_place(shared: Path) -> None:
    accepted = {
        "duplicate-judgment-same": "repeated",
        "judgments-empty-query-garbage": "no judgments and are left out: a",
    }
    for case in cases(shared, "reject"):
        if case["name"] in accepted:
            evaluation = evaluate(GoldSet.of(case["qrels"]), Run.of(case["run"]))
            assert accepted[case["name"]] in " ".join(evaluation.warnings), case["name"]
            continue
        with pytest.raises(InputError) as refused:
            evaluate(GoldSet.of(case["qrels"]), Run.of(case["run"]))
        place = {"judgments-empty-file": "no judgments", "both-empty": "no judgments", "id-is-a-number": "7"}
        faulty = {"id-lone-surrogate": "surrogate", "duplicate-doc-same-score": "duplicate chunk page1 in query q"}
        expected = (place | faulty).get(case["name"], "q")
        assert expected in str(refused.value), case["name"]


def test_files_are_read_or_refused_as_they_should(shared: Path, tmp_path: Path) -> None:
    refusals = {
        "file-qrels-three-columns": "line 1",
        "file-empty-run": "the run is empty",
        "file-run-five-columns": "line 1",
        "file-latin-1": "line 1",
    }
    for case in cases(shared, "file"):
        gold, run = tmp_path / f"{case['name']}.qrels", tmp_path / f"{case['name']}.run"
        gold.write_bytes(base64.b64decode(case["qrels_b64"]))
        run.write_bytes(base64.b64decode(case["run_b64"]))
        if case["name"] in refusals:
            with pytest.raises(InputError) as refused:
                evaluate(GoldSet.load(gold), Run.load(run))
            assert refusals[case["name"]] in str(refused.value), case["name"]
            continue
        evaluation = evaluate(GoldSet.load(gold), Run.load(run), k=(1, 5, 10))
        assert_values(evaluation, case["measures"], case["name"])
        if case["name"] in ("file-run-seven-columns", "file-rank-column-contradicts-score"):
            assert evaluation.warnings, case["name"]


NAMES = {"map": "AP", "recip_rank": "RR"}
PREFIXES = {"P_": "P@", "recall_": "R@", "ndcg_cut_": "nDCG@", "map_cut_": "AP@", "success_": "Success@"}


def reference_lines(path: Path) -> list[tuple[str, str, float]]:
    """Lines of the reference program's output for measures that exist here: canonical name, query or `all`, value."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        name, query_id, value = line.split("\t")
        name = name.strip()
        for prefix, here in PREFIXES.items():
            if name.startswith(prefix) and name.removeprefix(prefix).isdigit():
                lines.append((here + name.removeprefix(prefix), query_id, float(value)))
        if name in NAMES:
            lines.append((NAMES[name], query_id, float(value)))
    return lines


@pytest.mark.parametrize(
    ("output", "qrels", "results", "threshold"),
    [
        ("out.test", "qrels.test", "results.test", 1),
        ("out.test.aq", "qrels.test", "results.test", 1),
        ("out.test.aqc", "qrels.test", "results.trunc", 1),
        ("out.test.aql", "qrels.rel_level", "results.test", 2),
        ("out.comment.test", "qrels.comment.test", "results.comment.test", 1),
        ("out.test", "qrels.test.with-comments", "results.test", 1),
    ],
)
def test_the_reference_program_prints_the_same_four_decimals(
    shared: Path, output: str, qrels: str, results: str, threshold: int
) -> None:
    folder = shared / "cases/trec_eval"
    gold, run = GoldSet.load(folder / qrels), Run.load(folder / results)
    lines = reference_lines(folder / output)
    cuts = {parse(name).k for name, _, _ in lines}
    evaluation = evaluate(gold, run, k=[k for k in cuts if k], threshold=threshold)
    assert len(lines) > 10
    for name, query_id, value in lines:
        found = evaluation.measures[name] if query_id == "all" else evaluation.per_query[query_id][name]
        assert f"{found:.4f}" == f"{value:.4f}", (name, query_id)
