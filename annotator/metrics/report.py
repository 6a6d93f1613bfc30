"""What one `evaluate` answers: every run with its comparison and diagnosis, the verdict, and all of it as plain data.

How it looks as text, Markdown or JUnit is `rendering`'s business.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from annotator.metrics.compare import Comparison, Difference, compare
from annotator.metrics.diagnose import Finding, count_kinds, diagnose, reading
from annotator.metrics.evaluation import Evaluation
from annotator.metrics.gate import Check, Rule, Verdict, judge
from annotator.metrics.holes import holes
from annotator.metrics.operations import operations
from annotator.metrics.reasons import Reason, reasons

__all__ = ["Report", "RunReport", "as_json", "document", "report"]

HOLES_LISTED = 50


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run: its evaluation and what follows from it."""

    evaluation: Evaluation
    operations: dict[str, float | None]
    findings: tuple[Finding, ...]
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Report:
    """All runs of one evaluation, and the verdict where there is a gate."""

    runs: tuple[RunReport, ...]
    verdict: Verdict | None
    baseline: Evaluation | None = None

    def reasons(self, check: Check) -> tuple[Reason, ...]:
        """Why a check of the verdict was not kept, query by query, the worst first."""
        evaluation = next(run.evaluation for run in self.runs if run.evaluation.run.name == check.run)
        return reasons(check, evaluation, self.baseline)


def report(
    evaluations: Sequence[Evaluation],
    *,
    baseline: Evaluation | None = None,
    gate: Sequence[Rule] = (),
    drifted: Collection[str] = (),
) -> Report:
    """Compare, diagnose and judge runs that were scored against the same gold set in the same way.

    `drifted`: chunks changed in or gone from the live table since they were judged.
    """
    runs = tuple(
        RunReport(
            evaluation,
            operations(evaluation),
            diagnose(evaluation, drifted),
            compare(evaluation, baseline) if baseline is not None else None,
        )
        for evaluation in evaluations
    )
    return Report(runs, judge(gate, evaluations, baseline) if gate else None, baseline)


def document(result: Report, *, per_query: bool = False) -> dict[str, object]:
    """Give the report as plain data, with the keys that scripts rely on."""
    first = result.runs[0].evaluation
    gold = first.gold
    shown: dict[str, object] = {
        "gold": {
            "name": gold.name,
            "version": gold.version,
            "digest": gold.digest,
            "queries": gold.size,
            "judged_pairs": gold.judged_pairs,
        },
        "k": list(first.k),
        "threshold": first.threshold,
        "level": first.level,
        "runs": [_run(run, per_query) for run in result.runs],
    }
    if result.verdict is not None:
        checks = [_check(check) | _why(result, check) for check in result.verdict.checks]
        shown["gate"] = {"verdict": result.verdict.verdict, "rules": checks}
    return shown


def as_json(result: Report, *, per_query: bool = False) -> str:
    """Print the report as JSON on one line, figures in full precision; indenting takes longer than scoring."""
    return json.dumps(document(result, per_query=per_query), ensure_ascii=False, allow_nan=False) + "\n"


def _run(run: RunReport, per_query: bool) -> dict[str, object]:
    evaluation, unanswerable = run.evaluation, run.evaluation.unanswerable
    known, retrieved = evaluation.judged[f"Judged@{evaluation.k[-1]}"]
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
        "operations": run.operations,
        "bounds": {name: list(ends) for name, ends in evaluation.bounds.items()},
        "unanswerable": {
            "queries": unanswerable.n,
            "returned_nothing": unanswerable.returned_nothing,
            "share_returned_nothing": unanswerable.share_returned_nothing,
            "top_scores": dict(unanswerable.top_scores),
        },
        "diagnosis": [
            {
                "query_id": finding.query_id,
                "kind": finding.kind,
                "chunk_ids": list(finding.chunk_ids),
                "rank": finding.rank,
                "action": finding.action,
            }
            for finding in run.findings
        ],
        "diagnosis_counts": count_kinds(run.findings),
        "reading": reading(evaluation),
        "holes": {
            "count": retrieved - known,
            "first": [
                {"query_id": hole.query_id, "chunk_id": hole.chunk_id, "rank": hole.best_rank}
                for hole in holes([evaluation], HOLES_LISTED)
            ],
        },
        "warnings": list(evaluation.warnings),
    }
    if per_query:
        shown["per_query"] = {query_id: dict(values) for query_id, values in evaluation.per_query.items()}
    if run.comparison is not None:
        shown["comparison"] = _comparison(run.comparison)
    return shown


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "baseline": comparison.baseline,
        "measures": {name: _difference(found) for name, found in comparison.measures.items()},
        "slices": [
            {
                "facet": part.facet,
                "value": part.value,
                "measures": {
                    name: _difference(found) | {"adjusted_p_value": part.adjusted[name]}
                    for name, found in part.measures.items()
                },
            }
            for part in comparison.slices
        ],
    }


def _difference(found: Difference) -> dict[str, object]:
    return asdict(found) | {"interval": list(found.interval), "too_few": found.too_few}


def _check(check: Check) -> dict[str, object]:
    return {
        "rule": str(check.rule),
        "scope": check.rule.scope,
        "measure": check.rule.measure,
        "severity": check.rule.severity,
        "run": check.run,
        "value": check.value,
        "limit": check.rule.limit,
        "n": check.n,
        "outcome": check.outcome,
        "reason": check.reason,
    }


def _why(result: Report, check: Check) -> dict[str, object]:
    return {
        "queries": [
            {"query_id": one.query_id, "value": one.now, "baseline": one.before, "why": one.why}
            for one in result.reasons(check)
        ]
    }
