"""Metrics in a real browser: charts are drawn in both themes, and the verdict comes with a report to take along.

With ANNOTATOR_PICTURES=1 the pictures of `docs/ci.md` are taken on the way.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.services import gold
from annotator.services.workspace import init
from tests.browser.app import ROOT, App, idle, open_page

pytestmark = pytest.mark.browser


def picture(page: Page, name: str) -> None:
    if os.environ.get("ANNOTATOR_PICTURES") == "1":
        page.mouse.move(2, 2)
        page.wait_for_timeout(900)
        page.screenshot(path=ROOT / "docs" / f"{name}.png")


def view(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()
    expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)
    idle(page)
    beyond = "tables => tables.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"
    assert page.locator(".an-wide").evaluate_all(beyond) == []


SIZES = {"light": (1440, 900), "dark": (1024, 768)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_run_is_compared_judged_and_reported(chromium: Browser, tmp_path: Path, theme: str) -> None:
    workspace = init(tmp_path / "workspace", who="Ana", demo=True)
    gold.release(workspace, "Ana", allow_open=True)
    app = App(workspace.home)
    try:
        page = open_page(chromium, f"{app.url}/metrics", "Ana", color_scheme=theme, size=SIZES[theme])
        expect(page.locator(".an-tile")).to_have_count(7)

        view(page, "Compare")
        expect(page.get_by_text("cannot tell this from chance")).to_be_visible()
        expect(page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg")).to_be_visible()
        if theme == "light":
            picture(page, "metrics-compare")

        view(page, "By slice")
        expect(page.get_by_text("Judged@10")).to_be_visible()
        view(page, "All runs")
        expect(page.get_by_role("radio", name="by embedding model")).to_be_visible()
        expect(page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg")).to_be_visible()

        view(page, "Gate")
        expect(page.get_by_text("Block: at least one rule")).to_be_visible()
        with page.expect_download() as started:
            page.get_by_role("button", name="Download the report").click()
        assert Path(started.value.path()).read_text("utf-8").startswith("## Retrieval gate: block\n")
        if theme == "light":
            picture(page, "metrics-gate")

        view(page, "Holes")
        page.get_by_role("link", name="Judge", exact=True).first.click()
        expect(page.get_by_label("Search chunks")).to_have_value("prod-tern2-datasheet#overview")
        assert page.locator("[data-testid='stException']").count() == 0
    finally:
        app.stop()
