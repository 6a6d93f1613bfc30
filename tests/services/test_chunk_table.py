"""Connecting a chunk table and syncing it, as the screen and the command line do."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from annotator.errors import Forbidden, InputError, NotFound
from annotator.model import Person
from annotator.services import chunk_table
from annotator.store import corpus, people, settings
from annotator.store.database import Workspace

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "tables"
HANDBOOK = f"sqlite:///{FIXTURES}/sqlite/handbook.sqlite3"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace")
    made.create()
    return made


def _jsonl(path: Path, *records: Any) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def _count(workspace: Workspace) -> int:
    with workspace.read() as connection:
        return corpus.count(connection)


def test_a_preview_shows_what_was_recognised() -> None:
    seen = chunk_table.preview(HANDBOOK, "live_chunks")
    assert (seen.name, seen.count, seen.missing, seen.metadata) == (
        "handbook.sqlite3, table live_chunks",
        55,
        (),
        ("metadata",),
    )
    assert seen.mapping.chunk_id == "uid"
    assert set(seen.reasons) == {"chunk_id", "text", "doc_id", "title", "position"}
    assert [chunk.chunk_id for chunk in seen.chunks] == [row["uid"] for row in seen.rows]
    assert len(seen.chunks) == 5
    assert seen.chunks[0].metadata == {"domain": "refunds", "version": 2}


def test_a_preview_without_usual_names_says_what_is_missing(tmp_path: Path) -> None:
    url = _jsonl(tmp_path / "a.jsonl", {"name": "x", "value": "y"})
    seen = chunk_table.preview(url)
    assert (seen.missing, seen.chunks, seen.rows) == (("chunk_id", "text"), (), ({"name": "x", "value": "y"},))
    named = chunk_table.preview(url, columns={"chunk_id": "name", "text": "value"})
    assert (named.missing, named.chunks[0].text) == ((), "y")


def test_a_preview_shows_the_faults_of_the_first_rows(tmp_path: Path) -> None:
    seen = chunk_table.preview(_jsonl(tmp_path / "a.jsonl", {"id": "x", "text": "y"}, {"id": "", "text": "y"}))
    assert [problem.line for problem in seen.problems] == [2]
    assert [chunk.chunk_id for chunk in seen.chunks] == ["x"]


def test_connecting_stores_the_mapping_and_records_who_did_it(workspace: Workspace) -> None:
    chunk_table.connect(workspace, "ann", HANDBOOK, "live_chunks", {"title": ""}, ["metadata.domain"])
    with workspace.read() as connection:
        stored = settings.get(connection, "table")
        event = connection.execute("SELECT who, action, subject, new FROM events").fetchone()
    assert stored == {
        "url": HANDBOOK,
        "table": "live_chunks",
        "columns": {
            "chunk_id": "uid",
            "text": "text",
            "doc_id": "document_id",
            "title": "",
            "position": "position",
            "metadata": ["metadata.domain"],
        },
    }
    assert tuple(event)[:3] == ("ann", "connect", "table")
    assert json.loads(event["new"]) == stored


def test_the_table_that_was_guessed_stays_when_another_fits_later(tmp_path: Path, workspace: Workspace) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("CREATE TABLE chunks (id, text)")
        connection.execute("INSERT INTO chunks VALUES ('a', 't')")
    chunk_table.connect(workspace, "ann", f"sqlite:///{tmp_path}/a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("CREATE TABLE other (id, text)")
    assert chunk_table.sync(workspace, "ann").total == 1


@pytest.mark.parametrize("role", ["annotator", "reviewer", "admin", "reader"])
def test_admins_connect_and_all_but_readers_sync(role: str, workspace: Workspace) -> None:
    with workspace.write() as connection:
        people.add(connection, Person("ann", role), "ann")
    if role == "admin":
        chunk_table.connect(workspace, "ann", HANDBOOK, "chunks")
    else:
        with pytest.raises(Forbidden):
            chunk_table.connect(workspace, "ann", HANDBOOK, "chunks")
        chunk_table.connect(workspace, "whoever runs the command line", HANDBOOK, "chunks")
    if role == "reader":
        with pytest.raises(Forbidden):
            chunk_table.sync(workspace, "ann")
    else:
        assert chunk_table.sync(workspace, "ann").total == 60


def test_a_relative_address_counts_from_the_project(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk_table.connect(workspace, "ann", HANDBOOK, "chunks")
    with workspace.write() as connection:
        stored = settings.get(connection, "table")
        root = FIXTURES.parents[2]
        settings.put(connection, "table", {**stored, "url": stored["url"].replace(f"{root}/", "")})
    monkeypatch.chdir(tmp_path)
    assert chunk_table.sync(workspace, "ann").total == 60


def test_a_table_without_ids_is_not_connected(tmp_path: Path, workspace: Workspace) -> None:
    url = _jsonl(tmp_path / "a.jsonl", {"name": "x", "text": "y"})
    with pytest.raises(InputError, match=r"--id-column.*name, text"):
        chunk_table.connect(workspace, "ann", url)
    with pytest.raises(NotFound, match="No chunk table is connected"):
        chunk_table.sync(workspace, "ann")


def test_passwords_and_variables_are_never_stored(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="password"):
        chunk_table.connect(workspace, "ann", "postgresql://reader:hunter2@host/db")
    monkeypatch.setenv("CORPUS", str(FIXTURES))
    chunk_table.connect(workspace, "ann", "${CORPUS}/csv/handbook.csv")
    with workspace.read() as connection:
        assert settings.get(connection, "table")["url"] == "${CORPUS}/csv/handbook.csv"
    assert chunk_table.sync(workspace, "ann").total == 60
    monkeypatch.delenv("CORPUS")
    with pytest.raises(InputError, match="CORPUS"):
        chunk_table.sync(workspace, "ann")
    assert str(FIXTURES).encode() not in workspace.database.read_bytes()


def test_the_workspace_is_no_chunk_table_of_its_own(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="the workspace itself"):
        chunk_table.connect(workspace, "ana", f"sqlite:///{workspace.database}", "chunks")


def test_the_same_chunks_from_another_kind_of_table_are_unchanged(tmp_path: Path, workspace: Workspace) -> None:
    records = [json.loads(line) for line in (FIXTURES / "jsonl" / "beir-corpus.jsonl").read_text().splitlines()]
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("CREATE TABLE chunks (id TEXT, title, text, metadata)")
        rows = [(each["_id"], each["title"], each["text"], json.dumps(each["metadata"])) for each in records]
        connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?)", rows)
    chunk_table.connect(workspace, "ann", str(FIXTURES / "jsonl" / "beir-corpus.jsonl"))
    chunk_table.sync(workspace, "ann")
    chunk_table.connect(workspace, "ann", f"sqlite:///{tmp_path}/a.db")
    result = chunk_table.sync(workspace, "ann")
    assert (result.unchanged, result.changed) == (60, 0)


def test_every_fault_is_listed_and_nothing_is_written(tmp_path: Path, workspace: Workspace) -> None:
    records = [{"id": f"c{number}", "text": f"t{number}"} for number in range(3_000)]
    records += [{"id": "c7", "text": "other"}, {"id": "c8", "text": "t8"}, {"id": "", "text": "t"}]
    records += [{"id": "x", "text": 5}, {"id": "c7", "text": "third"}, {"id": "y", "text": "\0"}]
    chunk_table.connect(workspace, "ann", _jsonl(tmp_path / "a.jsonl", *records))
    with pytest.raises(InputError) as caught:
        chunk_table.sync(workspace, "ann")
    faults = [(problem.line, problem.field, problem.value) for problem in caught.value.problems]
    assert faults == [(3003, "id", ""), (3004, "text", "5"), (3005, "id", "c7"), (3006, "text", "")]
    assert "at 8, 3001 and 3005" in caught.value.problems[2].message
    assert "a.jsonl has 4 faults" in str(caught.value)
    assert _count(workspace) == 0


def _numbered(path: Path, number: int) -> str:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE chunks (row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, text TEXT)")
        rows = ((f"c{at}", f"text {at}") for at in range(number))
        connection.executemany("INSERT INTO chunks (id, text) VALUES (?, ?)", rows)
    return f"sqlite:///{path}"


def _write(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_table_that_lost_all_its_rows_removes_nothing_unless_told(tmp_path: Path, workspace: Workspace) -> None:
    chunk_table.connect(workspace, "ann", _numbered(tmp_path / "a.db", 5))
    chunk_table.sync(workspace, "ann")
    _write(tmp_path / "a.db", "DELETE FROM chunks")
    with pytest.raises(InputError, match=r"has no rows, but 5 of its chunks were here.*--allow-empty"):
        chunk_table.sync(workspace, "ann")
    assert _count(workspace) == 5
    emptied = chunk_table.sync(workspace, "ann", allow_empty=True)
    assert (emptied.removed, emptied.total, emptied.shrank) == (5, 0, True)
    assert chunk_table.sync(workspace, "ann").total == 0  # there is nothing more to lose


def test_a_file_that_is_being_written_anew_is_told(tmp_path: Path, workspace: Workspace) -> None:
    chunk_table.connect(workspace, "ann", _jsonl(tmp_path / "a.jsonl", {"id": "a", "text": "one"}))
    chunk_table.sync(workspace, "ann")
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match=r"a\.jsonl holds nothing, not even columns"):
        chunk_table.sync(workspace, "ann")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_file_that_is_written_to_while_it_is_read_is_not_taken_over(
    kind: str, tmp_path: Path, workspace: Workspace
) -> None:
    path = tmp_path / f"a.{kind}"
    rows = [{"id": f"c{number}", "text": f"text {number} " + "x" * 200} for number in range(6_000)]
    if kind == "jsonl":
        _jsonl(path, *rows)
    else:
        parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=500)
    chunk_table.connect(workspace, "ann", str(path))
    assert chunk_table.sync(workspace, "ann").total == 6_000

    def cut(rows: int, total: int | None) -> None:
        if rows == 1_000:
            os.truncate(path, 1_000)

    with pytest.raises(InputError, match=r"was written to while it was read|cannot be read"):
        chunk_table.sync(workspace, "ann", progress=cut)
    assert _count(workspace) == 6_000


def test_a_table_cut_anew_did_not_shrink_and_one_that_lost_most_of_its_rows_did(
    tmp_path: Path, workspace: Workspace
) -> None:
    chunk_table.connect(workspace, "ann", _numbered(tmp_path / "a.db", 10))
    assert not chunk_table.sync(workspace, "ann").shrank
    _write(tmp_path / "a.db", "UPDATE chunks SET id = 'new ' || id")
    assert not chunk_table.sync(workspace, "ann").shrank
    _write(tmp_path / "a.db", "DELETE FROM chunks WHERE row > 5")
    assert not chunk_table.sync(workspace, "ann").shrank
    _write(tmp_path / "a.db", "DELETE FROM chunks WHERE row > 2")
    assert chunk_table.sync(workspace, "ann").shrank


def test_a_row_written_anew_while_the_table_is_read_is_not_taken_for_a_double_id(
    tmp_path: Path, workspace: Workspace
) -> None:
    chunk_table.connect(workspace, "ann", _numbered(tmp_path / "a.db", 3_000))

    def again(rows: int, total: int | None) -> None:
        if rows == 1_000:
            _write(
                tmp_path / "a.db",
                "DELETE FROM chunks WHERE id = 'c5'",
                "INSERT INTO chunks (id, text) VALUES ('c5', 'rewritten')",
            )

    with pytest.raises(InputError, match=r"written anew while the table was read.*Sync again") as caught:
        chunk_table.sync(workspace, "ann", progress=again)
    assert "--duplicates" not in str(caught.value)
    assert chunk_table.sync(workspace, "ann").total == 3_000


def test_the_list_of_faults_ends_somewhere(tmp_path: Path, workspace: Workspace) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "text": "t"}\n' + "{\n" * 30_000)
    chunk_table.connect(workspace, "ann", str(path))
    with pytest.raises(InputError, match="at least 10") as caught:
        chunk_table.sync(workspace, "ann")
    assert 10_000 <= len(caught.value.problems) < 12_000


def test_progress_is_told(workspace: Workspace) -> None:
    chunk_table.connect(workspace, "ann", HANDBOOK, "chunks")
    told: list[tuple[int, int | None]] = []
    chunk_table.sync(workspace, "ann", progress=lambda rows, total: told.append((rows, total)))
    assert told == [(60, 60)]


@pytest.mark.parametrize("keep", ["first", "last"])
def test_medquad_with_its_double_ids(keep: Any, shared: Path, workspace: Workspace) -> None:
    path = shared / "corpora" / "medquad_liveqa" / "chunks.jsonl"
    texts: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        texts.setdefault(record["chunk_id"], []).append(record["text"])
    double = {chunk_id: found for chunk_id, found in texts.items() if len(set(found)) > 1}
    chunk_table.connect(workspace, "ann", str(path))
    with pytest.raises(InputError) as caught:
        chunk_table.sync(workspace, "ann")
    assert {problem.value for problem in caught.value.problems} == double.keys()
    assert _count(workspace) == 0
    result = chunk_table.sync(workspace, "ann", duplicates=keep)
    assert (result.total, result.repeated, result.empty) == (len(texts), 34, 29_545)
    with workspace.read() as connection:
        live = corpus.chunks(connection, double)
    assert {each.chunk_id: each.text for each in live.values()} == {
        chunk_id: found[0 if keep == "first" else -1] for chunk_id, found in double.items()
    }


@pytest.mark.parametrize(("name", "total"), [("cranfield", 1_400), ("xquad_12lang", 2_880)])
def test_other_corpora_sync_and_stay(name: str, total: int, shared: Path, workspace: Workspace) -> None:
    chunk_table.connect(workspace, "ann", str(shared / "corpora" / name / "chunks.jsonl"))
    assert chunk_table.sync(workspace, "ann").added == total
    assert chunk_table.sync(workspace, "ann").unchanged == total


_SLOW_SYNC = """
import sys, time
from pathlib import Path
from annotator.services import chunk_table
from annotator.store import sync_apply
from annotator.store.database import Workspace
sync_apply._APPLIED = 5
pause = time.sleep
time.sleep = lambda seconds: pause(0.05)
chunk_table.sync(Workspace(Path(sys.argv[1])), "ann")
"""


@pytest.mark.parametrize("was_there", [0, 60])
def test_a_sync_that_is_killed_is_finished_by_whoever_comes_next(
    was_there: int, tmp_path: Path, workspace: Workspace
) -> None:
    source = FIXTURES / "jsonl" / "handbook.jsonl"
    lines = source.read_text().splitlines(keepends=True)
    live = tmp_path / "a.jsonl"
    live.write_text("".join(lines))
    chunk_table.connect(workspace, "ann", str(live))
    if was_there:
        chunk_table.sync(workspace, "ann")
        live.write_text("".join(line.replace("customer", "client") for line in lines[20:]))
    expected = 60 if not was_there else 40
    process = subprocess.Popen([sys.executable, "-c", _SLOW_SYNC, str(workspace.home)], cwd=FIXTURES.parents[2])
    try:
        _wait_until(lambda: 0 < _count(workspace) < 60)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with workspace.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert corpus.generation(connection) == (1 if was_there else 0)
    live.unlink()  # it is not needed any more
    workspace.open()
    with workspace.read() as connection:
        (last, *_) = corpus.syncs(connection)
        since = dict(corpus.changes(connection, 1 if was_there else 0))
    assert last.finished_at is not None
    assert last.total == _count(workspace) == expected
    assert (last.removed, last.unchanged) == ((20, 40 - (last.changed or 0)) if was_there else (0, 0))
    gone = {chunk_id for chunk_id, chunk in since.items() if chunk is None}
    assert len(gone) == (20 if was_there else 0)
    assert not list(workspace.home.glob(".sync-staging*"))
    live.write_text("".join(line.replace("customer", "client") for line in lines[20:]) if was_there else "".join(lines))
    assert chunk_table.sync(workspace, "ann").unchanged == expected


@pytest.mark.parametrize("left", [b"", b"no database at all, but longer than a header of one hundred bytes" * 4])
def test_what_a_sync_left_that_never_began_to_write_is_cleared_away(left: bytes, workspace: Workspace) -> None:
    chunk_table.connect(workspace, "ann", str(FIXTURES / "jsonl" / "handbook.jsonl"))
    workspace.staged.write_bytes(left)
    workspace.open()
    assert not workspace.staged.exists()
    workspace.staged.write_bytes(left)
    assert chunk_table.sync(workspace, "ann").added == 60


def _wait_until(reached: Any) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline, "the other process did not get there"
        time.sleep(0.01)
