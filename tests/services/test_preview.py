"""Scoring stored runs against the labels as they stand and against frozen versions."""

from __future__ import annotations

import json
from math import log2

import pytest

from annotator.errors import Conflict, NotFound
from annotator.services import gold, importing, labelling, preview, questions
from annotator.services.labelling import Operation
from annotator.store import corpus
from annotator.store.database import Workspace


def test_nothing_settled_cannot_be_scored_against(workspace: Workspace) -> None:
    with pytest.raises(Conflict, match="nothing to score against"):
        preview.yardstick(workspace)
    with pytest.raises(NotFound):
        preview.yardstick(workspace, 7)


def test_a_run_is_scored_against_the_labels_as_they_stand(workspace: Workspace) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#2": 3, "refunds-v3#2": 0, "travel#1": 1})
    retrieve(workspace, "first", {"q1": ["travel#1", "errors#1", "refunds-v4#2"]})
    found = score(workspace, preview.NOW, "first")
    # grades 1, hole, 3 against the ideal 3, 1
    assert found.measures["nDCG@5"] == pytest.approx((1 + 3 / 2) / (3 + 1 / log2(3)))
    assert found.measures["RR@10"] == 1.0
    assert found.judged["Judged@10"] == (2, 3)
    assert [one.grade for one in found.ranked("q1")] == [1, None, 3]
    assert [preview.judged(found, 10), preview.judged(found, 2, ["q1"])] == [(2, 3), (1, 2)]


def test_a_new_label_counts_at_once(workspace: Workspace) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#2": 3})
    retrieve(workspace, "first", {"q1": ["travel#1", "refunds-v4#2"]})
    before = score(workspace, preview.NOW, "first").measures["nDCG@5"]
    grade(workspace, "Ana", "q1", {"travel#1": 3})
    assert before == pytest.approx(1 / log2(3))
    assert score(workspace, preview.NOW, "first").measures["nDCG@5"] == 1.0


def test_pairs_in_dispute_are_holes(workspace: Workspace) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#2": 3, "travel#1": 3})
    grade(workspace, "Ben", "q1", {"travel#1": 0})
    retrieve(workspace, "first", {"q1": ["travel#1", "refunds-v4#2"]})
    assert [one.grade for one in score(workspace, preview.NOW, "first").ranked("q1")] == [None, 3]


def test_a_version_keeps_its_verdict_while_the_labels_move_on(workspace: Workspace) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#2": 3})
    retrieve(workspace, "first", {"q1": ["travel#1", "refunds-v4#2"]})
    version = gold.release(workspace, "Ana").version
    grade(workspace, "Ana", "q1", {"travel#1": 3})
    assert score(workspace, version, "first").measures["RR@10"] == 0.5
    assert score(workspace, preview.NOW, "first").measures["RR@10"] == 1.0
    assert preview.yardsticks(workspace) == {preview.NOW: "Labels as they stand", version: "gold-v1"}
    assert preview.yardstick(workspace, version).digest == gold.versions(workspace)[0].digest


def test_the_same_content_is_scored_once(workspace: Workspace) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#2": 3})
    retrieve(workspace, "first", {"q1": ["refunds-v4#2"]})
    assert score(workspace, preview.NOW, "first") is score(workspace, preview.NOW, "first")


def test_unanswerable_questions_are_told_apart(workspace: Workspace) -> None:
    grade(workspace, "Ana", "q1", {"refunds-v4#2": 3})
    questions.mark_unanswerable(workspace, "Ana", "q2")
    retrieve(workspace, "first", {"q1": ["refunds-v4#2"], "q2": ["travel#1"]})
    found = score(workspace, preview.NOW, "first")
    assert found.counts["judged"] == 1
    assert (found.unanswerable.n, found.unanswerable.returned_nothing) == (1, 0)


def grade(workspace: Workspace, who: str, query_id: str, grades: dict[str, int]) -> None:
    with workspace.read() as connection:
        hashes = {chunk_id: corpus.chunk(connection, chunk_id).sha256 for chunk_id in grades}
    done = labelling.apply(
        workspace,
        who,
        [
            Operation(
                id=f"{who}/{query_id}/{chunk_id}/{value}", kind="judge", who=who, query_id=query_id,
                chunk_id=chunk_id, sha256=hashes[chunk_id], grade=value,
            )
            for chunk_id, value in grades.items()
        ],
    )  # fmt: skip
    assert not done.refused


def retrieve(workspace: Workspace, name: str, lists: dict[str, list[str]]) -> None:
    rows = [json.dumps({"query_id": query_id, "results": ids}) for query_id, ids in lists.items()]
    importing.import_run(workspace, "Ana", ("run.jsonl", "\n".join(rows).encode()), name=name)


def score(workspace: Workspace, version: int, name: str) -> preview.Evaluation:
    (run,) = (one for one in preview.stored_runs(workspace) if one.name == name)
    return preview.score(workspace, preview.yardstick(workspace, version), run)
