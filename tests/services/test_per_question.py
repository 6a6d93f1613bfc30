"""What is remembered question by question follows whatever happens to labels, questions, chunks and the file itself."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from annotator.model import Adjudication, Judgment, Query
from annotator.services import backup, chunk_table, drift, gold, overview, questions, review
from annotator.services.per_question import PerQuestion
from annotator.store import corpus, decisions, events, judgments, labels, queries
from annotator.store.database import Workspace
from annotator.store.sync import staging


class Watched:
    """Remembers nothing about the questions but that it was asked about them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.asked: list[Collection[str] | None] = []
        self.memory = PerQuestion(self._work)

    def _work(self, _: sqlite3.Connection, only: Collection[str] | None, given: object) -> Mapping[str, object]:
        self.asked.append(only if only is None else sorted(only))
        return dict.fromkeys(["q1", "q2", "q3"] if only is None else only, given)

    def look(self, given: object = "") -> Mapping[str, object]:
        with self.workspace.read() as connection:
            return self.memory.of(self.workspace, connection, given)

    def since(self, act: Callable[[sqlite3.Connection], object]) -> list[Collection[str] | None]:
        """Return what was asked anew after something was done."""
        self.look()
        self.asked.clear()
        with self.workspace.write() as connection:
            act(connection)
        assert set(self.look()) == {"q1", "q2", "q3"}
        return self.asked


@pytest.fixture
def watched(workspace: Workspace) -> Watched:
    return Watched(workspace)


def _judgment(connection: sqlite3.Connection, query_id: str, chunk_id: str, **changed: object) -> Judgment:
    sha256 = corpus.chunk(connection, chunk_id).sha256
    values = {"operation_id": f"{query_id} {chunk_id} {changed}", "annotator": "Ana", "grade": 3, **changed}
    return Judgment(query_id=query_id, chunk_id=chunk_id, sha256=sha256, **values)  # type: ignore[arg-type]


def _judge(query_id: str, chunk_id: str = "travel#1", **changed: object) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: judgments.append(connection, _judgment(connection, query_id, chunk_id, **changed))


def _nothing(_: sqlite3.Connection) -> None:
    return None


def test_only_what_was_said_something_about_is_worked_out_anew(watched: Watched) -> None:
    assert watched.since(_nothing) == []
    assert watched.since(_judge("q2")) == [["q2"]]
    assert watched.since(lambda c: judgments.undo(c, "Ana", "q2 travel#1 {}", "undo")) == [["q2"]]
    assert watched.since(_nothing) == []


def test_decisions_reopenings_and_changed_questions_count(watched: Watched) -> None:
    watched.since(_judge("q1"))

    def decide(connection: sqlite3.Connection) -> None:
        sha256 = corpus.chunk(connection, "travel#1").sha256
        decisions.append(connection, Adjudication("q1", "travel#1", "Ana", 1, sha256=sha256, operation_id="decide"))

    def reopen(connection: sqlite3.Connection) -> None:
        decisions.reopen(connection, decisions.Reopening("q1", "travel#1", "Ana", "again", operation_id="reopen"))

    assert watched.since(decide) == [["q1"]]
    assert watched.since(reopen) == [["q1"]]
    changed = watched.since(lambda c: queries.change(c, replace(queries.query(c, "q3"), question="Other?"), "Ana"))
    assert changed == [["q3"]]


def test_a_change_of_something_else_is_taken_for_a_change_of_everything(watched: Watched) -> None:
    assert watched.since(lambda c: events.record(c, "Ana", "change", "setting:settling_rule")) == [None]
    assert watched.since(lambda c: events.record(c, "Ana", "add", "person:Eve")) == []
    watched.asked.clear()
    watched.look(given="another sample")
    assert watched.asked == [None]


def test_a_sync_counts_for_the_questions_whose_chunks_it_changed(watched: Watched, tmp_path: Path) -> None:
    workspace = watched.workspace
    watched.since(_judge("q1"))
    watched.since(_judge("q2", "errors#1"))
    watched.asked.clear()
    chunk_table.sync(workspace, "Ana")
    watched.look()
    assert watched.asked == []
    table = tmp_path / "handbook.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    kept = [{**row, "text": "Changed."} if row["chunk_id"] == "travel#1" else row for row in rows]
    table.write_text("".join(json.dumps(row) + "\n" for row in kept if row["chunk_id"] != "errors#1"), "utf-8")
    chunk_table.sync(workspace, "Ana")
    watched.look()
    assert watched.asked == [["q1", "q2"]]


