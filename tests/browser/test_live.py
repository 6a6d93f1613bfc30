"""The chunk beside its row in the live table, in a real browser: looking, taking over, and chunks like it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from annotator.services import chunk_table
from annotator.store.database import Workspace
from tests.browser.app import App
from tests.browser.test_annotate import annotate, saved, shown, stored
from tests.browser.test_workbench import Bench, opened
from tests.conftest import HANDBOOK, make_workspace

pytestmark = pytest.mark.browser

SYNCED = "2026-01-02T03:04:05Z"
CHANGED = {
    "id": "a#1",
    "n": 1,
    "state": "changed",
    "at": "2026-01-02T04:00:00Z",
    "difference": [["same", "Refunds are paid within "], ["gone", "14"], ["new", "<b>30</b>"], ["same", " days."]],
    "other": ["version"],
    "note": "",
}


@pytest.fixture
def bench(chromium: Browser) -> Iterator[Bench]:
    yield from opened(chromium)


def triggers(bench: Bench) -> list[Any]:
    return bench.page.evaluate("triggers")  # type: ignore[no-any-return]


def test_who_rests_on_a_chunk_has_its_row_looked_at_once(bench: Bench) -> None:
    bench.show(synced_at=SYNCED, at_a_glance=True)
    bench.page.wait_for_function("triggers.length > 0")
    assert triggers(bench) == [["look", {"id": "a#1", "asked": False}]]
    bench.show(synced_at=SYNCED, at_a_glance=True, look={"id": "a#1", "n": 1, "state": "same", "at": SYNCED})
    expect(bench.page.locator(".asof")).to_contain_text("✓ unchanged")
    bench.page.keyboard.press("j")
    expect(bench.page.locator(".asof")).to_contain_text("as of")
    bench.page.keyboard.press("k")
    expect(bench.page.locator(".asof")).to_contain_text("✓ unchanged")
    bench.page.wait_for_timeout(1800)  # longer than a rest
    assert len(triggers(bench)) == 1


def test_nothing_is_looked_at_while_something_waits_to_be_saved_or_where_it_is_not_cheap(bench: Bench) -> None:
    bench.show(synced_at=SYNCED, at_a_glance=False)
    bench.page.wait_for_timeout(1800)
    bench.show(synced_at=SYNCED, at_a_glance=True)
    bench.page.keyboard.press("3")
    bench.page.wait_for_timeout(1800)
    assert triggers(bench) == []


def test_what_a_glance_found_is_told_beside_the_id_and_moves_nothing(bench: Bench) -> None:
    bench.show(synced_at=SYNCED, at_a_glance=False)
    place = bench.page.locator(".text").bounding_box()
    bench.show(synced_at=SYNCED, at_a_glance=False, look=CHANGED)
    line = bench.page.locator(".asof")
    expect(line).to_have_text("⚠ changed")
    assert bench.page.locator(".text").bounding_box() == place
    expect(bench.page.locator(".live")).to_be_hidden()
    line.click()
    box = bench.page.locator(".live")
    expect(box).to_contain_text("also version")
    expect(box.locator("del")).to_have_text("14")
    expect(box.locator("ins")).to_have_text("<b>30</b>")
    line.click()
    expect(box).to_be_hidden()
    assert triggers(bench) == []


def test_an_answer_that_was_asked_for_opens_and_can_be_taken(bench: Bench) -> None:
    bench.show(synced_at=SYNCED, at_a_glance=False)
    bench.page.locator(".asof").click()
    expect(bench.page.locator(".asof")).to_be_disabled()
    bench.show(synced_at=SYNCED, at_a_glance=False, look=CHANGED)
    bench.page.locator(".take").click()
    assert triggers(bench) == [["look", {"id": "a#1", "asked": True}], ["refresh", "a#1"]]
    bench.show(synced_at=SYNCED, at_a_glance=False, look={"id": "a#1", "n": 2, "done": "changed"})
    expect(bench.page.locator(".live")).to_be_hidden()
    expect(bench.page.locator(".note")).to_contain_text("present text")


def test_that_a_look_failed_is_still_said_at_the_next_key(bench: Bench) -> None:
    bench.show(synced_at=SYNCED, at_a_glance=False)
    bench.page.locator(".asof").click()
    bench.show(synced_at=SYNCED, at_a_glance=False, look={"id": "a#1", "n": 1, "message": "The table is locked."})
    bench.page.keyboard.press("j")
    expect(bench.page.locator(".note.alarm")).to_have_text("The table is locked.")


def test_an_answer_from_before_this_element_is_no_news(bench: Bench) -> None:
    bench.show(synced_at=SYNCED, at_a_glance=False, look={"id": "a#1", "n": 5, "done": "changed"})
    expect(bench.page.locator(".note")).to_have_text("")
    expect(bench.page.locator(".asof")).to_contain_text("as of")


@pytest.fixture
def made(tmp_path: Path) -> Workspace:
    """The handbook from a database that can be changed by one chunk, with a copy of one of its chunks."""
    made = make_workspace(tmp_path)
    rows = [*HANDBOOK, ("copy#1", "handout", "Handout", 0, HANDBOOK[1][4])]
    _run(
        made,
        "CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id, title, position, text)",
        *(("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", row) for row in rows),
    )
    chunk_table.connect(made, "Ana", f"sqlite:///{made.home.parent}/live.db")
    chunk_table.sync(made, "Ana")
    return made


def _run(made: Workspace, *statements: str | tuple[str, tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(made.home.parent / "live.db")) as connection, connection:
        for one in statements:
            connection.execute(*((one,) if isinstance(one, str) else one))


def test_a_changed_chunk_is_refreshed_and_then_graded_by_its_present_text(chromium: Browser, made: Workspace) -> None:
    app = App(made.home)
    try:
        page = annotate(chromium, app, "q1")
        chunk = "refunds-v4#1"
        page.locator(f".row[data-id='{chunk}']").click()
        expect(page.locator(".asof")).to_contain_text("✓ unchanged")
        _run(made, ("UPDATE chunks SET text = 'Nobody approves late refunds.' WHERE chunk_id = ?", (chunk,)))
        page.locator(".asof").click()
        expect(page.locator(".live ins").first).to_be_visible()
        page.locator(".take").click()
        expect(page.locator(".text")).to_have_text("Nobody approves late refunds.")
        page.keyboard.press("3")
        saved(page)
        assert stored(made, "q1") == [(chunk, 3)]
        # chunks like another one are a list like any: opened, graded, left
        page.locator(".row", has_text="Handout").click()
        page.get_by_role("button", name="similar", exact=True).click()
        expect(page.locator(".listfoot")).to_contain_text("like copy#1")
        first = shown(page)
        expect(page.locator(".row .why").first).to_have_text("the same words")
        page.keyboard.press("1")
        saved(page)
        assert stored(made, "q1")[-1] == (first, 1)
    finally:
        app.stop()
