"""Choosing the settling rule: what each leaves open, by hand, and its name in every gold row it settles."""

from __future__ import annotations

import json

import pytest

from annotator.errors import Forbidden, InputError
from annotator.services import gold, settling
from annotator.services.importing import import_judgments
from annotator.store.database import Workspace


@pytest.fixture
def judged(workspace: Workspace) -> Workspace:
    """Three people on four chunks: all agree, two of three agree, all differ, two differ by one grade."""
    rows = {
        "refunds-v4#1": (3, 3, 3), "refunds-v4#2": (2, 2, 0), "refunds-v4#3": (0, 1, 3), "travel#1": (1, 2, None),
    }  # fmt: skip
    lines = [
        f"q1,{chunk_id},{who},{grade}"
        for chunk_id, grades in rows.items()
        for who, grade in zip(("Ana", "Ben", "Cleo"), grades, strict=True)
        if grade is not None
    ]
    import_judgments(workspace, "Ana", ("j.csv", ("query_id,chunk_id,annotator,grade\n" + "\n".join(lines)).encode()))
    return workspace


def released(workspace: Workspace) -> dict[str, tuple[int, str]]:
    version = gold.release(workspace, "Ana", allow_open=True)
    assert version.manifest["settling_rule"] == settling.rule(workspace)
    folder = gold.ensure_folder(workspace, version.version)
    (row,) = [json.loads(line) for line in (folder / "gold.jsonl").read_text("utf-8").splitlines()]
    return {one["chunk_id"]: (one["relevance"], one["settled_by"]) for one in row["gold"]}


def test_each_rule_says_how_many_chunks_it_leaves_to_a_reviewer(judged: Workspace) -> None:
    found = {one.name: (one.left_open, one.in_force) for one in settling.choices(judged)}
    assert found == {"unanimous": (3, True), "majority": (2, False), "lower_median": (0, False)}
    assert all(one.meaning for one in settling.choices(judged))


def test_every_gold_row_names_the_rule_that_settled_it(judged: Workspace) -> None:
    settling.choose(judged, "Ana", "lower_median")
    assert released(judged) == {
        "refunds-v4#1": (3, "unanimous"),
        "refunds-v4#2": (2, "lower_median"),
        "refunds-v4#3": (1, "lower_median"),
        "travel#1": (1, "lower_median"),
    }


def test_the_choice_is_recorded_and_only_an_admin_makes_it(judged: Workspace) -> None:
    with pytest.raises(InputError, match="no settling rule"):
        settling.choose(judged, "Ana", "loudest")
    with pytest.raises(Forbidden):
        settling.choose(judged, "Ben", "majority")
    settling.choose(judged, "Ana", "majority")
    settling.choose(judged, "Ana", "majority")
    with judged.read() as connection:
        events = connection.execute(
            "SELECT who, old, new FROM events WHERE action = 'settling rule changed'"
        ).fetchall()
    assert [tuple(one) for one in events] == [("Ana", '"unanimous"', '"majority"')]
