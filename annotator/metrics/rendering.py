"""A report for people and for CI: text for a terminal, Markdown for a pull request, JUnit for a build server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from annotator.errors import one_line
from annotator.metrics.compare import Comparison, Difference, p_figure
from annotator.metrics.diagnose import ACTIONS, count_kinds, reading
from annotator.metrics.evaluation import Evaluation
from annotator.metrics.gate import Check, Verdict
from annotator.metrics.measures import parse
from annotator.metrics.reasons import Reason
from annotator.metrics.report import Report, RunReport

__all__ = ["as_junit", "as_markdown", "as_text"]

Row = Sequence[str]

REASONS_SHOWN = 10
"""Queries named under a rule that was not kept; JSON has all."""

_MEANS_SOMETHING: Final = re.compile(r"[\\`*_{}\[\]<>#|@!~$&]")
_CALLS: Final = re.compile(r"(?<!\w)@(?=\w)|((?<!\w)|/[\w.-]+)#(?=[0-9])")
"""What calls a person or an issue although it is escaped (`@name`, `#1`, `owner/name#1`, not `R@10` or `doc#1`)."""


def as_text(result: Report) -> str:
    """Print the report for a terminal, figures with 4 decimals."""
    lines = [_gold_line(result)]
    for run in result.runs:
        evaluation = run.evaluation
        lines += ["", f"Run {evaluation.run.name}", f"  {_counts_line(evaluation)}"]
        lines += _aligned(_measure_rows(evaluation))
        for notes in (_notes(run), _slice_lines(evaluation)):
            lines += [f"  {note}" for note in notes]
        if run.comparison:
            lines += [f"  against {run.comparison.baseline}", *_aligned(_difference_rows(run.comparison))]
    if result.verdict:
        lines += ["", f"Gate: {result.verdict.verdict}"]
        lines += _aligned([(check.outcome, *_check_cells(check)) for check in result.verdict.checks])
        for check in result.verdict.checks:
            lines += _why_lines(result, check, "    ")
    return "".join(f"{one_line(line)}\n" for line in lines)


def as_markdown(result: Report) -> str:
    """Print the report as Markdown, ready for a pull-request comment."""
    lines = []
    if result.verdict:
        lines += [f"## Retrieval gate: {result.verdict.verdict}", ""]
        rows = [(f"**{check.outcome}**", *map(_cell, _check_cells(check))) for check in result.verdict.checks]
        lines += [*_table(("outcome", "run", "rule", "scope", "reason"), rows), ""]
        for check in result.verdict.checks:
            lines += _why_table(result, check)
    lines += [_cell(_gold_line(result)), ""]
    for run in result.runs:
        evaluation = run.evaluation
        lines += [f"### {_cell(evaluation.run.name)}", "", _cell(_counts_line(evaluation)), ""]
        lines += _table(("measure", "value", "holes"), [tuple(map(_cell, row)) for row in _measure_rows(evaluation)])
        lines += ["", *(f"- {_cell(note)}" for note in (*_notes(run), *_slice_lines(evaluation))), ""]
        if run.comparison:
            rows = [tuple(map(_cell, row)) for row in _difference_rows(run.comparison)]
            lines += [f"Against {_cell(run.comparison.baseline)}:", "", *_table(DIFFERENCE_HEAD, rows[1:]), ""]
    return "\n".join(lines).rstrip() + "\n"


def as_junit(result: Report, verdict: Verdict) -> str:
    """Print the verdict as JUnit XML, one test case per rule and run; what only warns is skipped, not failed."""
    from xml.sax.saxutils import escape, quoteattr

    def attribute(text: str) -> str:
        return quoteattr(one_line(text))

    cases = []
    for check in verdict.checks:
        name = attribute(f"{check.rule} [{check.rule.scope}]")
        lines = [f"  <testcase classname={attribute(check.run)} name={name}>"]
        if check.outcome == "block":
            said = "\n".join(map(one_line, [check.reason, *_why_lines(result, check, "")]))
            lines.append(f"    <failure message={attribute(check.reason)}>{escape(said)}</failure>")
        elif check.outcome != "pass":
            lines.append(f"    <skipped message={attribute(f'{check.outcome}: {check.reason}')}/>")
        cases.append("\n".join([*lines, "  </testcase>"]))
    failures = sum(check.outcome == "block" for check in verdict.checks)
    skipped = sum(check.outcome in ("warn", "too_small") for check in verdict.checks)
    head = f'<testsuite name="retrieval gate" tests="{len(cases)}" failures="{failures}" skipped="{skipped}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def _why_lines(result: Report, check: Check, indent: str) -> Iterator[str]:
    found = result.reasons(check)
    if found:
        yield f"{indent}{check.run}, {check.rule}, {check.rule.scope}:"
    for one in found[:REASONS_SHOWN]:
        before = "" if one.before is None else f"{one.before:.4f} to "
        why = f": {one.why}" if one.why else ""
        yield f"{indent}  {one.query_id} {before}{one.now:.4f}{why}"
    if len(found) > REASONS_SHOWN:
        yield f"{indent}  and {len(found) - REASONS_SHOWN} more queries"


def _why_table(result: Report, check: Check) -> Iterator[str]:
    found = result.reasons(check)
    if not found:
        return
    yield from (f"**{_cell(str(check.rule))}**, {_cell(check.rule.scope)}: the queries behind it", "")
    compared = found[0].before is not None and result.baseline is not None
    name = result.baseline.run.name if compared and result.baseline else ""
    head = ("query", "question", *([_cell(name)] if compared else []), _cell(check.run), "why")
    yield from _table(head, [_why_cells(one, compared) for one in found[:REASONS_SHOWN]])
    if len(found) > REASONS_SHOWN:
        yield from ("", f"And {len(found) - REASONS_SHOWN} more queries.")
    yield ""


def _why_cells(one: Reason, compared: bool) -> Row:
    before = [f"{one.before:.4f}" if one.before is not None else ""] if compared else []
    return tuple(_cell(cell) for cell in (one.query_id, one.question, *before, f"{one.now:.4f}", one.why))


def _gold_line(result: Report) -> str:
    evaluation = result.runs[0].evaluation
    gold = evaluation.gold
    version = f" v{gold.version}" if gold.version is not None else ""
    return (
        f"Gold {gold.name}{version}: {gold.size} queries, {gold.judged_pairs} judged pairs, {gold.digest[:12]}; "
        f"relevant from grade {evaluation.threshold}, level {evaluation.level}"
    )


def _counts_line(evaluation: Evaluation) -> str:
    counts = evaluation.counts
    return (
        f"{counts['judged']} judged queries: {counts['answered']} answered, {counts['missing']} missing (count 0); "
        f"{counts['no_relevant']} without a relevant chunk (count 0); {counts['not_in_gold']} not in the gold set"
    )


def _measure_rows(evaluation: Evaluation) -> list[Row]:
    rows: list[Row] = []
    for name, value in evaluation.measures.items():
        beside = ""
        if name in evaluation.judged:
            known, retrieved = evaluation.judged[name]
            beside = f"{known} of {retrieved} chunks"
        elif name in evaluation.bounds:
            low, high = evaluation.bounds[name]
            beside = f"{low:.4f} … {high:.4f} as holes are graded" if high - low > 5e-5 else ""
        rows.append((parse(name).screen_name, f"{value:.4f}", beside))
    return rows


def _notes(run: RunReport) -> Iterator[str]:
    unanswerable = run.evaluation.unanswerable
    if unanswerable.n:
        yield f"unanswerable: {unanswerable.returned_nothing} of {unanswerable.n} queries got nothing"
    figures = [f"{name} {value:.4g}" for name, value in run.operations.items() if value is not None]
    yield f"operation: {', '.join(figures)}"
    if reading(run.evaluation):
        yield reading(run.evaluation)
    for kind, count in count_kinds(run.findings).items():
        yield f"{kind}: {count} queries. {ACTIONS[kind]}"


def _slice_lines(evaluation: Evaluation) -> Iterator[str]:
    for part in evaluation.slices:
        means = ", ".join(f"{parse(name).screen_name} {value:.4f}" for name, value in part.measures.items())
        yield f"{part.facet}={part.value or '(none)'}, n={part.n}: {means}"


DIFFERENCE_HEAD = ("measure", "baseline", "candidate", "delta", "95 % interval", "p", "wins/losses/ties", "n")


def _difference_rows(comparison: Comparison) -> list[Row]:
    rows: list[Row] = [DIFFERENCE_HEAD]
    rows += [_difference_row(parse(name).screen_name, found) for name, found in comparison.measures.items()]
    for part in comparison.slices:
        for name, found in part.measures.items():
            called = f"{part.facet}={part.value or '(none)'} {parse(name).screen_name}"
            cells = list(_difference_row(called, found))
            cells[5] = f"{p_figure(part.adjusted[name])} (Holm)"
            rows.append(cells)
    return rows


def _difference_row(called: str, found: Difference) -> Row:
    low, high = found.interval
    return (
        called,
        f"{found.baseline:.4f}",
        f"{found.candidate:.4f}",
        f"{found.delta:+.4f}",
        f"{low:+.4f} … {high:+.4f}",
        p_figure(found.p_value),
        f"{found.wins}/{found.losses}/{found.ties}",
        f"{found.n}, too few for any p < 0.05" if found.too_few else str(found.n),
    )


def _check_cells(check: Check) -> Row:
    return check.run, str(check.rule), check.rule.scope, check.reason


def _aligned(rows: Sequence[Row]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        ("    " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def _table(head: Row, rows: Sequence[Row]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _cell(text: str) -> str:
    """Text that means itself in Markdown: ids and facet values are other people's words."""
    plain = one_line(" ".join(text.split()))
    return _MEANS_SOMETHING.sub(r"\\\g<0>", _CALLS.sub("\\g<0>\u200b", plain))
