"""The order of a ranked list, and what makes a list impossible to score.

Order is score descending, then chunk id descending by code point; a list without scores keeps its order.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import isfinite
from operator import sub
from typing import Generic, TypeVar

from annotator.errors import Problem
from annotator.model import id_fault

__all__ = ["Id", "Ordered", "best_first", "list_faults"]


Id = TypeVar("Id", str, bytes)


@dataclass(frozen=True, slots=True)
class Ordered(Generic[Id]):
    """A list in the order of the rule. `moved`: it came in another one. `narrow`: see `best_first`."""

    chunk_ids: tuple[Id, ...]
    scores: tuple[float, ...]
    moved: bool
    narrow: bool


def best_first(chunk_ids: Sequence[Id], scores: Sequence[float]) -> Ordered[Id]:
    """Order a list by the rule; the scores must be finite.

    `narrow` says that two neighbours differ in 64 bits but not in 32, where older tools see a tie.
    """
    # most files come in order already: one pass over the gaps is far cheaper than sorting pairs
    gap = min(map(sub, scores, islice(scores, 1, None)), default=1.0)
    if gap > 0:
        ranked, ordered, moved = tuple(chunk_ids), tuple(scores), False
    else:
        pairs = sorted(zip(scores, chunk_ids, strict=True), reverse=True)
        ranked, ordered = tuple(chunk_id for _, chunk_id in pairs), tuple(score for score, _ in pairs)
        moved = ranked != tuple(chunk_ids)
    return Ordered(ranked, ordered, moved, _same_in_32_bits(ordered, gap))


def _same_in_32_bits(scores: Sequence[float], gap: float) -> bool:
    """`gap` is under the least difference of two neighbours; wide enough, it settles the question at once."""
    if len(scores) < 2:
        return False
    widest = max(abs(scores[0]), abs(scores[-1]))
    if widest < 3e38 and gap > max(widest * 2**-23, 2**-148):
        return False
    narrow = array("f", scores)
    return any(a == b and c != d for (a, b), (c, d) in zip(pairwise(narrow), pairwise(scores), strict=True))


def list_faults(
    query_id: str, chunk_ids: Sequence[object], scores: Sequence[float] | None, lines: Sequence[int], file: str
) -> list[Problem]:
    """Find unusable ids, chunks listed twice and scores that are no finite number. `lines` may be empty.

    A sound list costs three passes in C; only an unsound one is walked item by item.
    """
    if _sound(chunk_ids) and (not scores or isfinite(sum(scores))):
        return []
    problems = []
    first: dict[object, int] = {}
    for place, chunk_id in enumerate(chunk_ids):
        line = lines[place] if lines else None

        def fault(message: str, field: str, value: object, mend: str = "", line: int | None = line) -> Problem:
            return Problem(message, file, line, field, value if isinstance(value, str) else repr(value), mend)

        unusable = id_fault(chunk_id)
        if unusable:
            mend = "Quote it: ids are text." if isinstance(chunk_id, int | float) else ""
            problems.append(fault(f"query {query_id}: {unusable}", "chunk_id", chunk_id, mend))
        elif first.setdefault(chunk_id, place) != place:
            where = f"The first is in line {lines[first[chunk_id]]}; keep" if lines else "Keep"
            problems.append(
                fault(f"duplicate chunk {chunk_id} in query {query_id}", "chunk_id", chunk_id, f"{where} one.")
            )
        if scores and not isfinite(scores[place]):
            kind = "not a number" if scores[place] != scores[place] else "infinite"
            problems.append(
                fault(f"score of ({query_id}, {chunk_id}) is {kind}", "score", str(scores[place]), "Write a number.")
            )
    return problems


def _sound(chunk_ids: Sequence[object]) -> bool:
    """Say whether the ids are sound beyond doubt: printable text, not empty, no two alike.

    Their length is not looked at: an id too long for a gold set matches nothing there and harms nobody.
    """
    try:
        # printable text has no control characters and no surrogates; other text is left to the exact check
        if not "".join(chunk_ids).isprintable():  # type: ignore[arg-type]
            return False
    except TypeError:
        return False
    different = set(chunk_ids)
    return len(different) == len(chunk_ids) and "" not in different
