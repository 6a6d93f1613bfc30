"""The group of commands: exit codes, messages, laziness, and who is acting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from annotator import cli
from annotator.cli import COMMANDS, acting, annotator, main
from annotator.errors import InputError, Problem

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "annotator", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> object:
    """Install a function as the command `status` and call the command line with it."""

    def call(function: object) -> int:
        made = click.command()(function)  # type: ignore[call-overload]
        monkeypatch.setattr(cli._LazyGroup, "get_command", lambda self, ctx, name: made)
        return main(["status"])

    return call


def test_every_module_of_the_room_is_a_command() -> None:
    modules = {path.stem for path in (ROOT / "annotator" / "cli").glob("*.py")} - {"__init__"}
    assert modules <= {module.rsplit(".", 1)[1] for module in COMMANDS.values()}
    with annotator.make_context("annotator", ["status"]) as ctx:
        found = {name for name in COMMANDS if annotator.get_command(ctx, name) is not None}
    assert len(found) == len(modules)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["status", "--help"], 0),
        ([], 2),
        (["nonsense"], 2),
        (["status", "--nonsense"], 2),
        (["--home", "nowhere-at-all", "status"], 2),
    ],
)
def test_every_way_to_end_has_its_exit_code(arguments: list[str], code: int) -> None:
    assert main(arguments) == code


def test_a_fault_of_the_input_is_a_message_on_stderr(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise InputError("two faults", problems=[Problem("bad", "f.csv", 3, "grade", "9", "Write 0 to 3.")])

    assert command(fail) == 2  # type: ignore[operator]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Error: two faults\n  f.csv, line 3, field grade: bad (found '9'). Write 0 to 3.\n"


def test_an_answer_of_no_is_one(command: object) -> None:
    assert command(lambda: click.get_current_context().exit(1)) == 1  # type: ignore[operator]


def test_a_crash_is_never_an_answer(
    command: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANNOTATOR_DEBUG", raising=False)
    assert command(lambda: 1 / 0) == 3  # type: ignore[operator]
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err
    monkeypatch.setenv("ANNOTATOR_DEBUG", "1")
    assert command(lambda: 1 / 0) == 3  # type: ignore[operator]
    assert "Traceback" in capsys.readouterr().err


def test_an_interruption_is_130(command: object, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert command(interrupt) == 130  # type: ignore[operator]
    assert capsys.readouterr().err == "Interrupted.\n"


def test_who_acts_is_said_or_the_login_name(command: object, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setenv("ANNOTATOR_WHO", "Ana")
    command(lambda: seen.append(acting()))  # type: ignore[operator]
    monkeypatch.delenv("ANNOTATOR_WHO")
    monkeypatch.setenv("LOGNAME", "ben")
    command(lambda: seen.append(acting()))  # type: ignore[operator]
    assert seen == ["Ana", "ben"]


def test_a_name_that_cannot_be_kept_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(tmp_path / "home"), "--who", "a\nb", "init"]) == 2
    assert "cannot be your name" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_evaluate_starts_without_what_it_does_not_need() -> None:
    heavy = ("streamlit", "pandas", "numpy", "sqlite_utils", "tantivy", "rapidfuzz", "yaml", "msgspec", "sqlite3")
    code = (
        "import sys; from annotator.cli import main; main(['evaluate', '--help']);"
        f"sys.exit(','.join(name for name in {heavy} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.stderr == b""
    assert done.returncode == 0


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    assert run("--home", str(tmp_path / "home"), "init", "--demo").returncode == 0
    script = f'{sys.executable} -m annotator --home {tmp_path / "home"} status --json | true; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")


def test_output_is_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    environment = {"PYTHONIOENCODING": "ascii", "ANNOTATOR_WHO": "Žofie"}
    assert "Žofie as its admin" in run("--home", home, "init", **environment).stdout.decode()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("verify {release} --json > /dev/full", 2),
        ("verify {release} --json >&-", 0),
        ("nonsense 2> /dev/full", 2),
        ("nonsense 2>&-", 2),
        ("evaluate --gold - --run - <&-", 2),
        # a disk that takes only a part, and Python told not to hold anything back
        ("evaluate --gold {release} --run data/demo/runs/bm25.jsonl --json > {release}.part", 2),
    ],
)
def test_output_that_cannot_be_written_is_no_answer_and_no_crash(tmp_path: Path, command: str, code: int) -> None:
    assert run("--home", str(tmp_path / "home"), "init", "--demo").returncode == 0
    assert run("--home", str(tmp_path / "home"), "release", "--allow-open").returncode == 0
    arguments = command.format(release=tmp_path / "home" / "releases" / "kelderwyn-v1")
    script = f"ulimit -f 4; PYTHONUNBUFFERED=1 {sys.executable} -m annotator {arguments}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert "fault of Annotator" not in done.stderr


def test_file_names_are_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    home = str(tmp_path / "Prüfung 評価")
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert home in run("--home", home, "init", "--demo", **environment).stdout.decode()
    assert run("--home", home, "search", "refund", **environment).returncode == 0
    assert Path(home, "annotator.db").is_file()


def test_bytes_that_are_no_characters_are_refused(tmp_path: Path) -> None:
    assert run("--home", str(tmp_path / "home"), "init", "--demo").returncode == 0
    done = run("--home", str(tmp_path / "home"), "release", "--allow-open", "--note", "\udcff")
    assert done.returncode == 2
    assert b"holds bytes that are no characters" in done.stderr
    assert b'"versions": 0' in run("--home", str(tmp_path / "home"), "status", "--json").stdout
