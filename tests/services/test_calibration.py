"""The calibration set, with figures by hand: labels as first finished against settled grades, and who may see what."""

from __future__ import annotations

import random

import pytest

from annotator.errors import Forbidden
from annotator.model import Person
from annotator.services import calibration, labelling, queue, review, sharing
from annotator.services.labelling import Operation
from annotator.store import corpus, people
from annotator.store.database import Workspace

CHUNKS = ("refunds-v4#1", "refunds-v4#2", "refunds-v4#3", "travel#1")


def grade(workspace: Workspace, who: str, grades: tuple[int | None, ...], query_id: str = "q1") -> None:
    with workspace.read() as connection:
        texts = {chunk_id: corpus.chunk(connection, chunk_id).sha256 for chunk_id in CHUNKS}
    batch = [
        Operation(
            id=f"{who}{random.random()}", kind="judge", who=who, query_id=query_id, chunk_id=chunk_id,
            sha256=texts[chunk_id], grade=value, reason=f"{who} says {value}",
        )
        for chunk_id, value in zip(CHUNKS, grades, strict=False)
    ]  # fmt: skip
    assert len(labelling.apply(workspace, who, batch).acknowledged) == len(grades)


def settle(workspace: Workspace, chunk_id: str, value: int) -> None:
    found = review.case(workspace, "Rut", "q1", chunk_id)
    review.decide(
        workspace, "Rut", "q1", chunk_id, value, reason="So it is.", sha256=found.chunk.sha256, seen=found.revision
    )


@pytest.fixture
def calibrated(workspace: Workspace) -> Workspace:
    """Three people graded q1 of the set; Rut settled what they differ on, all but the last chunk."""
    with workspace.write() as connection:
        people.add(connection, Person("Cleo"), "Ana")
        people.add(connection, Person("Rut", "reviewer"), "Ana")
    sharing.calibrate(workspace, "Rut", ["q1", "q2"])
    for who, grades in (("Ana", (0, 3, 1, 0)), ("Ben", (0, 2, 1, 0)), ("Cleo", (2, 0, 2, 0))):
        grade(workspace, who, grades)
        queue.finish(workspace, who, "q1")
    for chunk_id, value in zip(CHUNKS, (0, 3, 1), strict=False):
        settle(workspace, chunk_id, value)
    return workspace


def test_everybody_is_compared_with_the_settled_grades(calibrated: Workspace) -> None:
    found = calibration.calibration(calibrated, "Rut")
    assert [one.query_id for one in found.questions] == ["q1", "q2"]
    assert [(one.name, one.finished, one.n, one.equal) for one in found.people] == [
        ("Ana", 1, 4, 4), ("Ben", 1, 4, 3), ("Cleo", 1, 4, 1),
    ]  # fmt: skip
    ana, ben, cleo = (one.weighted_kappa for one in found.people)
    assert ana == 1.0
    # Cohen 1968: one minus the sum of squared distances over what chance would make of the two sets of grades.
    assert ben == pytest.approx(1 - 1 / (expected((0, 3, 1, 0), (0, 2, 1, 0)) / 4))
    assert cleo == pytest.approx(1 - (4 + 9 + 1) / (expected((0, 3, 1, 0), (2, 0, 2, 0)) / 4))
    assert {pair.chunk_id: pair.differs for pair in found.pairs} == dict.fromkeys(CHUNKS[:3], True) | {CHUNKS[3]: False}
    (said,) = [pair.said for pair in found.pairs if pair.chunk_id == CHUNKS[1]]
    assert [(one.annotator, one.grade, one.reason) for one in said] == [
        ("Ana", 3, "Ana says 3"), ("Ben", 2, "Ben says 2"), ("Cleo", 0, "Cleo says 0"),
    ]  # fmt: skip


def expected(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """Sum of the squared distances of every grade of one to every grade of the other."""
    return float(sum((a - b) ** 2 for a in first for b in second))


def test_each_person_sees_their_own_differences_once_they_finished(calibrated: Workspace) -> None:
    own = calibration.own(calibrated, "Ben")
    (one,) = own.differences
    assert (one.query.query_id, one.chunk_id, one.title) == ("q1", CHUNKS[1], "Refund policy v4")
    assert (one.mine.grade, one.settled.relevance, one.settled.reason) == (2, 3, "So it is.")
    assert (own.questions, own.finished, own.compared.n) == (2, 1, 4)
    with calibrated.write() as connection:
        people.add(connection, Person("Dov"), "Ana")
    grade(calibrated, "Dov", (3, 0, 0, 0))
    assert calibration.own(calibrated, "Dov").differences == ()  # graded, not finished
    assert not queue.desk(calibrated, "Dov", "q1").compares  # type: ignore[union-attr]
    queue.finish(calibrated, "Dov", "q1")
    assert len(calibration.own(calibrated, "Dov").differences) == 3
    assert queue.desk(calibrated, "Dov", "q1").compares  # type: ignore[union-attr]


def test_what_was_learnt_from_the_comparison_does_not_improve_the_figure(calibrated: Workspace) -> None:
    before = calibration.calibration(calibrated, "Rut").people
    grade(calibrated, "Cleo", (0, 3, 1, 0))
    queue.take_back(calibrated, "Cleo", "q1")
    queue.finish(calibrated, "Cleo", "q1")
    assert calibration.calibration(calibrated, "Rut").people == before
    assert len(calibration.own(calibrated, "Cleo").differences) == 3


def test_chunks_that_are_not_settled_are_shown_and_not_compared(workspace: Workspace) -> None:
    with workspace.write() as connection:
        people.add(connection, Person("Rut", "reviewer"), "Ana")
    sharing.calibrate(workspace, "Rut", ["q1"])
    for who, grades in (("Ana", (3, 0)), ("Ben", (0, 0))):
        grade(workspace, who, grades)
        queue.finish(workspace, who, "q1")
    found = calibration.calibration(workspace, "Rut")
    assert [(one.n, one.equal, one.weighted_kappa) for one in found.people] == [(1, 1, None), (1, 1, None)]
    assert len(found.pairs) == 2
    assert calibration.own(workspace, "Ben").differences == ()  # nothing of Ana's shows


def test_an_empty_set_is_no_trouble_and_annotators_do_not_see_the_whole(workspace: Workspace) -> None:
    assert calibration.calibration(workspace, "Ana").people == ()
    assert calibration.own(workspace, "Ben").compared.n == 0
    with pytest.raises(Forbidden):
        calibration.calibration(workspace, "Ben")
