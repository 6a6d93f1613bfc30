"""What is written is true: the README's commands run and print what it shows, and nothing is left undocumented.

`python tests/test_documentation.py` shows what the README's commands print now, for pasting.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from annotator.cli import annotator

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CONFIG = (ROOT / ".streamlit" / "config.toml").read_text("utf-8")

RUN = (
    "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt && streamlit run streamlit_app.py"
)
TEST = "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements-dev.txt && pytest"


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its full name, those of groups included."""
    with annotator.make_context("annotator", ["status"]) as ctx:
        for name in annotator.list_commands(ctx):
            command = annotator.get_command(ctx, name)
            if isinstance(command, click.Group):
                yield from ((f"{name} {inner}", found) for inner, found in command.commands.items())
            if command is not None and not (isinstance(command, click.Group) and not command.invoke_without_command):
                yield name, command


COMMANDS = dict(commands())


def sessions() -> list[tuple[str, str]]:
    """Return (command, output shown) of every console block, in order."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    return [
        (command, shown)
        for block in blocks
        for command, _, shown in (part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    ]


def shell(folder: Path, command: str) -> str:
    """Run a command as a reader of the README would, in a folder with the demo, and return all it prints."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "ANNOTATOR_WHO": "ana",
    }
    environment.pop("ANNOTATOR_HOME", None)
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{command}"], cwd=folder, env=environment, capture_output=True, check=False
    )
    return done.stdout.decode()


def reader(folder: Path) -> Path:
    (folder / "data").symlink_to(ROOT / "data")
    return folder


def as_shown(printed: str, shown: str) -> bool:
    """Say whether the output is the one shown; a line of `…` stands for any lines, also none."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else re.escape(line) + r"\n" for line in shown.splitlines())
    return re.fullmatch(pattern, printed) is not None


def test_the_two_lines_a_newcomer_needs_are_there_to_copy() -> None:
    assert RUN in README.splitlines()
    assert TEST in README.splitlines()
    for name in ("requirements.txt", "requirements-dev.txt", "streamlit_app.py"):
        assert (ROOT / name).is_file()


def test_the_commands_of_the_readme_print_what_it_shows(tmp_path: Path) -> None:
    folder = reader(tmp_path)
    assert len(sessions()) >= 5
    for command, shown in sessions():
        printed = shell(folder, command)
        assert as_shown(printed, shown), f"$ {command}\n{printed}"
    (python,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (folder / "suite.py").write_text(python, "utf-8")
    assert shell(folder, "python suite.py") == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_of_its_own(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    assert f"Example: python -m annotator {name}" in (command.epilog or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    texts = [README, *(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))]
    assert any(re.search(rf"`{re.escape(name)}[` ]", text) for text in texts)


def test_the_readme_names_no_command_that_is_not_there() -> None:
    rows = re.findall(r"^\| `([a-z ]+?)(?: [A-Z\[-].*?)?` \|", README, re.MULTILINE)
    assert rows
    assert set(rows) <= set(COMMANDS)


def test_every_link_and_picture_of_the_documents_is_there() -> None:
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text("utf-8")):
            assert (path.parent / target).exists(), f"{path.name} points to {target}"


def test_the_changelog_speaks_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {project['version']}" in changes
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")


def test_every_setting_of_the_app_says_why() -> None:
    lines = CONFIG.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if "=" in line and not line.startswith("#"):
            assert before.startswith("# "), f"no reason is given for {line}"


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_on_every_ground(theme: str) -> None:
    colours = tomllib.loads(CONFIG)["theme"][theme]
    for ground in ("backgroundColor", "secondaryBackgroundColor"):
        assert contrast(colours["textColor"], colours[ground]) >= 4.5
        assert contrast(colours["linkColor"], colours[ground]) >= 4.5
    assert contrast("#ffffff", colours["primaryColor"]) >= 4.5
    assert contrast(colours["primaryColor"], colours["backgroundColor"]) >= 3  # lines and marks, not text


def test_every_benchmark_that_is_named_is_there_and_can_begin() -> None:
    there = {path.stem for path in (ROOT / "tests" / "bench").glob("[!_]*.py")}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"-m tests\.bench (\w+)", page.read_text("utf-8"))}
    assert named
    assert named <= there
    for name in there:
        assert callable(import_module(f"tests.bench.{name}").run)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        place = reader(Path(name))
        for command, _ in sessions():
            print(f"$ {command}\n{shell(place, command)}", end="")
