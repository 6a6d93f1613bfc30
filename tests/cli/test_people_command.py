"""`people`: listed with what they sign in with; roles, goings and comings, and sign-ins by command."""

from __future__ import annotations

import json

import pytest

from annotator.cli import main
from annotator.model import Person
from annotator.services import team
from annotator.services.team import Identity
from annotator.services.workspace import Workspace

KIM = Identity("https://idp.example#7", "Kim", "kim@example.org")


def run(workspace: Workspace, *arguments: str, who: str = "operator") -> int:
    return main(["--home", str(workspace.home), "--who", who, "people", *arguments])


def test_everybody_is_listed_with_role_and_sign_in(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    team.arrive(workspace, KIM)
    team.deactivate(workspace, "Ana", "Kim")
    assert run(workspace) == 0
    assert capsys.readouterr().out.splitlines() == [
        "admin      Ana",
        "annotator  Ben",
        "reader     Kim  no longer works here",
        "           signs in as https://idp.example#7 (kim@example.org)",
    ]
    assert run(workspace, "--json") == 0
    assert json.loads(capsys.readouterr().out)[2] == {
        "name": "Kim",
        "role": "reader",
        "active": False,
        "identities": [{"subject": "https://idp.example#7", "email": "kim@example.org"}],
    }


def test_whoever_holds_the_files_makes_the_first_admin(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    team.arrive(workspace, KIM)
    assert run(workspace, "role", "Kim", "admin") == 0
    assert capsys.readouterr().out == "Kim is admin here.\n"
    assert team.signed_in(workspace, KIM) == Person("Kim", "admin")


def test_people_go_come_back_and_are_linked(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(workspace, "deactivate", "Ben") == 0
    assert run(workspace, "activate", "Ben") == 0
    assert run(workspace, "link", "Ben", KIM.subject) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Ben no longer works here.",
        "Ben is annotator here.",
        "Ben is annotator here.",
    ]
    assert team.signed_in(workspace, KIM) == Person("Ben", "annotator")


def test_what_cannot_be_done_is_said_with_exit_code_two(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(workspace, "deactivate", "Ana") == 2
    assert "Ana is the last admin. Make somebody else an admin first." in capsys.readouterr().err
    assert run(workspace, "role", "Ana", "owner") == 2
    assert run(workspace, "role", "Zoe", "admin") == 2


def test_a_login_name_of_somebody_who_may_not_is_told_how_to_go_on(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(workspace, "role", "Ben", "admin", who="Ben") == 2
    assert "Say with --who under which name you act here" in capsys.readouterr().err
    assert team.find(workspace, "Ben") == Person("Ben", "annotator")
