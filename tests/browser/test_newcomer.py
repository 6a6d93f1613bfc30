"""The newcomer's whole path in a real browser: from an empty folder to the figures of version 1.

With ANNOTATOR_PICTURES=1 the pictures of `docs/` are taken on the way.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.app import ROOT, App, idle, open_page

pytestmark = pytest.mark.browser


def picture(page: Page, name: str) -> None:
    if os.environ.get("ANNOTATOR_PICTURES") == "1":
        page.mouse.move(2, 2)
        idle(page)
        page.wait_for_timeout(900)
        page.screenshot(path=ROOT / "docs" / f"{name}.png")


def search(page: Page, words: str, kind: str = "words") -> None:
    chosen = page.get_by_role("combobox", name="Kind of search")
    if kind not in (chosen.input_value() or chosen.get_attribute("aria-label") or ""):
        chosen.click()
        page.get_by_role("option", name=kind, exact=True).click()
    page.keyboard.press("Escape")
    box = page.get_by_label("Search chunks")
    box.fill(words)
    before = page.locator(".listfoot").inner_text()
    box.press("Enter")
    expect(page.locator(".listfoot")).not_to_have_text(before)
    page.locator(".rows .row").first.click()


def saved(page: Page) -> None:
    expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved")


def open_question(page: Page, query_id: str, question: str) -> None:
    page.goto(page.url.split("?")[0].rsplit("/", 1)[0] + f"/annotate?query={query_id}")
    expect(page.locator(".an-question")).to_have_text(question)
    page.locator(".row[aria-selected]").wait_for()
    idle(page)


def test_from_an_empty_folder_to_the_figures_of_version_1(chromium: Browser, tmp_path: Path) -> None:
    home = tmp_path / "workspace"
    app = App(home)
    try:
        page = open_page(chromium, app.url)

        # Open: the demo is one click away; then pick a name.
        expect(page.get_by_role("button", name="Start with the demo")).to_be_visible()
        picture(page, "1-start")
        page.get_by_role("button", name="Start with the demo").click()
        expect(page.get_by_text("Who is working?")).to_be_visible(timeout=60_000)
        page.get_by_role("combobox", name="Your name").click()
        page.get_by_role("option", name="Someone new…").click()
        page.get_by_label("Your name as it should stand").fill("Noor Newcomer")
        page.get_by_label("Your name as it should stand").press("Enter")
        page.get_by_role("button", name="Start", exact=True).click()

        # Home says what to do next; the first open question is a click away.
        expect(page.get_by_role("button", name="Continue labelling")).to_be_visible()
        picture(page, "2-home")
        page.get_by_role("button", name="Continue labelling").click()
        expect(page.locator(".an-question")).to_contain_text("hand in my expenses")

        # Find evidence by words, and grade four chunks by keys alone.
        page.locator(".row[aria-selected]").wait_for()
        idle(page)
        search(page, "submit expenses days receipts")
        for key in "3110":
            page.keyboard.press(key)
        saved(page)
        picture(page, "3-words")

        # Undo one, add a reason and evidence to another.
        page.keyboard.press("u")
        expect(page.locator(".note")).to_contain_text("Undone")
        page.keyboard.press("0")
        page.locator(".rows .row").first.click()
        quote = " ".join(page.locator(".text").inner_text().split()[:6])
        page.keyboard.press("e")
        page.locator(".quotebox").fill(quote)
        page.locator(".quotebox").press("Enter")
        expect(page.locator(".chip")).to_contain_text(quote)
        page.keyboard.press("r")
        page.keyboard.type("Names the deadline of the version in force.")
        picture(page, "4-reason")
        page.keyboard.press("Control+Enter")
        saved(page)
        page.get_by_role("button", name="Done, next question").click()

        # By a typo.
        open_question(page, "KW-027", "Where do I find the calibraton certifcate of a loger?")
        search(page, "calibraton certifcate", "typos allowed")
        expect(page.locator(".text")).to_contain_text("ertificate")
        picture(page, "5-typo")
        page.keyboard.press("3")
        page.keyboard.press("1")
        saved(page)
        page.get_by_role("button", name="Done, next question").click()

        # By an identifier.
        open_question(page, "KW-019", "Unit reports E-4170. What should I check?")
        search(page, "E-4170")
        expect(page.locator(".row[aria-selected]")).to_contain_text("E-4170")
        page.keyboard.press("3")
        page.keyboard.press("2")
        saved(page)
        picture(page, "6-identifier")

        # In the pool of the imported runs.
        page.get_by_role("radio", name="Pool").click()
        expect(page.locator(".listfoot")).to_contain_text("chunks")
        page.locator(".rows .badge.open").first.click()
        page.keyboard.press("0")
        page.keyboard.press("1")
        saved(page)
        picture(page, "7-pool")
        page.get_by_role("button", name="Done, next question").click()

        with sqlite3.connect(home / "annotator.db") as connection:
            graded = connection.execute(
                "SELECT COUNT(*) FROM current_judgments WHERE annotator = 'Noor Newcomer'"
            ).fetchone()
        assert graded == (10,)

        # Release version 1.
        page.get_by_role("link", name="Gold sets").click()
        page.get_by_text("something open out of this version").click()
        page.get_by_label("Note").fill("First version")
        page.get_by_label("Note").press("Tab")
        page.get_by_role("button", name="Freeze").click()
        expect(page.get_by_text("Frozen:")).to_be_visible()
        picture(page, "8-release")

        # Its figures on the three sample runs.
        page.get_by_role("link", name="Metrics").click()
        page.get_by_role("combobox", name="Gold set").click()
        page.get_by_role("option", name="v1").click()
        expect(page.locator(".an-tile").first).to_be_visible()
        picture(page, "9-metrics")
        page.get_by_role("radio", name="All runs").click()
        for run in ("bm25", "dense", "hybrid"):
            expect(page.locator("[data-testid='stMainBlockContainer']")).to_contain_text(run)
        picture(page, "10-runs")
        assert page.locator("[data-testid='stException']").count() == 0
    finally:
        app.stop()
