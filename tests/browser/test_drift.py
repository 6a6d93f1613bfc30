"""In a real browser: released, the table cut anew, drift read, confirmed and dropped, labels carried over by keys,
the next version released.

With ANNOTATOR_PICTURES=1 the pictures of `docs/` are taken on the way.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import Evidence, Judgment, Query
from annotator.services import chunk_table, gold
from annotator.store import corpus, judgments, queries
from annotator.store.database import Workspace
from annotator.store.people import Person, add
from tests.browser.app import ROOT, App, open_page

pytestmark = pytest.mark.browser

PARAGRAPHS = {
    "leave": (
        "Holiday entitlement is 28 days a year. Those who join during the year get a twelfth for every full month.",
        "Leave is asked for in the portal, at least two weeks ahead for anything longer than three days. "
        "The line manager answers within five working days.",
        "Up to ten days may be taken over into the next year. They lapse at the end of March, unless illness or "
        "the interests of the company stood in the way.",
    ),
    "travel": (
        "Train journeys are booked in second class. First class needs the consent of the head of department.",
        "Receipts are handed in within one month of the journey. Later claims are refused unless one was ill.",
        "A night in a hotel may cost up to 140 euros, breakfast included; in Zurich and New York up to 220 euros.",
    ),
    "cars": (
        "Company cars may be driven privately. The benefit is taxed at one percent of the list price a month.",
        "Fuel cards are for company cars only. Misuse is a reason for dismissal.",
    ),
}
LABELS = (
    # question, chunk, grade, quoted
    ("q1", "leave#3", 3, "Up to ten days may be taken over into the next year. They lapse at the end of March"),
    ("q1", "leave#1", 1, ""),
    ("q2", "travel#2", 3, "Receipts are handed in within one month of the journey."),
    ("q2", "travel#1", 0, ""),
    ("q3", "travel#3", 3, "A night in a hotel may cost up to 140 euros"),
    ("q4", "cars#1", 2, ""),
)
QUESTIONS = {
    "q1": "How many holidays can I keep for next year, and until when?",
    "q2": "By when must I send in my travel receipts?",
    "q3": "How expensive may my hotel be?",
    "q4": "Can I use the company car on weekends?",
}


def rows(cut_anew: bool) -> list[dict[str, Any]]:
    """Return the table: one paragraph a chunk, or leave joined, travel half edited, the cars gone."""
    made = []
    for document, paragraphs in PARAGRAPHS.items():
        texts = {f"{document}#{number}": text for number, text in enumerate(paragraphs, 1)}
        if cut_anew and document == "leave":
            whole = " ".join(paragraphs)
            at = whole.index("They lapse at")
            texts = {"leave/a": whole[:at], "leave/b": whole[at:]}
        elif cut_anew and document == "travel":
            texts["travel#2"] = texts["travel#2"].replace("refused", "not paid")
            texts["travel#3"] = texts["travel#3"].replace("140 euros", "160 euros")
        elif cut_anew:
            texts = {"cars#1": "Bicycles are leased through the company for three years; the wage pays the rate."}
        made += [
            {"chunk_id": key, "doc_id": document, "title": f"Handbook: {document}", "position": place, "text": text}
            for place, (key, text) in enumerate(texts.items())
        ]
    return made


def write(folder: Path, cut_anew: bool) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows(cut_anew))
    (folder / "handbook.jsonl").write_text(lines, "utf-8")


@pytest.fixture
def made(tmp_path: Path) -> Workspace:
    """A workspace with version 1 released, whose live table was cut anew since."""
    write(tmp_path, cut_anew=False)
    made = Workspace(tmp_path / "workspace")
    made.create()
    with made.write() as connection:
        add(connection, Person("Ana", "admin"), "Ana")
        for query_id, question in QUESTIONS.items():
            queries.add(connection, Query(query_id, question, state="complete"), "Ana")
    chunk_table.connect(made, "Ana", str(tmp_path / "handbook.jsonl"))
    chunk_table.sync(made, "Ana")
    with made.write() as connection:
        for query_id, chunk_id, grade, quote in LABELS:
            chunk = corpus.chunk(connection, chunk_id)
            at = chunk.text.find(quote)
            spans = (Evidence(quote, at, at + len(quote)),) if quote else ()
            judged = Judgment(
                query_id, chunk_id, "Ana", grade, reason="It is what the handbook says." if grade else "",
                evidence=spans, sha256=chunk.sha256, operation_id=f"{query_id}/{chunk_id}",
            )  # fmt: skip
            judgments.append(connection, judged)
    gold.release(made, "Ana", name="handbook")
    write(tmp_path, cut_anew=True)
    return made


def pictures(page: Page, name: str) -> None:
    """Take the picture for the docs, and those to look at in other sizes and in the dark where a folder is named."""
    page.mouse.move(2, 2)
    page.wait_for_timeout(900)
    # the table's address is a passing folder of the test
    page.evaluate("""for (const one of document.querySelectorAll('.an-line bdi'))
        one.textContent = one.textContent.replace(/.*[/](handbook.jsonl)$/, '$1')""")
    if os.environ.get("ANNOTATOR_PICTURES") == "1":
        page.screenshot(path=ROOT / "docs" / f"{name}.png")
    folder = os.environ.get("ANNOTATOR_LOOK")
    if folder:
        for size in ((1440, 900), (1024, 768)):
            for scheme in ("light", "dark"):
                page.set_viewport_size({"width": size[0], "height": size[1]})
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(900)
                page.screenshot(path=Path(folder) / f"{name}-{size[0]}-{scheme}.png")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(color_scheme="light")
        page.wait_for_timeout(500)


def choose(page: Page, view: str) -> None:
    radio = page.get_by_role("radio", name=view, exact=True)
    radio.click()
    expect(radio).to_be_checked()


def test_released_synced_drifted_carried_released_again(chromium: Browser, made: Workspace) -> None:
    app = App(made.home)
    try:
        page = open_page(chromium, f"{app.url}/chunks", "Ana")
        page.get_by_role("button", name="Sync now").click()
        expect(page.get_by_text("Synced in")).to_be_visible()

        # Drift: six labels of which one is untouched.
        choose(page, "Drift")
        expect(page.get_by_text("5 labels on chunks that changed or vanished")).to_be_visible()
        choose(page, "changed 2")
        expect(page.locator(".an-difference del")).to_have_text("refused")
        expect(page.locator(".an-difference ins")).to_have_text("not paid")
        pictures(page, "drift")
        page.keyboard.press("y")
        expect(page.get_by_text("1 label confirmed by Ana.")).to_be_visible()

        # Evidence that changed is said to be lost; the label is right all the same.
        expect(page.get_by_text("Evidence that the text no longer has")).to_be_visible()
        expect(page.locator(".an-difference ins")).to_have_text("160")
        page.get_by_role("button", name="Confirm 3 answers").click()
        expect(page.get_by_text("1 label confirmed by Ana.")).to_be_visible()

        # The id of the cars stands on bicycles now: dropped, with a reason.
        choose(page, "reused 1")
        expect(page.get_by_text("Bicycles are leased")).to_be_visible()
        page.get_by_label("Reason").fill("company cars were given up")
        page.get_by_label("Reason").press("Tab")
        page.get_by_role("button", name="Drop 1 label").click()
        expect(page.get_by_text("1 label dropped by Ana.")).to_be_visible()

        # The holidays were cut anew: look for them, decide by keys.
        page.get_by_role("button", name="Look for new places").click()
        expect(page.get_by_text("1 of 3")).to_be_visible()
        expect(page.locator(".an-text mark")).to_have_count(2)
        page.keyboard.press("j")
        expect(page.get_by_text("2 of 3")).to_be_visible()
        pictures(page, "carry")
        page.keyboard.press("k")
        expect(page.get_by_text("1 of 3")).to_be_visible()
        page.keyboard.press("a")
        expect(page.get_by_text("Carried with grade")).to_be_visible()
        expect(page.get_by_text("1 of 2")).to_be_visible()
        page.keyboard.press("j")
        expect(page.get_by_text("2 of 2")).to_be_visible()
        page.keyboard.press("k")
        expect(page.get_by_text("1 of 2")).to_be_visible()
        page.keyboard.press("2")
        expect(page.get_by_text("Carried with grade 2 partial")).to_be_visible()
        expect(page.get_by_text("1 of 1")).to_be_visible()
        page.keyboard.press("x")
        expect(page.get_by_text("No proposal waits")).to_be_visible()

        # Nothing blocks: the next version, without cars; the question about them is left without an answer.
        choose(page, "Drift")
        expect(page.get_by_text("Every judged chunk still stands in the table")).to_be_visible()
        assert page.locator("[data-testid='stException']").count() == 0
        with made.write() as connection:
            cars = queries.query(connection, "q4")
            queries.change(connection, replace(cars, state="retired"), "Ana")
        page.get_by_role("link", name="Gold sets").click()
        page.get_by_label("Note").fill("After the handbook was cut anew")
        page.get_by_label("Note").press("Tab")
        page.get_by_role("button", name="Freeze").click()
        expect(page.get_by_text("Frozen:")).to_be_visible()
    finally:
        app.stop()
    with closing(sqlite3.connect(made.database)) as connection:
        origins = connection.execute("SELECT DISTINCT origin FROM judgments ORDER BY 1").fetchall()
    assert [one[0] for one in origins] == ["annotate", "carried from leave#1", "carried from leave#3", "confirmed"]
    released = next(made.releases.glob("*-v2")).joinpath("gold.jsonl").read_text("utf-8").splitlines()
    labels = {row["query_id"]: {one["chunk_id"] for one in row["gold"]} for row in map(json.loads, released)}
    assert labels["q1"] <= {"leave/a", "leave/b"}
    assert labels["q2"] == {"travel#1", "travel#2"}
    assert labels["q3"] == {"travel#3"}
    assert "q4" not in labels
