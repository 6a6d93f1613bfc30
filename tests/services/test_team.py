"""Signing in binds a person to a subject, never to a name; roles change, people go and come back, nothing is lost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from annotator.errors import Conflict, InputError, NotFound
from annotator.model import Person
from annotator.services import team
from annotator.services.importing import import_judgments
from annotator.services.team import Identity, Member
from annotator.services.workspace import Workspace

ANA = Identity("https://idp.example#1", "Ana", "ana@example.org")


def events(workspace: Workspace) -> list[tuple[str, str, str]]:
    with workspace.read() as connection:
        rows = connection.execute("SELECT who, action, subject FROM events WHERE subject LIKE 'person:%'")
        return [tuple(row) for row in rows]


def test_who_is_new_becomes_a_reader_and_is_the_same_person_every_time(workspace: Workspace) -> None:
    zoe = Identity("https://idp.example#7", "Zoe  Doe", "zoe@example.org")
    assert team.signed_in(workspace, zoe) is None
    assert team.arrive(workspace, zoe) == Person("Zoe Doe", "reader")
    assert team.arrive(workspace, Identity(zoe.subject, "Another Name")) == Person("Zoe Doe", "reader")
    assert team.signed_in(workspace, Identity(zoe.subject)) == Person("Zoe Doe", "reader")
    assert Member(Person("Zoe Doe", "reader"), ((zoe.subject, "zoe@example.org"),)) in team.members(workspace)
    assert events(workspace)[-2:] == [
        ("Zoe Doe", "person added", "person:Zoe Doe"),
        ("Zoe Doe", "sign-in linked", "person:Zoe Doe"),
    ]


@pytest.mark.parametrize(
    "name", ["Ana", "ana", " Ana ", "ANA", "Ana\u200b", "\u202eAna", "A\uff4ea"], ids=lambda name: ascii(name)
)
def test_a_name_that_is_taken_brings_nothing_of_its_owner_along(workspace: Workspace, name: str) -> None:
    found = team.arrive(workspace, Identity("https://idp.example#9", name))
    assert found.name != "Ana"
    assert found.name.endswith(" 2")
    assert found.role == "reader"
    assert team.find(workspace, "Ana") == Person("Ana", "admin")


def test_two_subjects_of_one_name_are_two_people(workspace: Workspace) -> None:
    names = [team.arrive(workspace, Identity(f"https://idp.example#{n}", "Zoe")).name for n in (1, 2, 3)]
    names.append(team.arrive(workspace, Identity("https://other.example#1", "Zoe")).name)
    assert names == ["Zoe", "Zoe 2", "Zoe 3", "Zoe 4"]


def test_a_name_that_stands_beside_labels_or_in_the_record_is_not_given_away(workspace: Workspace) -> None:
    import_judgments(workspace, "operator", ("j.csv", b"query_id,chunk_id,annotator,grade\nq3,errors#1,Kim,3\n"))
    assert team.arrive(workspace, Identity("a#1", "Kim")).name == "Kim 2"
    assert team.arrive(workspace, Identity("a#2", "operator")).name == "operator 2"


@pytest.mark.parametrize(
    ("name", "email", "shown"),
    [
        ("", "kim@example.org", "kim@example.org"),
        ("\x00\x1b[31m\n", "kim@example.org", "[31m"),
        ("", "", "Person"),
        ("\u202e\u2066", "", "Person"),
        ("x" * 500, "", "x" * 72),
    ],
)
def test_a_name_nobody_can_be_called_is_made_one(workspace: Workspace, name: str, email: str, shown: str) -> None:
    assert team.arrive(workspace, Identity("a#1", name, email)).name == shown


@pytest.mark.parametrize("subject", ["", " ", "x" * 501, "a#\n"])
def test_a_subject_that_is_no_id_is_refused(workspace: Workspace, subject: str) -> None:
    with pytest.raises(InputError):
        team.arrive(workspace, Identity(subject, "Kim"))


def test_two_windows_that_sign_in_at_once_are_one_person(workspace: Workspace) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: team.arrive(workspace, Identity("a#1", "Kim")), range(16)))
    assert found == {Person("Kim", "reader")}


def test_somebody_from_before_sign_in_is_linked_and_the_person_in_between_works_here_no_longer(
    workspace: Workspace,
) -> None:
    assert team.arrive(workspace, ANA).name == "Ana 2"
    assert team.link(workspace, "operator", "Ana", ANA.subject) == Person("Ana", "admin")
    assert team.signed_in(workspace, ANA) == Person("Ana", "admin")
    assert team.find(workspace, "Ana 2") == Person("Ana 2", "reader", active=False)
    with workspace.read() as connection:
        old, new = connection.execute("SELECT old, new FROM events WHERE action = 'sign-in linked'").fetchall()[-1]
    assert json.loads(old) == {"subject": ANA.subject, "person": "Ana 2"}
    assert json.loads(new)["person"] == "Ana"
    assert team.members(workspace)[0].identities == ((ANA.subject, "ana@example.org"),)


def test_a_subject_can_be_linked_before_anybody_signed_in_with_it(workspace: Workspace) -> None:
    team.link(workspace, "operator", "Ben", ANA.subject)
    assert team.signed_in(workspace, ANA) == team.find(workspace, "Ben")


def test_only_what_can_be_a_subject_is_linked_to_somebody_who_is_there(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="has no “#”"):
        team.link(workspace, "operator", "Ana", "248289761001")
    with pytest.raises(NotFound, match="nobody called 'Zoe'"):
        team.link(workspace, "operator", "Zoe", ANA.subject)


def test_linking_does_not_take_the_last_admin_who_signs_in_away(workspace: Workspace) -> None:
    boss = team.arrive(workspace, Identity("a#1", "Boss"))
    team.set_role(workspace, "operator", boss.name, "admin")
    with pytest.raises(Conflict, match="Boss is the last admin"):
        team.link(workspace, "operator", "Ben", "a#1")
    assert team.signed_in(workspace, Identity("a#1")) == Person("Boss", "admin")


TAKING_AWAY: list[Callable[[Workspace, str], object]] = [
    lambda at, name: team.set_role(at, "operator", name, "reviewer"),
    lambda at, name: team.deactivate(at, "operator", name),
]


@pytest.mark.parametrize("take", TAKING_AWAY, ids=["demote", "deactivate"])
def test_the_last_admin_stays(workspace: Workspace, take: Callable[[Workspace, str], object]) -> None:
    with pytest.raises(Conflict, match="Ana is the last admin"):
        take(workspace, "Ana")
    team.set_role(workspace, "Ana", "Ben", "admin")
    take(workspace, "Ana")
    with pytest.raises(Conflict, match="Ben is the last admin"):
        take(workspace, "Ben")


@pytest.mark.parametrize("take", TAKING_AWAY, ids=["demote", "deactivate"])
def test_an_admin_nobody_signs_in_as_does_not_make_up_for_the_last_who_signs_in(
    workspace: Workspace, take: Callable[[Workspace, str], object]
) -> None:
    boss = team.arrive(workspace, Identity("a#1", "Boss"))
    team.set_role(workspace, "operator", boss.name, "admin")
    with pytest.raises(Conflict, match="Boss is the last admin"):
        take(workspace, "Boss")
    take(workspace, "Ana")  # Boss can do what Ana could


def test_who_goes_keeps_name_and_labels_and_may_come_back(workspace: Workspace) -> None:
    import_judgments(workspace, "Ana", ("j.csv", b"query_id,chunk_id,annotator,grade\nq3,errors#1,Ben,3\n"))
    before = team.find(workspace, "Ben")
    assert before is not None
    assert team.deactivate(workspace, "Ana", "Ben") == Person("Ben", before.role, active=False)
    with workspace.read() as connection:
        kept = connection.execute("SELECT COUNT(*) FROM current_judgments WHERE annotator = 'Ben'").fetchone()[0]
    assert kept == 1
    assert team.activate(workspace, "Ana", "Ben") == before
    assert [action for _, action, _ in events(workspace)][-2:] == ["person deactivated", "person activated"]


def test_what_changes_nothing_is_not_recorded(workspace: Workspace) -> None:
    before = events(workspace)
    team.activate(workspace, "Ana", "Ana")
    team.set_role(workspace, "Ana", "Ana", "admin")
    assert events(workspace) == before


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda at: team.set_role(at, "Ana", "Ben", "owner"), InputError, "no role 'owner'"),
        (lambda at: team.set_role(at, "Ana", "Zoe", "admin"), NotFound, "nobody called 'Zoe'"),
        (lambda at: team.deactivate(at, "Ana", "Zoe"), NotFound, "nobody called 'Zoe'"),
    ],
)
def test_who_or_what_is_not_there_is_said(
    workspace: Workspace, change: Callable[[Workspace], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        change(workspace)


def test_people_cannot_be_deleted(workspace: Workspace) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"), workspace.write() as connection:
        connection.execute("DELETE FROM people")


def test_whom_to_ask_are_the_admins_who_are_there(workspace: Workspace) -> None:
    assert team.whom_to_ask(workspace, "Kim", signing_in=False) == "Ask Ana, who can change that."
    said = team.whom_to_ask(workspace, "Kim Doe", signing_in=True)
    assert said.endswith("can make you one: python -m annotator people role 'Kim Doe' admin")
    team.link(workspace, "operator", "Ana", "a#1")
    assert team.whom_to_ask(workspace, "Kim Doe", signing_in=True) == "Ask Ana, who can change that."
