"""Five people grade at the same time on one server while a reviewer settles disputes: in a real browser."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import Person
from annotator.services import backup
from annotator.services.workspace import init
from annotator.store import people
from annotator.store.database import Workspace
from tests.browser.app import App, idle, open_page

pytestmark = pytest.mark.browser

NAMES = ("Pia", "Quentin", "Rosa", "Sam", "Tea")
SAME = "KW-006"
OWN = ("KW-010", "KW-018", "KW-019", "KW-023", "KW-027")
ROUNDS = 6
Given = list[tuple[str, str, int]]


@pytest.fixture
def demo(tmp_path: Path) -> Workspace:
    made = init(tmp_path / "workspace", who="Rut", demo=True)
    with made.write() as connection:
        for name in NAMES:
            people.add(connection, Person(name), "Rut")
    return made


def test_what_five_people_and_a_reviewer_do_at_once_is_all_there_and_under_the_right_name(
    chromium: Browser, demo: Workspace
) -> None:
    app = App(demo.home)
    faults: list[str] = []
    try:
        desks = {who: open_page(chromium, f"{app.url}/annotate?query={SAME}", who) for who in NAMES}
        reviewer = open_page(chromium, f"{app.url}/review", "Rut")
        for who, page in {**desks, "Rut": reviewer}.items():
            page.on("pageerror", lambda error, who=who: faults.append(f"{who}: {error}"))
        given: dict[str, Given] = {who: [] for who in NAMES}
        for page in desks.values():
            _ready(page)
        _grade_in_turns(desks, given, [SAME] * len(NAMES))
        chosen = [_settle(reviewer, demo, "The later one counts.")]
        for page, query_id in zip(desks.values(), OWN, strict=True):
            page.goto(f"{app.url}/annotate?query={query_id}", wait_until="commit")
        for page in desks.values():
            _ready(page)
        _grade_in_turns(desks, given, OWN)
        chosen.append(_settle(reviewer, demo, "All five were read again."))
        for page in desks.values():
            expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved")
        for who, page in {**desks, "Rut": reviewer}.items():
            faults += (f"{who}: {told}" for told in page.locator(".stException, .an-bad").all_inner_texts())
    finally:
        app.stop()
    assert faults == []
    with sqlite3.connect(demo.database) as connection:
        sql = (
            "SELECT annotator, query_id, chunk_id, grade FROM judgments WHERE origin = 'annotate' ORDER BY judgment_id"
        )
        stored = connection.execute(sql).fetchall()
        settled = connection.execute(
            "SELECT question, reason FROM adjudications JOIN queries USING (query_id) WHERE reviewer = 'Rut'"
        ).fetchall()
    for who in NAMES:
        assert [tuple(row[1:]) for row in stored if row[0] == who] == given[who]
    assert Counter(row[0] for row in stored) == dict.fromkeys(NAMES, 2 * ROUNDS)
    assert settled == list(zip(chosen, ("The later one counts.", "All five were read again."), strict=True))
    assert backup.check(demo).problems == ()


def _ready(page: Page) -> None:
    page.locator(".row[aria-selected]").wait_for()
    idle(page)


def _grade_in_turns(desks: dict[str, Page], given: dict[str, Given], query_ids: tuple[str, ...] | list[str]) -> None:
    """Have everybody press a key before anybody presses the next one; what each saw is written down."""
    for number in range(ROUNDS):
        for place, (who, page) in enumerate(desks.items()):
            shown = page.locator(".idline .id").inner_text()
            grade = (number + place) % 4
            given[who].append((query_ids[place], shown, grade))
            page.keyboard.press(str(grade))


def _settle(page: Page, demo: Workspace, reason: str) -> str:
    """Settle the pair that is shown, and return its question."""
    expect(page.locator(".an-cards")).to_be_visible()
    idle(page)
    page.get_by_label("Reason").fill(reason)
    page.get_by_label("Reason").press("Enter")
    idle(page)
    page.locator(".an-question").click()
    question = page.locator(".an-question").inner_text()
    page.keyboard.press("2")
    with closing(sqlite3.connect(demo.database)) as connection:
        for _ in range(300):
            if connection.execute("SELECT 1 FROM adjudications WHERE reason = ?", (reason,)).fetchone():
                break
            page.wait_for_timeout(100)
    expect(page.get_by_text("as 2 partial")).to_be_visible()
    return question
