"""One question in detail: the ranked list of one run or two beside the gold labels, each with its grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from annotator.model import Chunk, GoldLabel
from annotator.services import preview
from annotator.services.gate import lost_chunks
from annotator.services.preview import Evaluation, RankedChunk
from annotator.ui import blocks, hits, pools, shell, text, trace
from annotator.ui.blocks import Pair
from annotator.ui.shell import Session

__all__ = ["show"]

_DEPTH = 20
_HEIGHT = 520


def show(
    session: Session,
    found: Evaluation,
    query_id: str,
    k: int,
    *,
    before: Evaluation | None = None,
    wrong: Sequence[Pair] = (),
) -> None:
    """Show what the run found for a question, what the run `before` found, and what they should have found.

    `wrong` says in words what went wrong and what to do.
    """
    query = found.gold.details.get(query_id)
    text.question(query.question if query else query_id)
    if wrong:
        blocks.pairs(wrong)
    trace.show(found, query_id)
    ranked = found.ranked(query_id, _DEPTH)
    labels = found.gold.labels(query_id)
    older = before.ranked(query_id, _DEPTH) if before else ()
    ids = [one.chunk_id for one in (*ranked, *older)] + [one.chunk_id for one in labels]
    known = preview.texts(session.workspace, [*ids, *trace.told(found, query_id)])
    holes = sum(one.grade is None for one in ranked[:k])
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        text.line([f"{holes} of the first {len(ranked[:k])} not judged" if holes else f"the first {k} are all judged"])
        label = "Judge them in Annotate" if holes else "Open in Annotate"
        if session.opens("annotate") and st.button(label, key=f"ranking.open:{query_id}"):
            st.switch_page(shell.page("annotate"), query_params={"query": query_id})
    columns = iter(st.columns(3 if before else 2, gap="medium"))
    if before:
        with next(columns):
            _list(f"Before: {before.run.name}", older, known, k)
    with next(columns):
        _list(f"Now: {found.run.name}" if before else "What the run found", ranked, known, k)
    with next(columns):
        blocks.heading("The gold labels", "best first, and where the run has them")
        places = _places(found, query_id, k)
        with st.container(height=_HEIGHT):
            st.html("".join(_label(one, known.get(one.chunk_id), places) for one in labels) or "<p>None.</p>")
    trace.lists(found, query_id, known)
    pools.of_question(session, query_id, found.gold.grades.get(query_id, {}))


def _list(name: str, ranked: Sequence[RankedChunk], known: Mapping[str, Chunk], k: int) -> None:
    blocks.heading(name, f"the first {len(ranked)}")
    with st.container(height=_HEIGHT):
        st.html("".join(_hit(one, known.get(one.chunk_id), k) for one in ranked) or "<p>Nothing.</p>")


def _places(found: Evaluation, query_id: str, k: int) -> dict[str, str]:
    """Where each chunk of the gold set stands in the run; for a relevant one outside the first k, what became of it."""
    places = {one.chunk_id: f"found at {one.rank}" for one in found.ranked(query_id)}
    if query_id in found.relevant:
        places |= dict(lost_chunks(found, None, query_id, k))
    return places


def _hit(one: RankedChunk, chunk: Chunk | None, k: int) -> str:
    beyond = " an-beyond" if one.rank > k else ""
    score = "" if one.score is None else f"{one.score:.4g}"
    return hits.row(f"{one.rank}", hits.badge(one.grade), one.chunk_id, chunk, score, css=beyond)


def _label(one: GoldLabel, chunk: Chunk | None, places: Mapping[str, str]) -> str:
    place = places.get(one.chunk_id, "not found" if one.relevance else "")
    return hits.row("", hits.badge(one.relevance, stale=one.stale), one.chunk_id, chunk, place, one.reason)
