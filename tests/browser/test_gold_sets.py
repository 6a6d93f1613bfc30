"""The Gold sets page in a real browser: a tag moved, a format taken out, and what changed between two versions.

With ANNOTATOR_PICTURES=1 the picture of `docs/formats.md` is taken on the way.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from annotator.services import gold, questions
from annotator.services.importing import import_judgments
from annotator.services.workspace import init
from annotator.store import judgments, queries
from annotator.store.database import Workspace
from tests.browser.app import ROOT, App, open_page

pytestmark = pytest.mark.browser


@pytest.fixture
def home(tmp_path: Path) -> Workspace:
    """The demo with two versions: a question reworded, a label regraded by everybody, another added."""
    init(tmp_path / "workspace", who="Ana", demo=True)
    made = Workspace(tmp_path / "workspace")
    gold.release(made, "Ana", note="first set", allow_open=True)
    with made.read() as connection:
        asked = {one.query_id: one for one in queries.all_queries(connection)}
        said = [one for one in judgments.current(connection, query_id="KW-002") if one.chunk_id.endswith("#approval")]
    first = asked["KW-001"]
    questions.change(made, "Ana", replace(first, question=f"{first.question.rstrip('?')}, and by when?"))
    rows: list[dict[str, object]] = [
        {
            "query_id": "KW-002",
            "chunk_id": one.chunk_id,
            "annotator": one.annotator,
            "grade": 2,
            "reason": "one case only",
        }
        for one in said
    ]
    rows.append(
        {"query_id": "KW-008", "chunk_id": "faq-billing#cancel", "annotator": "ana", "grade": 1, "reason": "aside"}
    )
    import_judgments(made, "Nobody", ("labels.jsonl", "\n".join(map(json.dumps, rows)).encode()))
    gold.release(made, "Ana", note="after the talk with Support", allow_open=True)
    return made


def test_what_changed_a_tag_and_a_download(chromium: Browser, home: Workspace, tmp_path: Path) -> None:
    app = App(home.home)
    try:
        page = open_page(chromium, f"{app.url}/gold_sets", who="Ana", accept_downloads=True)
        page.get_by_role("button", name="Move it here").click()
        expect(page.get_by_role("button", name="It stands here")).to_be_disabled()
        assert gold.tags(home) == {"ci": 2}

        page.get_by_role("combobox", name="Format").click()
        page.get_by_role("option", name="Labels (YAML)").click()
        with page.expect_download() as download:
            page.locator(".st-key-download-2-yaml-chunk").get_by_role("button").click()  # each format has its own
        assert download.value.suggested_filename.endswith("-v2.yaml")
        assert Path(download.value.path()).read_bytes() == gold.download(home, 2, "yaml")[1]

        expect(page.get_by_role("cell", name="2 partial").first).to_be_visible()
        expect(page.get_by_role("cell", name="one case only").first).to_be_visible()
        expect(page.get_by_text("Who has to sign, and by when?").first).to_be_visible()
        if os.environ.get("ANNOTATOR_PICTURES") == "1":
            page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop = 99999")
            page.wait_for_timeout(900)
            page.screenshot(path=ROOT / "docs" / "diff.png")
    finally:
        app.stop()
