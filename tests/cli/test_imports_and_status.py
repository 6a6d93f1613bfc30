"""`init`, `import` and `status` as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.services.workspace import Workspace


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    return out, err


@pytest.fixture
def home(workspace: Workspace) -> str:
    return str(workspace.home)


def test_init_says_what_it_made_and_never_does_it_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "new")
    out, err = answer(capsys, "--home", place, "--who", "Ana", "init")
    assert out == f"Made the workspace {place}, with Ana as its admin.\n"
    assert "connect URL" in err
    out, err = answer(capsys, "--home", place, "init", code=2)
    assert (out, err.startswith("Error: There is a workspace in")) == ("", True)


def test_questions_and_judgments_are_taken_and_counted(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "questions.csv"
    file.write_text("query_id,question,risk\nq1,Who signs off a late refund?,high\nq9,Why?,low\n", "utf-8")
    out, _ = answer(capsys, "--home", home, "import", "queries", str(file), "--dry-run")
    assert out == "Questions: 1 would be added, 1 would be changed, 0 unchanged.\n"
    out, _ = answer(capsys, "--home", home, "import", "queries", str(file))
    assert out == "Questions: 1 added, 1 changed, 0 unchanged.\n"

    qrels = tmp_path / "qrels"
    qrels.write_text("q1 0 refunds-v4#2 4\nq1 0 travel#1 -1\nq9 0 errors#1 x\n", "utf-8")
    maps = ["--map-grade", "4=3", "--map-grade=-1=0", "--map-grade", "x=x"]
    out, _ = answer(capsys, "--home", home, "import", "judgments", str(qrels), "--annotator", "Ben", "--json", *maps)
    report = json.loads(out)
    assert (report["added"], report["changed"], report["dry_run"]) == (3, 0, False)
    assert report["first_rows"][2]["grade"] is None

    run = tmp_path / "run.trec"
    run.write_text("q1 Q0 refunds-v4#2 1 2.5 x\nq1 Q0 gone 2 1.5 x\n", "utf-8")
    arguments = ["import", "run", str(run), "--name", "bm25", "--meta", "index_version=a=b"]
    out, err = answer(capsys, "--home", home, *arguments)
    assert out == "Queries of the run: 1 added, 0 changed, 0 unchanged.\n"
    assert err == "Note: 1 of 2 chunk ids are not in the chunk table: gone.\n"
    out, _ = answer(capsys, "--home", home, *arguments)
    assert out == "Queries of the run: 0 added, 0 changed, 1 unchanged.\n"

    found = json.loads(answer(capsys, "--home", home, "status", "--json")[0])
    assert found.pop("coverage")["risk"] == {"high": 1, "low": 1}
    assert found == {
        "chunks": 8,
        "queries": {"draft": 0, "open": 4, "complete": 0, "disputed": 0, "retired": 0},
        "judgments": 3,
        "judged_pairs": 3,
        "annotators": 1,
        "disputes": 0,
        "versions": 0,
        "drift": 0,
    }
    assert "chunks         8" in answer(capsys, "--home", home, "status")[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["judgments", "FILE", "--map-grade", "4"], "write it as A=B"),
        (["judgments", "FILE", "--map-grade", "4=7"], "'7' is no grade"),
        (["judgments", "FILE", "--map-grade", "4=1", "--map-grade", "4=2"], "twice"),
        (["judgments", "FILE"], "does not say who judged"),
        (["judgments", "missing.tsv", "--annotator", "Ben"], "Cannot read missing.tsv"),
        (["run", "FILE"], "Missing option '--name'"),
        (["queries", "FILE"], "no query id and question"),
    ],
)
def test_what_cannot_be_imported_is_two_and_a_message(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    file = tmp_path / "f.txt"
    file.write_text("q1 0 errors#1 2\n", "utf-8")
    given = [str(file) if one == "FILE" else one for one in arguments]
    out, err = answer(capsys, "--home", home, "import", *given, code=2)
    assert out == ""
    assert told in err


def test_good_rows_are_taken_and_the_others_written_to_a_file(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("nr,key,question\n1,g1,What is a tern?\n2,g2,\n", "utf-8")
    rest = tmp_path / "rest.csv"
    command = ("import", "queries", str(rows), "--column", "key=query_id", "--column", "nr=", "--good-rows", str(rest))
    out, err = answer(capsys, "--home", home, *command, "--dry-run")
    assert "1 would be added" in out
    assert f"would be written to {rest}" in err
    assert not rest.exists()
    out, err = answer(capsys, "--home", home, *command)
    assert "1 added" in out
    assert "line 3, field question: there is no question" in err
    assert rest.read_text("utf-8") == "nr,key,question\n2,g2,\n"


def test_ids_and_facets_do_not_steer_the_terminal(
    tmp_path: Path, home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({"query_id": "q7", "question": "Why?", "risk": "\x1b[2J"}), "utf-8")
    answer(capsys, "--home", home, "import", "queries", str(tmp_path / "q.jsonl"))
    (tmp_path / "r.trec").write_text("q7 Q0 ghost\u202e 1 1 t\n", "utf-8")
    said = answer(capsys, "--home", home, "import", "run", str(tmp_path / "r.trec"), "--name", "r")
    counted = answer(capsys, "--home", home, "status")
    assert "ghost\ufffd" in said[1]
    assert not set("".join((*said, *counted))) & set("\x1b\u202e")
