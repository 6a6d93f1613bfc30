"""Near-duplicates: the same words but for a few, never another number, and every one like every other of its group."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from annotator.review.alike import LONGEST, Wording, groups
from annotator.review.wording import words

SAID = "Refunds are paid within 14 days to the account the money came from, whatever the reason of the return was."


def test_a_copy_and_a_word_more_are_near_duplicates() -> None:
    assert groups([SAID, "Something else.", f"{SAID} Always.", SAID.upper().replace(",", " -")]) == [[0, 2, 3]]


@pytest.mark.parametrize("other", [SAID.replace("14", "30"), SAID[:60], "", "…", SAID + SAID.replace("14", "thirty")])
def test_what_says_something_else_stands_alone(other: str) -> None:
    assert groups([SAID, other]) == []


def test_texts_without_words_are_never_alike() -> None:
    assert groups(["…", "…", "", ""]) == []


def test_scripts_without_spaces_are_compared_by_their_characters() -> None:
    chinese = "退款将在十四天内支付到付款账户，无论退货的原因是什么，客户都会收到确认通知和相应的收据以及联系方式。"
    assert groups([chinese, chinese.replace("。", "！"), "完全不同的一句话，和前面没有关系。"]) == [[0, 1]]


def test_very_long_texts_are_alike_when_they_are_the_same() -> None:
    long = "refund " * (LONGEST // 7 + 1)
    assert groups([long, long, f"{long}once"]) == [[0, 1]]


def test_a_chain_is_no_group() -> None:
    # each says the same as the next one, the ends do not: 40 words, one more replaced at each step
    rare = [f"word{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(40)]
    chain = [" ".join([f"other{chr(97 + one)}" for one in range(step)] + rare[step:]) for step in range(8)]
    found = groups(chain)
    assert len(found) > 1
    for group in found:
        for one, other in combinations(group, 2):
            assert Wording.of(words(chain[one])).says_the_same_as(Wording.of(words(chain[other])))


def test_blocking_misses_no_pair() -> None:
    chance = random.Random(3)
    vocabulary = [f"w{chr(97 + at % 26)}{chr(97 + at // 26)}" for at in range(200)]
    texts = [" ".join(chance.choices(vocabulary, k=30)) for _ in range(40)]
    for text in texts[:20]:
        parts = text.split()
        parts[chance.randrange(30)] = chance.choice(vocabulary)
        texts.append(" ".join(parts))
    chance.shuffle(texts)
    read = [Wording.of(words(text)) for text in texts]
    alike = {pair for pair in combinations(range(60), 2) if read[pair[0]].says_the_same_as(read[pair[1]])}
    assert len(alike) >= 18
    grouped = {pair for group in groups(texts) for pair in combinations(group, 2)}
    assert grouped == alike  # no text here is like two that are not like each other
