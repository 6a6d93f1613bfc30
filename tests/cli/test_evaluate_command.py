"""`evaluate` as scripts call it: exit codes, streams, JSON keys, files, and how little it loads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

GOLD = """\
{"query_id":"q1","question":"one","gold":[{"chunk_id":"a","relevance":3}],"slice":{"domain":"policy"}}
{"query_id":"q2","question":"two","gold":[{"chunk_id":"b","relevance":2}],"slice":{"domain":"support"}}
"""
RUN = "q1 Q0 a 1 2.0 t\nq1 Q0 x 2 1.0 t\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.jsonl").write_text(GOLD, "utf-8")
    (tmp_path / "run.trec").write_text(RUN, "utf-8")
    return tmp_path


def call(folder: Path, *arguments: str, stdin: str = "", home: Path | None = None) -> subprocess.CompletedProcess[str]:
    place = ["--home", str(home)] if home else []
    return subprocess.run(
        [sys.executable, "-m", "annotator", *place, "evaluate", *arguments],
        cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": ""}, input=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_text_goes_to_stdout_with_four_decimals_and_all_counts(folder: Path) -> None:
    done = call(folder, "--gold", "gold.jsonl", "--run", "run.trec", "-k", "5")
    assert done.returncode == 0, done.stderr
    assert re.search(r"nDCG@5 +0\.5000\n", done.stdout)
    assert "2 judged queries: 1 answered, 1 missing" in done.stdout
    assert "1 of 2 chunks" in done.stdout
    assert done.stderr == ""


def test_json_has_the_keys_scripts_rely_on(folder: Path) -> None:
    done = call(
        folder, "--gold", "gold.jsonl", "--run", "run.trec", "-k", "5", "--by", "domain", "--per-query", "--json"
    )
    result = json.loads(done.stdout)
    assert set(result["gold"]) == {"name", "version", "digest", "queries", "judged_pairs"}
    assert (result["k"], result["threshold"], result["level"]) == ([5], 1, "chunk")
    (run,) = result["runs"]
    assert run["name"] == "run"
    assert {"judged", "answered", "missing", "no_relevant", "not_in_gold"} <= set(run["counts"])
    assert run["measures"]["R@5"] == 0.5
    assert run["per_query"]["q1"]["AP"] == 1.0
    assert run["bounds"]["P@5"] == [0.1, 0.2]
    assert [(s["facet"], s["value"], s["n"]) for s in run["slices"]] == [
        ("domain", "policy", 1),
        ("domain", "support", 1),
    ]


def test_json_and_format_json_are_the_same(folder: Path) -> None:
    arguments = ("--gold", "gold.jsonl", "--run", "run.trec")
    assert call(folder, *arguments, "--json").stdout == call(folder, *arguments, "--format", "json").stdout


def test_a_dash_reads_standard_input(folder: Path) -> None:
    done = call(folder, "--gold", "gold.jsonl", "--run", "-", "--json", stdin=RUN)
    assert json.loads(done.stdout)["runs"][0]["name"] == "standard input"


@pytest.mark.parametrize("arguments", [("--gold", "-", "--run", "run.trec"), ("--gold", "gold.jsonl", "--run", "-")])
def test_faults_of_standard_input_name_it(folder: Path, arguments: tuple[str, ...]) -> None:
    done = call(folder, *arguments, stdin="q1 Q0 a\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "  standard input, line 1: 3 columns instead of" in done.stderr


def test_runs_of_one_name_are_told_apart_by_their_path(folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "run.trec").write_text(RUN, "utf-8")
    done = call(folder, "--gold", "gold.jsonl", "--run", "run.trec", "--run", "old/run.trec", "--json")
    assert [run["name"] for run in json.loads(done.stdout)["runs"]] == ["run.trec", "old/run.trec"]


GATE = """\
rules:
  - {measure: "Success@5", where: {domain: policy}, min: 1.0, severity: block}
  - {measure: "R@5", %s: %s, severity: %s}
