"""Labels whose chunk drifted: listed with what changed, confirmed, dropped; never behind anybody's back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.errors import Conflict, Forbidden, InputError
from annotator.model import Adjudication, Evidence, Judgment, text_hash
from annotator.services import chunk_table, drift, gold
from annotator.services.drift import Affected, Key
from annotator.store import decisions, judgments, labels
from annotator.store.database import Workspace
from tests.conftest import HANDBOOK
from tests.services.test_preview import grade

NAMES = ("chunk_id", "doc_id", "title", "position", "text")
EDITED = "Refunds are paid within 10 days. The support team approves them."


def sync_with(workspace: Workspace, folder: Path, texts: dict[str, str | None]) -> None:
    """Sync the handbook with other texts for these ids; None takes the chunk away."""
    rows = [dict(zip(NAMES, row, strict=True)) for row in HANDBOOK]
    kept = [row | {"text": texts.get(str(row["chunk_id"]), row["text"])} for row in rows]
    lines = [json.dumps(row) + "\n" for row in kept if row["text"] is not None]
    (folder / "handbook.jsonl").write_text("".join(lines), "utf-8")
    chunk_table.sync(workspace, "Ana")


@pytest.fixture
def drifted(workspace: Workspace, tmp_path: Path) -> list[Affected]:
    """Three labels of which one chunk was edited and one deleted; q2 was judged on the edited one as well."""
    grade(workspace, "Ana", "q1", {"refunds-v4#1": 1, "refunds-v4#2": 3, "travel#1": 0})
    grade(workspace, "Ana", "q2", {"refunds-v4#1": 3})
    sync_with(workspace, tmp_path, {"refunds-v4#1": EDITED, "refunds-v4#2": None})
    return drift.affected(workspace)


def test_labels_whose_chunk_changed_or_vanished_are_listed(drifted: list[Affected]) -> None:
    assert [(one.query_id, one.label.chunk_id, one.drifted.kind) for one in drifted] == [
        ("q1", "refunds-v4#2", "missing"),
        ("q1", "refunds-v4#1", "changed"),
        ("q2", "refunds-v4#1", "changed"),
    ]
    assert drift.difference(drifted[1])[:3] == (
        ("same", "Refunds are paid within "),
        ("gone", "14"),
        ("new", "10"),
    )


def test_whoever_labels_blindly_is_shown_what_they_judged_themselves(
    workspace: Workspace, drifted: list[Affected]
) -> None:
    assert drift.affected(workspace, "Ana") == drifted
    assert drift.affected(workspace, "Ben") == []  # an annotator, who has yet to say something about them
    grade(workspace, "Ben", "q2", {"refunds-v4#1": 3})
    assert drift.affected(workspace, "Ben") == []  # judged on the present text, it is no drift any more
    assert [one.query_id for one in drift.affected(workspace, "Ana")] == ["q1", "q1"]


def test_confirming_gives_the_same_grade_on_the_present_text(workspace: Workspace, drifted: list[Affected]) -> None:
    changed = [one.key for one in drifted if one.drifted.kind == "changed"]
    assert drift.confirm(workspace, "Ben", changed, "ten days now, still the rule") == 2
    assert [one.label.chunk_id for one in drift.affected(workspace)] == ["refunds-v4#2"]
    with workspace.read() as connection:
        mine = next(judgments.current(connection, query_id="q2", annotator="Ben"))
        hers = next(judgments.current(connection, query_id="q2", annotator="Ana"))
    assert (mine.grade, mine.origin, mine.sha256) == (3, "confirmed", text_hash(EDITED))
    assert (hers.grade, hers.sha256) == (3, text_hash(HANDBOOK[0][4]))  # as it was


def test_confirming_keeps_the_evidence_that_still_stands(workspace: Workspace, tmp_path: Path) -> None:
    stays, goes = Evidence("The support team approves them.", 33, 64), Evidence("within 14 days", 17, 31)
    with workspace.write() as connection:
        judged = Judgment("q1", "refunds-v4#1", "Ana", 3, evidence=(stays, goes), sha256=text_hash(HANDBOOK[0][4]))
        judgments.append(connection, judged)
    sync_with(workspace, tmp_path, {"refunds-v4#1": "Now: " + EDITED})
    one = drift.affected(workspace)[0]
    assert not one.evidence_stands
    drift.confirm(workspace, "Ana", [one.key])
    with workspace.read() as connection:
        kept = next(judgments.current(connection, query_id="q1")).evidence
    assert kept == (Evidence("The support team approves them.", 38, 69),)


def test_what_is_gone_cannot_be_confirmed(workspace: Workspace, drifted: list[Affected]) -> None:
    with pytest.raises(InputError, match="is gone"):
        drift.confirm(workspace, "Ana", [one.key for one in drifted])
    assert drift.affected(workspace) == drifted


def test_a_text_that_changed_again_is_not_confirmed_unseen(
    workspace: Workspace, drifted: list[Affected], tmp_path: Path
) -> None:
    sync_with(workspace, tmp_path, {"refunds-v4#1": "Refunds are abolished.", "refunds-v4#2": None})
    with pytest.raises(Conflict, match="changed again"):
        drift.confirm(workspace, "Ana", [drifted[1].key])


def test_dropping_needs_a_reason_and_somebody_who_decides(workspace: Workspace, drifted: list[Affected]) -> None:
    with pytest.raises(InputError, match="why"):
        drift.drop(workspace, "Ana", [drifted[0].key], " ")
    with pytest.raises(Forbidden):
        drift.drop(workspace, "Ben", [drifted[0].key], "gone")
    assert drift.drop(workspace, "Ana", [drifted[0].key], "gone for good") == 1
    with pytest.raises(Conflict, match="dealt with"):
        drift.drop(workspace, "Ana", [drifted[0].key], "gone for good")


def test_dropped_labels_leave_the_next_version_and_stay_on_record(
    workspace: Workspace, drifted: list[Affected]
) -> None:
    drift.drop(workspace, "Ana", [one.key for one in drifted], "the policy was withdrawn")
    assert drift.affected(workspace) == []
    with workspace.read() as connection:
        assert labels.drifted(connection) == {}
        history = judgments.history(connection, "q1", "refunds-v4#2")
        left = [one.chunk_id for one in judgments.current(connection)]
    assert [one.grade for one in history] == [3]
    assert left == ["travel#1"]
    assert {item.kind for item in gold.readiness(workspace).blocks} == {"no_relevant"}


def test_a_decision_on_the_vanished_text_is_set_aside_too_and_later_labels_count(
    workspace: Workspace, tmp_path: Path
) -> None:
    before, text = HANDBOOK[0][4], "Refunds are paid in gold."
    with workspace.write() as connection:
        decided = Adjudication("q1", "refunds-v4#1", "Ana", 2, sha256=text_hash(before), operation_id="d1")
        decisions.append(connection, decided)
    sync_with(workspace, tmp_path, {"refunds-v4#1": text})
    drift.drop(workspace, "Ana", [one.key for one in drift.affected(workspace)], "rewritten")
    assert drift.affected(workspace) == []
    grade(workspace, "Ben", "q1", {"refunds-v4#1": 3})
    assert gold.release(workspace, "Ana").manifest["counts"]["judged_pairs"] == 1


def test_a_key_names_what_was_seen(drifted: list[Affected]) -> None:
    assert drifted[0].key == Key("q1", "refunds-v4#2", text_hash(HANDBOOK[1][4]), "")
    assert drifted[1].key.present == text_hash(EDITED)
