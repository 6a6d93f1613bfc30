from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.search import analysis, identifiers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Refunds, REQUESTED later", ["refunds", "requested", "later"]),
        ("Élève naïve Straße", ["eleve", "naive", "strasse"]),
        ("İstanbul ISTANBUL ıstanbul", ["istanbul"] * 3),
        ("Đà Nẵng Łódź Ørsted", ["da", "nang", "lodz", "orsted"]),
        ("ёлка Ελληνικός", ["елка", "ελληνικοσ"]),
        ("أحمد مُحَمَّد", ["احمد", "محمد"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ＡＢＣ ﬁne", ["abc", "fine"]),
        ("co\u00adoperate zero\u200dwidth", ["cooperate", "zerowidth"]),
        ("Product™ 1½ x²", ["product", "11", "2", "x2"]),
        ("don’t snake_case 4.2", ["don", "t", "snake", "case", "4", "2"]),
        ("疫苗 2020年", ["2020"]),
        ("", []),
    ],
)
def test_words_are_folded(text: str, expected: list[str]) -> None:
    assert analysis.words(text) == expected


def test_composed_and_decomposed_spellings_are_the_same_word() -> None:
    assert analysis.words(unicodedata.normalize("NFD", "Besançon été")) == analysis.words("Besançon été")


def test_runs_without_spaces_become_bigrams_and_their_last_character() -> None:
    assert analysis.bigrams("疫苗接2020年 ไทย") == ["疫苗", "苗接", "接", "年", "ไท", "ทย", "ย"]
    assert analysis.bigrams("plain words") == []


def test_half_width_kana_are_the_full_width_ones() -> None:
    assert analysis.bigrams("ﾃｽﾄ") == analysis.bigrams("テスト")


def test_identifiers_are_cut_out_of_punctuation() -> None:
    text = "See REF–2024/07, (policy-v4#refunds). §4.2.1; code=E-4107, E-4108 and a well-known snake_case."
    assert identifiers.identifiers(text) == [
        "ref-2024/07",
        "policy-v4#refunds",
        "4.2.1",
        "code=e-4107",
        "e-4108",
        "well-known",
        "snake_case",
    ]
    assert identifiers.identifiers("plain words, here. And (there)") == []


def test_compounds_are_not_codes() -> None:
    assert [
        word for word in ("high-speed", "and/or", "E-4107", "ERR-TIMEOUT", "a_b", "4.2") if identifiers.codes(word)
    ] == [
        "E-4107",
        "ERR-TIMEOUT",
        "a_b",
        "4.2",
    ]


def test_squeezed_identifiers_have_letters_and_digits() -> None:
    assert [identifiers.squeeze(one) for one in ("e-4107", "4.2.1", "well-known")] == ["e4107", "", ""]


def test_short_parts_of_a_code_are_not_looked_for_by_themselves() -> None:
    assert identifiers.telling_parts("REF-2024/07") == ["ref", "2024"]
    assert identifiers.telling_parts("high-speed") == ["high", "speed"]
    assert identifiers.telling_parts("company's") == ["company"]
    assert identifiers.telling_parts("IT") == ["it"]


def test_stems_join_english_forms() -> None:
    assert {analysis.stem(word) for word in ("approve", "approves", "approval", "approved")} == {"approv"}


def test_hexadecimal_ids_have_no_words() -> None:
    assert identifiers.id_words("123e4567-e89b-12d3-a456-426614174000", "policy-v4#a") == "policy v4 a"


@given(st.text())
def test_located_words_are_the_words_and_lie_in_the_text(text: str) -> None:
    located = [(begin + start, begin + end, word) for begin, (start, end, word, _) in analysis.located_words(text)]
    assert [word for _, _, word in located] == analysis.words(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in located)


@given(st.text())
def test_located_identifiers_are_the_identifiers(text: str) -> None:
    assert [found for _, _, found in identifiers.located_identifiers(text)] == identifiers.identifiers(text)


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    words = analysis.words(text)
    assert analysis.words(" ".join(words)) == words


@pytest.mark.parametrize("text", ["a" * 300_000, "é" * 300_000, "a-" * 150_000, "日" * 300_000, "é-" * 150_000])
def test_one_endless_word_takes_no_endless_time(text: str) -> None:
    analysis.words(text)
    identifiers.identifiers(text)
    analysis.bigrams(text)
