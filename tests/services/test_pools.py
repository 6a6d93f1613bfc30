"""Candidate pools: what is gathered from where, who may know it, and an order that gives nothing away."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from annotator.errors import Forbidden, InputError, NotFound
from annotator.model import Person, Query, Run, RunQuery
from annotator.services import labelling, pools
from annotator.services.labelling import Operation
from annotator.services.pools import Build
from annotator.store import corpus, people, queries, runs
from annotator.store.database import Workspace
from tests.conftest import make_workspace

FOUND = ("refunds-v4#1", "refunds-v4#2", "travel#1", "travel#2", "errors#1", "gone")
OTHER = ("errors#1", "refunds-v3#1")


@pytest.fixture
def ran(workspace: Workspace) -> Workspace:
    """The handbook with two runs and a reviewer."""
    with workspace.write() as connection:
        people.add(connection, Person("Rea", "reviewer"), "Ana")
        runs.add(connection, Run("bm25", {"q1": RunQuery("q1", FOUND)}, digest="d"), "Ana")
        answers = {query_id: RunQuery(query_id, OTHER) for query_id in ("q1", "no question of ours")}
        runs.add(connection, Run("dense", answers, digest="e"), "Ana")
    return workspace


def judge(workspace: Workspace, who: str, chunk_id: str, query_id: str = "q1") -> None:
    with workspace.read() as connection:
        sha256 = corpus.chunk(connection, chunk_id).sha256
    one = Operation(
        id=f"{who}{chunk_id}", kind="judge", who=who, query_id=query_id, chunk_id=chunk_id, sha256=sha256, grade=1
    )
    assert labelling.apply(workspace, who, [one]).acknowledged


def test_without_a_build_the_tops_of_all_runs_are_the_pool(ran: Workspace) -> None:
    found = pools.pool(ran, "Ana", "q1")
    assert sorted(found.ids) == sorted({*FOUND, *OTHER} - {"gone"})
    assert (found.sources, found.depth) == (2, 20)
    assert pools.pool(ran, "Ana", "q2") == pools.Pool((), 0, 0)


def test_the_order_is_everyones_own_and_stays(ran: Workspace) -> None:
    ana = pools.pool(ran, "Ana", "q1").ids
    assert ana == pools.pool(ran, "Ana", "q1").ids
    assert any(ana != pools.pool(ran, who, "q1").ids for who in ("Ben", "Cleo", "Dov"))


def test_a_build_gathers_runs_and_search_for_open_questions(ran: Workspace) -> None:
    told: list[tuple[int, int]] = []
    built = pools.build(
        ran, "Rea", Build(("bm25", "dense"), "words", "", 2), lambda done, total: told.append((done, total))
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert built.questions == 3
    origins = {one.chunk_id: dict(one.origins) for one in pools.origins(ran, "Rea", "q1")}
    assert origins["refunds-v4#1"]["run bm25"] == 1
    assert origins["errors#1"] == {"run dense": 1}
    assert "travel#1" not in origins  # third of its run, and the pool is two deep
    assert any("search by words" in places for places in origins.values())
    found = pools.pool(ran, "Ana", "q1")
    assert (set(found.ids), found.sources, found.depth) == (set(origins), 3, 2)
    assert pools.pool(ran, "Ana", "q3").ids  # no run answers it, the search does


def test_a_further_build_adds_and_keeps_what_was_there(ran: Workspace) -> None:
    first = pools.build(ran, "Rea", Build(("bm25",), "", "", 1))
    assert (first.candidates, first.new) == (1, 1)
    assert pools.build(ran, "Rea", Build(("bm25",), "", "", 1)).new == 0
    second = pools.build(ran, "Rea", Build(("dense",), "", "", 2))
    assert (second.candidates, second.new) == (2, 2)
    assert set(pools.pool(ran, "Ana", "q1").ids) == {"refunds-v4#1", *OTHER}
    with ran.read() as connection:
        assert connection.execute("SELECT COUNT(*) FROM pool_builds").fetchone()[0] == 3
        assert connection.execute("SELECT COUNT(*) FROM pool_entries").fetchone()[0] == 3
        assert connection.execute("SELECT COUNT(*) FROM events WHERE action = 'pool built'").fetchone()[0] == 3


def test_ids_that_are_not_in_the_table_are_left_out_and_told(ran: Workspace) -> None:
    built = pools.build(ran, "Rea", Build(("bm25",), "", "", 20))
    assert built.told == ("Left out: 1 chunk ids that are not in the chunk table.",)
    assert "gone" not in pools.pool(ran, "Ana", "q1").ids


def test_questions_that_are_not_open_are_left_alone(ran: Workspace) -> None:
    with ran.write() as connection:
        queries.add(connection, Query("old", "Refunds?", state="retired"), "Ana")
    assert pools.build(ran, "Rea", Build((), "words", "", 5)).questions == 3
    assert pools.pool(ran, "Ana", "old").ids == ()


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Build((), "", "", 5), "needs a source"),
        (Build((), "semantic", "", 5), "no search mode"),
        (Build((), "words", "", 0), "cannot be 0 deep"),
        (Build((), "", "asked", 5), "No retriever is set"),
    ],
)
def test_what_cannot_be_gathered_is_told(ran: Workspace, wanted: Build, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pools.build(ran, "Rea", wanted)
    with pytest.raises(NotFound, match="no run"):
        pools.build(ran, "Rea", Build(("nothing",), "", "", 5))
    assert pools.last_build(ran) is None


def test_who_grades_never_learns_where_a_candidate_came_from(ran: Workspace) -> None:
    pools.build(ran, "Rea", Build(("bm25",), "", "", 5))
    with pytest.raises(Forbidden, match="may not build pools"):
        pools.origins(ran, "Ben", "q1")
    with pytest.raises(Forbidden, match="may not build pools"):
        pools.sizes(ran, "Ben")
    assert pools.sizes(ran, "Rea") == {"q1": (5, 5)}


def test_what_i_graded_comes_last(ran: Workspace) -> None:
    pools.build(ran, "Rea", Build(("bm25",), "", "", 5))
    first = pools.pool(ran, "Ana", "q1").ids[0]
    judge(ran, "Ana", first)
    assert pools.pool(ran, "Ana", "q1").ids[-1] == first
    assert pools.sizes(ran, "Rea") == {"q1": (5, 4)}


def test_a_colleagues_grade_moves_nothing(ran: Workspace) -> None:
    pools.build(ran, "Rea", Build(("bm25",), "", "", 5))
    before = pools.pool(ran, "Ana", "q1").ids
    judge(ran, "Ben", before[0])
    assert pools.pool(ran, "Ana", "q1").ids == before


def test_holes_come_up_early_and_no_place_tells_which_they_are(ran: Workspace) -> None:
    for chunk_id in ("refunds-v4#1", "travel#1"):
        judge(ran, "Ben", chunk_id)
    pools.build(ran, "Rea", Build(("bm25",), "", "", 5))
    places = [pools.pool(ran, f"person {number}", "q1").ids for number in range(200)]
    judged = [one.index(chunk_id) for one in places for chunk_id in ("refunds-v4#1", "travel#1")]
    holes = [one.index(chunk_id) for one in places for chunk_id in ("refunds-v4#2", "travel#2", "errors#1")]
    assert mean(holes) < mean(judged) - 0.7
    assert set(judged) == set(holes) == set(range(5))  # either kind turns up at every place


def test_near_duplicates_stand_together(tmp_path: Path) -> None:
    said = "Refunds are paid within {} days to the account the money came from, whatever the reason of the return was."
    texts = {"a": said.format(14), "b": "Something else.", "c": said.format(14) + " Always.", "d": said.format(30)}
    made = make_workspace(tmp_path, [(one, "doc", "", at, text) for at, (one, text) in enumerate(texts.items())])
    with made.write() as connection:
        runs.add(connection, Run("r", {"q1": RunQuery("q1", tuple(texts))}, digest="d"), "Ana")
    apart = 0
    for number in range(40):
        ids = pools.pool(made, f"person {number}", "q1").ids
        assert abs(ids.index("a") - ids.index("c")) == 1
        apart += abs(ids.index("a") - ids.index("d")) > 1
    assert apart  # another number makes another text


def test_the_record_of_a_pool_cannot_be_changed(ran: Workspace) -> None:
    import sqlite3

    pools.build(ran, "Rea", Build(("bm25",), "", "", 5))
    for statement in (
        "UPDATE pool_entries SET hole = 0",
        "DELETE FROM pool_entries",
        "INSERT OR REPLACE INTO pool_entries SELECT query_id, chunk_id, origins, build_id, 0 FROM pool_entries",
        "DELETE FROM pool_builds",
        "UPDATE pool_builds SET built_by = 'Ben'",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"), ran.write() as connection:
            connection.execute(statement)
