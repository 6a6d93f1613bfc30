"""How fresh a stored run's answers are, and how far its retriever reaches."""

from __future__ import annotations

import json

import pytest

from annotator.metrics.evaluation import Evaluation
from annotator.services import chunk_table, diagnosis, importing, preview
from annotator.services.importing import import_judgments
from annotator.store.database import Workspace

JUDGMENTS = b"""query_id,chunk_id,annotator,grade
q1,refunds-v4#2,Ana,3
q1,refunds-v4#3,Ana,1
q2,refunds-v4#1,Ana,3
"""


@pytest.fixture
def judged(workspace: Workspace) -> Workspace:
    import_judgments(workspace, "Ana", ("j.csv", JUDGMENTS))
    return workspace


def scored(workspace: Workspace, rows: list[dict[str, object]], cuts: tuple[int, ...] = (2,)) -> Evaluation:
    lines = "\n".join(map(json.dumps, rows)).encode()
    importing.import_run(workspace, "Ana", ("run.jsonl", lines), name="run")
    (run,) = preview.stored_runs(workspace)
    return preview.score(workspace, preview.yardstick(workspace), run, cuts)


def test_chunks_that_left_the_table_or_were_judged_with_another_text_are_counted_by_question(
    judged: Workspace,
) -> None:
    table = judged.home.parent / "handbook.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    found = scored(
        judged,
        [
            {"query_id": "q1", "results": ["refunds-v4#2", "nowhere#1", "travel#1"]},
            {"query_id": "q2", "results": ["errors#1", "travel#2", "nowhere#1"]},
        ],
    )
    before = diagnosis.freshness(judged, found)
    assert (before.gone, before.changed) == (frozenset({"nowhere#1"}), frozenset())
    assert (before.gone_rate, before.changed_rate) == (0.5, 0.0)  # the third place of q2 is beyond the cut-off
    for row in rows:
        if row["chunk_id"] == "refunds-v4#2":
            row["text"] += " Or the board."
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    frozen = found  # the labels as they were before the change
    chunk_table.sync(judged, "Ana")
    after = diagnosis.freshness(judged, frozen)
    assert (after.changed, after.changed_rate) == (frozenset({"refunds-v4#2"}), 0.5)
    stale = [one for one in diagnosis.findings(frozen, after) if one.kind == "stale"]
    assert [(one.query_id, one.chunk_ids) for one in stale] == [("q1", ("refunds-v4#2", "nowhere#1"))]


def test_reach_looks_at_the_top_far_down_and_among_the_candidates(judged: Workspace) -> None:
    found = scored(
        judged,
        [
            {"query_id": "q1", "results": ["x", "refunds-v4#2"], "candidates": ["x", "refunds-v4#2", "refunds-v4#3"]},
            {"query_id": "q2", "results": ["refunds-v4#1"], "candidates": ["refunds-v4#1"]},
        ],
        (1, 50),
    )
    reach = diagnosis.reach(found)
    # q1 has none, one, both of two; q2 has its only one everywhere
    assert (reach.near, reach.far, reach.candidates) == (0.5, 0.75, 1.0)
    assert preview.depth(found) == 2


def test_without_candidates_in_the_trace_nothing_is_said_of_them(judged: Workspace) -> None:
    found = scored(judged, [{"query_id": "q1", "results": ["refunds-v4#2"]}])
    assert diagnosis.reach(found).candidates is None
