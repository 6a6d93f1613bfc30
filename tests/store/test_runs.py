"""Stored runs: whole, by name, one query at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.errors import Conflict, NotFound
from annotator.model import Run, RunQuery
from annotator.store import runs
from annotator.store.database import Workspace

TRACED = RunQuery(
    "q 1/é",
    ("007", "a#b", "文"),
    (3.5, 1.0, 0.1 + 0.2),
    candidates=("x",),
    filtered_out=(("y", "tenant"), ("z", "")),
    trace={"latency_ms": 12, "filters": {"tenant": ["a"]}, "timed_out": False},
)
RUN = Run("bm25", {"q 1/é": TRACED, "q2": RunQuery("q2")}, {"index_version": "7"}, "d1")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "home")
    made.create()
    return made


def test_a_run_comes_back_as_it_was(workspace: Workspace) -> None:
    with workspace.write() as connection:
        assert runs.add(connection, RUN, "ana")
    with workspace.read() as connection:
        assert runs.run(connection, "bm25") == RUN
        assert runs.run_query(connection, "bm25", "q 1/é") == TRACED
        assert runs.run_query(connection, "bm25", "q9") is None
        (info,) = runs.all_runs(connection)
    assert (info.name, info.digest, info.added_by, info.queries) == ("bm25", "d1", "ana", 2)


def test_the_same_run_again_changes_nothing_and_another_under_its_name_is_refused(workspace: Workspace) -> None:
    with workspace.write() as connection:
        runs.add(connection, RUN, "ana")
        assert not runs.add(connection, RUN, "ana")
        with pytest.raises(Conflict, match="another run"):
            runs.add(connection, Run("bm25", {}, {}, "d2"), "ana")


def test_an_unknown_run_is_answered_with_those_there_are(workspace: Workspace) -> None:
    with workspace.write() as connection:
        with pytest.raises(NotFound, match="No run was imported"):
            runs.run(connection, "dense")
        runs.add(connection, RUN, "ana")
        with pytest.raises(NotFound, match="There are: bm25"):
            runs.run_query(connection, "dense", "q1")
