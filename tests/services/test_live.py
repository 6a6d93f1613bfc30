"""One chunk beside its row in the live table: same, changed, gone or not to be known, and taken over alone."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from annotator.errors import Conflict, Forbidden, InputError, NotFound
from annotator.model import Person, Query
from annotator.services import audit, chunk_table, chunks, labelling, live, overview, search
from annotator.services.labelling import Operation
from annotator.store import corpus, people, queries
from annotator.store.database import Workspace
from annotator.store.sync import alone


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A live table of three chunks, found by index."""
    path = tmp_path / "table.db"
    _run(
        path,
        "CREATE TABLE chunks (id TEXT PRIMARY KEY, text TEXT, doc_id TEXT, title TEXT, position INTEGER, version TEXT)",
        "INSERT INTO chunks VALUES ('a', 'Refunds take 14 days.', 'd', 'Refunds', 0, 'v1'), "
        "('b', 'Ask the desk.', 'd', 'Refunds', 1, 'v1'), ('c', 'Trains only.', 'e', 'Travel', 0, 'v1')",
    )
    return path


@pytest.fixture
def workspace(tmp_path: Path, table: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace")
    made.create()
    with made.write() as connection:
        for name, role in (("ana", "annotator"), ("rea", "reader")):
            people.add(connection, Person(name, role), "ana")
        queries.add(connection, Query("q", "How long do refunds take?"), "ana")
    chunk_table.connect(made, "admin", f"sqlite:///{table}")
    chunk_table.sync(made, "ana")
    return made


def _run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _judge(workspace: Workspace, sha256: str) -> labelling.Outcome:
    one = f"operation {time.monotonic_ns()}"
    operation = Operation(id=one, kind="judge", who="ana", query_id="q", chunk_id="a", sha256=sha256, grade=3)
    return labelling.apply(workspace, "ana", [operation])


def test_a_chunk_that_stands_as_synced_is_the_same(workspace: Workspace) -> None:
    seen = live.look(workspace, "a")
    assert (seen.state, seen.difference, seen.note) == ("same", (), "")
    assert live.standing(workspace).synced_at == chunks.state(workspace).last.finished_at  # type: ignore[union-attr]
    with pytest.raises(NotFound):
        live.look(workspace, "z")


def test_a_changed_row_shows_word_by_word_what_changed_and_what_else(workspace: Workspace, table: Path) -> None:
    _run(table, "UPDATE chunks SET text = 'Refunds take 30 days.', version = 'v2', position = 4 WHERE id = 'a'")
    seen = live.look(workspace, "a")
    assert seen.state == "changed"
    assert seen.difference == (("same", "Refunds take "), ("gone", "14"), ("new", "30"), ("same", " days."))
    assert seen.other == ("place in the document", "version")


def test_a_removed_row_is_gone(workspace: Workspace, table: Path) -> None:
    _run(table, "DELETE FROM chunks WHERE id = 'a'")
    assert live.look(workspace, "a").state == "gone"
    assert live.look(workspace, "b").state == "same"


def test_a_refreshed_chunk_is_graded_by_its_present_text_and_found_by_it(workspace: Workspace, table: Path) -> None:
    search.search(workspace, "refunds")
    with workspace.read() as connection:
        old = corpus.chunk(connection, "a").sha256
    _run(table, "UPDATE chunks SET text = 'Repayment within a month.' WHERE id = 'a'")
    assert live.refresh(workspace, "ana", "a") == "changed"
    assert live.refresh(workspace, "ana", "a") == "unchanged"
    assert [hit.chunk_id for hit in search.search(workspace, "repayment").hits] == ["a"]
    refused = _judge(workspace, old).refused
    assert "changed or removed after you opened it" in refused[0][1]
    with workspace.read() as connection:
        assert _judge(workspace, corpus.chunk(connection, "a").sha256).refused == ()
    again = chunk_table.sync(workspace, "ana")
    assert (again.changed, again.unchanged, again.total) == (0, 3, 3)


def test_a_gone_chunk_leaves_the_copy_and_one_that_came_back_returns(workspace: Workspace, table: Path) -> None:
    _run(table, "DELETE FROM chunks WHERE id = 'c'")
    assert live.refresh(workspace, "ana", "c") == "removed"
    assert search.search(workspace, "trains").total == 0
    assert chunks.state(workspace).count == 2
    _run(table, "INSERT INTO chunks VALUES ('c', 'Trains and buses.', 'e', 'Travel', 0, 'v1')")
    assert live.refresh(workspace, "ana", "c") == "added"
    assert search.search(workspace, "buses").total == 1
    assert chunk_table.sync(workspace, "ana").unchanged == 3


def test_a_refresh_is_on_record_and_is_no_sync_of_the_whole_table(workspace: Workspace, table: Path) -> None:
    before = chunks.state(workspace).last
    _run(table, "UPDATE chunks SET text = 'New.' WHERE id = 'a'")
    live.refresh(workspace, "ana", "a")
    state = chunks.state(workspace)
    assert (state.last, state.interrupted) == (before, False)
    assert overview.home(workspace, "ana").last_sync == before
    newest = audit.changes(workspace, "admin")[0]
    assert (newest.who, newest.action) == ("ana", "one chunk refreshed")
    assert newest.subject.endswith("table.db, a alone")


def test_a_reader_may_look_and_not_refresh(workspace: Workspace, table: Path) -> None:
    _run(table, "UPDATE chunks SET text = 'New.' WHERE id = 'a'")
    assert live.look(workspace, "a").state == "changed"
    with pytest.raises(Forbidden):
        live.refresh(workspace, "rea", "a")


def test_no_chunk_is_refreshed_while_a_sync_runs(workspace: Workspace, table: Path) -> None:
    _run(table, "UPDATE chunks SET text = 'New.' WHERE id = 'a'")
    with alone(workspace), pytest.raises(Conflict, match="running already"):
        live.refresh(workspace, "ana", "a")
    with alone(workspace):
        assert live.look(workspace, "a").state == "changed"


def test_a_table_that_is_away_is_an_unknown_state_with_the_reason(workspace: Workspace, table: Path) -> None:
    assert live.look(workspace, "a").state == "same"
    table.rename(table.with_suffix(".away"))
    seen = live.look(workspace, "a")
    assert seen.state == "unknown"
    assert "table.db" in seen.note
    table.with_suffix(".away").rename(table)
    assert live.look(workspace, "a").state == "same"


def test_a_row_with_a_fault_is_not_taken_over(workspace: Workspace, table: Path) -> None:
    _run(table, "UPDATE chunks SET text = x'00' WHERE id = 'a'")
    seen = live.look(workspace, "a")
    assert (seen.state, "binary data" in seen.note) == ("unknown", True)
    with pytest.raises(InputError, match="binary data"):
        live.refresh(workspace, "ana", "a")


def test_an_id_that_stands_twice_with_different_texts_is_left_to_a_sync(workspace: Workspace, table: Path) -> None:
    _run(
        table,
        "ALTER TABLE chunks RENAME TO old",
        "CREATE TABLE chunks AS SELECT * FROM old",
        "INSERT INTO chunks SELECT id, 'Other.', doc_id, title, position, version FROM old",
    )
    assert live.look(workspace, "a").state == "same"  # one of the two
    with pytest.raises(InputError, match="more than once"):
        live.refresh(workspace, "ana", "a")


def test_a_glance_answers_where_an_index_does_and_nowhere_else(workspace: Workspace, table: Path) -> None:
    assert live.standing(workspace).at_a_glance
    assert live.glance(workspace, "a") is None  # the table is being opened
    for _ in range(500):
        if (seen := live.glance(workspace, "a")) is not None:
            break
        time.sleep(0.01)
    assert seen is not None
    assert seen.state == "same"
    _run(table, "CREATE TABLE bare AS SELECT * FROM chunks")
    chunk_table.connect(workspace, "admin", f"sqlite:///{table}", "bare")
    live.look(workspace, "a")
    assert not live.standing(workspace).at_a_glance
    assert live.glance(workspace, "a") is None


def test_a_table_that_takes_its_time_is_not_glanced_at_for_a_while(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.look(workspace, "a")
    monkeypatch.setattr(live, "GLANCE_SECONDS", 0.0)
    assert live.glance(workspace, "a") is None
    assert not live.standing(workspace).at_a_glance


def test_a_file_is_told_by_whether_it_was_written_to(tmp_path: Path) -> None:
    path = tmp_path / "chunks.jsonl"
    path.write_text(json.dumps({"id": "a", "text": "Refunds."}) + "\n")
    made = Workspace(tmp_path / "files")
    made.create()
    chunk_table.connect(made, "admin", str(path))
    chunk_table.sync(made, "admin")
    assert live.look(made, "a").state == "same"
    path.write_text(json.dumps({"id": "a", "text": "Other refunds."}) + "\n")
    seen = live.look(made, "a")
    assert (seen.state, seen.note) == ("unknown", "chunks.jsonl was written to since. Sync to see what changed.")
    glanced = live.glance(made, "a")
    assert glanced is not None
    assert (glanced.state, glanced.note) == (seen.state, seen.note)
    with pytest.raises(InputError, match="one by one"):
        live.refresh(made, "admin", "a")
    chunk_table.sync(made, "admin")
    assert live.look(made, "a").state == "same"


def test_a_workspace_without_a_table_says_so(tmp_path: Path) -> None:
    made = Workspace(tmp_path / "empty")
    made.create()
    assert live.standing(made) == live.Standing("", False)
    with pytest.raises(NotFound):
        live.look(made, "a")
