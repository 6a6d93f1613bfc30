"""Whole public collections through the command line: twelve languages, an aerodynamics classic, medical answers.

From an empty folder to scores, as an evaluation engineer would type it, with everything that is wrong with the data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotator.cli import main

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")


class Console:
    """Runs commands on one workspace; `said` and `complained` are what the last one printed."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._home, self._capsys = home, capsys
        self.said = self.complained = ""

    def __call__(self, *arguments: object, code: int = 0) -> Any:
        """Run a command, expect its exit code, and return its JSON, if it printed any."""
        found = main(["--home", str(self._home), "--who", "rosa", *map(str, arguments)])
        self.said, self.complained = self._capsys.readouterr()
        assert found == code, self.complained
        return json.loads(self.said) if "--json" in arguments and self.said else None


@pytest.fixture
def console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Console:
    made = Console(tmp_path / "home", capsys)
    made("init")
    return made


def baselines(console: Console, folder: Path, *, depth: int) -> tuple[Path, Path]:
    """Write the baseline in both forms."""
    trace, trec = folder / "baseline.jsonl", folder / "baseline.trec"
    for path in (trace, trec):
        console("baseline", "-o", path, "--depth", depth, "--json")
    return trace, trec


def scored(console: Console, gold: object, run: Path, *options: str) -> Any:
    """Evaluate at 10 and return the run's part of the result; the run is in order, so nothing is warned about."""
    result = console("evaluate", "--gold", gold, "--run", run, "-k", "10", "--json", *options)
    assert "another order" not in console.complained
    return result["runs"][0]


def test_cranfield_from_an_empty_folder_to_the_same_score_by_every_way(
    shared: Path, tmp_path: Path, console: Console
) -> None:
    folder = shared / "corpora" / "cranfield"
    console("connect", folder / "chunks.jsonl")
    assert console("sync", "--json")["total"] == 1400
    assert console("import", "queries", folder / "queries.jsonl", "--json")["added"] == 225
    # the collection's own scale: 1 is best, -1 is no interest
    own_scale = [part for pair in ("1=3", "2=2", "3=1", "4=1", "-1=0") for part in ("--map-grade", pair)]
    arguments = ("import", "judgments", folder / "qrels_raw.tsv", "--annotator", "cleverdon")
    console(*arguments, "--json", code=2)
    assert "'4' (" in console.complained
    assert "'-1' (225)" in console.complained
    assert console(*arguments, *own_scale, "--json")["added"] == 1837
    assert console(*arguments, *own_scale, "--json")["unchanged"] == 1837
    released = console("release", "--name", "cranfield", "--json")
    assert (released["counts"]["queries"], released["counts"]["judged_pairs"]) == (225, 1837)

    trace, trec = baselines(console, tmp_path, depth=100)
    means = [scored(console, gold, run)["measures"] for gold in (1, folder / "qrels.tsv") for run in (trace, trec)]
    assert means[0] == means[1] == means[2] == means[3]
    # that this is above a plain BM25 is held by tests/search/test_quality.py
    assert means[0]["nDCG@10"] > 0.37


def test_xquad_finds_the_answer_in_every_language(shared: Path, tmp_path: Path, console: Console) -> None:
    folder = shared / "corpora" / "xquad_12lang"
    console("connect", folder / "chunks.jsonl")
    assert console("sync", "--json")["total"] == 2880
    assert console("import", "queries", folder / "queries.jsonl", "--facet", "lang", "--json")["added"] == 14280
    judged = console("import", "judgments", folder / "qrels.tsv", "--annotator", "xquad", "--json")
    assert judged["added"] == 14280
    assert console("release", "--name", "xquad", "--json")["counts"]["queries"] == 14280

    trace = tmp_path / "baseline.jsonl"  # the other form says the same: that is held with the other collections
    console("baseline", "-o", trace, "--depth", 10, "--json")
    found = scored(console, 1, trace, "--by", "lang")
    rates = {one["value"]: one["measures"]["Success@10"] for one in found["slices"]}
    assert tuple(sorted(rates)) == LANGUAGES
    assert {one["n"] for one in found["slices"]} == {1190}
    assert min(rates.values()) >= 0.90, rates
    assert sum(rates.values()) / len(rates) >= 0.95, rates
    assert scored(console, folder / "qrels.tsv", trace)["measures"] == found["measures"]


def test_medquad_is_taken_only_once_it_is_said_which_of_its_doubles_count(
    shared: Path, tmp_path: Path, console: Console
) -> None:
    folder = shared / "corpora" / "medquad_liveqa"
    console("connect", folder / "chunks.jsonl")
    console("sync", code=2)
    assert "8 faults" in console.complained
    assert "--duplicates" in console.complained
    assert console("status", "--json")["chunks"] == 0
    synced = console("sync", "--duplicates", "first", "--json")
    assert (synced["total"], synced["repeated"], synced["empty"]) == (47407, 34, 29545)

    assert console("import", "queries", folder / "queries.jsonl", "--json")["added"] == 104
    arguments = ("import", "judgments", folder / "qrels.tsv", "--annotator", "liveqa", "--json")
    console(*arguments, code=2)
    assert "168 faults" in console.complained
    assert "--conflicts" in console.complained
    assert console("status", "--json")["judgments"] == 0
    assert console(*arguments, "--conflicts", "highest")["added"] == 2311

    console("release", "--name", "medquad", code=2)  # of seven questions no answer is even related
    assert "7 things block" in console.complained
    released = console("release", "--name", "medquad", "--allow-open", "--json")
    assert (released["counts"]["queries"], len(released["left_out"])) == (96, 7)  # one was never judged

    trace, trec = baselines(console, tmp_path, depth=10)
    first, second = (scored(console, 1, run) for run in (trace, trec))
    assert first["measures"] == second["measures"]
    assert first["counts"]["judged"] == 96
    assert first["counts"]["not_in_gold"] == 8
    console("evaluate", "--gold", folder / "qrels.tsv", "--run", trec, code=2)
    assert "conflicting judgments" in console.complained
