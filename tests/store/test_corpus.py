"""Looking chunks, documents and ids up in the mirror, and what changed since a sync."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.errors import NotFound
from annotator.model import Chunk, text_hash
from annotator.store import corpus
from annotator.store.database import Workspace

POLICY = [
    Chunk("policy#2", "third", "policy", "Ends", 2, {"lang": "en", "version": 2}),
    Chunk("policy#0", "first", "policy", "Refunds", 0, {"lang": "en", "version": 1}),
    Chunk("policy#1", "second", "policy", "Who", 1, {"lang": "de", "draft": True}),
    Chunk("alone", "no document"),
    Chunk("faq#1", "first", "faq", "Questions", None, {"deep": {"a": [1]}, "lang": "en"}),
    Chunk("faq#2", "", "faq"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "workspace")
    made.create()
    return made


@pytest.fixture(autouse=True)
def _filled(mirror) -> None:
    mirror(POLICY)


def test_a_chunk_comes_back_as_it_was(workspace: Workspace) -> None:
    with workspace.read() as connection:
        assert [corpus.chunk(connection, chunk.chunk_id) for chunk in POLICY] == POLICY
        assert corpus.count(connection) == 6


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("policy#9", "policy#0, policy#1, policy#2"),
        ("policy", "policy#0, policy#1, policy#2"),
        (" alone ", "alone"),
        ("LICY#1", "policy#1"),
        ("q#2", "faq#2"),
    ],
)
def test_an_unknown_id_is_refused_with_near_ones(typed: str, near: str, workspace: Workspace) -> None:
    with workspace.read() as connection, pytest.raises(NotFound) as caught:
        corpus.chunk(connection, typed)
    assert caught.value.hint == f"Near: {near}."


@pytest.mark.parametrize("typed", ["", " ", "nothing of the kind", "%", "_"])
def test_an_id_with_nothing_near_says_so(typed: str, workspace: Workspace) -> None:
    with workspace.read() as connection, pytest.raises(NotFound, match="No id looks like it"):
        corpus.chunk(connection, typed)


def test_any_number_of_chunks_is_looked_up_and_missing_ones_are_left_out(workspace: Workspace) -> None:
    with workspace.read() as connection:
        asked = [f"missing {number}" for number in range(40_000)] + ["alone", "faq#2", "alone"]
        assert corpus.chunks(connection, asked) == {"alone": POLICY[3], "faq#2": POLICY[5]}
        assert corpus.chunks(connection, iter(())) == {}


def test_a_document_is_in_order_of_position_then_arrival(workspace: Workspace) -> None:
    with workspace.read() as connection:
        assert [chunk.chunk_id for chunk in corpus.document(connection, "policy")] == [
            "policy#0",
            "policy#1",
            "policy#2",
        ]
        assert [chunk.chunk_id for chunk in corpus.document(connection, "faq")] == ["faq#1", "faq#2"]
        assert corpus.document(connection, "") == corpus.document(connection, "none") == []


def test_browsing_pages_through_everything_once(workspace: Workspace) -> None:
    seen, after = [], 0
    with workspace.read() as connection:
        while page := corpus.browse(connection, after_row=after, limit=4):
            seen += [chunk for _, chunk in page]
            after = page[-1][0]
        assert seen == POLICY


def test_documents_come_with_the_title_of_their_first_chunk(workspace: Workspace) -> None:
    with workspace.read() as connection:
        assert corpus.documents(connection) == [("faq", "Questions", 2), ("policy", "Refunds", 3)]
        assert corpus.documents(connection, after="faq", limit=1) == [("policy", "Refunds", 3)]
        assert corpus.documents(connection, after="policy") == []


def test_ids_that_begin_alike_come_with_the_exact_one_first(workspace: Workspace, mirror) -> None:
    ids = ["a", "a/1", "a/2", "A", "b", "ä", "a\U0001f642", "a%", "a_"]
    mirror([Chunk(chunk_id, "t") for chunk_id in ids])
    with workspace.read() as connection:
        assert corpus.ids_like(connection, "a", 9) == ["a", "a%", "a/1", "a/2", "a_", "a\U0001f642"]
        assert corpus.ids_like(connection, "a/", 1) == ["a/1"]
        assert corpus.ids_like(connection, "c", 9) == []


def test_ids_are_found_by_the_hash_of_their_text(workspace: Workspace) -> None:
    first = text_hash("first")
    with workspace.read() as connection:
        assert corpus.ids_by_text(connection, [first, text_hash("none")]) == {first: ["policy#0", "faq#1"]}
        assert corpus.ids_by_text(connection, []) == {}


def test_few_valued_metadata_is_offered_for_filters(workspace: Workspace) -> None:
    with workspace.read() as connection:
        assert corpus.metadata_values(connection) == {"draft": ["true"], "lang": ["de", "en"], "version": ["1", "2"]}
    assert [corpus.filter_value(value) for value in ("a", 1, 1.5, True)] == ["a", "1", "1.5", "true"]


def test_changes_tell_what_came_changed_and_went_since_a_generation(workspace: Workspace, mirror) -> None:
    edited = Chunk("alone", "edited")
    mirror([*POLICY[:3], edited, Chunk("new", "t")])
    with workspace.read() as connection:
        assert corpus.generation(connection) == 2
        assert dict(corpus.changes(connection, 1)) == {
            "alone": edited,
            "new": Chunk("new", "t"),
            "faq#1": None,
            "faq#2": None,
        }
        live = {chunk_id: chunk for chunk_id, chunk in corpus.changes(connection, 0) if chunk}
        assert live == {chunk.chunk_id: chunk for chunk in [*POLICY[:3], edited, Chunk("new", "t")]}
        assert list(corpus.changes(connection, 2)) == []


def test_an_id_that_comes_back_is_no_longer_removed(workspace: Workspace, mirror) -> None:
    mirror(POLICY[1:])
    mirror(POLICY)
    with workspace.read() as connection:
        assert dict(corpus.changes(connection, 1)) == {"policy#2": POLICY[0]}


def test_an_empty_workspace_answers(tmp_path) -> None:
    empty = Workspace(tmp_path / "empty")
    empty.create()
    with empty.read() as connection:
        assert corpus.count(connection) == corpus.generation(connection) == 0
        assert list(corpus.changes(connection, 0)) == corpus.browse(connection) == corpus.syncs(connection) == []
        assert corpus.metadata_values(connection) == {}
