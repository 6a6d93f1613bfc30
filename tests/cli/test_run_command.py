"""`run`: the retriever asked every question, killed and interrupted on the way, and the file it leaves."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from annotator.cli import main
from annotator.metrics.runs import Run
from annotator.model import Query
from annotator.services import gold, preview, retriever
from annotator.services.importing import import_judgments
from annotator.store import queries
from annotator.store.database import Workspace
from tests.services.hook_server import Reply, as_json, serving

ROOT = Path(__file__).resolve().parents[2]
HOOK = """
import os, time
def retrieve(question, k):
    with open(os.environ["ASKED"], "a") as asked:
        asked.write(question + "\\n")
    time.sleep(float(os.environ.get("TAKES", "0")))
    return {"results": [["errors#1", 2.0], ["travel#1", 1.0]][:k], "route": "faq", "filters": {"lang": "en"}}
"""


@pytest.fixture
def place(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the handbook's workspace and thirty questions more, and a retriever as a function."""
    with workspace.write() as connection:
        for number in range(30):
            queries.add(connection, Query(f"t{number:02}", f"Refund question {number}"), "Ana")
    (tmp_path / "team_search.py").write_text(HOOK, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ANNOTATOR_HOME", str(workspace.home))
    monkeypatch.setenv("ASKED", str(tmp_path / "asked.txt"))
    for name in (retriever.HOOK, retriever.HOSTS, retriever.TOKEN):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def asked(place: Path) -> list[str]:
    return (place / "asked.txt").read_text("utf-8").splitlines()


def test_every_question_is_asked_and_what_was_done_is_kept(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", "--name", "mine", "--hook", "team_search:retrieve", "--depth", "1", "--meta", "reranker=x"]) == 0
    )
    header, *rows = lines(place / "mine.jsonl")
    assert header["run"].items() >= {
        "name": "mine", "retriever": "team_search:retrieve", "depth": 1, "gold": "workspace", "reranker": "x"
    }.items()  # fmt: skip
    assert [row["query_id"] for row in rows][:4] == ["q1", "q2", "q3", "t00"]
    assert len(rows) == 33
    assert rows[0]["results"] == [{"chunk_id": "errors#1", "score": 2.0}]
    assert rows[0]["route"] == "faq"
    assert rows[0]["latency_ms"] > 0
    assert Run.load(place / "mine.jsonl").queries["q1"].trace["filters"] == {"lang": "en"}
    told = capsys.readouterr()
    assert told.out == "33 of 33 questions answered; 0 out of time, 0 empty.\n"
    assert "import run mine.jsonl --name mine" in told.err
    assert not (place / "mine.jsonl.part").exists()


def test_what_the_function_prints_is_no_part_of_the_answer(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "talks.py").write_text("print('loading')\ndef f(q, k):\n    print(q)\n    return []\n", "utf-8")
    assert main(["run", "--name", "mine", "--hook", "talks:f", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["answered"] == 33
    assert "loading" in told.err


def test_with_import_the_run_is_in_the_workspace(place: Path, workspace: Workspace) -> None:
    command = ["run", "--name", "mine", "--hook", "team_search:retrieve", "--import"]
    assert main(command) == 0
    assert [one.name for one in preview.stored_runs(workspace)] == ["mine"]
    number = len(asked(place))
    assert main(command) == 0  # complete: nothing is asked again, and the import changes nothing
    assert len(asked(place)) == number


def test_a_name_that_is_taken_is_told_before_anything_is_asked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "--name", "mine", "--hook", "team_search:retrieve", "--import"]
    assert main(command) == 0
    number = len(asked(place))
    assert main([*command, "-o", "other.jsonl"]) == 2
    assert "There is a run with the name 'mine' already" in capsys.readouterr().err
    assert len(asked(place)) == number


def test_the_questions_are_those_of_a_version(place: Path, workspace: Workspace) -> None:
    import_judgments(workspace, "Ana", ("j.csv", b"query_id,chunk_id,annotator,grade\nq3,errors#1,Ana,3\n"))
    gold.release(workspace, "Ana")
    assert main(["run", "--name", "v", "--hook", "team_search:retrieve"]) == 0
    assert [row.get("query_id") for row in lines(place / "v.jsonl")[1:]] == ["q3"]
    assert lines(place / "v.jsonl")[0]["run"]["gold"] == "gold-v1"
    assert main(["run", "--name", "w", "--hook", "team_search:retrieve", "--gold", "1"]) == 0
    folder = next(workspace.releases.iterdir())
    assert main(["run", "--name", "x", "--hook", "team_search:retrieve", "--gold", str(folder)]) == 0
    assert lines(place / "w.jsonl")[1]["query_id"] == lines(place / "x.jsonl")[1]["query_id"] == "q3"


def test_judgments_without_questions_cannot_be_asked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "qrels").write_text("q1 0 errors#1 3\n", "utf-8")
    assert main(["run", "--name", "v", "--hook", "team_search:retrieve", "--gold", "qrels"]) == 2
    assert "does not say what its questions are" in capsys.readouterr().err


def test_the_same_command_goes_on_where_it_failed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"q2", "t03"}

    def reply(question: dict[str, Any]) -> Reply:
        return as_json({"oops": "\x1b[2J"}) if question["query_id"] in broken else as_json(["errors#1", "<img>"])

    seen: list[dict[str, Any]] = []
    with serving(reply, seen) as url:
        monkeypatch.setenv(retriever.HOSTS, urlsplit(url).netloc)
        command = ["run", "--name", "web", "--hook", url, "--depth", "3"]
        assert main(command) == 2
        told = capsys.readouterr()
        assert "31 of 33 questions answered" in told.out
        assert "q2: The retriever answered" in told.err
        assert "2 questions have no answer yet" in told.err
        assert "\x1b" not in told.err
        assert "1 retrieved ids are not in the chunk table: <img>" in told.err
        assert not (place / "web.jsonl").exists()
        assert len(Run.load(place / "web.jsonl.part").queries) == 31  # what is kept is a run already
        broken.clear()
        assert main(command) == 0
    assert len(seen) == 35
    assert "33 of 33 questions answered, 31 of them before" in capsys.readouterr().out
    assert len(Run.load(place / "web.jsonl").queries) == 33


