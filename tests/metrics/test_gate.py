"""The gate file is read strictly, and each rule passes, warns, blocks or is too small."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import Evaluation, evaluate
from annotator.metrics.gate import Check, judge, read_gate
from annotator.metrics.rendering import as_junit, as_markdown, as_text
from annotator.metrics.report import report
from annotator.metrics.runs import Run


@pytest.fixture
def gold(tmp_path: Path) -> GoldSet:
    rows = [
        {
            "query_id": f"q{i}",
            "gold": [{"chunk_id": "a", "relevance": 1}],
            "slice": {"domain": "policy" if i else "other"},
        }
        for i in range(4)
    ]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return GoldSet.load(tmp_path / "gold.jsonl")


@pytest.fixture
def run(gold: GoldSet) -> Evaluation:
    return evaluate(gold, Run.of({"q0": ["a"], "q1": ["a"], "q2": ["x", "a"]}, "new"), k=[1, 10])


@pytest.fixture
def baseline(gold: GoldSet) -> Evaluation:
    return evaluate(gold, Run.of({f"q{i}": ["a"] for i in range(4)}, "old"), k=[1, 10])


def checked(tmp_path: Path, rule: str, run: Evaluation, baseline: Evaluation | None = None) -> Check:
    (tmp_path / "gate.yaml").write_text(f"rules:\n  - {rule}\n", "utf-8")
    (check,) = judge(read_gate(str(tmp_path / "gate.yaml")), [run], baseline).checks
    return check


@pytest.mark.parametrize(
    ("rule", "value", "n", "outcome"),
    [
        ("{measure: 'R@10', min: 0.75}", 0.75, 4, "pass"),
        ("{measure: 'R@10', min: 0.8}", 0.75, 4, "block"),
        ("{measure: 'R@10', min: 0.8, severity: warn}", 0.75, 4, "warn"),
        ("{measure: 'R@10', where: {domain: policy}, min: 0.6}", 2 / 3, 3, "pass"),
        ("{measure: 'R@10', where: {domain: policy}, min: 0.6, min_queries: 4}", None, 3, "too_small"),
        ("{measure: 'R@10', max_drop: 0.25}", 0.25, 4, "pass"),
        ("{measure: 'R@10', max_drop: 0.2}", 0.25, 4, "block"),
        ("{measure: 'R@10', where: {domain: other}, max_drop: 0.0}", 0.0, 1, "pass"),
        ("{measure: empty_rate, max_increase: 0.0}", 0.25, 4, "block"),
        ("{measure: empty_rate, max: 0.25}", 0.25, 4, "pass"),
        ("{measure: 'stale_hit_rate@10', max_increase: 0.0}", 0.0, 4, "pass"),
        ("{measure: latency_p95_ms, max: 800}", None, 0, "too_small"),
    ],
)
def test_a_rule_by_hand(
    tmp_path: Path, run: Evaluation, baseline: Evaluation, rule: str, value: float | None, n: int, outcome: str
) -> None:
    check = checked(tmp_path, rule, run, baseline)
    assert (check.value, check.n, check.outcome) == (value if value is None else pytest.approx(value), n, outcome)


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        (["min: 0.0"], "release"),
        (["min: 0.0", "min: 0.9, severity: warn"], "warn"),
        (["min: 0.0", "min: 0.0, min_queries: 99"], "warn"),
        (["min: 0.9", "min: 0.9, severity: warn"], "block"),
    ],
)
def test_the_verdict_is_the_worst_outcome(tmp_path: Path, run: Evaluation, outcomes: list[str], verdict: str) -> None:
    rules = "".join(f"  - {{measure: 'R@10', {outcome}}}\n" for outcome in outcomes)
    (tmp_path / "gate.yaml").write_text(f"rules:\n{rules}", "utf-8")
    assert judge(read_gate(str(tmp_path / "gate.yaml")), [run]).verdict == verdict


def test_a_drop_comes_with_its_p_value(tmp_path: Path, run: Evaluation, baseline: Evaluation) -> None:
    check = checked(tmp_path, "{measure: 'R@10', max_drop: 0.2}", run, baseline)
    assert "fell from 1.0000 to 0.7500 (p = 1.000, n = 4, too few for any p < 0.05)" in check.reason


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("{measure: 'R@10', minimum: 0.5}", "field minimum: unknown key"),
        ("{measure: 'R@10'}", "a rule has one limit"),
        ("{measure: 'R@10', min: 0.5, max: 0.6}", "a rule has one limit"),
        ("{measure: 'R@10', min: high}", "field min: not a number"),
        ("{measure: 'R@10', min: .nan}", "field min: not a number"),
        ("{min: 0.5}", "field measure"),
        ("{measure: 'R@10', min: 0.5, severity: fatal}", "field severity: neither block nor warn"),
        ("{measure: 'R@10', min: 0.5, min_queries: 0}", "field min_queries"),
        ("{measure: 'R@10', min: 0.5, where: policy}", "field where"),
        ("{measure: 'R@10', min: 0.5, min: 0.6}", "field min: a key is given twice"),
        ("{measure: 'R@10', min: 0.5, where: {domain: policy, domain: support}}", "the facet is given twice"),
        ("{measure: 'R@10', min: 0.5, ? [a, b] : c}", "unknown key"),
        ("{measure: 'R@10', min: 1_0}", "field min: not a number"),
        ("{measure: 'R@10', min: 0.5, min_queries: " + "9" * 5000 + "}", "field min_queries"),
        ("{measure: 'R@" + "9" * 5000 + "', min: 0.5}", "is not a whole number from 1"),
        ("just words", "not a rule"),
        ("{measure: 'Recall@10', min: 0.5}", "Recall is written R"),
        ("{measure: 'latency', min: 0.5}", "No measure is called"),
        ("{measure: 'R@7', min: 0.5}", "no cut-off 7; add -k 7"),
        ("{measure: 'stale_hit_rate@7', max: 0.5}", "No measure is called"),
        ("{measure: 'R@10', min: 0.5, where: {team: policy}}", "no query has this facet"),
        ("{measure: 'R@10', min: 0.5, where: {domain: polcy}}", "no query has this value of domain"),
        ("{measure: 'R@10', max_drop: 0.5}", "max_drop needs a baseline"),
    ],
)
def test_what_nobody_knows_is_an_error_with_its_line(tmp_path: Path, run: Evaluation, rule: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        checked(tmp_path, rule, run)
    assert told in str(refused.value)
    assert "gate.yaml, line 2" in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "rules: []\n", "rule:\n  - a\n", "rules: [\n", "- a\n", "rules: {}\n", "extra: 1\nrules: []\n"]
)
def test_a_file_that_is_no_gate_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "gate.yaml").write_text(text, "utf-8")
    with pytest.raises(InputError):
        read_gate(str(tmp_path / "gate.yaml"))


RULES = """\
rules:
  - {measure: "R@10", min: 0.9}
  - {measure: "R@10", min: 0.9, severity: warn}
  - {measure: "R@10", min: 0.5}
