"""The Metrics page as people see it: overview, two runs compared, diagnosis, holes, the gate and the trend."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from annotator.model import Person
from annotator.services import diagnosis, gate, gold, importing, preview
from annotator.store import people
from annotator.store.database import Workspace
from annotator.ui import choice
from tests.ui.conftest import Visit, shown, sound


@pytest.fixture
def released(demo: Workspace) -> Workspace:
    """The demo with its version 1; the page begins with hybrid against bm25 on it."""
    gold.release(demo, "Ana", allow_open=True)
    return demo


def look(app: AppTest, view: str, part: str = "") -> AppTest:
    sound(app.segmented_control(key="metrics.view").set_value(view).run())
    return sound(app.segmented_control(key="comparison.part").set_value(part).run()) if part else app


def table(app: AppTest, place: int = 0) -> list[list[str]]:
    """Cells of a table of the page, row by row, without the head."""
    found = [element.value for element in app.html if "<table" in element.value]
    rows = found[place].split("<tbody>")[1].split("</tr>")[:-1]
    return [[html.unescape(cell.rpartition(">")[2]) for cell in row.split("</td>")[:-1]] for row in rows]


def test_the_overview_tells_discovery_from_ranking_and_says_what_the_trace_lacks(
    released: Workspace, visit: Visit
) -> None:
    text = html.unescape(shown(visit("metrics")))
    assert '<dt>Recall@5</dt><dd dir="auto">0.367' in text
    assert "The lists of this run end at 20" in text
    assert '<dt>95 % within</dt><dd dir="auto">1.1 ms' in text
    assert '<dt>Timed out</dt><dd dir="auto">not in the trace' in text
    assert '<dt>Relevant filtered</dt><dd dir="auto">27.8% of questions' in text


def test_two_runs_are_compared_with_what_chance_could_do(released: Workspace, visit: Visit) -> None:
    app = look(visit("metrics"), "Compare")
    assert (
        "nDCG@10 rose from 0.582 to 0.601 (+0.019): 10 questions better, 8 worse, 0 the same. "
        "18 questions cannot tell this from chance (p = 0.655)."
    ) in shown(app)
    rows = {row[0]: row[1:] for row in table(app)}
    assert rows["nDCG@10"] == ["0.582", "0.601", "+0.019", "-0.065 to +0.098", "0.655", "10, 8, 0"]
    assert rows["Recall@10"][:3] == ["0.480", "0.535", "+0.055"]


def test_slices_compared_begin_with_what_lost_most_and_say_when_they_are_too_few(
    released: Workspace, visit: Visit
) -> None:
    app = look(visit("metrics"), "Compare", "Slices")
    rows = table(app)
    changes = [float(row[2]) for row in rows]
    assert changes == sorted(changes)
    assert rows[0][0] == "risk: low"
    assert {row[3] for row in rows if int(row[1]) < 6} == {"too few"}
    assert all(float(row[3]) <= 1 for row in rows if int(row[1]) >= 6)


def test_a_slice_says_how_much_of_it_is_judged(released: Workspace, visit: Visit) -> None:
    rows = {row[0]: row for row in table(look(visit("metrics"), "By slice"))}
    assert rows["domain: support"][1:] == ["2", "0.175", "0.167", "0.059", "0.333", "10 of 20"]


def test_a_new_gate_begins_with_an_example_and_says_whose_it_is(released: Workspace, visit: Visit) -> None:
    gate.set_text(released, "Ana", "", seen=gate.text(released))
    app = look(visit("metrics"), "Gate")
    assert "Change the example below and put it in force." in shown(app)
    assert app.text_area[0].value == gate.EXAMPLE


def test_a_changed_question_shows_both_lists_and_what_became_of_the_gold(released: Workspace, visit: Visit) -> None:
    app = look(visit("metrics"), "Compare", "Questions")
    assert app.dataframe[0].value["Id"][0] == "KW-002"
    text = shown(app)
    assert "Before: bm25" in text
    assert "Now: hybrid" in text
    assert "filtered out (freshness)" in text


def test_without_a_baseline_one_is_asked_for(released: Workspace, visit: Visit) -> None:
    app = visit("metrics")
    sound(app.selectbox(key="metrics.baseline:hybrid").select("").run())
    assert "Choose a baseline above" in shown(look(app, "Compare"))
    assert "needs a baseline" in shown(look(app, "Gate"))


def test_the_diagnosis_counts_each_kind_with_its_action_and_leads_to_its_questions(
    released: Workspace, visit: Visit
) -> None:
    app = look(visit("metrics"), "Diagnosis")
    found = preview.score(released, preview.yardstick(released, 1), preview.stored_runs(released)[0])
    every = diagnosis.findings(found, diagnosis.freshness(released, found))
    counts = diagnosis.count_kinds(every)
    kinds = app.dataframe[0].value
    assert list(kinds["Questions"]) == [f"{number} of 18" for number in counts.values()]
    assert list(kinds["What to do"]) == [diagnosis.ACTIONS[kind] for kind in counts]
    assert list(app.dataframe[1].value["Id"]) == [one.query_id for one in every if one.kind == "filtered"]
    app.session_state[choice.key("diagnosis.kinds", list(counts))] = {
        "selection": {"rows": [list(counts).index("buried")], "columns": [], "cells": []}
    }
    sound(app.run())
    buried = [one for one in every if one.kind == "buried"]
    assert list(app.dataframe[1].value["Best rank"]) == [one.rank for one in buried]


def test_a_hole_leads_to_its_question_with_the_chunk_searched_for(released: Workspace, visit: Visit) -> None:
    page = shown(look(visit("metrics"), "Holes"))
    first = re.search(r'<a class="an-go" href="annotate\?([^"]+)">Judge</a>', page)
    assert first
    assert "rank 1 · 3 of 3 runs" in page
    link = parse_qs(html.unescape(first[1]))
    assert link == {"query": ["KW-025"], "chunk": ["prod-tern2-datasheet#overview"]}
    app = visit("annotate")
    app.query_params["query"], app.query_params["chunk"] = "KW-025", "prod-tern2-datasheet#overview"
    sound(app.run())
    assert "KW-025" in app.query_params["query"]
    assert "chunk" not in app.query_params
    assert app.text_input(key="search:KW-025").value == "prod-tern2-datasheet#overview"
    assert app.selectbox(key="mode:KW-025").value == "id"


def test_a_hole_has_no_link_for_who_grades_nothing(released: Workspace, visit: Visit) -> None:
    with released.write() as connection:
        people.add(connection, Person("Rita", "reader"), "Ana")
    page = shown(look(visit("metrics", "Rita"), "Holes"))
    assert "prod-tern2-datasheet#overview" in page
    assert ">Judge</a>" not in page


def test_the_gate_blocks_the_better_run_and_says_which_questions_and_why(released: Workspace, visit: Visit) -> None:
    app = look(visit("metrics"), "Gate")
    assert "Block: at least one rule that must hold is not kept." in shown(app)
    assert table(app)[0][:3] == ["✕ blocks", "Recall@10 must not fall", "domain: policy, risk: high"]
    assert [row[0] for row in table(app, 1)] == ["KW-009", "KW-002"]
    assert "policy-addendum-ref-2024-07#approval filtered out (freshness)" in table(app, 1)[0][4]
    assert app.download_button[0].label == "Download the report"


def test_the_report_to_download_is_that_of_the_command_line(released: Workspace) -> None:
    against, runs = preview.yardstick(released, 1), {one.name: one for one in preview.stored_runs(released)}
    found = gate.judged(released, against, runs["hybrid"], runs["bm25"], gate.text(released))
    report = gate.as_markdown(found)
    assert report.startswith("## Retrieval gate: block\n")
    assert "| KW-009 | Is REF-2024/07 still valid under the new refund policy? | 0.6364 | 0.3636 |" in report


def test_an_admin_changes_the_gate_and_what_is_no_gate_is_refused(released: Workspace, visit: Visit) -> None:
    app = look(visit("metrics"), "Gate")
    before = gate.text(released)
    sound(app.text_area[0].input("rules:\n  - {measure: 'R@10', minimum: 0.5}\n").run())
    sound(_button(app, "gate.save").click().run())
    assert "line 2, field minimum" in shown(app)
    assert gate.text(released) == before
    sound(app.text_area[0].input("rules:\n  - {measure: 'R@20', min: 0.5, severity: warn}\n").run())
    sound(_button(app, "gate.save").click().run())
    assert "Ship: every rule is kept." in shown(app)
    assert table(app)[0][1] == "Recall@20 at least 0.5"


def test_others_read_the_rules_and_cannot_change_them(released: Workspace, visit: Visit) -> None:
    with released.write() as connection:
        people.add(connection, Person("Rea", "reader"), "Ana")
    app = look(visit("metrics", who="Rea"), "Gate")
    assert "max_drop: 0.0" in shown(app)
    assert not app.text_area
    assert not [button for button in app.button if button.key == "gate.save"]


def test_a_rule_that_fits_no_question_of_the_gold_set_is_told_with_its_line(released: Workspace, visit: Visit) -> None:
    rules = "rules:\n  - {measure: 'R@10', where: {domain: moon}, min: 0.5}\n"
    gate.set_text(released, "Ana", rules, seen=gate.text(released))
    text = html.unescape(shown(look(visit("metrics"), "Gate")))
    assert "line 2, field where" in text
    assert "no query has this value of domain" in text


def test_all_runs_stand_beside_what_they_say_of_themselves(released: Workspace, visit: Visit) -> None:
    app = look(visit("metrics"), "All runs")
    assert [(row[0], row[-3], row[-1]) for row in table(app, 1)] == [
        ("hybrid", "lsa-24", "hybrid"),
        ("dense", "lsa-24", "vectors"),
        ("bm25", "none", "words"),
    ]
    for along in ("index_version", "embedding_model", "reranker", "route"):
        sound(app.segmented_control(key="metrics.along").set_value(along).run())


def test_a_run_of_bare_ids_on_a_gold_set_of_its_own_has_no_figures_of_operation(
    released: Workspace, visit: Visit
) -> None:
    rows = "".join(
        json.dumps({"query_id": f"KW-{number:03}", "results": ["policy-refunds-v4#standard", "gone#1"]}) + "\n"
        for number in range(1, 29)
    )
    importing.import_run(released, "Ana", ("run.jsonl", rows.encode()), name="bare")
    text = shown(visit("metrics"))
    assert '<dt>95 % within</dt><dd dir="auto">not in the trace' in text
    assert '<dt>Gone</dt><dd dir="auto">100.0%' in text
    assert "gone#1" in text


def _button(app: AppTest, key: str):  # type: ignore[no-untyped-def]
    return next(button for button in app.button if button.key == key)


def test_a_run_of_other_questions_is_told_before_its_zeros(released: Workspace, visit: Visit) -> None:
    run = ("other.trec", b"Q-1 Q0 policy-refunds-v4#standard 1 1 t\n")
    importing.import_run(released, "Ana", run, name="other")
    assert "other answers none of the questions of this gold set." in shown(visit("metrics"))


def test_a_gold_set_of_unanswerable_questions_breaks_no_part_of_the_page(empty: Workspace, visit: Visit) -> None:
    importing.import_queries(empty, "Ana", ("q.yaml", b"query_id: q1\nquestion: Why?\nunanswerable: true\n"))
    importing.import_run(empty, "Ana", ("r.trec", b"q1 Q0 a 1 1 t\n"), name="r")
    gold.release(empty, "Ana", allow_open=True)
    app = visit("metrics")
    for part in app.segmented_control(key="metrics.view").options:
        assert "there is nothing to average" in shown(look(app, part)), part