"""


@pytest.mark.parametrize(
    ("kind", "limit", "severity", "strict", "code", "verdict"),
    [
        ("min", "0.5", "block", False, 0, "release"),
        ("min", "0.6", "block", False, 1, "block"),
        ("min", "0.6", "warn", False, 0, "warn"),
        ("min", "0.6", "warn", True, 1, "warn"),
        ("max_drop", "0.5", "block", False, 0, "release"),
        ("max_drop", "0.4", "block", False, 1, "block"),
    ],
)
def test_the_gate_decides_the_exit_code(
    folder: Path, kind: str, limit: str, severity: str, strict: bool, code: int, verdict: str
) -> None:
    (folder / "better.trec").write_text(RUN + "q2 Q0 b 1 2.0 t\n", "utf-8")
    (folder / "gate.yaml").write_text(GATE % (kind, limit, severity), "utf-8")
    arguments = ("--gold", "gold.jsonl", "--run", "run.trec", "--baseline", "better.trec", "--gate", "gate.yaml")
    done = call(folder, *arguments, "--json", *(["--strict"] if strict else []))
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["gate"]["verdict"] == verdict
    assert json.loads(done.stdout)["runs"][0]["comparison"]["measures"]["R@5"]["delta"] == -0.5


@pytest.mark.parametrize("form", ["markdown", "junit", "text"])
def test_the_gate_shows_in_every_format(folder: Path, form: str) -> None:
    (folder / "gate.yaml").write_text(GATE % ("min", "0.6", "block"), "utf-8")
    done = call(folder, "--gold", "gold.jsonl", "--run", "run.trec", "--gate", "gate.yaml", "--format", form)
    assert done.returncode == 1
    assert "R" in done.stdout
    assert "min 0.6" in done.stdout


def test_a_gate_that_does_not_fit_or_junit_without_one_is_exit_2(folder: Path) -> None:
    (folder / "gate.yaml").write_text(GATE % ("max_drop", "0.1", "block"), "utf-8")
    arguments = ("--gold", "gold.jsonl", "--run", "run.trec")
    without_baseline = call(folder, *arguments, "--gate", "gate.yaml")
    assert (without_baseline.returncode, without_baseline.stdout) == (2, "")
    assert "line 3" in without_baseline.stderr
    assert call(folder, *arguments, "--format", "junit").returncode == 2


def test_a_pipe_is_read_once(folder: Path) -> None:
    trace = '{"query_id": "q1", "results": ["a"]}\n'
    done = call(folder, "--gold", "gold.jsonl", "--run", "/dev/stdin", "--json", stdin=trace)
    assert json.loads(done.stdout)["runs"][0]["counts"]["answered"] == 1, done.stderr


def test_a_file_called_dash_is_not_standard_input(folder: Path) -> None:
    (folder / "-").write_text("another Q0 a 1 2.0 t\n", "utf-8")
    assert call(folder, "--gold", "gold.jsonl", "--run", "-", stdin=RUN).returncode == 0


def test_what_is_no_character_is_written_as_its_escape(folder: Path) -> None:
    name = os.fsdecode(b"old\xff.trec")  # a file name in another encoding
    (folder / name).write_text(RUN, "utf-8")
    done = call(folder, "--gold", "gold.jsonl", "--run", name, "--json", "-o", "result.json")
    assert json.loads((folder / "result.json").read_text("utf-8"))["runs"][0]["name"] == "old\udcff", done.stderr


def test_a_message_does_not_steer_the_terminal(folder: Path) -> None:
    done = call(folder, "--gold", "gold.jsonl", "--run", "no\x1b]0;title\x07.trec")
    assert (done.returncode, set(done.stderr) & set("\x1b\x07")) == (2, set())


def test_output_is_written_whole_and_leaves_nothing_beside_it(folder: Path) -> None:
    done = call(folder, "--gold", "gold.jsonl", "--run", "run.trec", "--json", "-o", "result.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((folder / "result.json").read_text("utf-8"))["k"] == [5, 10]
    assert sorted(path.name for path in folder.iterdir()) == ["gold.jsonl", "result.json", "run.trec"]


def test_a_version_number_is_looked_up_in_the_workspace(folder: Path) -> None:
    release = folder / "home" / "releases" / "policies-v12"
    release.mkdir(parents=True)
    (release / "gold.jsonl").write_text(GOLD, "utf-8")
    (release / "manifest.json").write_text('{"name": "policies", "version": 12, "digest": "d"}', "utf-8")
    done = call(folder, "--gold", "12", "--run", "run.trec", "--json", home=folder / "home")
    assert json.loads(done.stdout)["gold"]["version"] == 12
    missing = call(folder, "--gold", "2", "--run", "run.trec", home=folder / "home")
    assert missing.returncode == 2
    assert "policies-v12" in missing.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--gold", "gold.jsonl"],
        ["--gold", "nowhere", "--run", "run.trec"],
        ["--gold", "gold.jsonl", "--run", "nowhere"],
        ["--gold", "gold.jsonl", "--run", "run.trec", "-k", "0"],
        ["--gold", "gold.jsonl", "--run", "run.trec", "--threshold", "0"],
        ["--gold", "gold.jsonl", "--run", "run.trec", "--by", "nothing"],
        ["--gold", "gold.jsonl", "--run", "gold.jsonl"],
        ["--gold", "gold.jsonl", "--run", "run.trec", "-o", "."],
        ["--gold", "gold.jsonl", "--run", "other.trec"],
        ["--gold", "gold.jsonl", "--run", "-", "--baseline", "-"],
        ["--gold", "none.jsonl", "--run", "run.trec"],
    ],
)
def test_what_cannot_be_answered_is_exit_2_with_a_message_and_no_traceback(folder: Path, arguments: list[str]) -> None:
    (folder / "other.trec").write_text("another Q0 a 1 2.0 t\n", "utf-8")
    (folder / "none.jsonl").write_text('{"query_id":"q1","gold":[],"unanswerable":true}\n', "utf-8")
    done = call(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_it_starts_without_the_heavy_libraries(folder: Path) -> None:
    code = (
        "import sys; from annotator.cli import main;"
        "code = main(['evaluate', '--gold', 'gold.jsonl', '--run', 'run.trec', '--json']);"
        "heavy = {'streamlit', 'pandas', 'numpy', 'sqlite_utils', 'tantivy', 'rapidfuzz', 'yaml', 'msgspec', 'altair'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_importing_the_package_loads_none_of_it() -> None:
    code = "import sys, annotator; print([name for name in sys.modules if name.startswith('annotator.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_package_offers_gold_run_and_evaluate(folder: Path) -> None:
    from annotator import GoldSet, Run, evaluate

    result = evaluate(GoldSet.load(folder / "gold.jsonl"), Run.load(folder / "run.trec"), k=[10])
    assert result.measures["nDCG@10"] == 0.5
