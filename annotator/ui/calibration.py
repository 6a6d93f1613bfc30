"""The calibration set on the screen: for reviewers everybody's labels beside the settled ones, else one's own.

What others said is never shown here to somebody who has not finished the question; the services see to it.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from annotator.model import GoldLabel, Judgment
from annotator.services import calibration
from annotator.services.calibration import Calibration, Compared, Difference, Pair
from annotator.ui import blocks, text
from annotator.ui.hits import badge
from annotator.ui.shell import Session

__all__ = ["of_question", "own", "show"]

_SHOWN = 20


def show(session: Session) -> None:
    """Show the whole set: how far each person agrees with the settled grades, and every chunk people differ on."""
    found = calibration.calibration(session.workspace, session.who)
    if not found.questions:
        text.box(
            "There is no calibration set yet: a few questions that everybody labels, to learn from the differences. "
            "On the Queries page choose questions, then Share out, and take them in."
        )
        return
    blocks.heading("Against the settled grades", "as everybody graded before they saw any comparison")
    if not found.people:
        text.box("Nobody has finished a question of the set yet.")
        return
    _people(found)
    blocks.heading("Chunk by chunk")
    left, right = st.columns([0.6, 0.4], vertical_alignment="center")
    texts = {one.query_id: one.question for one in found.questions}
    query_id = left.selectbox(
        "Question", ["", *texts], format_func=lambda one: f"{one}: {texts[one]}" if one else "All questions of the set",
        key="calibration.question", label_visibility="collapsed",
    )  # fmt: skip
    every = right.toggle("Also where everybody agrees", key="calibration.every")
    pairs = [one for one in found.pairs if query_id in ("", one.query_id) and (every or one.differs)]
    if not pairs:
        text.box("Everybody agrees, with each other and with what was settled.", "good")
    for one in pairs[:_SHOWN]:
        _pair(texts[one.query_id], one)
    if len(pairs) > _SHOWN:
        text.line([f"The first {_SHOWN} of {len(pairs):,}: choose a question to see its own."])


def of_question(session: Session, query_id: str) -> None:
    """Show a person who finished the question where they graded otherwise than was settled."""
    found = calibration.own(session.workspace, session.who)
    differences = [one for one in found.differences if one.query.query_id == query_id]
    if not differences:
        text.line(["Your labels are those that were settled so far."], quiet=False)
    _differences(differences, of_one=True)


def own(session: Session) -> None:
    """Show a person what they finished of the set, and where they graded otherwise than was settled."""
    if not session.may("grade chunks"):
        return
    found = calibration.own(session.workspace, session.who)
    if not found.finished:
        return
    done = f"{found.finished} of {blocks.count(found.questions, 'question')} finished"
    blocks.heading("Calibration", f"{done}, {_agreement(found.compared)}")
    if not found.differences:
        text.line(["None of your labels differs from what was settled so far."], quiet=False)
        return
    with st.expander(f"Where you graded otherwise: {blocks.count(len(found.differences), 'chunk')}"):
        _differences(found.differences)


def _differences(differences: Sequence[Difference], *, of_one: bool = False) -> None:
    for one in differences:
        about = "" if of_one else f'<bdi class="an-line an-quiet">{html.escape(one.query.question)}</bdi>'
        st.html(
            f'<div class="an-card"><div><b><bdi>{html.escape(one.title or one.chunk_id)}</bdi></b> {about}</div>'
            f"<div>you {badge(one.mine.grade, stale=one.mine.stale)} {_said(one.mine.reason)}</div>"
            f"<div>settled {badge(one.settled.relevance, stale=one.settled.stale)} {_said(one.settled.reason)}</div>"
            "</div>"
        )


def _people(found: Calibration) -> None:
    blocks.table(
        ("Person", "questions finished", "chunks compared", "equal", "weighted kappa"),
        [
            (
                one.name, f"{one.finished} of {len(found.questions)}", f"{one.n:,}",
                f"{one.equal / one.n:.0%}" if one.n else "–",
                "–" if one.weighted_kappa is None else f"{one.weighted_kappa:.2f}",
            )
            for one in found.people
        ],
        figures=(1, 2, 3, 4),
    )  # fmt: skip


def _pair(question: str, one: Pair) -> None:
    if isinstance(one.label, GoldLabel):
        settled = f"settled {badge(one.label.relevance, stale=one.label.stale)} {_said(one.label.reason)}"
        by = f'<span class="an-line an-quiet"><bdi>{html.escape(one.label.settled_by)}</bdi></span>'
    else:
        settled, by = f"not settled yet: {html.escape(one.label.kind)}", ""
    st.html(
        f'<div class="an-line"><bdi class="an-quiet">{html.escape(question)}</bdi></div>'
        f'<div class="an-line"><b><bdi>{html.escape(one.title or one.chunk_id)}</bdi></b> '
        f"<code>{html.escape(one.chunk_id)}</code></div>"
        f'<div dir="auto">{settled} {by}</div><div class="an-cards">{"".join(_card(said) for said in one.said)}</div>'
    )


def _card(one: Judgment) -> str:
    return (
        f'<div class="an-card"><div class="an-hithead"><b><bdi>{html.escape(one.annotator)}</bdi></b>'
        f"{badge(one.grade, stale=one.stale, without='cannot judge')}</div>"
        f'<div dir="auto">{_said(one.reason)}</div></div>'
    )


def _said(reason: str) -> str:
    return f"<bdi>{html.escape(reason)}</bdi>" if reason else '<span class="an-quiet">no reason given</span>'


def _agreement(one: Compared) -> str:
    if not one.n:
        return "nothing is settled yet"
    kappa = "" if one.weighted_kappa is None else f", weighted kappa {one.weighted_kappa:.2f}"
    return f"{one.equal} of {blocks.count(one.n, 'chunk')} as settled{kappa}"
