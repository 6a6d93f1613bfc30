"""Reading the copy of the chunk table: its state and its documents."""

from __future__ import annotations

from pathlib import Path

from annotator.services import chunks
from annotator.services.chunks import Document
from annotator.store.database import Workspace
from tests.conftest import HANDBOOK


def test_the_state_before_and_after_a_table_is_connected(workspace: Workspace, tmp_path: Path) -> None:
    bare = Workspace(tmp_path / "bare")
    bare.create()
    assert chunks.state(bare) == chunks.TableState("", "", 0, None, False)
    known = chunks.state(workspace)
    assert (known.count, known.interrupted) == (len(HANDBOOK), False)
    assert known.last is not None
    assert known.last.added == len(HANDBOOK)


def test_a_sync_that_did_not_finish_is_noticed(workspace: Workspace) -> None:
    with workspace.write() as connection:
        connection.execute("INSERT INTO syncs (started_at, source, who) VALUES ('2026-01-01T00:00:00Z', 'x', 'Ana')")
    assert chunks.state(workspace).interrupted


def test_documents_come_page_by_page(workspace: Workspace) -> None:
    first = chunks.documents(workspace, limit=2)
    assert first == [Document("errors", "Error codes", 1), Document("refunds-v3", "Refund policy v3 (old)", 2)]
    assert [one.doc_id for one in chunks.documents(workspace, after="refunds-v3")] == ["refunds-v4", "travel"]
    assert [one.chunk_id for one in chunks.document(workspace, "refunds-v3")] == ["refunds-v3#1", "refunds-v3#2"]
