"""The Review page: disputes settled with a reason, agreement, odd labels, labels opened again, the changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from annotator.model import GoldLabel, Person
from annotator.services import audit, overview, review
from annotator.services.review import Unsettled
from annotator.services.workspace import project_root
from annotator.store import decisions, judgments, people
from annotator.store.database import Workspace
from annotator.ui import choice
from annotator.ui import review as screen
from tests.ui.conftest import Visit, shown, sound

DISPUTED = ("KW-004", "policy-retention-v2#location")


def button(app: AppTest, label: str) -> Button:
    return next(one for one in app.button if one.label == label)


def label(workspace: Workspace, pair: tuple[str, str] = DISPUTED) -> GoldLabel | Unsettled:
    return next(one for one in review.labels(workspace, "Ana", pair[0]) if one.chunk_id == pair[1])


def see(app: AppTest, view: str) -> AppTest:
    return sound(app.segmented_control(key="review.view").set_value(view).run())


def tick(app: AppTest, key: str, *rows: int) -> None:
    """Tick rows of a list, as clicks in the browser would."""
    app.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    sound(app.run())


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presses of a test follow on each other like those of a held key."""
    monkeypatch.setattr(screen, "_HELD_SECONDS", 0.0)


def test_a_dispute_shows_grades_reasons_and_evidence_side_by_side(demo: Workspace, visit: Visit) -> None:
    page = shown(visit("review"))
    for words in (
        "Ana Kovač",
        "0 stale",
        "Jonas Lindqvist",
        "2 partial",
        "including the rounding",
        "<mark>kept for 180",
    ):
        assert words in page


def test_a_grade_somebody_reasoned_is_settled_with_their_reason(demo: Workspace, visit: Visit) -> None:
    app = visit("review")
    sound(button(app, "partial").click().run())
    settled = label(demo)
    assert isinstance(settled, GoldLabel)
    assert (settled.relevance, settled.settled_by) == (2, "adjudicated by Ana")
    assert settled.reason.startswith("As Jonas Lindqvist: A comparison needs the old rule")
    assert [span.quote for span in settled.evidence] == ["kept for 180 days"]
    assert "Settled policy-retention-v2#location" in shown(app)
    assert "prod-tern2-datasheet#memory" in shown(app)  # the next one


def test_a_grade_of_ones_own_needs_a_reason(demo: Workspace, visit: Visit) -> None:
    app = visit("review")
    sound(button(app, "answers").click().run())
    assert "Write a reason first" in shown(app)
    assert isinstance(label(demo), Unsettled)
    app.text_input[0].input("It is the whole rule.").run()
    sound(button(app, "answers").click().run())
    settled = label(demo)
    assert isinstance(settled, GoldLabel)
    assert (settled.relevance, settled.reason) == (3, "It is the whole rule.")


def test_a_decision_on_what_has_changed_meanwhile_is_refused_and_shown(demo: Workspace, visit: Visit) -> None:
    app = visit("review")
    with demo.write() as connection:
        said = next(one for one in judgments.current(connection, query_id=DISPUTED[0]) if one.chunk_id == DISPUTED[1])
        judgments.append(connection, replaced(said))
    sound(button(app, "partial").click().run())
    assert "after you opened it" in shown(app)
    assert isinstance(label(demo), Unsettled)
    sound(button(app, "partial").click().run())  # having read what is new
    assert isinstance(label(demo), GoldLabel)


def replaced(said: judgments.Judgment) -> judgments.Judgment:
    return replace(said, grade=3, stale=False, operation_id="meanwhile", judged_at="")


def test_a_key_held_down_settles_one_pair_only(demo: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "_HELD_SECONDS", 60.0)
    app = visit("review")
    sound(button(app, "partial").click().run())
    sound(button(app, "partial").click().run())
    with demo.read() as connection:
        assert len(list(decisions.in_force(connection))) == 17  # sixteen came with the demo


def test_later_and_back_go_through_the_disputes(demo: Workspace, visit: Visit) -> None:
    app = visit("review")
    sound(button(app, "Later").click().run())
    assert "How long can the gateway buffer" in shown(app)
    sound(button(app, "Back").click().run())
    assert "How did the time we keep" in shown(app)


def test_agreement_shows_figures_with_numbers_and_intervals(demo: Workspace, visit: Visit) -> None:
    app = see(visit("review"), "Agreement")
    page = shown(app)
    assert "<b>0.84</b>" in page
    assert "<b>113</b>" in page
    assert "Ana Kovač · Jonas Lindqvist" in page
    assert "0.72 to 0.93" in page


