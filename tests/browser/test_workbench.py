"""The grading workbench alone in a real browser, without a server: what it shows and what it would send."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from annotator.model import GRADES, text_hash
from annotator.ui import keys
from annotator.ui.workbench import script
from tests.browser.app import ROOT
from tests.browser.contrast import too_dim

pytestmark = pytest.mark.browser

ADDRESS = "http://workbench.test/"
PAGE = """<style>body { margin: 0; background: var(--st-background-color); }</style>
<div id="one"></div><div id="two"></div>
<script type="module">
  import "/workbench.js";
  window.sent = [];
  window.held = [];
  window.triggers = [];
  window.roots = {};
  for (const name of ["one", "two"]) {
    roots[name] = document.getElementById(name).attachShadow({ mode: "open" });
  }
  window.show = (name, data) => {
    window.unmount = document.annotatorWorkbench({
      parentElement: roots[name],
      data,
      setStateValue: (_, value) => sent.push(value.ops) && held.push(value.has),
      setTriggerValue: (kind, value) => triggers.push([kind, value]),
    });
  };
  document.title = "ready";
</script>"""

TEXTS = {
    "a#1": "Refunds are paid within 14 days. The support team approves them.",
    "a#2": "🚆 Enterprise refunds need the VP Finance 🚆",
    "b#1": "Train journeys are booked in second class.",
}


def candidate(chunk_id: str, text: str, **changed: Any) -> dict[str, Any]:
    return {
        "id": chunk_id,
        "doc": "handbook",
        "title": f"About {chunk_id}",
        "place": 2,
        "siblings": 3,
        "meta": [["version", "4"]],
        "text": text,
        "sha256": text_hash(text),
        "spans": [[0, 7]],
        "snippet": text[:40],
        "snippet_spans": [[0, 7]],
        "label": None,
        **changed,
    }


def given(**changed: Any) -> dict[str, Any]:
    return {
        "who": "Ana",
        "query": "q1",
        "next": True,
        "previous": False,
        "list": "q1\nfirst",
        "candidates": [candidate(chunk_id, text) for chunk_id, text in TEXTS.items()],
        "counted": "3 found",
        "progress": "0 judged · 0 relevant",
        "page": 0,
        "pages": 1,
        "seconds": 0.006,
        "advice": "Nothing found.",
        "history": [],
        "ack": [],
        "refused": [],
        "saved_at": "",
        "failure": "",
        "around": None,
        "located": None,
        "words": {str(grade): word for grade, word in GRADES.items()},
        "keys": keys.as_data(),
        "search_label": "Search chunks",
        **changed,
    }


def label(grade: int | None = 3, **changed: Any) -> dict[str, Any]:
    return {"grade": grade, "judged": True, "stale": False, "reason": "", "evidence": [], **changed}


class Bench:
    """The component in an empty page; `show` gives it data, `operations` is what it last sent."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def show(self, where: str = "one", **changed: Any) -> None:
        self.page.evaluate("([where, data]) => show(where, data)", [where, given(**changed)])

    def operations(self) -> list[dict[str, Any]]:
        queues: list[list[dict[str, Any]]] = self.page.evaluate("sent")
        return queues[-1] if queues else []

    def graded(self) -> list[tuple[str, int]]:
        return [(one["chunk_id"], one["grade"]) for one in self.operations() if one["kind"] == "judge"]

    @property
    def text(self) -> str:
        return self.page.locator(".text").inner_text()

    @property
    def selected(self) -> str:
        return self.page.locator(".idline .id").inner_text()


@pytest.fixture
def bench(chromium: Browser) -> Iterator[Bench]:
    yield from opened(chromium)


