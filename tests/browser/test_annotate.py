"""What only a real browser shows of the grading loop: keys, focus, selection, two tabs, a dying server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import Query
from annotator.services import chunk_table
from annotator.store import queries
from annotator.store.database import Workspace
from tests.browser.app import App, idle, open_page
from tests.browser.contrast import too_dim
from tests.conftest import HANDBOOK, make_workspace

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.hit=1'> **bold** $x$ :material/home: [a](http://example.org) =1+1 \u202etxet"
CHUNKS = (
    *HANDBOOK,
    (f"hostile#{HOSTILE}", "hostile", HOSTILE, 0, f"🚆🚆 refund {HOSTILE} and the end"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = make_workspace(tmp_path_factory.mktemp("browser"), CHUNKS)
    with made.write() as connection:
        for number in range(20):
            queries.add(connection, Query(f"t{number}", f"Refund question number {number}"), "Ana")
        queries.add(connection, Query("evil", f"refund? {HOSTILE}", notes=HOSTILE, facets={"domain": HOSTILE}), "Ana")
    return made


@pytest.fixture(scope="module")
def app(made: Workspace) -> Iterator[App]:
    started = App(made.home)
    yield started
    started.stop()


def annotate(chromium: Browser, app: App, query: str, who: str = "Ana", **options: Any) -> Page:
    page = open_page(chromium, f"{app.url}/annotate?query={query}", who, **options)
    page.locator(".row[aria-selected]").wait_for()
    idle(page)
    return page


def stored(made: Workspace, query: str, columns: str = "chunk_id, grade") -> list[tuple[Any, ...]]:
    with sqlite3.connect(made.database) as connection:
        sql = f"SELECT {columns} FROM judgments WHERE query_id = ? ORDER BY judgment_id"
        return connection.execute(sql, (query,)).fetchall()


def shown(page: Page) -> str:
    return page.locator(".idline .id").inner_text()


def saved(page: Page) -> None:
    expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved")


def test_keys_grade_what_is_shown_and_go_on(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t0")
    expected = []
    for key in "3210":
        expected.append((shown(page), int(key)))
        page.keyboard.press(key)
    saved(page)
    assert stored(made, "t0") == expected
    assert len({chunk for chunk, _ in expected}) == 4
    badges = page.locator(".row .badge").all_inner_texts()
    assert badges[:4] == ["3 answers", "2 partial", "1 related", "0 irrelevant"]


def test_a_grade_brings_back_neither_the_code_nor_the_texts(chromium: Browser, app: App) -> None:
    page = annotate(chromium, app, "t18")
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
    page.reload()
    page.locator(".row[aria-selected]").wait_for()
    idle(page)
    opened = max(received)
    received.clear()
    page.keyboard.press("3")
    saved(page)
    idle(page)
    assert opened > 50_000
    assert max(received) < 20_000


def test_keys_at_30_ms_intervals_are_all_stored_on_the_chunk_that_was_shown(
    chromium: Browser, app: App, made: Workspace
) -> None:
    page = annotate(chromium, app, "t11")
    rows = page.locator(".row").count()
    page.evaluate(
        """() => {
          const hosts = () => [...document.querySelectorAll('*')];
          const bench = () => hosts().find((one) => one.shadowRoot?.querySelector('.bench'));
          window.pressed = [];
          document.addEventListener('keydown', (event) => {
            const shown = bench().shadowRoot?.querySelector('.idline .id').textContent;
            if (/[0-3]/.test(event.key)) pressed.push([shown, Number(event.key)]);
          }, true);
        }"""
    )
    for round_ in range(6):
        for _ in range(rows):
            if round_:
                page.keyboard.press("j" if round_ % 2 == 0 else "k")
                page.wait_for_timeout(30)
            page.keyboard.press(str(round_ % 4))
            page.wait_for_timeout(30)
    saved(page)
    pressed = [tuple(one) for one in page.evaluate("pressed")]
    distinct: list[tuple[str, int]] = []
    held: dict[str, int] = {}
    for chunk, grade in pressed:
        if held.get(chunk) != grade:
            distinct.append((chunk, grade))
        held[chunk] = grade
    assert len(distinct) >= rows * 4
    assert stored(made, "t11") == distinct


def test_undo_restores_and_survives_a_reload(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t1")
    first = shown(page)
    page.keyboard.press("3")
    page.keyboard.press("2")
    saved(page)
    page.keyboard.press("u")
    saved(page)
    page.reload()
    page.locator(".row[aria-selected]").wait_for()
    page.keyboard.press("u")
    expect(page.locator(".note")).to_contain_text("Undone")
    saved(page)
    assert shown(page) == first
    with sqlite3.connect(made.database) as connection:
        current = connection.execute("SELECT COUNT(*) FROM current_judgments WHERE query_id = 't1'").fetchone()
    assert current == (0,)
    assert len(stored(made, "t1")) == 4


def test_key_repeat_and_double_click_grade_once(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t2")
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.up("3")
    page.locator(".act.g2").dblclick()
    saved(page)
    assert [grade for _, grade in stored(made, "t2")] == [3, 2]


def test_plain_keys_do_nothing_while_typing(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t3")
    page.keyboard.press("/")
    page.keyboard.type("3210 xsu")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search chunks")).to_have_value("3210 xsu")
    page.get_by_label("Search chunks").fill("")
    page.get_by_label("Search chunks").press("Enter")
    page.locator(".row").first.click()
    page.keyboard.press("r")
    page.keyboard.type("012 not a grade")
    page.keyboard.press("Escape")
    assert stored(made, "t3") == []
    page.keyboard.press("3")
    saved(page)
    assert stored(made, "t3", "grade, reason") == [(3, "012 not a grade")]


def test_selected_text_becomes_evidence_with_right_offsets(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "evil")
    page.locator(".row", has_text="🚆🚆 refund").click()
    page.evaluate(
        """() => {
          const hosts = [...document.querySelectorAll('*')];
          const root = hosts.find((node) => node.shadowRoot?.querySelector('.bench')).shadowRoot;
          const text = root.querySelector('.text');
          const last = [...text.childNodes].at(-1);
          const range = document.createRange();
          const at = last.textContent.indexOf('and the end');
          range.setStart(last.firstChild ?? last, at);
          range.setEnd(last.firstChild ?? last, at + 11);
          const selection = (root.getSelection ?? document.getSelection).call(root.getSelection ? root : document);
          selection.removeAllRanges();
          selection.addRange(range);
        }"""
    )
    page.keyboard.press("e")
    expect(page.locator(".chip")).to_contain_text("and the end")
    page.keyboard.press("2")
    saved(page)
    text = CHUNKS[-1][4]
    ((chunk, grade, evidence),) = stored(made, "evil", "chunk_id, grade, evidence")
    start = text.index("and the end")
    assert (chunk, grade) == (CHUNKS[-1][0], 2)
    assert evidence == f'[{{"quote": "and the end", "start": {start}, "end": {start + 11}}}]'


def test_reason_by_keys_and_cannot_judge_asks_for_one(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t4")
    first = shown(page)
    page.keyboard.press("3")
    page.keyboard.press("k")
    page.keyboard.press("r")
    page.keyboard.type("names the approver")
    page.keyboard.press("Control+Enter")
    second = shown(page)
    page.keyboard.press("x")
    page.keyboard.type("needs a lawyer")
    page.keyboard.press("Control+Enter")
    saved(page)
    assert stored(made, "t4", "chunk_id, grade, reason") == [
        (first, 3, ""),
        (first, 3, "names the approver"),
        (second, None, "needs a lawyer"),
    ]


def test_pasted_quote_is_located_fuzzily(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t5")
    page.locator(".row", has_text="VP Finance").click()
    page.locator(".quotebox").fill("after 30 days needs the VP Finances")
    page.locator(".quotebox").press("Enter")
    expect(page.locator(".chip")).to_contain_text("after 30 days need the VP Finance")
    page.locator(".quotebox").fill("nothing of the kind")
    page.locator(".quotebox").press("Enter")
    expect(page.locator(".note")).to_contain_text("not in this chunk")


def test_two_tabs_on_the_same_pair_lose_nothing(chromium: Browser, app: App, made: Workspace) -> None:
    one = annotate(chromium, app, "t6")
    other = annotate(chromium, app, "t6")
    assert shown(one) == shown(other)
    chunk = shown(one)
    one.keyboard.press("3")
    other.keyboard.press("1")
    saved(one)
    saved(other)
    assert sorted(stored(made, "t6")) == [(chunk, 1), (chunk, 3)]
    with sqlite3.connect(made.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM current_judgments WHERE query_id = 't6'").fetchone() == (1,)


def test_the_next_question_is_one_key_away(chromium: Browser, app: App) -> None:
    page = annotate(chromium, app, "t7")
    page.keyboard.press("n")
    expect(page.locator(".an-question")).to_have_text("Refund question number 8")
    expect(page).to_have_url(f"{app.url}/annotate?query=t8")
    page.locator(".row[aria-selected]").wait_for()
    page.keyboard.press("p")
    expect(page.locator(".an-question")).to_have_text("Refund question number 7")


def test_cheat_sheet_lists_every_key(chromium: Browser, app: App, made: Workspace) -> None:
    from annotator.ui.keys import KEYS

    page = annotate(chromium, app, "t9")
    page.keyboard.press("?")
    rows = page.locator(".help tr")
    expect(rows).to_have_count(len(KEYS))
    assert [row.split("\t")[0].strip() for row in rows.all_inner_texts()] == [key.press for key in KEYS]
    page.keyboard.press("3")
    page.keyboard.press("Escape")
    expect(page.locator(".help")).not_to_be_visible()
    assert stored(made, "t9") == []


def test_hostile_text_stays_text(chromium: Browser, app: App) -> None:
    page = annotate(chromium, app, "evil")
    page.locator(".row", has_text="🚆🚆 refund").click()
    assert page.locator(".text").inner_text() == CHUNKS[-1][4]
    assert shown(page) == CHUNKS[-1][0]
    expect(page.locator(".an-question")).to_have_text(f"refund? {HOSTILE}")
    for path in ("", "queries", "gold_sets", "metrics", "chunks", "settings"):
        page.goto(f"{app.url}/{path}")
        page.locator("h1").first.wait_for()
        idle(page)
        page.wait_for_timeout(300)  # for what would be run or fetched by then
        assert page.locator("[data-testid='stException']").count() == 0
        assert page.locator("img[src='x']").count() == 0
        assert page.locator("a[href='http://example.org']").count() == 0
        assert page.evaluate("window.hit") is None


def test_cold_deep_link_goes_through_the_guard(chromium: Browser, made: Workspace) -> None:
    cold = App(made.home)
    try:
        page = open_page(chromium, "about:blank")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{cold.url}/annotate?query=t10")
        expect(page.get_by_text("Who is working?")).to_be_visible()
        assert page.locator(".bench").count() == 0
        page.context.add_cookies([{"name": "annotator_person", "value": "Ben", "url": cold.url}])
        page.goto(f"{cold.url}/annotate?query=t10")
        expect(page.locator(".an-question")).to_have_text("Refund question number 10")
        assert [url for url in asked if not url.startswith((cold.url, "data:", "blob:"))] == []
    finally:
        cold.stop()


def test_grades_given_while_the_server_is_away_are_stored_when_it_returns(chromium: Browser, tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    app = App(made.home)
    try:
        page = annotate(chromium, app, "q2")
        page.keyboard.press("3")
        saved(page)
        app.kill()
        page.keyboard.press("2")
        page.keyboard.press("1")
        expect(page.locator(".status")).to_contain_text("Not saved yet")
        app.start()
        expect(page.locator(".status[data-waiting='0']")).to_contain_text("Saved", timeout=60_000)
        assert [grade for _, grade in stored(made, "q2")] == [3, 2, 1]
    finally:
        app.stop()


def test_kill_right_after_saved_loses_nothing(chromium: Browser, tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    app = App(made.home)
    for number in range(3):
        page = annotate(chromium, app, f"q{number + 1}")
        page.keyboard.press("3")
        saved(page)
        app.kill()
        with sqlite3.connect(made.database) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert [grade for _, grade in stored(made, f"q{number + 1}")] == [3]
        page.context.close()
        app.start()
    app.stop()


def test_retired_question_cannot_be_marked_done(chromium: Browser, app: App, made: Workspace) -> None:
    with made.write() as connection:
        queries.change(connection, replace(queries.query(connection, "t19"), state="retired"), "Ana")
    page = annotate(chromium, app, "t19")
    expect(page.get_by_role("button", name="Done, next question")).to_be_disabled()


def test_done_without_a_label_says_why_and_keeps_the_bench(chromium: Browser, app: App) -> None:
    page = annotate(chromium, app, "t12")
    page.get_by_role("button", name="Done, next question").click()
    expect(page.get_by_role("alert").filter(has_text="You judged nothing")).to_contain_text("mark it unanswerable")
    page.keyboard.press("j")
    expect(page.locator(".row").nth(1)).to_have_attribute("aria-selected", "true")


def test_a_double_click_on_done_ends_one_question_and_goes_to_the_next(
    chromium: Browser, app: App, made: Workspace
) -> None:
    for query in ("t13", "t14"):
        page = annotate(chromium, app, query, "Ben")
        page.keyboard.press("3")
        saved(page)
    page = annotate(chromium, app, "t13", "Ben")
    page.get_by_role("button", name="Done, next question").dblclick(delay=60)
    expect(page.locator(".an-question")).to_have_text("Refund question number 14")
    with made.read() as connection:
        assert [queries.query(connection, query).state for query in ("t13", "t14")] == ["complete", "open"]


def test_the_judged_list_is_of_this_visit(chromium: Browser, app: App) -> None:
    page = annotate(chromium, app, "t15")
    page.get_by_role("radio", name="Judged").click()
    expect(page.locator(".pane.empty")).to_contain_text("not judged a chunk")
    page.get_by_role("radio", name="Search").click()
    page.locator(".row[aria-selected]").wait_for()
    page.keyboard.press("3")
    saved(page)
    page.get_by_role("radio", name="Judged").click()
    expect(page.locator(".row .badge")).to_have_text(["3 answers"])


def test_enter_searches_and_gives_the_keys_back(chromium: Browser, app: App, made: Workspace) -> None:
    page = annotate(chromium, app, "t16")
    page.keyboard.press("/")
    page.keyboard.type("second class")
    page.keyboard.press("Enter")
    page.locator(".row[aria-selected][data-id='travel#1']").wait_for()
    page.keyboard.press("1")
    saved(page)
    page.get_by_role("radio", name="Judged").click()
    expect(page.locator(".listfoot")).to_contain_text("1 chunk")
    page.keyboard.press("/")
    page.keyboard.type("VP Finance")
    page.keyboard.press("Enter")
    page.locator(".row[aria-selected][data-id='refunds-v4#2']").wait_for()
    assert stored(made, "t16") == [("travel#1", 1)]


def test_an_unknown_question_in_the_address_leads_to_the_next_one(chromium: Browser, app: App) -> None:
    page = open_page(chromium, f"{app.url}/annotate?query=%F0%9F%9A%86%3F%23", "Ana")
    expect(page.get_by_role("alert")).to_contain_text("There is no question with the id '🚆?#'")
    page.get_by_role("button", name="Go to my next question").click()
    page.locator(".row[aria-selected]").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_readable_in_both_themes(chromium: Browser, app: App, theme: str) -> None:
    page = annotate(chromium, app, "t17", color_scheme=theme)
    expect(page.locator("[data-testid='stApp']")).to_have_css("color-scheme", theme)
    assert too_dim(page, "document.querySelector('[data-testid=stMainBlockContainer]')") == []
    for name in ("Previous question", "Next question", "Unanswerable", "Done, next question"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(1)


def test_a_sync_while_labelling_refuses_the_label_and_keeps_the_words(chromium: Browser, tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    with made.write() as connection:
        queries.add(connection, Query("long", "refund " * 285, notes="note " * 900), "Ana")
    app = App(made.home)
    try:
        page = annotate(chromium, app, "long")
        assert page.evaluate("document.querySelector('.an-question').offsetHeight") < 140
        page.locator(".row[data-id='refunds-v4#1']").click()
        page.keyboard.press("r")
        page.keyboard.type("names the days")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".status")).to_have_attribute("data-waiting", "0")
        table = tmp_path / "handbook.jsonl"
        table.write_text(table.read_text("utf-8").replace("within 14 days", "within 21 days"), "utf-8")
        chunk_table.sync(made, "Ana")
        page.keyboard.press("3")
        expect(page.locator(".note")).to_contain_text("was changed or removed after you opened it")
        page.locator(".row[data-id='refunds-v4#1']").click()
        expect(page.locator(".text")).to_contain_text("within 21 days")
        expect(page.locator(".reason")).to_have_value("names the days")
        page.keyboard.press("3")
        saved(page)
        ((chunk, grade, reason),) = set(stored(made, "long", "chunk_id, grade, reason"))
        assert (chunk, grade, reason) == ("refunds-v4#1", 3, "names the days")
    finally:
        app.stop()
