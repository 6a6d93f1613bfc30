"""The gate on screen: what its rules say of the chosen run and why, the report to take along, and the rules."""

from __future__ import annotations

import streamlit as st

from annotator.services import gate
from annotator.services.gate import Check, Report
from annotator.services.preview import MEASURES
from annotator.ui import blocks, text
from annotator.ui.metrics import Chosen
from annotator.ui.shell import Session

__all__ = ["rule_words", "show"]

_VERDICTS = {
    "release": ("good", "Ship: every rule is kept."),
    "warn": ("warn", "Ship with care: nothing blocks, but some rules warn."),
    "block": ("bad", "Block: at least one rule that must hold is not kept."),
}
_OUTCOMES = {"pass": "✓ kept", "warn": "! warns", "block": "✕ blocks", "too_small": "? too small"}
_OPERATION = {
    "latency_p50_ms": "Median of latency (ms)",
    "latency_p95_ms": "95th percentile of latency (ms)",
    "timeout_rate": "Share that timed out",
    "empty_rate": "Share that came back empty",
    "stale_hit_rate": "Share with an outdated chunk",
    "filtered_gold_rate": "Share with a relevant chunk filtered out",
}
_REASONS = 10
_ASK = "An admin writes them."


def show(session: Session, chosen: Chosen) -> None:
    """Show the verdict, every rule, the questions behind those that were not kept, and the rules as written."""
    rules = gate.text(session.workspace)
    if rules.strip():
        with st.spinner("Judging…"):
            report = gate.judged(session.workspace, chosen.against, chosen.run, chosen.baseline, rules)
        _verdict(report)
    else:
        writes = "Change the example below and put it in force." if session.may("change the gate") else _ASK
        text.box(f"No gate is set: rules that say what a run must keep before it may ship. {writes}")
    _rules(session, rules)


def _verdict(report: Report) -> None:
    verdict = report.verdict
    assert verdict is not None  # a gate has at least one rule
    kind, words = _VERDICTS[verdict.verdict]
    run = report.runs[0].evaluation.run.name
    against = f" against {report.baseline.run.name}" if report.baseline else ""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        text.box(f"{words}\n{run}{against}", kind)
        st.download_button(
            "Download the report", gate.as_markdown(report), "gate.md", "text/markdown", key="gate.report",
            on_click="ignore",
        )  # fmt: skip
    # what decides comes first
    worst_first = sorted(verdict.checks, key=lambda check: ("block", "warn", "too_small", "pass").index(check.outcome))
    blocks.table(
        ("", "Rule", "For", "Found"),
        # what follows the semicolon repeats the limit in the words of the file
        [
            (_OUTCOMES[check.outcome], rule_words(check), _scope(check), check.reason.partition(";")[0])
            for check in worst_first
        ],
    )
    for check in worst_first:
        _why(report, check)


def _why(report: Report, check: Check) -> None:
    found = report.reasons(check)
    if not found:
        return
    blocks.heading(f"Behind it: {rule_words(check)}", _scope(check))
    compared = found[0].before is not None and report.baseline is not None
    before = (report.baseline.run.name,) if compared and report.baseline else ()
    blocks.table(
        ("Id", "Question", *before, check.run, "What became of its chunks"),
        [
            (
                one.query_id,
                one.question,
                *([f"{one.before or 0:.3f}"] if compared else []),
                f"{one.now:.3f}",
                one.why.replace("; ", "\n"),
            )
            for one in found[:_REASONS]
        ],
        figures=range(2, 4 if compared else 3),
    )
    if len(found) > _REASONS:
        text.line([f"and {len(found) - _REASONS} more questions"])


def rule_words(check: Check) -> str:
    """Write a rule for people: `Recall@10 must not fall`."""
    rule = check.rule
    base, at, cut = rule.measure.partition("@")
    named = f"{MEASURES[base].words}{at}{cut}" if base in MEASURES else _OPERATION[base]
    if base not in MEASURES and cut:
        named += f" among the first {cut}"
    limits = {
        "min": f"at least {rule.limit:g}",
        "max": f"at most {rule.limit:g}",
        "max_drop": f"may fall by {rule.limit:g} at most" if rule.limit else "must not fall",
        "max_increase": f"may rise by {rule.limit:g} at most" if rule.limit else "must not rise",
    }
    return f"{named} {limits[rule.kind]}"


def _scope(check: Check) -> str:
    return ", ".join(f"{facet}: {value}" for facet, value in check.rule.where.items()).replace("_", " ") or "all"


def _rules(session: Session, rules: str) -> None:
    if not session.may("change the gate"):
        if rules.strip():
            with st.expander("The rules as written"):
                text.marked(rules, css="an-text an-code")
        return
    with st.expander("The rules as written" if rules.strip() else "An example", expanded=not rules.strip()):
        written = st.text_area(
            "Rules", rules or gate.EXAMPLE, height=260, key=f"gate.text:{hash(rules)}", label_visibility="collapsed",
            max_chars=gate.LONGEST,
        )  # fmt: skip
        if st.button("Put these rules in force", key="gate.save", disabled=written == rules):
            gate.set_text(session.workspace, session.who, written, seen=rules)
            st.rerun()
