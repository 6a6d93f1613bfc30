"""The Review page's view of how far people agree: overall, every two, by slice, and grade against grade."""

from __future__ import annotations

import streamlit as st

from annotator.services import agreement
from annotator.services.agreement import Agreement, PairAgreement
from annotator.services.workspace import Workspace
from annotator.ui import blocks, confusion, text
from annotator.ui.blocks import Tile
from annotator.ui.metrics import slice_label
from annotator.ui.shell import Session

__all__ = ["show"]


def show(session: Session) -> None:
    """Show the figures with the number of chunks behind them and how far chance could move them."""
    found = _measured(session.workspace)
    overall = found.overall
    if not overall.items:
        text.box("No chunk was graded by two people yet: there is nothing to compare.")
        return
    blocks.tiles(
        [
            Tile("Krippendorff's alpha", _number(overall.alpha), _meaning(overall.alpha), _reach(overall.interval)),
            Tile("Same grade", _percent(overall.percent), "of every two people's grades of one chunk"),
            Tile("Chunks", f"{overall.items:,}", f"graded by two or more, in {overall.questions:,} questions"),
            Tile("People", f"{len({name for pair in found.pairs for name in pair.annotators}):,}", "who share chunks"),
        ]
    )
    left, right = st.columns([0.62, 0.38], gap="medium")
    with left:
        _pairs(found)
        _slices(found)
    with right:
        _confusion(found)


def _measured(workspace: Workspace) -> Agreement:
    return _at(workspace, str(workspace.home), agreement.state(workspace))


@st.cache_data(show_spinner="Comparing…", max_entries=4, ttl=600)
def _at(_workspace: Workspace, home: str, state: str) -> Agreement:  # noqa: ARG001 - kept by home and state
    return agreement.agreement(_workspace)


def _pairs(found: Agreement) -> None:
    blocks.heading("Every two people", "weighted: far grades count more")
    blocks.table(
        ("", "Chunks", "Same", "Kappa", "Weighted", "95 % interval"),
        [
            (
                " · ".join(pair.annotators), f"{pair.n:,}", _percent(pair.percent), _number(pair.kappa),
                _number(pair.weighted_kappa), _reach(pair.interval),
            )
            for pair in sorted(found.pairs, key=lambda pair: -pair.n)[:200]
        ],
        figures=(1, 2, 3, 4, 5),
    )  # fmt: skip


def _slices(found: Agreement) -> None:
    if not found.slices:
        return
    blocks.heading("By slice", "alpha; few chunks say little")
    blocks.table(
        ("Slice", "Chunks", "Same", "Alpha", "95 % interval"),
        [
            (
                slice_label(one.facet, one.value), f"{one.figures.items:,}", _percent(one.figures.percent),
                _number(one.figures.alpha), _reach(one.figures.interval),
            )
            for one in found.slices[:200]
        ],
        figures=(1, 2, 3, 4),
    )  # fmt: skip


def _confusion(found: Agreement) -> None:
    blocks.heading("Grade against grade", "in chunks")
    # Names are data, and options read Markdown: people are told apart by number here, and named beside the chart.
    pairs = sorted(found.pairs, key=lambda pair: -pair.n)[:200]
    at = st.selectbox("Two people", range(len(pairs)), format_func=lambda place: _named(pairs[place]), key="review.two")
    pair = pairs[at or 0]
    confusion.show(pair.confusion, *pair.annotators)


def _named(pair: PairAgreement) -> str:
    return f"{' and '.join(pair.annotators)} ({pair.n:,})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _reach(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def _meaning(alpha: float | None) -> str:
    """Krippendorff's own thresholds."""
    if alpha is None:
        return "all grades are the same: nothing to tell apart"
    if alpha >= 0.8:
        return "reliable: 0.80 and more"
    return "fit for tentative conclusions: 0.67 to 0.80" if alpha >= 0.667 else "too low to rely on: below 0.67"
