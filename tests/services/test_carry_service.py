"""Proposals are recorded, decided by people, and become their own judgments; what is refused stays refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.errors import Conflict, Forbidden, InputError, NotFound
from annotator.model import Evidence, Judgment, Person, text_hash
from annotator.services import carry, chunk_table, drift
from annotator.services.carry import Waiting
from annotator.store import judgments, people
from annotator.store.database import Workspace
from tests.conftest import HANDBOOK

OLD = {row[0]: row[4] for row in HANDBOOK}
WHOLE = " ".join(OLD[f"refunds-v4#{number}"] for number in (1, 2, 3))
QUOTE = "Enterprise refunds after 30 days need the VP Finance"


def rechunk(workspace: Workspace, folder: Path, texts: list[str]) -> None:
    """Replace the refund policy's three chunks by these."""
    names = ("chunk_id", "doc_id", "title", "position", "text")
    rows = [dict(zip(names, row, strict=True)) for row in HANDBOOK if row[1] != "refunds-v4"]
    rows += [
        {"chunk_id": f"refunds-v4/{place}", "doc_id": "refunds-v4", "title": "", "position": place, "text": text}
        for place, text in enumerate(texts)
    ]
    (folder / "handbook.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    chunk_table.sync(workspace, "Ana")


def judge(workspace: Workspace, query_id: str, chunk_id: str, grade: int, *quotes: str, who: str = "Ana") -> None:
    text = OLD[chunk_id]
    spans = tuple(Evidence(quote, text.index(quote), text.index(quote) + len(quote)) for quote in quotes)
    operation = f"{who}/{query_id}/{chunk_id}"
    judged = Judgment(
        query_id, chunk_id, who, grade, reason=f"said by {who}", evidence=spans, sha256=text_hash(text),
        operation_id=operation,
    )  # fmt: skip
    with workspace.write() as connection:
        judgments.append(connection, judged)


def look(workspace: Workspace) -> list[Waiting]:
    carry.apply(workspace, "Ana", carry.propose(workspace))
    return carry.waiting(workspace)


def current(workspace: Workspace, query_id: str = "q1") -> dict[tuple[str, str], Judgment]:
    with workspace.read() as connection:
        return {(one.chunk_id, one.annotator): one for one in judgments.current(connection, query_id=query_id)}


def test_whoever_labels_blindly_is_shown_the_proposals_of_their_own_labels(
    workspace: Workspace, tmp_path: Path
) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    judge(workspace, "q2", "refunds-v4#2", 3, QUOTE, who="Ben")
    rechunk(workspace, tmp_path, [WHOLE])
    assert [one.proposal.query_id for one in look(workspace)] == ["q1", "q2"]
    assert [one.proposal.query_id for one in carry.waiting(workspace, "Ben")] == ["q2"]
    assert [one.query_id for one in drift.affected(workspace, "Ben")] == ["q2"]


def test_an_accepted_proposal_is_that_persons_judgment_with_its_origin(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    rechunk(workspace, tmp_path, [WHOLE])
    (one,) = look(workspace)
    assert (one.judged.text, one.chunk.chunk_id) == (OLD["refunds-v4#2"], "refunds-v4/0")
    old, new = carry.marks(one)
    assert one.judged.text[slice(*old[0])] == one.chunk.text[slice(*new[0])] == QUOTE

    carry.accept(workspace, "Ben", one.proposal.proposal_id)
    found = current(workspace)
    assert found.keys() == {("refunds-v4/0", "Ben")}
    judgment = found["refunds-v4/0", "Ben"]
    assert (judgment.grade, judgment.origin, judgment.reason) == (3, "carried from refunds-v4#2", "said by Ana")
    assert [span.quote for span in judgment.evidence] == [QUOTE]
    with workspace.read() as connection:
        assert [one.grade for one in judgments.history(connection, "q1", "refunds-v4#2")] == [3]  # stays on record
    assert drift.affected(workspace) == []


def test_another_grade_and_reason_may_be_given(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    rechunk(workspace, tmp_path, [WHOLE])
    carry.accept(workspace, "Ben", look(workspace)[0].proposal.proposal_id, grade=1, reason="mostly about the rest")
    judgment = current(workspace)["refunds-v4/0", "Ben"]
    assert (judgment.grade, judgment.reason) == (1, "mostly about the rest")
    with pytest.raises(InputError, match="no grade"):
        carry.accept(workspace, "Ben", 1, grade=4)


def test_two_labels_that_meet_in_one_chunk_keep_the_better_grade_and_all_evidence(
    workspace: Workspace, tmp_path: Path
) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    judge(workspace, "q1", "refunds-v4#3", 1, "A written reason is kept")
    rechunk(workspace, tmp_path, [WHOLE])
    found = look(workspace)
    for one in found:  # the better one first, then the other
        carry.accept(workspace, "Ana", one.proposal.proposal_id)
    judgment = current(workspace)["refunds-v4/0", "Ana"]
    assert judgment.grade == 3
    assert [span.quote for span in judgment.evidence] == [QUOTE, "A written reason is kept"]


def test_split_evidence_gives_several_proposals_with_lower_grades(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    at = WHOLE.index("need the VP")
    rechunk(workspace, tmp_path, [WHOLE[:at], WHOLE[at:]])
    found = look(workspace)
    assert [(one.chunk.chunk_id, one.proposal.grade, one.proposal.how) for one in found] == [
        ("refunds-v4/0", 2, "part"),
        ("refunds-v4/1", 1, "part"),
    ]
    assert [one.proposal.evidence[0].quote for one in found] == [
        "Enterprise refunds after 30 days",
        "need the VP Finance",
    ]


def test_after_one_part_is_accepted_the_rest_stays_open_through_another_search(
    workspace: Workspace, tmp_path: Path
) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    at = WHOLE.index("need the VP")
    rechunk(workspace, tmp_path, [WHOLE[:at], WHOLE[at:]])
    first, second = look(workspace)
    carry.accept(workspace, "Ana", first.proposal.proposal_id)
    assert [one.proposal.proposal_id for one in look(workspace)] == [second.proposal.proposal_id]


def test_a_decision_is_made_once(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    rechunk(workspace, tmp_path, [WHOLE])
    number = look(workspace)[0].proposal.proposal_id
    carry.refuse(workspace, "Ana", number)
    with pytest.raises(Conflict, match="refused already"):
        carry.accept(workspace, "Ben", number)
    assert look(workspace) == []
    assert [one.label.chunk_id for one in drift.affected(workspace)] == ["refunds-v4#2"]  # it still waits


def test_a_chunk_that_changed_after_the_search_is_not_labelled_unseen(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    rechunk(workspace, tmp_path, [WHOLE])
    number = look(workspace)[0].proposal.proposal_id
    rechunk(workspace, tmp_path, [WHOLE + " Except on Sundays."])
    assert carry.waiting(workspace) == []
    with pytest.raises(Conflict, match="changed meanwhile"):
        carry.accept(workspace, "Ana", number)
    with pytest.raises(NotFound):
        carry.accept(workspace, "Ana", 99)


def test_readers_decide_nothing(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    rechunk(workspace, tmp_path, [WHOLE])
    number = look(workspace)[0].proposal.proposal_id
    with workspace.write() as connection:
        people.add(connection, Person("Rita", "reader"), "Ana")
    with pytest.raises(Forbidden):
        carry.accept(workspace, "Rita", number)
    with pytest.raises(Forbidden):
        carry.apply(workspace, "Rita", carry.propose(workspace))


def test_progress_goes_up_to_the_end(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace, "q1", "refunds-v4#2", 3, QUOTE)
    rechunk(workspace, tmp_path, [WHOLE])
    told: list[tuple[int, int]] = []
    carry.propose(workspace, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (7, 7)  # six chunks and one label
