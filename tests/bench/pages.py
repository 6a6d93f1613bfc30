"""Every page in a real browser on a large workspace: from navigation to readiness, and the memory of the server.

BENCH_CHUNKS sets the number of chunks (100,000), with a tenth of that in questions up to 10,000 and twice it in
judgments up to 200,000. BENCH_HOME names a folder in which the workspace is made, or found made, and kept.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from annotator.model import Person
from annotator.services import chunk_table, search
from annotator.services.importing.judgments import import_judgments
from annotator.services.importing.queries import import_queries
from annotator.services.importing.runs import import_run
from annotator.store import people
from annotator.store.database import Workspace
from tests.bench import _corpus
from tests.browser.app import App, browser, idle, open_page

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "100000"))
QUESTIONS = min(10_000, CHUNKS // 10)
JUDGMENTS = min(200_000, CHUNKS * 2)
PEOPLE = ("ana", "ben", "cleo", "dan", "eva")
VISITS = int(os.environ.get("BENCH_VISITS", "8"))
QUESTIONS_OPENED = VISITS * 4

PAGES: tuple[tuple[str, str], ...] = (
    ("Home", ""),
    ("Queries", "queries"),
    ("Review", "review"),
    ("Gold sets", "gold_sets"),
    ("Metrics", "metrics"),
    ("Chunks", "chunks"),
    ("Chunks, drift", "chunks?view=drift"),
    ("Settings", "settings"),
)
_TITLE = ".an-title"
_ROW = ".row[aria-selected]"
_SHOWN = """selector => {
    const find = root => root.querySelector(selector) ??
        [...root.querySelectorAll("*")].map(one => one.shadowRoot && find(one.shadowRoot)).find(Boolean);
    return find(document)?.checkVisibility();
}"""
"""Whether an element shows, be it in a component's own tree."""


def run() -> Iterator[dict[str, object]]:
    """Give one figure after the other."""
    kept = os.environ.get("BENCH_HOME")
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / f"workspace-{CHUNKS}"
        begun = time.perf_counter()
        if not home.is_dir():
            make(home)
        yield {"figure": "workspace made or found", "value": round(time.perf_counter() - begun, 1), "unit": "s"}
        app = App(home)
        try:
            with browser() as started:
                yield from _figures(app, started)
            yield {"figure": "memory of the server afterwards", "value": _memory(app), "unit": "MB"}
        finally:
            app.stop()


def make(home: Path) -> None:
    """Make the workspace: table, sync, index, people, questions, judgments of which some differ, and a run."""
    making = Workspace(home.with_suffix(".part"))
    making.create()
    words = _corpus.vocabulary()
    table = home.with_suffix(".table.db")
    table.unlink(missing_ok=True)
    _corpus.write_table(table, words, CHUNKS)
    with making.write() as connection:
        for name in PEOPLE:
            people.add(connection, Person(name, "admin"), "ana")
    chunk_table.connect(making, "ana", f"sqlite:///{table}")
    chunk_table.sync(making, "ana")
    search.bring_up_to_date(making)
    _label(making, words)
    making.home.rename(home)


def _label(making: Workspace, words: Sequence[str]) -> None:
    draw = random.Random(7)
    folder = making.home
    facets = {"domain": "policy|product|travel", "risk": "high|low", "query_type": "lookup|comparison|procedure"}
    questions = [
        {
            "query_id": f"q{number:05}",
            "question": f"How does {' '.join(draw.choices(words[50:], k=5))} work?",
            **{name: draw.choice(values.split("|")) for name, values in facets.items()},
        }
        for number in range(QUESTIONS)
    ]
    judgments = []
    run = []
    for number, question in enumerate(questions):
        judged = [f"doc-{draw.randrange(CHUNKS // 12)}#{draw.randrange(12)}" for _ in range(20)]
        # Each question has the labels of one person, every tenth those of a second one, who sees some differently.
        for at, who in enumerate([PEOPLE[number % 5], PEOPLE[(number + 1) % 5]][: 1 + (number % 10 == 0)]):
            for chunk_id in dict.fromkeys(judged):
                grade = random.Random(chunk_id).choice((0, 0, 0, 1, 2, 3))
                grade = (grade + (at and draw.random() < 0.1)) % 4
                judgments.append(
                    {"query_id": question["query_id"], "chunk_id": chunk_id, "grade": grade, "annotator": who}
                )
        if number < 1_000:
            results = [{"chunk_id": one, "score": 20 - at} for at, one in enumerate(dict.fromkeys(judged))]
            run.append({"query_id": question["query_id"], "results": results})
    for name, lines in (("queries", questions), ("judgments", judgments[:JUDGMENTS]), ("run", run)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f".{name}.jsonl").write_text(text, "utf-8")
    import_queries(making, "ana", folder / ".queries.jsonl")
    import_judgments(making, "ana", folder / ".judgments.jsonl")
    import_run(making, "ana", folder / ".run.jsonl", name="first")


