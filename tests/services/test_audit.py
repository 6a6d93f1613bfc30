"""The record of changes: everything is in it, found by filters, taken out safely, and impossible to edit."""

from __future__ import annotations

import csv
import io
import json
import sqlite3

import pytest

from annotator.errors import Forbidden, InputError
from annotator.model import Judgment, Person
from annotator.services import audit, chunk_table, facets, gold, questions, review, settings
from annotator.services.audit import EVERYTHING, Change, Wanted
from annotator.services.facets import FacetSchema
from annotator.services.importing import import_queries
from annotator.store import corpus, judgments, people
from annotator.store.database import Workspace

CHUNK = "refunds-v4#2"


def judge(workspace: Workspace, who: str, grade: int, operation: str, reason: str = "") -> None:
    with workspace.write() as connection:
        text = corpus.chunk(connection, CHUNK).sha256
        new = Judgment("q1", CHUNK, who, grade, reason=reason, sha256=text, operation_id=operation)
        judgments.append(connection, new)


@pytest.fixture
def busy(workspace: Workspace) -> Workspace:
    """A workspace in which everything happened once."""
    with workspace.write() as connection:
        people.add(connection, Person("Rut", "reviewer"), "Ana")
    judge(workspace, "Ana", 3, "1")
    judge(workspace, "Ana", 2, "2", "=HYPERLINK(1)")
    judge(workspace, "Ben", 0, "3")
    with workspace.write() as connection:
        judgments.undo(connection, "Ben", "3", "4")
    judge(workspace, "Ben", 0, "5")
    found = review.case(workspace, "Rut", "q1", CHUNK)
    review.decide(
        workspace, "Rut", "q1", CHUNK, 1, reason="Only a part.", sha256=found.chunk.sha256, seen=found.revision
    )
    gold.release(workspace, "Rut", note="first")
    gold.tag(workspace, "Rut", "ci", 1)
    review.reopen(workspace, "Rut", [("q1", CHUNK)], "Read it again.")
    questions.retire(workspace, "Ana", "q3")
    facets.set_schema(workspace, "Ana", FacetSchema(("risk",), {}))
    settings.set_rubric(workspace, "Ana", "3 answers", seen=0)
    import_queries(workspace, "Ana", ("more.csv", b"query_id,question\nq9,Why?\n"))
    return workspace


def told(workspace: Workspace, wanted: Wanted = EVERYTHING) -> list[Change]:
    return audit.changes(workspace, "Rut", wanted)


def test_everything_that_changes_is_in_the_record(busy: Workspace) -> None:
    actions = {(one.kind, one.action) for one in told(busy)}
    assert actions >= {
        ("label", "label given"),
        ("label", "label changed"),
        ("label", "label undone"),
        ("decision", "label decided"),
        ("decision", "label re-opened"),
        ("question", "query added"),
        ("question", "query changed"),
        ("facets", "facets changed"),
        ("rubric", "rubric changed"),
        ("person", "person added"),
        ("version", "version released"),
        ("version", "version tagged"),
        ("import", "questions imported"),
        ("sync", "chunk table synced"),
        ("chunk table", "connect"),
    }
    assert {one.kind for one in told(busy)} <= set(audit.KINDS)


def test_the_newest_comes_first_and_pages_follow_on_each_other(busy: Workspace) -> None:
    every = told(busy)
    assert [one.at for one in every] == sorted((one.at for one in every), reverse=True)
    assert audit.count(busy, "Rut") == len(every)
    pages = [audit.changes(busy, "Rut", limit=7, offset=start) for start in range(0, len(every), 7)]
    assert [one for page in pages for one in page] == every


def test_a_change_tells_what_was_and_what_is(busy: Workspace) -> None:
    changed = next(one for one in told(busy, Wanted(who="Ana", kind="label")) if one.action == "label changed")
    assert (changed.who, changed.query_id, changed.chunk_id) == ("Ana", "q1", CHUNK)
    assert audit.values(changed) == [("grade", "3", "2"), ("reason", "", "=HYPERLINK(1)")]
    undone = next(one for one in told(busy, Wanted(who="Ben")) if one.action == "label undone")
    assert (json.loads(undone.old or "")["grade"], undone.new) == (0, None)
    retired = next(one for one in told(busy, Wanted(query_id="q3")) if one.action == "query changed")
    assert audit.values(retired) == [("state", "open", "retired")]


