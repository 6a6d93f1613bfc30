"""What changed between two gold sets, told kind by kind with the reasons."""

from __future__ import annotations

from annotator.gold.diff import Change, as_json, diff
from annotator.gold.goldset import GoldSet
from annotator.model import Evidence, GoldLabel, GoldQuery


def gold(*queries: GoldQuery, version: int = 1, texts: dict[str, str] | None = None) -> GoldSet:
    grades = {one.query_id: {label.chunk_id: label.relevance for label in one.gold} for one in queries if one.gold}
    details = {one.query_id: one for one in queries}
    return GoldSet(grades, details, "policies", version, f"digest {version}", texts or {})


def q1(*labels: GoldLabel, **fields: object) -> GoldQuery:
    return GoldQuery("q1", str(fields.pop("question", "Who approves?")), labels, **fields)  # type: ignore[arg-type]


def test_a_gold_set_does_not_differ_from_itself() -> None:
    same = gold(q1(GoldLabel("c1", 3)), GoldQuery("q2", "Why?", unanswerable=True))
    assert diff(same, same).changes == ()
    assert as_json(diff(same, same))["same"] is True


def test_labels_are_added_removed_and_regraded_with_the_reason_that_counts_now() -> None:
    before = q1(GoldLabel("c1", 3, "names the VP"), GoldLabel("c2", 1, "about refunds"), GoldLabel("c3", 0))
    after = q1(GoldLabel("c1", 2, "only for enterprise", settled_by="rosa"), GoldLabel("c3", 0), GoldLabel("c4", 1))
    assert diff(gold(before), gold(after)).changes == (
        Change("regraded", "q1", "c1", "relevance", "3", "2", "only for enterprise", "rosa"),
        Change("removed", "q1", "c2", "relevance", "1", "", "about refunds"),
        Change("added", "q1", "c4", "relevance", "", "1"),
    )


def test_a_stale_flag_regrades_though_the_grade_stays_0() -> None:
    (one,) = diff(gold(q1(GoldLabel("c1", 0))), gold(q1(GoldLabel("c1", 0, "v3 is out", stale=True)))).changes
    assert (one.kind, one.field, one.before, one.after, one.reason) == (
        "regraded",
        "stale",
        "current",
        "stale",
        "v3 is out",
    )


def test_reason_evidence_and_text_are_reworded_when_the_grade_stands() -> None:
    before = gold(q1(GoldLabel("c1", 3, "yes", sha256="a")), texts={"c1": "The VP approves."})
    after = gold(
        q1(GoldLabel("c1", 3, "names the VP", (Evidence("The VP", 0, 6),), sha256="b")),
        texts={"c1": "The VP approves it."},
    )
    found = diff(before, after).of("reworded", labels=True)
    assert [(one.field, one.before, one.after) for one in found] == [
        ("reason", "yes", "names the VP"),
        ("evidence", "", "The VP"),
        ("text", "The VP approves.", "The VP approves it."),
    ]


def test_queries_come_go_are_reworded_and_become_unanswerable() -> None:
    before = gold(q1(GoldLabel("c1", 3), slice={"risk": "low"}), GoldQuery("q2", "Old?", (GoldLabel("c1", 1),)))
    after = gold(
        q1(GoldLabel("c1", 3), question="Who signs?", slice={"risk": "high"}, unanswerable=True),
        GoldQuery("q3", "New?", (GoldLabel("c1", 2),)),
    )
    found = diff(before, after)
    assert found.of("regraded", labels=False) == (
        Change("regraded", "q1", "", "answerable", "answerable", "unanswerable"),
    )
    assert found.of("reworded", labels=False) == (
        Change("reworded", "q1", "", "question", "Who approves?", "Who signs?"),
        Change("reworded", "q1", "", "risk", "low", "high"),
    )
    assert found.of("removed", labels=False) == (Change("removed", "q2", "", "question", "Old?", ""),)
    assert found.of("removed", labels=True) == (Change("removed", "q2", "c1", "relevance", "1", ""),)
    assert found.of("added", labels=False) == (Change("added", "q3", "", "question", "", "New?"),)


def test_bare_judgments_can_be_compared_with_a_release() -> None:
    bare = GoldSet.of({"q1": {"c1": 2, "c9": 1}})
    found = diff(bare, gold(q1(GoldLabel("c1", 3, "names the VP"))))
    assert [(one.kind, one.chunk_id or one.field) for one in found.changes] == [
        ("reworded", "question"),
        ("regraded", "c1"),
        ("removed", "c9"),
    ]


def test_the_document_has_the_counts_of_both_and_grades_as_numbers() -> None:
    document = as_json(diff(gold(q1(GoldLabel("c1", 3))), gold(q1(GoldLabel("c1", 1, "too vague")), version=2)))
    assert document["before"] == {
        "name": "policies",
        "version": 1,
        "digest": "digest 1",
        "queries": 1,
        "judged_pairs": 1,
    }
    assert document["regraded"]["labels"] == [
        {
            "query_id": "q1",
            "chunk_id": "c1",
            "field": "relevance",
            "before": 3,
            "after": 1,
            "reason": "too vague",
        }
    ]
    assert document["added"] == {"queries": [], "labels": []}
