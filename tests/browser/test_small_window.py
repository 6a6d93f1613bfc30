"""The app in a window of 1024 by 768, where all that is needed must fit, and the address of the first page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.services.workspace import init
from tests.browser.app import App, idle, open_page
from tests.browser.contrast import too_dim

pytestmark = pytest.mark.browser

SMALL = (1024, 768)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    started = App(init(tmp_path_factory.mktemp("small") / "workspace", who="Ana", demo=True).home)
    yield started
    started.stop()


def fits(page: Page) -> bool:
    """Say whether nothing of the page lies beyond its right edge."""
    return bool(page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth"))


def test_home_is_another_name_of_the_first_page(chromium: Browser, app: App) -> None:
    page = open_page(chromium, f"{app.url}/home", "Ana", SMALL)  # the first request of this server
    expect(page.locator("h1")).to_have_text("Home")
    expect(page).to_have_url(f"{app.url}/")
    page.context.close()


def test_the_question_and_its_buttons_stand_side_by_side(chromium: Browser, app: App) -> None:
    page = open_page(chromium, f"{app.url}/annotate?query=KW-006", "Ana", SMALL)
    done = page.get_by_role("button", name="Done, next question")
    expect(done).to_be_visible()
    page.locator(".row[aria-selected]").wait_for()
    idle(page)
    buttons = [
        page.get_by_role("button", name=name).bounding_box() for name in ("Rubric", "Skip", "Done, next question")
    ]
    assert len({box and round(box["y"]) for box in buttons}) == 1
    question = page.locator(".an-question").bounding_box()
    assert question
    assert buttons[0]
    assert question["x"] + question["width"] <= buttons[0]["x"]
    end = page.locator(".row[aria-selected] .title span").last
    expect(end).to_have_text(" and deadline")
    assert end.evaluate("node => node.scrollWidth <= node.clientWidth + 1")
    assert fits(page)
    page.context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_deciding_stays_in_sight_and_is_legible(chromium: Browser, app: App, theme: str) -> None:
    page = open_page(chromium, f"{app.url}/review", "Ana", SMALL, color_scheme=theme)
    expect(page.locator(".an-cards")).to_be_visible()
    idle(page)
    expect(page.get_by_role("button", name="answers")).to_be_in_viewport()
    assert too_dim(page, "document.querySelector('.an-cards')") == []
    assert fits(page)
    page.context.close()
