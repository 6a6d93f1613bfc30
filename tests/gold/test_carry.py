"""Where judged texts lie after another cut: evidence first, pieces of it, shared text; never two copies at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from annotator.gold.carry import CarriedLabel, Proposal, carry
from annotator.model import Chunk, Evidence, text_hash
from tests.bench.carry import measure

ONE = "Refunds are paid within 14 days. The support team approves them before anything is sent out."
TWO = "Enterprise refunds after 30 days need the approval of the VP Finance, given in writing."
THREE = "A written reason is kept for every refund above 500 euros, together with the name of the approver."
QUOTE = "Enterprise refunds after 30 days need the approval of the VP Finance"


def label(text: str, grade: int = 3, *quotes: str, doc_id: str = "d", position: int | None = None) -> CarriedLabel:
    spans = tuple(Evidence(quote, text.index(quote), text.index(quote) + len(quote)) for quote in quotes)
    return CarriedLabel("q", "old", text_hash(text), text, grade, spans, doc_id=doc_id, position=position)


def found(one: CarriedLabel, chunks: Sequence[Chunk]) -> list[tuple[str, int, str]]:
    return [(proposal.chunk.chunk_id, proposal.grade, proposal.how) for proposal in proposals(one, chunks)]


def proposals(one: CarriedLabel, chunks: Sequence[Chunk]) -> list[Proposal]:
    return next(carry([one], chunks))


def cut(*texts: str, doc_id: str = "d", prefix: str = "n") -> list[Chunk]:
    return [Chunk(f"{prefix}{place}", text, doc_id, position=place) for place, text in enumerate(texts)]


def test_the_chunk_with_the_whole_quote_gets_the_whole_grade() -> None:
    assert found(label(TWO, 3, QUOTE), cut(ONE, f"{TWO} {THREE}")) == [("n1", 3, "quote")]


def test_the_same_text_under_another_id_keeps_everything() -> None:
    (one,) = proposals(label(TWO, 2, QUOTE), cut(ONE, TWO, TWO + " Indeed."))
    assert (one.chunk.chunk_id, one.grade, one.how, one.score) == ("n1", 2, "same text", 1.0)
    assert one.evidence == label(TWO, 2, QUOTE).evidence


def test_split_evidence_gives_its_pieces_with_lower_grades() -> None:
    at = TWO.index("approval of")
    chunks = cut(f"{ONE} {TWO[:at]}", f"{TWO[at:]} {THREE}")
    both = proposals(label(TWO, 3, QUOTE), chunks)
    assert [(one.chunk.chunk_id, one.grade, one.how) for one in both] == [("n0", 2, "part"), ("n1", 1, "part")]
    assert [one.evidence[0].quote for one in both] == [
        "Enterprise refunds after 30 days need the",
        "approval of the VP Finance",
    ]
    assert all(
        one.chunk.text[span.start : span.end] == span.quote for one in both for span in one.evidence
    )  # where the new chunk has it


def test_of_two_quotes_in_two_chunks_each_is_a_piece() -> None:
    text = f"{ONE} {TWO}"
    one = label(text, 3, "Refunds are paid within 14 days.", QUOTE)
    assert found(one, cut(ONE, TWO)) == [("n1", 2, "part"), ("n0", 1, "part")]


def test_white_space_of_the_new_cut_does_not_matter() -> None:
    assert found(label(TWO, 3, QUOTE), cut(TWO.replace(" ", "\n "), THREE)) == [("n0", 3, "quote")]


def test_a_correction_within_the_quote_is_told() -> None:
    corrected = TWO.replace("VP Finance", "VP of Finance")
    assert found(label(TWO, 3, QUOTE), cut(ONE, f"{corrected} {THREE}")) == [("n1", 3, "aligned")]


def test_without_evidence_the_pieces_of_the_text_are_proposed() -> None:
    text = f"{ONE} {TWO}"
    assert found(label(text), cut(ONE, TWO)) == [("n0", 2, "overlap"), ("n1", 1, "overlap")]
    assert found(label(TWO), cut(f"{ONE} {TWO} {THREE}")) == [("n0", 3, "overlap")]


def test_irrelevance_is_carried_only_to_what_holds_nothing_else() -> None:
    text = f"{ONE} {TWO}"
    assert found(label(text, 0), cut(ONE, f"{TWO} {THREE}")) == [("n0", 0, "overlap")]


def test_nothing_is_proposed_where_nothing_fits() -> None:
    assert found(label(TWO, 3, QUOTE), cut(ONE, THREE)) == []
    assert found(label("", 3), cut(ONE)) == []
    assert next(carry([label(TWO)], [])) == []


def test_another_document_that_says_the_same_is_not_the_source() -> None:
    chunks = [*cut(f"{TWO} {ONE}", doc_id="old version", prefix="o"), *cut(f"{TWO} {THREE}")]
    assert found(label(TWO, 3, QUOTE), chunks) == [("n0", 3, "quote")]
    assert len(found(label(TWO, 3, QUOTE, doc_id="renamed"), chunks)) == 1


@pytest.mark.parametrize(("position", "expected"), [(0, "n0"), (7, "n6")])
def test_of_copies_in_one_document_the_nearer_one_is_taken(position: int, expected: str) -> None:
    filler = [f"{THREE} Paragraph {place} of many, about something else altogether." for place in range(8)]
    filler[0] = filler[6] = f"{TWO} And that is that."
    assert found(label(TWO, 3, QUOTE, position=position), cut(*filler)) == [(expected, 3, "quote")]


def test_text_without_spaces_is_carried() -> None:
    text = "退款申请须在三十天内提交。超过三十天的企业退款需要财务副总裁批准。"
    one = label(text, 3, "超过三十天的企业退款需要财务副总裁批准")
    assert found(
        one, cut("退款申请须在三十天内提交。", "超过三十天的企业退款需要财务副总裁批准。员工食堂十一点开门。")
    ) == [("n1", 3, "quote")]


def test_a_text_shorter_than_a_run_is_found() -> None:
    assert found(label("Yes, indeed."), cut("Is it so? Yes, indeed. Quite.", ONE)) == [("n0", 3, "overlap")]


def test_labels_come_back_in_their_order() -> None:
    labels = [label(text) for text in (THREE, ONE, TWO, ONE)]
    got = [[one.chunk.chunk_id for one in some] for some in carry(labels, cut(ONE + " A.", TWO + " B.", THREE + " C."))]
    assert got == [["n2"], ["n0"], ["n1"], ["n0"]]


@pytest.mark.parametrize(("size", "overlap"), [(400, 50), (1200, 0)])
def test_labels_with_evidence_are_found_again_after_another_cut(shared: Path, size: int, overlap: int) -> None:
    figures = measure(shared / "corpora" / "chroma_chunking_eval", size, overlap, evidence=True, every=4)
    assert figures.precision >= 0.97
    assert figures.recall >= 0.98


@pytest.mark.parametrize(("size", "overlap"), [(400, 50), (1200, 0)])
def test_labels_without_evidence_are_found_again_after_another_cut(shared: Path, size: int, overlap: int) -> None:
    figures = measure(shared / "corpora" / "chroma_chunking_eval", size, overlap, evidence=False, every=4)
    assert figures.precision >= 0.90
    assert figures.recall >= 0.90
