"""What went wrong, question by question, with the action to take; and the unjudged chunks that matter most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from annotator.services import diagnosis, preview
from annotator.services.diagnosis import ACTIONS, Finding
from annotator.services.preview import Evaluation, RunInfo
from annotator.ui import blocks, choice, ranking, shell, text
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
    """List the unjudged chunks high up in most runs, and lead to judging one."""
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
    ids = [f"{one.query_id}\n{one.chunk_id}" for one in found]
    picked = choice.one(
        "metrics.holes",
        ids,
        {
            "Id": [one.query_id for one in found],
            "Chunk": [one.chunk_id for one in found],
            "Best rank": [one.best_rank for one in found],
            "Runs": [f"{len(one.runs)} of {len(runs)}" for one in found],
            "Question": [question(scored[0], one.query_id) for one in found],
        },
        height=330,
        config={
            "Id": st.column_config.TextColumn(width=80),
            "Chunk": st.column_config.TextColumn(width=280),
            "Best rank": st.column_config.NumberColumn(width=80),
            "Runs": st.column_config.TextColumn(width=70),
        },
    )
    query_id, chunk_id = picked.split("\n")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        text.question(question(scored[0], query_id) or query_id)
        if session.opens("annotate") and st.button("Judge it in Annotate", type="primary", key="holes.judge"):
            # the search of the Annotate page comes up with this chunk
            st.session_state.update(
                {f"tab:{query_id}": "Search", f"search:{query_id}": chunk_id, f"mode:{query_id}": "id"}
            )
            st.switch_page(shell.page("annotate"), query_params={"query": query_id})
    chunk = preview.texts(session.workspace, [chunk_id]).get(chunk_id)
    if chunk is None:
        text.box("This chunk is no longer in the chunk table: nobody can judge it any more.", "warn")
        return
    text.line([chunk_id, chunk.title or chunk.doc_id])
    text.marked(chunk.text[:2000])
