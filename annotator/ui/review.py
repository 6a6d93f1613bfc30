"""The Review page's first view: one pair at a time, everything said about it side by side, settled by one key.

What the record says when the screen was drawn goes back with the decision, so that nobody's later word is overlooked.
"""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

import streamlit as st

from annotator.errors import AnnotatorError, NotFound
from annotator.model import GRADES, Evidence, Judgment
from annotator.services import review
from annotator.services.review import Case, Unsettled
from annotator.ui import blocks, choice, hits, shell, text
from annotator.ui.shell import Session

__all__ = ["follow", "look_at", "show"]

_AT = "review.at"
_SAID = "review.said"
_PRESSED = "review.pressed"
_DRAWN = "review.drawn"
_LISTED = "review.listed"
_HELD_SECONDS = 0.7
"""A key that is held down repeats sooner than this; it must not decide the next pair as well."""
_SHOWN = 200
_LIST_HEIGHT = 560
_KINDS = {
    "disputed": "in dispute",
    "unsettled": "one grade apart",
    "reopened": "re-opened",
    "cannot judge": "nobody could judge",
}


def look_at(query_id: str, chunk_id: str) -> None:
    """Show this pair next, wherever on the page it was asked for."""
    _go((query_id, chunk_id))
    st.session_state["review.view"] = "Disputes"


def follow() -> None:
    """Go to the pair that the address names (`?query=ID&chunk=ID`); before the views are drawn."""
    query_id, chunk_id = st.query_params.get("query", ""), st.query_params.get("chunk", "")
    st.query_params.clear()
    if query_id and chunk_id:
        look_at(query_id, chunk_id)


def show(session: Session) -> None:
    """Show the pairs that wait for a decision, and one of them in full."""
    waiting = review.waiting(session.workspace, session.who)
    pairs = [(one.query_id, one.chunk_id) for one in waiting]
    chosen = st.session_state.get(_AT) or (pairs[0] if pairs else None)
    if chosen is None:
        _said()
        text.box("Nothing waits for a decision: wherever two people judged the same chunk, they agree.", "good")
        return
    left, right = st.columns([0.36, 0.64], gap="medium")
    with left:
        _list(waiting, pairs, chosen)
    with right:
        try:
            found = review.case(session.workspace, session.who, *chosen)
        except NotFound as gone:  # its last label was undone
            text.problem(gone)
            _said()
        else:
            _case(session, found, pairs)


def _said() -> None:
    """Say what became of the last decision."""
    kind, words = st.session_state.get(_SAID, ("", ""))
    if kind == "good":
        text.line([words], quiet=False)
    elif words:
        text.box(words, kind)


def _list(waiting: Sequence[Unsettled], pairs: Sequence[tuple[str, str]], chosen: tuple[str, str]) -> None:
    at = pairs.index(chosen) if chosen in pairs else None
    first = 0 if at is None else at // _SHOWN * _SHOWN
    shown = waiting[first : first + _SHOWN]
    counted = {kind: sum(one.kind == kind for one in waiting) for kind in _KINDS}
    place = "settled" if at is None else f"{at + 1} of {len(waiting)}"
    text.line([place, *(f"{number} {_KINDS[kind]}" for kind, number in counted.items() if number)])
    if not shown:
        text.box("Nothing else waits for a decision.", "good")
        return
    ids = [f"{one.query_id}\n{one.chunk_id}" for one in shown]
    key = choice.key("review.list", [*ids, "" if at is None else ids[at - first]])
    st.session_state[_LISTED] = key
    with st.container(key="choice-review"):
        st.dataframe(
            {
                "Question": [one.query_id for one in shown],
                "Grades": [_grades(one.judgments) for one in shown],
                "Chunk": [one.chunk_id for one in shown],
            },
            key=key,
            on_select=partial(_choose, key, tuple(pairs[first : first + _SHOWN])),
            selection_mode="single-row",
            selection_default=None if at is None else {"selection": {"rows": [at - first]}},
            hide_index=True,
            height=min(_LIST_HEIGHT, 35 * (len(shown) + 1) + 2),
            column_config={
                "Question": st.column_config.TextColumn(width=80),
                "Chunk": st.column_config.TextColumn(width=190),
                "Grades": st.column_config.TextColumn(width=70),
            },
        )


