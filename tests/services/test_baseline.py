from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.metrics.runfiles import read_run
from annotator.model import Chunk, Query
from annotator.services.baseline import baseline, read_questions, write_baseline
from annotator.store import queries
from annotator.store.database import Workspace
from tests.search.conftest import sync


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "home")
    made.create()
    sync(made, [Chunk("a", "refund policy"), Chunk("b", "refund"), Chunk("c d", "holiday calendar")])
    with made.write() as connection:
        for query_id, question in (("q1", "refund policy"), ("q2", "holiday"), ("q3", "xyzzy")):
            queries.add(connection, Query(query_id, question), "tester")
    return made


def test_every_query_of_the_workspace_is_searched_for(workspace: Workspace) -> None:
    rankings = {query_id: [chunk_id for chunk_id, _ in hits] for query_id, hits in baseline(workspace)}
    assert rankings == {"q1": ["a", "b"], "q2": ["c d"], "q3": []}


def test_depth_mode_and_questions_can_be_chosen(workspace: Workspace) -> None:
    assert [len(hits) for _, hits in baseline(workspace, depth=1, queries=[("x", "refund")])] == [1]
    assert [len(hits) for _, hits in baseline(workspace, mode="fuzzy", queries=[("x", "refnud")])] == [2]
    with pytest.raises(InputError, match="words, fuzzy"):
        baseline(workspace, mode="id")
    with pytest.raises(InputError, match="depth"):
        baseline(workspace, depth=0)


def test_the_trace_is_a_run_that_can_be_evaluated(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "out" / "run.jsonl"
    written = write_baseline(workspace, path)
    assert (written.queries, written.hits, written.empty) == (3, 3, 1)
    header, *rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["run"]["name"] == "baseline-words"
    assert [row["query_id"] for row in rows] == ["q1", "q2", "q3"]
    assert all(row["latency_ms"] >= 0 for row in rows)
    run = read_run(path.read_text(), "run.jsonl")
    assert run.meta["name"] == "baseline-words"
    assert run.problems == []


def test_equal_scores_stand_in_the_order_in_which_runs_are_read(tmp_path: Path) -> None:
    made = Workspace(tmp_path / "home")
    made.create()
    sync(made, [Chunk(name, "refund policy") for name in ("b", "c", "a")])
    path = tmp_path / "run.jsonl"
    write_baseline(made, path, queries=[("q1", "refund")])
    assert [hit["chunk_id"] for hit in json.loads(path.read_text().splitlines()[1])["results"]] == ["c", "b", "a"]
    assert read_run(path.read_text(), "run.jsonl").warnings == []


def test_trec_refuses_ids_with_white_space_and_lists_them(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    with pytest.raises(InputError) as caught:
        write_baseline(workspace, path)
    assert [problem.value for problem in caught.value.problems] == ["c d"]
    assert not path.exists()


def test_trec_lines_have_six_columns(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    write_baseline(workspace, path, queries=[("q1", "refund policy")])
    lines = [line.split(" ") for line in path.read_text().splitlines()]
    assert [(query, zero, chunk, rank, tag) for query, zero, chunk, rank, _, tag in lines] == [
        ("q1", "Q0", "a", "1", "baseline-words"),
        ("q1", "Q0", "b", "2", "baseline-words"),
    ]
    assert float(lines[0][4]) > float(lines[1][4])


def test_an_ending_that_says_no_format_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.trec or \.jsonl"):
        write_baseline(workspace, tmp_path / "run.csv")


@pytest.mark.parametrize(
    "content",
    [
        '{"query_id": "q1", "question": "one"}\n{"query_id": "q 2", "question": "two"}\n',
        "query_id\tquestion\nq1\tone\nq 2\ttwo\n",
        "query_id,question\nq1,one\nq 2,two\n",
        "q1\tone\nq 2\ttwo\n",
        "qid,query,domain\nq1,one,x\nq 2,two,y\nq1,one,x\n",
    ],
)
def test_questions_are_read_from_a_file(content: str) -> None:
    assert read_questions(("questions", content.encode())) == [("q1", "one"), ("q 2", "two")]


def test_faults_of_a_questions_file_are_all_listed() -> None:
    content = 'query_id,question\nq1,one\nq1,other\nq2,\n"",three\n'
    with pytest.raises(InputError) as caught:
        read_questions(("questions.csv", content.encode()))
    assert [problem.line for problem in caught.value.problems] == [3, 4, 5]
