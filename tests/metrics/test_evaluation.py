"""Which queries count, what is reported beside a mean, and what can never change a value."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import Evaluation, evaluate
from annotator.metrics.runs import Run

NATIVE = """\
{"query_id":"q1","question":"one","gold":[{"chunk_id":"a","relevance":3}],"slice":{"domain":"policy"}}
{"query_id":"q2","question":"two","gold":[{"chunk_id":"b","relevance":2}],"slice":{"domain":"support"}}
{"query_id":"q3","question":"three","gold":[{"chunk_id":"c","relevance":0}],"slice":{"domain":"policy"}}
{"query_id":"q4","question":"four","gold":[{"chunk_id":"d","relevance":1}]}
{"query_id":"u1","question":"none","gold":[{"chunk_id":"a","relevance":0}],"unanswerable":true}
{"query_id":"u2","question":"none either","gold":[],"unanswerable":true}
"""


@pytest.fixture
def gold(tmp_path: Path) -> GoldSet:
    (tmp_path / "gold.jsonl").write_text(NATIVE, "utf-8")
    return GoldSet.load(tmp_path / "gold.jsonl")


def test_the_mean_is_over_all_judged_queries(gold: GoldSet) -> None:
    run = Run.of({"q1": {"a": 2.0}, "q2": {"x": 3.0, "b": 1.0}, "q3": {"c": 1.0}, "other": {"a": 1.0}})
    found = evaluate(gold, run, k=[5])
    # 1, 1/2, no relevant chunk at all, missing
    assert found.measures["RR@5"] == (1 + 1 / 2 + 0 + 0) / 4
    assert found.counts == {
        "judged": 4, "answered": 3, "missing": 1, "empty": 0, "no_relevant": 1, "not_in_gold": 1,
    }  # fmt: skip


def test_unanswerable_queries_are_in_no_mean_and_reported_apart(gold: GoldSet) -> None:
    run = Run.of({"q1": {"a": 2.0}, "u1": {"x": 0.25, "a": 0.75}})
    found = evaluate(gold, run)
    assert set(found.per_query) == {"q1", "q2", "q3", "q4"}
    assert found.counts["not_in_gold"] == 0
    assert found.unanswerable.n == 2
    assert found.unanswerable.share_returned_nothing == 1 / 2
    assert found.unanswerable.top_scores == {"u1": 0.75}


def test_an_empty_list_is_an_answer_with_nothing_in_it(gold: GoldSet) -> None:
    found = evaluate(gold, Run.of({"q1": [], "q2": ["b"]}))
    assert (found.counts["answered"], found.counts["missing"], found.counts["empty"]) == (2, 2, 1)
    assert found.per_query["q1"]["Success@5"] == 0.0


def test_slices_show_every_query_once_also_those_without_a_value(gold: GoldSet) -> None:
    found = evaluate(gold, Run.of({"q1": ["a"], "q2": ["b"]}), k=[5], by=["domain"])
    assert [(s.facet, s.value, s.n, s.measures["RR@5"]) for s in found.slices] == [
        ("domain", "", 1, 0.0),
        ("domain", "policy", 2, 0.5),
        ("domain", "support", 1, 1.0),
    ]


def test_an_unknown_facet_is_refused_with_those_there_are(gold: GoldSet) -> None:
    with pytest.raises(InputError, match="There are domain"):
        evaluate(gold, Run.of({"q1": ["a"]}), by=["risk"])


def test_a_threshold_under_1_is_refused(gold: GoldSet) -> None:
    with pytest.raises(InputError):
        evaluate(gold, Run.of({"q1": ["a"]}), threshold=0)


def test_judged_share_comes_with_both_counts() -> None:
    gold = GoldSet.of({"p": {"a": 1}, "q": {"b": 0}})
    found = evaluate(gold, Run.of({"p": ["a", "x"], "q": ["b"]}), k=[10])
    assert found.judged["Judged@10"] == (2, 3)
    assert found.measures["Judged@10"] == (1 / 2 + 1) / 2


def test_the_ranked_list_shows_holes_beside_grades() -> None:
    found = evaluate(GoldSet.of({"q": {"a": 2}}), Run.of({"q": {"a": 1.0, "x": 2.0}}))
    assert [(c.rank, c.chunk_id, c.score, c.grade) for c in found.ranked("q")] == [
        (1, "x", 2.0, None),
        (2, "a", 1.0, 2),
    ]
    assert found.ranked("nowhere") == ()


ids = st.sampled_from([f"c{i}" for i in range(8)] + ["é", "Z", "🍎", "�x"])
judgments = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(ids, st.integers(-1, 3), min_size=1), min_size=1
)
rankings = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4"]), st.dictionaries(ids, st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=8)
)


@given(judgments, rankings, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_no_order_of_lines_changes_a_value(
    grades: dict[str, dict[str, int]], scores: dict[str, dict[str, float]], shuffle: random.Random
) -> None:
    def shuffled(pairs: dict[str, dict[str, float]] | dict[str, dict[str, int]]) -> dict[str, dict[str, float]]:
        outer = list(pairs.items())
        shuffle.shuffle(outer)
        return {key: dict(shuffle.sample(list(inner.items()), len(inner))) for key, inner in outer}

    one = evaluate(GoldSet.of(grades), Run.of(scores))
    other = evaluate(GoldSet.of(shuffled(grades)), Run.of(shuffled(scores)))
    assert (one.measures, one.per_query, one.bounds) == (other.measures, other.per_query, other.bounds)


@given(judgments, rankings, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_no_order_of_the_lines_of_files_changes_a_value(
    grades: dict[str, dict[str, int]], scores: dict[str, dict[str, float]], shuffle: random.Random
) -> None:
    scores = {query: ranked for query, ranked in scores.items() if ranked}
    qrels = [f"{query} 0 {chunk} {grade}" for query, labels in grades.items() for chunk, grade in labels.items()]
    lines = [f"{query} Q0 {chunk} 1 {score} t" for query, ranked in scores.items() for chunk, score in ranked.items()]
    if not lines:
        return
    found = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            gold, run = Path(folder) / "gold.qrels", Path(folder) / "run.trec"
            gold.write_text("\n".join(qrels), "utf-8")
            run.write_text("\n".join(lines), "utf-8")
            found.append(evaluate(GoldSet.load(gold), Run.load(run)))
        shuffle.shuffle(qrels)
        shuffle.shuffle(lines)
    assert (found[0].measures, found[0].per_query, found[0].bounds) == (
        found[1].measures,
        found[1].per_query,
        found[1].bounds,
    )


@given(judgments, rankings)
@settings(deadline=None, max_examples=200)
def test_every_query_agrees_bit_by_bit_with_the_reference_library(
    grades: dict[str, dict[str, int]], scores: dict[str, dict[str, float]]
) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    # the library crashes on a query whose grades are all negative
    grades = {query: labels for query, labels in grades.items() if max(labels.values()) >= 0}
    scores = {query: ranked for query, ranked in scores.items() if ranked}
    if not grades:
        return
    names = {"ndcg_cut": "nDCG", "map_cut": "AP", "P": "P", "recall": "R", "success": "Success"}
    asked = {f"{name}.1,3,5" for name in names} | {"map", "recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(grades, asked).evaluate(scores)
    ours = evaluate(GoldSet.of(grades), Run.of(scores), k=(1, 3, 5))
    for query, values in theirs.items():
        for name, value in values.items():
            base, _, cut = name.rpartition("_")
            here = {"map": "AP", "recip_rank": "RR"}.get(name) or f"{names[base]}@{cut}"
            assert ours.per_query[query][here] == value, (query, here)


def labelled(
    evaluation: Evaluation, grades: dict[str, dict[str, int]], draw: random.Random
) -> dict[str, dict[str, int]]:
    """Grade every hole of the run at random."""
    return {
        query: labels | {c.chunk_id: draw.randint(0, 3) for c in evaluation.ranked(query) if c.grade is None}
        for query, labels in grades.items()
    }


@given(judgments, rankings, st.integers(1, 3), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_bounds_contain_the_value_after_any_grading_of_the_holes(
    grades: dict[str, dict[str, int]], scores: dict[str, dict[str, float]], threshold: int, draw: random.Random
) -> None:
    # cut each list at k first: bounds speak of the holes within the cut-off
    run = Run.of(
        {
            query: {c: ranked[c] for c in sorted(ranked, key=lambda c: (ranked[c], c))[-4:]}
            for query, ranked in scores.items()
        }
    )
    before = evaluate(GoldSet.of(grades), run, k=[4], threshold=threshold)
    after = evaluate(GoldSet.of(labelled(before, grades, draw)), run, k=[4], threshold=threshold)
    for name, (low, high) in before.bounds.items():
        assert low - 1e-12 <= before.measures[name] <= high + 1e-12
        assert low - 1e-12 <= after.measures[name] <= high + 1e-12, name
