"""Reviewing: decisions added to the record, stale ones refused, labels opened again, odd ones found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from annotator.errors import Conflict, Forbidden, InputError, NotFound
from annotator.model import Evidence, GoldLabel, Judgment, Person
from annotator.services import gold, overview, questions, queue, review
from annotator.services.review import Case, Unsettled
from annotator.store import corpus, decisions, judgments, labels, people
from annotator.store.database import Workspace

CHUNK = "refunds-v4#2"


def judge(
    workspace: Workspace,
    who: str,
    grade: int | None,
    *,
    query_id: str = "q1",
    chunk_id: str = CHUNK,
    reason: str = "so",
    evidence: tuple[Evidence, ...] = (),
    seconds: float | None = None,
) -> str:
    with workspace.write() as connection:
        text = corpus.chunk(connection, chunk_id).sha256
        count = len(judgments.history(connection, query_id, chunk_id))
        operation = f"{who}/{query_id}/{chunk_id}/{count}"
        new = Judgment(
            query_id, chunk_id, who, grade, reason=reason, evidence=evidence, sha256=text, operation_id=operation,
            seconds=seconds,
        )  # fmt: skip
        judgments.append(connection, new)
    return operation


def undo(workspace: Workspace, who: str, target: str) -> None:
    with workspace.write() as connection:
        judgments.undo(connection, who, target, f"undo {target}")


def settle(workspace: Workspace, grade: int, who: str = "Rut", found: Case | None = None, **more: object) -> None:
    found = found or review.case(workspace, "Rut", "q1", CHUNK)
    known = {"reason": "Clause 4.3 names them.", **more}
    review.decide(
        workspace, who, "q1", found.chunk.chunk_id, grade, sha256=found.chunk.sha256, seen=found.revision, **known
    )  # type: ignore[arg-type]


def label(workspace: Workspace, chunk_id: str = CHUNK) -> GoldLabel | Unsettled:
    return next(one for one in review.labels(workspace, "Rut", "q1") if one.chunk_id == chunk_id)


@pytest.fixture
def disputed(workspace: Workspace) -> Workspace:
    """Ana says 3, Ben says 0; Rut reviews, Rea reads."""
    with workspace.write() as connection:
        people.add(connection, Person("Rut", "reviewer"), "Ana")
        people.add(connection, Person("Rea", "reader"), "Ana")
    judge(workspace, "Ana", 3, reason="It names the VP.", evidence=(Evidence("VP Finance", 42, 52),))
    judge(workspace, "Ben", 0, reason="Too late.")
    return workspace


def test_a_dispute_is_shown_with_everything_that_was_said(disputed: Workspace) -> None:
    (one,) = review.waiting(disputed, "Rut")
    assert (one.query_id, one.chunk_id, one.kind) == ("q1", CHUNK, "disputed")
    found = review.case(disputed, "Rut", "q1", CHUNK)
    assert [(said.annotator, said.grade, said.reason) for said in found.judgments] == [
        ("Ana", 3, "It names the VP."),
        ("Ben", 0, "Too late."),
    ]
    assert (found.live, found.kind, found.decision) == (True, "disputed", None)
    assert "VP Finance" in found.chunk.text


def test_a_decision_settles_and_the_judgments_stay(disputed: Workspace) -> None:
    settle(disputed, 2)
    assert review.waiting(disputed, "Rut") == []
    settled = label(disputed)
    assert isinstance(settled, GoldLabel)
    assert (settled.relevance, settled.settled_by, settled.reason) == (
        2,
        "adjudicated by Rut",
        "Clause 4.3 names them.",
    )
    with disputed.read() as connection:
        said = [(one.annotator, one.grade) for one in judgments.current(connection, query_id="q1")]
    assert said == [("Ana", 3), ("Ben", 0)]


def test_a_later_decision_counts_and_the_former_stays_on_record(disputed: Workspace) -> None:
    settle(disputed, 2)
    settle(disputed, 1)
    settled = label(disputed)
    assert isinstance(settled, GoldLabel)
    assert settled.relevance == 1
    with disputed.read() as connection:
        assert [one.grade for one in decisions.in_force(connection)] == [2, 1]


MEANWHILE: dict[str, Callable[[Workspace], object]] = {
    "a new grade": lambda at: judge(at, "Ben", 3),
    "a third person": lambda at: judge(at, "Cyd", 3),
    "an undo": lambda at: undo(at, "Ben", f"Ben/q1/{CHUNK}/1"),
    "a decision": lambda at: settle(at, 0),
    "a re-opening": lambda at: review.reopen(at, "Rut", [("q1", CHUNK)], "new rubric"),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_a_decision_on_an_older_state_is_refused(what: str, disputed: Workspace) -> None:
    found = review.case(disputed, "Rut", "q1", CHUNK)
    MEANWHILE[what](disputed)
    before = label(disputed)
    with pytest.raises(Conflict, match="after you opened it"):
        settle(disputed, 2, found=found)
    assert label(disputed) == before


def test_what_happens_to_other_pairs_does_not_matter(disputed: Workspace) -> None:
    found = review.case(disputed, "Rut", "q1", CHUNK)
    judge(disputed, "Ben", 3, chunk_id="refunds-v4#1")
    judge(disputed, "Ben", 3, query_id="q2")
    settle(disputed, 2, found=found)
    assert isinstance(label(disputed), GoldLabel)


def test_the_same_operation_twice_is_one_decision(disputed: Workspace) -> None:
    found = review.case(disputed, "Rut", "q1", CHUNK)
    settle(disputed, 2, found=found, operation_id="press 1")
    settle(disputed, 2, found=found, operation_id="press 1")
    with disputed.read() as connection:
        assert len(list(decisions.in_force(connection))) == 1


def test_a_decision_needs_a_reason_and_a_grade_there_is(disputed: Workspace) -> None:
    with pytest.raises(InputError, match="Say why"):
        settle(disputed, 2, reason="  ")
    with pytest.raises(InputError, match="cannot be settled"):
        settle(disputed, 4)
    with pytest.raises(InputError, match="stale"):
        settle(disputed, 1, stale=True)
    with pytest.raises(InputError, match="evidence"):
        settle(disputed, 2, evidence=(Evidence("no such words here", 0, 18),))


def test_who_may_not_decide_may_not_look_either(disputed: Workspace) -> None:
    for who in ("Ben", "Rea"):
        with pytest.raises(Forbidden):
            settle(disputed, 2, who=who)
        with pytest.raises(Forbidden):
            review.waiting(disputed, who)
        with pytest.raises(Forbidden):
            review.case(disputed, who, "q1", CHUNK)
        with pytest.raises(Forbidden):
            review.reopen(disputed, who, [("q1", CHUNK)], "why not")
        with pytest.raises(Forbidden):
            review.suspicious(disputed, who)


def test_the_words_of_those_who_gave_a_grade_are_offered_with_their_evidence(disputed: Workspace) -> None:
    found = review.case(disputed, "Rut", "q1", CHUNK)
    assert review.said_with(found, 3) == ("As Ana: It names the VP.", (Evidence("VP Finance", 42, 52),))
    assert review.said_with(found, 0) == ("As Ben: Too late.", ())
    assert review.said_with(found, 0, stale=True) == ("", ())
    assert review.said_with(found, 2) == ("", ())


def test_a_pair_nobody_judged_is_no_case(disputed: Workspace) -> None:
    with pytest.raises(NotFound):
        review.case(disputed, "Rut", "q1", "travel#1")


# Opening again


def test_a_reopened_label_settles_nothing_until_somebody_judges_again(disputed: Workspace) -> None:
    settle(disputed, 2)
    judge(disputed, "Ana", 3, chunk_id="refunds-v4#1")
    queue.finish(disputed, "Ana", "q1")
    assert gold.readiness(disputed).ready
    assert review.reopen(disputed, "Rut", [("q1", CHUNK), ("q1", "refunds-v4#1")], "The rubric changed.") == 2
    for chunk_id in (CHUNK, "refunds-v4#1"):
        opened = label(disputed, chunk_id)
        assert isinstance(opened, Unsettled)
        assert opened.kind == "reopened"
    (block,) = gold.readiness(disputed).blocks
    assert (block.kind, block.query_ids, set(block.chunk_ids)) == ("reopened", ("q1",), {CHUNK, "refunds-v4#1"})
    (row,) = [row for row in questions.rows(disputed) if row.query.query_id == "q1"]
    assert (row.query.state, row.state) == ("open", "open")
    assert overview.status(disputed)["disputes"] == 0
    judge(disputed, "Ana", 2, chunk_id="refunds-v4#1")
    settled = label(disputed, "refunds-v4#1")
    assert isinstance(settled, GoldLabel)
    assert settled.relevance == 2
    judge(disputed, "Ben", 0)  # the decision of old is void: people still differ
    assert label(disputed).kind == "disputed"  # type: ignore[union-attr]


def test_a_reopened_label_is_settled_by_a_decision(disputed: Workspace) -> None:
    settle(disputed, 2)
    review.reopen(disputed, "Rut", [("q1", CHUNK)], "I erred.")
    found = review.case(disputed, "Rut", "q1", CHUNK)
    assert found.reopened is not None
    assert (found.kind, found.reopened.reason, found.decision) == ("reopened", "I erred.", None)
    settle(disputed, 3)
    settled = label(disputed)
    assert isinstance(settled, GoldLabel)
    assert settled.relevance == 3


def test_an_undo_is_no_new_judgment_of_a_reopened_label(disputed: Workspace) -> None:
    review.reopen(disputed, "Rut", [("q1", CHUNK)], "Again, please.")
    undo(disputed, "Ben", judge(disputed, "Ben", 3))
    assert label(disputed).kind == "reopened"  # type: ignore[union-attr]


def test_reopening_is_all_or_nothing_and_open_ones_stay_as_they_are(disputed: Workspace) -> None:
    with pytest.raises(NotFound):
        review.reopen(disputed, "Rut", [("q1", CHUNK), ("q1", "travel#1")], "why")
    assert label(disputed).kind == "disputed"  # type: ignore[union-attr]
    with pytest.raises(InputError):
        review.reopen(disputed, "Rut", [("q1", CHUNK)], " ")
    assert review.reopen(disputed, "Rut", [("q1", CHUNK), ("q1", CHUNK)], "why") == 1
    assert review.reopen(disputed, "Rut", [("q1", CHUNK)], "why") == 0


def test_a_release_holds_no_decision_that_was_reopened(disputed: Workspace) -> None:
    settle(disputed, 0)
    review.reopen(disputed, "Rut", [("q1", CHUNK)], "I erred.")
    judge(disputed, "Ben", 3)
    new = gold.release(disputed, "Rut")
    assert (new.manifest["counts"]["adjudications"], new.manifest["counts"]["relevant"]) == (0, 1)


# Odd labels


def test_odd_labels_are_found_until_a_reviewer_decides(disputed: Workspace) -> None:
    judge(disputed, "Ben", 3, query_id="q3", chunk_id="travel#1", seconds=0.2)
    found = review.suspicious(disputed, "Rut")
    assert [(one.kind, one.query_id, one.chunk_ids, one.annotator) for one in found] == [
        ("groundless", "q3", ("travel#1",), "Ben"),
        ("too_fast", "q3", ("travel#1",), "Ben"),
    ]
    case = review.case(disputed, "Rut", "q3", "travel#1")
    review.decide(disputed, "Rut", "q3", "travel#1", 0, reason="No.", sha256=case.chunk.sha256, seen=case.revision)
    assert review.suspicious(disputed, "Rut") == []


def test_texts_are_found_by_hash(disputed: Workspace) -> None:
    with disputed.read() as connection:
        every = labels.texts(connection)
        (one,) = every
        assert labels.texts(connection, [one, "no such"]) == every
        assert labels.texts(connection, []) == {}
