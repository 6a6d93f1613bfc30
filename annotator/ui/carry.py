"""The Chunks page's review of proposals: the judged text beside the new one, decided about one by one, by keys."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.model import GRADES, Chunk
from annotator.services import carry
from annotator.services.carry import Waiting
from annotator.ui import hits, shell, text
from annotator.ui.shell import Session

__all__ = ["show"]

_TEXT_HEIGHT = 400
_AT = "carry.at"
_SAID = "carry.said"
_HOW = {
    "same text": "the very same text",
    "quote": "all of the evidence, word for word",
    "aligned": "all of the evidence, worded a little differently",
    "part": "a piece of the evidence",
    "overlap": "text of the judged chunk; the label has no evidence",
}


def show(session: Session) -> None:
    """Show the next proposal to decide about."""
    found = carry.waiting(session.workspace, session.who)
    kind, words = st.session_state.pop(_SAID, ("", ""))
    if kind == "bad":
        text.box(words, kind)
    if not found:
        if kind == "good":
            text.box(words, kind)
        text.box("No proposal waits. Under “Drift” you can look for new places of the labels that are left.")
        return
    ids = [one.proposal.proposal_id for one in found]
    at = ids.index(st.session_state[_AT]) if st.session_state.get(_AT) in ids else 0
    one = found[at]
    _head(one, at + 1, len(found), words if kind == "good" else "")
    _steps(session, one, ids[(at + 1) % len(ids)], ids[at - 1])
    old_marks, new_marks = carry.marks(one)
    left, right = st.columns(2, gap="medium")
    with left:
        _side("Judged", one.judged, old_marks, one.proposal.from_grade)
    with right:
        _side("Proposed", one.chunk, new_marks, one.proposal.grade)
    if session.may("grade chunks"):
        reason = one.proposal.reason
        st.text_input("Reason", value=reason, key=_field(one), placeholder="why it gets the grade, in a few words")


def _head(one: Waiting, place: int, total: int, said: str) -> None:
    proposal = one.proposal
    text.question(one.question)
    holds = f"holds {_HOW.get(proposal.how, proposal.how)}"
    share = f"{proposal.score:.0%}" if proposal.how in ("part", "overlap") else ""
    text.line([f"{place} of {total}", proposal.query_id, holds, share, said], quiet=False)


def _side(name: str, chunk: Chunk, marks: Sequence[tuple[int, int]], grade: int) -> None:
    st.html(
        f'<div class="an-line">{hits.badge(grade)} {name} · <code>{html.escape(chunk.chunk_id)}</code>'
        f' <span class="an-quiet"><bdi>{html.escape(chunk.title or chunk.doc_id)}</bdi></span></div>'
    )
    with st.container(height=_TEXT_HEIGHT):
        text.marked(chunk.text, marks)


def _steps(session: Session, one: Waiting, following: int, before: int) -> None:
    proposal, workspace, who = one.proposal, session.workspace, session.who
    number = proposal.proposal_id

    def accepted(grade: int | None = None) -> str:
        reason = st.session_state.get(_field(one), proposal.reason)
        judged = carry.accept(workspace, who, number, grade=grade, reason=reason)
        return f"Carried with grade {judged.grade} {GRADES[judged.grade or 0]}."

    def refused() -> str:
        carry.refuse(workspace, who, number)
        return "Refused."

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if session.may("grade chunks"):
            st.button(
                f"Accept {proposal.grade} {GRADES[proposal.grade]}",
                key=f"carry.accept:{number}",
                type="primary",
                shortcut="a",
                on_click=_do,
                args=(accepted, following),
            )
            for grade, word in GRADES.items():
                st.button(
                    f"{grade} {word}",
                    key=f"carry.{grade}:{number}",
                    shortcut=str(grade),
                    help="Accept with this grade",
                    on_click=_do,
                    args=(lambda grade=grade: accepted(grade), following),
                )
            st.button("Refuse", key=f"carry.refuse:{number}", shortcut="x", on_click=_do, args=(refused, following))
        st.button("Back", key=f"carry.back:{number}", shortcut="k", on_click=_go, args=(before,))
        st.button("Later", key=f"carry.later:{number}", shortcut="j", on_click=_go, args=(following,))
        if session.opens("annotate") and st.button("Open in Annotate", key=f"carry.open:{number}", type="tertiary"):
            st.switch_page(shell.page("annotate"), query_params={"query": proposal.query_id})


def _field(one: Waiting) -> str:
    return f"carry.reason:{one.proposal.proposal_id}"


def _do(step: Callable[[], str], following: int) -> None:
    try:
        st.session_state[_SAID] = ("good", step())
    except AnnotatorError as error:
        st.session_state[_SAID] = ("bad", str(error))
    st.session_state[_AT] = following


def _go(number: int) -> None:
    st.session_state[_AT] = number
