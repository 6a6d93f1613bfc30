"""The Metrics page's parts: what is scored against what, tiles with their reach, slices, questions and all runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from annotator.services import preview
from annotator.services.importing import ImportReport, import_run
from annotator.services.preview import MEASURES, Evaluation, RunInfo, Yardstick
from annotator.ui import blocks, charts, choice, importing, text
from annotator.ui.blocks import Tile
from annotator.ui.shell import Session

__all__ = ["VIEWS", "by_question", "by_slice", "choose", "header", "side_by_side", "tiles", "views"]

VIEWS = ("By question", "By slice", "Runs side by side")
_TILES = ("nDCG", "R", "AP", "RR", "P", "Success")
_HEIGHT = 300
_MOST_RUNS = 8
_IMPORT = "metrics.import"
_KINDS = ["trec", "run", "txt", "json", "jsonl", "csv", "tsv", "gz"]


def choose(session: Session, stored: Sequence[RunInfo]) -> tuple[Yardstick, RunInfo, int]:
    """Ask what is scored, against which labels and at which cut-off."""
    against = preview.yardsticks(session.workspace)
    gold_box, run_box, cut_box = st.columns([0.4, 0.4, 0.2], vertical_alignment="bottom")
    newest = max(against)
    with gold_box:
        version = st.selectbox(
            "Gold set", list(against), index=list(against).index(newest), format_func=lambda one: against[one],
            key="metrics.gold",
        )  # fmt: skip
    named = {one.name: one for one in stored}
    with run_box:
        name = st.selectbox("Run", list(named), key="metrics.run")
    with cut_box:
        cut = st.segmented_control(
            "First k", preview.CUTS, default=preview.CUTS[-1], required=True, key="metrics.k",
            help="How many chunks of each list count: best the number that reaches the prompt",
        )  # fmt: skip
    return preview.yardstick(session.workspace, version), named[name], cut


def tiles(found: Evaluation, k: int) -> None:
    """Show every measure with what it answers and how far the holes could move it, and how much is judged."""
    judged, retrieved = found.judged[f"Judged@{k}"]
    share = f"{judged / retrieved:.0%} of what the run found" if retrieved else "the run found nothing"
    shown = [_tile(found, name, k) for name in _TILES]
    shown.append(Tile(f"Judged@{k}", f"{judged:,} of {retrieved:,}", f"chunks anybody judged: {share}"))
    blocks.tiles(shown)
    counts = found.counts
    left_out = found.unanswerable
    text.line(
        [
            f"Means over {blocks.count(counts['judged'], 'question')}",
            f"{counts['answered']:,} answered by the run",
            f"{counts['missing']:,} missing from it, counted 0" if counts["missing"] else "",
            f"{counts['no_relevant']:,} without a relevant chunk, counted 0" if counts["no_relevant"] else "",
            f"{counts['not_in_gold']:,} of the run not in this gold set" if counts["not_in_gold"] else "",
            f"{left_out.n:,} unanswerable left out, {left_out.returned_nothing:,} of them answered with nothing"
            if left_out.n
            else "",
        ]
    )
    if judged < retrieved:
        text.line(
            [
                "A chunk nobody judged counts as not relevant. Under each mean: how low and how high it would be "
                "with all of them judged."
            ]
        )
    for warning in found.warnings:
        text.box(warning, "warn")


def _tile(found: Evaluation, name: str, k: int) -> Tile:
    key = f"{name}@{k}"
    low, high = found.bounds.get(key, (found.measures[key],) * 2)
    reach = f"{low:.3f} to {high:.3f}" if f"{low:.3f}" != f"{high:.3f}" else "certain"
    return Tile(f"{MEASURES[name].words}@{k}", f"{found.measures[key]:.3f}", MEASURES[name].answers, reach)


def views(k: int) -> tuple[str, str]:
    """Ask what to look at, and which measure says what is weak."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        view = st.segmented_control(
            "View", VIEWS, default=VIEWS[0], required=True, key="metrics.view", label_visibility="collapsed"
        )
        measure = st.selectbox(
            "Weakest first by", _TILES, format_func=lambda name: f"Weakest first by {MEASURES[name].words}@{k}",
            key="metrics.by", width=280, label_visibility="collapsed", disabled=view == VIEWS[2],
        )  # fmt: skip
    return view, measure


