"""A person's queue on a real workspace: claims, leases, finishing, skipping, what comes back, and the order."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.errors import Conflict, InputError, NotFound
from annotator.model import Person, Query
from annotator.services import labelling, overview, questions, queue, review, sharing
from annotator.services.importing import import_judgments
from annotator.services.labelling import Operation
from annotator.services.queue import Desk, Pause
from annotator.store import corpus, people, queries
from annotator.store import queue as kept
from annotator.store.database import Workspace

START = "2026-03-02T09:00:00.000Z"
CHUNK = "refunds-v4#2"


def at(minutes: int) -> str:
    return f"2026-03-02T{9 + minutes // 60:02d}:{minutes % 60:02d}:00.000Z"


def staff(workspace: Workspace, *names: str, role: str = "annotator") -> None:
    with workspace.write() as connection:
        for name in names:
            people.add(connection, Person(name, role), "Ana")


def grade(workspace: Workspace, who: str, query_id: str, value: int = 3, chunk_id: str = CHUNK) -> None:
    with workspace.read() as connection:
        text = corpus.chunk(connection, chunk_id).sha256
    one = Operation(
        id=f"{who}-{query_id}-{chunk_id}-{value}-{random.random()}", kind="judge", who=who, query_id=query_id,
        chunk_id=chunk_id, sha256=text, grade=value,
    )  # fmt: skip
    assert labelling.apply(workspace, who, [one]).acknowledged


def finish(workspace: Workspace, who: str, query_id: str, value: int = 3) -> str:
    grade(workspace, who, query_id, value)
    return queue.finish(workspace, who, query_id).state


def sit(workspace: Workspace, who: str, query_id: str = "", *, after: str = "", minutes: int = 0) -> Desk:
    desk = queue.desk(workspace, who, query_id, after=after, moment=at(minutes))
    assert isinstance(desk, Desk)
    return desk


def standing(workspace: Workspace, who: str, query_id: str, minutes: int = 0) -> str:
    with workspace.read() as connection:
        return queue.standing_of(connection, who, moment=at(minutes))[query_id]


def state(workspace: Workspace, query_id: str) -> str:
    with workspace.read() as connection:
        return queries.query(connection, query_id).state


# One person alone: as if there were no queue


def test_alone_one_goes_through_the_questions_as_they_were_written(workspace: Workspace) -> None:
    desk = sit(workspace, "Ana", "q2")
    assert (desk.position, desk.total, desk.previous, desk.following, desk.next_open) == (2, 3, "q1", "q3", "q3")
    with pytest.raises(NotFound):
        queue.desk(workspace, "Ana", "nope")
    assert finish(workspace, "Ana", "q2") == "complete"
    assert sit(workspace, "Ana", after="q2").query.query_id == "q3"
    finish(workspace, "Ana", "q3")
    assert sit(workspace, "Ana", after="q3").query.query_id == "q1"
    finish(workspace, "Ana", "q1")
    last = sit(workspace, "Ana", after="q1")
    assert (last.query.query_id, last.standing, last.next_open) == ("q1", "complete", "")


def test_done_needs_a_label_of_ones_own_unless_nothing_answers_the_question(workspace: Workspace) -> None:
    grade(workspace, "Ben", "q1")
    with pytest.raises(Conflict, match="judged nothing"):
        queue.finish(workspace, "Ana", "q1")
    questions.mark_unanswerable(workspace, "Ana", "q1")
    assert queue.finish(workspace, "Ana", "q1").state == "complete"
    questions.retire(workspace, "Ana", "q1")
    with pytest.raises(Conflict, match="retired"):
        queue.finish(workspace, "Ana", "q1")


def test_there_is_no_desk_without_a_question(tmp_path: Path) -> None:
    made = Workspace(tmp_path / "w")
    made.create()
    staff(made, "Ana")
    assert queue.desk(made, "Ana") is None


# Leases


def test_two_people_are_given_two_questions_and_a_third_waits(workspace: Workspace) -> None:
    staff(workspace, "Cleo", "Dov")
    assert [sit(workspace, who).query.query_id for who in ("Ana", "Ben", "Cleo")] == ["q1", "q2", "q3"]
    assert queue.desk(workspace, "Dov", moment=at(10)) == Pause(3, at(30))
    assert sit(workspace, "Dov", minutes=31).query.query_id == "q1"


def test_saving_keeps_the_question_and_reading_on_does_too(workspace: Workspace) -> None:
    sit(workspace, "Ana", "q1")
    queue.stay(workspace, "Ana", "q1", moment=at(20))
    assert standing(workspace, "Ben", "q1", minutes=49) == "in use"
    assert standing(workspace, "Ben", "q1", minutes=51) == "needs me"
    sit(workspace, "Ana", "q2")  # a person works on one question at a time
    assert standing(workspace, "Ben", "q1", minutes=21) == "needs me"
    with workspace.write() as connection:
        connection.execute("UPDATE leases SET expires_at = ?", (START,))
    grade(workspace, "Ana", "q2")
    with workspace.read() as connection:
        held = kept.lease(connection, "Ana")
    assert held is not None
    assert held[1] > START


def test_a_question_in_use_can_be_looked_at_and_graded_all_the_same(workspace: Workspace) -> None:
    sit(workspace, "Ana", "q1")
    desk = sit(workspace, "Ben", "q1", minutes=5)
    assert (desk.standing, desk.free_at) == ("in use", at(30))
    grade(workspace, "Ben", "q1", 2)
    assert finish(workspace, "Ben", "q1", 1) == "complete"
    assert finish(workspace, "Ana", "q1") == "complete"  # nothing anybody did is lost
    with workspace.read() as connection:
        assert kept.people_with(connection, "q1", "finished") == {"Ana", "Ben"}


def test_after_a_break_a_person_goes_on_where_they_were(workspace: Workspace) -> None:
    sit(workspace, "Ben", "q2")
    assert sit(workspace, "Ben", minutes=300).query.query_id == "q2"
    sit(workspace, "Ben", "q3", minutes=300)
    finish(workspace, "Ana", "q3")  # meanwhile somebody else did it: on to the next
    assert sit(workspace, "Ben", minutes=500).query.query_id == "q1"


def test_a_reader_looks_on_without_keeping_anybody_away(workspace: Workspace) -> None:
    staff(workspace, "Rea", role="reader")
    assert sit(workspace, "Rea").query.query_id == "q1"
    assert standing(workspace, "Ana", "q1") == "needs me"


CLAIMER = """
import json, sys
from pathlib import Path
from annotator.services import queue
from annotator.store.database import Workspace

