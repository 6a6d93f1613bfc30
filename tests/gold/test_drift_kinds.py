"""What became of a judged text, told from what stands in the table now; and where two texts differ."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.gold.drift import RELATED, JudgedText, drift, similarity
from annotator.gold.words import shared_stretches, text_difference, words_of
from annotator.model import Chunk, text_hash
from tests.bench.carry import texts

TEXT = "Enterprise refunds after 30 days need the approval of the VP Finance and a written reason."


def kinds(judged: JudgedText, *live: Chunk) -> list[tuple[str, tuple[str, ...]]]:
    by_text: dict[str, list[Chunk]] = {}
    for chunk in live:
        by_text.setdefault(chunk.sha256, []).append(chunk)
    found = drift([judged], {chunk.chunk_id: chunk for chunk in live}, by_text)
    return [(one.kind, one.to) for one in found]


def judged(text: str | None = TEXT, doc_id: str = "d") -> JudgedText:
    return JudgedText("a", text_hash(TEXT), text, doc_id)


def test_the_five_outcomes() -> None:
    assert kinds(judged(), Chunk("a", TEXT)) == []
    assert kinds(judged()) == [("missing", ())]
    assert kinds(judged(), Chunk("a", TEXT.replace("30", "45"))) == [("changed", ())]
    assert kinds(judged(), Chunk("a", "The canteen is open from eleven to two.")) == [("reused", ())]
    assert kinds(judged(), Chunk("b", TEXT)) == [("moved", ("b",))]


@pytest.mark.parametrize("text", [TEXT.replace(" ", "\n  "), f"\t{TEXT}\n", TEXT.replace(" ", "\u00a0"), TEXT.upper()])
def test_white_space_and_case_are_changed_not_reused(text: str) -> None:
    assert kinds(judged(), Chunk("a", text)) == [("changed", ())]


def test_of_several_copies_the_one_in_the_same_document_comes_first() -> None:
    assert kinds(judged(), Chunk("b", TEXT, "other"), Chunk("c", TEXT, "d")) == [("moved", ("c", "b"))]


def test_without_the_judged_text_an_edit_is_assumed() -> None:
    assert kinds(judged(None), Chunk("a", "Something else.")) == [("changed", ())]


def test_without_a_hash_only_a_missing_id_is_told() -> None:
    assert kinds(JudgedText("a"), Chunk("a", "whatever")) == []
    assert kinds(JudgedText("a")) == [("missing", ())]


def test_hard_cases_of_likeness() -> None:
    assert similarity("Straße café", "Strasse cafe") < 100
    assert similarity("Naïve café owners résumé über", "Naive cafe owners resume uber") >= RELATED
    assert similarity("第三条规定退款期限为三十天", "第三条规定退款期限为六十天") >= RELATED
    assert similarity("第三条规定退款期限为三十天", "员工食堂十一点开门") < RELATED
    assert similarity("", "text") < RELATED
    assert similarity("…", "…") == 100


def test_unrelated_and_edited_texts_of_real_corpora_lie_on_their_sides(shared: Path) -> None:
    documents = texts(shared / "corpora" / "chroma_chunking_eval")
    chance = random.Random(7)
    windows = [text[at : at + 800] for text in documents.values() for at in range(0, len(text) - 800, 1600)]
    vocabulary = " ".join(chance.sample(windows, 30)).split()
    wrong = 0
    for _ in range(300):
        one, other = chance.sample(windows, 2)
        wrong += similarity(one, other) >= RELATED
        words = one.split()
        for _ in range(len(words) // 3):
            words[chance.randrange(len(words))] = chance.choice(vocabulary)
        wrong += similarity(one, " ".join(words)) < RELATED
        wrong += similarity(one, one[:270]) < RELATED
    assert wrong <= 4  # of 900; the financial reports hold copies of themselves


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_pieces_of_a_difference_join_up_to_both_texts(old: str, new: str) -> None:
    pieces = text_difference(old, new)
    assert "".join(words for kind, words in pieces if kind != "new") == old
    assert "".join(words for kind, words in pieces if kind != "gone") == new


def test_a_difference_is_told_in_words() -> None:
    assert text_difference("paid within 14 days by us", "paid within 30 working days by us") == (
        ("same", "paid within "),
        ("gone", "14"),
        ("new", "30 working"),
        ("same", " days by us"),
    )


def test_shared_stretches_are_runs_of_words() -> None:
    old, new = "intro words here. The refund is paid within days.", "The refund is paid within days. More"
    before, after = shared_stretches(old, new)
    assert [old[slice(*span)] for span in before] == ["The refund is paid within days"]
    assert [new[slice(*span)] for span in after] == ["The refund is paid within days"]


def test_words_carry_their_places() -> None:
    assert [(word.plain, word.start, word.end) for word in words_of("Ünder 30, 退款!")] == [
        ("ünder", 0, 5),
        ("30", 6, 8),
        ("退", 10, 11),
        ("款", 11, 12),
    ]
