"""The people part of Settings: roles, goings and comings, by admins, on record."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from annotator.model import Person
from annotator.services import audit, team
from annotator.services.audit import Wanted
from annotator.store.database import Workspace
from tests.ui.conftest import Visit, shown, sound


@pytest.fixture
def people(demo: Workspace, visit: Visit) -> AppTest:
    """The part as Ana, the only admin, sees it."""
    return sound(visit("settings").segmented_control(key="settings.part").set_value("People").run())


def chosen(people: AppTest, name: str) -> AppTest:
    return sound(people.selectbox(key="people.who").select(name).run())


def pressed(people: AppTest, key: str) -> str:
    return shown(sound(people.button(key=key).click().run()))


def roles(people: AppTest) -> AppTest:
    """Choose the reviewer's role in the box of the chosen person."""
    box = next(one for one in people.selectbox if (one.key or "").startswith("people.role:"))
    return sound(box.set_value("reviewer").run())


def test_an_admin_gives_another_role_and_it_is_on_record(people: AppTest, demo: Workspace) -> None:
    assert people.button(key="people.save").disabled
    said = pressed(roles(chosen(people, "Mei Tanaka")), "people.save")
    assert "Mei Tanaka works here as reviewer from now on." in said
    assert team.find(demo, "Mei Tanaka") == Person("Mei Tanaka", "reviewer")
    (change,) = audit.changes(demo, "Ana", Wanted(kind="person"), limit=1)
    assert (change.who, change.action, change.subject) == ("Ana", "role changed", "Mei Tanaka")
    assert audit.values(change) == [("role", "annotator", "reviewer")]


def test_who_goes_stays_in_the_list_and_may_come_back(people: AppTest, demo: Workspace) -> None:
    said = pressed(chosen(people, "Mei Tanaka"), "people.deactivate")
    assert "Mei Tanaka no longer works here. Everything Mei Tanaka did stays" in said
    assert team.find(demo, "Mei Tanaka") == Person("Mei Tanaka", "annotator", active=False)
    said = pressed(chosen(people, "Mei Tanaka"), "people.activate")
    assert "Mei Tanaka can work here again as annotator." in said
    assert team.find(demo, "Mei Tanaka") == Person("Mei Tanaka", "annotator")


def test_the_last_admin_is_told_what_to_do_first(people: AppTest, demo: Workspace) -> None:
    assert "Make somebody else an admin first." in pressed(roles(chosen(people, "Ana")), "people.save")
    assert "Make somebody else an admin first." in pressed(chosen(people, "Ana"), "people.deactivate")
    assert team.find(demo, "Ana") == Person("Ana", "admin")


def test_who_was_deactivated_is_out_with_the_page_still_open(people: AppTest, demo: Workspace, visit: Visit) -> None:
    page = visit("queries", who="Mei Tanaka")
    assert "Working as Mei Tanaka" in shown(page)
    team.deactivate(demo, "Ana", "Mei Tanaka")
    sound(page.run())
    assert "Working as" not in shown(page)
    assert "Who is working?" in page.title[0].value
