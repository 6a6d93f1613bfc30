"""Kill processes at random moments of what they do, and a server right after it showed "Saved"; count what was lost.

BENCH_KILLS and BENCH_TRIES say how often each.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import expect

from annotator.model import Query
from annotator.store import queries
from tests.bench._killing import kill, make
from tests.browser.app import App, browser, open_page
from tests.conftest import make_workspace

KILLS = int(os.environ.get("BENCH_KILLS", "200"))
TRIES = int(os.environ.get("BENCH_TRIES", "50"))


def run() -> Iterator[dict[str, object]]:
    """Yield one line for the random moments, and one for those after "Saved"."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        done = kill(make(Path(folder)), KILLS, seed=time.time_ns())
    yield {
        "bench": "kill at random",
        "kills": done.kills,
        "faults": list(done.faults),
        "acknowledged": dict(done.acknowledged),
        "saved_by_others": done.saves,
        "longest_save_of_others_ms": round(1000 * done.longest, 1),
        "seconds": round(time.monotonic() - begun),
    }
    if TRIES:
        yield from _after_saved()


def _after_saved() -> Iterator[dict[str, object]]:
    """Labels shown as saved, labels found afterwards, and whether the database is sound."""
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        made = make_workspace(Path(folder))
        with made.write() as connection:
            for number in range(TRIES):
                queries.add(connection, Query(f"k{number}", f"Refund question {number}"), "Ana")
        app = App(made.home)
        lost, sound = 0, True
        for number in range(TRIES):
            page = open_page(started, f"{app.url}/annotate?query=k{number}", "Ana")
            page.locator(".row[aria-selected]").wait_for()
            shown = page.locator(".idline .id").inner_text()
            page.keyboard.press(str(number % 4))
            expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved", timeout=15_000)
            app.kill()
            with sqlite3.connect(made.database) as connection:
                found = connection.execute(
                    "SELECT chunk_id, grade FROM judgments WHERE query_id = ?", (f"k{number}",)
                ).fetchall()
                sound = sound and connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            lost += found != [(shown, number % 4)]
            page.context.close()
            app.start()
        app.stop()
        yield {"bench": "kill after saved", "shown_as_saved": TRIES, "lost": lost, "database_sound": sound}
