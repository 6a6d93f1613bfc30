"""The workspace's gate: what is accepted as one, and what it says of stored runs."""

from __future__ import annotations

import json

import pytest

from annotator.errors import Conflict, InputError
from annotator.services import gate, importing, preview
from annotator.services.importing import import_judgments
from annotator.services.preview import RunInfo
from annotator.store.database import Workspace

RULES = "rules:\n  - {measure: 'R@3', max_drop: 0.0}\n"


def retrieve(workspace: Workspace, name: str, chunk_ids: list[str]) -> RunInfo:
    line = json.dumps({"query_id": "q1", "results": chunk_ids}).encode()
    importing.import_run(workspace, "Ana", (f"{name}.jsonl", line), name=name)
    return next(one for one in preview.stored_runs(workspace) if one.name == name)


@pytest.fixture
def judged(workspace: Workspace) -> Workspace:
    """q1 is answered by refunds-v4#2 alone."""
    import_judgments(workspace, "Ana", ("j.csv", b"query_id,chunk_id,annotator,grade\nq1,refunds-v4#2,Ana,3\n"))
    return workspace


def test_a_new_workspace_has_no_gate(workspace: Workspace) -> None:
    assert gate.text(workspace) == ""


def test_a_gate_is_kept_as_written_and_can_be_taken_away(workspace: Workspace) -> None:
    written = f"# kept as well\n{RULES}"
    gate.set_text(workspace, "Ana", written, seen="")
    assert gate.text(workspace) == written
    gate.set_text(workspace, "Ana", "", seen=written)
    assert gate.text(workspace) == ""


def test_what_is_no_gate_is_refused_with_its_line_and_changes_nothing(workspace: Workspace) -> None:
    with pytest.raises(InputError, match=r"gate\.yaml, line 2, field minimum"):
        gate.set_text(workspace, "Ana", "rules:\n  - {measure: 'R@3', minimum: 1}\n", seen="")
    with pytest.raises(InputError, match="is the most"):
        gate.set_text(workspace, "Ana", RULES + "#" * gate.LONGEST, seen="")
    assert gate.text(workspace) == ""


def test_a_change_made_meanwhile_is_not_written_over(workspace: Workspace) -> None:
    gate.set_text(workspace, "Ana", RULES, seen="")
    with pytest.raises(Conflict):
        gate.set_text(workspace, "Ana", gate.EXAMPLE, seen="")
    assert gate.text(workspace) == RULES


def test_the_rules_are_looked_at_with_the_cut_offs_they_name(judged: Workspace) -> None:
    before = retrieve(judged, "before", ["refunds-v4#2"])
    now = retrieve(judged, "now", ["travel#1", "travel#2", "errors#1", "refunds-v4#2"])
    found = gate.judged(judged, preview.yardstick(judged), now, before, RULES)
    assert found.verdict is not None
    assert found.verdict.verdict == "block"
    (why,) = found.reasons(found.verdict.checks[0])
    assert (why.query_id, why.before, why.now, why.why) == ("q1", 1.0, 0.0, "refunds-v4#2 at rank 4")
    assert gate.as_markdown(found).startswith("## Retrieval gate: block\n")


def test_a_rule_that_compares_needs_a_baseline(judged: Workspace) -> None:
    run = retrieve(judged, "now", ["refunds-v4#2"])
    with pytest.raises(InputError, match="needs a baseline"):
        gate.judged(judged, preview.yardstick(judged), run, None, RULES)
