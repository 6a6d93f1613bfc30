"""A run against a baseline: what moved, by how much, whether chance could have done it, by slice and by question."""

from __future__ import annotations

import streamlit as st

from annotator.services import preview
from annotator.services.preview import MEASURES, Comparison, Difference, Evaluation, p_figure, p_words
from annotator.ui import blocks, charts, choice, ranking, text
from annotator.ui.charts import Change
from annotator.ui.metrics import SHOWN, Chosen, judged_share, question, slice_label
from annotator.ui.shell import Session

__all__ = ["show"]

_PARTS = ("Measures", "Slices", "Questions")
_HEIGHT = 230
_HEAD = ("Baseline", "Run", "Change", "95 % interval", "p", "Better, worse, same")


def show(session: Session, chosen: Chosen, found: Evaluation) -> None:
    """Show the comparison, one part at a time."""
    if chosen.baseline is None:
        text.box("Choose a baseline above: the run to compare with, usually that of the retriever in use.")
        return
    before = preview.score(session.workspace, chosen.against, chosen.baseline)
    key = chosen.key
    with st.spinner("Comparing…"):
        compared = preview.compared(found, before, [f"{one}@{chosen.k}" for one in SHOWN])
    text.box(_sentence(compared.measures[key], chosen.words), _mood(compared.measures[key]))
    part = st.segmented_control(
        "Part", _PARTS, default=_PARTS[0], required=True, key="comparison.part", label_visibility="collapsed"
    )
    if part == "Measures":
        _measures(compared, chosen.k, before, found)
    elif part == "Slices":
        _slices(chosen, before, found)
    else:
        _questions(session, chosen, before, found)


def _sentence(one: Difference, words: str) -> str:
    """Say what moved and whether it means anything."""
    counted = f"{one.wins} questions better, {one.losses} worse, {one.ties} the same"
    if not one.wins and not one.losses:
        return f"{words} is the same for every question."
    way = "rose" if one.delta > 0 else "fell" if one.delta < 0 else "stayed"
    moved = f"{words} {way} from {one.baseline:.3f} to {one.candidate:.3f} ({one.delta:+.3f}): {counted}."
    if one.too_few:
        return (
            f"{moved} With {blocks.count(one.n, 'question')} no difference can be told from chance; six are the least."
        )
    if one.p_value < 0.05:
        return f"{moved} Chance alone would seldom do this ({p_words(one.p_value)})."
    return f"{moved} {one.n} questions cannot tell this from chance ({p_words(one.p_value)})."


def _mood(one: Difference) -> str:
    if one.too_few or one.p_value >= 0.05:
        return "info"
    return "good" if one.delta > 0 else "bad"


def _cells(one: Difference, p: str) -> tuple[str, ...]:
    low, high = one.interval
    return (
        f"{one.baseline:.3f}", f"{one.candidate:.3f}", f"{one.delta:+.3f}", f"{low:+.3f} to {high:+.3f}", p,
        f"{one.wins}, {one.losses}, {one.ties}",
    )  # fmt: skip


def _measures(compared: Comparison, k: int, before: Evaluation, found: Evaluation) -> None:
    named = [(MEASURES[one].words, compared.measures[f"{one}@{k}"]) for one in SHOWN]
    charts.dumbbells(
        [Change(words, one.baseline, one.candidate, f"{one.delta:+.3f}") for words, one in named],
        (before.run.name, found.run.name),
        f"at {k}",
    )
    blocks.table(
        ("Measure", *_HEAD),
        [(f"{words}@{k}", *_cells(one, p_figure(one.p_value))) for words, one in named],
        figures=range(1, 6),
    )
    text.line(
        [
            "p: how often chance alone, with the runs swapped question by question, gives a change as large. "
            "The interval is where the change may lie for other questions of the same kind."
        ]
    )
    shares = [f"{judged_share(one, k)} for {one.run.name}" for one in (before, found)]
    text.line(
        [f"Judged among the first {k}: {', '.join(shares)}. What is less judged may only seem weaker: see Holes."]
    )


def _slices(chosen: Chosen, before: Evaluation, found: Evaluation) -> None:
    key = chosen.key
    with st.spinner("Comparing…"):
        slices = preview.compared_by_slice(found, before, key)
    if not slices:
        text.box("The questions of this gold set have no facets. Fill them in on the Queries page.")
        return
    lost_first = sorted(slices, key=lambda one: (one.measures[key].delta, one.facet, one.value))
    named = [(slice_label(one.facet, one.value), one.measures[key], one.adjusted[key]) for one in lost_first]
    with st.container(key="slices"):
        left, right = st.columns([0.5, 0.5], gap="medium")
    with left:
        charts.dumbbells(
            [Change(label, one.baseline, one.candidate, f"{one.delta:+.3f}") for label, one, _ in named],
            (before.run.name, found.run.name),
            chosen.words,
        )
    with right:
        blocks.table(
            ("Slice", "n", "Change", "p", "Better, worse, same"),
            [
                (
                    label,
                    f"{one.n:,}",
                    f"{one.delta:+.3f}",
                    "too few" if one.too_few else p_figure(corrected),
                    f"{one.wins}, {one.losses}, {one.ties}",
                )
                for label, one, corrected in named
            ],
            figures=range(1, 4),
        )
        text.line(
            [
                f"What lost most comes first. p is corrected for looking at {len(named)} slices (Holm). "
                "Too few: under six questions no difference can be told from chance."
            ]
        )


def _questions(session: Session, chosen: Chosen, before: Evaluation, found: Evaluation) -> None:
    key, words = chosen.key, chosen.words

    def change(query_id: str) -> float:
        return found.per_query[query_id][key] - before.per_query[query_id][key]

    moved = sorted((query_id for query_id in found.per_query if change(query_id)), key=lambda one: (change(one), one))
    if not moved:
        text.box("No question changed.")
        return
    shown = moved[:200]
    asked = choice.one(
        "comparison.questions",
        shown,
        {
            "Id": shown,
            "Change": [f"{change(query_id):+.3f}" for query_id in shown],
            f"{words} before": [f"{before.per_query[query_id][key]:.3f}" for query_id in shown],
            "now": [f"{found.per_query[query_id][key]:.3f}" for query_id in shown],
            "Question": [question(found, query_id) for query_id in shown],
        },
        height=_HEIGHT,
        config={
            "Id": st.column_config.TextColumn(width=80),
            "Change": st.column_config.TextColumn(width=70),
            f"{words} before": st.column_config.TextColumn(width=120),
            "now": st.column_config.TextColumn(width=60),
        },
    )
    ranking.show(session, found, asked, chosen.k, before=before)
