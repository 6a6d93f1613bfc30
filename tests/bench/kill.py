"""Kill the server right after a label was shown as saved, fifty times, and count what the database lost."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import expect

from annotator.model import Query
from annotator.store import queries
from tests.browser.app import App, browser, open_page
from tests.conftest import make_workspace

TRIES = int(os.environ.get("BENCH_TRIES", "50"))


def run() -> Iterator[dict[str, object]]:
    """Yield one line: labels shown as saved, labels found afterwards, and whether the database is sound."""
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
        yield {"bench": "kill", "shown_as_saved": TRIES, "lost": lost, "database_sound": sound}
