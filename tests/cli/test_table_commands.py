"""`connect` and `sync` on the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.services import chunks, in_place
from annotator.store.database import Workspace
from annotator.store.sync import alone
from tests.postgres_server import PASSWORD, Postgres
from tests.services.test_in_place import fill

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "tables"


@pytest.fixture
def home(tmp_path: Path) -> str:
    Workspace(tmp_path / "workspace").create()
    return str(tmp_path / "workspace")


def test_connect_shows_the_guess_and_sync_counts(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{FIXTURES}/sqlite/handbook.sqlite3"
    assert main(["--home", home, "connect", url, "--table", "live_chunks"]) == 0
    shown = capsys.readouterr()
    assert "chunk_id  uid   (`uid` is a usual name for chunk ids)" in shown.out
    assert "refunds-standard@v2#000" in shown.out
    assert "Next:" in shown.err
    assert main(["--home", home, "sync", "--json"]) == 0
    shown = capsys.readouterr()
    counts = json.loads(shown.out)
    assert [counts[key] for key in ("added", "changed", "removed", "unchanged", "total")] == [55, 0, 0, 0, 55]
    assert counts["seconds"] >= 0
    assert shown.err == ""
    assert main(["--home", home, "sync"]) == 0
    assert "55 chunks: 0 added, 0 changed, 0 removed, 55 unchanged" in capsys.readouterr().out


def test_every_column_can_be_named(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = str(FIXTURES / "csv" / "handbook.csv")
    columns = ["--id-column", "title", "--text-column", "source", "--doc-column", "domain", "--title-column", ""]
    more = ["--position-column", "version", "--metadata-column", "text", "--metadata-column", "position", "--json"]
    assert main(["--home", home, "connect", url, *columns, *more]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["columns"] == {
        "chunk_id": "title",
        "text": "source",
        "doc_id": "domain",
        "title": "",
        "position": "version",
    }
    assert seen["metadata"] == ["text", "position"]
    assert set(seen["chunks"][0]["metadata"]) == {"text", "position"}


def test_a_choice_of_tables_and_double_ids_are_refused_until_told(
    home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", home, "connect", f"sqlite:///{FIXTURES}/sqlite/handbook.sqlite3"]) == 2
    assert "--table" in capsys.readouterr().err
    double = tmp_path / "double.csv"
    double.write_text("id,text\na,one\nb,one\na,two\n")
    assert main(["--home", home, "connect", str(double)]) == 0
    capsys.readouterr()
    assert main(["--home", home, "sync", "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert (
        "double.csv, line 4, field id: this id appears 2 times with different text, at 2 and 4 (found 'a')" in shown.err
    )
    assert main(["--home", home, "sync", "--duplicates", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 2


def test_sync_without_a_table_or_a_workspace_says_what_to_do(
    home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", home, "sync"]) == 2
    assert "connect URL" in capsys.readouterr().err
    assert main(["--home", str(tmp_path / "none"), "sync"]) == 2
    assert "init" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["connect", "sync"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Example: python -m annotator {command}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["jsonl/handbook.jsonl", "parquet/handbook.parquet"])
def test_a_bar_is_shown_to_somebody_who_looks(name: str, home: str) -> None:
    assert main(["--home", home, "connect", str(FIXTURES / name)]) == 0
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "annotator", "--home", home, "sync", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, cwd=FIXTURES.parents[2], check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert json.loads(done.stdout)["total"] == 60
    assert b"Reading" in shown
    assert b"60" in shown


def test_what_a_table_holds_does_not_steer_the_terminal(
    home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.jsonl"
    table.write_text(json.dumps({"chunk_id": "a\u202eb", "text": "\x1b[2Jgone", "m\x1b[2J": 1}) + "\n")
    assert main(["--home", home, "connect", str(table)]) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\u202e" not in out
    assert f"--home {home} sync" in err


def test_a_sync_beside_another_one_ends_at_once_and_changes_nothing(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(FIXTURES / "jsonl" / "handbook.jsonl")
    assert main(["--home", home, "connect", url]) == 0
    with alone(Workspace(Path(home))):
        assert main(["--home", home, "sync"]) == 2
    assert "A sync of this workspace is running already" in capsys.readouterr().err
    assert chunks.state(Workspace(Path(home))).count == 0
    assert main(["--home", home, "sync"]) == 0


def test_three_syncs_started_together_leave_the_table_as_it_is(home: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": f"c{at}", "text": f"text {at}"}) + "\n" for at in range(5000)))
    assert main(["--home", home, "connect", str(rows)]) == 0
    command = [sys.executable, "-m", "annotator", "--home", home, "sync", "--json"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    ended = [(*one.communicate(timeout=60), one.returncode) for one in started]
    assert {code for _, _, code in ended} <= {0, 2}
    assert [out for out, _, code in ended if code == 0]
    assert all(b"running already" in err for _, err, code in ended if code == 2)
    assert main(["--home", home, "sync"]) == 0
    last = chunks.state(Workspace(Path(home))).last
    assert last is not None
    assert (last.added, last.changed, last.removed, last.unchanged) == (0, 0, 0, 5000)


def test_a_table_searched_in_place_is_connected_searched_and_refreshed(
    home: str, postgres: Postgres, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    url = fill(postgres, "cli")
    assert main(["--home", home, "connect", url, "--in-place"]) == 0
    shown = capsys.readouterr()
    assert "It is searched in place, by PostgreSQL's full-text search, configuration english" in shown.out
    assert shown.err.endswith(" serve\n")
    assert main(["--home", home, "search", "gateway", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [hit["chunk_id"] for hit in found["hits"]] == ["errors#1"]
    assert (found["total"], found["more"]) == (1, False)
    assert main(["--home", home, "sync"]) == 0
    assert capsys.readouterr().out.startswith("1 chunks that were looked at: 0 added, 0 changed, 0 removed, 1 unch")
    assert main(["--home", home, "connect", f"sqlite:///{FIXTURES}/sqlite/handbook.sqlite3", "--in-place"]) == 2
    assert "--table" in capsys.readouterr().err
    in_place.forget()
