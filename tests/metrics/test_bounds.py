"""Bounds are not only safe but reached: compared with every grading tried one by one."""

from __future__ import annotations

import random
from itertools import product

import pytest

from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import evaluate
from annotator.metrics.runs import Run


def test_holes_0_and_holes_3_are_the_ends_of_precision() -> None:
    found = evaluate(GoldSet.of({"q": {"a": 1}}), Run.of({"q": ["a", "x", "y"]}), k=[5])
    assert found.bounds["P@5"] == (1 / 5, 3 / 5)
    assert found.bounds["R@5"] == (1.0, 1.0)


def test_without_holes_both_ends_are_the_value() -> None:
    found = evaluate(GoldSet.of({"q": {"a": 1, "b": 0}}), Run.of({"q": ["b", "a"]}), k=[5])
    for name, ends in found.bounds.items():
        assert ends == (found.measures[name], found.measures[name])


def test_a_cut_off_beyond_every_list_costs_nothing() -> None:
    gold, run = GoldSet.of({"q": {"a": 2, "z": 1}}), Run.of({"q": ["x", "a"]})
    assert evaluate(gold, run, k=[10**18]).bounds[f"nDCG@{10**18}"] == evaluate(gold, run, k=[50]).bounds["nDCG@50"]


def test_a_newly_relevant_chunk_far_down_may_lower_average_precision() -> None:
    # a on top alone: AP 1; with the hole at rank 5 relevant: (1 + 2/5) / 2
    found = evaluate(GoldSet.of({"q": {"a": 1, "b": 0, "c": 0, "d": 0}}), Run.of({"q": list("abcdx")}), k=[5])
    assert found.bounds["AP@5"] == (pytest.approx((1 + 2 / 5) / 2), 1.0)


@pytest.mark.parametrize("seed", range(60))
def test_the_ends_are_those_of_the_best_and_worst_grading(seed: int) -> None:
    draw = random.Random(seed)
    chunks = [f"c{i}" for i in range(6)]
    judged = {chunk: draw.randint(-1, 3) for chunk in [*draw.sample(chunks, 3), "never-retrieved"]}
    run, threshold = Run.of({"q": chunks}), draw.choice([1, 2])
    holes = [chunk for chunk in chunks if chunk not in judged]
    before = evaluate(GoldSet.of({"q": judged}), run, k=[6], threshold=threshold)
    tried = [
        evaluate(GoldSet.of({"q": judged | dict(zip(holes, grades, strict=True))}), run, k=[6], threshold=threshold)
        for grades in product(range(4), repeat=len(holes))
    ]
    for name, (low, high) in before.bounds.items():
        reached = [found.measures[name] for found in tried]
        assert low == pytest.approx(min(reached), abs=1e-9), name
        assert high == pytest.approx(max(reached), abs=1e-9), name
