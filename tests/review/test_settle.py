"""Settling by hand: who said what, and what follows."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.model import Adjudication, Evidence, GoldLabel, Judgment
from annotator.review.settle import RULES, Unsettled, best_first, settle


def said(annotator: str, grade: int | None, **more: object) -> Judgment:
    fields = {"sha256": "text-1", "judged_at": "2026-03-01T09:00:00.000Z", **more}
    return Judgment("q1", "c1", annotator, grade, **fields)  # type: ignore[arg-type]


def decided(grade: int, **more: object) -> Adjudication:
    fields = {"sha256": "text-1", "decided_at": "2026-03-02T09:00:00.000Z", **more}
    return Adjudication("q1", "c1", "Rosa", grade, **fields)  # type: ignore[arg-type]


def label(outcome: GoldLabel | Unsettled) -> tuple[int, bool, str]:
    assert isinstance(outcome, GoldLabel)
    return outcome.relevance, outcome.stale, outcome.settled_by


def kind(outcome: GoldLabel | Unsettled) -> str:
    assert isinstance(outcome, Unsettled)
    return outcome.kind


def test_one_judgment_settles_the_pair() -> None:
    assert label(settle([said("ana", 2)])) == (2, False, "unanimous")


def test_agreeing_people_settle_the_pair() -> None:
    assert label(settle([said("ana", 3), said("ben", 3), said("cem", 3)])) == (3, False, "unanimous")


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ((0, 1), "disputed"),  # crosses the threshold of relevance
        ((0, 3), "disputed"),
        ((1, 3), "disputed"),  # two grades apart
        ((1, 2), "unsettled"),
        ((2, 3), "unsettled"),
        ((1, 2, 3), "disputed"),
        ((3, 3, 2), "unsettled"),
    ],
)
def test_differing_people_leave_it_open(grades: tuple[int, ...], expected: str) -> None:
    outcome = settle([said(f"p{place}", grade) for place, grade in enumerate(grades)])
    assert kind(outcome) == expected
    assert isinstance(outcome, Unsettled)
    assert outcome.blocks


def test_stale_against_plain_irrelevant_is_a_dispute() -> None:
    assert kind(settle([said("ana", 0, stale=True), said("ben", 0)])) == "disputed"


def test_agreed_stale_is_kept() -> None:
    assert label(settle([said("ana", 0, stale=True), said("ben", 0, stale=True)])) == (0, True, "unanimous")


def test_cannot_judge_does_not_count_beside_grades() -> None:
    assert label(settle([said("ana", None, reason="no idea"), said("ben", 2)])) == (2, False, "unanimous")


def test_nothing_but_cannot_judge_stays_unjudged_and_blocks_nothing() -> None:
    outcome = settle([said("ana", None, reason="no idea"), said("ben", None, reason="cut off")])
    assert kind(outcome) == "cannot judge"
    assert isinstance(outcome, Unsettled)
    assert not outcome.blocks
    assert [one.annotator for one in outcome.judgments] == ["ana", "ben"]


def test_the_decision_settles_a_dispute_with_its_own_reason_and_evidence() -> None:
    span = Evidence("VP", 3, 5)
    judgments = [said("ana", 0, reason="off topic"), said("ben", 3, evidence=(Evidence("x", 0, 1),))]
    outcome = settle(judgments, decided(2, reason="only the exception", evidence=(span,)))
    assert label(outcome) == (2, False, "adjudicated by Rosa")
    assert isinstance(outcome, GoldLabel)
    assert (outcome.reason, outcome.evidence, outcome.sha256) == ("only the exception", (span,), "text-1")


def test_a_decision_overrules_agreement_and_stands_alone() -> None:
    assert label(settle([said("ana", 3)], decided(0, stale=True))) == (0, True, "adjudicated by Rosa")
    assert label(settle([], decided(1))) == (1, False, "adjudicated by Rosa")


def test_the_fullest_reason_and_all_evidence_of_those_who_agree_are_kept() -> None:
    first, second = Evidence("VP", 3, 5), Evidence("CFO", 10, 13)
    outcome = settle(
        [said("ben", 3, reason="names the VP", evidence=(second, first)), said("ana", 3, evidence=(first,))]
    )
    assert isinstance(outcome, GoldLabel)
    assert outcome.reason == "names the VP"
    assert outcome.evidence == (first, second)


def test_of_equally_long_reasons_the_first_by_name_is_kept() -> None:
    outcome = settle([said("ben", 1, reason="bbb"), said("ana", 1, reason="aaa")])
    assert isinstance(outcome, GoldLabel)
    assert outcome.reason == "aaa"


def test_grades_of_a_former_text_do_not_count_once_the_new_one_was_graded() -> None:
    old = said("ana", 3, sha256="text-1")
    new = said("ben", 0, sha256="text-2", judged_at="2026-04-01T09:00:00.000Z")
    outcome = settle([old, new])
    assert label(outcome) == (0, False, "unanimous")
    assert isinstance(outcome, GoldLabel)
    assert outcome.sha256 == "text-2"


def test_a_decision_about_a_former_text_lapses_once_the_new_one_was_graded() -> None:
    new = said("ben", 1, sha256="text-2", judged_at="2026-04-01T09:00:00.000Z")
    assert label(settle([new], decided(3))) == (1, False, "unanimous")
    assert label(settle([said("ben", 1)], decided(3))) == (3, False, "adjudicated by Rosa")


@pytest.mark.parametrize(
    ("grades", "majority", "lower_median"),
    [
        ((3, 3, 2), 3, 3),
        ((3, 2, 1), None, 2),
        ((3, 2), None, 2),
        ((0, 3), None, 0),
        ((0, 0, 3, 3), None, 0),
        ((1, 2, 2, 3), None, 2),
        ((0, 1, 1), 1, 1),
    ],
)
def test_majority_and_lower_median_settle_what_unanimity_leaves_open(
    grades: tuple[int, ...], majority: int | None, lower_median: int
) -> None:
    judgments = [said(f"p{place}", grade) for place, grade in enumerate(grades)]
    by_majority = settle(judgments, rule="majority")
    if majority is None:
        assert isinstance(by_majority, Unsettled)
    else:
        assert label(by_majority) == (majority, False, "majority")
    assert label(settle(judgments, rule="lower_median")) == (lower_median, False, "lower_median")


def test_stale_counts_as_the_lowest_vote() -> None:
    judgments = [said("ana", 0, stale=True), said("ben", 0)]
    assert label(settle(judgments, rule="lower_median")) == (0, True, "lower_median")


def test_reasons_of_those_who_were_outvoted_are_not_kept() -> None:
    judgments = [said("ana", 3, reason="yes"), said("ben", 3), said("cem", 0, reason="a very long objection")]
    outcome = settle(judgments, rule="majority")
    assert isinstance(outcome, GoldLabel)
    assert outcome.reason == "yes"


def test_unanimity_is_recorded_as_such_under_every_rule() -> None:
    for rule in RULES:
        assert label(settle([said("ana", 1), said("ben", 1)], rule=rule)) == (1, False, "unanimous")


def test_an_unknown_rule_and_an_unjudged_pair_are_refused() -> None:
    with pytest.raises(KeyError):
        settle([said("ana", 1)], rule="loudest")
    with pytest.raises(ValueError, match="nobody"):
        settle([])


@given(st.lists(st.sampled_from([None, 0, 1, 2, 3]), min_size=1, max_size=4), st.sampled_from(sorted(RULES)))
def test_the_order_of_judgments_does_not_matter(grades: list[int | None], rule: str) -> None:
    judgments = [said(f"p{place}", grade, reason=f"because {grade}") for place, grade in enumerate(grades)]
    outcomes = [settle(order, rule=rule) for order in itertools.permutations(judgments)]
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_best_first_is_grade_then_id() -> None:
    labels = [GoldLabel("b", 0), GoldLabel("a", 3), GoldLabel("é", 2), GoldLabel("z", 2)]
    assert [one.chunk_id for one in best_first(labels)] == ["a", "z", "é", "b"]
