"""The drill-down into a trace, and who sees where the candidates of a pool came from; all of it stays text."""

from __future__ import annotations

import html
import json

import pytest
from streamlit.testing.v1 import AppTest

from annotator.model import Person
from annotator.services import gold, importing, pools
from annotator.services.pools import Build
from annotator.store import people
from annotator.store.database import Workspace
from tests.ui.conftest import Visit, shown, sound

HOSTILE = "<img src=x onerror=alert(1)> **bold** $x$ :material/home: \u202e"
ROW = {
    "query_id": "KW-001",
    "results": [{"chunk_id": "policy-refunds-v4#enterprise-1", "score": 2.0}],
    "candidates": ["policy-refunds-v4#enterprise-1", "policy-refunds-v4#enterprise-2", f"gone {HOSTILE[:20]}"],
    "filtered_out": [
        {"chunk_id": "policy-refunds-v4#addenda", "filter": HOSTILE},
        {"chunk_id": "policy-refunds-v3#enterprise", "filter": "freshness"},
        "faq-billing#cancel",
    ],
    "route": HOSTILE,
    "filters": {"tenant": "all", "lang": HOSTILE},
    "rewritten_query": f"refund signature {HOSTILE}",
    "latency_ms": 1234.5,
    "timed_out": True,
    "reranker": {"name": [1, 2], "note": HOSTILE},
    "own key": HOSTILE,
}


@pytest.fixture
def traced(demo: Workspace) -> Workspace:
    """The demo with version 1 and a run whose trace tells everything, some of it meant to break out of the page."""
    gold.release(demo, "Ana", allow_open=True)
    importing.import_run(demo, "Ana", ("t.jsonl", json.dumps(ROW).encode()), name="traced")
    return demo


def drill(visit: Visit, who: str = "Ana", run: str = "traced") -> str:
    app: AppTest = visit("metrics", who)
    sound(app.selectbox(key="metrics.run").set_value(run).run())
    sound(app.segmented_control(key="metrics.view").set_value("Diagnosis").run())
    return shown(app)


def test_what_the_retriever_did_stands_beside_the_gold(traced: Workspace, visit: Visit) -> None:
    page = drill(visit)
    text = html.unescape(page)
    assert "What the retriever did" in page
    assert f'<dt>Route</dt><dd dir="auto">{HOSTILE}' in text
    assert f'<dt>Filters</dt><dd dir="auto">tenant: all · lang: {HOSTILE}' in text
    assert f'<dt>Rewritten query</dt><dd dir="auto">refund signature {HOSTILE}' in text
    assert '<dt>Time</dt><dd dir="auto">1,234 ms, ran out of time' in text
    assert f"Filtered out by {HOSTILE}: policy-refunds-v4#addenda (2 partial)" in text
    assert "Filtered out by freshness" not in text  # grade 0 is rightly filtered
    assert "returned at 1" in page
    assert "not returned" in page
    for kept in (HOSTILE, html.escape(HOSTILE)):
        assert (kept in page) is (kept != HOSTILE)


def test_a_trace_of_many_and_long_names_is_cut_and_says_so(traced: Workspace, visit: Visit) -> None:
    filtered = [{"chunk_id": "policy-refunds-v4#addenda", "filter": "f" * 5_000}]
    row = {"query_id": "KW-001", "results": [], "filtered_out": filtered, "a" * 5_000: 1}
    row |= {f"key {number:04}": number for number in range(1_500)}
    importing.import_run(traced, "Ana", ("t.jsonl", json.dumps(row).encode()), name="wordy")
    page = drill(visit, run="wordy")
    assert "1,489 more in the file of the run" in page
    assert "a" * 100 not in page
    assert f"Filtered out by {'f' * 60}…: policy-refunds-v4#addenda" in page


def test_a_run_without_a_trace_says_nothing_of_it(traced: Workspace, visit: Visit) -> None:
    importing.import_run(traced, "Ana", ("t.trec", b"KW-001 Q0 faq-billing#cancel 1 1.0 x\n"), name="bare")
    assert "What the retriever did" not in drill(visit, run="bare")


def test_only_who_may_know_sees_where_candidates_came_from(traced: Workspace, visit: Visit) -> None:
    with traced.write() as connection:
        connection.execute("UPDATE queries SET state = 'open' WHERE query_id = 'KW-001'")
        people.add(connection, Person("Rea", "reviewer"), "Ana")
        people.add(connection, Person("Nora"), "Ana")
    pools.build(traced, "Rea", Build(("traced", "bm25"), "words", "", 5))
    assert "run traced 1" in drill(visit, "Rea")
    assert "run traced 1" not in drill(visit, "Nora")
