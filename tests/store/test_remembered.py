"""The partial mirror: what was looked at, kept beside syncs that run meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.store import corpus, remembered
from annotator.store.database import Workspace
from annotator.store.sync import SourceRow, staging


@pytest.fixture
def made(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "workspace")
    workspace.create()
    return workspace


def row(chunk_id: str, text: str, position: int | None = None) -> SourceRow:
    content = "\0".join((chunk_id, "d", "", str(position), "{}", text)).encode()
    return (1, chunk_id, text, "d", "", position, "{}", content)


def texts(workspace: Workspace) -> dict[str, str]:
    with workspace.read() as connection:
        return {one: chunk.text for one, chunk in corpus.changes(connection, 0) if chunk}


def test_what_is_remembered_counts_for_the_next_sync(made: Workspace) -> None:
    with staging(made, "refuse") as staged:
        staged.apply("table", "Ana")
    with made.read() as connection:
        before = corpus.generation(connection)
    remembered.remember(made, [row("a", "one"), row("a", "other"), row("b", "two")])
    with made.read() as connection:
        assert {one for one, _ in corpus.changes(connection, before)} == {"a", "b"}
        assert remembered.missing(connection, ["b", "c", "c"]) == ["c"]
    assert texts(made) == {"a": "one", "b": "two"}


def test_what_stands_as_it_is_costs_no_write(made: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered.remember(made, [row("a", "one")], whole="d")
    monkeypatch.setattr(Workspace, "write", lambda _: pytest.fail("nothing differs"))
    remembered.remember(made, [row("a", "one")], whole="d")


def test_a_document_without_places_is_in_the_order_of_the_table(made: Workspace) -> None:
    remembered.remember(made, [row("c", "three")])
    remembered.remember(made, [row("a", "one"), row("b", "two"), row("c", "three")], whole="d")
    with made.read() as connection:
        assert [one.chunk_id for one in corpus.document(connection, "d")] == ["a", "b", "c"]
        assert remembered.whole_documents(connection) == ["d"]


def test_chunks_looked_at_while_a_sync_runs_are_neither_lost_nor_doubled(made: Workspace) -> None:
    remembered.remember(made, [row("a", "one"), row("b", "two")])
    with staging(made, "first") as staged:
        remembered.remember(made, [row("c", "three"), row("d", "four")])
        staged.add([row("a", "one")])
        staged.add([row("c", "three"), row("e", "five")])
        remembered.remember(made, [row("e", "five"), row("a", "one again")])
        result = staged.apply("table", "Ana")
    assert texts(made) == {"a": "one again", "c": "three", "d": "four", "e": "five"}
    assert result.removed == 1
