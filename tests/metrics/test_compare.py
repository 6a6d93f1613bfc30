"""Significance by hand, against the exact cases, and between two ways of computing it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.errors import Conflict
from annotator.gold.goldset import GoldSet
from annotator.metrics import compare as comparing
from annotator.metrics.compare import compare, difference, holm, p_figure, p_words, randomisation_p
from annotator.metrics.evaluation import evaluate
from annotator.metrics.runs import Run


def test_the_exact_p_values_are_met(shared: Path) -> None:
    for case in json.loads((shared / "cases/significance_cases.json").read_text("utf-8")):
        found = difference(case["baseline"], case["candidate"])
        assert found.p_value == pytest.approx(case["randomization_exact_p_two_sided"], abs=1e-12), case["name"]
        assert found.delta == pytest.approx(case["mean_delta"], abs=1e-12), case["name"]
        assert (found.n, found.wins, found.losses, found.ties) == tuple(
            case[name] for name in ("n", "wins", "losses", "ties")
        ), case["name"]


def test_six_wins_of_six_are_2_of_64() -> None:
    assert randomisation_p([0.1, 0.2, 0.3, 0.1, 0.2, 0.3]) == 2 / 64


def test_two_wins_and_a_smaller_loss_by_hand() -> None:
    # |±3 ±2 ±1|: 6 4 2 0 and mirrored; at least 4 are 6, 4 and their mirrors: 4 of 8
    assert randomisation_p([3.0, 2.0, -1.0]) == 4 / 8


@given(st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.125, 1.0]), max_size=8))
def test_the_exact_p_is_that_of_every_choice_of_signs(deltas: list[float]) -> None:
    observed = abs(sum(deltas))
    signs = list(product((1, -1), repeat=len(deltas)))
    extreme = sum(abs(sum(s * d for s, d in zip(sign, deltas, strict=True))) >= observed for sign in signs)
    assert randomisation_p(deltas) == extreme / len(signs)


def test_seeded_draws_come_near_the_exact_value(monkeypatch: pytest.MonkeyPatch) -> None:
    deltas = [0.3, -0.1, 0.2, 0.4, -0.3, 0.2, 0.1, 0.25, 0.15, -0.2, 0.05, 0.1]
    exact = randomisation_p(deltas)
    monkeypatch.setattr(comparing, "EXACT_UP_TO", 0)
    drawn = randomisation_p(deltas)
    assert drawn == pytest.approx(exact, abs=0.02)
    assert drawn == randomisation_p(deltas)
    assert drawn != exact


def test_a_huge_effect_over_many_queries_has_the_smallest_p_that_draws_allow() -> None:
    assert randomisation_p([0.5] * 60) == 1 / 10_001


def test_the_interval_holds_the_delta_and_is_the_same_every_time() -> None:
    found = difference([0.1, 0.5, 0.3, 0.2, 0.9, 0.4, 0.4], [0.3, 0.4, 0.6, 0.2, 1.0, 0.5, 0.3])
    assert found.interval[0] < found.delta < found.interval[1]
    assert found == difference([0.1, 0.5, 0.3, 0.2, 0.9, 0.4, 0.4], [0.3, 0.4, 0.6, 0.2, 1.0, 0.5, 0.3])


def test_a_constant_shift_has_an_interval_of_one_point() -> None:
    assert difference([0.0] * 8, [0.25] * 8).interval == (0.25, 0.25)


def test_few_queries_are_said_to_be_too_few() -> None:
    assert difference([0.0] * 5, [1.0] * 5).too_few
    assert not difference([0.0] * 6, [1.0] * 6).too_few


def test_holm_by_hand() -> None:
    # ascending 0.01 0.02 0.03 times 3 2 1 gives 0.03 0.04 0.03, kept from falling: 0.04
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def gold(tmp_path: Path) -> GoldSet:
    rows = [
        {"query_id": f"q{i}", "gold": [{"chunk_id": "a", "relevance": 1}], "slice": {"domain": "x" if i < 6 else "y"}}
        for i in range(12)
    ]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return GoldSet.load(tmp_path / "gold.jsonl")


def test_runs_are_paired_over_all_judged_queries_and_by_slice(tmp_path: Path) -> None:
    gold_set = gold(tmp_path)
    old = evaluate(gold_set, Run.of({f"q{i}": ["b", "a"] for i in range(12)}, "old"), k=[2], by=["domain"])
    new = evaluate(gold_set, Run.of({f"q{i}": ["a"] for i in range(6)}, "new"), k=[2], by=["domain"])
    found = compare(new, old)
    # first six 1/2 → 1, the others 1/2 → missing
    assert found.baseline == "old"
    assert (found.measures["RR@2"].wins, found.measures["RR@2"].losses, found.measures["RR@2"].delta) == (6, 6, 0.0)
    assert "Judged@2" not in found.measures
    assert [(part.value, part.measures["RR@2"].delta) for part in found.slices] == [("x", 0.5), ("y", -0.5)]
    assert [part.adjusted["RR@2"] for part in found.slices] == [2 * 2 / 64, 2 * 2 / 64]


def test_other_gold_or_other_settings_are_no_comparison() -> None:
    gold_set, run = GoldSet.of({"q": {"a": 1}}), Run.of({"q": ["a"]})
    here = evaluate(gold_set, run)
    for there in (
        evaluate(GoldSet.of({"q": {"a": 2}}), run),
        evaluate(gold_set, run, k=[3]),
        evaluate(gold_set, run, threshold=2),
    ):
        with pytest.raises(Conflict):
            compare(here, there)


@pytest.mark.parametrize(
    ("p_value", "figure", "words"),
    [(1.0, "1.000", "p = 1.000"), (0.0421, "0.042", "p = 0.042"), (0.0001, "<0.001", "p < 0.001")],
)
def test_a_p_value_is_never_written_as_nothing(p_value: float, figure: str, words: str) -> None:
    assert (p_figure(p_value), p_words(p_value)) == (figure, words)
