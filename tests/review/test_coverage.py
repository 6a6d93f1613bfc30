"""Coverage counted by hand."""

from __future__ import annotations

from annotator.model import Query
from annotator.review.coverage import DEFAULT_TARGETS, Gap, coverage

QUERIES = [
    Query("q1", "?", facets={"domain": "policy", "query_type": "comparison"}),
    Query("q2", "?", facets={"domain": "policy", "query_type": "exact_identifier"}, unanswerable=True),
    Query("q3", "?", facets={"domain": "billing"}),
    Query("q4", "?", facets={"tenant": "north"}),
]


def test_questions_are_counted_per_facet_value_most_first() -> None:
    found = coverage(QUERIES, ("domain", "query_type"), {})
    assert found.total == 4
    assert list(found.counts["domain"].items()) == [("policy", 2), ("billing", 1)]
    assert found.counts["query_type"] == {"comparison": 1, "exact_identifier": 1, "unanswerable": 1}
    assert found.unset == {"domain": 1, "query_type": 2}
    assert found.gaps == ()


def test_what_is_missing_is_said_in_words() -> None:
    targets = {"query_type": {"comparison": 3, "how_it_works": 1, "unanswerable": 1}, "domain": {"policy": 2, "hr": 2}}
    gaps = coverage(QUERIES, ("domain",), targets).gaps
    assert gaps == (
        Gap("query_type", "comparison", 1, 3),
        Gap("query_type", "how_it_works", 0, 1),
        Gap("domain", "hr", 0, 2),
    )
    assert [gap.message for gap in gaps] == [
        "1 of 3 comparison questions",
        "no how it works question yet",
        "no domain “hr” question yet (2 wanted)",
    ]


def test_an_empty_set_lacks_everything_wanted() -> None:
    found = coverage([], ("query_type",))
    assert [gap.value for gap in found.gaps] == list(DEFAULT_TARGETS["query_type"])
    assert set(found.counts["query_type"].values()) == {0}
