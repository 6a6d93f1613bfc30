"""An evaluation as a document: the JSON that scripts read and the text that people read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from annotator.gold.goldset import GoldSet
from annotator.metrics.evaluation import Evaluation
from annotator.metrics.measures import parse

__all__ = ["as_json", "as_text", "document"]


def document(evaluations: Sequence[Evaluation], *, per_query: bool = False) -> dict[str, object]:
    """The result as plain data; all evaluations are against the same gold set with the same settings."""
    first = evaluations[0]
    return {
        "gold": _gold(first.gold),
        "k": list(first.k),
        "threshold": first.threshold,
        "level": first.level,
        "runs": [_run(evaluation, per_query) for evaluation in evaluations],
    }


def as_json(result: dict[str, object]) -> str:
    """Print the document as JSON, figures in full precision."""
    return json.dumps(result, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def as_text(evaluations: Sequence[Evaluation]) -> str:
    """Print the result for a terminal, figures with 4 decimals."""
    gold = evaluations[0].gold
    version = f" v{gold.version}" if gold.version is not None else ""
    lines = [f"Gold {gold.name}{version}: {gold.size} queries, {gold.judged_pairs} judged pairs, {gold.digest[:12]}"]
    for evaluation in evaluations:
        lines += ["", *_run_lines(evaluation)]
    return "\n".join(lines) + "\n"


def _gold(gold: GoldSet) -> dict[str, object]:
    return {
        "name": gold.name,
        "version": gold.version,
        "digest": gold.digest,
        "queries": gold.size,
        "judged_pairs": gold.judged_pairs,
    }


def _run(evaluation: Evaluation, per_query: bool) -> dict[str, object]:
    unanswerable = evaluation.unanswerable
    shown: dict[str, object] = {
        "name": evaluation.run.name,
        "digest": evaluation.run.digest,
        "meta": dict(evaluation.run.meta),
        "counts": dict(evaluation.counts),
        "measures": dict(evaluation.measures),
        "judged": {name: list(fraction) for name, fraction in evaluation.judged.items()},
        "slices": [
            {"facet": part.facet, "value": part.value, "n": part.n, "measures": dict(part.measures)}
            for part in evaluation.slices
        ],
        "bounds": {name: list(ends) for name, ends in evaluation.bounds.items()},
        "unanswerable": {
            "queries": unanswerable.n,
            "returned_nothing": unanswerable.returned_nothing,
            "top_scores": dict(unanswerable.top_scores),
        },
        "warnings": list(evaluation.warnings),
    }
    if per_query:
        shown["per_query"] = {query_id: dict(values) for query_id, values in evaluation.per_query.items()}
    return shown


def _run_lines(evaluation: Evaluation) -> Iterator[str]:
    counts = evaluation.counts
    yield f"Run {evaluation.run.name}"
    yield (
        f"  {counts['judged']} judged queries: {counts['answered']} answered, {counts['missing']} missing (count 0); "
        f"{counts['no_relevant']} without a relevant chunk (count 0); {counts['not_in_gold']} not in the gold set"
    )
    for name, value in evaluation.measures.items():
        yield f"  {parse(name).screen_name:<14} {value:.4f}{_beside(evaluation, name)}"
    if evaluation.unanswerable.n:
        yield f"  unanswerable   {evaluation.unanswerable.returned_nothing} of {evaluation.unanswerable.n} got nothing"
    for part in evaluation.slices:
        means = "  ".join(f"{parse(name).screen_name} {value:.4f}" for name, value in part.measures.items())
        yield f"  {part.facet}={part.value or '(none)'} n={part.n}  {means}"


def _beside(evaluation: Evaluation, name: str) -> str:
    if name in evaluation.judged:
        known, retrieved = evaluation.judged[name]
        return f"   {known} of {retrieved} chunks"
    if name in evaluation.bounds:
        low, high = evaluation.bounds[name]
        return f"   {low:.4f} … {high:.4f} as holes are graded" if high - low > 5e-5 else ""
    return ""
