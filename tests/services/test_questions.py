"""Questions as people write, change and retire them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from annotator.errors import Conflict, InputError, NotFound
from annotator.model import Adjudication, Judgment, Query, text_hash
from annotator.services import facets, questions, queue
from annotator.services.facets import FacetSchema
from annotator.store import decisions, judgments, queries
from annotator.store.database import Workspace

TEXT = "Enterprise refunds after 30 days need the approval of the VP Finance."


@pytest.fixture
def home(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "home")
    made.create()
    with made.write() as connection:
        for chunk_id in ("c1", "c2", "c3"):
            connection.execute(
                "INSERT INTO chunks (chunk_id, doc_id, title, text, metadata, sha256, row_hash, sync_id)"
                " VALUES (?, 'd1', '', ?, '{}', ?, x'00', 1)",
                (chunk_id, TEXT, text_hash(TEXT)),
            )
    return made


def judge(home: Workspace, query_id: str, chunk_id: str, annotator: str, grade: int | None) -> None:
    with home.write() as connection:
        operation = f"{query_id}-{chunk_id}-{annotator}"
        one = Judgment(query_id, chunk_id, annotator, grade, sha256=text_hash(TEXT), operation_id=operation)
        judgments.append(connection, one)


def test_ids_are_proposed_and_given_in_order(home: Workspace) -> None:
    assert questions.next_id(home) == "q-001"
    assert questions.create(home, "ana", "Who approves?").query_id == "q-001"
    questions.create(home, "ana", "Who pays?", query_id="q-041")
    questions.create(home, "ana", "Who asks?", query_id="imported 7")
    assert questions.create(home, "ana", "Who else?").query_id == "q-042"
    with pytest.raises(Conflict, match="already"):
        questions.create(home, "ana", "Again?", query_id="q-001")


def test_texts_are_trimmed_and_empty_facets_dropped(home: Workspace) -> None:
    made = questions.create(home, "ana", "  Who?\n", facets={"domain": " policy ", "risk": ""})
    assert (made.question, dict(made.facets)) == ("Who?", {"domain": "policy"})
    with home.read() as connection:
        assert queries.query(connection, made.query_id) == made


def test_every_fault_of_a_question_is_named_at_once(home: Workspace) -> None:
    with pytest.raises(InputError) as caught:
        questions.create(home, "ana", " ", query_id="a\tb", facets={"colour": "red"}, state="disputed")
    assert [problem.field for problem in caught.value.problems] == ["query_id", "question", "state", "facets"]
    with pytest.raises(InputError, match="lone surrogate"):
        questions.create(home, "ana", "Who \ud800?")
    with home.read() as connection:
        assert queries.all_queries(connection) == []


def test_a_change_from_an_old_revision_is_refused_and_nothing_is_written_over(home: Workspace) -> None:
    first = questions.create(home, "ana", "Who approves?")
    second = questions.change(home, "ben", replace(first, question="Who approves refunds?"))
    assert second.revision == 2
    with pytest.raises(Conflict, match="changed by somebody else"):
        questions.change(home, "ana", replace(first, question="Who signs?"))
    with pytest.raises(Conflict):
        questions.retire(home, "ana", first.query_id, revision=1)
    with home.read() as connection:
        assert queries.query(connection, first.query_id).question == "Who approves refunds?"


def test_states_move_and_every_move_is_recorded(home: Workspace) -> None:
    made = questions.create(home, "ana", "Who approves?", state="draft")
    assert questions.reopen(home, "ana", made.query_id).state == "open"
    judge(home, made.query_id, "c1", "ana", 3)
    assert queue.finish(home, "ana", made.query_id).state == "complete"
    assert questions.retire(home, "ben", made.query_id, revision=3).state == "retired"
    assert questions.reopen(home, "ben", made.query_id).state == "open"
    with home.read() as connection:
        events = connection.execute("SELECT who FROM events WHERE subject = ?", (f"query:{made.query_id}",)).fetchall()
    # written, opened, finished, so complete, retired, opened again, so given back to whoever had finished it
    assert [event["who"] for event in events] == ["ana", "ana", "ana", "ana", "ben", "ben", "ben"]


def test_complete_needs_a_label_unless_nothing_answers_it(home: Workspace) -> None:
    made = questions.create(home, "ana", "Who approves?")
    with pytest.raises(Conflict, match="judged nothing"):
        queue.finish(home, "ana", made.query_id)
    assert questions.mark_unanswerable(home, "ana", made.query_id).unanswerable
    assert queue.finish(home, "ana", made.query_id).state == "complete"
    assert not questions.mark_unanswerable(home, "ana", made.query_id, False).unanswerable
    with pytest.raises(NotFound):
        queue.finish(home, "ana", "nobody")


def test_lint_compares_with_other_questions_and_with_the_chunks_found_relevant(home: Workspace) -> None:
    first = questions.create(home, "ana", "Who signs late enterprise refunds?")
    questions.create(home, "ana", "Who signs enterprise refunds for gifts?")
    retired = questions.create(home, "ana", "How old is the oldest refund?")
    questions.retire(home, "ana", retired.query_id)
    copied = "Do enterprise refunds after 30 days need the approval of the VP Finance?"
    assert questions.lint(home, copied, first.query_id) == []
    judge(home, first.query_id, "c1", "ana", 3)
    judge(home, first.query_id, "c2", "ana", 1)
    assert [(one.kind, one.ids) for one in questions.lint(home, copied, first.query_id)] == [("copied", ("c1",))]
    assert [one.kind for one in questions.lint(home, "Who signs late enterprise refund?")] == ["near_duplicate"]
    assert questions.lint(home, first.question, first.query_id) == []
    assert questions.lint(home, "How old is the oldest refund?") == []


def test_rows_show_progress_and_open_disputes(home: Workspace) -> None:
    for query_id in ("q1", "q2", "q3", "q4"):
        questions.create(home, "ana", f"What about {query_id}?", query_id=query_id)
    judge(home, "q1", "c1", "ana", 3)
    judge(home, "q1", "c1", "ben", 0)
    judge(home, "q1", "c2", "ben", 1)
    judge(home, "q1", "c3", "ana", None)
    judge(home, "q2", "c1", "ana", 3)
    judge(home, "q2", "c1", "ben", 0)
    judge(home, "q4", "c1", "ana", 3)
    judge(home, "q4", "c1", "ben", 0)
    questions.retire(home, "ana", "q4")
    with home.write() as connection:
        one = Adjudication("q2", "c1", "rosa", 2, sha256=text_hash(TEXT), operation_id="decided")
        decisions.append(connection, one)
    found = {
        row.query.query_id: (row.judged, row.relevant, row.mine, row.unsettled, row.state)
        for row in questions.rows(home, "ana")
    }
    assert found == {
        "q1": (3, 2, 2, 1, "disputed"),
        "q2": (1, 1, 1, 0, "open"),
        "q3": (0, 0, 0, 0, "open"),
        "q4": (1, 1, 1, 0, "retired"),
    }


def test_facets_are_replaced_and_checked(home: Workspace) -> None:
    assert facets.schema(home).facets == ("domain", "risk", "query_type", "source_format")
    facets.set_schema(home, "ana", FacetSchema(("tenant",), {"tenant": {"north": 3}}))
    assert facets.schema(home) == FacetSchema(("tenant",), {"tenant": {"north": 3}})
    questions.create(home, "ana", "Who?", facets={"tenant": "north"})
    with pytest.raises(InputError) as caught:
        facets.set_schema(home, "ana", FacetSchema(("a", "a", ""), {"b": {"x": -1}}))
    assert len(caught.value.problems) == 4
    assert facets.schema(home).facets == ("tenant",)


def test_a_facet_taken_away_does_not_lock_its_questions(home: Workspace) -> None:
    made = questions.create(home, "ana", "Who?", facets={"domain": "policy"})
    facets.set_schema(home, "ana", FacetSchema(("tenant",), {}))
    assert questions.change(home, "ana", replace(made, question="Who now?")).question == "Who now?"
    with pytest.raises(InputError, match="no such facet"):
        questions.create(home, "ana", "Who else?", facets={"domain": "policy"})


def test_a_question_is_never_deleted(home: Workspace) -> None:
    made = questions.create(home, "ana", "Who?")
    questions.retire(home, "ana", made.query_id)
    assert [row.query for row in questions.rows(home)] == [Query(made.query_id, "Who?", state="retired", revision=2)]
