"""The Review page's views of labels that may need another look: those that look odd, and all of a question; both lead
to the pair itself, or open labels again with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.model import GoldLabel
from annotator.services import questions, review
from annotator.services.review import Suspicion, Unsettled
from annotator.ui import blocks, choice, text
from annotator.ui.paging import Pages
from annotator.ui.review import look_at
from annotator.ui.shell import Session

__all__ = ["every", "odd"]

_SAID = "second_look.said"
_SHOWN = 200
_HEIGHT = 400


def odd(session: Session) -> None:
    """Show the labels that look odd, by what is odd about them."""
    with st.spinner("Looking through the labels…"):
        found = review.suspicious(session.workspace, session.who)
    counted = {words: sum(one.kind == kind for one in found) for kind, words in review.KINDS.items()}
    options = {f"{words} ({number:,})": words for words, number in counted.items() if number}
    _said()
    if not options:
        text.box("No label looks odd: none without ground, against all others, too fast, or unlike its twin.", "good")
        return
    chosen = st.segmented_control("What", list(options), key="odd.kind", label_visibility="collapsed")
    shown = [one for one in found if not chosen or review.KINDS[one.kind] == options[chosen]]
    text.line(["These are hints, not verdicts. Labels a reviewer has decided on are not listed."])
    _odd_list(session, shown[:_SHOWN], len(shown))


def _odd_list(session: Session, shown: Sequence[Suspicion], total: int) -> None:
    pairs = [[(one.query_id, chunk_id) for chunk_id in one.chunk_ids] for one in shown]
    columns = {
        "Question": [one.query_id for one in shown],
        "Chunk": [", ".join(one.chunk_ids) for one in shown],
        "What is odd": [one.message for one in shown],
    }
    widths = {"Question": 90, "Chunk": 330, "What is odd": 620}
    ids = [f"{one.kind}\n{one.query_id}\n{one.chunk_ids}\n{one.annotator}" for one in shown]
    rows = _many("odd", ids, columns, widths)
    if total > len(shown):
        text.line([f"The first {len(shown)} of {total:,}."])
    _act(session, "odd", [pair for row in rows for pair in pairs[row]])


def every(session: Session) -> None:
    """Show all labels of one question, settled or not."""
    _said()
    judged = [row for row in questions.rows(session.workspace) if row.judged]
    if not judged:
        text.box("Nothing was judged yet.")
        return
    left, right = st.columns([0.4, 0.6], gap="medium")
    with left:
        typed = st.text_input(
            "Find", key="every.find", placeholder="id, words of the question", label_visibility="collapsed"
        )
        fitting = [row for row in judged if questions.finds(row.query, typed.casefold().split())]
        pages = Pages("every", 0, typed)
        rows = fitting[pages.here : pages.here + _SHOWN]
        if not rows:
            text.box("No judged question fits.")
            return
        ids = [row.query.query_id for row in rows]
        query_id = choice.one(
            "every.questions",
            ids,
            {
                "Id": ids,
                "Question": [row.query.question for row in rows],
                "State": [row.state for row in rows],
                "Judged": [row.judged for row in rows],
            },
            height=510,
            config={
                "Id": st.column_config.TextColumn(width=75),
                "Question": st.column_config.TextColumn(width=260),
                "State": st.column_config.TextColumn(width=80),
                "Judged": st.column_config.NumberColumn(width=60),
            },
        )
        pages.buttons(pages.here + _SHOWN if len(fitting) > pages.here + _SHOWN else None)
    with right:
        text.line([next(row.query.question for row in rows if row.query.query_id == query_id)], quiet=False)
        labels = review.labels(session.workspace, session.who, query_id)
        columns = {
            "Chunk": [one.chunk_id for one in labels],
            "Grade": [_grade(one) for one in labels],
            "Settled by": [_how(one) for one in labels],
            "Reason": [one.reason if isinstance(one, GoldLabel) else "" for one in labels],
        }
        widths = {"Chunk": 240, "Grade": 90, "Settled by": 150, "Reason": 300}
        chosen = _many("every", [f"{query_id}\n{one.chunk_id}" for one in labels], columns, widths)
        _act(session, "every", [(query_id, labels[row].chunk_id) for row in chosen])


def _many(
    name: str, ids: Sequence[str], columns: Mapping[str, Sequence[object]], widths: Mapping[str, int]
) -> list[int]:
    """Show rows to tick and return the places of the ticked ones."""
    with st.container(key=f"choice-{name}"):
        event: Any = st.dataframe(
            dict(columns),
            key=choice.key(name, [*ids, str(st.session_state.get(f"{name}.turn", 0))]),
            on_select="rerun",
            selection_mode="multi-row",
            hide_index=True,
            height=min(_HEIGHT, 35 * (len(ids) + 1) + 2),
            column_config={title: st.column_config.TextColumn(width=width) for title, width in widths.items()},
        )
    return [int(row) for row in event["selection"]["rows"]]


def _act(session: Session, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Offer what can be done with the ticked labels."""
    pairs = list(dict.fromkeys(pairs))
    reason = st.text_input(
        "Why they are opened again",
        key=f"{name}.reason:{st.session_state.get(f'{name}.turn', 0)}",
        placeholder="the reason stays in the record",
        disabled=not pairs,
        max_chars=review.LONGEST_REASON,
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            f"Open {blocks.count(len(pairs), 'label')} again" if pairs else "Open again",
            key=f"{name}.reopen",
            disabled=not (pairs and reason and reason.strip()),
            on_click=partial(_reopen, session, name, pairs, reason or ""),
        )
        st.button(
            "Look at the first one" if len(pairs) > 1 else "Look at it",
            key=f"{name}.look",
            disabled=not pairs,
            on_click=look_at,
            args=pairs[0] if pairs else ("", ""),
        )
        if not pairs:
            text.line(["Tick labels to look at them, or to open them again."])


def _reopen(session: Session, name: str, pairs: Sequence[tuple[str, str]], reason: str) -> None:
    try:
        number = review.reopen(session.workspace, session.who, pairs, reason)
    except AnnotatorError as error:
        st.session_state[_SAID] = ("bad", str(error))
        return
    settles = "What was said stays in the record, but settles nothing until they are judged or decided anew."
    st.session_state[_SAID] = ("good", f"Opened {blocks.count(number, 'label')} again. {settles}")
    st.session_state[f"{name}.turn"] = st.session_state.get(f"{name}.turn", 0) + 1


def _said() -> None:
    kind, words = st.session_state.pop(_SAID, ("", ""))
    if words:
        text.box(words, kind)


def _grade(one: GoldLabel | Unsettled) -> str:
    if isinstance(one, GoldLabel):
        return f"{one.relevance}{' stale' if one.stale else ''}"
    return " · ".join("–" if said.grade is None else str(said.grade) for said in one.judgments)


def _how(one: GoldLabel | Unsettled) -> str:
    return one.settled_by if isinstance(one, GoldLabel) else f"open: {one.kind}"
