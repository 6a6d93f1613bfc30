"""What the lint says about a question, in several languages."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

from annotator.review.lint import copied_wording, lint, near_duplicates, wording
from annotator.review.wording import longest_shared_span, weight, words

CHUNK = "Refunds requested later than 30 days after purchase need the approval of the VP Finance. Keep the reason."


def kinds(question: str, **chunks: str) -> list[str]:
    return [one.kind for one in lint(question, others={}, chunks=chunks)]


def test_a_good_question_gets_no_warning() -> None:
    assert lint("Who has to sign when a big customer wants money back late?", others={}, chunks={"c1": CHUNK}) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("", ["empty"]),
        ("  ?! … ", ["empty"]),
        ("Refunds?", ["too_short"]),
        ("退款?", ["too_short"]),
        ("E-4107", []),  # an identifier is a question of its own
        ("What about REF-2024/07?", []),
        ("Refunds are approved by the VP Finance.", ["no_question"]),
        ("返金は副社長が承認します。", ["no_question"]),
        ("返金は誰が承認しますか？", []),
        ("من يوافق على استرداد الأموال؟", []),
        ("Ποιος εγκρίνει τις επιστροφές;", []),
        ("refund approval after 30 days", []),  # as people type into a search box
        ("why " * 61 + "?", ["very_long"]),
    ],
)
def test_what_the_question_alone_tells(question: str, expected: list[str]) -> None:
    assert [one.kind for one in wording(question)] == expected


def test_six_words_in_a_row_from_a_relevant_chunk_are_copied() -> None:
    copied = "Which person gives approval of the VP Finance?"
    assert kinds(copied, c1=CHUNK) == []  # five in a row, and the rest is the asker's own
    copied = "Who does need the approval of the VP Finance?"
    found = copied_wording(copied, {"other": "Trains are booked early.", "c1": CHUNK})
    assert [one.ids for one in found] == [("c1",)]
    assert "“need the approval of the vp finance”" in found[0].message


def test_case_punctuation_and_line_ends_do_not_hide_copying() -> None:
    assert kinds("REFUNDS requested — later than 30 days?", c1=CHUNK.replace(" ", "\n")) == ["copied"]


def test_a_sentence_with_a_few_letters_changed_is_still_copied() -> None:
    text = "Receipts must be handed in within one month of the journey."
    assert kinds("Must receipt be handed within a month of journeys?", c1=text) == []
    assert kinds("Receipt must be handed in within 1 month of the journey?", c1=text) == ["copied"]


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    text = "規定では、三十日を過ぎた企業の返金申請には財務担当副社長の承認が必要です。"
    assert kinds("三十日を過ぎた企業の返金申請は誰が見ますか？", c1=text) == ["copied"]
    assert kinds("大口のお客様が遅れて返金を求めたら誰が決めますか？", c1=text) == []
    thai = "การขอคืนเงินหลังจากสามสิบวันต้องได้รับอนุมัติจากรองประธานฝ่ายการเงิน"
    assert kinds("การขอคืนเงินหลังจากสามสิบวันใครดูแล?", c1=thai) == ["copied"]
    assert kinds("ลูกค้ารายใหญ่อยากได้เงินคืนช้าใครต้องเซ็น?", c1=thai) == []


def test_near_duplicates_are_named_nearest_first() -> None:
    others = {
        "q1": "Who approves late refunds for enterprise customers?",
        "q2": "For enterprise customers, who approves late refunds?",
        "q3": "Who aproves late refund for enterprise customers",
        "q4": "Who pays the train tickets?",
    }
    found = near_duplicates("Who approves late refunds for enterprise customers", others)
    assert [one.kind for one in found] == ["duplicate"]
    assert set(found[0].ids) == {"q1", "q2", "q3"}
    assert found[0].ids[0] == "q1"


def test_different_numbers_and_identifiers_make_different_questions() -> None:
    assert near_duplicates("Who approves refunds after 60 days?", {"q1": "Who approves refunds after 30 days?"}) == []
    assert near_duplicates("What does E-4107 mean?", {"q1": "What does E-4108 mean?"}) == []


def test_a_shorter_question_within_a_longer_one_is_not_the_same() -> None:
    others = {"q1": "Who approves refunds when the customer is an enterprise and the invoice was lost?"}
    assert near_duplicates("Who approves refunds?", others) == []


def test_words_of_many_scripts() -> None:
    assert words("Straße, naïve REF-2024/07") == ["strasse", "naïve", "ref", "2024", "07"]
    assert words("हिन्दी में") == ["हिन्दी", "में"]  # vowel signs stay with their words
    assert words("退款ok") == ["退", "款", "ok"]
    assert weight(words("退款 ok a")) == 0.5 + 0.5 + 1 + 1


def test_the_longest_shared_span_is_the_heaviest() -> None:
    assert longest_shared_span(list("abxcdefg"), list("zabzcdefz")) == list("cdef")
    assert longest_shared_span(["a"], ["b"]) == []
    assert longest_shared_span(["12"], ["112", "2"]) == []  # whole words only


@pytest.mark.parametrize(("corpus", "most"), [("medquad_liveqa", 0.0), ("cranfield", 0.06)])
def test_questions_asked_by_people_who_had_not_read_the_texts_are_left_in_peace(
    shared: Path, corpus: str, most: float
) -> None:
    folder = shared / "corpora" / corpus
    texts = {row["chunk_id"]: row["text"] for row in _json_lines(folder / "chunks.jsonl")}
    relevant: dict[str, dict[str, str]] = defaultdict(dict)
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["grade"]) >= 2 and row["chunk_id"] in texts:
                relevant[row["query_id"]][row["chunk_id"]] = texts[row["chunk_id"]]
    asked = {row["query_id"]: row["question"] for row in _json_lines(folder / "queries.jsonl")}
    copied = [query_id for query_id, chunks in relevant.items() if copied_wording(asked[query_id], chunks)]
    assert len(copied) <= most * len(relevant)


def _json_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
