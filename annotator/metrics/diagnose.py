"""Why a query scored low, and what to look at: one finding per query and kind, at the deepest cut-off.

The order of blame: a filter that took the chunk out, before search that never found it, before ranking that buried it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from annotator.metrics.evaluation import Evaluation
from annotator.metrics.operations import stale_chunks
from annotator.model import RunQuery

__all__ = ["ACTIONS", "Finding", "count_kinds", "diagnose", "reading"]

ACTIONS: Final[Mapping[str, str]] = {
    "timed_out": "Look at latency and limits first: the list may be cut short.",
    "empty": "Look at filters, index coverage and query rewriting: nothing came back at all.",
    "filtered": "Check metadata, access and freshness rules before blaming search.",
    "missing": "Look at corpus, parsing, chunking, query rewriting, embedding model and hybrid search.",
    "buried": "Found but too far down: look at reranking, fusion and the final k.",
    "stale": "An outdated version came up: look at index lag and version filters.",
    "noisy": "All evidence is there among noise: rerank, remove duplicates, filter.",
}
"""Kind of finding to the action to take, in the order of blame."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What went wrong for a query. `rank`, where one is known, is the best rank of a buried or stale chunk."""

    query_id: str
    kind: str
    chunk_ids: tuple[str, ...]
    rank: int | None

    @property
    def action(self) -> str:
        """What to do about it."""
        return ACTIONS[self.kind]


def diagnose(evaluation: Evaluation, drifted: Collection[str] = ()) -> tuple[Finding, ...]:
    """Find what went wrong, query by query in ascending order.

    `drifted` are chunks whose text changed or that are gone from the live table; retrieving them is stale as well.
    """
    return tuple(
        finding
        for query_id in evaluation.per_query
        for finding in _findings(
            evaluation, evaluation.run.queries.get(query_id, RunQuery(query_id)), drifted, evaluation.k[-1]
        )
    )


def count_kinds(findings: Iterable[Finding]) -> dict[str, int]:
    """Count queries per kind, in the order of blame."""
    counts = Counter(finding.kind for finding in findings)
    return {kind: counts[kind] for kind in ACTIONS if counts[kind]}


def reading(evaluation: Evaluation) -> str:
    """Say whether ranking or discovery is the weaker part, from recall at the first and at the deepest cut-off."""
    near, far = (evaluation.measures[f"R@{cut}"] for cut in (evaluation.k[0], evaluation.k[-1]))
    if far < 0.5:
        return f"Recall@{evaluation.k[-1]} is low: discovery is weak. Look at chunking, filters, rewriting, embeddings."
    if near < far / 2:
        return (
            f"Recall@{evaluation.k[-1]} is high but Recall@{evaluation.k[0]} low: ranking is weak. Look at reranking."
        )
    return ""


def _findings(evaluation: Evaluation, answer: RunQuery, drifted: Collection[str], k: int) -> Iterator[Finding]:
    query_id, top = answer.query_id, answer.chunk_ids[:k]
    ranks = evaluation.relevant_ranks[query_id]
    found = sum(rank <= k for rank in ranks)
    relevant = evaluation.relevant[query_id]
    timed_out = answer.trace.get("timed_out") is True
    if timed_out:
        yield Finding(query_id, "timed_out", (), None)
    elif not answer.chunk_ids:
        yield Finding(query_id, "empty", (), None)
    lost = relevant.difference(top)
    filtered = lost.intersection(chunk_id for chunk_id, _ in answer.filtered_out)
    if filtered:
        yield Finding(query_id, "filtered", tuple(sorted(filtered)), None)
    below = {chunk_id: rank for rank, chunk_id in enumerate(answer.candidates, 1) if chunk_id in lost}
    below |= {answer.chunk_ids[rank - 1]: rank for rank in ranks if k < rank <= len(answer.chunk_ids)}
    below |= {chunk_id: rank for chunk_id, rank in answer.below.items() if chunk_id in lost}
    missing = lost - filtered - below.keys()
    if missing and answer.chunk_ids and not timed_out:
        yield Finding(query_id, "missing", tuple(sorted(missing)), None)
    buried = sorted((rank, chunk_id) for chunk_id, rank in below.items() if chunk_id not in filtered)
    if buried and found < k:  # with nothing but relevant chunks in the top there is no better place
        yield Finding(query_id, "buried", tuple(chunk_id for _, chunk_id in buried), buried[0][0])
    old = stale_chunks(evaluation, query_id)
    stale = tuple(chunk_id for chunk_id in top if chunk_id in old or chunk_id in drifted)
    if stale:
        yield Finding(query_id, "stale", stale, top.index(stale[0]) + 1)
    if relevant and not lost and len(relevant) < len(top) / 2:
        # all is there, and most of what is handed on with it is noise, whatever stands first
        yield Finding(query_id, "noisy", tuple(chunk_id for chunk_id in top if chunk_id not in relevant), None)
