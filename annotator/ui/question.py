"""The Annotate page's upper part: the question, how it stands for the person, and what is done with it as a whole."""

from __future__ import annotations

import time

import streamlit as st

from annotator.errors import AnnotatorError, NotFound
from annotator.services import questions, queue, settings
from annotator.services.queue import Desk, Pause
from annotator.ui import blocks, calibration, shell, text
from annotator.ui.shell import Session

__all__ = ["ask_to_skip", "go", "header", "opened"]

DOUBLE_CLICK_SECONDS = 0.8
_REOPENED_SHOWN = 3
_STATES = {"draft": "draft: not in versions yet", "retired": "retired: not in versions any more"}
_ALL_THE_SAME = "what you grade is kept all the same"


def opened(session: Session) -> Desk | None:
    """Return the desk for the question that was chosen, named by the address, or next; None where a message stands.

    The page then ends by itself: a run that is stopped would leave the former question's workbench its reruns, which
    would be drawn over the message.
    """
    left = st.session_state.get("annotate.after", "")
    asked = "" if left else st.session_state.get("annotate.query") or st.query_params.get("query", "")
    try:
        desk = queue.desk(session.workspace, session.who, asked, after=left)
    except NotFound as error:
        text.problem(error)
        if st.button("Go to my next question", type="primary"):
            st.session_state.pop("annotate.query", None)
            st.query_params.clear()
            st.rerun()
        return None
    if desk is None:
        text.box("There is no question to work on yet. Write the first one on the Queries page.")
        st.page_link(shell.page("queries"), label="Go to Queries", icon=":material/quiz:")
        return None
    if isinstance(desk, Pause):
        st.query_params.clear()
    else:
        _follow(desk.query.query_id, asked)
        st.query_params["query"] = desk.query.query_id
    # Not before the address has it: a second click may end this run.
    for name in ("annotate.query", "annotate.after"):
        st.session_state.pop(name, None)
    if isinstance(desk, Pause):
        _pause(desk)
        return None
    return desk


def _follow(query_id: str, asked: str) -> None:
    """Have the search bring up the chunk that the address names beside its question; from then on the address names the
    question alone, so that whoever goes on from there is not taken back."""
    chunk_id = st.query_params.get("chunk", "")
    if chunk_id and asked == st.query_params.get("query"):
        st.session_state.update({f"tab:{query_id}": "Search", f"search:{query_id}": chunk_id, f"mode:{query_id}": "id"})
    # Not before the search has it: changing the address may end this run.
    st.query_params.pop("chunk", None)


def _pause(found: Pause) -> None:
    """Say when there is something to do again."""
    blocks.title("Annotate")
    if not found.in_use:
        text.box("Every question is given to others. Ask a reviewer for one, or open one from the Queries page.")
        st.page_link(shell.page("queries"), label="Go to Queries", icon=":material/quiz:")
        return
    these = "The last question is" if found.in_use == 1 else f"The last {found.in_use} questions are"
    wait = queue.minutes_until(found.free_at)
    text.box(f"{these} in use by others. The next one is free in {wait}, unless whoever has it goes on with it.")
    if st.button("Look again", type="primary", key="look"):
        st.rerun()


def header(session: Session, desk: Desk) -> None:
    """Show the question, where it stands, and what can be done with it as a whole."""
    query = desk.query
    with st.container(horizontal=True, gap="small", key="header"):
        left = st.container(width="stretch", gap="xsmall")
        right = st.container(width="content", horizontal=True, horizontal_alignment="right", gap="xsmall")
    with left:
        text.question(query.question)
    with right:
        trouble = _actions(session, desk)
    with left:  # inside what is there anyway: one element more above it would make the workbench begin anew
        _reopened(desk)
        if trouble is not None:
            text.problem(trouble)
    place = f"{desk.position} of {desk.total}" if desk.position else ""
    kind = [f"{name}: {value}".replace("_", " ") for name, value in query.facets.items()]
    kind.append("unanswerable" if query.unanswerable else "")
    text.standing(
        [_state(desk), place, "calibration: everybody labels it" if desk.calibration else "", *kind], query.notes
    )
    for name in ("annotate.list", "annotate.found"):  # a visit begins with fresh lists
        st.session_state.pop(name, None)
    if st.session_state.pop("annotate.skip", "") == query.query_id:
        _skip(session, query.query_id)