def _choose(key: str, pairs: Sequence[tuple[str, str]]) -> None:
    if key != st.session_state.get(_LISTED):
        return  # a list that is no longer shown may still report the row it had
    rows = st.session_state[key]["selection"]["rows"]
    if rows and pairs[rows[0]] != st.session_state.get(_AT):  # a new list reports the row it was given, too
        _go(pairs[rows[0]])


def _case(session: Session, found: Case, pairs: Sequence[tuple[str, str]]) -> None:
    query, chunk = found.query, found.chunk
    text.question(query.question)
    text.line([query.query_id, *query.facets.values(), _KINDS.get(found.kind, "settled"), query.notes])
    where = "" if found.live else "no longer in the chunk table: shown as it was judged"
    st.html(
        f'<div class="an-line"><code>{html.escape(chunk.chunk_id)}</code> '
        f'<span class="an-quiet"><bdi>{html.escape(chunk.title or chunk.doc_id)}</bdi> {where}</span></div>'
    )
    text.marked(chunk.text, _spans(found), css="an-text an-scroll")
    st.html(f'<div class="an-cards">{"".join(_card(one, found) for one in found.judgments)}{_earlier(found)}</div>')
    with st.container(key="decision", gap="small"):
        _decision(session, found, pairs)
        _said()


def _card(one: Judgment, found: Case) -> str:
    other = " · read another version of the text" if one.sha256 != found.chunk.sha256 else ""
    quotes = "".join(f'<q dir="auto">{html.escape(span.quote)}</q>' for span in one.evidence)
    reason = html.escape(one.reason) if one.reason else '<span class="an-quiet">no reason given</span>'
    took = f" · after {one.seconds:.0f} s" if one.seconds is not None else ""
    return (
        f'<div class="an-card"><div class="an-hithead"><b><bdi>{html.escape(one.annotator)}</bdi></b>'
        f"{hits.badge(one.grade, stale=one.stale, without='cannot judge')}</div>"
        f'<div dir="auto">{reason}</div>{quotes}'
        f'<div class="an-line an-quiet">{html.escape(blocks.moment(one.judged_at) + took)}{other}</div></div>'
    )


def _earlier(found: Case) -> str:
    """What reviewers said about the pair before."""
    pieces = []
    if (decision := found.decision) is not None:
        pieces.append(
            '<div class="an-card"><div class="an-hithead">'
            f"<b>Decided by <bdi>{html.escape(decision.reviewer)}</bdi></b>"
            f"{hits.badge(decision.grade, stale=decision.stale)}</div>"
            f'<div dir="auto">{html.escape(decision.reason)}</div>'
            f'<div class="an-line an-quiet">{html.escape(blocks.moment(decision.decided_at))}</div></div>'
        )
    if (reopened := found.reopened) is not None:
        pieces.append(
            f'<div class="an-card"><b>Re-opened by <bdi>{html.escape(reopened.reviewer)}</bdi></b>'
            f'<div dir="auto">{html.escape(reopened.reason)}</div>'
            f'<div class="an-line an-quiet">{html.escape(blocks.moment(reopened.reopened_at))}</div></div>'
        )
    return "".join(pieces)