def test_it_is_narrowed_by_person_kind_question_chunk_and_time(busy: Workspace) -> None:
    assert {one.who for one in told(busy, Wanted(who="Ben"))} == {"Ben"}
    assert {one.kind for one in told(busy, Wanted(kind="decision"))} == {"decision"}
    assert {one.query_id for one in told(busy, Wanted(query_id="q1", chunk_id=CHUNK))} == {"q1"}
    moment = told(busy)[3].at
    assert all(one.at >= moment for one in told(busy, Wanted(since=moment)))
    assert all(one.at < moment for one in told(busy, Wanted(until=moment)))
    assert len(told(busy, Wanted(since=moment))) + len(told(busy, Wanted(until=moment))) == len(told(busy))
    assert audit.people(busy, "Rut") == ["Ana", "Ben", "Rut"]


def test_a_csv_runs_nothing(busy: Workspace) -> None:
    wanted = Wanted(kind="label")
    text = audit.as_csv(busy, "Rut", wanted).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == audit.count(busy, "Rut", wanted)
    with busy.write() as connection:
        people.add(connection, Person("@SUM(1)"), "=1+1")
    text = audit.as_csv(busy, "Rut").decode("utf-8-sig")
    newest = next(csv.DictReader(io.StringIO(text)))
    assert (newest["who"], newest["subject"]) == ("'=1+1", "'@SUM(1)")


def test_jsonl_holds_the_values(busy: Workspace) -> None:
    rows = [json.loads(line) for line in audit.as_jsonl(busy, "Rut", Wanted(kind="rubric")).decode().splitlines()]
    assert [(row["who"], row["old"]["version"], row["new"]["text"]) for row in rows] == [("Ana", 0, "3 answers")]


@pytest.mark.parametrize("who", ["Ben", "Rea"])
def test_only_reviewers_and_admins_read_it(who: str, busy: Workspace) -> None:
    with busy.write() as connection:
        people.add(connection, Person("Rea", "reader"), "Ana")
    for look in (audit.changes, audit.count, audit.people, audit.as_csv, audit.as_jsonl):
        with pytest.raises(Forbidden):
            look(busy, who)  # type: ignore[operator]


TABLES = {
    "judgments": "reason",
    "adjudications": "reason",
    "reopenings": "reason",
    "events": "who",
    "versions": "note",
    "version_files": "content",
    "judged_texts": "text",
    "judged_chunks": "title",
    "syncs": "who",
}


@pytest.mark.parametrize("table", TABLES)
def test_the_record_cannot_be_edited_with_raw_sql(table: str, busy: Workspace) -> None:
    column = TABLES[table]
    connection = sqlite3.connect(busy.database)
    try:
        before = connection.execute(f"SELECT * FROM {table}").fetchall()
        assert before
        for statement in (
            f"UPDATE {table} SET {column} = 'forged'",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
            f"UPDATE OR REPLACE {table} SET {column} = 'forged'",
        ):
            if table in ("judged_texts", "judged_chunks", "version_files") and statement.startswith("INSERT"):
                continue  # the same row again changes nothing
            with pytest.raises(sqlite3.DatabaseError, match=r"append-only|frozen"):
                connection.execute(statement)
            connection.rollback()
        assert connection.execute(f"SELECT * FROM {table}").fetchall() == before
    finally:
        connection.close()


def test_a_sync_that_was_cut_off_is_no_change(busy: Workspace) -> None:
    before = audit.count(busy, "Rut", Wanted(kind="sync"))
    (busy.home.parent / "handbook.jsonl").write_text('{"chunk_id": "a"}\n', "utf-8")
    with pytest.raises(InputError):
        chunk_table.sync(busy, "Ana")
    assert audit.count(busy, "Rut", Wanted(kind="sync")) == before
