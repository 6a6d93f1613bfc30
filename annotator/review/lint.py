"""Warnings about a question while it is written: copied wording, near-duplicates, too short, too long, no question.

Warnings only: what to do about them is the writer's choice. Needs rapidfuzz, loaded on first use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from annotator.review.wording import longest_shared_span, plain, weight, words

__all__ = ["LintWarning", "copied_wording", "lint", "near_duplicates", "wording"]

COPIED_WORDS: Final = 6
"""So many words in a row, word for word as in a chunk, are not chance."""
COPIED_SIMILARITY: Final = 87.0
"""Similarity (0-100) of a question with the best matching part of a chunk from which on it reads as copied."""
NEAR_DUPLICATE: Final = 87.0
"""Similarity (0-100) of two questions from which on they probably ask the same."""
SHORTEST_WORDS: Final = 3
LONGEST_WORDS: Final = 60
MOST_NAMED: Final = 5

_NUMBERED: Final = re.compile(r"\w*\d[\w]*")
_QUESTION_MARKS: Final = re.compile("[?\uff1f\u061f\u037e\u055e\u1367\u203d\u2047-\u2049]")
_STATEMENT_END: Final = re.compile(r"[.!\u3002\uff01\u0964\u06d4]\s*$")


@dataclass(frozen=True, slots=True)
class LintWarning:
    """What is odd about a question and how to mend it; `ids` are the chunks or questions it is about."""

    kind: str
    message: str
    mend: str
    ids: tuple[str, ...] = ()


def lint(question: str, *, others: Mapping[str, str], chunks: Mapping[str, str]) -> list[LintWarning]:
    """Return every warning. `others`: query id → question; `chunks`: chunk id → text of those graded 2-3."""
    first = wording(question)
    if any(warning.kind == "empty" for warning in first):
        return first
    return [*first, *near_duplicates(question, others), *copied_wording(question, chunks)]


def wording(question: str) -> list[LintWarning]:
    """Return what can be said from the question alone."""
    said = words(question)
    if not said:
        return [LintWarning("empty", "There is no question yet.", "Write it in the asker's words.")]
    found = []
    length = weight(said)
    if length < SHORTEST_WORDS and not _NUMBERED.search(plain(question)):
        found.append(
            LintWarning("too_short", "The question is very short.", "Say who asks for what, as a real asker would.")
        )
    if length > LONGEST_WORDS:
        found.append(
            LintWarning(
                "very_long",
                f"The question has about {length:.0f} words.",
                "Ask one thing; move the background to the notes.",
            )
        )
    if _STATEMENT_END.search(question) and not _QUESTION_MARKS.search(question):
        found.append(LintWarning("no_question", "This reads like a statement.", "Write what somebody would ask."))
    return found


def near_duplicates(question: str, others: Mapping[str, str]) -> list[LintWarning]:
    """Return a warning naming the questions that ask nearly the same. Different numbers make different questions."""
    from rapidfuzz import fuzz, process

    asked = plain(question)
    if not asked:
        return []
    known = {query_id: plain(text) for query_id, text in others.items()}
    scorers = [fuzz.ratio]
    if len(words(question)) == weight(words(question)):  # the order of words may differ where there are words
        scorers.append(fuzz.token_sort_ratio)
    near: dict[str, float] = {}
    for scorer in scorers:
        for _, score, query_id in process.extract(asked, known, scorer=scorer, score_cutoff=NEAR_DUPLICATE, limit=50):
            if _numbers(known[query_id]) == _numbers(asked):
                near[query_id] = max(score, near.get(query_id, 0.0))
    if not near:
        return []
    ids = tuple(sorted(near, key=lambda query_id: (-near[query_id], query_id))[:MOST_NAMED])
    same = known[ids[0]] == asked
    return [
        LintWarning(
            "duplicate" if same else "near_duplicate",
            f"{ids[0]} asks {'the same' if same else 'nearly the same'}: “{others[ids[0]]}”.",
            "Ask something else, or work on that one.",
            ids,
        )
    ]


def copied_wording(question: str, chunks: Mapping[str, str]) -> list[LintWarning]:
    """Return a warning for each chunk whose wording the question copies: those flatter a search for words."""
    asked = words(question)
    return [warning for chunk_id, text in chunks.items() if (warning := _copied(asked, chunk_id, text)) is not None]


def _copied(asked: list[str], chunk_id: str, text: str) -> LintWarning | None:
    said = words(text)
    # Only where enough of its words are there at all can they stand in a row.
    there = set(said)
    span = longest_shared_span(asked, said) if weight(filter(there.__contains__, asked)) >= COPIED_WORDS else []
    if weight(span) >= COPIED_WORDS:
        return _copied_warning(chunk_id, f"The question takes “{_shown(span)}” word for word from {chunk_id}.")
    if weight(asked) < SHORTEST_WORDS + 1 or len(said) < len(asked):
        return None
    from rapidfuzz import fuzz

    if fuzz.partial_ratio(" ".join(asked), " ".join(said), score_cutoff=COPIED_SIMILARITY):
        return _copied_warning(chunk_id, f"The question reads almost like a sentence of {chunk_id}.")
    return None


def _copied_warning(chunk_id: str, message: str) -> LintWarning:
    return LintWarning("copied", message, "Ask it in the words of somebody who has not read the text.", (chunk_id,))


def _numbers(text: str) -> list[str]:
    return sorted(_NUMBERED.findall(text))


def _shown(span: list[str]) -> str:
    return ("" if weight(span) < len(span) else " ").join(span)
