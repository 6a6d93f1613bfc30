"""Guessing columns from their names."""

from __future__ import annotations

import pytest

from annotator.tables.columns import describe, guess, path, remaining
from annotator.tables.table import Column, Columns


def _columns(*names: str) -> list[Column]:
    return [Column(name, "text") for name in names]


@pytest.mark.parametrize(
    ("names", "chunk_id", "text", "doc_id"),
    [
        (("id", "content", "metadata", "embedding"), "id", "content", ""),
        (("id", "collection_id", "document", "cmetadata"), "id", "document", ""),
        (("id", "text", "node_id", "ref_doc_id"), "node_id", "text", "ref_doc_id"),
        (("langchain_id", "content"), "langchain_id", "content", ""),
        (("Chunk ID", "Body", "Document-ID"), "Chunk ID", "Body", "Document-ID"),
        (("chunkId", "pageContent", "docId"), "chunkId", "pageContent", "docId"),
        (("id", "text", "document"), "id", "text", "document"),
        (("id", "document", "source"), "id", "document", "source"),
        (("name", "value"), "", "", ""),
    ],
)
def test_usual_names_are_found(names: tuple[str, ...], chunk_id: str, text: str, doc_id: str) -> None:
    mapping, _ = guess(_columns(*names), {})
    assert (mapping.chunk_id, mapping.text, mapping.doc_id) == (chunk_id, text, doc_id)


def test_no_column_is_taken_twice_and_what_is_given_is_taken_first() -> None:
    mapping, reasons = guess(_columns("id", "text", "title", "position"), {"chunk_id": "title", "position": ""})
    assert mapping == Columns("title", "text", "", "", "")
    assert reasons["chunk_id"] == "as you said"


def test_vectors_objects_and_blobs_are_no_texts() -> None:
    rows = [{"id": 1, "text": b"\0", "content": [0.5, 0.25], "document": {"a": 1}, "body": "[0.5, 0.25]", "chunk": "x"}]
    columns = describe(rows[0], rows)
    assert [column.kind for column in columns] == ["number", "blob", "vector", "object", "vector", "text"]
    assert guess(columns, {})[0].text == "chunk"


def test_a_text_that_begins_with_a_reference_is_no_vector() -> None:
    assert describe(["text"], [{"text": "[1] Smith, 2020"}, {"text": "[2, 3]"}])[0].kind == "text"


def test_a_position_has_to_look_like_one() -> None:
    assert guess([Column("index", "text", "appendix"), Column("ord", "text", "3")], {})[0].position == "ord"


def test_keys_of_a_metadata_object_come_after_columns() -> None:
    rows = [{"id": "a", "text": "t", "metadata": {"doc_id": "d", "title": "inner", "id": "x"}, "title": "outer"}]
    columns = describe(rows[0], rows)
    assert guess(columns, {})[0] == Columns("id", "text", "metadata.doc_id", "title")


def test_a_column_whose_own_name_has_a_dot_is_itself() -> None:
    rows = [{"id": "a", "text": "t", "metadata.doc_id": "d"}]
    columns = describe(rows[0], rows)
    assert path("metadata.doc_id", columns) == ("metadata.doc_id",)
    assert path("metadata.other", columns) == ()


def test_what_remains_leaves_out_keys_and_the_librarys_own_copies() -> None:
    rows = [{"id": 7, "node_id": "a", "text": "t", "page": 3, "_node_content": "{}", "vector": [0.1, 0.2]}]
    columns = describe(rows[0], rows)
    assert remaining(columns, guess(columns, {})[0]) == ["page"]
