"""The Chunks page's drift: every label whose chunk is no longer what was judged, with what changed and what to do."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Sequence

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.model import GRADES, GoldLabel
from annotator.services import carry, drift
from annotator.services.drift import KINDS, Affected
from annotator.ui import blocks, choice, hits, shell, text
from annotator.ui.shell import Session

__all__ = ["follow", "show"]

_LIST_HEIGHT = 470
_TEXT_HEIGHT = 300
_GO = "drift.go"
_SAID = "drift.said"
_VIEWS = {"drift": "Drift", "carry": "Carry over"}


def follow(view: str) -> None:
    """Go to the view that was asked for, by an address (`?view=drift`) or by the last step; before `view` is drawn."""
    asked = st.session_state.pop(_GO, "") or _VIEWS.get(st.query_params.get("view", ""), "")
    st.query_params.pop("view", None)
    if asked:
        st.session_state[view] = asked


def show(session: Session) -> None:
    """Show the drifted labels: one to read and decide about, and all of a kind to decide about together."""
    found = drift.affected(session.workspace, session.who)
    _outcome()
    if not found:
        sees_all = session.may("see the labels of others") or not session.may("grade chunks")
        which = "judged chunk" if sees_all else "chunk you judged"
        text.box(f"Every {which} still stands in the table with the text that was judged.", "good")
        return
    text.box(
        f"{blocks.count(len(found), 'label')} on chunks that changed or vanished since they were judged. They hold up "
        "the next version until somebody confirms, carries or drops them; released versions stay as they are.",
        "warn",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        kind = _kind(found)
        if session.may("grade chunks"):
            _look(session)
    shown = [one for one in found if kind in ("", one.drifted.kind)]
    left, right = st.columns([0.4, 0.6], gap="medium")
    with left:
        chosen = _list(shown)
        _together(session, shown)
    with right:
        _one(session, chosen)


def _kind(found: Sequence[Affected]) -> str:
    counts = Counter(one.drifted.kind for one in found)
    names = {"": f"All {len(found)}"} | {kind: f"{kind} {counts[kind]}" for kind in KINDS if counts[kind]}
    kind = st.segmented_control(
        "Kind", list(names), default="", required=True, format_func=lambda one: names.get(one, one), key="drift.kind",
        label_visibility="collapsed",
    )  # fmt: skip
    return kind if kind in names else ""


def _look(session: Session) -> None:
    if not st.button(
        "Look for new places", icon=":material/search:", key="drift.look", help="Where do the judged texts stand now?"
    ):
        return
    bar = st.progress(0.0, text="Reading the chunk table…")

    def progress(done: int, total: int) -> None:
        bar.progress(min(done / total, 1.0), text=f"{done:,} of {total:,} read")

    search = carry.propose(session.workspace, progress=progress)
    waiting = carry.apply(session.workspace, session.who, search)
    words = f"{blocks.count(waiting, 'proposal')} to look at, found in {search.seconds:.1f} s."
    if search.without:
        words += (
            f" Nothing was found for {blocks.count(len(search.without), 'label')}: drop them, or label other chunks."
        )
    st.session_state[_SAID] = ("good" if waiting else "warn", words)
    if waiting:
        st.session_state[_GO] = "Carry over"
    st.rerun()


def _outcome() -> None:
    kind, words = st.session_state.pop(_SAID, ("", ""))
    if words:
        text.box(words, kind)


def _list(shown: Sequence[Affected]) -> Affected:
    keys = [f"{one.query_id}\n{one.label.chunk_id}" for one in shown]
    chosen = choice.one(
        "drift",
        keys,
        {
            "Question": [one.query_id for one in shown],
            "Grade": [f"{one.label.relevance} {GRADES[one.label.relevance]}" for one in shown],
            "What": [one.drifted.kind for one in shown],
            "Chunk": [one.label.chunk_id for one in shown],
        },
        height=_LIST_HEIGHT,
        config={
            "Question": st.column_config.TextColumn(width=85),
            "Grade": st.column_config.TextColumn(width=95),
            "What": st.column_config.TextColumn(width=75),
        },
    )
    return shown[keys.index(chosen)]


def _one(session: Session, one: Affected) -> None:
    label, drifted = one.label, one.drifted
    text.question(one.question)
    moved = f", now {', '.join(drifted.to)}" if drifted.to else ""
    alike = "" if drifted.similarity is None else f"{drifted.similarity:.0f} % alike"
    _label(label, [label.chunk_id, f"{KINDS[drifted.kind]}{moved}", alike])
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if drifted.present is not None and session.may("grade chunks"):
            st.button(
                f"Confirm {label.relevance} {GRADES[label.relevance]}",
                key=f"drift.confirm:{one.key}",
                type="primary",
                shortcut="y",
                help="The label is right for the present text as well",
                on_click=_do,
                args=(session, "confirmed", lambda: drift.confirm(session.workspace, session.who, [one.key])),
            )
        if session.may("settle labels"):
            reason = str(st.session_state.get("drift.reason", ""))
            st.button(
                "Drop",
                key=f"drift.drop:{one.key}",
                help="The next version is without it; write the reason first",
                disabled=not reason.strip(),
                on_click=_do,
                args=(session, "dropped", lambda: drift.drop(session.workspace, session.who, [one.key], reason)),
            )
        if session.opens("annotate") and st.button("Open in Annotate", key=f"drift.open:{one.key}"):
            st.switch_page(shell.page("annotate"), query_params={"query": one.query_id})
    if label.evidence and drifted.present is not None and not one.evidence_stands:
        text.line(["Evidence that the text no longer has is lost when you confirm."], quiet=False)
    with st.container(height=_TEXT_HEIGHT):
        _difference(one)


def _label(label: GoldLabel, facts: Sequence[str]) -> None:
    line = " · ".join(f"<bdi>{html.escape(fact)}</bdi>" for fact in facts if fact)
    quotes = "".join(f"<br>“<bdi>{html.escape(span.quote)}</bdi>”" for span in label.evidence)
    reason = f"<br><bdi>{html.escape(label.reason)}</bdi>" if label.reason else ""
    st.html(
        f'<div class="an-line">{hits.badge(label.relevance)} {line}<span class="an-quiet">{reason}{quotes}</span></div>'
    )


def _difference(one: Affected) -> None:
    if one.drifted.kind == "changed":
        tags = {"same": ("", ""), "gone": ("<del>", "</del>"), "new": ("<ins>", "</ins>")}
        body = "".join(f"{tags[kind][0]}{html.escape(words)}{tags[kind][1]}" for kind, words in drift.difference(one))
        st.html(f'<div class="an-text an-difference" dir="auto">{body}</div>')
        return
    present = one.drifted.present
    text.line(["As it was judged"])
    text.marked(one.drifted.judged.text or "The text was not kept.")
    if present is not None:
        text.line(["What has this id now"])
        text.marked(present.text)


def _together(session: Session, shown: Sequence[Affected]) -> None:
    """Offer to decide about all that are listed, with one reason."""
    sound = [one for one in shown if one.drifted.kind == "changed" and one.evidence_stands]
    workspace, may_drop = session.workspace, session.may("settle labels")
    if not session.may("grade chunks") or not (sound or may_drop):
        return
    reason = st.text_input("Reason", key="drift.reason", placeholder="why, in a few words")
    with st.container(horizontal=True, gap="small"):
        if sound:
            st.button(
                f"Confirm {len(sound)} changed",
                key="drift.confirm_all",
                help="Those that were edited and still have everything quoted as evidence",
                disabled=not reason.strip(),
                on_click=_do,
                args=(session, "confirmed", lambda: drift.confirm(workspace, session.who, _keys(sound), reason)),
            )
        if may_drop:
            st.button(
                f"Drop {blocks.count(len(shown), 'label')}",
                key="drift.drop_all",
                help="The next version is without them",
                disabled=not reason.strip(),
                on_click=_do,
                args=(session, "dropped", lambda: drift.drop(workspace, session.who, _keys(shown), reason)),
            )


def _keys(shown: Sequence[Affected]) -> list[drift.Key]:
    return [one.key for one in shown]


def _do(session: Session, what: str, step: Callable[[], int]) -> None:
    try:
        number = step()
    except AnnotatorError as error:
        st.session_state[_SAID] = ("bad", str(error))
    else:
        st.session_state[_SAID] = ("good", f"{blocks.count(number, 'label')} {what} by {session.who}.")
        st.session_state.pop("drift.reason", None)
