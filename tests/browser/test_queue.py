"""A team at work in a real browser: everybody their own question, a skip, a break, what came back, and sharing out.

With ANNOTATOR_PICTURES=1 the pictures of `docs/queue.md` are taken on the way.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import Person
from annotator.services import labelling, queue, review, search, sharing
from annotator.services.labelling import Operation
from annotator.services.workspace import init
from annotator.store import corpus, judgments, people
from annotator.store.database import Workspace
from tests.browser.app import ROOT, App, idle, open_page
from tests.conftest import make_workspace

pytestmark = pytest.mark.browser


def staff(workspace: Workspace, *names: str) -> None:
    with workspace.write() as connection:
        for name in names:
            people.add(connection, Person(name), "Ana")


def picture(page: Page, name: str) -> None:
    if os.environ.get("ANNOTATOR_PICTURES") == "1":
        page.mouse.move(2, 2)
        page.wait_for_timeout(900)
        page.screenshot(path=ROOT / "docs" / f"{name}.png")


def question(page: Page, words: str) -> None:
    """Wait for a question to be on the desk, with its candidates."""
    expect(page.locator("h2.an-question")).to_contain_text(words)
    page.locator(".row[aria-selected]").wait_for()
    idle(page)


def grade(page: Page, key: str) -> None:
    page.keyboard.press(key)
    expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = make_workspace(tmp_path)
    staff(made, "Cleo", "Dov")
    return made


@pytest.fixture
def app(workspace: Workspace) -> Iterator[App]:
    started = App(workspace.home)
    yield started
    started.stop()


def test_four_people_share_three_questions(chromium: Browser, workspace: Workspace, app: App) -> None:
    pages = {}
    for who, words in (("Ana", "late refund"), ("Ben", "money paid back"), ("Cleo", "E-4107")):
        pages[who] = open_page(chromium, f"{app.url}/annotate", who)
        question(pages[who], words)
    dov = open_page(chromium, f"{app.url}/annotate", "Dov")
    expect(dov.get_by_text("The last 3 questions are in use by others")).to_contain_text("free in 30 minutes")
    picture(dov, "queue")

    # Cleo leaves hers to others, by the key, and Dov gets it.
    pages["Cleo"].keyboard.press("z")
    dialog = pages["Cleo"].get_by_role("dialog")
    dialog.get_by_role("textbox").fill("I do not know these codes")
    dialog.get_by_role("button", name="Leave it to others").click()
    expect(pages["Cleo"].get_by_text("The last 2 questions are in use by others")).to_be_visible()
    dov.get_by_role("button", name="Look again").click()
    question(dov, "E-4107")
    grade(dov, "3")
    with workspace.read() as connection:
        (label,) = judgments.current(connection, query_id="q3", annotator="Dov")
    dov.get_by_role("button", name="Done, next question").click()
    expect(dov.get_by_text("The last 2 questions are in use by others")).to_be_visible()

    # Ben comes back after a break, in another browser, to where he was.
    pages["Ben"].context.close()
    ben = open_page(chromium, f"{app.url}/annotate", "Ben")
    question(ben, "money paid back")

    # A reviewer opens Dov's label again: it comes back with the reason, and the same grade is a new judgment.
    review.reopen(workspace, "Ana", [("q3", label.chunk_id)], "Read note 2 of the rubric.")
    dov.get_by_role("button", name="Look again").click()
    question(dov, "E-4107")
    expect(dov.get_by_text("Ana opened your label of")).to_contain_text("Read note 2 of the rubric.")
    expect(dov.locator(".row[aria-selected] .staleflag")).to_have_text("⚠ opened again")
    grade(dov, "3")
    expect(dov.locator(".row .staleflag")).to_have_text("")
    with workspace.read() as connection:
        assert len(judgments.history(connection, "q3", label.chunk_id)) == 2
        (again,) = judgments.current(connection, query_id="q3", annotator="Dov")
    assert (again.grade, again.operation_id == label.operation_id) == (3, False)


def test_a_lead_shares_out_a_slice_and_reads_the_calibration(chromium: Browser, tmp_path: Path) -> None:
    made = init(tmp_path / "workspace", who="Ana", demo=True)
    staff(made, "Ben", "Cleo")
    _calibrate(made)
    app = App(made.home)
    try:
        page = open_page(chromium, f"{app.url}/queries", "Ana")
        facet = page.get_by_role("combobox", name="Facet")
        facet.click()
        page.get_by_role("option", name="domain: policy").click()
        expect(page.get_by_test_id("stDataFrame")).to_be_visible()
        page.get_by_role("button", name="Share out…").click()
        page.get_by_role("combobox", name="Which questions").click()
        page.get_by_role("option", name="The slice domain: policy").click()
        people_box = page.get_by_role("combobox", name="For whom")
        people_box.click()
        page.get_by_role("option", name="Ben", exact=True).click()
        page.get_by_role("option", name="Cleo", exact=True).click()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Give").click()
        expect(page.get_by_text("with questions added later: for Ben, Cleo.")).to_be_visible()
        picture(page, "sharing")
        assert [one.annotator for one in sharing.shared(made, "Ana").assignments] == ["Ben", "Cleo"]

        page.goto(f"{app.url}/review")
        page.get_by_role("radio", name="Calibration").click()
        expect(page.locator(".an-cards").first).to_contain_text("Names where it is filed.")
        picture(page, "calibration")
    finally:
        app.stop()


def _calibrate(workspace: Workspace) -> None:
    """Three people label a question of the set and differ; Ana settles two of the chunks."""
    words = "calibration certificate of a logger"
    ids = [hit.chunk_id for hit in search.search(workspace, words, limit=4).hits]
    said = {3: "Names where it is filed.", 2: "The step before, not the place.", 1: "Mentions certificates.", 0: ""}
    sharing.calibrate(workspace, "Ana", ["KW-027"])
    for who, grades in (("Ana", (3, 2, 0, 0)), ("Ben", (3, 0, 1, 0)), ("Cleo", (2, 2, 0, 0))):
        with workspace.read() as connection:
            texts = {chunk_id: corpus.chunk(connection, chunk_id).sha256 for chunk_id in ids}
        batch = [
            Operation(
                id=f"{random.random()}", kind="judge", who=who, query_id="KW-027", chunk_id=chunk_id,
                sha256=texts[chunk_id], grade=value, reason=said[value],
            )
            for chunk_id, value in zip(ids, grades, strict=True)
        ]  # fmt: skip
        assert labelling.apply(workspace, who, batch).refused == ()
        queue.finish(workspace, who, "KW-027")
    for chunk_id, value, why in ((ids[0], 3, "The place is what is asked for."), (ids[1], 2, "A condition only.")):
        found = review.case(workspace, "Ana", "KW-027", chunk_id)
        review.decide(
            workspace, "Ana", "KW-027", chunk_id, value, reason=why, sha256=found.chunk.sha256, seen=found.revision
        )
