"""The pool in a real browser: what it gives away, near-duplicates graded together, and links to one chunk."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import Query, Run, RunQuery
from annotator.services import chunk_table, gold, pools
from annotator.services.pools import Build
from annotator.services.workspace import init
from annotator.store import queries, runs
from annotator.store.database import Workspace
from tests.browser.app import ROOT, App, idle, open_page
from tests.conftest import HANDBOOK, make_workspace

pytestmark = pytest.mark.browser

SAID = "Refunds are paid within 14 days to the account the money came from, whatever the reason of the return was."
ODD = "copy/ü ?&=#%20 <b>+1"
CHUNKS = (
    *HANDBOOK,
    ("copy#1", "mirror-a", "Refunds, help centre", 0, SAID),
    (ODD, "mirror-b", "Refunds, web shop", 0, f"{SAID} Always."),
    ("copy#3", "mirror-c", "Refunds, intranet", 0, SAID),
)
TWINS = {"copy#1", ODD, "copy#3"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = make_workspace(tmp_path_factory.mktemp("pool"), CHUNKS)
    found = ("copy#1", "refunds-v4#1", ODD, "travel#1", "copy#3")
    with made.write() as connection:
        for number in range(4):
            queries.add(connection, Query(f"p{number}", f"Refund question number {number}"), "Ana")
        answers = {f"p{number}": RunQuery(f"p{number}", found) for number in range(4)}
        runs.add(connection, Run("secret-hybrid", answers, digest="d"), "Ana")
    pools.build(made, "Ana", Build(("secret-hybrid",), "words", "", 10))
    return made


@pytest.fixture(scope="module")
def app(made: Workspace) -> Iterator[App]:
    started = App(made.home)
    yield started
    started.stop()


def pool(chromium: Browser, app: App, query: str, **options: Any) -> Page:
    page = open_page(chromium, f"{app.url}/annotate?query={query}", "Ben", **options)
    page.locator(".row[aria-selected]").wait_for()
    idle(page)
    page.get_by_text("Pool", exact=True).click()
    expect(page.locator(".listfoot")).to_contain_text("sources, depth 10")
    idle(page)
    return page


def stored(made: Workspace, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(made.database) as connection:
        sql = (
            "SELECT operation_id, chunk_id, grade, reason, seconds FROM judgments WHERE query_id = ? AND undoes IS NULL"
        )
        return connection.execute(f"{sql} ORDER BY judgment_id", (query,)).fetchall()


def in_force(made: Workspace, query: str) -> dict[str, int]:
    with sqlite3.connect(made.database) as connection:
        sql = "SELECT chunk_id, grade FROM current_judgments JOIN judgments USING (judgment_id, query_id, chunk_id)"
        return dict(connection.execute(f"{sql} WHERE query_id = ?", (query,)).fetchall())


def saved(page: Page) -> None:
    expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved")


def test_the_pool_tells_its_size_and_hides_who_found_what(chromium: Browser, app: App) -> None:
    page = pool(chromium, app, "p0")
    expect(page.locator(".listfoot")).to_contain_text("from 2 sources, depth 10")
    assert "secret-hybrid" not in page.content()
    assert "secret-hybrid" not in page.locator(".bench").inner_text()
    order = [row.get_attribute("data-id") for row in page.locator(".row").all()]
    at = sorted(order.index(one) for one in TWINS)
    assert at == list(range(at[0], at[0] + 3))
    assert page.locator(".row .twin").count() == 3


def test_near_duplicates_are_graded_alike_when_that_is_confirmed(chromium: Browser, app: App, made: Workspace) -> None:
    page = pool(chromium, app, "p1")
    page.locator(".row[data-id='copy#1']").click()
    expect(page.locator(".alike")).to_be_hidden()
    page.keyboard.press("r")
    page.keyboard.type("States the term.")
    page.keyboard.press("Escape")
    page.keyboard.press("3")
    expect(page.locator(".alike")).to_have_text("dGrade 2 near-duplicates the same")
    saved(page)
    assert [row[1:4] for row in stored(made, "p1")] == [("copy#1", 3, "States the term.")]  # nothing unasked
    page.keyboard.press("d")
    expect(page.locator(".alike")).to_be_hidden()
    saved(page)
    expect(page.locator(".progress")).to_have_text("3 judged · 3 relevant")
    rows = stored(made, "p1")
    assert len({row[0] for row in rows}) == 3
    assert {row[1] for row in rows} == TWINS
    reason = "States the term. Near-duplicate of copy#1."
    assert [(row[2], row[3], row[4]) for row in rows[1:]] == [(3, reason, None)] * 2
    page.keyboard.press("u")
    saved(page)
    expect(page.locator(".progress")).to_have_text("2 judged · 2 relevant")
    page.keyboard.press("u")
    saved(page)
    expect(page.locator(".progress")).to_have_text("1 judged · 1 relevant")
    assert in_force(made, "p1") == {"copy#1": 3}


def test_the_offer_ends_with_the_next_grade_and_leaves_begun_reasons_alone(
    chromium: Browser, app: App, made: Workspace
) -> None:
    page = pool(chromium, app, "p2")
    page.locator(".row[data-id='copy#3']").click()
    page.keyboard.press("r")
    page.keyboard.type("Not sure")
    page.keyboard.press("Escape")
    page.locator(".row[data-id='copy#1']").click()
    page.keyboard.press("2")
    offer = page.locator(".alike")
    expect(offer).to_have_text("dGrade 1 near-duplicate the same")  # one was being written about
    offer.dblclick()
    saved(page)
    assert {row[1]: row[2] for row in stored(made, "p2")} == {"copy#1": 2, ODD: 2}
    page.locator(".row[data-id='travel#1']").click()
    page.keyboard.press("0")
    expect(offer).to_be_hidden()
    page.keyboard.press("d")
    saved(page)
    assert set(in_force(made, "p2")) == {"copy#1", ODD, "travel#1"}


def test_a_link_opens_its_question_with_the_chunk_selected(chromium: Browser, app: App) -> None:
    page = open_page(chromium, f"{app.url}/annotate?query=p3&chunk={quote(ODD, safe='')}", "Ben")
    expect(page.locator(".row[aria-selected]")).to_have_attribute("data-id", ODD)
    idle(page)
    expect(page.locator(".idline .id")).to_have_text(ODD)
    page.wait_for_url(f"{app.url}/annotate?query=p3")
    page.keyboard.press("1")
    saved(page)
    page.goto(f"{app.url}/annotate?query=p3&chunk={quote(ODD, safe='')}")
    row = page.locator(".row[aria-selected]")
    # graded already, and still the one that was asked for
    expect(row).to_have_attribute("data-id", ODD)
    expect(row.locator(".badge")).to_have_text("1 related")


@pytest.fixture
def printed_twice(tmp_path: Path) -> Workspace:
    """The demo with two copies of a clause, pools over them, and its version 1."""
    made = init(tmp_path / "workspace", who="Ana", demo=True)
    table = tmp_path / "chunks.db"
    shutil.copy(ROOT / "data" / "demo" / "chunks.db", table)
    with closing(sqlite3.connect(table)) as connection, connection:
        for copy, title in (("handbook", "Staff handbook › Expenses"), ("intranet", "Intranet › Travel")):
            connection.execute(
                "INSERT INTO chunks SELECT ?, ?, ?, 0, text, metadata FROM chunks WHERE chunk_id = ?",
                (f"{copy}#receipts", copy, title, "policy-travel-v2#receipts"),
            )
    chunk_table.connect(made, "Ana", f"sqlite:///{table}", table="chunks")
    chunk_table.sync(made, "Ana")
    pools.build(made, "Ana", Build(("hybrid", "dense", "bm25"), "words", "", 20))
    gold.release(made, "Ana", allow_open=True)
    return made


def picture(page: Page, name: str) -> None:
    if os.environ.get("ANNOTATOR_PICTURES") == "1":
        page.mouse.move(2, 2)
        page.wait_for_timeout(900)
        page.screenshot(path=ROOT / "docs" / f"{name}.png")


def test_a_pool_and_a_trace_of_the_demo_as_the_guide_shows_them(chromium: Browser, printed_twice: Workspace) -> None:
    app = App(printed_twice.home)
    try:
        page = open_page(chromium, f"{app.url}/annotate?query=KW-006", "Ana")
        page.locator(".row[aria-selected]").wait_for()
        idle(page)
        page.get_by_text("Pool", exact=True).click()
        expect(page.locator(".listfoot")).to_contain_text("from 4 sources, depth 20")
        idle(page)
        page.locator(".row[data-id='policy-travel-v2#receipts']").click()
        page.keyboard.press("3")
        expect(page.locator(".alike")).to_have_text("dGrade 2 near-duplicates the same")
        saved(page)
        page.locator(".row[data-id='intranet#receipts']").scroll_into_view_if_needed()
        picture(page, "pool")
        page.goto(f"{app.url}/metrics")
        page.get_by_role("radio", name="Diagnosis", exact=True).click()
        expect(page.get_by_text("What the retriever did")).to_be_visible()
        expect(page.get_by_text("Filtered out by freshness").first).to_be_visible()
        idle(page)
        page.set_viewport_size({"width": 1440, "height": 1480})
        page.get_by_role("heading", name="Filtered out").scroll_into_view_if_needed()
        page.locator("[data-testid='stMain']").evaluate("(one) => one.scrollBy(0, 900)")
        picture(page, "trace")
    finally:
        app.stop()
