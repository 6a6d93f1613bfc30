"""Status counts by hand, and what Home tells each kind of person to do next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.model import Person
from annotator.services import chunk_table, gold, overview, queue
from annotator.services.importing import import_judgments, import_queries
from annotator.services.workspace import Workspace, init
from annotator.store import people


def take(workspace: Workspace, *rows: str) -> None:
    text = "query_id,chunk_id,annotator,grade\n" + "\n".join(rows)
    import_judgments(workspace, "Ana", ("j.csv", text.encode()))


def state(workspace: Workspace, query_id: str, **fields: object) -> None:
    row = {"query_id": query_id, "question": "Why?", **fields}
    import_queries(workspace, "Ana", ("q.jsonl", json.dumps(row).encode()))


def resync(workspace: Workspace, tmp_path: Path, *, drop: str = "", edit: str = "") -> None:
    table = tmp_path / "handbook.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    for row in rows:
        if row["chunk_id"] == edit:
            row["text"] += " Amended."
    kept = [row for row in rows if row["chunk_id"] != drop]
    table.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    chunk_table.sync(workspace, "Ana")


def test_pairs_people_and_disputes_are_counted(workspace: Workspace) -> None:
    take(workspace, "q1,errors#1,Ana,0", "q1,errors#1,Ben,3", "q2,errors#1,Ben,2", "q2,travel#1,Ben,0")
    take(workspace, "q2,travel#1,Ana,1")
    found = overview.status(workspace)
    assert (found["judgments"], found["judged_pairs"], found["annotators"]) == (5, 3, 2)
    assert found["disputes"] == 2
    assert found["queries"] == {"draft": 0, "open": 1, "complete": 0, "disputed": 2, "retired": 0}


def test_drift_counts_judged_chunks_that_changed_or_vanished(workspace: Workspace, tmp_path: Path) -> None:
    take(workspace, "q1,errors#1,Ana,2", "q2,errors#1,Ana,2", "q1,travel#1,Ana,0", "q1,travel#2,Ana,0")
    resync(workspace, tmp_path, edit="errors#1", drop="travel#1")
    assert overview.status(workspace)["drift"] == 2
    take(workspace, "q1,errors#1,Ben,3")  # reads the present text; for q2 nobody has
    assert overview.status(workspace)["drift"] == 2
    take(workspace, "q2,errors#1,Ben,3")
    assert overview.status(workspace)["drift"] == 1
    state(workspace, "q1", state="retired")
    assert overview.status(workspace)["drift"] == 0


def test_coverage_leaves_out_drafts_and_retired_questions(workspace: Workspace) -> None:
    for query_id, risk, stands in (("a", "high", "draft"), ("b", "high", "open"), ("c", "high", "retired")):
        state(workspace, query_id, state=stands, slice={"risk": risk})
    coverage = overview.status(workspace)["coverage"]
    assert coverage["risk"] == {"high": 1}  # type: ignore[index]


def test_my_queue_holds_what_is_mine_or_anybodys(workspace: Workspace) -> None:
    take(workspace, "q1,errors#1,Ben,0")
    state(workspace, "q1", state="complete")
    state(workspace, "q2", owner="Ana")
    mine, hers = overview.home(workspace, "Ben"), overview.home(workspace, "Ana")
    assert (mine.queue, mine.next_query) == ({"complete": 1, "needs me": 1}, "q3")
    assert (hers.queue, hers.next_query) == ({"complete": 1, "needs me": 2}, "q2")


def test_progress_is_the_share_of_finished_questions(workspace: Workspace) -> None:
    state(workspace, "q1", state="complete")
    state(workspace, "q2", state="retired")
    assert overview.home(workspace, "Ben").progress == 0.5


@pytest.fixture
def empty(tmp_path: Path) -> Workspace:
    made = init(tmp_path / "empty", who="Ana")
    with made.write() as connection:
        for name, role in (("Ben", "annotator"), ("Rita", "reviewer"), ("Rob", "reader")):
            people.add(connection, Person(name, role), "Ana")
    return made


def next_page(workspace: Workspace, who: str) -> str:
    return overview.home(workspace, who).next_step.page


def test_a_new_workspace_wants_its_chunk_table_then_a_sync_then_questions(empty: Workspace, tmp_path: Path) -> None:
    assert (next_page(empty, "Ana"), next_page(empty, "Ben")) == ("settings", "chunks")
    table = tmp_path / "t.jsonl"
    table.write_text('{"chunk_id": "c1", "text": "one"}\n')
    chunk_table.connect(empty, "Ana", str(table))
    assert next_page(empty, "Ana") == "chunks"
    chunk_table.sync(empty, "Ana")
    assert next_page(empty, "Ana") == "queries"


def test_people_are_sent_where_they_can_do_something(empty: Workspace, tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    table.write_text('{"chunk_id": "c1", "text": "one"}\n')
    chunk_table.connect(empty, "Ana", str(table))
    chunk_table.sync(empty, "Ana")
    state(empty, "q1")
    assert (next_page(empty, "Ben"), next_page(empty, "Rob")) == ("annotate", "metrics")
    first = overview.home(empty, "Ben")
    assert (first.next_query, first.next_step.sentence) == ("q1", "Label the next question: 1 question needs you.")
    queue.desk(empty, "Ben")
    assert overview.home(empty, "Ben").next_step.sentence == "Go on with “Why?”"
    take(empty, "q1,c1,Ana,0", "q1,c1,Ben,3")
    assert (next_page(empty, "Rita"), next_page(empty, "Ben")) == ("review", "annotate")
    state(empty, "q1", state="complete")
    assert next_page(empty, "Ben") == "queries"


def test_home_knows_the_last_sync_and_the_latest_version(workspace: Workspace) -> None:
    assert overview.home(workspace, "Ana").latest_version is None
    take(workspace, "q1,errors#1,Ana,3")
    gold.release(workspace, "Ana", name="first")
    found = overview.home(workspace, "Ana")
    assert found.latest_version is not None
    assert found.latest_version.version == 1
    assert found.last_sync is not None
    assert found.last_sync.total == found.chunks == 8
