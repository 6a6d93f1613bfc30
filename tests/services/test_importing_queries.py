"""Importing questions: every form, every fault at once, the same file twice, only the good rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.model import Query
from annotator.services.importing import import_queries
from annotator.services.workspace import Workspace, init
from annotator.store import queries, settings


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return init(tmp_path / "home", who="ana")


def stored(workspace: Workspace) -> dict[str, Query]:
    with workspace.read() as connection:
        return {one.query_id: one for one in queries.all_queries(connection)}


def counts(workspace: Workspace, text: str | bytes, name: str = "q.csv", **more: object) -> tuple[int, int, int]:
    data = text.encode() if isinstance(text, str) else text
    report = import_queries(workspace, "ana", (name, data), **more)  # type: ignore[arg-type]
    return report.added, report.changed, report.unchanged


CSV = 'query_id,question,notes,risk,tenant\n007,"Who, if any?",,high,a\nNA,Où?,"two\nlines",,\n'


def test_a_table_brings_notes_and_facets_and_keeps_odd_ids(workspace: Workspace) -> None:
    assert counts(workspace, CSV) == (2, 0, 0)
    found = stored(workspace)
    assert found["007"] == Query("007", "Who, if any?", facets={"risk": "high", "tenant": "a"})
    assert found["NA"] == Query("NA", "Où?", notes="two\nlines")


def test_a_new_facet_becomes_part_of_the_workspace_and_is_told(workspace: Workspace) -> None:
    report = import_queries(workspace, "ana", ("q.csv", CSV.encode()))
    assert report.warnings == ("Facets new to this workspace: tenant.",)
    with workspace.read() as connection:
        assert settings.get(connection, "facets")[-1] == "tenant"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "query_id\tquestion\n007\tWhy?\n"),
        ("q.csv", "query_id;question\n007;Why?\n"),
        ("topics.tsv", "007\tWhy?\n"),
        ("q.jsonl", '{"query_id":"007","question":"Why?"}\n\n'),
        ("q.jsonl", '{"_id":"007","text":"Why?"}'),
        ("q.json", '[\n  {"query_id": "007",\n   "question": "Why?"}\n]\n'),
        ("q.yaml", "query_id: 007\nquestion: Why?\n"),
        ("q.yaml", "---\nquery_id: 007\nquestion: Why?\ngold: []\n---\n"),
        ("q.txt", "- query_id: 007\n  question: Why?\n"),
        ("q.csv", "\ufeffquery_id,question\r\n007,Why?\r\n"),
        ("q.csv", "query_id,question\n007,Why?\n".encode("utf-16")),
        ("q.csv", "query_id,question\r007,Why?\r"),
    ],
)
def test_every_form_says_the_same(workspace: Workspace, name: str, text: str | bytes) -> None:
    assert counts(workspace, text, name) == (1, 0, 0)
    assert stored(workspace) == {"007": Query("007", "Why?")}


def test_the_same_file_twice_changes_nothing(workspace: Workspace) -> None:
    counts(workspace, CSV)
    assert counts(workspace, CSV) == (0, 0, 2)
    assert stored(workspace)["007"].revision == 1


def test_a_known_question_takes_over_only_the_fields_of_the_file(workspace: Workspace) -> None:
    counts(workspace, CSV)
    assert counts(workspace, "query_id,question,risk\n007,Who then?,\n") == (0, 1, 0)
    assert stored(workspace)["007"] == Query("007", "Who then?", facets={"tenant": "a"}, revision=2)


def test_a_dry_run_counts_and_writes_nothing(workspace: Workspace) -> None:
    assert counts(workspace, CSV, dry_run=True) == (2, 0, 0)
    assert stored(workspace) == {}


FAULTY = (
    '{"query_id":"q1","question":"Fine?"}\n'
    '{"query_id":7,"question":"A number?"}\n'
    '{"question":"No id?"}\n'
    '{"query_id":"q4","question":"  "}\n'
    '{"query_id":"q5","question":"Twice?","question":"Twice!"}\n'
    "{not json}\n"
    '{"query_id":"q7","question":"State?","state":"done","unanswerable":"maybe"}\n'
    '{"query_id":"q8\\u0007","question":"Bell?"}\n'
    '{"query_id":"q9","question":"half \\ud83d"}\n'
    '{"query_id":"q1","question":"Another?"}\n'
    "[1]\n"
)


def test_all_faults_are_told_at_once_and_nothing_is_written(workspace: Workspace) -> None:
    with pytest.raises(InputError) as caught:
        counts(workspace, FAULTY, "q.jsonl")
    told = [(problem.line, problem.field) for problem in caught.value.problems]
    assert told == [
        (2, "query_id"),
        (3, "query_id"),
        (4, "question"),
        (5, ""),
        (6, ""),
        (7, "state"),
        (7, "unanswerable"),
        (8, "query_id"),
        (9, "question"),
        (10, "query_id"),
        (11, ""),
    ]
    assert "line 1 has another question" in caught.value.problems[-2].message
    assert stored(workspace) == {}


def test_only_good_rows_gives_the_rest_back_as_a_file(workspace: Workspace) -> None:
    text = 'query_id,question\nq1,Fine?\n,"No\nid?"\nq3,Fine too?\nq4\n'
    report = import_queries(workspace, "ana", ("q.csv", text.encode()), only_good=True)
    assert report.added == 2
    assert report.rest == 'query_id,question\n,"No\nid?"\nq4\n'
    assert sorted(problem.line or 0 for problem in report.problems) == [3, 6]


def test_metadata_gives_only_facets_that_are_wanted(workspace: Workspace) -> None:
    row = b'{"query_id":"q1","question":"Why?","metadata":{"lang":"de","answer":"42","risk":"low"}}'
    report = import_queries(workspace, "ana", ("q.jsonl", row), facets=["lang"])
    assert stored(workspace)["q1"].facets == {"lang": "de", "risk": "low"}
    assert any("metadata.answer of 1 rows was left out" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"query_id,question\nq1,caf\xe9\n", "byte 24 is not UTF-8"),
        (b"query_id,query_id,question\nq1,q2,Why?\n", "twice"),
        (b'query_id,question\nq1,"open\n', "quotes that do not close"),
        (b"just words\n", "no query id and question"),
        (b"query_id: [1\n", "not YAML"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(workspace: Workspace, data: bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        import_queries(workspace, "ana", ("q.txt", data))


def test_a_question_longer_than_the_page_takes_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="over 5000"):
        counts(workspace, f"query_id,question\nq1,{'why ' * 2000}?\n")