def test_a_retriever_that_is_away_stops_the_command_soon(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    with serving(lambda question: as_json({}, 503), seen) as url:
        monkeypatch.setenv(retriever.HOSTS, urlsplit(url).netloc)
        assert main(["run", "--name", "web", "--hook", url]) == 2
    assert len(seen) == 5
    assert "33 questions have no answer yet" in capsys.readouterr().err


def test_a_late_answer_is_a_row_that_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(question: dict[str, Any]) -> Reply:
        if question["query_id"] == "q2":
            time.sleep(2)
        return as_json(["errors#1"])

    with serving(reply) as url:
        monkeypatch.setenv(retriever.HOSTS, urlsplit(url).netloc)
        assert main(["run", "--name", "web", "--hook", url, "--timeout", "1"]) == 0
    rows = {row["query_id"]: row for row in lines(place / "web.jsonl")[1:]}
    assert (rows["q2"]["results"], rows["q2"]["timed_out"]) == ([], True)
    assert rows["q2"]["latency_ms"] >= 1000
    assert "timed_out" not in rows["q1"]


def test_questions_that_changed_meanwhile_are_told(
    place: Path, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "--name", "mine", "--hook", "team_search:retrieve"]
    assert main(command) == 0
    with workspace.write() as connection:
        connection.execute("UPDATE queries SET question = 'What else?' WHERE query_id = 'q1'")
    assert main(command) == 2
    assert "mine.jsonl was made with other settings: the questions were others" in capsys.readouterr().err


def test_a_file_of_other_settings_is_left_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "--name", "mine", "--hook", "team_search:retrieve", "--depth", "5"]
    assert main(command) == 0
    before = (place / "mine.jsonl").read_bytes()
    for changed, told in (
        (["--depth", "6"], "depth was 5, now 6"),
        (["--timeout", "3"], "seconds was 10.0, now 3.0"),
        (["--meta", "a=b"], "a was None, now 'b'"),
    ):
        assert main([*command, *changed]) == 2
        assert told in capsys.readouterr().err
    (place / "note.jsonl").write_text("a note\n", "utf-8")
    assert main([*command, "-o", "note.jsonl"]) == 2
    assert "is no run of this command" in capsys.readouterr().err
    assert (place / "note.jsonl").read_text("utf-8") == "a note\n"
    assert (place / "mine.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["a/b", "../up", ".hidden", "-x", "a\\b"])
def test_a_name_that_is_no_file_name_wants_a_file(place: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", f"--name={name}", "--hook", "team_search:retrieve"]) == 2
    assert "-o FILE.jsonl" in capsys.readouterr().err


def test_without_a_retriever_the_command_says_how_to_set_one(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--name", "mine"]) == 2
    assert "--hook module:function" in capsys.readouterr().err


def started(place: Path, takes: float = 0) -> subprocess.Popen[bytes]:
    """Start the command; whoever means to end it in the middle lets each question take long enough for that."""
    command = [sys.executable, "-m", "annotator", "run", "--name", "mine", "--hook", "team_search:retrieve"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{place}", "TAKES": str(takes)}
    return subprocess.Popen(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background of a shell ignore it
    )  # fmt: skip


def until_answered(place: Path, number: int) -> None:
    part = place / "mine.jsonl.part"
    for _ in range(6000):
        if part.exists() and part.read_bytes().count(b"\n") > number:
            return
        time.sleep(0.01)
    raise AssertionError("nothing was answered")


def test_killed_at_any_moment_it_goes_on_and_asks_nothing_twice_that_was_answered(place: Path) -> None:
    chance = random.Random(7)
    answered = 0
    for _ in range(3):
        running = started(place, takes=0.3)
        until_answered(place, answered + chance.randrange(1, 4))
        running.send_signal(signal.SIGKILL)
        running.communicate()
        kept = (place / "mine.jsonl.part").read_bytes()
        answered = len(kept.splitlines()) - 1
        assert not (place / "mine.jsonl").exists()
    with (place / "mine.jsonl.part").open("ab") as part:
        part.write(b'{"query_id": "t29", "results": ["err')  # a row torn in the middle
    running = started(place)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 0, told
    assert len(Run.load(place / "mine.jsonl").queries) == 33
    assert (place / "mine.jsonl").read_bytes().startswith(kept)
    assert len(asked(place)) <= 33 + 3  # the question on its way at each kill may be asked again


def test_interrupted_it_says_what_is_kept_and_goes_on(place: Path) -> None:
    running = started(place, takes=0.3)
    until_answered(place, 2)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"mine.jsonl.part; the same command goes on" in told
    assert Run.load(place / "mine.jsonl.part").queries
    running = started(place)
    running.communicate(timeout=60)
    assert running.returncode == 0
    assert len(Run.load(place / "mine.jsonl").queries) == 33


def test_two_at_once_would_falsify_the_latencies(place: Path, workspace: Workspace) -> None:
    with workspace.lock("run"):
        assert main(["run", "--name", "mine", "--hook", "team_search:retrieve"]) == 2
