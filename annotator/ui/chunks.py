"""The Chunks page's parts: the table's state, its documents to read in order, search, syncs and drift."""

from __future__ import annotations

import html
from collections.abc import Callable

import streamlit as st

from annotator.model import Chunk
from annotator.services import chunks, search
from annotator.services.chunks import Sync, TableState
from annotator.ui import blocks, carry, choice, drift, shell, syncing, text
from annotator.ui.paging import Pages
from annotator.ui.shell import Session

__all__ = ["body", "header"]

_PAGE = 50
_FOUND = 20
_READING_HEIGHT = 530
_LIST_HEIGHT = 570  # as high as the reading pane with its line above
_NOTHING_YET = "Nothing was looked at yet: the table is searched in place, and what a search shows is kept here."
_MODES = {"words": "words", "fuzzy": "typos allowed", "id": "chunk id"}


def header(session: Session, state: TableState) -> None:
    """Show how large and how fresh the copy of the table is, with the button that freshens it."""
    left, right = st.columns([0.62, 0.38], vertical_alignment="center")
    with left:
        synced = f"synced {blocks.moment(state.last.finished_at)}" if state.last else "not synced yet"
        blocks.title("Chunks", [syncing.size(state), synced, state.url, state.table])
    with right:
        if state.url:
            syncing.button(session, primary=state.last is None)
    syncing.outcome()
    if not state.url:
        may = session.may("connect a chunk table")
        whose = "It is the retrieval system's own table: labels point into it." + (
            "" if may else " An admin connects it."
        )
        text.box(f"No chunk table is connected yet. {whose}")
        if may and st.button("Connect a chunk table", type="primary", key="connect"):
            st.switch_page(shell.page("settings"))
        st.stop()
    if state.interrupted:
        text.box("The last sync did not finish. Sync again: it goes on where that one stopped.", "warn")


def body(session: Session) -> None:
    """Show the chosen view."""
    views: dict[str, Callable[[Session], None]] = {
        "Documents": _documents,
        "All chunks": _all_chunks,
        "Search": _search,
        "Sync history": _history,
        "Drift": drift.show,
        "Carry over": carry.show,
    }
    drift.follow("chunks.view")
    asked = "Documents" if st.query_params.get("doc") and "chunks.view" not in st.session_state else None
    view = st.segmented_control(
        "View",
        list(views),
        default=asked or "Documents",
        required=True,
        key="chunks.view",
        label_visibility="collapsed",
    )
    views[view or "Documents"](session)


def _documents(session: Session) -> None:
    pages = Pages("documents", "")
    rows = chunks.documents(session.workspace, after=pages.here, limit=_PAGE + 1)
    shown = rows[:_PAGE]
    if not shown:
        held = "The chunks of this table belong to no documents. All of them stand under “All chunks”."
        text.box(_NOTHING_YET if _in_place(session) else held)
        return
    left, right = st.columns([0.42, 0.58], gap="medium")
    with left:
        chosen = choice.one(
            "documents",
            [one.doc_id for one in shown],
            {
                "Document": [one.doc_id for one in shown],
                "Chunks": [one.chunks for one in shown],
                "Begins with": [one.title for one in shown],
            },
            height=_LIST_HEIGHT,
            config={
                "Document": st.column_config.TextColumn(width=160),
                "Chunks": st.column_config.NumberColumn(width=70),
            },
            on_choice=_unlink,
        )
        pages.buttons(shown[-1].doc_id if len(rows) > _PAGE else None)
    linked = st.query_params.get("doc", "")
    with right:
        _read(session, linked or chosen)


def _in_place(session: Session) -> bool:
    return chunks.state(session.workspace).in_place


def _all_chunks(session: Session) -> None:
    pages = Pages("rows", 0)
    rows = chunks.browse(session.workspace, after_row=pages.here, limit=_PAGE + 1)
    shown = {chunk.chunk_id: chunk for _, chunk in rows[:_PAGE]}
    if not shown:
        text.box(_NOTHING_YET if _in_place(session) else "The chunk table is empty. Sync it.")
        return
    left, right = st.columns([0.5, 0.5], gap="medium")
    with left:
        chosen = choice.one(
            "chunks",
            list(shown),
            {
                "Chunk": list(shown),
                "Document": [one.title or one.doc_id for one in shown.values()],
                "Text": [_start(one) for one in shown.values()],
            },
            height=_LIST_HEIGHT,
            config={"Chunk": st.column_config.TextColumn(width=180)},
        )
        pages.buttons(rows[_PAGE - 1][0] if len(rows) > _PAGE else None)
    with right, st.container(height=_LIST_HEIGHT):
        _passage(shown[chosen])


