"""Scoring and comparing stored runs on screen: against a frozen version, or against the labels as they stand.

Results are kept by the digests of gold set and run: both are content, so nothing kept can be out of date.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from annotator.errors import Conflict, Forbidden
from annotator.gold.goldset import GoldSet
from annotator.metrics.compare import Comparison, Difference, SliceComparison, compare, p_figure, p_words
from annotator.metrics.evaluation import Evaluation, RankedChunk, Slice, evaluate
from annotator.metrics.measures import DEFINITIONS, Definition
from annotator.model import Chunk, GoldQuery, Run
from annotator.services import gold as releases
from annotator.services import in_place
from annotator.services.examined import examine
from annotator.services.per_question import PerQuestion
from annotator.services.permission import labels_blindly
from annotator.store import corpus, runs, versions
from annotator.store.database import Workspace
from annotator.store.runs import RunInfo

__all__ = [
    "CUTS",
    "DEEP",
    "MEASURES",
    "META",
    "NOW",
    "Comparison",
    "Difference",
    "Evaluation",
    "RankedChunk",
    "RunInfo",
    "Scores",
    "Slice",
    "SliceComparison",
    "Yardstick",
    "compared",
    "compared_by_slice",
    "depth",
    "judged",
    "marked",
    "p_figure",
    "p_words",
    "score",
    "stored_runs",
    "texts",
    "yardstick",
    "yardsticks",
]

CUTS = (5, 10)
DEEP = 50
"""How far down recall is looked at to tell discovery from ranking."""
META = ("index_version", "embedding_model", "reranker", "route")
"""What tells runs apart in their trend: all but the route from the header, the route from the questions."""
NOW = 0
"""Stands for the labels as they are, where a version number is asked for."""

MEASURES: Mapping[str, Definition] = DEFINITIONS


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What runs are scored against. Equal when the content is: `digest` covers it."""

    digest: str
    gold: GoldSet = field(compare=False)


@dataclass(frozen=True, slots=True)
class Scores:
    """A scored run and, where there is one, that of its baseline. Equal when the content is, so results can be kept."""

    run: Evaluation = field(compare=False)
    baseline: Evaluation | None = field(compare=False)
    content: tuple[object, ...] = field(init=False)

    def __post_init__(self) -> None:
        scored = (self.run, self.baseline) if self.baseline else (self.run,)
        content = tuple((one.gold.digest, one.run.name, one.run.digest, one.k) for one in scored)
        object.__setattr__(self, "content", content)


@dataclass(frozen=True, slots=True)
class _Scored:
    digest: str
    run: Run = field(compare=False)


def yardsticks(workspace: Workspace, who: str = "") -> dict[int, str]:
    """Return what a run can be scored against, by number: NOW first, then the versions, newest first.

    Whoever labels blindly is not offered the labels as they stand: they are those of others.
    """
    frozen = {one.version: one.folder for one in releases.versions(workspace)}
    return frozen if _blind(workspace, who) else {NOW: "Labels as they stand"} | frozen


def yardstick(workspace: Workspace, version: int = NOW, who: str = "") -> Yardstick:
    """Return a version, or the settled labels as they stand.

    Raises NotFound, Conflict when nothing is settled, and Forbidden for labels that the person must not see yet.
    """
    if version == NOW:
        if _blind(workspace, who):
            raise Forbidden(f"{who} labels, and sees what others said only once it is part of a version.")
        return _live(workspace)
    with workspace.read() as connection:
        digest = versions.version(connection, version).digest
    return _released(str(workspace.home), version, digest)


def stored_runs(workspace: Workspace) -> list[RunInfo]:
    """Return the stored runs, newest first."""
    with workspace.read() as connection:
        return runs.all_runs(connection)


def score(workspace: Workspace, against: Yardstick, run: RunInfo, cuts: tuple[int, ...] = CUTS) -> Evaluation:
    """Score a stored run at these cut-offs, sliced by every facet."""
    return _evaluated(against, _Scored(run.digest, _run(str(workspace.home), run.name, run.digest)), cuts)


def compared(candidate: Evaluation, baseline: Evaluation, names: Sequence[str]) -> Comparison:
    """Compare two runs on these measures, all questions together."""
    return _compared(Scores(candidate, baseline), tuple(names))


