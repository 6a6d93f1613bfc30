"""What the retriever did for one question: its way, filters, rewriting and time, its candidates and what it filtered
out, each with its gold grade."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import streamlit as st

from annotator.model import GRADES, Chunk, RunQuery
from annotator.services.preview import Evaluation
from annotator.ui import blocks, hits, text
from annotator.ui.blocks import Pair

__all__ = ["MOST", "lists", "show", "told"]

MOST = 100
"""Candidates and filtered chunks shown."""
_HEIGHT = 320
_NAMES = {"route": "Route", "rewritten_query": "Rewritten query", "filters": "Filters", "reranker": "Reranker"}
_OWN = ("latency_ms", "timed_out")
_LONGEST = 300
_LONGEST_NAME = 60
_OTHERS = 12
_LOST = 5


def told(found: Evaluation, query_id: str) -> list[str]:
    """Return the ids of the chunks that `lists` shows."""
    answer = found.run.queries.get(query_id, RunQuery(query_id))
    return [*answer.candidates[:MOST], *(chunk_id for chunk_id, _ in answer.filtered_out[:MOST])]


def show(found: Evaluation, query_id: str) -> None:
    """Show what is told of the way to the results, and relevant chunks that a filter took; nothing without a trace."""
    answer = found.run.queries.get(query_id, RunQuery(query_id))
    if not (answer.trace or answer.candidates or answer.filtered_out):
        return
    blocks.heading("What the retriever did")
    blocks.pairs(_facts(answer))
    grades = found.gold.grades.get(query_id, {})
    lost = [(one, by) for one, by in answer.filtered_out if grades.get(one, 0) > 0]
    said = [
        f"Filtered out{f' by {_cut(by, _LONGEST_NAME)}' if by else ''}: {one} ({_grade(grades[one])})"
        for one, by in lost[:_LOST]
    ]
    if len(lost) > _LOST:
        said.append(f"and {len(lost) - _LOST} more relevant chunks")
    if said:
        text.box("\n".join(said), "warn")


def lists(found: Evaluation, query_id: str, known: Mapping[str, Chunk]) -> None:
    """Show candidates and filtered chunks with their gold grades; nothing where none are told."""
    answer = found.run.queries.get(query_id, RunQuery(query_id))
    if not (answer.candidates or answer.filtered_out):
        return
    grades = found.gold.grades.get(query_id, {})
    ranks = {chunk_id: rank for rank, chunk_id in enumerate(answer.chunk_ids, 1)}
    left, right = st.columns(2, gap="medium")
    with left:
        rows = [
            hits.row(
                f"{rank}", hits.badge(grades.get(one)), one, known.get(one),
                f"returned at {ranks[one]}" if one in ranks else "not returned",
            )
            for rank, one in enumerate(answer.candidates[:MOST], 1)
        ]  # fmt: skip
        _list("Candidates", len(answer.candidates), "before the final list", rows)
    with right:
        rows = [
            hits.row("", hits.badge(grades.get(one)), one, known.get(one), _cut(by, _LONGEST_NAME))
            for one, by in answer.filtered_out[:MOST]
        ]
        _list("Filtered out", len(answer.filtered_out), "with the filter that did", rows)


def _grade(grade: int) -> str:
    return f"{grade} {GRADES[max(0, min(3, grade))]}"


def _facts(answer: RunQuery) -> list[Pair]:
    trace = answer.trace
    facts = [Pair(name, _said(trace[key])) for key, name in _NAMES.items() if trace.get(key)]
    took = trace.get("latency_ms")
    late = trace.get("timed_out") is True
    if isinstance(took, int | float) or late:
        time = f"{took:,.{0 if took >= 10 else 1}f} ms" if isinstance(took, int | float) else ""
        facts.append(Pair("Time", ", ".join(part for part in (time, "ran out of time" if late else "") if part)))
    others = sorted(set(trace) - set(_NAMES) - set(_OWN))
    facts += [Pair(_cut(key.replace("_", " "), _LONGEST_NAME), _said(trace[key])) for key in others[:_OTHERS]]
    if len(others) > _OTHERS:
        facts.append(Pair("and", f"{len(others) - _OTHERS:,} more in the file of the run"))
    return facts


def _said(value: object) -> str:
    if isinstance(value, Mapping) and not any(isinstance(one, Mapping | list) for one in value.values()):
        said = " · ".join(f"{name}: {_said(one)}" for name, one in value.items())
    else:
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _cut(said, _LONGEST)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _list(name: str, number: int, what: str, rows: Sequence[str]) -> None:
    shown = f"{number:,}, {what}" if number <= MOST else f"the first {MOST} of {number:,}, {what}"
    blocks.heading(name, shown if number else "")
    with st.container(height=_HEIGHT if number else "content"):
        st.html("".join(rows) or "<p>None told.</p>")
