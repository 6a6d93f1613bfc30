"""`search` and `baseline` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.model import Chunk, Query
from annotator.store import queries
from annotator.store.database import Workspace
from tests.search.conftest import sync


@pytest.fixture
def home(tmp_path: Path) -> str:
    made = Workspace(tmp_path / "workspace")
    made.create()
    sync(
        made,
        [
            Chunk("v4#a", "Refunds need approval", "v4", "Policy", 0, {"version": "v4"}),
            Chunk("v3#a", "Refunds were easy \x1b[31m\u202e", "v3", "Policy", 0, {"version": "v3"}),
        ],
    )
    with made.write() as connection:
        queries.add(connection, Query("q1", "refund approval"), "tester")
    return str(made.home)


def test_search_prints_json(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", home, "search", "refund", "approval", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["total"] == 2
    assert {"chunk_id": "v4#a", "doc_id": "v4", "snippet": "Refunds need approval"}.items() <= shown["hits"][0].items()
    assert shown["hits"][0]["score"] > shown["hits"][1]["score"]


def test_search_is_narrowed_by_document_metadata_and_number_of_hits(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for narrow in (["--doc", "v3"], ["--where", "version=v3"]):
        assert main(["--home", home, "search", "refund", *narrow, "--json"]) == 0
        assert [hit["chunk_id"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["v3#a"]
    assert main(["--home", home, "search", "refund", "--limit", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["total"], len(shown["hits"])) == (2, 1)


def test_search_forgives_slips_and_finds_by_id(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", home, "search", "aproval", "--mode", "fuzzy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 1
    assert main(["--home", home, "search", "v4", "--mode", "id", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["chunk_id"] == "v4#a"


def test_search_shows_lines_that_cannot_steer_the_terminal(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", home, "search", "refund"]) == 0
    shown = capsys.readouterr()
    assert "v4#a  Policy" in shown.out
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out
    assert "2 found" in shown.err


def test_finding_nothing_is_an_answer_with_advice(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", home, "search", "xyzzy", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["total"], shown["hits"]) == (0, [])
    assert shown["advice"]
    assert main(["--home", home, "search", "xyzzy"]) == 0
    assert "No chunk has these words" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["search"], ["search", "x", "--where", "version"], ["search", "x", "--mode", "magic"], ["baseline"]],
)
def test_wrong_usage_could_not_answer(home: str, arguments: list[str]) -> None:
    assert main(["--home", home, *arguments]) == 2


def test_a_baseline_scores_in_evaluate(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("query_id\tchunk_id\tgrade\nq1\tv4#a\t3\n")
    for name in ("run.trec", "run.jsonl"):
        run = tmp_path / name
        assert main(["--home", home, "baseline", "-o", str(run), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["queries"] == 1
        assert main(["evaluate", "--gold", str(gold), "--run", str(run), "-k", "5", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["runs"][0]["measures"]["nDCG@5"] == 1.0


def test_a_baseline_takes_questions_from_a_file(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = tmp_path / "questions.tsv"
    questions.write_text("query_id\tquestion\nx\teasy refunds\ny\tapproval\n")
    run = tmp_path / "run.jsonl"
    command = ["--home", home, "baseline", "-o", str(run), "--queries", str(questions), "--mode", "fuzzy"]
    assert main([*command, "--depth", "1"]) == 0
    rows = [json.loads(line) for line in run.read_text().splitlines()[1:]]
    assert [(row["query_id"], [hit["chunk_id"] for hit in row["results"]]) for row in rows] == [
        ("x", ["v3#a"]),
        ("y", ["v4#a"]),
    ]