def _figures(app: App, started: Browser) -> Iterator[dict[str, object]]:
    page = open_page(started, app.url, "ana")
    page.set_default_timeout(120_000)
    idle(page)
    for name, address in PAGES:
        yield _times(name, [_visit(page, f"{app.url}/{address}", _TITLE) for _ in range(VISITS)])
    draw = random.Random(3)
    asked = [f"q{draw.randrange(QUESTIONS):05}" for _ in range(QUESTIONS_OPENED)]
    opened = [_visit(page, f"{app.url}/annotate?query={one}", _ROW) for one in asked]
    yield _times("open a question by its address", opened)
    yield _times("next question by its key", [_next(page) for _ in range(QUESTIONS_OPENED)])
    page.get_by_role("button", name="similar", exact=True).wait_for()
    yield _times("chunks like the one being read", [_similar(page) for _ in range(VISITS)])
    sent: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: sent.append(len(data))))
    _visit(page, f"{app.url}/annotate?query=q00001", _ROW)
    yield {"figure": "bytes sent to open a question", "value": sum(sent), "unit": "bytes"}
    sent.clear()
    page.keyboard.press("2")
    page.locator(".status[data-waiting='0']", has_text="Saved").wait_for()
    idle(page)
    yield {"figure": "bytes sent for one grade", "value": sum(sent), "unit": "bytes"}
    page.context.close()


def _visit(page: Page, url: str, ready: str) -> tuple[float, float]:
    """Open an address anew: seconds to what one waits for, and until nothing more runs."""
    page.goto("about:blank")
    begun = time.perf_counter()
    page.goto(url, wait_until="commit")
    # Looked for at every frame: a locator looks again after 100 ms, and then only after 500.
    page.wait_for_function(_SHOWN, arg=ready)
    shown = time.perf_counter() - begun
    idle(page)
    return shown, time.perf_counter() - begun


def _next(page: Page) -> tuple[float, float]:
    return _until(page, ".an-question", lambda: page.keyboard.press("n"))


def _similar(page: Page) -> tuple[float, float]:
    page.keyboard.press("j")
    foot = page.locator(".listfoot")
    chunk_id = page.locator(".idline .id").inner_text()
    begun = time.perf_counter()
    page.get_by_role("button", name="similar", exact=True).click()
    foot.filter(has_text=f"like {chunk_id}").wait_for()
    shown = time.perf_counter() - begun
    idle(page)
    return shown, time.perf_counter() - begun


def _until(page: Page, selector: str, act: Callable[[], Any]) -> tuple[float, float]:
    """Seconds until an element says something else, and until nothing more runs."""
    before = page.locator(selector).inner_text()
    begun = time.perf_counter()
    act()
    page.wait_for_function(
        "([selector, before]) => ![null, undefined, before].includes(document.querySelector(selector)?.innerText)",
        arg=[selector, before],
    )
    page.locator(_ROW).wait_for()
    shown = time.perf_counter() - begun
    idle(page)
    return shown, time.perf_counter() - begun


def _times(name: str, times: Sequence[tuple[float, float]]) -> dict[str, object]:
    shown = sorted(one for one, _ in times)
    done = sorted(one for _, one in times)
    last = min(len(shown) - 1, int(len(shown) * 0.95))
    return {
        "figure": f"{name}, {CHUNKS} chunks",
        "n": len(shown),
        "first_ms": round(times[0][0] * 1000),
        "p50_ms": round(shown[len(shown) // 2] * 1000),
        "p95_ms": round(shown[last] * 1000),
        "at_rest_p50_ms": round(done[len(done) // 2] * 1000),
        "at_rest_p95_ms": round(done[last] * 1000),
    }


def _memory(app: App) -> float:
    """Return what the server holds now, in MB."""
    status = Path(f"/proc/{app.process.pid}/status").read_text()
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024)


def database_bytes(path: Path) -> int:
    """Return the size of an SQLite file in use."""
    with closing(sqlite3.connect(path)) as connection:
        pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return int(pages) * int(size)