def _unlink() -> None:
    st.query_params.pop("doc", None)


def _read(session: Session, doc_id: str) -> None:
    pages = Pages("reading", 0, doc_id)
    shown = chunks.document(session.workspace, doc_id, limit=_PAGE, offset=pages.here)
    if not shown:
        text.box(f"There is no document {doc_id!r} in the table.", "warn")
        return
    length = chunks.document_length(session.workspace, doc_id)
    text.line([shown[0].title, doc_id, blocks.count(length, "chunk")], quiet=False)
    with st.container(height=_READING_HEIGHT):
        for place, chunk in enumerate(shown, pages.here + 1):
            _passage(chunk, f"{place} of {length}")
    end = pages.here + _PAGE
    pages.buttons(end if end < length else None)


def _passage(chunk: Chunk, place: str = "") -> None:
    facts = [f"{name}: {value}" for name, value in chunk.metadata.items()]
    head = " · ".join(f"<bdi>{html.escape(part)}</bdi>" for part in (place, chunk.title, *facts) if part)
    st.html(
        f'<article class="an-passage"><code>{html.escape(chunk.chunk_id)}</code>'
        f'<div class="an-line an-quiet">{head or "&nbsp;"}</div>'
        f'<div class="an-text" dir="auto">{html.escape(chunk.text) or "<i>no text</i>"}</div></article>'
    )


def _search(session: Session) -> None:
    box, kind = st.columns([0.8, 0.2], vertical_alignment="bottom")
    with box:
        typed = st.text_input(
            "Search",
            key="chunks.words",
            placeholder='words, "an exact phrase", -without, doc:name, or an id',
            label_visibility="collapsed",
        ).strip()
    with kind:
        mode = st.selectbox(
            "Kind of search",
            list(_MODES),
            format_func=lambda name: _MODES[name],
            key="chunks.mode",
            label_visibility="collapsed",
        )
    if not typed:
        text.box("Type words of the text, a quoted phrase, or the beginning of a chunk id.")
        return
    pages = Pages("found", 0, f"{mode}\n{typed}")
    found = search.search(session.workspace, typed, mode=mode, limit=_FOUND, offset=pages.here)
    text.line([f"{found.total:,}{'+' if found.more else ''} found", f"{found.seconds * 1000:.0f} ms"])
    if not found.hits:
        text.box(found.advice or "Nothing found.")
        return
    for hit in found.hits:
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            with st.container(gap=None):
                text.line([hit.chunk_id, hit.doc_id], quiet=False)
                text.marked(hit.snippet, hit.spans, css="an-snippet")
            if hit.doc_id and st.button("Read", key=f"read:{hit.chunk_id}", help="Read its document in order"):
                st.query_params["doc"] = hit.doc_id
                st.session_state.pop("chunks.view", None)
                st.rerun()
    end = pages.here + _FOUND
    pages.buttons(end if end < found.total else None)


def _history(session: Session) -> None:
    rows = [_sync_row(one) for one in chunks.syncs(session.workspace)]
    if not rows:
        text.box("The table was not synced yet.")
        return
    blocks.table(
        ("When", "By", "New", "Changed", "Removed", "Unchanged", "Chunks", "Seconds"), rows, figures=range(2, 8)
    )


def _sync_row(one: Sync) -> list[str]:
    if one.finished_at is None:
        return [blocks.moment(one.started_at), one.who, "did not finish", "", "", "", "", ""]
    if not one.whole:
        what = "one chunk new" if one.added else "one chunk gone" if one.removed else "one chunk anew"
        return [blocks.moment(one.started_at), one.who, what, "", "", "", "", f"{one.seconds or 0:.1f}"]
    numbers = (one.added, one.changed, one.removed, one.unchanged, one.total)
    return [blocks.moment(one.started_at), one.who, *(f"{n or 0:,}" for n in numbers), f"{one.seconds or 0:.1f}"]


def _start(chunk: Chunk) -> str:
    return " ".join(chunk.text[:300].split())[:160]
