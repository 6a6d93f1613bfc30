"""The Settings page's part on labelling: how many people per question, in what order, and what settles their labels."""

from __future__ import annotations

import streamlit as st

from annotator.services import settling, sharing
from annotator.ui import blocks, text
from annotator.ui.settings import say
from annotator.ui.shell import Session

__all__ = ["show"]


def show(session: Session) -> None:
    """Show how the work is shared out and settled, and let an admin change it."""
    may = session.may("change how labels are settled")
    overlap, seed = sharing.workspace_plan(session.workspace)
    blocks.heading("People per question")
    if may:
        _plan(session, overlap, seed)
    else:
        order = "each has their own order" if seed else "in the order the questions were added"
        text.line([f"{blocks.count(overlap, 'person', 'people')} for each question, {order}"], quiet=False)
    blocks.heading("Settling rule", "what makes one gold label of what several people said")
    if not may:
        name = settling.rule(session.workspace)
        text.line([f"{_words(name)}: {settling.MEANINGS[name]}"], quiet=False)
        return
    _rule(session)


def _plan(session: Session, overlap: int, seed: str) -> None:
    text.line(
        [
            "A question is complete when so many people are done with it. "
            "With more, finished questions need others again; with fewer, those are complete that enough finished."
        ]
    )
    with st.form("plan", border=False):
        left, middle, right = st.columns([0.22, 0.5, 0.28], vertical_alignment="bottom")
        wanted = left.number_input("People", 1, sharing.MOST, overlap, key=f"plan.people:{overlap}")
        typed = middle.text_input(
            "Seed of everybody's own order", seed, key=f"plan.seed:{seed}",
            placeholder="empty: as the questions were added",
            help="Any word. Under it everybody has their own order, the same at every visit",
        )  # fmt: skip
        if right.form_submit_button("Save", type="primary", width="stretch"):
            sharing.set_plan(session.workspace, session.who, int(wanted), typed)
            say(f"Saved: {blocks.count(int(wanted), 'person', 'people')} for each question.")


def _rule(session: Session) -> None:
    text.line(["A reviewer's decision always comes first. The rule is recorded in every label it settles."])
    found = settling.choices(session.workspace)
    names = [one.name for one in found]
    present = next(at for at, one in enumerate(found) if one.in_force)
    chosen = st.radio(
        "Rule", names, index=present, format_func=_words, key=f"rule:{names[present]}", label_visibility="collapsed",
        captions=[f"{one.meaning} Today {_left(one.left_open)}." for one in found],
    )  # fmt: skip
    if st.button("Use this rule", type="primary", key="rule.save", disabled=chosen == names[present]):
        settling.choose(session.workspace, session.who, chosen)
        say(f"Saved: labels are settled by {_words(chosen)} from now on. Versions released before stay as they are.")


def _left(number: int) -> str:
    return f"{blocks.count(number, 'chunk')} would wait for a reviewer" if number else "no chunk would wait"


def _words(name: str) -> str:
    return name.replace("_", " ")
