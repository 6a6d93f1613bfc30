"""Two people disagree blind, a reviewer settles by one key, and the release names the person: in a real browser.

With ANNOTATOR_PICTURES=1 the picture of `docs/` is taken on the way.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import Person
from annotator.services import gold
from annotator.store import people
from annotator.store.database import Workspace
from tests.browser.app import ROOT, App, open_page
from tests.conftest import make_workspace

pytestmark = pytest.mark.browser

QUERY = "q1"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    with made.write() as connection:
        people.add(connection, Person("Rut", "reviewer"), "Ana")
    return made


def grade_first(page: Page, key: str, reason: str) -> None:
    """Find the chunk about enterprise refunds, grade it and say why."""
    search = page.get_by_placeholder("Words,")
    search.fill("enterprise refunds VP Finance")
    search.press("Enter")
    expect(page.locator(".listfoot")).to_contain_text("found")
    page.locator(".rows .row").first.click()
    expect(page.locator(".text")).to_contain_text("VP Finance")
    page.keyboard.press("r")
    page.keyboard.type(reason)
    page.keyboard.press("Escape")
    page.keyboard.press(key)
    expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved")


def test_two_people_disagree_and_a_reviewer_settles_by_keys(chromium: Browser, workspace: Workspace) -> None:
    app = App(workspace.home)
    try:
        for who, key, reason in (("Ana", "3", "It names the VP Finance."), ("Ben", "0", "It is about late refunds.")):
            page = open_page(chromium, f"{app.url}/annotate?query={QUERY}", who=who)
            grade_first(page, key, reason)
            # neither sees what the other said
            expect(page.locator("[data-testid='stMainBlockContainer']")).not_to_contain_text(
                "Ana" if who == "Ben" else "Ben"
            )
            page.context.close()

        page = open_page(chromium, app.url, who="Rut")
        page.get_by_role("button", name="Go to Review").click()
        cards = page.locator(".an-cards")
        expect(cards).to_contain_text("It names the VP Finance.")
        expect(cards).to_contain_text("It is about late refunds.")
        reason = page.get_by_label("Reason")
        reason.fill("It says who signs: press 1 in a field is text")
        page.keyboard.press("1")
        expect(reason).to_have_value("It says who signs: press 1 in a field is text1")
        reason.fill("It says who signs.")
        reason.press("Enter")
        page.locator(".an-question").click()
        page.keyboard.press("2")
        expect(page.get_by_text("as 2 partial")).to_be_visible()

        with sqlite3.connect(workspace.database) as connection:
            decided = connection.execute("SELECT reviewer, grade, reason FROM adjudications").fetchall()
            said = connection.execute("SELECT annotator, grade FROM judgments ORDER BY annotator").fetchall()
        assert decided == [("Rut", 2, "It says who signs.")]
        assert said == [("Ana", 3), ("Ben", 0)]

        page.get_by_role("link", name="Gold sets").click()
        page.get_by_role("button", name="Freeze").click()
        expect(page.get_by_text("Frozen:")).to_be_visible()
        (version,) = gold.versions(workspace)
        rows = (workspace.releases / version.folder / "judgments.jsonl").read_text("utf-8")
        assert any(row.get("reviewer") == "Rut" and row["grade"] == 2 for row in map(json.loads, rows.splitlines()))
        labels = (workspace.releases / version.folder / "gold.jsonl").read_text("utf-8")
        assert "adjudicated by Rut" in labels
        assert page.locator("[data-testid='stException']").count() == 0
    finally:
        app.stop()


def test_a_held_key_settles_one_pair(chromium: Browser, demo_home: Path) -> None:
    app = App(demo_home)
    try:
        page = open_page(chromium, f"{app.url}/review", who="Rut")
        expect(page.locator(".an-cards")).to_contain_text("including the rounding")
        if os.environ.get("ANNOTATOR_PICTURES") == "1":
            page.wait_for_timeout(1000)
            page.screenshot(path=ROOT / "docs" / "review.png")
        page.locator(".an-question").click()
        page.keyboard.down("2")
        for _ in range(25):  # as a held key repeats
            page.keyboard.down("2")
            page.wait_for_timeout(35)
        page.keyboard.up("2")
        expect(page.get_by_text("Settled policy-retention-v2#location")).to_be_visible()
        page.wait_for_timeout(1500)
        with sqlite3.connect(demo_home / "annotator.db") as connection:
            mine = connection.execute("SELECT query_id, grade FROM adjudications WHERE reviewer = 'Rut'").fetchall()
        assert mine == [("KW-004", 2)]
        expect(page.locator(".an-question")).to_contain_text("How long can the gateway buffer")
        page.keyboard.press("k")
        page.wait_for_timeout(300)
        assert page.locator("[data-testid='stException']").count() == 0
    finally:
        app.stop()


@pytest.fixture
def demo_home(tmp_path: Path) -> Path:
    from annotator.services.workspace import init

    return init(tmp_path / "workspace", who="Rut", demo=True).home
