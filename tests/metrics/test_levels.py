"""Documents and spans by hand: which unit a chunk stands for, and what grade it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotator.errors import InputError
from annotator.gold.chunkfile import read_chunks
from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import evaluate
from annotator.metrics.levels import contains
from annotator.metrics.runs import Run
from annotator.model import Chunk


def gold_of(folder: Path, labels: list[dict[str, Any]], texts: dict[str, str] | None = None) -> GoldSet:
    """A release with one query q."""
    place = folder / "g-v1"
    place.mkdir()
    (place / "gold.jsonl").write_text(json.dumps({"query_id": "q", "gold": labels}), "utf-8")
    rows = (json.dumps({"chunk_id": chunk_id, "text": text}) for chunk_id, text in (texts or {}).items())
    (place / "chunks.jsonl").write_text("\n".join(rows), "utf-8")
    return GoldSet.load(place)


def label(chunk_id: str, grade: int, doc_id: str = "", *quotes: str) -> dict[str, Any]:
    evidence = [{"quote": quote, "start": 0, "end": len(quote)} for quote in quotes]
    return {"chunk_id": chunk_id, "relevance": grade, "doc_id": doc_id, "evidence": evidence}


def chunks(**texts: str) -> dict[str, Chunk]:
    return {chunk_id: Chunk(chunk_id, text) for chunk_id, text in texts.items()}


def test_a_document_has_the_best_grade_of_its_chunks_and_its_first_rank(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [label("a1", 1, "A"), label("a2", 3, "A"), label("b1", 0, "B"), label("c1", 2, "C")])
    found = evaluate(gold, Run.of({"q": {"b1": 4.0, "a1": 3.0, "a2": 2.0, "c1": 1.0}}), k=[2], level="document")
    assert [(c.chunk_id, c.grade, c.score) for c in found.ranked("q")] == [("B", 0, 4.0), ("A", 3, 3.0), ("C", 2, 1.0)]
    assert (found.level, found.measures["R@2"], found.measures["RR@2"]) == ("document", 1 / 2, 1 / 2)


def test_documents_of_unjudged_chunks_come_from_the_chunk_table(tmp_path: Path) -> None:
    gold, run = gold_of(tmp_path, [label("a1", 1, "A")]), Run.of({"q": ["a7", "x1", "x2"]})
    alone = evaluate(gold, run, k=[3], level="document")
    assert alone.measures["R@3"] == 0.0
    assert "3 retrieved chunks have no known document" in alone.warnings[0]
    table = {"a7": Chunk("a7", "", "A"), "x1": Chunk("x1", "", "X"), "x2": Chunk("x2", "", "X")}
    known = evaluate(gold, run, k=[3], level="document", chunks=table)
    assert (known.measures["R@3"], [c.chunk_id for c in known.ranked("q")], known.warnings) == (1.0, ["A", "X"], ())


def test_without_any_document_there_is_no_document_level() -> None:
    with pytest.raises(InputError, match="which document"):
        evaluate(GoldSet.of({"q": {"a": 1}}), Run.of({"q": ["a"]}), level="document")


def test_a_chunk_of_another_chunking_counts_when_it_holds_the_evidence(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [label("old", 3, "", "approval of the VP Finance")])
    table = chunks(new="Refunds need the approval of\nthe VP  Finance, always.", other="Nothing of the kind.")
    found = evaluate(gold, Run.of({"q": ["other", "new"]}), k=[2], level="span", chunks=table)
    assert [c.grade for c in found.ranked("q")] == [None, 3]
    assert (found.measures["R@2"], found.measures["RR@2"]) == (1.0, 1 / 2)


def test_a_label_without_a_quote_stands_for_its_whole_text(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [label("old", 2)], {"old": "the whole text"})
    table = chunks(new="before the whole text after", part="the whole")
    found = evaluate(gold, Run.of({"q": ["part", "new"]}), k=[2], level="span", chunks=table)
    assert [c.grade for c in found.ranked("q")] == [None, 2]


def test_bare_judgments_take_their_texts_from_the_chunk_table() -> None:
    table = chunks(old="the whole text", new="before the whole text after")
    found = evaluate(GoldSet.of({"q": {"old": 2}}), Run.of({"q": ["new"]}), k=[1], level="span", chunks=table)
    assert found.measures["R@1"] == 1.0


def test_the_same_evidence_again_is_judged_and_not_relevant(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [label("old", 3, "", "the evidence")])
    table = chunks(one="here is the evidence", two="the evidence, once more")
    found = evaluate(gold, Run.of({"q": ["one", "two"]}), k=[2], level="span", chunks=table)
    assert [c.grade for c in found.ranked("q")] == [3, 0]
    assert (found.measures["P@2"], found.measures["R@2"]) == (1 / 2, 1.0)


def test_a_chunk_that_brings_two_spans_finds_both(tmp_path: Path) -> None:
    gold = gold_of(
        tmp_path, [label("a", 3, "", "first piece"), label("b", 2, "", "second piece"), label("c", 1, "", "third")]
    )
    table = chunks(big="the first piece and the second piece")
    found = evaluate(gold, Run.of({"q": ["big"]}), k=[1], level="span", chunks=table)
    # first and second are one unit now, the third is not found
    assert (found.measures["R@1"], found.measures["P@1"]) == (1 / 2, 1.0)


def test_the_text_of_an_irrelevant_label_is_judged(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [label("a", 3, "", "evidence"), label("b", 0)], {"b": "off topic"})
    found = evaluate(gold, Run.of({"q": ["x"]}), k=[1], level="span", chunks=chunks(x="off  topic"))
    assert found.measures["Judged@1"] == 1.0


def test_span_says_which_texts_are_missing(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [label("a", 3, "", "evidence")])
    with pytest.raises(InputError, match="1 retrieved chunks are not given: x"):
        evaluate(gold, Run.of({"q": ["x"]}), level="span")
    bare = GoldSet.of({"q": {"a": 1}})
    with pytest.raises(InputError, match="neither evidence nor a text"):
        evaluate(bare, Run.of({"q": ["x"]}), level="span", chunks=chunks(x="text"))


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("the quick brown fox", "quick brown", True),
        ("the quick brwn fox jumps over the lazy dog", "quick brown fox jumps over", True),
        ("a slow green turtle sleeps under a tree", "quick brown fox jumps over", False),
        ("quick", "quick brown fox", False),
        ("quick brown fox jumps ove", "quick brown fox jumps over", True),
        ("", "quick", False),
        # cut off after 22 of 26 letters: a shorter place at the edge of the text is not nine tenths of the quote
        ("over there was once a quick brown fox jumps ", "quick brown fox jumps over", False),
        ("over there was once a quick brown fox jumps ov", "quick brown fox jumps over", True),
    ],
)
def test_nine_tenths_of_a_quote_are_enough(text: str, quote: str, found: bool) -> None:
    assert contains(text, quote) is found


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InputError, match="There are chunk, document, span"):
        evaluate(GoldSet.of({"q": {"a": 1}}), Run.of({"q": ["a"]}), level="page")


@pytest.mark.parametrize(
    "text",
    [
        '{"chunk_id": "a", "text": "t", "doc_id": "d"}\n',
        "id,content,doc_id\na,t,d\n",
        "chunk_id\ttext\tdoc_id\na\tt\td\n",
    ],
)
def test_chunk_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "chunks").write_text(text, "utf-8")
    assert read_chunks(str(tmp_path / "chunks")) == {"a": Chunk("a", "t", "d")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"chunk_id": "a", "text": "t"}\n{"chunk_id": "a", "text": "u"}\n', "line 2"),
        ('{"chunk_id": 7, "text": "t"}\n', "line 1"),
        ('{"chunk_id": "a", "text": 3}\n', "line 1"),
        ('{"chunk_id": "a", "text": "t"}\n[1]\nnonsense\n', "line 3"),
        ("text\nt\n", "no column chunk_id"),
        ("chunk_id,text\n", "It has none"),
    ],
)
def test_faulty_chunk_files_are_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "chunks").write_text(text, "utf-8")
    with pytest.raises(InputError) as refused:
        read_chunks(str(tmp_path / "chunks"))
    assert told in str(refused.value)
