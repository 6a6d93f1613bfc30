"""Agreement figures: worked out by hand, equal to the independent implementations, bounded and free of order."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.model import Judgment
from annotator.review.agreement import Item, agreement, items


def of(*rows: dict[str, int], queries: int = 0) -> list[Item]:
    """Items in order, spread over so many questions (0: a question each)."""
    return [Item(f"q{at % queries if queries else at}", f"c{at}", row) for at, row in enumerate(rows)]


def two(first: list[int], second: list[int]) -> list[Item]:
    return of(*({"ana": one, "ben": other} for one, other in zip(first, second, strict=True)))


def test_two_people_by_hand() -> None:
    # Rows ana, columns ben: (0,0) twice, (1,2) once, (3,3) once.
    (pair,) = agreement(two([0, 0, 1, 3], [0, 0, 2, 3]), {}).pairs
    assert (pair.annotators, pair.n, pair.percent) == (("ana", "ben"), 4, 0.75)
    assert pair.confusion == ((2, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0), (0, 0, 0, 1))
    # Expected equal: 0.5 · 0.5 + 0.25 · 0.25 = 5/16; kappa = (12/16 - 5/16) / (11/16).
    assert pair.kappa == pytest.approx(7 / 11)
    # Squared distances, observed 1/4; expected (2·(0+0+4+9) + (1+1+1+4) + (9+9+1+0)) / 16 = 52/16.
    assert pair.weighted_kappa == pytest.approx(1 - (1 / 4) / (52 / 16))


def test_alpha_by_hand() -> None:
    # Three units of two: (0,0), (0,1), (1,1): n_0 = n_1 = 3, observed disagreement 2/6, expected 2·3·3/(6·5).
    found = agreement(two([0, 0, 1], [0, 1, 1]), {}).overall
    assert found.alpha == pytest.approx(1 - (2 / 6) / (18 / 30))
    assert (found.percent, found.items, found.questions) == (pytest.approx(2 / 3), 3, 3)


def test_percent_of_three_people_counts_every_two_of_them() -> None:
    found = agreement(of({"ana": 3, "ben": 3, "cyd": 1}, {"ana": 2, "ben": 2}), {}).overall
    assert found.percent == pytest.approx((1 / 3 + 1) / 2)


def ratings(seed: int) -> list[Item]:
    """Four people who tend towards the same grade, each leaving something out."""
    chance = random.Random(seed)
    found = []
    for at in range(60):
        truth = chance.randrange(4)
        said = {
            name: min(3, max(0, truth + chance.choice((0, 0, 0, -1, 1, 2))))
            for name in ("ana", "ben", "cyd", "dee")
            if chance.random() < 0.6
        }
        if len(said) > 1:
            found.append(Item(f"q{at % 12}", f"c{at}", said))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_alpha_equals_the_independent_implementation(seed: int) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    shared = ratings(seed)
    table = [[one.grades.get(name, math.nan) for one in shared] for name in ("ana", "ben", "cyd", "dee")]
    wanted = krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal")
    assert agreement(shared, {}).overall.alpha == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_kappas_equal_the_independent_implementation(seed: int) -> None:
    scores = pytest.importorskip("sklearn.metrics")
    shared = ratings(seed)
    pairs = agreement(shared, {}).pairs
    assert len(pairs) == 6
    for pair in pairs:
        first, second = pair.annotators
        both = [(one.grades[first], one.grades[second]) for one in shared if {first, second} <= one.grades.keys()]
        left, right = zip(*both, strict=True)
        assert pair.n == len(both)
        assert pair.kappa == pytest.approx(scores.cohen_kappa_score(left, right), abs=1e-12)
        wanted = scores.cohen_kappa_score(left, right, weights="quadratic", labels=[0, 1, 2, 3])
        assert pair.weighted_kappa == pytest.approx(wanted, abs=1e-12)


def test_people_who_always_give_one_grade_prove_nothing() -> None:
    found = agreement(two([3, 3], [3, 3]), {})
    assert (found.overall.alpha, found.overall.percent, found.overall.interval) == (None, 1.0, None)
    assert (found.pairs[0].kappa, found.pairs[0].weighted_kappa) == (None, None)


def test_nothing_in_common_gives_no_figures() -> None:
    found = agreement([], {})
    assert (found.overall.alpha, found.overall.percent, found.overall.items, found.pairs) == (None, None, 0, ())


def test_the_interval_is_the_same_every_time_and_holds_the_figure() -> None:
    once, again = agreement(ratings(1), {}).overall, agreement(ratings(1), {}).overall
    assert once.interval is not None
    assert once.interval == again.interval
    low, high = once.interval
    assert once.alpha is not None
    assert low < once.alpha < high <= 1


def test_one_question_gives_no_interval() -> None:
    shared = of({"ana": 0, "ben": 0}, {"ana": 1, "ben": 3}, {"ana": 2, "ben": 2}, queries=1)
    found = agreement(shared, {})
    assert found.overall.alpha is not None
    assert found.overall.interval is None
    assert found.pairs[0].interval is None


def test_slices_hold_the_items_of_their_questions_only() -> None:
    shared = of({"ana": 0, "ben": 0}, {"ana": 0, "ben": 3}, {"ana": 3, "ben": 3})
    facets = {"q0": {"risk": "low"}, "q1": {"risk": "high"}, "q2": {"risk": "low", "domain": "policy"}}
    found = {(one.facet, one.value): one.figures for one in agreement(shared, facets).slices}
    assert list(found) == [("domain", "policy"), ("risk", "high"), ("risk", "low")]
    assert (found["risk", "low"].items, found["risk", "low"].alpha) == (2, 1.0)
    assert found["risk", "high"].percent == 0.0


def test_only_grades_of_the_same_text_are_compared() -> None:
    said = [
        Judgment("q", "c", "ana", 3, sha256="new"),
        Judgment("q", "c", "ben", 3, sha256="new"),
        Judgment("q", "c", "cyd", 0, sha256="old"),
        Judgment("q", "c", "dee", None, sha256="new"),
        Judgment("q", "d", "ana", 1, sha256="new"),
    ]
    assert items(said) == [Item("q", "c", {"ana": 3, "ben": 3})]


grades = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=2)


@settings(deadline=None)  # numpy is loaded in the first run
@given(st.lists(grades, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_figures_are_bounded_and_do_not_depend_on_order(rows: list[dict[str, int]], chance: random.Random) -> None:
    shared = of(*rows, queries=3)
    mixed = list(shared)
    chance.shuffle(mixed)
    found, again = agreement(shared, {}), agreement(mixed, {})
    assert found.overall.percent is not None
    assert 0 <= found.overall.percent <= 1
    assert found.overall.alpha is None or found.overall.alpha <= 1
    assert again.overall.alpha == pytest.approx(found.overall.alpha)
    assert [pair.annotators for pair in again.pairs] == [pair.annotators for pair in found.pairs]
    for pair, other in zip(found.pairs, again.pairs, strict=True):
        assert (pair.confusion, pair.kappa) == (other.confusion, pytest.approx(other.kappa))
        assert pair.n == sum(map(sum, pair.confusion))
