"""Every page × every role on the screen: what the permission table allows is offered, and nothing that it refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from streamlit.testing.v1 import AppTest

from annotator.model import Person
from annotator.services import gold, permission
from annotator.services.permission import Action
from annotator.services.workspace import project_root
from annotator.store import people
from annotator.store.database import Workspace
from annotator.ui import shell
from tests.ui.conftest import Visit, shown, sound

ROLES = ("annotator", "reviewer", "admin", "reader")
OPENS = """
           annotator  reviewer  admin  reader
home       yes        yes       yes    yes
annotate   yes        yes       yes    no
queries    yes        yes       yes    yes
review     no         yes       yes    no
gold_sets  yes        yes       yes    yes
metrics    yes        yes       yes    yes
chunks     yes        yes       yes    yes
settings   yes        yes       yes    yes
"""
OPEN = {
    (line.split()[0], role): cell == "yes"
    for line in OPENS.strip("\n").splitlines()[1:]
    for role, cell in zip(ROLES, line.split()[1:], strict=True)
}
PAGES = tuple(dict.fromkeys(page for page, _ in OPEN))
VIEWS = {
    "metrics": ("metrics.view", "Overview", "By question", "Compare", "Diagnosis", "Holes", "Gate", "All runs"),
    "chunks": ("chunks.view", "Documents", "All chunks", "Search", "Sync history", "Drift", "Carry over"),
    "settings": ("settings.part", "Chunk table", "Rubric", "Facets", "People", "Labelling", "Pool", "About"),
    "review": ("review.view", "Disputes", "Agreement", "Calibration", "Odd labels", "All labels", "Changes"),
}


class Control(NamedTuple):
    """A widget of a view, by the beginning of its key, and what it lets people do."""

    page: str
    view: str
    key: str
    action: Action


CONTROLS = (
    Control("queries", "", "queries.new", "write questions"),
    Control("queries", "", "queries.import", "write questions"),
    Control("queries", "", "queries.share", "share out questions"),
    Control("annotate", "", "done", "grade chunks"),
    Control("annotate", "", "skip", "grade chunks"),
    Control("gold_sets", "", "freeze.go", "release versions"),
    Control("gold_sets", "", "tag.move", "tag versions"),
    Control("metrics", "Overview", "run.open", "import runs"),
    Control("metrics", "By question", "ranking.open:", "grade chunks"),
    Control("metrics", "Diagnosis", "ranking.open:", "grade chunks"),
    Control("metrics", "Gate", "gate.save", "change the gate"),
    Control("chunks", "Documents", "syncing.go", "sync the chunk table"),
    Control("settings", "Chunk table", "syncing.go", "sync the chunk table"),
    Control("settings", "Chunk table", "connection.look", "connect a chunk table"),
    Control("settings", "Rubric", "rubric.save", "change the rubric"),
    Control("settings", "Facets", "facets.save", "change the facets"),
    Control("settings", "People", "people.save", "manage people"),
    Control("settings", "People", "people.deactivate", "manage people"),
    Control("settings", "Labelling", "rule.save", "change how labels are settled"),
    Control("settings", "Pool", "pools.build", "build pools"),
    Control("settings", "Pool", "retriever.save", "change the retriever"),
)


@pytest.fixture
def staffed(demo: Workspace) -> Workspace:
    """The demo with a version, and a person of every role; Ana goes, so that nobody is meant by accident."""
    with demo.write() as connection:
        for role in ROLES:
            people.add(connection, Person(f"a {role}", role), "Ana")
    gold.release(demo, "Ana", allow_open=True)
    return demo


def views(app: AppTest) -> Iterator[tuple[str, str]]:
    """Go through every view of every page the person may open; yields where the app is."""
    for page in PAGES:
        sound(app.switch_page(f"pages/{page}.py").run())
        key, *names = VIEWS.get(page, ("", ""))
        for name in names:
            if name and "This page is for" not in shown(app):
                sound(app.segmented_control(key=key).set_value(name).run())
            yield page, name


def linked(who: str) -> set[str]:
    """Return the titles of the pages the sidebar leads to."""
    entry = AppTest.from_file(str(project_root() / "streamlit_app.py"), default_timeout=30)
    entry.session_state["who"] = who
    return {link.proto.label for link in sound(entry.run()).get("page_link")}


def keys(app: AppTest) -> list[str]:
    return [button.key or button.label for button in app.button]


@pytest.mark.parametrize("role", ROLES)
def test_the_screen_offers_what_the_role_may_and_nothing_else(role: str, staffed: Workspace, visit: Visit) -> None:
    app = visit("home", who=f"a {role}")
    assert linked(f"a {role}") == {shell._PAGES[page][0] for page in PAGES if OPEN[page, role]}
    found, opened = set(), set()
    for page, view in views(app):
        if "This page is for" not in shown(app):
            opened.add(page)
            assert 'role="alert"' not in shown(app), (page, view)
            assert "went wrong" not in shown(app), (page, view)
        if page == "home":
            assert ("My queue" in shown(app)) == OPEN["annotate", role]
            assert ("you can look around, and change nothing" in shown(app)) == (role == "reader")
        here = keys(app)
        found |= {
            control
            for control in CONTROLS
            if (control.page, control.view) == (page, view) and any(key.startswith(control.key) for key in here)
        }
    assert opened == {page for page in PAGES if OPEN[page, role]}
    assert found == {control for control in CONTROLS if permission.allows(Person("x", role), control.action)}


def test_whatever_a_reader_can_press_is_answered(staffed: Workspace, visit: Visit) -> None:
    app = visit("home", who="a reader")
    offered = [
        (page, view, place)
        for page, view in views(app)
        for place, button in enumerate(app.button)
        if not button.disabled and button.key != "change_person"
    ]
    assert len(offered) >= 4
    for page, view, place in offered:
        sound(app.switch_page(f"pages/{page}.py").run())
        if view:
            sound(app.segmented_control(key=VIEWS[page][0]).set_value(view).run())
        said = shown(sound(app.button[place].click().run()))
        assert "may not" not in said, (page, view, place)
        assert "This page is for" not in said, (page, view, place)


def test_every_page_asks_for_what_it_is_listed_with() -> None:
    for path in (project_root() / "pages").glob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        asked = [
            call.args[0].value
            for call in calls
            if ast.unparse(call.func) == "shell.require" and isinstance(call.args[0], ast.Constant)
        ]
        assert asked == [shell._PAGES[path.stem][2]], path.name
    assert set(shell._PAGES) == set(PAGES)


def test_there_is_no_second_table_of_roles() -> None:
    for path in [*(project_root() / "annotator" / "ui").glob("*.py"), *(project_root() / "pages").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            compared = isinstance(node, ast.Compare) and ".role" in ast.unparse(node)
            assert not compared or path.name in ("identity.py", "settings.py"), f"{path.name}: {ast.unparse(node)}"
