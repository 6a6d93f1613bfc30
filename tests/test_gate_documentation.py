"""What docs/ci.md and docs/python.md show is what happens: the walk, the workflow, the reports, the test suite."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
import yaml

from annotator.cli import main
from tests.test_documentation import ROOT, as_shown, reader, shell

CI = (ROOT / "docs" / "ci.md").read_text("utf-8")
PYTHON = (ROOT / "docs" / "python.md").read_text("utf-8")
BLOCKED = ("KW-009", "KW-002")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's files and its version 1, without the two disputed questions."""
    folder = reader(tmp_path_factory.mktemp("released"))
    home = str(folder / "try")
    assert main(["--home", home, "init", "--demo"]) == 0
    assert main(["--home", home, "release", "--allow-open"]) == 0
    assert main(["--home", home, "export", "1", "-o", str(folder / "gold/kelderwyn-v1"), "--format", "native"]) == 0
    return folder


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_walk_through_the_demo_prints_what_is_shown(tmp_path: Path) -> None:
    folder = reader(tmp_path)
    (walk,) = blocks(CI, "console")
    steps = [part.partition("\n") for part in re.split(r"^\$ ", walk, flags=re.MULTILINE)[1:]]
    assert len(steps) == 3
    for command, _, shown in steps:
        printed = shell(folder, command)
        assert as_shown(printed, shown), f"$ {command}\n{printed}"