def _state(desk: Desk) -> str:
    """Say how the question stands for the person, in words."""
    if desk.step is not None and desk.step.kind == "skipped":
        return f"you left it to others: {desk.step.reason}"
    if desk.standing == "in use":
        return f"in use by somebody else for {queue.minutes_until(desk.free_at)}; {_ALL_THE_SAME}"
    if desk.standing == "needs me":
        return "open" if desk.query.state == "open" else ""
    if desk.standing == "needs others" and not desk.finished:
        return f"not in your queue, it needs others; {_ALL_THE_SAME}"
    rest = "" if desk.next_open else "; no other question needs you now"
    said = {
        "needs others": f"you are done, it needs others{rest}",
        "disputed": f"people differ, a reviewer decides{rest}",
        "complete": f"complete{rest}",
    }
    return said.get(desk.standing) or _STATES.get(desk.query.state, desk.query.state)


def _reopened(desk: Desk) -> None:
    for one in desk.reopened[:_REOPENED_SHOWN]:
        text.line([f"⚠ {one.reviewer} opened your label of {one.chunk_id} again: {one.reason}"], quiet=False)
    if len(desk.reopened) > _REOPENED_SHOWN:
        text.line([f"… and {len(desk.reopened) - _REOPENED_SHOWN} more of your labels, all under Judged."], quiet=False)


def _actions(session: Session, desk: Desk) -> AnnotatorError | None:
    """Show the buttons for the question as a whole; return what kept one of them from doing its work."""
    query = desk.query
    _step("Previous question", ":material/chevron_left:", desk.previous, "Previous question (p)", "previous")
    _step("Next question", ":material/chevron_right:", desk.following, "Next question (n)", "following")
    with st.popover("Rubric"):
        text.marked(settings.rubric(session.workspace).text or "No rubric was written yet: see Settings.")
    label, hint = "Unanswerable", "Mark on purpose that no chunk of the table answers this question"
    if query.unanswerable:
        label, hint = "Answerable", "Take back that no chunk answers this question"
    turned = st.button(label, help=hint, key="unanswerable")
    if desk.compares:
        with st.popover("Compare"):
            calibration.of_question(session, query.query_id)
    skipped = desk.step is not None and desk.step.kind == "skipped"
    done = desk.finished or skipped or (query.state == "complete" and desk.standing != "needs me")
    if not done and st.button("Skip", help="Leave this question to others, with a reason (z)", key="skip"):
        ask_to_skip(query.query_id)
    finish = "Take it back" if skipped else "Reopen" if done else "Done, next question"
    # A button of its own for each question: a click that was on its way when the question changed ends no other one.
    key = f"done:{query.query_id}"
    pressed = st.button(finish, type="secondary" if done else "primary", key=key, disabled=query.state == "retired")
    try:
        if turned:
            questions.mark_unanswerable(session.workspace, session.who, query.query_id, not query.unanswerable)
            go(query.query_id)
        # The second click of a double click may land on the next question's button: it does not count.
        if pressed and time.monotonic() - st.session_state.get("annotate.finished", 0.0) > DOUBLE_CLICK_SECONDS:
            change = queue.finish
            if done:
                change = queue.take_back if desk.finished or skipped else questions.reopen
            change(session.workspace, session.who, query.query_id)
            st.session_state["annotate.finished"] = time.monotonic()
            if done:
                go(query.query_id)
            _leave(query.query_id)
    except AnnotatorError as error:
        return error
    return None


def ask_to_skip(query_id: str) -> None:
    """Have the page ask for the reason to leave the question to others."""
    st.session_state["annotate.skip"] = query_id
    go(query_id)


@st.dialog("Skip this question")
def _skip(session: Session, query_id: str) -> None:
    with st.form("skipping", border=False):
        reason = st.text_input(
            "Why do you leave it to others? Reviewers read this. You can come back to the question at any time.",
            max_chars=queue.LONGEST_REASON, placeholder="e.g. I do not know the tax rules",
        )  # fmt: skip
        if st.form_submit_button("Leave it to others", type="primary"):
            try:
                queue.skip(session.workspace, session.who, query_id, reason)
            except AnnotatorError as error:
                text.problem(error)
                return
            _leave(query_id)


def _step(label: str, icon: str, query_id: str, hint: str, key: str) -> None:
    if st.button(label, icon=icon, disabled=not query_id, help=hint, key=key):
        go(query_id)


def go(query_id: str) -> None:
    """Go to a question."""
    st.session_state["annotate.query"] = query_id
    st.rerun(scope="app")


def _leave(query_id: str) -> None:
    """Go to the next question that needs the person, after this one."""
    st.session_state["annotate.after"] = query_id
    st.rerun(scope="app")
