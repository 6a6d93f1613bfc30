"""Where chunks stand in their documents, also in a document of many."""

from __future__ import annotations

from pathlib import Path

from annotator.model import Chunk
from annotator.store import corpus, documents
from annotator.store.database import Workspace
from annotator.store.sync import staging

# in the order of the table; the one without a position comes first in its document
ROWS = [("b", "d", 2), ("a", "d", 1), ("none", "d", None), ("c", "d", 2), ("alone", "e", 0), ("free", "", None)]


def _made(folder: Path) -> Workspace:
    workspace = Workspace(folder / "documents")
    workspace.create()
    with staging(workspace, "refuse") as staged:
        staged.add([(at, one, one, doc, "", place, "{}", one.encode()) for at, (one, doc, place) in enumerate(ROWS)])
        staged.apply("test", "test")
    return workspace


def test_places_follow_position_then_the_order_of_the_table(tmp_path: Path) -> None:
    with _made(tmp_path).read() as connection:
        chunks = corpus.chunks(connection, [one for one, _, _ in ROWS])
        assert documents.places(connection, [*chunks.values(), Chunk("gone", "", "d")]) == {
            "none": (1, 4),
            "a": (2, 4),
            "b": (3, 4),
            "c": (4, 4),
            "alone": (1, 1),
        }
        assert documents.document_ids(connection, "d") == ["none", "a", "b", "c"]
        assert [corpus.document_length(connection, doc) for doc in ("d", "e", "x", "")] == [4, 1, 0, 0]
        assert [one.chunk_id for one in corpus.document(connection, "d", limit=2, offset=1)] == ["a", "b"]


def test_the_chunks_beside_one_end_where_the_document_does(tmp_path: Path) -> None:
    with _made(tmp_path).read() as connection:
        chunks = corpus.chunks(connection, [one for one, _, _ in ROWS])
        beside = {one: documents.adjacent_ids(connection, chunk) for one, chunk in chunks.items()}
        assert documents.adjacent_ids(connection, Chunk("gone", "", "d")) == ("", "")
    assert beside == {
        "none": ("", "a"),
        "a": ("none", "b"),
        "b": ("a", "c"),
        "c": ("b", ""),
        "alone": ("", ""),
        "free": ("", ""),
    }
