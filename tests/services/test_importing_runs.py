"""Importing runs: any form, once, with what is unknown told."""

from __future__ import annotations

import pytest

from annotator.errors import Conflict, InputError
from annotator.services.importing import import_run
from annotator.services.workspace import Workspace
from annotator.store import runs

TRACE = (
    b'{"run": {"name": "hybrid", "index_version": "7"}}\n'
    b'{"query_id": "q1", "results": ["errors#1", "gone"], "latency_ms": 12}\n'
    b'{"query_id": "other", "results": ["errors#1"]}\n'
)


def test_a_run_is_kept_with_what_it_says_of_itself_and_what_is_said_of_it(workspace: Workspace) -> None:
    report = import_run(workspace, "Ana", ("r.jsonl", TRACE), name="h", meta={"reranker": "none"})
    assert (report.added, report.unchanged) == (2, 0)
    assert report.warnings[-2:] == (
        "1 of 2 queries are not questions of this workspace: other.",
        "1 of 2 chunk ids are not in the chunk table: gone.",
    )
    with workspace.read() as connection:
        stored = runs.run(connection, "h")
    assert stored.meta == {"name": "hybrid", "index_version": "7", "reranker": "none"}
    assert stored.queries["q1"].chunk_ids == ("errors#1", "gone")


def test_the_same_run_again_changes_nothing_and_another_under_its_name_is_refused(workspace: Workspace) -> None:
    import_run(workspace, "Ana", ("r.jsonl", TRACE), name="h")
    assert import_run(workspace, "Ana", ("r.jsonl", TRACE), name="h").unchanged == 2
    for dry_run in (True, False):
        with pytest.raises(Conflict, match="another run"):
            import_run(workspace, "Ana", ("r.jsonl", TRACE.replace(b"12", b"13")), name="h", dry_run=dry_run)


def test_a_dry_run_stores_nothing(workspace: Workspace) -> None:
    assert import_run(workspace, "Ana", ("r.jsonl", TRACE), name="h", dry_run=True).added == 2
    with workspace.read() as connection:
        assert runs.all_runs(connection) == []


@pytest.mark.parametrize(
    ("data", "name", "told"), [(b"", "h", "empty"), (b"q1 Q0\n", "h", "columns"), (TRACE, "a\nb", "this name")]
)
def test_what_cannot_be_a_run_is_refused(workspace: Workspace, data: bytes, name: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        import_run(workspace, "Ana", ("r", data), name=name)
