"""What went wrong, question by question, with the action to take; and the unjudged chunks that matter most."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from annotator.model import Chunk
from annotator.services import diagnosis, preview
from annotator.services.diagnosis import ACTIONS, Finding, Hole
from annotator.services.preview import Evaluation, RunInfo
from annotator.ui import blocks, choice, hits, ranking, text
from annotator.ui.blocks import Pair
from annotator.ui.metrics import Chosen, question
from annotator.ui.shell import Session

__all__ = ["holes", "of_question", "show"]

_KINDS = {
    "timed_out": "Timed out", "empty": "Came back empty", "filtered": "Filtered out", "missing": "Missing",
    "buried": "Buried", "stale": "Outdated", "noisy": "Noisy",
}  # fmt: skip
_HEIGHT = 200
_MOST_RUNS = 8
_MOST_HOLES = 100
_HOLES_HEIGHT = 470


def show(session: Session, chosen: Chosen) -> None:
    """Show how often each kind of failure happened and what to do, then its questions, then one of them."""
    found = preview.score(session.workspace, chosen.against, chosen.run, chosen.cuts)
    all_of_it = diagnosis.findings(found, diagnosis.freshness(session.workspace, found))
    counts = diagnosis.count_kinds(all_of_it)
    if not counts:
        text.box(f"Every relevant chunk is among the first {chosen.k}, and nothing outdated.", "good")
        return
    kinds = list(counts)
    kind = choice.one(
        "diagnosis.kinds",
        kinds,
        {
            "What went wrong": [_KINDS[one] for one in kinds],
            "Questions": [f"{counts[one]} of {len(found.per_query)}" for one in kinds],
            "What to do": [ACTIONS[one] for one in kinds],
        },
        height=260,
        config={
            "What went wrong": st.column_config.TextColumn(width=130),
            "Questions": st.column_config.TextColumn(width=90),
        },
    )
    these = [one for one in all_of_it if one.kind == kind]
    _by_slice(found, these, kind)
    asked = _questions(found, these, kind)
    ranking.show(session, found, asked, chosen.k, wrong=of_question(session, chosen, asked))


def of_question(session: Session, chosen: Chosen, query_id: str) -> list[Pair]:
    """Return what went wrong for one question, and what to do about each."""
    found = preview.score(session.workspace, chosen.against, chosen.run, chosen.cuts)
    return [Pair(_KINDS[one.kind], one.action) for one in diagnosis.findings(found) if one.query_id == query_id]


def _by_slice(found: Evaluation, these: Sequence[Finding], kind: str) -> None:
    facets = found.gold.facets
    if not facets:
        return
    with st.expander(f"{_KINDS[kind]}, by slice"):
        rows = []
        for facet in facets:
            hit = Counter(found.gold.facet_value(one.query_id, facet) for one in these)
            everything = Counter(found.gold.facet_value(query_id, facet) for query_id in found.per_query)
            told = (f"{value or '(none)'} {number} of {everything[value]}" for value, number in hit.most_common())
            rows.append((facet.replace("_", " "), " · ".join(told).replace("_", " ")))
        blocks.table(("Facet", "Questions of each value"), rows)


def _questions(found: Evaluation, these: Sequence[Finding], kind: str) -> str:
    shown = these[:200]
    columns: dict[str, Sequence[object]] = {"Id": [one.query_id for one in shown]}
    if any(one.rank for one in shown):
        columns["Best rank"] = [one.rank for one in shown]
    columns["Chunks"] = [", ".join(one.chunk_ids) for one in shown]
    columns["Question"] = [question(found, one.query_id) for one in shown]
    return choice.one(
        f"diagnosis.{kind}",
        [one.query_id for one in shown],
        columns,
        height=_HEIGHT,
        config={
            "Id": st.column_config.TextColumn(width=80),
            "Best rank": st.column_config.NumberColumn(width=80),
            "Chunks": st.column_config.TextColumn(width=320),
        },
    )


def holes(session: Session, chosen: Chosen, stored: Sequence[RunInfo]) -> None:
    """List the unjudged chunks high up in most runs, each with the link to judging it."""
    runs = stored[:_MOST_RUNS]
    if chosen.run not in runs:
        runs = [chosen.run, *runs]
    scored = [preview.score(session.workspace, chosen.against, run, chosen.cuts) for run in runs]
    found = diagnosis.holes(scored, _MOST_HOLES)
    if not found:
        text.box(f"Every chunk among the first {chosen.k} of these runs is judged.", "good")
        return
    text.line(
        [
            f"Chunks among the first {chosen.k} of {blocks.count(len(runs), 'run')} that nobody judged. "
            "Those that could move the figures most come first: high up, and in most runs."
        ]
    )
    known = preview.texts(session.workspace, [one.chunk_id for one in found])
    judge = session.opens("annotate")
    with st.container(height=_HOLES_HEIGHT):
        asked = {one.query_id: question(scored[0], one.query_id) for one in found}
        st.html("".join(_hole(one, known.get(one.chunk_id), asked[one.query_id], len(runs), judge) for one in found))


def _hole(one: Hole, chunk: Chunk | None, asked: str, runs: int, judge: bool) -> str:
    """Write an unjudged chunk with its question, where it came up, and the link to judging just that."""
    place = f"rank {one.best_rank} · {len(one.runs)} of {runs} runs"
    title = chunk.title or chunk.doc_id if chunk else "no longer in the chunk table: nobody can judge it any more"
    link = f'<a class="an-go" href="{html.escape(_address(one))}">Judge</a>' if judge and chunk else ""
    return (
        f'<div class="an-hit"><div class="an-hithead"><b dir="auto">{html.escape(asked or one.query_id)}</b>'
        f'<span class="an-line an-quiet an-note">{html.escape(one.query_id)} · {place}</span>{link}</div>'
        f'<div class="an-hithead"><code>{html.escape(one.chunk_id)}</code>'
        f'<span class="an-line an-quiet" dir="auto">{html.escape(title)}</span></div>'
        f'<div class="an-snippet an-quiet an-start" dir="auto">{html.escape(hits.beginning(chunk))}</div></div>'
    )


def _address(one: Hole) -> str:
    """Write where a hole is judged, seen from the Metrics page."""
    return f"annotate?query={quote(one.query_id, safe='')}&chunk={quote(one.chunk_id, safe='')}"
