"""Making a workspace: complete or not at all, never over something, and the demo as its README describes it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from annotator.errors import AnnotatorError, Conflict
from annotator.model import Person
from annotator.services import chunk_table, connected, demo, overview, workspace
from annotator.services.workspace import Workspace, default_home, find_workspace, init, project_root
from annotator.store import people, runs, settings


def everyone(made: Workspace) -> list[Person]:
    with made.read() as connection:
        return people.everyone(connection)


def test_a_new_workspace_has_its_maker_as_admin(tmp_path: Path) -> None:
    made = init(tmp_path / "deep" / "home", who="ana")
    made.open()
    assert everyone(made) == [Person("ana", "admin")]
    assert sorted(entry.name for entry in made.home.iterdir()) == [".init.lock", "annotator.db"]


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    made = init(tmp_path / "home", who="ana")
    before = made.database.read_bytes()
    with pytest.raises(Conflict, match="already"):
        init(made.home, who="ben", demo=True)
    assert made.database.read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")
    with pytest.raises(Conflict, match="not empty"):
        init(tmp_path / "other", who="ana")


def test_a_failure_leaves_no_workspace_and_the_next_try_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AnnotatorError("the demo is broken")

    with monkeypatch.context() as patch:
        patch.setattr(demo, "fill", fail)
        with pytest.raises(AnnotatorError, match="broken"):
            init(tmp_path / "home", who="ana", demo=True)
    assert not Workspace(tmp_path / "home").exists
    init(tmp_path / "home", who="ana")


def test_the_demo_holds_what_its_readme_says(tmp_path: Path) -> None:
    made = init(tmp_path / "home", who="ana", demo=True)
    found = overview.status(made)
    assert {
        name: found[name] for name in ("chunks", "judgments", "judged_pairs", "annotators", "disputes", "drift")
    } == {
        "chunks": 275,
        "judgments": 480,
        "judged_pairs": 328,
        "annotators": 3,
        "disputes": 2,
        "drift": 0,
    }
    assert found["queries"] == {"draft": 0, "open": 6, "complete": 20, "disputed": 2, "retired": 0}
    roles = {person.name: person.role for person in everyone(made)}
    assert roles == {
        "ana": "admin",
        "Ana Kovač": "annotator",
        "Jonas Lindqvist": "annotator",
        "Mei Tanaka": "annotator",
        "Ruth Okafor": "reviewer",
    }
    with made.read() as connection:
        assert [one.name for one in runs.all_runs(connection)] == ["hybrid", "dense", "bm25"]
        assert settings.get(connection, "rubric")["version"] == 1


def test_the_demo_finds_its_chunk_table_after_the_checkout_was_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = init(tmp_path / "home", who="ana", demo=True)
    moved = tmp_path / "elsewhere"
    shutil.copytree(project_root() / "data" / "demo", moved / "data" / "demo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connected, "project_root", lambda: moved)
    assert chunk_table.sync(made, "ana").unchanged == 275
    (moved / "data" / "demo" / "chunks.db").unlink()
    with pytest.raises(AnnotatorError, match="elsewhere"):
        chunk_table.sync(made, "ana")


def test_nothing_of_the_demo_names_a_place_on_this_machine(tmp_path: Path) -> None:
    made = init(tmp_path / "home", who="ana", demo=True)
    with made.read() as connection:
        assert str(project_root()) not in json.dumps(settings.get(connection, "table"))


def test_the_app_finds_the_workspace_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATOR_HOME", str(tmp_path / "named"))
    assert find_workspace().home == tmp_path / "named"
    monkeypatch.delenv("ANNOTATOR_HOME")
    assert find_workspace().home == default_home() == project_root() / "data" / "workspace"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(AnnotatorError, match="cannot be made"):
        workspace.init(tmp_path / "home", who="ana")
