"""Comparing the live table with the mirror: counts, double ids, interruption, and two at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.errors import Conflict, StoreError
from annotator.model import Chunk
from annotator.store import corpus, sync_apply
from annotator.store.database import Workspace
from annotator.store.sync import staging

from .conftest import source_row

CHUNKS = [Chunk(f"c{number}", f"text {number}", "d", "T", number, {"n": number}) for number in range(10)]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace")
    made.create()
    return made


def _counts(result) -> tuple[int, int, int, int, int]:
    return (result.added, result.changed, result.removed, result.unchanged, result.total)


def _mirrored(workspace: Workspace) -> dict[str, Chunk]:
    with workspace.read() as connection:
        return {chunk.chunk_id: chunk for _, chunk in corpus.browse(connection, limit=1_000)}


def test_what_is_new_changed_gone_and_the_same_is_counted(workspace: Workspace, mirror) -> None:
    assert _counts(mirror(CHUNKS)) == (10, 0, 0, 0, 10)
    assert _counts(mirror(CHUNKS)) == (0, 0, 0, 10, 10)
    edited = [replace(CHUNKS[0], text="other"), *CHUNKS[2:], Chunk("new", "t")]
    assert _counts(mirror(edited)) == (1, 1, 1, 8, 10)
    assert _mirrored(workspace) == {chunk.chunk_id: chunk for chunk in edited}
    assert _counts(mirror([])) == (0, 0, 10, 0, 0)


@pytest.mark.parametrize(
    "change", [{"text": "x"}, {"doc_id": "x"}, {"title": "x"}, {"position": None}, {"metadata": {"n": "0"}}]
)
def test_a_change_of_any_field_is_a_change(change: dict[str, object], workspace: Workspace, mirror) -> None:
    mirror(CHUNKS)
    edited = replace(CHUNKS[0], **change)
    assert _counts(mirror([edited, *CHUNKS[1:]])) == (0, 1, 0, 9, 10)
    assert _mirrored(workspace)["c0"] == edited


def test_the_order_of_the_table_does_not_matter(mirror) -> None:
    mirror(CHUNKS)
    assert _counts(mirror(CHUNKS[::-1])) == (0, 0, 0, 10, 10)


@pytest.mark.parametrize("apart", [0, 5])
@pytest.mark.parametrize("known", ["none", "first", "second"])
def test_of_an_id_with_two_texts_the_chosen_row_counts(apart: int, known: str, workspace: Workspace, mirror) -> None:
    first, second = Chunk("x", "one"), Chunk("x", "two")
    table = [first, *CHUNKS[:apart], second]
    if known != "none":
        mirror([first if known == "first" else second, *CHUNKS[:apart]])
    for choice, kept in (("first", first), ("last", second)):
        result = mirror(table, choice)
        assert _mirrored(workspace)["x"] == kept
        assert (result.repeated, result.total) == (1, apart + 1)
        assert _counts(mirror(table, choice)) == (0, 0, 0, apart + 1, apart + 1)


@pytest.mark.parametrize("apart", [0, 5])
@pytest.mark.parametrize("known", [None, "one", "two", "other"])
def test_an_id_with_two_texts_is_a_conflict_wherever_it_stands(
    apart: int, known: str | None, workspace: Workspace, mirror
) -> None:
    if known:
        mirror([Chunk("x", known)])
    table = [Chunk("x", "one"), *CHUNKS[:apart], Chunk("x", "one", "d"), Chunk("x", "two")]
    with staging(workspace, "refuse") as gathered:
        for place, chunk in enumerate(table, 1):
            gathered.add([source_row(place, chunk)])
    assert gathered.conflicts == {"x"}


def test_an_id_repeated_with_the_same_text_is_one_chunk(workspace: Workspace, mirror) -> None:
    result = mirror([*CHUNKS, *CHUNKS, replace(CHUNKS[0], title="another title")])
    assert (result.added, result.repeated) == (10, 11)
    assert _mirrored(workspace)["c0"] == CHUNKS[0]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz"))), min_size=1, max_size=4))
def test_whatever_came_before_the_mirror_equals_the_last_table(workspace: Workspace, mirror, tables) -> None:
    for table in tables:
        before = _mirrored(workspace)
        result = mirror([Chunk(chunk_id, text) for chunk_id, text in table], "last")
        expected = {chunk_id: Chunk(chunk_id, text) for chunk_id, text in table}
        assert _mirrored(workspace) == expected
        assert result.added == len(expected.keys() - before.keys())
        assert result.removed == len(before.keys() - expected.keys())
        assert result.unchanged == sum(before.get(chunk_id) == chunk for chunk_id, chunk in expected.items())
        assert result.total == result.added + result.changed + result.unchanged == len(expected)


def test_one_sync_at_a_time(workspace: Workspace, mirror) -> None:
    with staging(workspace, "refuse"), pytest.raises(Conflict, match="running already"):
        mirror(CHUNKS)
    assert mirror(CHUNKS).added == 10


def test_nothing_is_written_before_apply_and_nothing_is_left_behind(workspace: Workspace) -> None:
    with staging(workspace, "refuse") as gathered:
        gathered.add([source_row(1, CHUNKS[0])])
    with workspace.read() as connection:
        assert corpus.count(connection) == 0
        assert corpus.syncs(connection) == []
    assert not list(workspace.home.glob(".sync-staging*"))


def test_an_interrupted_sync_is_completed_by_the_next(
    workspace: Workspace, mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror(CHUNKS)
    edited = [replace(chunk, text="new") for chunk in CHUNKS[2:]]

    def die(written: object) -> None:
        raise StoreError("the power went")

    with monkeypatch.context() as broken:
        broken.setattr(sync_apply, "few_valued", die)
        with pytest.raises(StoreError):
            mirror(edited)
    with workspace.read() as connection:
        assert corpus.generation(connection) == 1
        assert corpus.syncs(connection)[0].finished_at is None
    assert _counts(mirror(edited)) == (0, 0, 0, 8, 8)
    with workspace.read() as connection:
        assert corpus.generation(connection) == 3
        # Whoever followed generation 1 learns of everything, though the third sync found nothing to do.
        assert dict(corpus.changes(connection, 1)) == {
            "c0": None,
            "c1": None,
            **{chunk.chunk_id: chunk for chunk in edited},
        }


def test_a_sync_is_recorded_with_who_and_what(workspace: Workspace, mirror) -> None:
    mirror(CHUNKS)
    with workspace.read() as connection:
        (sync,) = corpus.syncs(connection)
    assert (sync.who, sync.source, sync.added, sync.total) == ("ann", "test", 10, 10)
    assert sync.started_at <= str(sync.finished_at)