"""


def test_junit_has_one_case_per_rule_and_survives_any_name(tmp_path: Path, gold: GoldSet) -> None:
    (tmp_path / "gate.yaml").write_text(RULES, "utf-8")
    run = evaluate(gold, Run.of({"q0": ["a"], "q1": ["a"], "q2": ["a"]}, '<"&\x01>'), k=[10])
    result = report([run], gate=read_gate(str(tmp_path / "gate.yaml")))
    assert result.verdict is not None
    suite = ElementTree.fromstring(as_junit(result, result.verdict))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["skipped"], []]


def test_markdown_shows_names_as_they_are(gold: GoldSet) -> None:
    run = evaluate(gold, Run.of({"q0": ["a"]}, "a|b <img> [x](y)\n# head"), k=[10], by=["domain"])
    text = as_markdown(report([run]))
    assert "### a\\|b \\<img\\> \\[x\\](y) \\# head" in text
    assert "| Recall\\@10 | 0.2500 |" in text
    assert "domain=policy, n=3" in text


def test_other_peoples_words_neither_steer_the_terminal_nor_forge_a_line(gold: GoldSet) -> None:
    run = evaluate(gold, Run.of({"q0": ["a"]}, "r\x1b[2J\u202e\nGate: release"), k=[10])
    for text in (as_text(report([run])), as_markdown(report([run]))):
        assert not set(text) & set("\x1b\u202e")
        assert not [line for line in text.splitlines() if line.startswith("Gate")]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("@ana", "\\@\u200bana"),
        ("#12", "\\#\u200b12"),
        ("ana/gold#12", "ana/gold\\#\u200b12"),
        ("doc#12", "doc\\#12"),
        ("R@10", "R\\@10"),
        ("&lt;b&gt;", "\\&lt;b\\&gt;"),
    ],
)
def test_markdown_calls_nobody(gold: GoldSet, name: str, shown: str) -> None:
    run = evaluate(gold, Run.of({"q0": ["a"]}, name), k=[10])
    assert f"### {shown}\n" in as_markdown(report([run]))


def test_text_has_four_decimals_and_a_comparison(run: Evaluation, baseline: Evaluation) -> None:
    text = as_text(report([run], baseline=baseline))
    assert "against old" in text
    assert "0/1/3" in text
    assert "4, too few for any p < 0.05" in text
