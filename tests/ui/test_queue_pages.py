"""The queue on the screen: sharing questions out, the plan and the settling rule, calibration, and Annotate's words."""

from __future__ import annotations

import random
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from annotator.errors import Forbidden
from annotator.model import Person
from annotator.services import calibration, gold, labelling, overview, preview, queue, review, settling, sharing
from annotator.services.labelling import Operation
from annotator.store import corpus, people
from annotator.store.database import Workspace, now
from annotator.ui import workbench
from tests.ui.conftest import Visit, shown, sound

OPEN = "KW-006"


def staff(workspace: Workspace, *names: str, role: str = "annotator") -> None:
    with workspace.write() as connection:
        for name in names:
            people.add(connection, Person(name, role), "Ana")


def grade(workspace: Workspace, who: str, query_id: str, value: int, chunk_id: str, reason: str = "") -> None:
    with workspace.read() as connection:
        text = corpus.chunk(connection, chunk_id).sha256
    one = Operation(
        id=f"{random.random()}", kind="judge", who=who, query_id=query_id, chunk_id=chunk_id, sha256=text,
        grade=value, reason=reason,
    )  # fmt: skip
    assert labelling.apply(workspace, who, [one]).acknowledged


def chunk_ids(workspace: Workspace, number: int) -> list[str]:
    with workspace.read() as connection:
        return [chunk.chunk_id for _, chunk in corpus.browse(connection, limit=number)]


def press(app: AppTest, label: str) -> AppTest:
    return sound(next(button for button in app.button if button.label == label).click().run())


def at_question(app: AppTest, query_id: str) -> AppTest:
    app.session_state["annotate.query"] = query_id
    return sound(app.run())


# Queries


