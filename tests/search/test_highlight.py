from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.search.highlight import SNIPPET_LENGTH, matcher
from annotator.search.query import parse


def spans_of(text: str, query: str, mode: str = "words") -> tuple[tuple[int, int], ...]:
    return matcher(parse(query), mode).spans(text)


def marked(text: str, query: str, mode: str = "words") -> list[str]:
    return [text[start:end] for start, end in spans_of(text, query, mode)]


def test_spans_count_code_points() -> None:
    assert spans_of("🙂 Refunds", "refund") == ((2, 9),)


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Refunds were APPROVED.", "who approves a refund", ["Refunds", "APPROVED"]),
        ("L’élève naïf", "eleve", ["élève"]),
        ("un élève", "ÉLÈVE", ["élève"]),
        ("e\u0301te\u0301 1", "été", ["e\u0301te\u0301"]),
        ("see REF-2024/07, REF 2024", "REF-2024/07", ["REF-2024/07", "REF", "2024"]),
        ("clauses 4.2.1 and 4 or 2", "4.2", ["4.2"]),
        ("E-4107 E4107 e 4107", "E4107", ["E-4107", "E4107"]),
        ("the VP of Finance, VP Finance", '"vp finance"', ["VP Finance"]),
        ("疫苗接种与疫苗", "疫苗", ["疫苗", "疫苗"]),
        ("北京疫苗接种", "接种疫苗", ["疫苗接种"]),
        ("水と火", "水", ["水"]),
        ("ประเทศไทย", "ไทย", ["ไทย"]),
        ("疫苗接种 疫苗", '"疫苗接种"', ["疫苗接种"]),
        ("контракты", "контрактов", ["контракты"]),
        ("refund refund", "-refund other", []),
        ("nothing here", "", []),
    ],
)
def test_what_was_typed_is_marked_in_all_its_spellings(text: str, query: str, expected: list[str]) -> None:
    assert marked(text, query) == expected


def test_a_word_is_not_marked_inside_another() -> None:
    assert spans_of("cart art, art-cart. start\nart", "art") == ((5, 8), (10, 13), (26, 29))


def test_a_million_characters_of_matches_take_no_endless_time() -> None:
    assert len(spans_of("art cart " * 110_000, "art")) == 2_000


def test_slips_are_forgiven_in_fuzzy_mode_only() -> None:
    text = "Refunds need an approval, invoice 4107"
    assert marked(text, "aproval refnds 4108", "fuzzy") == ["Refunds", "approval"]
    assert marked(text, "aproval refnds 4108") == []


def test_in_id_mode_the_typed_text_itself_is_marked() -> None:
    assert marked("see policy-v4#a and policy", "Policy-v4", "id") == ["policy-v4"]


@given(st.text(), st.text(), st.sampled_from(["words", "fuzzy", "id"]))
def test_spans_are_sorted_apart_and_within_the_text(text: str, query: str, mode: str) -> None:
    spans = spans_of(text, query, mode)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))


@given(st.text(min_size=1))
def test_a_text_is_marked_wherever_it_has_words_when_it_is_the_query(text: str) -> None:
    typed = parse(text)
    if typed.words:
        assert spans_of(" ".join(typed.words), text)


def test_a_snippet_shows_the_place_with_most_of_what_was_typed() -> None:
    text = f"refund {'filler ' * 200}approval of the refund by finance {'filler ' * 200}"
    snippet, spans = matcher(parse("refund approval finance")).snippet(text)
    assert len(snippet) <= SNIPPET_LENGTH + 2
    assert snippet.startswith("…filler")
    assert snippet.endswith("filler…")
    assert [snippet[start:end] for start, end in spans] == ["approval", "refund", "finance"]


def test_a_snippet_without_matches_is_the_beginning_cut_at_a_word() -> None:
    snippet, spans = matcher(parse("absent")).snippet("alpha beta\n" * 100)
    assert snippet.startswith("alpha beta alpha")
    assert snippet.endswith(("alpha…", "beta…"))
    assert spans == ()


def test_a_short_text_is_its_own_snippet() -> None:
    assert matcher(parse("b")).snippet("a\n b") == ("a b", ((2, 3),))


@given(st.text(max_size=2000), st.text(max_size=30), st.integers(10, 300))
def test_snippets_never_fail_and_stay_short(text: str, query: str, length: int) -> None:
    snippet, spans = matcher(parse(query)).snippet(text, length)
    assert len(snippet) <= length + 2
    assert all(0 <= start < end <= len(snippet) for start, end in spans)
