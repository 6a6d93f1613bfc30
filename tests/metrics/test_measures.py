"""Formulas by hand, and the registry of names."""

from __future__ import annotations

from math import log2

import pytest

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import evaluate
from annotator.metrics.measures import DEFINITIONS, all_measures, check_cuts, parse
from annotator.metrics.runs import Run


def values(grades: dict[str, int], ranking: list[str], *k: int, threshold: int = 1) -> dict[str, float]:
    gold, run = GoldSet.of({"q": grades}), Run.of({"q": ranking})
    return dict(evaluate(gold, run, k=k, threshold=threshold).per_query["q"])


def test_relevant_at_ranks_2_4_5_7_of_8() -> None:
    found = values({"b": 1, "d": 1, "e": 1, "g": 1}, list("abcdefgh"), 5, 8)
    assert found["RR"] == 1 / 2
    assert found["AP"] == pytest.approx((1 / 2 + 2 / 4 + 3 / 5 + 4 / 7) / 4, abs=1e-15)
    assert f"{found['AP']:.6f}" == "0.542857"
    assert found["AP@5"] == pytest.approx((1 / 2 + 2 / 4 + 3 / 5) / 4, abs=1e-15)
    assert found["P@5"] == 3 / 5
    assert found["R@5"] == 3 / 4
    assert found["Success@5"] == 1.0


@pytest.mark.parametrize(
    ("order", "dcg"),
    [
        ("abc", 3 + 2 / log2(3)),
        ("bca", 2 + 3 / 2),
        ("cba", 2 / log2(3) + 3 / 2),
    ],
)
def test_ndcg_of_grades_3_2_0_in_three_orders(order: str, dcg: float) -> None:
    ideal = 3 + 2 / log2(3)
    assert values({"a": 3, "b": 2, "c": 0}, list(order), 3)["nDCG@3"] == pytest.approx(dcg / ideal, abs=1e-15)


def test_the_worst_order_prints_as_published() -> None:
    assert f"{values({'a': 3, 'b': 2, 'c': 0}, list('cba'), 3)['nDCG@3']:.4f}" == "0.6480"


def test_precision_divides_by_k_also_when_less_came_back() -> None:
    assert values({"a": 1}, ["a"], 5)["P@5"] == 1 / 5


def test_reciprocal_rank_stops_at_k() -> None:
    found = values({"c": 1}, list("abc"), 2, 3)
    assert (found["RR@2"], found["RR@3"], found["RR"]) == (0.0, 1 / 3, 1 / 3)


def test_ideal_of_ndcg_is_over_all_judged_cut_at_k() -> None:
    # three grade 3 are judged, one came back on top: at k = 1 perfect, at k = 2 not
    found = values({"a": 3, "b": 3, "c": 3}, ["a"], 1, 2)
    assert found["nDCG@1"] == 1.0
    assert found["nDCG@2"] == pytest.approx(3 / (3 + 3 / log2(3)), abs=1e-15)


def test_the_threshold_moves_all_but_ndcg() -> None:
    grades, ranking = {"a": 1, "b": 2}, ["a", "b"]
    low, high = values(grades, ranking, 1), values(grades, ranking, 1, threshold=2)
    assert (low["P@1"], high["P@1"]) == (1.0, 0.0)
    assert low["nDCG@1"] == high["nDCG@1"] == 1 / 2


def test_judged_is_a_share_of_what_came_back_within_k() -> None:
    found = values({"a": 0, "z": 3}, ["a", "x", "y"], 2, 10)
    assert (found["Judged@2"], found["Judged@10"]) == (1 / 2, 1 / 3)


def test_names_parse_and_print_alike() -> None:
    for measure in all_measures((5, 10)):
        assert parse(measure.name) == measure
    assert [m.name for m in all_measures((10,))] == [
        "nDCG@10", "AP@10", "R@10", "P@10", "RR@10", "Success@10", "Judged@10", "AP", "RR",
    ]  # fmt: skip


def test_people_read_the_usual_words() -> None:
    names = ["P@10", "R@10", "RR@10", "AP@10", "nDCG@10", "Success@10", "AP"]
    words = ["Precision@10", "Recall@10", "MRR@10", "MAP@10", "nDCG@10", "Hit rate@10", "MAP"]
    assert [parse(name).screen_name for name in names] == words


@pytest.mark.parametrize("name", ["nDCG", "ndcg@10", "MAP@10", "P@0", "P@-1", "P@ten", "P@1.5", "P@", "P@05", "", "@5"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        parse(name)


def test_a_screen_name_is_answered_with_the_canonical_one() -> None:
    with pytest.raises(InputError, match="MAP is written AP"):
        parse("MAP@10")


@pytest.mark.parametrize("cuts", [(), (0,), (5, -1), (True,), (2.5,)])
def test_cut_offs_are_whole_numbers_from_1(cuts: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        check_cuts(cuts)


def test_every_measure_explains_itself() -> None:
    for definition in DEFINITIONS.values():
        assert definition.answers.endswith("?")
        assert definition.moves.endswith(".")
        assert definition.watch.endswith(".")
