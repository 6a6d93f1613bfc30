from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.search.query import LONGEST_QUERY, Typed, as_words, parse


def test_all_parts_of_a_typed_text_are_told_apart() -> None:
    typed = parse('who approves "enterprise refunds" -draft -"old policy" doc:policy-v4 version:v4 E-4107', {"version"})
    assert typed.words == ("approves", "E-4107")
    assert typed.phrases == ("enterprise refunds",)
    assert typed.without == ("draft", "old policy")
    assert typed.doc_id == "policy-v4"
    assert typed.where == (("version", "v4"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('27" monitor', ("27", "monitor")),  # a lone quotation mark is not a phrase
        ("http://a.b/c", ("http://a.b/c",)),  # a colon is not a filter unless its key is known
        ("-40", ("40",)),  # only exclusions: the dash was not meant as one
        ("x-ray", ("x-ray",)),
        ("what is IT policy", ("IT", "policy")),
        ("WHO", ("WHO",)),
        ("to be or to be", ("to", "be", "or", "to", "be")),
        ("日本の首都は？", ("日本の首都は？",)),
        ("doc: the file", ("doc:", "file")),
    ],
)
def test_a_text_without_syntax_is_its_telling_words(text: str, words: tuple[str, ...]) -> None:
    typed = parse(text)
    assert (typed.words, typed.phrases, typed.without) == (words, (), ())


def test_typographic_quotation_marks_hold_a_phrase_too() -> None:
    assert parse("„genau so“ x").phrases == ("genau so",)
    assert parse("“just so” x").phrases == ("just so",)


def test_filters_may_be_quoted() -> None:
    typed = parse('doc:"my file.pdf" owner:"Ana B"', {"owner"})
    assert (typed.doc_id, typed.where, typed.words) == ("my file.pdf", (("owner", "Ana B"),), ())


@pytest.mark.parametrize("text", ["", "  ", '"', '""""', "-", "…?!", "\x00\ud800"])
def test_nothing_is_nothing(text: str) -> None:
    assert parse(text).is_empty


def test_a_column_without_a_name_makes_no_filters_of_words() -> None:
    assert parse("refund :policy", {""}).where == ()
    assert parse("refund :policy", {""}).words == ("refund", ":policy")


@given(st.text())
def test_every_text_has_a_meaning(text: str) -> None:
    assert isinstance(parse(text, {"a"}), Typed)


def test_a_pasted_book_is_cut() -> None:
    assert len(parse("word " * 100_000).text) <= LONGEST_QUERY


def test_what_a_question_quotes_or_strikes_out_is_looked_for_as_words() -> None:
    typed = parse(as_words('Why does it say “no signal” or "E-4107" -again - after -v4?'))
    assert typed.words == ("say", "no", "signal", "E-4107", "again", "after", "v4?")
    assert typed.phrases == typed.without == ()
