"""The rubric in versions, people added by admins, and what is said about the workspace."""

from __future__ import annotations

import pytest

from annotator.errors import Conflict, Forbidden, InputError
from annotator.model import Person
from annotator.services import settings, team
from annotator.services.settings import Rubric
from annotator.store.database import Workspace


def test_every_change_of_the_rubric_is_a_version(workspace: Workspace) -> None:
    assert settings.rubric(workspace) == Rubric(0, "")
    assert settings.set_rubric(workspace, "Ana", "3 answers", seen=0) == Rubric(1, "3 answers")
    assert settings.set_rubric(workspace, "Ana", "3 answers it", seen=1) == Rubric(2, "3 answers it")
    assert settings.set_rubric(workspace, "Ana", "3 answers it", seen=2) == Rubric(2, "3 answers it")  # no change
    with workspace.read() as connection:
        kept = connection.execute("SELECT old, new FROM events WHERE action = 'rubric changed'").fetchall()
    assert [tuple(row) for row in kept] == [
        ('{"text": "", "version": 0}', '{"text": "3 answers", "version": 1}'),
        ('{"text": "3 answers", "version": 1}', '{"text": "3 answers it", "version": 2}'),
    ]


def test_a_rubric_changed_meanwhile_is_not_written_over(workspace: Workspace) -> None:
    settings.set_rubric(workspace, "Ana", "theirs", seen=0)
    with pytest.raises(Conflict, match="version 1 is in force"):
        settings.set_rubric(workspace, "Ana", "mine", seen=0)
    assert settings.rubric(workspace).text == "theirs"


@pytest.mark.parametrize("text", ["", " \n", "x" * (settings.LONGEST_RUBRIC + 1)])
def test_an_empty_or_endless_rubric_is_refused(workspace: Workspace, text: str) -> None:
    with pytest.raises(InputError):
        settings.set_rubric(workspace, "Ana", text, seen=0)


def test_only_admins_change_settings(workspace: Workspace) -> None:
    with pytest.raises(Forbidden):
        settings.set_rubric(workspace, "Ben", "mine", seen=0)
    with pytest.raises(Forbidden):
        team.add(workspace, "Ben", "Cleo", "admin")


def test_people_are_added_once_with_a_known_role(workspace: Workspace) -> None:
    assert team.add(workspace, "Ana", " Cleo  Doe ", "reviewer") == Person("Cleo Doe", "reviewer")
    assert team.find(workspace, "Cleo Doe") == Person("Cleo Doe", "reviewer")
    with pytest.raises(Conflict):
        team.add(workspace, "Ana", "Cleo Doe", "annotator")
    with pytest.raises(InputError, match="no role"):
        team.add(workspace, "Ana", "Dan", "owner")
    with pytest.raises(InputError):
        team.add(workspace, "Ana", "", "annotator")


def test_about_names_the_folder_and_the_gold_set(workspace: Workspace) -> None:
    known = settings.about(workspace)
    assert known.home == str(workspace.home.absolute())
    assert (known.name, known.schema > 0, known.size > 0) == ("gold", True, True)