def test_agreement_counts_what_was_graded_since_it_was_last_looked_at(demo: Workspace, visit: Visit) -> None:
    app = see(visit("review"), "Agreement")
    assert "<b>113</b>" in shown(app)
    with demo.write() as connection:
        counted: dict[tuple[str, str], list[judgments.Judgment]] = {}
        for one in judgments.current(connection):
            counted.setdefault((one.query_id, one.chunk_id), []).append(one)
        alone = next(said[0] for said in counted.values() if len(said) == 1 and said[0].grade is not None)
        judgments.append(connection, replace(alone, annotator="Ana", operation_id="second", judged_at=""))
    assert "<b>114</b>" in shown(sound(app.run()))


def test_labels_are_opened_again_with_a_reason(demo: Workspace, visit: Visit) -> None:
    app = see(visit("review"), "All labels")
    labels = review.labels(demo, "Ana", "KW-001")
    key = choice.key("every", [*(f"KW-001\n{one.chunk_id}" for one in labels), "0"])
    tick(app, key, 0, 1)
    app.text_input(key="every.reason:0").input("Read the addendum again.").run()
    sound(button(app, "Open 2 labels again").click().run())
    assert "Opened 2 labels again" in shown(app)
    opened = [one for one in review.labels(demo, "Ana", "KW-001") if isinstance(one, Unsettled)]
    assert [(one.chunk_id, one.kind) for one in opened] == [(one.chunk_id, "reopened") for one in labels[:2]]


def test_an_odd_label_leads_to_its_pair(demo: Workspace, visit: Visit) -> None:
    app = see(visit("review"), "Odd labels")
    assert "one person far from the rest (1)" in app.segmented_control(key="odd.kind").options
    (found,) = review.suspicious(demo, "Ana")
    key = choice.key("odd", [f"{found.kind}\n{found.query_id}\n{found.chunk_ids}\n{found.annotator}", "0"])
    tick(app, key, 0)
    sound(button(app, "Look at it").click().run())
    assert app.segmented_control(key="review.view").value == "Disputes"
    assert "policy-retention-v2#location" in shown(app)


def test_the_record_of_changes_is_narrowed(demo: Workspace, visit: Visit) -> None:
    app = see(visit("review"), "Changes")
    assert f"{audit.count(demo, 'Ana'):,} changes" in shown(app)
    app.selectbox(key="audit.who").select("Ruth Okafor").run()
    sound(app.selectbox(key="audit.kind").select("decision").run())
    assert "16 changes" in shown(app)
    assert "label decided" in shown(app)


@pytest.mark.parametrize("role", ["annotator", "reader"])
def test_who_may_not_review_is_neither_offered_the_page_nor_let_in(role: str, demo: Workspace, visit: Visit) -> None:
    with demo.write() as connection:
        people.add(connection, Person("Rea", role), "Ana")
    app = visit("review", who="Rea")
    assert f"settle labels (reviewer, admin); you are here as {role}" in shown(app)
    assert "Ana Kovač" not in shown(app)
    entry = AppTest.from_file(str(project_root() / "streamlit_app.py"), default_timeout=30)
    entry.session_state["who"] = "Rea"
    linked = {link.proto.label for link in sound(entry.run()).get("page_link")}
    assert {"Home", "Queries", "Settings"} <= linked
    assert ("Annotate" in linked, "Review" in linked) == (role == "annotator", False)


def test_what_holds_up_a_release_leads_to_the_pair(demo: Workspace, visit: Visit) -> None:
    app = visit("gold_sets")
    held_up = [one for one in app.button if one.label == "Open in Review"]
    assert len(held_up) == 2
    assert "How long can the gateway buffer" in shown(sound(held_up[1].click().run()))


def test_an_address_that_names_no_label_says_so(demo: Workspace, visit: Visit) -> None:
    app = AppTest.from_file(str(project_root() / "streamlit_app.py"), default_timeout=30)
    app.session_state["who"] = "Ana"
    app.run()
    app.query_params = {"query": "KW-004", "chunk": "<b>none</b>"}
    page = shown(sound(app.switch_page("pages/review.py").run()))
    assert "Nobody has judged" in page
    assert "<b>none" not in page


def test_home_leads_a_reviewer_to_the_disputes(demo: Workspace, visit: Visit) -> None:
    app = visit("home")
    assert overview.home(demo, "Ana").next_step.page == "review"
    assert button(app, "Go to Review")