def by_slice(found: Evaluation, name: str, k: int) -> None:
    """Show every slice, the weakest first."""
    if not found.slices:
        text.box("The questions of this gold set have no facets. Fill them in on the Queries page.")
        return
    key = f"{name}@{k}"
    weak_first = sorted(found.slices, key=lambda one: (one.measures[key], one.facet, one.value))
    labels = [f"{one.facet}: {one.value or '(none)'}".replace("_", " ") for one in weak_first]
    left, right = st.columns([0.42, 0.58], gap="medium")
    with left:
        charts.bars(
            [
                {"name": label, "value": one.measures[key], "shown": f"{one.measures[key]:.3f}", "n": one.n}
                for label, one in zip(labels, weak_first, strict=True)
            ],
            f"{MEASURES[name].words}@{k}",
        )
    with right:
        blocks.table(
            ("Slice", "Questions", *(f"{MEASURES[one].words}@{k}" for one in _TILES[:4])),
            [
                (label, f"{one.n:,}", *(f"{one.measures[f'{measure}@{k}']:.3f}" for measure in _TILES[:4]))
                for label, one in zip(labels, weak_first, strict=True)
            ],
            figures=range(1, 6),
        )
    text.line(["A slice of fewer than three questions says next to nothing."])


def by_question(found: Evaluation, name: str, k: int) -> str:
    """Show every question, the weakest first; returns the chosen one."""
    key = f"{name}@{k}"
    weak_first = sorted(found.per_query, key=lambda query_id: (found.per_query[query_id][key], query_id))[:200]
    if not weak_first:
        text.box("Every question of this gold set is unanswerable: there is nothing to average.")
        return ""
    judged = {query_id: found.ranked(query_id, k) for query_id in weak_first}
    questions = {
        query_id: found.gold.details[query_id].question for query_id in weak_first if query_id in found.gold.details
    }
    return choice.one(
        "metrics.questions",
        weak_first,
        {
            "Id": weak_first,
            f"{MEASURES[name].words}@{k}": [found.per_query[query_id][key] for query_id in weak_first],
            "Judged": [f"{sum(one.grade is not None for one in judged[q])} of {len(judged[q])}" for q in weak_first],
            "Question": [questions.get(query_id, "") for query_id in weak_first],
        },
        height=_HEIGHT,
        config={
            "Id": st.column_config.TextColumn(width=80),
            f"{MEASURES[name].words}@{k}": st.column_config.NumberColumn(width=95, format="%.3f"),
            "Judged": st.column_config.TextColumn(width=80),
        },
    )


def side_by_side(session: Session, against: Yardstick, stored: Sequence[RunInfo], k: int) -> None:
    """Show the newest runs on the same gold set, one a row."""
    found = [preview.score(session.workspace, against, run) for run in stored[:_MOST_RUNS]]
    rows = []
    for one in found:
        judged, retrieved = one.judged[f"Judged@{k}"]
        figures = (f"{one.measures[f'{name}@{k}']:.3f}" for name in _TILES)
        rows.append((one.run.name, *figures, f"{judged:,} of {retrieved:,}", f"{one.counts['missing']:,}"))
    head = ("Run", *(f"{MEASURES[name].words}@{k}" for name in _TILES), f"Judged@{k}", "Missing")
    blocks.table(head, rows, figures=range(1, len(head)))
    if len(stored) > _MOST_RUNS:
        text.line([f"The newest {_MOST_RUNS} of {len(stored)} runs."])
    text.line(["Runs whose judged shares differ are hard to compare: the less judged one may only seem weaker."])


def header(session: Session, stored: Sequence[RunInfo]) -> None:
    """Show how many runs there are, and the import of another when asked for or when there is none."""
    asked = bool(st.session_state.get(_IMPORT)) or not stored
    left, right = st.columns([0.7, 0.3], vertical_alignment="center")
    with left:
        blocks.title("Metrics", [blocks.count(len(stored), "run")])
    importing.said()
    if session.person.role == "reader":
        return
    with right, st.container(horizontal=True, horizontal_alignment="right"):
        if stored:
            st.button(
                "Close the import" if asked else "Import a run…",
                key="run.open",
                on_click=_set_import,
                args=(not asked,),
            )
    if asked:
        with st.container(border=True):
            _bring_in(session)


def _set_import(asked: bool) -> None:
    st.session_state[_IMPORT] = asked


def _bring_in(session: Session) -> None:
    text.line(["TREC, JSON, JSONL with trace, or CSV with query_id, chunk_id and score or rank; told by its content."])
    importing.file("run", _KINDS, "answer", partial(_ask_name, session), partly=False)


def _ask_name(session: Session) -> importing.Importing | None:
    name = st.text_input(
        "Name of the run", key="import.run_name", max_chars=200, placeholder="e.g. hybrid-2026-03"
    ).strip()
    if not name:
        return None

    def import_whole(source: tuple[str, bytes], *, dry_run: bool, only_good: bool) -> ImportReport:  # noqa: ARG001
        return import_run(session.workspace, session.who, source, name=name, dry_run=dry_run)

    return import_whole
