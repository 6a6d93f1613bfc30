"""Why a stored run scores as it does: what went wrong, how fresh and how quick it is, and what nobody judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotator.metrics.diagnose import ACTIONS, Finding, count_kinds, diagnose, reading
from annotator.metrics.evaluation import Evaluation, mean
from annotator.metrics.holes import Hole, holes
from annotator.metrics.operations import operations
from annotator.model import RunQuery
from annotator.services.preview import texts
from annotator.store.database import Workspace

__all__ = [
    "ACTIONS",
    "Finding",
    "Freshness",
    "Hole",
    "Reach",
    "count_kinds",
    "findings",
    "freshness",
    "holes",
    "operations",
    "reach",
]


@dataclass(frozen=True, slots=True)
class Freshness:
    """Chunks within the deepest cut-off that are no longer what the chunk table holds.

    `gone` left it; `changed` were judged with another text. The rates are shares of the judged queries with any.
    """

    gone: frozenset[str]
    changed: frozenset[str]
    gone_rate: float
    changed_rate: float


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the relevant chunks is found at the top, far down, and among the candidates (None: no trace)."""

    near: float
    far: float
    candidates: float | None
    reading: str
    """Whether discovery or ranking is weak, in words; "" when neither stands out."""


def reach(deep: Evaluation) -> Reach:
    """Tell discovery from ranking by a run scored at two cut-offs, one near and one deep."""
    near, far = (deep.measures[f"R@{cut}"] for cut in (deep.k[0], deep.k[-1]))
    answers = {query_id: deep.run.queries.get(query_id, RunQuery(query_id)) for query_id in deep.per_query}
    told = None
    if any(answer.candidates for answer in answers.values()):
        told = mean(
            len(deep.relevant[query_id].intersection(answer.chunk_ids + answer.candidates))
            / len(deep.relevant[query_id])
            if deep.relevant[query_id]
            else 0.0
            for query_id, answer in answers.items()
        )
    return Reach(near, far, told, reading(deep))


def freshness(workspace: Workspace, found: Evaluation) -> Freshness:
    """Look up every retrieved chunk of the judged queries in the copy of the chunk table."""
    tops = [
        found.run.queries.get(query_id, RunQuery(query_id)).chunk_ids[: found.k[-1]] for query_id in found.per_query
    ]
    retrieved = sorted({chunk_id for top in tops for chunk_id in top})
    live = texts(workspace, retrieved)
    judged = {
        label.chunk_id: label.sha256 for query in found.gold.details.values() for label in query.gold if label.sha256
    }
    gone = frozenset(chunk_id for chunk_id in retrieved if chunk_id not in live)
    changed = frozenset(
        chunk_id for chunk_id, chunk in live.items() if judged.get(chunk_id, chunk.sha256) != chunk.sha256
    )

    def rate(which: frozenset[str]) -> float:
        return sum(not which.isdisjoint(top) for top in tops) / len(tops) if tops else 0.0

    return Freshness(gone, changed, rate(gone), rate(changed))


def findings(found: Evaluation, fresh: Freshness | None = None) -> Sequence[Finding]:
    """Say what went wrong by question, at the deepest cut-off; with `fresh`, gone and changed chunks are stale too."""
    return diagnose(found, fresh.gone | fresh.changed if fresh else ())