def _decision(session: Session, found: Case, pairs: Sequence[tuple[str, str]]) -> None:
    pair = (found.query.query_id, found.chunk.chunk_id)
    mark = choice.key("review", [*pair, found.revision])
    at = pairs.index(pair) if pair in pairs else -1
    after = pairs[(at + 1) % len(pairs)] if len(pairs) > 1 or (pairs and at < 0) else None
    before = pairs[at - 1] if len(pairs) > 1 and at >= 0 else None
    st.text_input(
        "Reason",
        key=f"{mark}:reason",
        max_chars=review.LONGEST_REASON,
        placeholder="Why? Left empty, the reason of whoever gave the grade you choose is taken",
        label_visibility="collapsed",
    )
    operation = st.session_state.setdefault(f"{mark}:operation", str(uuid4()))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        for grade, word in GRADES.items():
            st.button(
                word, key=f"{mark}:{grade}", shortcut=str(grade), on_click=_settle,
                args=(session, found, grade, False, mark, operation, after),
            )  # fmt: skip
        st.button(
            "stale", key=f"{mark}:stale", shortcut="s", on_click=_settle,
            args=(session, found, 0, True, mark, operation, after),
            help="Looks relevant, but is an outdated version that must not be used: grade 0",
        )  # fmt: skip
        st.button("Later", key=f"{mark}:next", shortcut="j", disabled=after is None, on_click=_go, args=(after,))
        st.button("Back", key=f"{mark}:back", shortcut="k", disabled=before is None, on_click=_go, args=(before,))
        if st.button("Open in Annotate", key=f"{mark}:open", type="tertiary"):
            st.switch_page(shell.page("annotate"), query_params={"query": found.query.query_id})
    if st.session_state.get(_DRAWN) != pair:
        st.session_state[_DRAWN] = pair
        if _PRESSED in st.session_state:  # what a held key sent while this was drawn was not meant for it
            st.session_state[_PRESSED] = time.monotonic()


def _settle(
    session: Session,
    found: Case,
    grade: int,
    stale: bool,
    mark: str,
    operation: str,
    after: tuple[str, str] | None,
) -> None:
    """Store the decision on exactly what was shown, and go to the next pair."""
    if _held():
        return
    query_id, chunk_id = found.query.query_id, found.chunk.chunk_id
    adopted, evidence = review.said_with(found, grade, stale)
    reason = str(st.session_state.get(f"{mark}:reason") or "").strip() or adopted
    if not reason:
        word = "stale" if stale else f"{grade} {GRADES[grade]}"
        message = (
            f"Write a reason first: nobody who gave {word} wrote one."
            if _gave(found, grade, stale)
            else (f"Write a reason first: nobody else said {word}.")
        )
        st.session_state[_SAID] = ("warn", message)
        return
    try:
        review.decide(
            session.workspace, session.who, query_id, chunk_id, grade, stale, reason, evidence,
            sha256=found.chunk.sha256, seen=found.revision, operation_id=operation,
        )  # fmt: skip
    except AnnotatorError as error:
        st.session_state[_SAID] = ("bad", str(error))
        return
    word = "stale" if stale else GRADES[grade]
    saved = blocks.moment(datetime.now(UTC).isoformat())
    st.session_state[_SAID] = ("good", f"Settled {chunk_id} for {query_id} as {grade} {word} · saved {saved}")
    st.session_state[_AT] = after
    st.session_state.pop(_LISTED, None)


def _gave(found: Case, grade: int, stale: bool) -> bool:
    return any((one.grade, one.stale) == (grade, stale) for one in found.judgments)


def _held() -> bool:
    """Say whether this press follows so soon on another that a key is being held down."""
    last = float(st.session_state.get(_PRESSED, 0.0))
    st.session_state[_PRESSED] = time.monotonic()
    return time.monotonic() - last < _HELD_SECONDS


def _go(pair: tuple[str, str] | None) -> None:
    st.session_state[_AT] = pair
    st.session_state.pop(_SAID, None)


def _spans(found: Case) -> list[tuple[int, int]]:
    """The evidence for the text shown, runs into each other made one."""
    quotes: set[Evidence] = {
        span for one in found.judgments if one.sha256 == found.chunk.sha256 for span in one.evidence
    }
    if found.decision is not None and found.decision.sha256 == found.chunk.sha256:
        quotes.update(found.decision.evidence)
    joined: list[tuple[int, int]] = []
    for span in sorted(quotes, key=lambda one: (one.start, one.end)):
        if joined and span.start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], span.end))
        else:
            joined.append((span.start, span.end))
    return joined


def _grades(said: Sequence[Judgment]) -> str:
    return " · ".join("–" if one.grade is None else f"{one.grade}{'s' if one.stale else ''}" for one in said)
