"""Agreement as the workspace tells it: which judgments count, and the names scripts rely on."""

from __future__ import annotations

import json

import pytest

from annotator.cli import main
from annotator.model import Judgment
from annotator.services import questions
from annotator.services.agreement import agreement
from annotator.store import corpus, judgments
from annotator.store.database import Workspace


def judge(workspace: Workspace, who: str, query_id: str, chunk_id: str, grade: int | None) -> None:
    with workspace.write() as connection:
        text = corpus.chunk(connection, chunk_id).sha256
        operation = f"{who}/{query_id}/{chunk_id}/{grade}"
        judgments.append(
            connection, Judgment(query_id, chunk_id, who, grade, sha256=text, operation_id=operation, reason="so")
        )


@pytest.fixture
def judged(workspace: Workspace) -> Workspace:
    for chunk_id, ana, ben in (("refunds-v4#1", 3, 3), ("refunds-v4#2", 0, 1), ("refunds-v4#3", 2, 2)):
        judge(workspace, "Ana", "q1", chunk_id, ana)
        judge(workspace, "Ben", "q1", chunk_id, ben)
    judge(workspace, "Ana", "q2", "travel#1", 0)
    judge(workspace, "Ben", "q2", "travel#1", 0)
    judge(workspace, "Ana", "q3", "errors#1", 3)  # alone
    judge(workspace, "Ben", "q3", "errors#1", None)
    return workspace


def test_judgments_in_force_of_two_people_count(judged: Workspace) -> None:
    found = agreement(judged)
    assert (found.overall.items, found.overall.percent) == (4, 0.75)
    judge(judged, "Ben", "q1", "refunds-v4#2", 0)  # changes their mind
    assert agreement(judged).overall.percent == 1.0


def test_retired_questions_do_not_count(judged: Workspace) -> None:
    questions.retire(judged, "Ana", "q1")
    assert agreement(judged).overall.items == 1


def test_the_command_prints_the_contract(judged: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(judged.home), "agreement", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"alpha", "percent", "items", "pairs"} <= printed.keys()
    assert printed["items"] == 4
    (pair,) = printed["pairs"]
    assert {"annotators", "n", "percent", "kappa", "weighted_kappa"} <= pair.keys()
    assert (pair["annotators"], pair["n"], pair["percent"]) == (["Ana", "Ben"], 4, 0.75)


def test_the_command_speaks_to_people_too(judged: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(judged.home), "agreement"]) == 0
    assert "Ana · Ben" in capsys.readouterr().out


def test_nothing_to_compare_is_an_answer(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(workspace.home), "agreement", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "alpha": None, "interval": None, "percent": None, "items": 0, "questions": 0, "pairs": [], "slices": [],
    }  # fmt: skip
