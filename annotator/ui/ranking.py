"""One question of a run in detail: the ranked list beside the gold labels, each with its grade."""

from __future__ import annotations

import html

import streamlit as st

from annotator.model import GRADES, Chunk, GoldLabel
from annotator.services import preview
from annotator.services.preview import Evaluation, RankedChunk
from annotator.ui import blocks, shell, text
from annotator.ui.shell import Session

__all__ = ["show"]

_DEPTH = 20
_HEIGHT = 520


def show(session: Session, found: Evaluation, query_id: str, k: int) -> None:
    """Show what the run found for a question, and what it should have found."""
    query = found.gold.details.get(query_id)
    text.question(query.question if query else query_id)
    ranked = found.ranked(query_id, _DEPTH)
    labels = found.gold.labels(query_id)
    known = preview.texts(session.workspace, [one.chunk_id for one in ranked] + [one.chunk_id for one in labels])
    holes = sum(one.grade is None for one in ranked[:k])
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        text.line([f"{holes} of the first {len(ranked[:k])} not judged" if holes else f"the first {k} are all judged"])
        label = "Judge them in Annotate" if holes else "Open in Annotate"
        if st.button(label, key=f"ranking.open:{query_id}"):
            st.switch_page(shell.page("annotate"), query_params={"query": query_id})
    left, right = st.columns(2, gap="medium")
    with left:
        blocks.heading("What the run found", f"the first {len(ranked)}")
        with st.container(height=_HEIGHT):
            st.html("".join(_hit(one, known.get(one.chunk_id), k) for one in ranked) or "<p>Nothing.</p>")
    with right:
        blocks.heading("The gold labels", "best first, with the rank the run gave them")
        ranks = {one.chunk_id: one.rank for one in found.ranked(query_id)}
        with st.container(height=_HEIGHT):
            st.html("".join(_label(one, known.get(one.chunk_id), ranks) for one in labels) or "<p>None.</p>")


def _hit(one: RankedChunk, chunk: Chunk | None, k: int) -> str:
    beyond = " an-beyond" if one.rank > k else ""
    score = "" if one.score is None else f"{one.score:.4g}"
    return _row(f"{one.rank}", _badge(one.grade), one.chunk_id, chunk, score, css=beyond)


def _label(one: GoldLabel, chunk: Chunk | None, ranks: dict[str, int]) -> str:
    rank = ranks.get(one.chunk_id)
    place = f"found at {rank}" if rank else "not found" if one.relevance else ""
    return _row("", _badge(one.relevance, stale=one.stale), one.chunk_id, chunk, place, one.reason)


def _row(rank: str, badge: str, chunk_id: str, chunk: Chunk | None, note: str, reason: str = "", css: str = "") -> str:
    title = chunk.title or chunk.doc_id if chunk else "no longer in the chunk table"
    start = " ".join(chunk.text[:600].split())[:200] if chunk else ""
    said = f'<div class="an-line" dir="auto">{html.escape(reason)}</div>' if reason else ""
    return (
        f'<div class="an-hit{css}"><div class="an-hithead">'
        f"{f'<span class=an-rank>{rank}</span>' if rank else ''}{badge}"
        f'<code>{html.escape(chunk_id)}</code><span class="an-line an-quiet an-note">{html.escape(note)}</span></div>'
        f'<div class="an-line an-quiet" dir="auto">{html.escape(title)}</div>{said}'
        f'<div class="an-snippet an-quiet an-start" dir="auto">{html.escape(start)}</div></div>'
    )


def _badge(grade: int | None, *, stale: bool = False) -> str:
    if grade is None:
        return '<span class="an-badge">– not judged</span>'
    shade = max(0, min(3, grade))
    word = "stale" if stale else GRADES[shade]
    return f'<span class="an-badge an-g{shade}">{grade} {word}</span>'