def opened(chromium: Browser, theme: str = "light") -> Iterator[Bench]:
    context = chromium.new_context(viewport={"width": 1200, "height": 700})
    page = context.new_page()
    page.set_default_timeout(15_000)
    colours = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"][theme]
    css = {
        "--st-background-color": colours["backgroundColor"],
        "--st-secondary-background-color": colours["secondaryBackgroundColor"],
        "--st-text-color": colours["textColor"],
        "--st-primary-color": colours["primaryColor"],
        "--st-font": "sans-serif",
    }
    sheet = ":root {" + "".join(f"{name}: {value};" for name, value in css.items()) + "}"
    files: dict[str, tuple[str, str]] = {
        "workbench.js": ("text/javascript", script()),
        "": ("text/html", f"<!doctype html><style>{sheet}</style>{PAGE}"),
    }

    def answer(route: Any) -> None:
        kind, body = files.get(route.request.url.removeprefix(ADDRESS), ("text/plain", ""))
        route.fulfill(body=body, content_type=f"{kind}; charset=utf-8")

    page.route(f"{ADDRESS}**", answer)
    page.goto(ADDRESS)
    page.wait_for_function("document.title === 'ready'")
    yield Bench(page)
    context.close()


def test_typing_a_quote_goes_on_while_a_label_is_being_saved(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("3")
    bench.page.keyboard.press("e")
    bench.page.keyboard.type("within 3")
    bench.show(ack=[bench.operations()[0]["id"]], saved_at="2026-01-01T00:00:00Z")
    bench.page.keyboard.type("0 days")
    expect(bench.page.locator(".quotebox")).to_have_value("within 30 days")
    assert bench.graded() == [("a#1", 3)]


def test_a_held_key_on_a_focused_button_presses_it_once(bench: Bench) -> None:
    bench.show()
    bench.page.locator(".act.g3").focus()
    for _ in range(4):
        bench.page.keyboard.down("Enter")
    assert bench.graded() == [("a#1", 3)]


def test_words_typed_before_the_search_box_is_there_grade_nothing_and_get_into_it(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("/")
    bench.page.keyboard.type("refunds 203")
    bench.page.keyboard.press("Backspace")
    bench.page.evaluate(
        """() => {
          const box = document.createElement('input');
          box.ariaLabel = 'Search chunks';
          box.addEventListener('input', () => { window.heard = box.value; });
          document.body.append(box);
        }"""
    )
    expect(bench.page.get_by_label("Search chunks")).to_have_value("refunds 20")
    expect(bench.page.get_by_label("Search chunks")).to_be_focused()
    assert bench.page.evaluate("heard") == "refunds 20"
    assert bench.graded() == []
    bench.page.get_by_label("Search chunks").evaluate("box => box.remove()")
    for key in ("/", "3", "Escape", "1"):
        bench.page.keyboard.press(key)
    assert bench.graded() == [("a#1", 1)]


@pytest.mark.parametrize(
    ("key", "code", "grade"),
    [
        ("S", "KeyS", 0),
        ("ы", "KeyS", 0),
        ("٣", "Digit3", 3),
        ("é", "Digit2", 2),
        ('"', "Digit3", 3),
        ("h", "KeyJ", None),
    ],
)
def test_keys_work_with_caps_lock_and_on_other_keyboards(bench: Bench, key: str, code: str, grade: int | None) -> None:
    bench.show()
    bench.page.evaluate(
        "([key, code]) => document.dispatchEvent(new KeyboardEvent('keydown', {key, code}))", [key, code]
    )
    assert bench.graded() == ([] if grade is None else [("a#1", grade)])


@pytest.mark.parametrize("change", [{"ctrlKey": True}, {"altKey": True}, {"metaKey": True}, {"isComposing": True}])
def test_keys_with_modifiers_and_while_composing_do_nothing(bench: Bench, change: dict[str, bool]) -> None:
    bench.show()
    bench.page.evaluate(
        "(change) => document.dispatchEvent(new KeyboardEvent('keydown', {key: '3', code: 'Digit3', ...change}))",
        change,
    )
    assert bench.graded() == []


def test_a_selection_over_the_ends_of_the_text_is_evidence_inside_it(bench: Bench) -> None:
    bench.show()
    bench.page.locator(".row").nth(1).click()
    bench.page.locator(".text").click(click_count=3)
    bench.page.keyboard.press("e")
    bench.page.keyboard.press("2")
    (one,) = [one for one in bench.operations() if one["kind"] == "judge"]
    text = TEXTS["a#2"]
    assert one["evidence"] == [{"quote": text, "start": 0, "end": len(text)}]


def test_evidence_across_marks_and_overlapping_quotes_keep_code_point_offsets(bench: Bench) -> None:
    bench.show()
    bench.page.locator(".row").nth(1).click()
    for quote in ("Enterprise refunds need", "refunds need the VP", "Finance 🚆"):
        bench.page.locator(".quotebox").fill(quote)
        bench.page.locator(".quotebox").press("Enter")
    bench.page.keyboard.press("3")
    (one,) = [one for one in bench.operations() if one["kind"] == "judge"]
    text = TEXTS["a#2"]
    assert [text[span["start"] : span["end"]] for span in one["evidence"]] == [
        span["quote"] for span in one["evidence"]
    ]
    assert len(one["evidence"]) == 3


def test_sixty_quotes_leave_the_quote_box_where_it_is(bench: Bench) -> None:
    text = " ".join(f"word{number:02}" for number in range(60))
    evidence = [{"quote": f"word{number:02}", "start": number * 7, "end": number * 7 + 6} for number in range(60)]
    bench.show(candidates=[candidate("a#1", text, label=label(evidence=evidence))])
    expect(bench.page.locator(".chip")).to_have_count(60)
    box, quotes = bench.page.locator(".quotebox").bounding_box(), bench.page.locator(".quotes").bounding_box()
    assert box is not None
    assert quotes is not None
    assert box["width"] > 90
    assert box["x"] + box["width"] <= quotes["x"] + quotes["width"]


def test_a_text_that_changes_under_the_reader_is_shown_before_it_can_be_graded(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("r")
    bench.page.keyboard.type("names the days")
    new = "Refunds are paid within 30 days."
    others = [candidate(chunk_id, text) for chunk_id, text in list(TEXTS.items())[1:]]
    bench.show(candidates=[candidate("a#1", new), *others])
    assert bench.text == new
    expect(bench.page.locator(".note")).to_contain_text("changed meanwhile")
    expect(bench.page.locator(".reason")).to_have_value("names the days")
    bench.page.keyboard.press("Escape")
    bench.page.keyboard.press("3")
    judged = [one for one in bench.operations() if one["kind"] == "judge"]
    assert [(one["sha256"], one["reason"]) for one in judged] == [(text_hash(new), "names the days")]


def test_a_chunk_that_vanishes_can_be_read_and_not_graded(bench: Bench) -> None:
    bench.show()
    bench.show(candidates=[candidate(chunk_id, text) for chunk_id, text in list(TEXTS.items())[1:]])
    assert bench.selected == "a#1"
    bench.page.keyboard.press("3")
    expect(bench.page.locator(".note")).to_contain_text("no longer in the chunk table")
    expect(bench.page.locator(".row .badge").first).to_have_text("removed")
    assert bench.graded() == []


def test_the_words_of_a_refused_label_are_kept(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("r")
    bench.page.keyboard.type("names the days")
    bench.page.keyboard.press("Escape")
    bench.page.keyboard.press("3")
    refused = [one["id"] for one in bench.operations() if one["kind"] == "judge"]
    others = [one["id"] for one in bench.operations() if one["kind"] == "draft"]
    bench.show(ack=others, refused=[[refused[0], "The chunk was changed."]])
    expect(bench.page.locator(".note")).to_have_text("The chunk was changed.")
    expect(bench.page.locator(".row .badge").first).to_have_text("not judged")
    bench.page.keyboard.press("k")
    expect(bench.page.locator(".reason")).to_have_value("names the days")
    bench.page.wait_for_function("sent.at(-1).length === 1")
    assert [(one["kind"], one["reason"]) for one in bench.operations()] == [("draft", "names the days")]


def test_the_bench_keeps_dialog_focus_and_words_when_its_element_is_replaced(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("r")
    bench.page.keyboard.type("half a rea")
    bench.page.evaluate("unmount(); document.getElementById('one').remove()")
    bench.show("two")
    bench.page.keyboard.type("son")
    expect(bench.page.locator(".reason")).to_have_value("half a reason")
    bench.page.keyboard.press("Escape")
    bench.page.keyboard.press("?")
    bench.page.evaluate(
        "unmount(); roots.one = document.body.appendChild(document.createElement('div')).attachShadow({mode: 'open'})"
    )
    bench.show("one")
    assert bench.page.evaluate("roots.one.querySelector('.help').matches(':modal')")
    bench.page.keyboard.press("3")
    bench.page.keyboard.press("Escape")
    expect(bench.page.locator(".help")).not_to_be_visible()
    assert bench.graded() == []


def test_a_new_list_does_not_take_over_the_reason_being_written(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("r")
    bench.page.keyboard.type("for the first")
    bench.show(list="q1\nsecond", candidates=[candidate("b#1", TEXTS["b#1"])])
    expect(bench.page.locator(".reason")).to_have_value("")
    drafts = [(one["chunk_id"], one["reason"]) for one in bench.operations()]
    assert drafts == [("a#1", "for the first")]


def test_what_is_being_written_survives_a_reload(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("r")
    bench.page.keyboard.type("not sent yet")
    bench.page.evaluate("window.dispatchEvent(new Event('pagehide'))")
    kept = bench.page.evaluate("Object.entries(localStorage)")
    assert len(kept) == 1
    assert "not sent yet" in kept[0][1]
    bench.page.evaluate("unmount(); document.annotatorWaiting = undefined; roots.one.querySelector('.bench').remove()")
    bench.page.evaluate("([name, value]) => localStorage.setItem(name, value)", kept[0])
    bench.show()
    expect(bench.page.locator(".reason")).to_have_value("not sent yet")


def test_the_queue_of_a_person_with_a_longer_name_is_left_alone(bench: Bench) -> None:
    queue = json.dumps([{"id": "x", "kind": "judge", "who": "Ana/B", "query_id": "q1", "chunk_id": "a#1", "grade": 3}])
    bench.page.evaluate("(queue) => localStorage.setItem('annotator.queue/Ana%2FB/tab', queue)", queue)
    bench.show()
    expect(bench.page.locator(".status")).to_have_attribute("data-waiting", "0")
    assert bench.page.evaluate("localStorage.length") == 1


def test_paging_back_with_a_key_lands_on_the_last_row(bench: Bench) -> None:
    bench.show(page=1, pages=3)
    bench.page.keyboard.press("k")
    assert bench.page.evaluate("triggers") == [["page", 0]]
    bench.show(list="q1\npage 0", page=0, pages=3)
    assert bench.selected == "b#1"


def test_j_turns_the_page_when_everything_on_it_is_graded(bench: Bench) -> None:
    rows = [candidate(chunk_id, text, label=label()) for chunk_id, text in TEXTS.items()]
    bench.show(pages=2, candidates=[candidate("a#1", TEXTS["a#1"]), *rows[1:]])
    bench.page.keyboard.press("3")
    expect(bench.page.locator(".note")).to_contain_text("j for the next page")
    bench.page.keyboard.press("j")
    assert bench.page.evaluate("triggers") == [["page", 1]]


def test_j_goes_row_by_row_after_grading_something_again(bench: Bench) -> None:
    rows = [candidate(chunk_id, text, label=label()) for chunk_id, text in TEXTS.items()]
    bench.show(pages=2, candidates=rows)
    bench.page.keyboard.press("2")
    bench.page.keyboard.press("j")
    assert bench.selected == "a#2"
    assert bench.page.evaluate("triggers") == []


def test_the_ends_of_the_queue_are_said(bench: Bench) -> None:
    bench.show(next=False)
    bench.page.keyboard.press("n")
    expect(bench.page.locator(".note")).to_have_text("This is the last question.")
    bench.page.keyboard.press("p")
    expect(bench.page.locator(".note")).to_have_text("This is the first question.")
    assert bench.page.evaluate("triggers") == []


def test_a_label_on_an_earlier_text_says_so_and_can_be_given_again(bench: Bench) -> None:
    bench.show(candidates=[candidate("a#1", TEXTS["a#1"], label=label(outdated=True))])
    expect(bench.page.locator(".staleflag")).to_have_text("⚠ text changed")
    bench.page.keyboard.press("3")
    assert bench.graded() == [("a#1", 3)]
    expect(bench.page.locator(".staleflag")).to_have_text("")


def test_every_control_has_a_name_and_the_list_says_what_is_chosen(bench: Bench) -> None:
    quote = {"quote": "Refunds", "start": 0, "end": 7}
    bench.show(pages=2, candidates=[candidate("a#1", TEXTS["a#1"], label=label(evidence=[quote]))])
    seen = bench.page.locator("#one").aria_snapshot()
    for name in (
        'listbox "Candidates"',
        'button "Page before"',
        'button "Next page"',
        'group "Grade"',
        'button "3 answers"',
        'button "x cannot judge"',
        'textbox "Reason"',
        'textbox "Quote"',
        'button "e evidence: 1 quote"',
        'button "Remove the quote Refunds"',
        'region "Text of the chunk"',
    ):
        assert name in seen, seen
    active = "roots.one.querySelector('.rows').getAttribute('aria-activedescendant')"
    assert bench.page.evaluate(f"roots.one.getElementById({active}).dataset.id") == "a#1"


def test_the_tab_key_reaches_everything_and_arrows_walk_the_list(bench: Bench) -> None:
    bench.show(pages=2, candidates=given()["candidates"])
    reached = []
    for _ in range(30):
        bench.page.keyboard.press("Tab")
        node = "roots.one.activeElement"
        reached.append(
            bench.page.evaluate(f"{node} && ({node}.ariaLabel || {node}.dataset.action || {node}.className)")
        )
    for name in (
        "Candidates",
        "Next page",
        "Text of the chunk",
        "grade3",
        "cannot",
        "stale",
        "Reason",
        "Quote",
        "quiet keys",
    ):
        assert name in reached, reached
    bench.page.locator(".rows").focus()
    bench.page.keyboard.press("ArrowDown")
    assert bench.selected == "a#2"
    bench.page.keyboard.press("ArrowUp")
    assert bench.selected == "a#1"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_has_enough_contrast_in_both_themes(chromium: Browser, theme: str) -> None:
    for bench in opened(chromium, theme):
        grades = (0, 1, 2, 3, None)
        rows = [candidate(f"g#{grade}", "Refunds are paid.", label=label(grade, stale=grade == 0)) for grade in grades]
        quote = {"quote": "Refunds are", "start": 0, "end": 11}
        rows.append(candidate("g#cut", "Refunds are paid.", cut="Cut here.", label=label(evidence=[quote])))
        rows.append(candidate("g#open", "Refunds are paid."))
        bench.show(pages=2, candidates=rows, failure="Something to say.")
        for row in bench.page.locator(".row").all():
            row.click()
            assert too_dim(bench.page, "roots.one.querySelector('.bench')") == []
        bench.page.evaluate("roots.one.querySelector('.status').classList.add('late')")
        bench.page.keyboard.press("?")
        assert too_dim(bench.page, "roots.one.querySelector('.bench')") == []


def test_nothing_is_cut_off_or_moves_at_any_width(bench: Bench) -> None:
    for width, height in ((1440, 900), (1024, 768), (960, 600), (720, 700), (390, 844)):
        bench.page.set_viewport_size({"width": width, "height": height})
        bench.show()
        overflow: Callable[[str], Any] = bench.page.evaluate
        wide = overflow(
            "[...roots.one.querySelectorAll('.act, .bar, .statusline')]"
            ".filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.className)"
        )
        assert wide == [], (width, wide)
        before = overflow(
            "JSON.stringify([...roots.one.querySelectorAll('.act')].map((one) => one.getBoundingClientRect()))"
        )
        bench.page.keyboard.press("2")
        after = overflow(
            "JSON.stringify([...roots.one.querySelectorAll('.act')].map((one) => one.getBoundingClientRect()))"
        )
        assert before == after, width


def test_who_reads_on_is_heard_of_now_and_then_and_who_does_nothing_is_not(bench: Bench) -> None:
    bench.page.clock.install()
    bench.show()
    heard = "triggers.filter(([kind]) => kind === 'alive').length"
    bench.page.clock.fast_forward("04:00")
    bench.page.mouse.move(300, 300)
    bench.page.clock.fast_forward("10:00")
    assert bench.page.evaluate(heard) == 0
    for x in (310, 320, 330):
        bench.page.mouse.move(x, 300)
    assert bench.page.evaluate(heard) == 1
    bench.page.clock.fast_forward("06:00")
    bench.page.keyboard.press("3")  # to save is a sign of life as well
    bench.page.mouse.move(340, 300)
    assert bench.page.evaluate(heard) == 1


def test_a_label_opened_again_is_open_and_the_same_grade_is_said_anew(bench: Bench) -> None:
    rows = [
        candidate("a#1", TEXTS["a#1"], label=label(2)),
        candidate("a#2", TEXTS["a#2"], label=label(3, reopened=True)),
    ]
    bench.show(candidates=rows)
    assert bench.selected == "a#2"
    expect(bench.page.locator(".row .staleflag")).to_have_text(["", "⚠ opened again"])
    bench.page.keyboard.press("3")
    assert bench.graded() == [("a#2", 3)]
    expect(bench.page.locator(".row .staleflag")).to_have_text(["", ""])


def test_z_asks_to_skip_the_question(bench: Bench) -> None:
    bench.show()
    bench.page.keyboard.press("z")
    assert bench.page.evaluate("triggers") == [["go", "skip"]]


def versions(bench: Bench) -> list[dict[str, Any]]:
    """The rows as the server sends them, each with its version."""
    return [{**candidate(chunk_id, text), "version": f"v {chunk_id}"} for chunk_id, text in TEXTS.items()]


def slim(row: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {"id": row["id"], "sha256": row["sha256"], "version": row["version"], "label": None, **changed}


def test_texts_that_are_on_the_screen_need_not_come_again(bench: Bench) -> None:
    rows = versions(bench)
    bench.show(candidates=rows)
    bench.page.keyboard.press("3")
    assert bench.page.evaluate("held")[-1] == {"list": "q1\nfirst", "of": {one["id"]: one["version"] for one in rows}}
    bench.show(candidates=[slim(rows[0], label=label(3)), *map(slim, rows[1:])], ack=[bench.operations()[0]["id"]])
    assert bench.text == TEXTS["a#2"]
    bench.page.keyboard.press("k")
    assert bench.text == TEXTS["a#1"]
    expect(bench.page.locator(".row .badge").first).to_have_text("3 answers")


def test_an_element_that_does_not_hold_the_texts_asks_for_them(bench: Bench) -> None:
    rows = versions(bench)
    bench.show(candidates=[slim(one) for one in rows])
    assert bench.page.evaluate("held") == [None]
    expect(bench.page.locator(".row")).to_have_count(0)
    bench.show(candidates=rows)
    assert bench.text == TEXTS["a#1"]
    # a row that was changed meanwhile comes whole, and the others do not
    changed = {**candidate("a#1", "Other text."), "version": "v2"}
    bench.show(candidates=[changed, *map(slim, rows[1:])])
    assert bench.text == "Other text."
    bench.page.keyboard.press("j")
    assert bench.text == TEXTS["a#2"]
