"""The grading loop in a real Chromium against a bare page with four shortcut buttons, in the same browser and run.

Prints, for the demo and for a workspace of 100,000 chunks: key press → next chunk painted, key press → acknowledged
as saved, as milliseconds and as ratios to the bare page's median; and 200 keys at 30 ms intervals checked against
what the database holds.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page

from annotator.model import Person, Query
from annotator.services import chunk_table, search, workspace
from annotator.store import people, queries
from annotator.store.database import Workspace
from tests.browser.app import DEEP, App, browser, open_page

WHO = "Bench Person"
GRADES = 200

# Measures from the input event to the frame after the one in which the watched text changed.
_PROBE = (
    DEEP
    + """
window.seen = [];
window.shown = () => deep(window.watch)?.textContent ?? '';
window.waiting = () => deep('.status')?.dataset.waiting;
document.addEventListener('keydown', (event) => {
  const one = { before: shown(), key: event.key, start: event.timeStamp };
  seen.push(one);
  const look = () => requestAnimationFrame(() => {
    const age = () => performance.now() - one.start;
    if (!one.painted && shown() !== one.before) requestAnimationFrame(() => { one.painted ??= age(); });
    if (!one.saved && waiting() === '0' && one.started) one.saved = age();
    one.started = one.started || waiting() > 0 || age() > 20;
    if (age() < 5000 && !(one.painted && one.saved)) look();
  });
  look();
}, true);
"""
)


def run(size: int = 100_000) -> Iterator[dict[str, object]]:
    """Yield one line per figure; `size` is the number of chunks of the large workspace."""
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        bare = statistics.median(_bare(started))
        yield {"bench": "grading", "what": "bare page: key to next item painted, median", "ms": round(bare, 1)}
        homes = {"demo": _demo(Path(folder) / "demo"), f"{size} chunks": _large(Path(folder) / "large", size)}
        for name, made in homes.items():
            app = App(made.home)
            try:
                yield from _figures(started, app, made, name, bare)
            finally:
                app.stop()


def _figures(started: Browser, app: App, made: Workspace, name: str, bare: float) -> Iterator[dict[str, object]]:
    page = _annotate(started, app)
    painted, saved = _paced(page)
    for what, values in (("next chunk painted", painted), ("acknowledged as saved", saved)):
        median, p95 = statistics.median(values), statistics.quantiles(values, n=20)[18]
        yield {
            "bench": "grading",
            "where": name,
            "what": f"key to {what}",
            "n": len(values),
            "median_ms": round(median, 1),
            "p95_ms": round(p95, 1),
            "median_over_bare": round(median / bare, 2),
            "p95_over_bare": round(p95 / bare, 2),
        }
    page.context.close()
    yield {"bench": "grading", "where": name, **_burst(started, app, made)}


def _bare(started: Browser) -> list[float]:
    app = App(script="tests/bench/_bare_page.py")
    try:
        page = open_page(started, app.url)
        page.evaluate("window.watch = '[data-testid=\"stText\"]';" + _PROBE)
        page.get_by_role("button", name="Grade 0").wait_for()
        for number in range(GRADES):
            page.keyboard.press(str(number % 4))
            page.wait_for_function("seen[seen.length - 1].painted")
        values = [float(one) for one in page.evaluate("seen.map((one) => one.painted)")]
        page.context.close()
        return values[20:]
    finally:
        app.stop()


def _annotate(started: Browser, app: App, query: str = "bench-1") -> Page:
    page = open_page(started, f"{app.url}/annotate?query={query}", WHO)
    page.evaluate("window.watch = '.idline .id';" + _PROBE)
    page.wait_for_function("deep('.row[aria-selected]')")
    return page


def _paced(page: Page) -> tuple[list[float], list[float]]:
    """Grade one chunk after the other, each when the one before is saved, over as many questions as it takes."""
    painted: list[float] = []
    saved: list[float] = []
    while len(painted) < GRADES:
        open_rows = page.evaluate("[...deep('.rows').querySelectorAll('.badge.open')].length")
        for number in range(open_rows - 1):
            page.keyboard.press(str(number % 4))
            page.wait_for_function("seen[seen.length - 1].painted && seen[seen.length - 1].saved")
            one = page.evaluate("seen[seen.length - 1]")
            painted.append(one["painted"])
            saved.append(one["saved"])
        question = page.locator(".an-question").inner_text()
        page.keyboard.press("n")
        page.wait_for_function("(old) => document.querySelector('.an-question').innerText !== old", arg=question)
        page.wait_for_function("[...deep('.rows').querySelectorAll('.badge.open')].length > 20")
        page.wait_for_timeout(500)
    return painted[5:], saved[5:]


def _burst(started: Browser, app: App, made: Workspace) -> dict[str, object]:
    """Press 200 grade keys at 30 ms intervals, stepping up again when the list is done, and compare with the store."""
    page = _annotate(started, app, "burst")
    rows = int(page.evaluate("[...deep('.rows').children].length"))
    for key in _keys(rows):
        due = time.perf_counter() + 0.03
        page.keyboard.press(key)
        time.sleep(max(0.0, due - time.perf_counter()))
    seen = page.evaluate("seen.map((one) => [one.before, one.key])")
    pressed = [(chunk_id, int(key)) for chunk_id, key in seen if key.isdigit()]
    page.wait_for_function("waiting() === '0'")
    page.context.close()
    with sqlite3.connect(made.database) as connection:
        stored = connection.execute(
            "SELECT chunk_id, grade FROM judgments WHERE query_id = 'burst' ORDER BY judgment_id"
        ).fetchall()
    wrong = sum(a != b for a, b in zip(pressed, stored, strict=False))
    return {"what": "200 keys at 30 ms", "pressed": len(pressed), "stored": len(stored), "on_another_chunk": wrong}


def _keys(rows: int) -> Iterator[str]:
    """Give 200 grading keys: down the list, then up it again and again, each time with another grade."""
    grades = [number % 4 for number in range(rows)]
    yield from map(str, grades)
    at = rows - 1
    for _ in range(GRADES - rows):
        step = -1 if at else rows - 1
        yield from "k" if step < 0 else "j" * step
        at += step
        grades[at] = (grades[at] + 1) % 4
        yield str(grades[at])


def _demo(home: Path) -> Workspace:
    made = workspace.init(home, who=WHO, demo=True)
    _questions(made, "refund logger battery alert invoice")
    return made


def _large(home: Path, size: int) -> Workspace:
    made = Workspace(home)
    made.create()
    table = home / "chunks.db"
    picks = random.Random(7)
    words = [
        f"{picks.choice('bcdfglmnprst')}{picks.choice('aeiou')}{picks.choice('klmnrst')}{number:x}"
        for number in range(9000)
    ]
    with sqlite3.connect(table) as connection:
        connection.execute("CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id TEXT, position INTEGER, text TEXT)")
        for number in range(size):
            text = " ".join(picks.choices(words, k=79)) + (" refund" if number % 50 == 0 else "")
            connection.execute(
                "INSERT INTO chunks VALUES (?, ?, ?, ?)", (f"c{number:07}", f"d{number // 20:06}", number % 20, text)
            )
    with made.write() as connection:
        people.add(connection, Person(WHO, "admin"), WHO)
    chunk_table.connect(made, WHO, f"sqlite:///{table}")
    chunk_table.sync(made, WHO)
    _questions(made, "refund")
    search.search(made, "refund")
    return made


def _questions(made: Workspace, words: str) -> None:
    with made.write() as connection:
        for number in range(1, 13):
            queries.add(connection, Query(f"bench-{number}", f"{words} {number}"), WHO)
        queries.add(connection, Query("burst", words), WHO)