def evaluated(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> str:
    runs = ROOT / "data" / "demo" / "runs"
    arguments = ["--gold", "1", "--run", str(runs / "hybrid.jsonl"), "--baseline", str(runs / "bm25.jsonl")]
    arguments += ["--gate", str(ROOT / "data" / "demo" / "gate.yaml"), "--format", form]
    capsys.readouterr()
    assert main(["--home", str(folder / "try"), "evaluate", *arguments]) == 1
    return capsys.readouterr().out


def test_the_better_run_on_average_is_blocked_and_the_report_says_which_questions_and_why(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = evaluated(released, capsys, "markdown")
    assert said.startswith("## Retrieval gate: block\n")
    (ndcg,) = re.findall(r"\| nDCG\\@10 \| 0\.5821 \| 0\.6007 \| \+0\.0186 \|.*", said)
    assert "| 0.655 | 10/8/0 | 18 |" in ndcg
    assert "fell from 0.4087 to 0.3555 (p = 0.750, n = 5, too few for any p \\< 0.05)" in said
    behind = said.split("**R\\@10 max\\_drop 0**, domain=policy, risk=high: the queries behind it")[1].split("**")[0]
    rows = [line for line in behind.splitlines() if line.startswith("| KW")]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == list(BLOCKED)
    assert all("policy-addendum-ref-2024-07\\#approval filtered out (freshness)" in row for row in rows)


def test_junit_fails_where_the_gate_blocks_and_skips_where_it_warns(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = ElementTree.fromstring(evaluated(released, capsys, "junit"))
    outcomes = {case.get("name", ""): [child.tag for child in case] for case in suite}
    assert outcomes.pop("R@10 max_drop 0 [domain=policy, risk=high]") == ["failure"]
    assert outcomes.pop("R@10 min 0.5 [query_type=comparison]") == ["skipped"]
    assert outcomes.pop("Judged@10 min 0.8 [all queries]") == ["skipped"]
    assert set(map(tuple, outcomes.values())) == {()}
    assert all(query_id in (suite.findtext("testcase/failure") or "") for query_id in BLOCKED)


@pytest.mark.parametrize(
    ("candidate", "code", "heading", "failures"),
    [("hybrid", 1, "## Retrieval gate: block", "1"), ("bm25", 0, "## Retrieval gate: warn", "0")],
)
def test_the_workflow_to_copy_ships_or_blocks(
    released: Path, tmp_path: Path, candidate: str, code: int, heading: str, failures: str
) -> None:
    """Every `run:` as it stands, one after the other as the runner does, with `pip` and `gh` only written down."""
    workflow = next(found for found in map(yaml.safe_load, blocks(CI, "yaml")) if "jobs" in found)
    job = workflow["jobs"]["gate"]
    folder = reader(tmp_path)
    shutil.copytree(released / "gold", folder / "gold")
    (folder / "annotator").mkdir()
    (folder / "annotator" / "annotator").symlink_to(ROOT / "annotator")
    tools = folder / "bin"
    tools.mkdir()
    (tools / "python").symlink_to(sys.executable)
    for tool in ("pip", "gh"):
        (tools / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >> called\n')
        (tools / tool).chmod(0o755)
    environment = {
        "PATH": f"{tools}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GH_TOKEN": "token",
        "PULL_REQUEST": "7",
        **job["env"],
    }
    # the runner puts the packages of its Python on the path; here the tests' own stand for them
    environment["PYTHONPATH"] += f"{os.pathsep}{Path(click.__file__).parents[1]}"
    steps = [step for step in job["steps"] if "run" in step]
    codes = {}
    for step in steps:
        assert "${{" not in step["run"], "expressions belong into env, where nobody can smuggle in a command"
        command = step["run"].replace("runs/hybrid.jsonl", f"runs/{candidate}.jsonl")
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
        )
        codes[step["name"]] = done.returncode
        assert done.returncode == 0 or step is steps[-1], f"{step['name']}: {done.stderr}"
    assert codes["Ship or block"] == code
    assert (folder / "gate.md").read_text("utf-8").startswith(f"{heading}\n")
    assert (folder / "summary.md").read_text("utf-8") == (folder / "gate.md").read_text("utf-8")
    assert ElementTree.parse(folder / "gate.xml").getroot().get("failures") == failures
    assert (folder / "called").read_text("utf-8").splitlines() == [
        "pip install click PyYAML",
        "gh pr comment 7 --body-file gate.md --edit-last --create-if-none",
    ]


def test_the_gate_needs_no_more_than_the_workflow_installs(released: Path, tmp_path: Path) -> None:
    for package in (click, yaml):
        (tmp_path / package.__name__).symlink_to(Path(package.__file__).parent)
    gate, runs = ROOT / "data" / "demo" / "gate.yaml", ROOT / "data" / "demo" / "runs"
    command = [sys.executable, "-S", "-m", "annotator", "evaluate", "--gold", str(released / "gold" / "kelderwyn-v1")]
    command += ["--run", str(runs / "bm25.jsonl"), "--baseline", str(runs / "bm25.jsonl"), "--gate", str(gate)]
    for form in ("text", "json", "markdown", "junit"):
        done = subprocess.run(
            [*command, "--by", "domain", "--format", form],
            env={"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


def test_the_rules_shown_are_rules(tmp_path: Path) -> None:
    from annotator.metrics.gate import read_gate

    shown = next(block for block in blocks(CI, "yaml") if block.startswith("rules:"))
    (tmp_path / "gate.yaml").write_text(shown, "utf-8")
    assert len(read_gate(str(tmp_path / "gate.yaml"))) == 3


def test_the_run_shown_is_a_run(tmp_path: Path) -> None:
    from annotator import Run

    (shown,) = blocks(CI, "json")
    (tmp_path / "run.jsonl").write_text(shown, "utf-8")
    run = Run.load(tmp_path / "run.jsonl")
    assert (run.name, run.queries["KW-001"].filtered_out) == (
        "hybrid",
        (("policy-refunds-v3#enterprise", "freshness"),),
    )


def test_the_test_suite_to_copy_passes(released: Path) -> None:
    (suite,) = blocks(PYTHON, "python")
    (released / "test_retrieval.py").write_text(suite, "utf-8")
    printed = shell(released, "python -m pytest -q -p no:cacheprovider test_retrieval.py")
    assert "4 passed" in printed, printed
