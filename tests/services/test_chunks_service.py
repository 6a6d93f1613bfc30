"""Reading the copy of the chunk table: its state, and judged chunks that drifted."""

from __future__ import annotations

import json
from pathlib import Path

from annotator.services import chunk_table, chunks
from annotator.services.chunks import Document, Drifted
from annotator.store.database import Workspace
from tests.conftest import HANDBOOK
from tests.services.test_preview import grade


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


def test_changed_and_vanished_chunks_that_were_judged_are_drift(workspace: Workspace, tmp_path: Path) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#1": 1, "refunds-v4#2": 3, "travel#1": 0})
    grade(workspace, "Ana", "q2", {"refunds-v4#1": 3})
    assert chunks.drifted(workspace) == []
    names = ("chunk_id", "doc_id", "title", "position", "text")
    rows = [dict(zip(names, row, strict=True)) for row in HANDBOOK if row[0] not in ("refunds-v4#2", "errors#1")]
    rows[0]["text"] = "Refunds are paid within 7 days."
    (tmp_path / "handbook.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    chunk_table.sync(workspace, "Ana")
    assert chunks.drifted(workspace) == [
        Drifted("refunds-v4#1", "refunds-v4", True, ("q1", "q2")),
        Drifted("refunds-v4#2", "refunds-v4", False, ("q1",)),
    ]