def compared_by_slice(candidate: Evaluation, baseline: Evaluation, name: str) -> tuple[SliceComparison, ...]:
    """Compare two runs on one measure, slice by slice: twice the work of all measures on all questions."""
    return _compared_by_slice(Scores(candidate, baseline), name)


def depth(found: Evaluation) -> int:
    """Return how long the longest list of the run is: below it nothing can be found."""
    return max((len(answer.chunk_ids) for answer in found.run.queries.values()), default=0)


def judged(found: Evaluation, k: int, query_ids: Sequence[str] | None = None) -> tuple[int, int]:
    """Count the chunks within k that anybody judged, and all of them, of all questions or of some."""
    if query_ids is None:
        return found.judged[f"Judged@{k}"]
    tops = [
        (found.gold.grades[one], found.run.queries[one].chunk_ids[:k]) for one in query_ids if one in found.run.queries
    ]
    return sum(sum(map(grades.__contains__, top)) for grades, top in tops), sum(len(top) for _, top in tops)


def marked(found: Evaluation, name: str) -> str:
    """Return what a run says of itself under a name of META, "" when it does not say it."""
    if name == "route":
        routes = {str(answer.trace["route"]) for answer in found.run.queries.values() if answer.trace.get("route")}
        return ", ".join(sorted(routes))
    value = found.run.meta.get(name)
    return "" if value is None else str(value)


def texts(workspace: Workspace, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
    """Return the present chunks with these ids; those no longer there are left out."""
    in_place.look_up(workspace, chunk_ids)
    with workspace.read() as connection:
        return corpus.chunks(connection, chunk_ids)


def _blind(workspace: Workspace, who: str) -> bool:
    with workspace.read() as connection:
        return labels_blindly(connection, who)


def _live(workspace: Workspace) -> Yardstick:
    with workspace.read() as connection:
        stands = dict(sorted(_standing.of(workspace, connection).items()))
    found = {query_id: query for query_id, (query, _) in stands.items()}
    grades = {
        query_id: {label.chunk_id: label.relevance for label in query.gold}
        for query_id, query in found.items()
        if query.gold
    }
    if not grades:
        raise Conflict(
            "No label is settled yet, so there is nothing to score against.", hint="Grade some chunks first."
        )
    digest = sha256(b"".join(one for _, one in stands.values())).hexdigest()
    return Yardstick(digest, GoldSet(grades, found, "labels as they stand", None, digest))


def _settled(
    connection: sqlite3.Connection, only: Collection[str] | None, _: object
) -> Mapping[str, tuple[GoldQuery, bytes]]:
    """Return each question with its settled labels, and a hash of both."""
    return {
        one.query.query_id: (one.gold, sha256(json.dumps(_content(one.gold), sort_keys=True).encode()).digest())
        for one in examine(connection, only)
    }


_standing = PerQuestion(_settled)


def _content(query: GoldQuery) -> list[object]:
    labels = [(label.chunk_id, label.relevance, label.stale) for label in query.gold]
    return [query.query_id, query.question, query.unanswerable, dict(query.slice), labels]


@lru_cache(maxsize=4)
def _released(home: str, version: int, digest: str) -> Yardstick:
    """Versions never change, so one read is enough."""
    return Yardstick(digest, GoldSet.load(releases.ensure_folder(Workspace(Path(home)), version)))


@lru_cache(maxsize=8)
def _run(home: str, name: str, digest: str) -> Run:  # noqa: ARG001 - the digest tells runs of one name apart
    with Workspace(Path(home)).read() as connection:
        return runs.run(connection, name)


@lru_cache(maxsize=32)
def _evaluated(against: Yardstick, scored: _Scored, cuts: tuple[int, ...]) -> Evaluation:
    return evaluate(against.gold, scored.run, k=cuts, by=against.gold.facets)


@lru_cache(maxsize=32)
def _compared(scores: Scores, names: tuple[str, ...]) -> Comparison:
    assert scores.baseline is not None
    return compare(replace(scores.run, slices=()), scores.baseline, names)


@lru_cache(maxsize=32)
def _compared_by_slice(scores: Scores, name: str) -> tuple[SliceComparison, ...]:
    assert scores.baseline is not None
    return compare(scores.run, scores.baseline, [name]).slices
