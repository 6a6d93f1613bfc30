"""The order of a ranked list, and what makes a list impossible to score.

Order is score descending, then chunk id descending by code point; a list without scores keeps its order.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import islice
from math import isfinite
from operator import sub

from annotator.errors import Problem
from annotator.model import MAX_ID_LENGTH, id_fault

__all__ = ["best_first", "list_faults", "same_in_32_bits"]


def best_first(chunk_ids: Sequence[str], scores: Sequence[float]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Order a list by the rule; the scores must be finite."""
    # most files come in order already: one pass over the gaps is far cheaper than sorting pairs
    if min(map(sub, scores, islice(scores, 1, None)), default=1.0) > 0:
        return tuple(chunk_ids), tuple(scores)
    pairs = sorted(zip(scores, chunk_ids, strict=True), reverse=True)
    return tuple(chunk_id for _, chunk_id in pairs), tuple(score for score, _ in pairs)


def same_in_32_bits(scores: Sequence[float]) -> bool:
    """Say whether two neighbours of an ordered list differ in 64 bits but not in 32, where older tools see a tie."""
    if len(scores) < 2:
        return False
    widest = max(abs(scores[0]), abs(scores[-1]))
    gap = min(map(sub, scores, islice(scores, 1, None)))
    if widest < 3e38 and gap > max(widest * 2**-23, 2**-148):
        return False
    narrow = array("f", scores)
    return any(
        a == b and c != d
        for a, b, c, d in zip(narrow, islice(narrow, 1, None), scores, islice(scores, 1, None), strict=False)
    )


def list_faults(
    query_id: str, chunk_ids: Sequence[object], scores: Sequence[float] | None, lines: Sequence[int], file: str
) -> list[Problem]:
    """Find unusable ids, chunks listed twice and scores that are no finite number. `lines` may be empty.

    A sound list costs three passes in C; only an unsound one is walked item by item.
    """
    if _sound(chunk_ids) and len(set(chunk_ids)) == len(chunk_ids) and (not scores or isfinite(sum(scores))):
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
            problems.append(fault(f"score of ({query_id}, {chunk_id}) is {kind}", "score", str(scores[place])))
    return problems


def _sound(chunk_ids: Sequence[object]) -> bool:
    texts = [chunk_id for chunk_id in chunk_ids if isinstance(chunk_id, str)]
    if len(texts) < len(chunk_ids):
        return False
    if not texts:
        return True
    # printable text has no control characters and no surrogates; other text is left to the exact check
    lengths = list(map(len, texts))
    return 0 < min(lengths) <= max(lengths) <= MAX_ID_LENGTH and "".join(texts).isprintable()
