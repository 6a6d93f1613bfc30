"""Whose turn a question is, by hand: places, reservations, leases, what came back, calibration."""

from __future__ import annotations

import pytest

from annotator.review.standing import Order, Turn


def people(*names: str) -> frozenset[str]:
    return frozenset(names)


LATE, LATER = "2026-03-01T10:00:00.000Z", "2026-03-01T10:20:00.000Z"

CASES = {
    "an open question needs everybody": (Turn("open"), {"Ana": "needs me", "Ben": "needs me"}),
    "one is enough: who comes second finds it in use": (
        Turn("open", leases={"Ana": LATE}),
        {"Ana": "needs me", "Ben": "in use"},
    ),
    "two are wanted: one works, a second may": (
        Turn("open", 2, leases={"Ana": LATE}),
        {"Ana": "needs me", "Ben": "needs me"},
    ),
    "one of two finished: it needs the others only": (
        Turn("open", 2, finished=people("Ana")),
        {"Ana": "needs others", "Ben": "needs me"},
    ),
    "one of two finished and another works: full for now": (
        Turn("open", 2, finished=people("Ana"), leases={"Ben": LATE}),
        {"Ana": "needs others", "Ben": "needs me", "Cleo": "in use"},
    ),
    "a lease of somebody who finished takes no second place": (
        Turn("open", 2, finished=people("Ana"), leases={"Ana": LATE}),
        {"Ben": "needs me"},
    ),
    "who skipped it leaves it to others": (
        Turn("open", skipped=people("Ana")),
        {"Ana": "needs others", "Ben": "needs me"},
    ),
    "given to somebody: nobody else is needed": (
        Turn("open", assigned=people("Ana")),
        {"Ana": "needs me", "Ben": "needs others"},
    ),
    "given to somebody who skipped it: free again": (
        Turn("open", assigned=people("Ana"), skipped=people("Ana")),
        {"Ana": "needs others", "Ben": "needs me"},
    ),
    "given to one of two: one place is free": (
        Turn("open", 2, assigned=people("Ana"), leases={"Ben": LATE}),
        {"Ana": "needs me", "Ben": "needs me", "Cleo": "in use"},
    ),
    "given to two, one place: whoever comes first": (
        Turn("open", assigned=people("Ana", "Ben"), leases={"Ben": LATE}),
        {"Ana": "in use", "Ben": "needs me", "Cleo": "needs others"},
    ),
    "what came back needs its author, others not": (
        Turn("open", returned=people("Ana")),
        {"Ana": "needs me", "Ben": "needs others"},
    ),
    "what came back needs its author though enough finished": (
        Turn("complete", finished=people("Ben"), returned=people("Ana")),
        {"Ana": "needs me", "Ben": "complete"},
    ),
    "everybody labels a calibration question": (
        Turn("complete", calibration=True, finished=people("Ana"), leases={"Ben": LATE}),
        {"Ana": "complete", "Ben": "needs me", "Cleo": "needs me"},
    ),
    "a calibration question can be skipped": (
        Turn("open", calibration=True, skipped=people("Ana")),
        {"Ana": "needs others"},
    ),
    "complete with people differing": (
        Turn("complete", finished=people("Ana"), disputed=True),
        {"Ana": "disputed"},
    ),
    "people differ while others are still wanted": (
        Turn("open", 3, finished=people("Ana", "Ben"), disputed=True),
        {"Ana": "needs others", "Cleo": "needs me"},
    ),
    "a draft is a draft": (Turn("draft"), {"Ana": "draft"}),
    "a retired one is retired, also where it came back": (Turn("retired", returned=people("Ana")), {"Ana": "retired"}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_question_stands_for_each_person_as_the_case_says(case: str) -> None:
    turn, expected = CASES[case]
    assert {who: turn.standing(who) for who in expected} == expected


def test_a_place_comes_free_when_enough_leases_end() -> None:
    one = Turn("open", leases={"Ana": LATE})
    assert (one.free_at("Ben"), one.free_at("Ana")) == (LATE, "")
    two = Turn("open", 2, leases={"Ana": LATER, "Ben": LATE})
    assert two.free_at("Cleo") == LATE
    lowered = Turn("open", 1, leases={"Ana": LATER, "Ben": LATE})  # two were let in before one became enough
    assert lowered.free_at("Cleo") == LATER
    mixed = Turn("open", 2, finished=people("Dov"), leases={"Ana": LATER, "Ben": LATE, "Dov": LATE})
    assert mixed.free_at("Cleo") == LATER


def test_the_list_of_a_person_holds_what_is_free_or_theirs() -> None:
    assert Turn("open").is_for("Ben")
    assert Turn("complete").is_for("Ben")
    assert not Turn("open", assigned=people("Ana")).is_for("Ben")
    assert Turn("open", 2, assigned=people("Ana")).is_for("Ben")
    assert Turn("complete", assigned=people("Ana"), finished=people("Ben")).is_for("Ben")
    assert Turn("open", assigned=people("Ana"), calibration=True).is_for("Ben")
    assert not Turn("draft").is_for("Ben")


def test_the_order_of_a_seed_is_the_same_for_ever_and_everybodys_own() -> None:
    ids = [f"q{number}" for number in range(6)]

    def order(seed: str, who: str) -> list[str]:
        return sorted(ids, key=Order(seed, who).key)

    assert order("spring", "Ana") == order("spring", "Ana")
    assert len({tuple(order("spring", who)) for who in ("Ana", "Ben", "Cleo")}) == 3
    assert order("spring", "Ana") != order("autumn", "Ana")
    assert order("spring", "Ana") == PINNED


def test_no_place_of_the_order_is_anybodys_favourite() -> None:
    ids = [f"q-{number:03d}" for number in range(100)]
    firsts = {min(ids, key=Order("spring", f"person {number}").key) for number in range(60)}
    assert len(firsts) > 30


PINNED = ["q3", "q4", "q5", "q2", "q1", "q0"]
