"""The grading loop below the screen: batches stored once, refusals apart, evidence."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.model import Evidence, text_hash
from annotator.services import labelling
from annotator.services.evidence import find_quote, locate
from annotator.services.labelling import Operation
from annotator.store import corpus, judgments
from annotator.store.database import Workspace
from tests.conftest import make_workspace


def operation(workspace: Workspace, one: str, chunk_id: str = "refunds-v4#2", **changed: object) -> Operation:
    with workspace.read() as connection:
        sha256 = corpus.chunk(connection, chunk_id).sha256
    values = {"kind": "judge", "who": "Ana", "query_id": "q1", "grade": 3, "sha256": sha256, **changed}
    return Operation(id=one, chunk_id=chunk_id, **values)  # type: ignore[arg-type]


def grades(workspace: Workspace, who: str = "Ana", query_id: str = "q1") -> dict[str, int | None]:
    with workspace.read() as connection:
        current = judgments.current(connection, query_id=query_id, annotator=who)
        return {one.chunk_id: one.grade for one in current}


def test_a_batch_sent_twice_is_stored_once_and_acknowledged_twice(workspace: Workspace) -> None:
    batch = [operation(workspace, "a"), operation(workspace, "b", "travel#1", grade=0)]
    assert labelling.apply(workspace, "Ana", batch).acknowledged == ("a", "b")
    assert labelling.apply(workspace, "Ana", batch).acknowledged == ("a", "b")
    with workspace.read() as connection:
        assert connection.execute("SELECT COUNT(*) FROM judgments").fetchone()[0] == 2


def test_a_refused_operation_does_not_hold_up_the_others(workspace: Workspace) -> None:
    batch = [
        operation(workspace, "a"),
        operation(workspace, "b", sha256="0" * 64),
        operation(workspace, "c", "travel#1"),
    ]
    outcome = labelling.apply(workspace, "Ana", batch)
    assert outcome.acknowledged == ("a", "c")
    assert [one for one, _ in outcome.refused] == ["b"]
    assert "changed or removed" in outcome.refused[0][1]
    assert grades(workspace) == {"refunds-v4#2": 3, "travel#1": 3}


def test_a_text_that_is_in_the_table_no_more_is_refused_even_where_others_judged_it(workspace: Workspace) -> None:
    mine, twice = operation(workspace, "a"), operation(workspace, "b", who="Ben")
    gone = operation(workspace, "c", "travel#1")
    assert labelling.apply(workspace, "Ben", [twice]).acknowledged == ("b",)
    with workspace.write() as connection:
        changed = text_hash("Changed.")
        connection.execute(
            "UPDATE chunks SET text = 'Changed.', sha256 = ? WHERE chunk_id = 'refunds-v4#2'", (changed,)
        )
        connection.execute("DELETE FROM chunks WHERE chunk_id = 'travel#1'")
    outcome = labelling.apply(workspace, "Ana", [mine, gone])
    assert outcome.acknowledged == ()
    assert "changed after you opened it" in outcome.refused[0][1]
    assert outcome.refused[1][0] == "c"
    assert grades(workspace) == {}
    # Stored before the change, sent again after it: it stays stored, and is said to be.
    assert labelling.apply(workspace, "Ben", [twice]).acknowledged == ("b",)


def test_somebody_elses_operations_are_neither_stored_nor_acknowledged(workspace: Workspace) -> None:
    outcome = labelling.apply(workspace, "Ben", [operation(workspace, "a", who="Ana")])
    assert (outcome.acknowledged, outcome.refused) == ((), ())
    assert grades(workspace) == {}


def test_an_unknown_person_may_not_grade(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="nobody called 'Nobody'"):
        labelling.apply(workspace, "Nobody", [])


def test_cannot_judge_needs_a_reason(workspace: Workspace) -> None:
    outcome = labelling.apply(workspace, "Ana", [operation(workspace, "a", grade=None)])
    assert [one for one, _ in outcome.refused] == ["a"]
    labelling.apply(workspace, "Ana", [operation(workspace, "b", grade=None, reason="a table I can't read")])
    assert grades(workspace) == {"refunds-v4#2": None}


def test_undo_in_the_same_batch(workspace: Workspace) -> None:
    batch = [
        operation(workspace, "a"),
        operation(workspace, "u", kind="undo", target="a"),
        operation(workspace, "b", grade=1),
    ]
    labelling.apply(workspace, "Ana", batch)
    assert grades(workspace) == {"refunds-v4#2": 1}


def test_evidence_is_checked_against_the_text_that_was_read(workspace: Workspace) -> None:
    good = Evidence("VP Finance", 42, 52)
    moved = Evidence("Enterprise refunds", 5, 23)
    labelling.apply(workspace, "Ana", [operation(workspace, "a", evidence=(good, moved))])
    with workspace.read() as connection:
        (one,) = judgments.current(connection, query_id="q1")
    assert one.evidence == (Evidence("Enterprise refunds", 0, 18), good)
    refused = labelling.apply(
        workspace, "Ana", [operation(workspace, "b", evidence=(Evidence("never written here", 0, 18),))]
    ).refused
    assert "not in the chunk's text" in refused[0][1]


def test_two_threads_grading_the_same_pair_lose_nothing(workspace: Workspace) -> None:
    def work(name: str) -> None:
        for number in range(20):
            labelling.apply(workspace, "Ana", [operation(workspace, f"{name}{number}", grade=number % 4)])

    threads = [threading.Thread(target=work, args=(name,)) for name in "xy"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with workspace.read() as connection:
        assert len(judgments.history(connection, "q1", "refunds-v4#2")) == 40
        assert len(list(judgments.current(connection, query_id="q1"))) == 1


def test_neighbours_are_those_around_relevant_chunks_nearest_first(workspace: Workspace) -> None:
    labelling.apply(
        workspace,
        "Ana",
        [operation(workspace, "a", "refunds-v4#1", grade=2), operation(workspace, "b", "travel#1", grade=0)],
    )
    assert labelling.neighbour_ids(workspace, "Ana", "q1") == ["refunds-v4#2", "refunds-v4#3"]


def test_judged_lists_best_first(workspace: Workspace) -> None:
    batch = [
        operation(workspace, "a", "travel#1", grade=0),
        operation(workspace, "b", "refunds-v4#2", grade=3),
        operation(workspace, "c", "travel#2", grade=None, reason="?"),
    ]
    labelling.apply(workspace, "Ana", batch)
    assert labelling.judged_ids(workspace, "Ana", "q1") == ["refunds-v4#2", "travel#1", "travel#2"]


def test_candidates_carry_place_own_label_and_draft_but_nobody_elses(workspace: Workspace) -> None:
    labelling.apply(workspace, "Ben", [operation(workspace, "b", who="Ben", grade=1)])
    labelling.apply(workspace, "Ana", [operation(workspace, "d", "travel#2", kind="draft", reason="half")])
    one, other = labelling.candidates(workspace, "Ana", "q1", ["refunds-v4#2", "gone", "travel#2"])
    assert (one.place, one.siblings, one.mine) == (2, 3, None)
    assert other.draft == ("half", ())


def test_around_gives_the_chunks_before_and_after(workspace: Workspace) -> None:
    before, after = labelling.around(workspace, "refunds-v4#2")
    assert before is not None
    assert after is not None
    assert (before.chunk_id, after.chunk_id) == ("refunds-v4#1", "refunds-v4#3")
    assert labelling.around(workspace, "errors#1") == (None, None)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("need the VP Finance", "need the VP Finance"),
        ("need  the\nvp finance", "need the VP Finance"),
        ("refunds after 30 days needs the VP Finance", "refunds after 30 days need the VP Finance"),
        ("nothing like it at all", None),
        ("", None),
    ],
)
def test_quote_is_found_exactly_loosely_or_fuzzily(quote: str, found: str | None) -> None:
    text = "Enterprise refunds after 30 days need the VP Finance (REF-2024/07)."
    span = find_quote(text, quote)
    assert (span.quote if span else None) == found
    if span:
        assert text[span.start : span.end] == span.quote


def test_locate_refuses_a_quote_that_is_not_there(workspace: Workspace) -> None:
    assert locate(workspace, "travel#2", "🚆 tickets").start == 41
    with pytest.raises(InputError, match="not in this chunk"):
        locate(workspace, "travel#2", "aeroplane")


def test_operations_from_the_screen_are_checked(workspace: Workspace) -> None:
    raw = [{"id": "a", "kind": "judge", "who": "Ana", "query_id": "q1", "chunk_id": "c", "grade": "three"}]
    with pytest.raises(InputError, match="grade"):
        labelling.decode_operations(raw)
    assert labelling.decode_operations([{**raw[0], "grade": 3}])[0].grade == 3
    assert text_hash("a") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def test_twins_are_those_shown_that_say_nearly_the_same(tmp_path: Path) -> None:
    said = "Refunds are paid within 14 days to the account the money came from, whatever the reason was."
    texts = (said, "Trains run.", f"{said} Always.", "Boats float.", "Boats float.")
    made = make_workspace(tmp_path, [(f"c{at}", "doc", "", at, text) for at, text in enumerate(texts)])
    shown = labelling.candidates(made, "Ana", "q1", ["c0", "c1", "c2", "c3", "c4"])
    assert labelling.twins(shown) == {"c0": 1, "c2": 1, "c3": 2, "c4": 2}
    assert labelling.twins(shown[:2]) == {}
