"""What is like a chunk: near-duplicates, near by vector, same document; and what is around what somebody found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.errors import InputError, NotFound
from annotator.model import Judgment, Query, text_hash
from annotator.services import chunk_table, live, similar
from annotator.store import judgments, queries
from annotator.store.database import Workspace

TEXT = "Refunds requested later than thirty days after purchase need the approval of the VP Finance in writing."
ROWS = [
    ("v4#0", "policy-v4", 0, "Refund policy, valid from January."),
    ("v4#1", "policy-v4", 1, TEXT),
    ("v4#2", "policy-v4", 2, "Partial refunds are rounded to whole cents."),
    ("v3#1", "policy-v3", 1, TEXT.replace("thirty", "sixty")),
    ("copy", "handout", 0, TEXT),
    ("train", "travel", 0, "Trains are booked in second class."),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    path = tmp_path / "chunks.jsonl"
    path.write_text(
        "".join(
            json.dumps({"chunk_id": one, "doc_id": doc, "position": at, "text": text}) + "\n"
            for one, doc, at, text in ROWS
        )
    )
    made = Workspace(tmp_path / "workspace")
    made.create()
    chunk_table.connect(made, "ana", str(path))
    chunk_table.sync(made, "ana")
    with made.write() as connection:
        queries.add(connection, Query("q", "Who approves late refunds?"), "ana")
    return made


def _judge(workspace: Workspace, chunk_id: str, grade: int) -> None:
    text = next(text for one, _, _, text in ROWS if one == chunk_id)
    with workspace.write() as connection:
        judgments.append(
            connection,
            Judgment("q", chunk_id, "ana", grade, sha256=text_hash(text), operation_id=f"{chunk_id} {grade}"),
        )


def test_the_likest_words_come_first_then_the_document(workspace: Workspace) -> None:
    found = similar.similar(workspace, "v4#1")
    assert found.found == {
        "copy": "the same words",
        "v3#1": "94 % the same words",  # one of 16 words differs
        "v4#0": "same document",
        "v4#2": "same document",
    }
    assert list(found.found) == ["copy", "v3#1", "v4#0", "v4#2"]
    assert found.note == ""
    with pytest.raises(NotFound):
        similar.similar(workspace, "v9")


def test_what_the_table_names_as_near_comes_between_and_only_what_is_here(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "nearest", lambda *_: ["v3#1", "train", "not synced yet"])
    found = similar.similar(workspace, "v4#1").found
    assert list(found.items())[2:4] == [("train", "near by vector"), ("v4#0", "same document")]
    assert found["v3#1"] == "94 % the same words"


def test_vectors_that_cannot_be_had_are_told_and_the_rest_is_there(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> list[str]:
        raise InputError("The database did not answer in time.")

    monkeypatch.setattr(live, "nearest", refuse)
    found = similar.similar(workspace, "v4#1")
    assert len(found.found) == 4
    assert found.note == "Nearest by vector is not to be had: The database did not answer in time."


def test_neighbours_are_near_duplicates_of_what_is_relevant_then_its_documents(workspace: Workspace) -> None:
    assert similar.neighbours(workspace, "ana", "q") == {}
    _judge(workspace, "train", 0)
    assert similar.neighbours(workspace, "ana", "q") == {}
    _judge(workspace, "v4#1", 3)
    assert list(similar.neighbours(workspace, "ana", "q").items()) == [
        ("copy", "the same words"),
        ("v3#1", "94 % the same words"),
        ("v4#0", ""),
        ("v4#2", ""),
    ]
    _judge(workspace, "copy", 3)
    found = similar.neighbours(workspace, "ana", "q")
    assert "copy" not in found
    assert "v4#1" not in found
    assert similar.neighbours(workspace, "ben", "q") == {}
