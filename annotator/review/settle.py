"""Turns what several people said about one (query, chunk) into its settled grade, or says why it is not settled.

A reviewer's decision counts before everything else, then the settling rule. Pure; which pairs are open is asked by
the services, and what the people disagree about by `agreement.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from annotator.model import Adjudication, Evidence, GoldLabel, Judgment

__all__ = ["RELEVANT", "RULES", "Unsettled", "Vote", "best_first", "settle"]

RELEVANT: Final = 1
"""Grades from here on count as relevant: people who stand on its two sides are in dispute."""

Vote: TypeAlias = tuple[int, bool]
"""(grade, stale) as one person gave it."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A pair without a settled grade.

    `kind`: "disputed" (people differ on whether it is relevant or stale, or by two grades or more), "unsettled"
    (they differ by one grade), "reopened" (a reviewer wants it judged again, and nobody has yet) or "cannot judge"
    (nobody gave a grade: it stays unjudged and holds up nothing).
    """

    query_id: str
    chunk_id: str
    kind: str
    judgments: tuple[Judgment, ...]

    @property
    def blocks(self) -> bool:
        """Whether a release has to wait for this pair."""
        return self.kind != "cannot judge"

    @property
    def differs(self) -> bool:
        """Whether people differ, so that a reviewer has to decide."""
        return self.kind in ("disputed", "unsettled")


def settle(
    judgments: Sequence[Judgment], adjudication: Adjudication | None = None, *, rule: str = "unanimous"
) -> GoldLabel | Unsettled:
    """Settle one pair from its judgments in force (one per person) and the latest decision about it.

    Only what was said about the text read last counts: once somebody has graded a changed chunk, grades and
    decisions about its former text are history. The label's `doc_id` is left empty. Raises KeyError for a rule that
    is not in RULES and ValueError when there is nothing to settle.
    """
    decide = RULES[rule]
    if adjudication is None and len(judgments) == 1 and judgments[0].grade is not None:
        return _agreed(_vote(judgments[0]), judgments, "unanimous")  # as most pairs are: there is nothing to decide
    judgments = sorted(judgments, key=lambda one: one.annotator)
    graded = [one for one in judgments if one.grade is not None]
    text = _text_read_last(graded, adjudication)
    if adjudication is not None and adjudication.sha256 == text:
        return _adjudicated(adjudication)
    graded = [one for one in graded if one.sha256 == text]
    if not graded:
        if not judgments:
            raise ValueError("nobody has judged this pair")
        return Unsettled(judgments[0].query_id, judgments[0].chunk_id, "cannot judge", tuple(judgments))
    votes = [_vote(one) for one in graded]
    vote = decide(votes)
    if vote is None:
        return Unsettled(graded[0].query_id, graded[0].chunk_id, _kind(votes), tuple(judgments))
    return _agreed(vote, [one for one in graded if _vote(one) == vote], "unanimous" if len(set(votes)) == 1 else rule)


def best_first(labels: Iterable[GoldLabel]) -> tuple[GoldLabel, ...]:
    """Sort labels by grade, the best first, then by chunk id."""
    return tuple(sorted(labels, key=lambda label: (-label.relevance, label.chunk_id)))


def _text_read_last(graded: Sequence[Judgment], adjudication: Adjudication | None) -> str:
    readings = [(one.judged_at, one.sha256) for one in graded]
    if adjudication is not None:
        readings.append((adjudication.decided_at, adjudication.sha256))
    return max(readings)[1] if readings else ""


def _adjudicated(decision: Adjudication) -> GoldLabel:
    return GoldLabel(
        chunk_id=decision.chunk_id,
        relevance=decision.grade,
        reason=decision.reason,
        evidence=_merged(decision.evidence),
        sha256=decision.sha256,
        stale=decision.stale,
        settled_by=f"adjudicated by {decision.reviewer}",
    )


def _agreed(vote: Vote, agreeing: Sequence[Judgment], settled_by: str) -> GoldLabel:
    grade, stale = vote
    return GoldLabel(
        chunk_id=agreeing[0].chunk_id,
        relevance=grade,
        reason=max((one.reason for one in agreeing), key=len),  # the fullest; among equals the first by name
        evidence=_merged(span for one in agreeing for span in one.evidence),
        sha256=agreeing[0].sha256,
        stale=stale,
        settled_by=settled_by,
    )


def _merged(spans: Iterable[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(set(spans), key=lambda span: (span.start, span.end, span.quote)))


def _vote(judgment: Judgment) -> Vote:
    return judgment.grade or 0, judgment.stale


def _kind(votes: Sequence[Vote]) -> str:
    grades = [grade for grade, _ in votes]
    lowest, highest = min(grades), max(grades)
    crosses = lowest < RELEVANT <= highest
    stale_differs = len({stale for _, stale in votes}) > 1
    return "disputed" if crosses or highest - lowest >= 2 or stale_differs else "unsettled"


def _unanimous(votes: Sequence[Vote]) -> Vote | None:
    return votes[0] if len(set(votes)) == 1 else None


def _majority(votes: Sequence[Vote]) -> Vote | None:
    """The vote of more than half of the people."""
    vote, number = Counter(votes).most_common(1)[0]
    return vote if 2 * number > len(votes) else None


def _lower_median(votes: Sequence[Vote]) -> Vote | None:
    """The middle vote, of two middle ones the lower; stale counts as lower than irrelevant."""
    ordered = sorted(votes, key=lambda vote: (vote[0], not vote[1]))
    return ordered[(len(ordered) - 1) // 2]


RULES: Final[Mapping[str, Callable[[Sequence[Vote]], Vote | None]]] = {
    "unanimous": _unanimous,
    "majority": _majority,
    "lower_median": _lower_median,
}
"""Settling rule by name: the settled vote, or None when the rule cannot tell."""