def test_the_questions_of_the_list_are_given_to_people(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben", "Cleo")
    app = visit("queries")
    app.text_input(key="queries.find").input("KW-00").run()
    press(app, "Share out…")
    box = next(one for one in app.selectbox if one.label == "Which questions")
    assert box.value is None  # nothing happens to all of them by mistake
    sound(box.select_index(0).run())
    next(one for one in app.multiselect if one.label == "For whom").select("Ben").select("Cleo")
    press(app, "Give")
    assert "All 9 questions of the list: for Ben, Cleo." in shown(app)
    assert sharing.of_question(demo, "Ana", "KW-001").assigned == ["Ben", "Cleo"]
    assert sharing.of_question(demo, "Ana", "KW-010").assigned == []
    press(app, "Take in")
    assert "in the calibration set" in shown(app)
    assert sharing.of_question(demo, "Ana", "KW-001").calibration


def test_a_slice_is_given_with_what_is_added_to_it_later(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    app = visit("queries")
    app.selectbox(key="queries.slice").select("domain: policy").run()
    press(app, "Share out…")
    box = next(one for one in app.selectbox if one.label == "Which questions")
    sound(box.select("The slice domain: policy, with questions added later").run())
    next(one for one in app.multiselect if one.label == "For whom").select("Ben")
    press(app, "Give")
    assert [(one.annotator, one.facet, one.value) for one in sharing.shared(demo, "Ana").assignments] == [
        ("Ben", "domain", "policy")
    ]
    assert "Slices given" in shown(app)


def test_more_people_are_wanted_for_some_questions(demo: Workspace, visit: Visit) -> None:
    app = visit("queries")
    app.text_input(key="queries.find").input(OPEN).run()
    press(app, "Share out…")
    next(one for one in app.selectbox if one.label == "Which questions").select_index(0).run()
    next(one for one in app.selectbox if one.label == "People per question").select(3)
    press(app, "Set")
    assert sharing.of_question(demo, "Ana", OPEN).overlap == 3


def test_annotators_are_not_offered_to_share_out(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    app = visit("queries", "Ben")
    assert "Share out…" not in [button.label for button in app.button]
    assert "By me" not in app.dataframe[0].value.columns


# Settings


def test_the_plan_and_the_settling_rule_are_chosen_in_settings(demo: Workspace, visit: Visit) -> None:
    app = visit("settings")
    app.segmented_control(key="settings.part").set_value("Labelling").run()
    app.number_input[0].set_value(2)
    next(one for one in app.text_input if one.label.startswith("Seed")).input("spring")
    press(app, "Save")
    assert sharing.workspace_plan(demo) == (2, "spring")
    left = {one.name: one.left_open for one in settling.choices(demo)}
    assert str(left["unanimous"]) in app.radio[0].proto.captions[0]
    sound(app.radio[0].set_value("majority").run())
    press(app, "Use this rule")
    assert settling.rule(demo) == "majority"
    assert "labels are settled by majority from now on" in shown(app)


def test_who_may_not_change_the_plan_reads_it(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    app = visit("settings", "Ben")
    sound(app.segmented_control(key="settings.part").set_value("Labelling").run())
    assert "1 person for each question, in the order the questions were added" in shown(app)
    assert "unanimous" in shown(app)
    assert not app.radio


# Annotate and Home


def test_done_goes_to_the_next_question_that_needs_the_person(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    app = visit("annotate", "Ben")
    assert app.query_params["query"] in (OPEN, [OPEN])
    grade(demo, "Ben", OPEN, 2, chunk_ids(demo, 1)[0])
    press(app, "Done, next question")
    assert app.query_params["query"] not in (OPEN, [OPEN])
    at_question(app, OPEN)
    app.session_state["annotate.finished"] = 0.0  # a press so soon after Done counts for a second click
    press(app, "Reopen")
    assert "Done, next question" in [button.label for button in app.button]


def test_when_everything_is_in_use_it_says_when_something_is_free(demo: Workspace, visit: Visit) -> None:
    names = [f"p{number}" for number in range(6)]
    staff(demo, "Ben", *names)
    for name in names:
        queue.desk(demo, name)
    app = visit("annotate", "Ben")
    assert "questions are in use by others. The next one is free in 30 minutes" in shown(app)
    home = visit("home", "Ben")
    assert "free in 30 minutes" in shown(home)
    with demo.write() as connection:
        connection.execute("UPDATE leases SET expires_at = ?", (now(),))
    press(app, "Look again")
    assert "an-question" in shown(app)


def test_a_question_of_others_opens_with_a_calm_word(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben", "Cleo")
    sharing.assign(demo, "Ana", ["Cleo"], query_ids=[OPEN])
    app = at_question(visit("annotate", "Ben"), OPEN)
    assert "not in your queue, it needs others; what you grade is kept all the same" in shown(app)
    queue.desk(demo, "Cleo", OPEN)
    sharing.assign(demo, "Ana", [], query_ids=[OPEN])
    sound(app.run())
    assert "in use by somebody else for 30 minutes" in shown(app)


def test_a_label_opened_again_is_shown_to_its_author_with_the_reason(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    (chunk_id,) = chunk_ids(demo, 1)
    grade(demo, "Ben", OPEN, 2, chunk_id)
    queue.finish(demo, "Ben", OPEN)
    review.reopen(demo, "Ana", [(OPEN, chunk_id)], "Read note 2 of the rubric.")
    app = visit("annotate", "Ben")
    assert app.query_params["query"] in (OPEN, [OPEN])
    assert f"Ana opened your label of {chunk_id} again: Read note 2 of the rubric." in shown(app)


def test_a_skipped_question_can_be_taken_back(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    queue.skip(demo, "Ben", OPEN, "I do not know the travel rules")
    app = at_question(visit("annotate", "Ben"), OPEN)
    assert "you left it to others: I do not know the travel rules" in shown(app)
    app = press(app, "Take it back")
    assert "you left it to others" not in shown(app)


def test_who_shares_out_reads_what_was_skipped_and_why(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    queue.skip(demo, "Ben", OPEN, "I do not know the travel rules")
    app = press(visit("queries"), "Share out…")
    assert "I do not know the travel rules" in shown(app)


def test_calibration_is_shown_to_reviewers_whole_and_to_each_person_their_own(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Ben")
    first, second = chunk_ids(demo, 2)
    sharing.calibrate(demo, "Ana", [OPEN])
    grade(demo, "Ana", OPEN, 3, first, "It names the amount.")
    grade(demo, "Ben", OPEN, 1, first, "Only a mention.")
    grade(demo, "Ben", OPEN, 0, second)
    app = visit("review")
    app.segmented_control(key="review.view").set_value("Calibration").run()
    assert "Nobody has finished a question of the set yet" in shown(app)
    for who in ("Ana", "Ben"):
        queue.finish(demo, who, OPEN)
    found = review.case(demo, "Ana", OPEN, first)
    review.decide(
        demo, "Ana", OPEN, first, 3, reason="The amount is there.", sha256=found.chunk.sha256, seen=found.revision
    )
    sound(app.run())
    for words in ("It names the amount.", "Only a mention.", "The amount is there.", "weighted kappa"):
        assert words in shown(app)
    home = shown(visit("home", "Ben"))
    assert "1 of 1 question finished, 1 of 2 chunks as settled" in home
    assert "The amount is there." in home
    assert "It names the amount." not in home


# Blindness


def seen(visit: Visit, monkeypatch: pytest.MonkeyPatch, who: str) -> dict[str, Any]:
    """Return everything the three pages say to the person, and what the workbench is given."""
    sent: list[object] = []
    plain = workbench._data

    def data(*args: Any, **named: Any) -> dict[str, object]:
        given = plain(*args, **named)
        sent.append({name: value for name, value in given.items() if name not in ("seconds", "looked")})
        return given

    monkeypatch.setattr(workbench, "_data", data)
    found: dict[str, Any] = {}
    for page in ("home", "queries", "annotate"):
        app = at_question(visit(page, who), OPEN) if page == "annotate" else visit(page, who)
        found[page] = shown(app), [frame.value.to_csv() for frame in app.dataframe]
    monkeypatch.setattr(workbench, "_data", plain)
    found["workbench"] = (
        [
            (row["id"], row["label"])
            for row in sent[-1]["candidates"]  # type: ignore[index, call-overload]
        ],
        sent[-1]["progress"],
    )  # type: ignore[index, call-overload]
    return found


def test_an_annotator_sees_nothing_of_what_others_said(
    demo: Workspace, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    staff(demo, "Ben", "Cleo", "Dov")
    sharing.set_plan(demo, "Ana", 3)
    first, second, third = chunk_ids(demo, 3)
    grade(demo, "Ben", OPEN, 1, third)
    before = seen(visit, monkeypatch, "Ben")
    for who, value in (("Cleo", 0), ("Dov", 3)):  # they differ on one chunk, and agree on another
        grade(demo, who, OPEN, value, first, f"SECRET of {who}")
        grade(demo, who, OPEN, 2, second, f"SECRET of {who}")
        queue.finish(demo, who, OPEN)
    with demo.write() as connection:
        connection.execute("UPDATE leases SET expires_at = ?", (now(),))
    assert overview.status(demo)["disputes"] != 0
    after = seen(visit, monkeypatch, "Ben")
    assert after == before
    assert "SECRET" not in str(after)


def test_what_would_show_the_labels_of_others_is_left_out_of_gold_sets_and_metrics(
    demo: Workspace, visit: Visit
) -> None:
    staff(demo, "Ben")
    assert "people disagree about" in shown(visit("gold_sets"))
    page = shown(visit("gold_sets", "Ben"))
    assert "people disagree" not in page
    assert "with something open that reviewers look after" in page
    assert "Figures come with the first version" in shown(visit("metrics", "Ben"))
    with pytest.raises(Forbidden):
        preview.yardstick(demo, preview.NOW, "Ben")
    gold.release(demo, "Ana", allow_open=True)
    assert "nDCG@10" in shown(visit("metrics", "Ben"))


def test_a_reviewer_sees_all(demo: Workspace, visit: Visit) -> None:
    staff(demo, "Cleo", "Dov")
    (first,) = chunk_ids(demo, 1)
    for who, value in (("Cleo", 0), ("Dov", 3)):
        grade(demo, who, OPEN, value, first)
    rows = visit("queries").dataframe[0].value.set_index("Id")
    assert (rows.loc[OPEN, "State"], rows.loc[OPEN, "Judged"], rows.loc[OPEN, "Relevant"]) == ("disputed, in use", 1, 1)


def test_own_differences_hold_no_label_of_others(demo: Workspace) -> None:
    staff(demo, "Ben", "Cleo")
    (first,) = chunk_ids(demo, 1)
    sharing.calibrate(demo, "Ana", [OPEN])
    grade(demo, "Cleo", OPEN, 0, first, "SECRET")
    grade(demo, "Ben", OPEN, 3, first)
    queue.finish(demo, "Ben", OPEN)
    assert "SECRET" not in str(calibration.own(demo, "Ben"))