def test_while_a_sync_writes_its_questions_are_asked_about_each_time(watched: Watched) -> None:
    watched.since(_judge("q1"))
    with staging(watched.workspace, "refuse") as staged:
        staged.add([(1, "travel#1", "Half-way.", "travel", "", 0, "{}", b"half-way")])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("annotator.store.sync_apply.few_valued", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                staged.apply("test", "test")
    watched.asked.clear()
    watched.look()
    watched.look()
    assert watched.asked == [["q1"], ["q1"]]


def test_a_restored_workspace_is_read_from_its_beginning(watched: Watched, tmp_path: Path) -> None:
    workspace = watched.workspace
    watched.since(_judge("q1"))
    backup.back_up(workspace, "Ana", tmp_path / "kept.zip")
    watched.since(_judge("q1", grade=0))
    backup.restore(workspace, "Ana", tmp_path / "kept.zip")
    watched.asked.clear()
    watched.look()
    assert watched.asked == [None]


def test_the_pages_follow_a_label_a_decision_and_a_dropped_one(workspace: Workspace) -> None:
    assert gold.readiness(workspace).pairs == 0
    with workspace.write() as connection:
        _judge("q1", "refunds-v4#1")(connection)
    assert gold.readiness(workspace).pairs == 1
    assert review.waiting(workspace, "Ana") == []
    with workspace.write() as connection:
        _judge("q1", "refunds-v4#1", annotator="Ben", grade=0)(connection)
    assert [one.chunk_id for one in review.waiting(workspace, "Ana")] == ["refunds-v4#1"]
    assert gold.readiness(workspace).left_out == ("q1",)
    case = review.case(workspace, "Ana", "q1", "refunds-v4#1")
    read = {"sha256": case.chunk.sha256, "seen": case.revision}
    review.decide(workspace, "Ana", "q1", "refunds-v4#1", 2, reason="half of it", **read)
    assert review.waiting(workspace, "Ana") == []
    assert gold.readiness(workspace).ready
    questions.retire(workspace, "Ana", "q1")
    assert gold.readiness(workspace).pairs == 0
    assert drift.affected(workspace) == []


def test_a_question_of_many_is_found_among_those_about_a_drifted_chunk(workspace: Workspace, tmp_path: Path) -> None:
    with workspace.write() as connection:
        for number in range(250):
            queries.add(connection, Query(f"n{number:03}", f"Question {number}?"), "Ana")
            chunk = "errors#1" if number in (3, 210) else "travel#1"
            judgments.append(connection, _judgment(connection, f"n{number:03}", chunk))
    assert gold.readiness(workspace).pairs == 250
    table = tmp_path / "handbook.jsonl"
    lines = table.read_text("utf-8").splitlines(keepends=True)
    table.write_text("".join(line for line in lines if "errors#1" not in line), "utf-8")
    chunk_table.sync(workspace, "Ana")
    assert [one.query_id for one in drift.affected(workspace)] == ["n003", "n210"]
    assert [item.query_ids for item in gold.readiness(workspace).blocks] == [("n003",), ("n210",)]


@pytest.mark.parametrize("seed", range(4))
def test_the_counts_that_are_kept_are_those_counted_anew(workspace: Workspace, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    table = tmp_path / "handbook.jsonl"
    original = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    said: list[tuple[str, str]] = []
    drifts = set()
    for turn in range(60):
        query_id, who = draw.choice(("q1", "q2", "q3")), draw.choice(("Ana", "Ben"))
        match draw.choice(("grade", "grade", "grade", "undo", "sync", "drop", "retire", "reopen")):
            case "grade":
                with workspace.write() as connection:
                    chunk_id = draw.choice([chunk.chunk_id for _, chunk in corpus.browse(connection)])
                    values = {"annotator": who, "grade": draw.choice((0, 1, 3)), "operation_id": str(turn)}
                    judgments.append(connection, _judgment(connection, query_id, chunk_id, **values))
                said.append((who, str(turn)))
            case "undo" if said:
                with workspace.write() as connection:
                    judgments.undo(connection, *said.pop(), f"undo {turn}")
            case "sync":
                rows = [row | {"text": draw.choice((row["text"], f"Edited {turn}."))} for row in original]
                kept = [row for row in rows if draw.random() < 0.8]
                table.write_text("".join(json.dumps(row) + "\n" for row in kept or rows), "utf-8")
                chunk_table.sync(workspace, "Ana")
            case "drop" if affected := drift.affected(workspace):
                drift.drop(workspace, "Ana", [draw.choice(affected).key], "gone")
            case "retire":
                questions.retire(workspace, "Ana", query_id)
            case "reopen":
                questions.reopen(workspace, "Ana", query_id)
        with workspace.read() as connection:
            progress, drifted = labels.progress(connection), labels.drifted(connection)
        drift_counted = len(frozenset().union(*drifted.values()))
        drifts.add(drift_counted)
        assert overview.status(workspace)["drift"] == drift_counted
        nothing = labels.Progress(0, 0, {})
        for row in questions.rows(workspace, "Ana"):
            of_query = progress.get(row.query.query_id, nothing)
            mine = of_query.by.get("Ana", (0, 0))[0]
            assert (row.judged, row.relevant, row.mine) == (of_query.judged, of_query.relevant, mine)
    assert len(drifts) > 1
