"""Ranking again what another server found: BM25 by hand, and identifiers that stand whole."""

from __future__ import annotations

import pytest

from annotator.model import Chunk
from annotator.search.rescoring import rescored


def test_scores_are_those_of_bm25() -> None:
    one = Chunk("one", "refunds late refund")  # 3 words, two of them the stem of refund
    two = Chunk("two", "travel")  # 1 word
    found = dict(rescored([two, one], [(("refund", 1.0),)], {"refund": 2.0}))
    # 2 * (2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))
    assert found == {"one": pytest.approx(2 * 4.4 / (2 + 1.2 * 1.375), abs=1e-4), "two": 0.0}


def test_the_title_counts_twice_and_equal_scores_keep_their_order() -> None:
    chunks = [Chunk("text", "voucher a b c", title="x"), Chunk("title", "a b c", title="voucher")]
    words = [(("voucher", 1.0),)]
    assert [one for one, _ in rescored(chunks, words, {"voucher": 1.0})] == ["title", "text"]
    assert [one for one, _ in rescored(chunks, [(("none", 1.0),)], {"none": 1.0})] == ["text", "title"]


def test_an_identifier_that_stands_whole_comes_before_its_parts() -> None:
    chunks = [Chunk("parts", "E 4107 e 4107 e 4107"), Chunk("whole", "the code E-4107 and many other words beside it")]
    assert rescored(chunks, [(("E-4107", 1.0),)], {"E-4107": 1.0})[0][0] == "whole"


def test_a_likely_spelling_counts_by_its_weight() -> None:
    chunks = [Chunk("meant", "voucher"), Chunk("typed", "voucehr")]
    found = dict(rescored(chunks, [(("voucehr", 1.0), ("voucher", 0.5))], {"voucehr": 1.0}))
    assert found["meant"] == pytest.approx(found["typed"] / 2, abs=1e-4)


def test_nothing_to_rank_is_no_fault() -> None:
    assert rescored([], [], {}) == []
