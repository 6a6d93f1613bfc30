"""`release`, `export` and `verify` as a script sees them: output and exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.model import Judgment, Query, text_hash
from annotator.services import gold
from annotator.store import judgments, queries
from annotator.store.database import Workspace

TEXT = "Refunds after 30 days need the approval of the VP Finance."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    workspace = Workspace(tmp_path / "home")
    workspace.create()
    with workspace.write() as connection:
        connection.execute(
            "INSERT INTO chunks (chunk_id, doc_id, title, text, metadata, sha256, row_hash, sync_id)"
            " VALUES ('c1', 'd1', '', ?, '{}', ?, x'00', 1)",
            (TEXT, text_hash(TEXT)),
        )
        queries.add(connection, Query("q1", "Who approves?", state="complete"), "ana")
        judge(connection, "ana", 3)
    return workspace.home


def judge(connection: object, annotator: str, grade: int) -> None:
    one = Judgment("q1", "c1", annotator, grade, sha256=text_hash(TEXT), operation_id=f"{annotator}-{grade}")
    judgments.append(connection, one)  # type: ignore[arg-type]


def run(home: Path, *arguments: str) -> int:
    return main(["--home", str(home), "--who", "rosa", *arguments])


def test_release_prints_version_digest_and_counts(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home, "release", "--name", "policies", "--note", "first") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "policies version 1"
    assert len(said[1].removeprefix("digest ")) == 64
    assert said[2].startswith("queries 1, unanswerable 0, judged pairs 1, relevant 1, chunks 1, judgments 1")


def test_release_export_and_verify_agree_in_json(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "release", "--json") == 0
    released = json.loads(capsys.readouterr().out)
    for name in ("out", "out.zip"):
        assert run(home, "export", "1", "-o", str(tmp_path / name), "--format", "native", "--json") == 0
        exported = json.loads(capsys.readouterr().out)
        assert run(home, "verify", str(tmp_path / name), "--json") == 0
        verified = json.loads(capsys.readouterr().out)
        assert released["counts"] == exported["counts"] == verified["counts"]
        assert released["digest"] == exported["digest"] == verified["digest"]
        assert verified["intact"] is True
    assert main(["verify", released["path"]]) == 0  # needs no workspace


def test_verify_says_no_with_1_and_cannot_say_with_2(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(home, "release")
    folder = home / "releases" / "gold-v1"
    (folder / "gold.jsonl").write_bytes((folder / "gold.jsonl").read_bytes().replace(b"Who", b"Why"))
    assert main(["verify", str(folder)]) == 1
    assert "gold.jsonl: not the content whose checksum stands in SHA256SUMS" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "nowhere")]) == 2
    assert main(["verify"]) == 2


def test_a_blocked_release_is_2_and_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Workspace(home).write() as connection:
        judge(connection, "ben", 0)
    assert run(home, "release") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "q1: people disagree about 1 chunk" in said.err
    assert "--allow-open" in said.err
    assert list((home / "releases").iterdir()) == []


def test_export_of_an_unknown_version_or_format_is_2(home: Path, tmp_path: Path) -> None:
    assert run(home, "export", "7", "-o", str(tmp_path / "x")) == 2
    run(home, "release")
    assert run(home, "export", "1", "-o", str(tmp_path / "x"), "--format", "xml") == 2
    assert not (tmp_path / "x").exists()


def test_diff_tells_what_changed_between_versions_tags_and_paths(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(home, "release")
    with Workspace(home).write() as connection:
        judge(connection, "ana", 2)
    run(home, "release")
    run(home, "export", "1", "-o", str(tmp_path / "first.zip"))
    capsys.readouterr()
    assert run(home, "diff", "1", "2") == 0
    assert capsys.readouterr().out == ("gold v1 → gold v2\nregraded: 0 queries, 1 label\n  q1 c1  relevance 3 → 2\n")
    assert run(home, "diff", str(tmp_path / "first.zip"), "2", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["regraded"]["labels"][0]["after"] == 2
    folder = str(home / "releases" / "gold-v1")
    assert main(["--home", str(tmp_path / "none"), "diff", folder, str(tmp_path / "first.zip")]) == 0
    assert capsys.readouterr().out.endswith("No label and no query differs.\n")


def test_a_tag_may_look_like_the_name_of_a_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, "release")
    gold.tag(Workspace(home), "rosa", "v1.0", 1)
    capsys.readouterr()
    assert run(home, "diff", "1", "v1.0") == 0
    assert run(home, "drift", "--gold", "v1.0") == 0
    assert capsys.readouterr().out.startswith("gold v1 → gold v1\nNo label and no query differs.\n")


@pytest.mark.parametrize("named", ["7", "prod", "nowhere/gold.jsonl"])
def test_diff_with_what_is_not_there_is_2(home: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, "release")
    assert run(home, "diff", "1", named) == 2
    assert "Error: There is no" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["native", "jsonl", "yaml", "csv", "trec", "beir", "ragas"])
def test_every_format_prints_the_counts_of_the_store(
    home: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(home, "release", "--json")
    stored = json.loads(capsys.readouterr().out)["counts"]
    assert run(home, "export", "1", "-o", str(tmp_path / "out"), "--format", form, "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"] == stored


def test_a_version_whose_folder_is_gone_is_scored_against_all_the_same(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "release", "--name", "policies", "--json") == 0
    released = json.loads(capsys.readouterr().out)
    shutil.rmtree(home / "releases")
    (tmp_path / "run.trec").write_text("q1 Q0 c1 1 1.0 x\n")
    assert run(home, "evaluate", "--gold", "1", "--run", str(tmp_path / "run.trec"), "--json") == 0
    assert json.loads(capsys.readouterr().out)["gold"]["digest"] == released["digest"]
    assert run(home, "evaluate", "--gold", "2", "--run", str(tmp_path / "run.trec"), "--json") == 2
    assert "There are: 1." in capsys.readouterr().err


def test_a_version_is_scored_against_where_the_database_cannot_be_read(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "release") == 0
    (home / "annotator.db").write_bytes(b"not a database, not at all" * 100)
    (tmp_path / "run.trec").write_text("q1 Q0 c1 1 1.0 x\n")
    capsys.readouterr()
    assert run(home, "evaluate", "--gold", "1", "--run", str(tmp_path / "run.trec"), "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["gold"]["version"] == 1
    assert "drift was not looked for" in err


def test_questions_without_a_label_are_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Workspace(home).write() as connection:
        queries.add(connection, Query("q2", "Why?"), "ana")
        queries.add(connection, Query("q3", "What?", state="draft"), "ana")
    assert run(home, "release") == 0
    assert "without a label yet: 1 question\n" in capsys.readouterr().out
    assert run(home, "release", "--json") == 0
    assert json.loads(capsys.readouterr().out)["unlabelled"] == 1
