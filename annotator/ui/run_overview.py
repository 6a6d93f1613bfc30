"""The overview of a scored run: every measure, whether discovery or ranking is weak, how fresh it is, how it ran."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from annotator.services import diagnosis, preview
from annotator.services.preview import MEASURES, Evaluation
from annotator.ui import blocks, text
from annotator.ui.blocks import Pair, Tile
from annotator.ui.metrics import SHOWN, Chosen
from annotator.ui.shell import Session

__all__ = ["overview"]


def overview(session: Session, chosen: Chosen, found: Evaluation) -> None:
    """Show every measure, whether discovery or ranking is weak, how fresh the answers are, and how the run went."""
    _tiles(found, chosen.k)
    _counts(found, chosen.k)
    reach_box, fresh_box, run_box = st.columns(3, gap="medium")
    figures = diagnosis.operations(found)
    with reach_box:
        _reach(session, chosen)
    with fresh_box:
        _freshness(session, found, figures)
    with run_box:
        _operation(figures)


def _tiles(found: Evaluation, k: int) -> None:
    judged, retrieved = found.judged[f"Judged@{k}"]
    share = f"{judged / retrieved:.0%} of what the run found" if retrieved else "the run found nothing"
    shown = [_tile(found, name, k) for name in SHOWN]
    shown.append(Tile(f"Judged@{k}", f"{judged:,} of {retrieved:,}", f"chunks anybody judged: {share}"))
    blocks.tiles(shown)


def _counts(found: Evaluation, k: int) -> None:
    judged, retrieved = found.judged[f"Judged@{k}"]
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


def _reach(session: Session, chosen: Chosen) -> None:
    near = preview.CUTS[0]
    deep = preview.score(session.workspace, chosen.against, chosen.run, (near, preview.DEEP))
    reach, length = diagnosis.reach(deep), preview.depth(deep)
    blocks.heading("Discovery or ranking?")
    blocks.pairs(
        [
            Pair(f"Recall@{near}", f"{reach.near:.3f}: what reaches the top"),
            Pair(f"Recall@{preview.DEEP}", f"{reach.far:.3f}: what is found at all"),
            Pair("Candidates", f"{reach.candidates:.3f} of the relevant" if reach.candidates else "not in the trace"),
        ]
    )
    text.line([reach.reading or "Neither stands out: look at the diagnosis."], quiet=False)
    if length < preview.DEEP:
        text.line([f"The lists of this run end at {length}: what would come after is unknown."])


def _freshness(session: Session, found: Evaluation, figures: Mapping[str, float | None]) -> None:
    fresh, k = diagnosis.freshness(session.workspace, found), found.k[-1]
    stale = figures[f"stale_hit_rate@{k}"] or 0.0
    blocks.heading("Fresh?", f"share of questions, first {k}")
    blocks.pairs(
        [
            Pair("Outdated", f"{stale:.1%} show a chunk that people marked as stale"),
            Pair("Gone", f"{fresh.gone_rate:.1%} show a chunk that left the chunk table"),
            Pair("Changed", f"{fresh.changed_rate:.1%} show a chunk judged with another text"),
        ]
    )
    if fresh.gone:
        text.line([f"Gone, for instance: {sorted(fresh.gone)[0]}"])


def _operation(figures: Mapping[str, float | None]) -> None:
    def rate(name: str) -> str:
        figure = figures[name]
        return "not in the trace" if figure is None else f"{figure:.1%} of questions"

    def took(name: str) -> str:
        figure = figures[name]
        return "not in the trace" if figure is None else f"{figure:,.1f} ms"

    blocks.heading("How did it run?")
    blocks.pairs(
        [
            Pair("Half within", took("latency_p50_ms")),
            Pair("95 % within", took("latency_p95_ms")),
            Pair("Timed out", rate("timeout_rate")),
            Pair("Came back empty", rate("empty_rate")),
            Pair("Relevant filtered", rate("filtered_gold_rate")),
        ]
    )
