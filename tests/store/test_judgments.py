"""The append-only record: idempotent saving, undo, kept texts, and the triggers that guard history."""

from __future__ import annotations

import sqlite3

import pytest

from annotator.errors import Conflict
from annotator.model import Evidence, Judgment, text_hash
from annotator.store import drafts, judged_texts, judgments
from annotator.store.database import Workspace

TEXT = "Enterprise refunds after 30 days need the VP Finance (REF-2024/07)."


def judgment(operation: str, grade: int | None = 3, **changed: object) -> Judgment:
    values = {"reason": "", "annotator": "Ana", "chunk_id": "refunds-v4#2", "sha256": text_hash(TEXT), **changed}
    return Judgment(query_id="q1", grade=grade, operation_id=operation, **values)  # type: ignore[arg-type]


def save(workspace: Workspace, *new: Judgment) -> list[bool]:
    with workspace.write() as connection:
        return [judgments.append(connection, one) for one in new]


def undo(workspace: Workspace, target: str, operation: str) -> bool:
    with workspace.write() as connection:
        return judgments.undo(connection, "Ana", target, operation)


def grades(workspace: Workspace) -> dict[str, int | None]:
    with workspace.read() as connection:
        return {one.annotator: one.grade for one in judgments.current(connection, query_id="q1")}


def test_same_operation_twice_is_stored_once(workspace: Workspace) -> None:
    assert save(workspace, judgment("a"), judgment("a", grade=1)) == [True, False]
    assert grades(workspace) == {"Ana": 3}


def test_newer_grade_replaces_and_both_stay_in_history(workspace: Workspace) -> None:
    save(workspace, judgment("a", 3), judgment("b", 1))
    with workspace.read() as connection:
        assert [one.grade for one in judgments.history(connection, "q1", "refunds-v4#2")] == [3, 1]
    assert grades(workspace) == {"Ana": 1}


def test_two_people_keep_their_own_grades(workspace: Workspace) -> None:
    save(workspace, judgment("a", 3), judgment("b", 0, annotator="Ben"))
    assert grades(workspace) == {"Ana": 3, "Ben": 0}


def test_undo_of_the_first_grade_leaves_nothing(workspace: Workspace) -> None:
    save(workspace, judgment("a"))
    assert undo(workspace, "a", "u1") is True
    assert undo(workspace, "a", "u1") is False
    assert grades(workspace) == {}


def test_undo_step_by_step_restores_each_earlier_state(workspace: Workspace) -> None:
    save(workspace, judgment("a", 3, reason="first"), judgment("b", 1, reason="second"))
    undo(workspace, "b", "u1")
    with workspace.read() as connection:
        (one,) = judgments.current(connection, query_id="q1")
        assert (one.grade, one.reason) == (3, "first")
        assert [step.operation_id for step in judgments.undoable(connection, "q1", "Ana")] == ["a"]
    undo(workspace, "a", "u2")
    assert grades(workspace) == {}
    save(workspace, judgment("c", 2))
    undo(workspace, "c", "u3")
    assert grades(workspace) == {}


def test_undo_is_refused_when_something_newer_stands(workspace: Workspace) -> None:
    save(workspace, judgment("a", 3), judgment("b", 1))
    with pytest.raises(Conflict, match="changed since"):
        undo(workspace, "a", "u1")
    assert grades(workspace) == {"Ana": 1}


def test_undoable_lists_newest_first_with_what_stood_before(workspace: Workspace) -> None:
    save(workspace, judgment("a", 3), judgment("b", 1))
    with workspace.read() as connection:
        steps = judgments.undoable(connection, "q1", "Ana")
    assert [(step.operation_id, step.before.grade if step.before else None) for step in steps] == [
        ("b", 3),
        ("a", None),
    ]


def test_judged_text_is_kept_when_the_chunk_changes(workspace: Workspace) -> None:
    save(workspace, judgment("a", evidence=(Evidence("Enterprise", 0, 10),)))
    with workspace.write() as connection:
        connection.execute("UPDATE chunks SET text = 'other', sha256 = ? WHERE chunk_id = 'refunds-v4#2'", ("0" * 64,))
    with workspace.read() as connection:
        ((sha256, chunk),) = judged_texts.chunks(connection, [("refunds-v4#2", text_hash(TEXT))])
    assert (sha256, chunk.text, chunk.doc_id) == (text_hash(TEXT), TEXT, "refunds-v4")


def test_a_text_nobody_can_see_any_more_is_refused(workspace: Workspace) -> None:
    with pytest.raises(Conflict, match="changed or removed"):
        save(workspace, judgment("a", sha256=text_hash("an older text")))
    assert grades(workspace) == {}


def test_draft_is_kept_until_the_grade_and_then_gone(workspace: Workspace) -> None:
    with workspace.write() as connection:
        drafts.put(connection, "q1", "refunds-v4#2", "Ana", "half a rea", "[]")
    with workspace.read() as connection:
        assert drafts.of(connection, "q1", "Ana") == {"refunds-v4#2": ("half a rea", "[]")}
    save(workspace, judgment("a"))
    with workspace.read() as connection:
        assert drafts.of(connection, "q1", "Ana") == {}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE judgments SET grade = 0",
        "DELETE FROM judgments",
        "INSERT OR REPLACE INTO judgments SELECT * FROM judgments",
        "UPDATE judged_texts SET text = 'forged'",
        "DELETE FROM judged_chunks",
        "UPDATE events SET who = 'someone else'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events (event_id, at, who, action, subject) VALUES (1, '', '', '', '')",
    ],
)
def test_history_cannot_be_changed_with_raw_sql(workspace: Workspace, statement: str) -> None:
    save(workspace, judgment("a"))
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), workspace.write() as connection:
        connection.execute(statement)


@pytest.mark.parametrize("grade", [4, -1, 2.5, "two"])
def test_grades_outside_the_scale_are_refused_by_the_database(workspace: Workspace, grade: object) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        save(workspace, judgment("a", grade))  # type: ignore[arg-type]


def test_stale_goes_with_grade_zero_only(workspace: Workspace) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        save(workspace, judgment("a", 3, stale=True))
    assert save(workspace, judgment("b", 0, stale=True)) == [True]
