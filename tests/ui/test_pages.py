"""Every page on a real workspace, from the entry script on: what it shows, what its buttons write, what stays text."""

from __future__ import annotations

import html
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from annotator.model import Person, Query
from annotator.services import (
    chunk_table,
    diagnosis,
    facets,
    gold,
    importing,
    labelling,
    preview,
    questions,
    review,
    search,
    settings,
    team,
)
from annotator.services.facets import FacetSchema
from annotator.store import corpus, judgments, people, queries
from annotator.store.database import Workspace
from annotator.ui import choice
from tests.ui.conftest import Visit, shown, sound

PAGES = {
    # page: what a person recognises it by, in the demo and in an empty workspace
    "home": ("What to do next", "What to do next"),
    "annotate": ("an-question", "no question to work on"),
    "queries": ("28 questions", "There is no question yet"),
    "review": ("in dispute", "Nothing waits for a decision"),
    "gold_sets": ("Freeze the next version", "Freeze the next version"),
    "metrics": ("nDCG@10", "A run is what a retriever answered"),
    "chunks": ("275 chunks", "No chunk table is connected yet"),
    "settings": ("Chunk table", "Connect a table"),
}
FRAME = {"Change"}
"""Buttons of the frame around the page."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_demo(page: str, demo: Workspace, visit: Visit) -> None:
    app = visit(page)
    assert PAGES[page][0] in shown(app)
    assert 'an-bad"' not in shown(app)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_an_empty_workspace_says_how_to_begin(page: str, empty: Workspace, visit: Visit) -> None:
    app = visit(page)
    assert PAGES[page][1] in shown(app)
    assert 'an-bad"' not in shown(app)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ("annotate", "review")])
def test_a_reader_sees_a_page_and_can_change_nothing(page: str, demo: Workspace, visit: Visit) -> None:
    with demo.write() as connection:
        people.add(connection, Person("Rea", "reader"), "Ana")
    app = visit(page, who="Rea")
    assert 'an-bad"' not in shown(app)
    writing = ("Freeze", "Import", "Save", "New question", "Sync", "Add", "Connect", "Retire", "Continue")
    labels = {button.label for button in app.button} - FRAME
    assert not [label for label in labels if label.startswith(writing)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_primary_button_at_most(page: str, demo: Workspace, visit: Visit) -> None:
    primary = [button for button in visit(page).button if button.proto.type == "primary"]
    assert len(primary) <= 1


# Home


def test_a_database_put_in_the_place_of_another_is_checked_before_it_is_used(demo: Workspace, visit: Visit) -> None:
    visit("home")
    other = demo.home / "other.db"
    with closing(demo.connect()) as connection:
        connection.execute("VACUUM INTO ?", (str(other),))
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("PRAGMA user_version=999")
    other.replace(demo.database)
    assert "newer Annotator" in shown(visit("home"))


def test_home_leads_to_the_next_open_question(demo: Workspace, visit: Visit) -> None:
    app = visit("home")
    first_open = next(row.query.query_id for row in questions.rows(demo) if row.state == "open")
    button = _button(app, "continue", "next")
    assert button.label == "Continue labelling"
    sound(button.click().run())
    assert app.query_params["query"] == first_open


def test_home_says_in_words_which_kinds_of_question_are_missing(demo: Workspace, visit: Visit) -> None:
    wanted = FacetSchema(("query_type",), {"query_type": {"riddle": 4}})
    facets.set_schema(demo, "Ana", wanted)
    assert "no riddle question yet (4 wanted)" in shown(visit("home"))


# Queries


def test_a_question_is_written_with_its_facets(demo: Workspace, visit: Visit) -> None:
    app = visit("queries")
    sound(_button(app, "queries.new").click().run())
    app.text_area(key="edit.question:new:0").input("Who pays for a broken logger?").run()
    app.selectbox(key="edit.facet:new:0:risk").select("high").run()
    sound(_button(app, "edit.create").click().run())
    new = _question(demo, "q-001")
    assert (new.question, new.facets, new.state) == ("Who pays for a broken logger?", {"risk": "high"}, "open")
    assert "Saved q-001" in shown(app)
    assert app.text_area(key="edit.question:new:1").value == ""  # ready for another one


def test_writing_a_question_that_is_there_already_is_warned_about(demo: Workspace, visit: Visit) -> None:
    known = questions.rows(demo)[0].query
    app = visit("queries")
    _button(app, "queries.new").click().run()
    sound(app.text_area(key="edit.question:new:0").input(known.question).run())
    assert f"{known.query_id} asks the same" in html.unescape(shown(app))


def test_a_question_in_a_chunks_wording_is_warned_about(demo: Workspace, visit: Visit) -> None:
    query_id, chunk_text = _judged_relevant(demo)
    app = _choose_question(visit("queries"), demo, query_id)
    revision = _question(demo, query_id).revision
    copied = " ".join(chunk_text.split()[:14])
    sound(app.text_area(key=f"edit.question:{query_id}:{revision}").input(copied).run())
    assert "word for word" in shown(app)


def test_a_question_is_changed_retired_and_reopened(demo: Workspace, visit: Visit) -> None:
    app = _choose_question(visit("queries"), demo, "KW-006")
    app.text_area(key="edit.notes:KW-006:1").input("Asked by new colleagues.").run()
    sound(_button(app, "edit.save:KW-006:1").click().run())
    assert _question(demo, "KW-006").notes == "Asked by new colleagues."
    sound(_button(app, "edit.retire:KW-006:2").click().run())
    assert _question(demo, "KW-006").state == "retired"
    app.multiselect(key="queries.states").select("retired").run()
    app = _choose_question(app, demo, "KW-006", ["KW-006"])
    sound(_button(app, "edit.reopen:KW-006:3").click().run())
    assert _question(demo, "KW-006").state == "open"


def test_changes_made_meanwhile_by_somebody_else_are_not_written_over(demo: Workspace, visit: Visit) -> None:
    app = _choose_question(visit("queries"), demo, "KW-006")
    app.text_area(key="edit.notes:KW-006:1").input("mine").run()
    theirs = _question(demo, "KW-006")
    questions.retire(demo, "Ana", "KW-006", revision=theirs.revision)
    sound(app.run())
    assert _question(demo, "KW-006").notes == theirs.notes


def test_questions_are_found_by_words_and_facets(demo: Workspace, visit: Visit) -> None:
    app = visit("queries")
    sound(app.text_input(key="queries.find").input("osaka FOOD").run())
    assert list(app.dataframe[0].value["Id"]) == ["KW-005"]
    app.text_input(key="queries.find").input("").run()
    sound(app.selectbox(key="queries.slice").select("risk: low").run())
    low = [row.query.query_id for row in questions.rows(demo) if row.query.facets.get("risk") == "low"]
    assert list(app.dataframe[0].value["Id"]) == low


def test_an_import_shows_every_fault_and_writes_nothing_until_it_is_confirmed(demo: Workspace, visit: Visit) -> None:
    app = visit("queries")
    _button(app, "queries.import").click().run()
    rows = b"query_id,question,risk\nnew-1,What is a tern?,low\nnew-2,,low\n,Who is it?,low\n"
    sound(app.file_uploader[0].upload("questions.csv", rows, "text/csv").run())
    assert "line 3, field question" in shown(app)
    assert "line 4, field query_id" in shown(app)
    assert not _has(app, "questions.go")
    sound(app.checkbox(key="questions.good:0").check().run())
    with demo.read() as connection:
        assert queries.find(connection, "new-1") is None
    sound(_button(app, "questions.go").click().run())
    assert _question(demo, "new-1").facets == {"risk": "low"}
    assert "Imported questions.csv: 1 new." in shown(app)


def test_grades_of_another_scale_are_given_a_meaning_before_they_are_imported(demo: Workspace, visit: Visit) -> None:
    live = preview.yardstick(demo).gold
    query_id = live.judged_queries[0]
    chunk_id = live.labels(query_id)[0].chunk_id
    app = visit("queries")
    _button(app, "queries.import").click().run()
    sound(app.segmented_control(key="import.what").set_value("Judgments").run())
    rows = f"query_id,chunk_id,grade\n{query_id},{chunk_id},good\n{query_id},nowhere,bad\n".encode()
    sound(app.file_uploader[0].upload("labels.csv", rows, "text/csv").run())
    assert "Choose what every grade" in shown(app)
    sound(app.selectbox(key="import.grade:labels.csv:good").select("3").run())
    sound(app.selectbox(key="import.grade:labels.csv:bad").select("x").run())
    assert "there is no such chunk" in shown(app)
    assert not _has(app, "judgments.go")
    sound(app.text_input(key="import.annotator").input("Zoe").run())
    sound(app.checkbox(key="judgments.good:0").check().run())
    sound(_button(app, "judgments.go").click().run())
    assert "Imported labels.csv: 1 new." in shown(app)
    assert [one.label for one in app.download_button] == ["Download the rows left out"]
    with demo.read() as connection:
        (one,) = judgments.current(connection, annotator="Zoe")
    assert one.grade == 3


# Gold sets


def test_gold_sets_names_what_is_in_the_way_and_freezes_without_it(demo: Workspace, visit: Visit) -> None:
    blocked = gold.readiness(demo)
    assert not blocked.ready
    app = visit("gold_sets")
    for item in blocked.blocks:
        assert html.escape(item.message) in shown(app)
    assert _button(app, "freeze.go").disabled
    app.checkbox(key="freeze.leave_out:0").check().run()
    app.text_input(key="freeze.note:0").input("first set").run()
    sound(_button(app, "freeze.go").click().run())
    (version,) = gold.versions(demo)
    assert (version.note, version.manifest["left_out"]) == ("first set", list(blocked.left_out))
    assert version.digest[:12] in shown(app)
    assert f"Frozen: {version.folder}" in shown(app)
    assert app.text_input(key="freeze.note:1").value == ""


def test_a_version_comes_with_the_command_that_scores_a_run_against_it(demo: Workspace, visit: Visit) -> None:
    version = gold.release(demo, "Ana", allow_open=True)
    app = visit("gold_sets")
    snippet = app.code[0].value
    assert "python -m annotator evaluate" in snippet
    assert f"--gold {version.folder}.zip" in snippet


def test_a_version_is_offered_in_every_format_and_what_does_not_fit_one_is_told(demo: Workspace, visit: Visit) -> None:
    version = gold.release(demo, "Ana", allow_open=True)
    app = visit("gold_sets")
    for form in gold.FORMATS:
        sound(app.selectbox(key="download.format").select(form).run())
        (button,) = [one for one in app.download_button if one.label == "Download"]
        assert not button.disabled
    sound(app.selectbox(key="download.format").select("trec").run())
    sound(app.selectbox(key="download.level").select("span").run())
    assert gold.download(demo, version.version, "trec", "span")[0] == f"{version.folder}-trec.zip"
    with demo.write() as connection:
        queries.add(connection, Query("with space", "Why not?", unanswerable=True), "Ana")
    gold.release(demo, "Ana", allow_open=True)
    app = visit("gold_sets")
    sound(app.selectbox(key="download.format").select("trec").run())
    (button,) = [one for one in app.download_button if one.label == "Download"]
    assert button.disabled
    assert "a query id with white space" in shown(app)


def test_a_tag_is_moved_by_those_who_may(demo: Workspace, visit: Visit) -> None:
    gold.release(demo, "Ana", allow_open=True)
    app = visit("gold_sets")
    sound(_button(app, "tag.move").click().run())
    assert gold.tags(demo) == {"ci": 1}
    assert _button(app, "tag.move").disabled
    team.join(demo, "Ben Reader")
    assert not _has(visit("gold_sets", "Ben Reader"), "tag.move")


def test_what_changed_between_two_versions_is_shown_with_the_reasons(demo: Workspace, visit: Visit) -> None:
    gold.release(demo, "Ana", allow_open=True)
    assert "What changed" not in shown(visit("gold_sets"))
    gold.release(demo, "Ana", allow_open=True)
    assert "No label and no question differs" in shown(visit("gold_sets"))
    with demo.read() as connection:
        one = next(iter(queries.all_queries(connection, states=("complete",))))
    questions.change(demo, "Ana", replace(one, question="Asked in other <b>words</b>?"))
    gold.release(demo, "Ana", allow_open=True)
    app = visit("gold_sets")
    assert "Reworded" in shown(app)
    assert "Asked in other &lt;b&gt;words&lt;/b&gt;?" in shown(app)
    assert html.escape(one.question) in shown(app)


def test_what_is_in_the_way_leads_to_where_it_is_mended(demo: Workspace, visit: Visit) -> None:
    query_id, _ = _judged_relevant(demo)
    questions.change(demo, "Ana", replace(_question(demo, query_id), unanswerable=True))
    found = gold.readiness(demo)
    app = visit("gold_sets")
    links = {button.key: button for button in app.button if button.label.startswith("Open in")}
    assert len(links) == min(12, len(found.blocks)) + min(12, len(found.warns))
    (link,) = (one for key, one in links.items() if key and f":contradiction:{query_id}" in key)
    assert link.label == "Open in Queries"
    sound(link.click().run())
    assert list(app.dataframe[0].value["Id"]) == [query_id]


# Metrics


def test_metrics_shows_the_scores_of_the_evaluation_with_the_judged_fraction(demo: Workspace, visit: Visit) -> None:
    app = visit("metrics")
    run = preview.stored_runs(demo)[0]
    found = preview.score(demo, preview.yardstick(demo), run)
    for name in ("nDCG", "R", "AP", "RR", "P", "Success"):
        assert f"<b>{found.measures[f'{name}@10']:.3f}</b>" in shown(app)
    judged, retrieved = found.judged["Judged@10"]
    assert f"<b>{judged} of {retrieved}</b>" in shown(app)
    low, high = found.bounds["nDCG@10"]
    assert f"{low:.3f} to {high:.3f}" in shown(app)
    sound(app.segmented_control(key="metrics.k").set_value(5).run())
    assert f"<b>{found.measures['nDCG@5']:.3f}</b>" in shown(app)


def test_metrics_begins_with_the_newest_version_and_can_take_the_labels_as_they_stand(
    demo: Workspace, visit: Visit
) -> None:
    version = gold.release(demo, "Ana", allow_open=True)
    app = visit("metrics")
    box = app.selectbox(key="metrics.gold")
    assert box.value == version.version
    frozen, live = (preview.yardstick(demo, one) for one in (version.version, preview.NOW))
    run = preview.stored_runs(demo)[0]
    assert f"<b>{preview.score(demo, frozen, run).measures['nDCG@10']:.3f}</b>" in shown(app)
    sound(box.select_index(box.options.index("Labels as they stand")).run())
    assert f"<b>{preview.score(demo, live, run).measures['nDCG@10']:.3f}</b>" in shown(app)


def test_a_question_of_a_run_is_shown_beside_the_gold_with_its_holes(demo: Workspace, visit: Visit) -> None:
    app = visit("metrics")
    sound(app.segmented_control(key="metrics.view").set_value("By question").run())
    found = preview.score(demo, preview.yardstick(demo), preview.stored_runs(demo)[0])
    weakest = min(found.per_query, key=lambda query_id: (found.per_query[query_id]["nDCG@10"], query_id))
    assert html.escape(found.gold.details[weakest].question) in shown(app)
    kinds = [one.action for one in diagnosis.findings(found) if one.query_id == weakest]
    assert kinds
    assert all(html.escape(action) in shown(app) for action in kinds)
    holes = [one for one in found.ranked(weakest, 20) if one.grade is None]
    first_list = next(one.value for one in app.html if "an-hit" in one.value)
    assert first_list.count("not judged</span>") == len(holes) > 0
    sound(_button(app, f"ranking.open:{weakest}").click().run())
    assert weakest in app.query_params["query"]


def test_slices_and_runs_are_shown_with_the_weakest_first(demo: Workspace, visit: Visit) -> None:
    app = visit("metrics")
    sound(app.segmented_control(key="metrics.view").set_value("By slice").run())
    found = preview.score(demo, preview.yardstick(demo), preview.stored_runs(demo)[0])
    weakest = min(found.slices, key=lambda one: one.measures["nDCG@10"])
    table = next(element.value for element in app.html if "<table" in element.value)
    assert f"{weakest.measures['nDCG@10']:.3f}" in table.split("<tbody>")[1].split("</tr>")[0]
    sound(app.segmented_control(key="metrics.view").set_value("All runs").run())
    table = next(element.value for element in app.html if "<table" in element.value)
    assert table.count("<tr>") == 1 + len(preview.stored_runs(demo))


def test_a_run_is_imported_by_name(demo: Workspace, visit: Visit) -> None:
    app = visit("metrics")
    _button(app, "run.open").click().run()
    app.text_input(key="import.run_name").input("by hand").run()
    rows = b"query_id,chunk_id,score\nKW-001,policy-refunds-v4#standard,1.5\n"
    sound(app.file_uploader[0].upload("run.csv", rows, "text/csv").run())
    sound(_button(app, "run.go").click().run())
    assert preview.stored_runs(demo)[0].name == "by hand"


def test_a_run_under_a_taken_name_is_refused_where_it_was_asked_for(demo: Workspace, visit: Visit) -> None:
    app = visit("metrics")
    _button(app, "run.open").click().run()
    app.text_input(key="import.run_name").input("hybrid").run()
    sound(app.file_uploader[0].upload("run.csv", b"query_id,chunk_id,score\nKW-001,c,1\n", "text/csv").run())
    assert not _has(app, "run.go")  # nothing to press: the import itself would be refused
    assert "another run with the name" in html.unescape(shown(app))


# Chunks


def test_a_document_is_read_in_order(demo: Workspace, visit: Visit) -> None:
    app = visit("chunks")
    with demo.read() as connection:
        doc_id = corpus.documents(connection, limit=1)[0][0]
        inside = corpus.document(connection, doc_id)
    passages = "".join(element.value for element in app.html if "an-passage" in element.value)
    places = [passages.index(html.escape(chunk.text)) for chunk in inside]
    assert places == sorted(places)


def test_a_deep_link_opens_its_document(demo: Workspace, visit: Visit) -> None:
    app = visit("chunks")
    app.query_params["doc"] = "policy-refunds-v4"
    sound(app.run())
    assert "policy-refunds-v4#standard" in shown(app)


def test_chunks_are_found_by_words_and_lead_to_their_document(demo: Workspace, visit: Visit) -> None:
    app = visit("chunks")
    app.segmented_control(key="chunks.view").set_value("Search").run()
    sound(app.text_input(key="chunks.words").input("REF-2024/07").run())
    assert "<mark>" in shown(app)
    read = next(button for button in app.button if str(button.key).startswith("read:policy-addendum"))
    sound(read.click().run())
    assert "an-passage" in shown(app)


def test_the_sync_button_says_what_the_sync_did(demo: Workspace, visit: Visit) -> None:
    app = visit("chunks")
    sound(_button(app, "syncing.go").click().run())
    assert "275 chunks, nothing had changed." in shown(app)
    sound(app.segmented_control(key="chunks.view").set_value("Sync history").run())
    assert shown(app).count("<tr>") == 3  # the head and two syncs


def test_a_judged_chunk_that_changed_is_listed_as_drift_and_on_home(demo: Workspace, visit: Visit) -> None:
    query_id, _ = _judged_relevant(demo)
    with demo.read() as connection:
        texts = {chunk_id: chunk.text for chunk_id, chunk in corpus.changes(connection, 0) if chunk}
    changed = next(
        one.chunk.chunk_id
        for one in labelling.candidates(demo, "Ana Kovač", query_id, list(texts))
        if one.mine is not None
    )
    table = demo.home / "table.jsonl"
    rows = [{"chunk_id": key, "text": value + (" No more." if key == changed else "")} for key, value in texts.items()]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    chunk_table.connect(demo, "Ana", str(table))
    chunk_table.sync(demo, "Ana")
    app = visit("chunks")
    sound(app.segmented_control(key="chunks.view").set_value("Drift").run())
    assert f"<bdi>{html.escape(changed)}</bdi> · <bdi>text edited</bdi>" in shown(app)
    assert "judged chunks changed or vanished" in shown(visit("home"))


# Settings


def test_what_can_be_connected_is_shown_until_an_address_is_typed(empty: Workspace, visit: Visit) -> None:
    app = visit("settings")
    assert "postgresql://reader:${DB_PASSWORD}@host/database" in shown(app)
    sound(app.text_input(key="connection.address").input("a.csv").run())
    assert "postgresql://" not in shown(app)


def test_a_table_is_looked_at_before_it_is_connected_and_synced(empty: Workspace, visit: Visit, tmp_path: Path) -> None:
    table = tmp_path / "manual.jsonl"
    rows = [{"key": f"m{n}", "wording": f"Sentence number {n}."} for n in range(7)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    app = visit("settings")
    app.text_input(key="connection.address").input(str(table)).run()
    sound(_button(app, "connection.look").click().run())
    assert "Choose the column that holds the text" in shown(app)
    assert _button(app, "connection.save").disabled
    sound(app.selectbox(key=f"connection.text:{table}\n").select("wording").run())
    assert len(app.dataframe[0].value) == 5
    assert chunk_table_state(empty) == 0
    sound(_button(app, "connection.save").click().run())
    assert chunk_table_state(empty) == 7
    assert "7 chunks, 7 new." in shown(app)


def test_a_table_that_lost_its_rows_is_told_and_taken_over_only_when_said(
    empty: Workspace, visit: Visit, tmp_path: Path
) -> None:
    table = tmp_path / "manual.csv"
    table.write_text("id,text\na,One.\nb,Two.\nc,Three.\n", "utf-8")
    chunk_table.connect(empty, "Ana", str(table))
    chunk_table.sync(empty, "Ana")
    table.write_text("id,text\n", "utf-8")
    app = visit("chunks")
    sound(_button(app, "syncing.go").click().run())
    assert "has no rows, but 3 of its chunks" in shown(app)
    assert "say so under Options" in shown(app)
    assert chunk_table_state(empty) == 3
    app.checkbox(key="syncing.empty").check().run()
    sound(_button(app, "syncing.go").click().run())
    assert chunk_table_state(empty) == 0
    assert "more than half of those that were here" in shown(app)


def test_an_address_that_cannot_be_read_is_a_message_not_a_traceback(empty: Workspace, visit: Visit) -> None:
    app = visit("settings")
    app.text_input(key="connection.address").input("/nowhere/at/all.csv").run()
    sound(_button(app, "connection.look").click().run())
    assert "does not exist" in shown(app)


def test_the_rubric_is_kept_in_versions(demo: Workspace, visit: Visit) -> None:
    app = visit("settings")
    app.segmented_control(key="settings.part").set_value("Rubric").run()
    sound(app.text_area(key="rubric:1").input("# Grade with care").run())
    sound(_button(app, "rubric.save").click().run())
    assert settings.rubric(demo) == settings.Rubric(2, "# Grade with care")
    assert "version 2 of the rubric is in force" in shown(app)


def test_facets_are_added_one_a_line(demo: Workspace, visit: Visit) -> None:
    app = visit("settings")
    sound(app.segmented_control(key="settings.part").set_value("Facets").run())
    area = app.text_area[0]
    sound(area.input(f"{area.value}\ntenant").run())
    sound(_button(app, "facets.save").click().run())
    assert facets.schema(demo).facets[-1] == "tenant"


def test_people_are_added_by_an_admin(demo: Workspace, visit: Visit) -> None:
    app = visit("settings")
    sound(app.segmented_control(key="settings.part").set_value("People").run())
    app.text_input(key="person.name").input("Dee  Dee")
    app.selectbox(key="person.role").select("reviewer")
    add = next(button for button in app.button if button.label == "Add")
    sound(add.click().run())
    assert team.find(demo, "Dee Dee") == Person("Dee Dee", "reviewer")


def test_about_says_where_the_workspace_is(demo: Workspace, visit: Visit) -> None:
    app = visit("settings")
    sound(app.segmented_control(key="settings.part").set_value("About").run())
    assert html.escape(str(demo.home)) in shown(app)


# Hostile text

HOSTILE = "<img src=x onerror=alert(1)> **bold** ![x](http://evil.example/x.png) :material/home: $x$ [a](b)"


@pytest.fixture
def hostile(empty: Workspace, tmp_path: Path) -> Workspace:
    """A workspace whose every text tries to be more than text."""
    table = tmp_path / "hostile.jsonl"
    rows = [
        {"chunk_id": f"{HOSTILE} {n}", "text": f"{HOSTILE} body", "doc_id": HOSTILE, "title": HOSTILE, "tag": HOSTILE}
        for n in range(2)
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    chunk_table.connect(empty, "Ana", str(table))
    chunk_table.sync(empty, "Ana")
    facets.set_schema(empty, "Ana", FacetSchema((HOSTILE,), {HOSTILE: {HOSTILE: 2}}))
    questions.create(empty, "Ana", HOSTILE, query_id=HOSTILE, notes=HOSTILE, facets={HOSTILE: HOSTILE}, owner=HOSTILE)
    team.join(empty, HOSTILE[:80])
    first = f"{HOSTILE} 0"
    with empty.read() as connection:
        sha256 = corpus.chunk(connection, first).sha256
    graded = labelling.Operation(
        id="1", kind="judge", who="Ana", query_id=HOSTILE, chunk_id=first, sha256=sha256, grade=3, reason=HOSTILE
    )
    assert labelling.apply(empty, "Ana", [graded]).acknowledged
    other = msgspec.structs.replace(graded, id="2", who=HOSTILE[:80], grade=0, seconds=0.1)
    assert labelling.apply(empty, HOSTILE[:80], [other]).acknowledged
    run = json.dumps({"query_id": HOSTILE, "results": [f"{HOSTILE} 1", first]}).encode()
    importing.import_run(empty, "Ana", ("run.jsonl", run), name=HOSTILE)
    found = review.case(empty, "Ana", HOSTILE, first)
    review.decide(empty, "Ana", HOSTILE, first, 3, reason=HOSTILE, sha256=found.chunk.sha256, seen=found.revision)
    gold.release(empty, "Ana", note=HOSTILE)
    review.reopen(empty, "Ana", [(HOSTILE, first)], HOSTILE)
    settings.set_rubric(empty, "Ana", HOSTILE, seen=0)
    return empty


@pytest.mark.parametrize(
    ("page", "view", "value"),
    [
        ("home", "", ""),
        ("annotate", "", ""),
        ("queries", "", ""),
        ("review", "review.view", "Disputes"),
        ("review", "review.view", "Agreement"),
        ("review", "review.view", "Odd labels"),
        ("review", "review.view", "All labels"),
        ("review", "review.view", "Changes"),
        ("gold_sets", "", ""),
        ("metrics", "metrics.view", "By question"),
        ("metrics", "metrics.view", "By slice"),
        ("metrics", "metrics.view", "Overview"),
        ("metrics", "metrics.view", "Compare"),
        ("metrics", "metrics.view", "Diagnosis"),
        ("metrics", "metrics.view", "Holes"),
        ("metrics", "metrics.view", "Gate"),
        ("metrics", "metrics.view", "All runs"),
        ("chunks", "chunks.view", "Documents"),
        ("chunks", "chunks.view", "All chunks"),
        ("settings", "settings.part", "Rubric"),
        ("settings", "settings.part", "Facets"),
        ("settings", "settings.part", "People"),
    ],
)
def test_hostile_text_stays_text(page: str, view: str, value: str, hostile: Workspace, visit: Visit) -> None:
    app = visit(page)
    if view:
        sound(app.segmented_control(key=view).set_value(value).run())
    if page == "queries":
        app = _choose_question(app, hostile, HOSTILE, [HOSTILE])
    assert 'an-bad"' not in shown(app)
    assert "<img" not in shown(app)
    for element in _everything(app):
        for words in _read_as_markdown(element.proto):
            assert "evil.example" not in words, (element.type, words)


def _everything(app: AppTest) -> list[object]:
    found, waiting = [], [app._tree]
    while waiting:
        node = waiting.pop()
        children = getattr(node, "children", None)
        if children:
            waiting += children.values()
        if getattr(node, "proto", None) is not None:
            found.append(node)
    return found


def _read_as_markdown(proto: object) -> list[str]:
    """The texts of an element that Streamlit reads as Markdown: labels, help, and what Markdown commands show."""
    names = ["label", "help", "caption", "page"]
    kind = type(proto).__name__
    if kind in ("Markdown", "Heading", "Alert", "Toast", "Metric"):
        names += ["body", "delta"]
    if kind == "ButtonGroup":
        names.append("options")
    return [str(getattr(proto, name)) for name in names if hasattr(proto, name)]


def _button(app: AppTest, *keys: str) -> Button:
    return next(button for key in keys for button in app.button if button.key == key)


def _has(app: AppTest, key: str) -> bool:
    return any(button.key == key for button in app.button)


def _question(workspace: Workspace, query_id: str) -> Query:
    with workspace.read() as connection:
        return queries.query(connection, query_id)


def _choose_question(app: AppTest, workspace: Workspace, query_id: str, ids: list[str] | None = None) -> AppTest:
    """Choose a row of the list, as a click in the browser would."""
    listed = ids or [row.query.query_id for row in questions.rows(workspace) if row.state != "retired"]
    place = listed.index(query_id)
    app.session_state[choice.key("queries", listed)] = {"selection": {"rows": [place], "columns": [], "cells": []}}
    return sound(app.run())


def _judged_relevant(workspace: Workspace) -> tuple[str, str]:
    """A question, and the text of a chunk somebody found to answer it."""
    live = preview.yardstick(workspace).gold
    for query_id in live.judged_queries:
        best = live.labels(query_id)[0]
        if best.relevance >= 2:
            return query_id, preview.texts(workspace, [best.chunk_id])[best.chunk_id].text
    raise AssertionError("the demo has no relevant label")


def chunk_table_state(workspace: Workspace) -> int:
    with workspace.read() as connection:
        return corpus.count(connection)


def test_the_names_of_filters_are_shown_as_data_and_not_as_labels(demo: Workspace, visit: Visit) -> None:
    app = visit("annotate")
    labels = [box.label for box in app.selectbox if str(box.key).startswith("filter:")]
    assert labels == [f"Value of filter {place}" for place in range(1, len(labels) + 1)] != []
    assert all(f"<bdi>{name}</bdi>" in shown(app) for name in search.filters(demo))