workspace = Workspace(Path(sys.argv[1]))
sys.stdin.readline()
got = {}
for who in sys.argv[2:]:
    desk = queue.desk(workspace, who, moment="2026-03-02T09:00:00.000Z")
    got[who] = desk.query.query_id if isinstance(desk, queue.Desk) and desk.standing == "needs me" else ""
print(json.dumps(got))
"""


def test_two_processes_and_many_threads_never_let_in_more_than_are_wanted(workspace: Workspace) -> None:
    names = [f"p{number:02d}" for number in range(16)]
    staff(workspace, *names)
    sharing.set_plan(workspace, "Ana", 2)
    shares = [names[:3], names[3:6]]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMER, str(workspace.home), *share],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for share in shares
    ]  # fmt: skip
    got: dict[str, str] = {}
    gate = threading.Barrier(len(names[6:]) + 1)

    def claim(who: str) -> None:
        gate.wait()
        desk = queue.desk(workspace, who, moment=START)
        got[who] = desk.query.query_id if isinstance(desk, Desk) and desk.standing == "needs me" else ""

    threads = [threading.Thread(target=claim, args=(who,)) for who in names[6:]]
    for thread in threads:
        thread.start()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    gate.wait()
    for thread in threads:
        thread.join()
    for process in started:
        got |= json.loads(process.communicate(timeout=60)[0])
    assert Counter(got.values()) == {"q1": 2, "q2": 2, "q3": 2, "": 10}
    with workspace.read() as connection:
        assert {one: len(who) for one, who in kept.leases(connection, START).items()} == {"q1": 2, "q2": 2, "q3": 2}


# Overlap


def test_complete_is_what_as_many_people_finished_as_are_wanted(workspace: Workspace) -> None:
    staff(workspace, "Cleo")
    sharing.set_plan(workspace, "Ana", 2)
    assert finish(workspace, "Ana", "q1") == "open"
    assert (standing(workspace, "Ana", "q1"), standing(workspace, "Ben", "q1")) == ("needs others", "needs me")
    assert finish(workspace, "Ben", "q1") == "complete"
    assert overview.status(workspace)["queries"]["complete"] == 1  # type: ignore[index]
    assert finish(workspace, "Ben", "q2") == "open"


def test_a_changed_number_of_people_is_reckoned_anew(workspace: Workspace) -> None:
    with workspace.write() as connection:
        queries.add(connection, Query("old", "Came complete?", state="complete"), "Ana")
    finish(workspace, "Ana", "q1")
    sharing.set_plan(workspace, "Ana", 2)
    assert (state(workspace, "q1"), state(workspace, "old")) == ("open", "complete")
    finish(workspace, "Ben", "q1")
    sharing.set_overlap(workspace, "Ana", ["q1"], 3)
    assert state(workspace, "q1") == "open"
    sharing.set_overlap(workspace, "Ana", ["q1"], None)
    assert state(workspace, "q1") == "complete"
    sharing.set_plan(workspace, "Ana", 3)
    assert state(workspace, "q1") == "open"
    sharing.set_plan(workspace, "Ana", 1)
    assert state(workspace, "q1") == "complete"
    for wrong in (0, 101):
        with pytest.raises(InputError):
            sharing.set_plan(workspace, "Ana", wrong)


def test_taking_back_and_opening_again(workspace: Workspace) -> None:
    sharing.set_plan(workspace, "Ana", 2)
    finish(workspace, "Ana", "q1")
    finish(workspace, "Ben", "q1")
    assert queue.take_back(workspace, "Ana", "q1").state == "open"
    assert (standing(workspace, "Ana", "q1"), standing(workspace, "Ben", "q1")) == ("needs me", "needs others")
    assert queue.finish(workspace, "Ana", "q1").state == "complete"
    questions.reopen(workspace, "Ana", "q1")
    assert (standing(workspace, "Ana", "q1"), standing(workspace, "Ben", "q1")) == ("needs me", "needs me")


# Given to people


def test_a_question_and_a_slice_are_given_to_people(workspace: Workspace) -> None:
    staff(workspace, "Cleo")
    with workspace.write() as connection:
        for number in (4, 5):
            queries.add(connection, Query(f"q{number}", "Why?", facets={"domain": "policy"}), "Ana")
    sharing.assign(workspace, "Ana", ["Cleo"], query_ids=["q1"])
    sharing.assign(workspace, "Ana", ["Ben"], part=("domain", "policy"))
    assert sit(workspace, "Cleo").query.query_id == "q1"
    assert sit(workspace, "Ben").query.query_id == "q2"
    assert (sit(workspace, "Cleo", "q4").standing, sit(workspace, "Ben", "q4").standing) == ("needs others", "needs me")
    assert [sit(workspace, who).total for who in ("Ana", "Ben", "Cleo")] == [2, 4, 3]
    with workspace.write() as connection:  # one that comes later belongs to the slice as well
        queries.add(connection, Query("q6", "When?", facets={"domain": "policy"}), "Ana")
    assert standing(workspace, "Cleo", "q6") == "needs others"
    sharing.assign(workspace, "Ana", [], part=("domain", "policy"))
    assert standing(workspace, "Cleo", "q6") == "needs me"
    with pytest.raises(InputError, match="Zoe"):
        sharing.assign(workspace, "Ana", ["Zoe"], query_ids=["q1"])


def test_what_is_given_to_somebody_who_left_is_for_everybody(workspace: Workspace) -> None:
    staff(workspace, "Cleo")
    sharing.assign(workspace, "Ana", ["Cleo"], query_ids=["q1"])
    with workspace.write() as connection:
        connection.execute("UPDATE people SET active = 0 WHERE name = 'Cleo'")
    assert standing(workspace, "Ben", "q1") == "needs me"


# Skipping


def test_what_is_skipped_goes_to_others_with_the_reason(workspace: Workspace) -> None:
    sit(workspace, "Ana", "q1")
    with pytest.raises(InputError):
        queue.skip(workspace, "Ana", "q1", "  ")
    queue.skip(workspace, "Ana", "q1", "I do not know\nthe tax rules")
    assert sit(workspace, "Ana", after="q1").query.query_id == "q2"
    assert sit(workspace, "Ben", minutes=1).query.query_id == "q1"
    (skipped,) = sharing.shared(workspace, "Ana").skips
    assert (skipped.annotator, skipped.query_id, skipped.reason) == ("Ana", "q1", "I do not know the tax rules")
    desk = sit(workspace, "Ana", "q1", minutes=2)  # back to it all the same
    assert desk.step is not None
    assert desk.step.reason == "I do not know the tax rules"
    assert finish(workspace, "Ana", "q1") == "complete"
    with pytest.raises(Conflict):
        queue.skip(workspace, "Ana", "q1", "too late")


# What a reviewer opens again


def test_a_label_opened_again_comes_back_to_its_author_with_the_reason(workspace: Workspace) -> None:
    staff(workspace, "Rut", role="reviewer")
    finish(workspace, "Ben", "q3")
    finish(workspace, "Ana", "q1")
    review.reopen(workspace, "Rut", [("q3", CHUNK)], "The rubric changed.")
    assert (standing(workspace, "Ben", "q3"), standing(workspace, "Ana", "q3")) == ("needs me", "needs others")
    desk = sit(workspace, "Ben")  # before q2, which nobody did yet
    assert desk.query.query_id == "q3"
    assert [(one.reviewer, one.chunk_id, one.reason) for one in desk.reopened] == [
        ("Rut", CHUNK, "The rubric changed.")
    ]
    assert labelling.candidates(workspace, "Ben", "q3", [CHUNK])[0].reopened
    assert sit(workspace, "Ana", "q3").reopened == ()
    assert finish(workspace, "Ben", "q3") == "complete"
    assert not labelling.candidates(workspace, "Ben", "q3", [CHUNK])[0].reopened


def test_what_waits_for_somebody_who_will_not_come_is_offered_to_others(workspace: Workspace) -> None:
    rows = b"query_id,chunk_id,annotator,grade\nq1,travel#1,Zoe,3\n"
    import_judgments(workspace, "Ana", ("j.csv", rows))
    review.reopen(workspace, "Ana", [("q1", "travel#1")], "Sure?")
    assert standing(workspace, "Ben", "q1") == "needs me"  # Zoe came with a file
    staff(workspace, "Cleo")
    finish(workspace, "Cleo", "q2")
    review.reopen(workspace, "Ana", [("q2", CHUNK)], "Sure?")
    with workspace.write() as connection:
        connection.execute("UPDATE leases SET expires_at = ?", (START,))
    assert standing(workspace, "Ben", "q2") == "needs others"
    sharing.assign(workspace, "Ana", ["Ben"], query_ids=["q2"])
    assert standing(workspace, "Ben", "q2") == "needs me"
    sharing.assign(workspace, "Ana", [], query_ids=["q2"])
    with workspace.write() as connection:
        connection.execute("UPDATE people SET active = 0 WHERE name = 'Cleo'")
    assert standing(workspace, "Ben", "q2") == "needs me"


def test_a_decision_completes_what_enough_people_finished(workspace: Workspace) -> None:
    staff(workspace, "Rut", role="reviewer")
    finish(workspace, "Ana", "q1")
    grade(workspace, "Ben", "q1", 1, "travel#1")
    review.reopen(workspace, "Rut", [("q1", "travel#1")], "Sure?")
    assert state(workspace, "q1") == "open"
    found = review.case(workspace, "Rut", "q1", "travel#1")
    review.decide(workspace, "Rut", "q1", "travel#1", 0, reason="No.", sha256=found.chunk.sha256, seen=found.revision)
    assert state(workspace, "q1") == "complete"


# Calibration


def test_everybody_labels_the_calibration_questions_first(workspace: Workspace) -> None:
    staff(workspace, "Cleo")
    sharing.calibrate(workspace, "Ana", ["q2"])
    assert [sit(workspace, who).query.query_id for who in ("Ana", "Ben", "Cleo")] == ["q2", "q2", "q2"]
    assert finish(workspace, "Ana", "q2") == "complete"
    assert (standing(workspace, "Ana", "q2"), standing(workspace, "Ben", "q2")) == ("complete", "needs me")
    assert sit(workspace, "Ana", after="q2").query.query_id == "q1"
    desk = sit(workspace, "Cleo", "q1")
    assert (desk.position, desk.following) == (2, "q3")
    sharing.calibrate(workspace, "Ana", ["q2"], False)
    assert standing(workspace, "Ben", "q2") == "complete"


# Order and fairness


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(tmp_path_factory.mktemp("queue") / "bare")
    made.create()
    staff(made, "Ana", "Ben", "Cleo", "Dov", role="admin")
    with closing(sqlite3.connect(made.database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return made


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(1, 5),
    overlap=st.integers(1, 3),
    seed=st.sampled_from(["", "spring", "autumn"]),
    moves=st.lists(st.integers(0, 9), max_size=24),
    given_to=st.dictionaries(st.integers(0, 6), st.sets(st.integers(0, 3), min_size=1), max_size=4),
)
def test_every_question_gets_its_people_whatever_they_do(
    bare: Workspace, number: int, overlap: int, seed: str, moves: list[int], given_to: dict[int, set[int]]
) -> None:
    names = ["Ana", "Ben", "Cleo", "Dov"]
    work = Workspace(bare.home.with_name(uuid4().hex))
    shutil.copytree(bare.home, work.home)
    with work.write() as connection:
        for one in range(number):
            queries.add(connection, Query(f"q{one}", f"Why {one}?", unanswerable=True), "Ana")
    sharing.set_plan(work, "Ana", overlap, seed)
    for one, whom in given_to.items():
        if one < number:
            sharing.assign(work, "Ana", [names[who] for who in whom], query_ids=[f"q{one}"])
    first = queue.desk(work, "Ana", moment=at(0))
    assert queue.desk(work, "Ana", moment=at(0)) == first
    assert first == Pause(0, "") or isinstance(first, Desk)
    minute = 0
    for turn, move in enumerate([*moves, *[9] * (len(names) * number * overlap)]):
        who = names[turn % len(names)]
        minute += 1
        desk = queue.desk(work, who, moment=at(minute))
        with work.read() as connection:
            for query_id, held in kept.leases(connection, at(minute)).items():
                finished = kept.people_with(connection, query_id, "finished")
                assert len(finished | held.keys()) <= overlap
        if isinstance(desk, Desk) and desk.standing == "needs me" and move > 3:
            queue.finish(work, who, desk.query.query_id)
        elif move == 3:
            minute += 45  # a break: leases end
        if overview.status(work)["queries"]["complete"] == number:  # type: ignore[index]
            break
    with work.read() as connection:
        assert set(kept.finished(connection).values()) == {overlap}
        assert len(kept.finished(connection)) == number
        assert {one.state for one in queries.all_queries(connection)} == {"complete"}


def test_whoever_is_given_nothing_is_told_so(tmp_path: Path) -> None:
    bare = Workspace(tmp_path / "bare")
    bare.create()
    staff(bare, "Ana", "Ben", role="admin")
    assert queue.desk(bare, "Ana") is None
    with bare.write() as connection:
        queries.add(connection, Query("q0", "Why?"), "Ana")
    sharing.assign(bare, "Ana", ["Ben"], query_ids=["q0"])
    assert queue.desk(bare, "Ana") == Pause(0, "")
    assert sit(bare, "Ben").query.query_id == "q0"
