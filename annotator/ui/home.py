"""The Home page's parts: what to do next, how far the work is, what kinds of question are missing."""

from __future__ import annotations

import streamlit as st

from annotator.services import team
from annotator.services.overview import Home
from annotator.ui import blocks, charts, shell, text
from annotator.ui.blocks import Tile
from annotator.ui.shell import Session

__all__ = ["coverage", "next_step", "progress", "standing", "workspace"]

_LABELS = {
    "review": "Go to Review",
    "annotate": "Continue labelling",
    "queries": "Go to Queries",
    "gold_sets": "Go to Gold sets",
    "metrics": "Go to Metrics",
    "chunks": "Go to Chunks",
    "settings": "Go to Settings",
}
_GAPS_SHOWN = 6


def next_step(session: Session, found: Home) -> None:
    """Say in one sentence what to do next, with the one button that leads there."""
    step = found.next_step
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(width="stretch"):
            blocks.lead("What to do next", step.sentence)
        if st.button(
            _LABELS[step.page], type="primary", key="next", icon=":material/arrow_forward:", icon_position="right"
        ):
            st.switch_page(shell.page(step.page), query_params={"query": step.query_id} if step.query_id else None)
        labels = session.may("grade chunks")
        if labels and step.page != "annotate" and found.next_query and st.button("Continue labelling", key="continue"):
            st.switch_page(shell.page("annotate"))  # which gives out what nobody else has by then


def standing(session: Session) -> None:
    """Tell who may change nothing here so, and whom to ask."""
    if not session.may("grade chunks"):
        ask = team.whom_to_ask(session.workspace, session.who, signing_in=session.signs_in)
        text.box(f"You are here as {session.person.role}: you can look around, and change nothing. {ask}")


def progress(session: Session, found: Home) -> None:
    """Show my queue, for who has one, and how far the questions are."""
    states, mine = found.queries, found.queue
    working = states["open"] + states["complete"] + states["disputed"]
    shown = [
        Tile("Complete", f"{states['complete']:,} of {working:,}", f"{found.progress:.0%} of the questions are done"),
        Tile("Drafts", f"{states['draft']:,}", "questions still being written"),
    ]
    disputed = states["disputed"]
    if session.may("grade chunks"):
        used = f"need you, {mine['in use']:,} more are in use" if mine.get("in use") else "questions need you"
        shown = [
            Tile("My queue", f"{mine.get('needs me', 0):,}", used),
            Tile("Needs others", f"{mine.get('needs others', 0):,}", "you are done, others are not"),
            *shown,
        ]
        if not session.may("see the labels of others"):
            disputed = mine.get("disputed", 0)
    shown.insert(-1, Tile("In dispute", f"{disputed:,}", "people differ, a reviewer decides"))
    blocks.tiles(shown)


def coverage(found: Home) -> None:
    """Show which kinds of question there are against what is wanted, and in words what is missing."""
    blocks.heading("Kinds of question", blocks.count(found.coverage.total, "question") + " counted")
    charts.coverage(found.coverage.counts, found.targets)
    gaps = [gap.message for gap in found.coverage.gaps]
    if gaps:
        more = f"; and {len(gaps) - _GAPS_SHOWN} more" if len(gaps) > _GAPS_SHOWN else ""
        text.box(f"Short of what is wanted: {'; '.join(gaps[:_GAPS_SHOWN])}{more}.", "warn")
    elif found.coverage.total:
        text.box("Every kind of question that is wanted is there.", "good")
    unset = {facet.replace("_", " "): number for facet, number in found.coverage.unset.items() if number}
    if unset:
        listed = ", ".join(f"{facet} ({blocks.count(number, 'question')})" for facet, number in unset.items())
        text.line([f"Without a value: {listed}."])


def workspace(found: Home) -> None:
    """Show the state of the chunk table, the latest version and the latest run."""
    blocks.heading("Workspace")
    synced = f"chunks, synced {blocks.moment(found.last_sync.finished_at)}" if found.last_sync else "never synced"
    size, state = f"{found.chunks:,}", synced if found.connected else "no table is connected"
    if found.in_place:
        size = f"about {found.about:,}" if found.about is not None else "in place"
        state = f"chunks in the live table; {found.chunks:,} looked at"
    drift = "judged chunks changed or vanished" if found.drift else "every judged chunk is as it was judged"
    shown = [
        Tile("Chunk table", size, state),
        Tile("Drift", f"{found.drift:,}", drift),
    ]
    if (version := found.latest_version) is not None:
        counted = blocks.count(version.manifest["counts"]["queries"], "question")
        shown.append(Tile("Latest version", version.folder, f"{counted}, {blocks.moment(version.created_at)}"))
    else:
        shown.append(Tile("Latest version", "–", "nothing was released yet"))
    if (run := found.latest_run) is not None:
        shown.append(
            Tile("Latest run", run.name, f"{blocks.count(run.queries, 'answer')}, {blocks.moment(run.added_at)}")
        )
    else:
        shown.append(Tile("Latest run", "–", "no run was imported yet"))
    blocks.tiles(shown)
