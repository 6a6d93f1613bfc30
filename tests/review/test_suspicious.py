"""Odd labels: what is pointed out, and what is left in peace."""

from __future__ import annotations

import pytest

from annotator.model import Evidence, Judgment
from annotator.review.suspicious import everyday_terms, suspicious

QUESTION = "Who approves enterprise refunds after 30 days?"
TEXTS = {
    "refund": "Refunds requested later than 30 days after purchase need the approval of the VP Finance.",
    "refund2": "Refunds requested later than 30 days after purchase need the approval of the VP of Finance.",
    "refund60": "Refunds requested later than 60 days after purchase need the approval of the VP Finance.",
    "trains": "Train journeys are booked in second class.",
}


def said(chunk_id: str, annotator: str, grade: int | None, **more: object) -> Judgment:
    return Judgment("q", chunk_id, annotator, grade, sha256=chunk_id, **more)  # type: ignore[arg-type]


def kinds(*judgments: Judgment, question: str = QUESTION) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.kind, one.chunk_ids, one.annotator) for one in suspicious(question, judgments, TEXTS)]


def test_a_high_grade_without_shared_words_or_evidence() -> None:
    assert kinds(said("trains", "ana", 3)) == [("groundless", ("trains",), "ana")]
    assert kinds(said("trains", "ana", 2)) == [("groundless", ("trains",), "ana")]


def test_evidence_shared_words_and_low_grades_are_ground_enough() -> None:
    assert kinds(said("trains", "ana", 3, evidence=(Evidence("Train", 0, 5),))) == []
    assert kinds(said("refund", "ana", 3)) == []
    assert kinds(said("trains", "ana", 1), said("refund", "ben", None)) == []


def test_a_word_every_text_has_is_no_ground() -> None:
    everyday = everyday_terms([*TEXTS.values(), *(f"Finance report {number}" for number in range(8))])
    assert "finan" in everyday
    asked = "Where is Finance?"
    assert suspicious(asked, [said("refund", "ana", 3)], TEXTS) == []
    assert [one.kind for one in suspicious(asked, [said("refund", "ana", 3)], TEXTS, everyday)] == ["groundless"]


def test_few_texts_have_no_everyday_words() -> None:
    assert everyday_terms(TEXTS.values()) == frozenset()


def test_one_person_far_from_a_rest_that_agrees() -> None:
    found = suspicious(QUESTION, [said("refund", "ana", 3), said("refund", "ben", 3), said("refund", "cyd", 1)], TEXTS)
    assert [(one.kind, one.annotator) for one in found] == [("outlier", "cyd")]
    assert "the others 3, 3" in found[0].message


def test_two_people_or_a_rest_at_odds_make_no_outlier() -> None:
    assert kinds(said("refund", "ana", 3), said("refund", "ben", 0)) == []
    at_odds = [said("refund", name, grade) for name, grade in (("ana", 3), ("ben", 3), ("cyd", 0), ("dee", 0))]
    assert kinds(*at_odds) == []


@pytest.mark.parametrize(
    ("grade", "seconds", "odd"), [(3, 0.4, True), (3, 0.7, False), (0, 0.4, True), (0, 0.51, False), (3, None, False)]
)
def test_faster_than_anybody_reads(grade: int, seconds: float | None, odd: bool) -> None:
    # 14 words: 0.56 s at 25 words a second; a glance of half a second rules a chunk out
    assert kinds(said("refund", "ana", grade, seconds=seconds)) == ([("too_fast", ("refund",), "ana")] if odd else [])


def test_the_same_text_graded_differently() -> None:
    assert kinds(said("refund", "ana", 3), said("refund2", "ben", 1)) == [("twins", ("refund", "refund2"), "")]


def test_twins_graded_alike_stale_ones_and_other_numbers_are_in_order() -> None:
    assert kinds(said("refund", "ana", 3), said("refund2", "ben", 3)) == []
    assert kinds(said("refund", "ana", 3), said("refund2", "ben", 0, stale=True)) == []
    assert kinds(said("refund", "ana", 3), said("refund60", "ben", 1)) == []
    assert kinds(said("refund", "ana", 3), said("trains", "ben", 0)) == []
