"""The sync button: brings the workspace's copy up to the live chunk table, with a bar, and says what came of it."""

from __future__ import annotations

from typing import Final

import streamlit as st

from annotator.errors import AnnotatorError, InputError
from annotator.services import chunk_table, search
from annotator.services.chunk_table import Duplicates, SyncResult
from annotator.services.chunks import TableState
from annotator.ui import blocks, text
from annotator.ui.shell import Session

__all__ = ["button", "outcome", "run", "size"]

_DUPLICATES: Final[dict[Duplicates, str]] = {
    "refuse": "refuse the sync and list them",
    "first": "keep the first of each",
    "last": "keep the last of each",
}
_DONE = "syncing.done"
_FAILED = "syncing.failed"


def size(state: TableState) -> str:
    """Say how many chunks there are; of a table searched in place, how many about, and how many were looked at."""
    if not state.in_place:
        return blocks.count(state.count, "chunk")
    there = f"about {blocks.count(state.about, 'chunk')}" if state.about is not None else "chunks"
    return f"{there} in the live table (searched in place), {state.count:,} looked at"


def button(session: Session, *, primary: bool = True) -> None:
    """Offer the sync, but not to readers; the bar stands where the button is while it runs."""
    if not session.may("sync the chunk table"):
        return
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="bottom", gap="small"):
        with st.popover("Options", type="tertiary"):
            duplicates = st.selectbox(
                "If an id appears twice with different text",
                list(_DUPLICATES),
                format_func=lambda name: _DUPLICATES[name],
                key="syncing.duplicates",
                width=320,
            )
            allow_empty = st.checkbox("Let a table without rows remove every chunk", key="syncing.empty")
        asked = st.button(
            "Sync now", type="primary" if primary else "secondary", icon=":material/sync:", key="syncing.go"
        )
    if asked:
        run(session, duplicates, allow_empty=allow_empty)
        st.rerun()


def outcome() -> None:
    """Say what the last sync of this visit did, once."""
    done = st.session_state.pop(_DONE, None)
    failed = st.session_state.pop(_FAILED, None)
    if done is not None:
        text.box(_words(done), "good")
        if done.shrank:
            told = f"{done.removed:,} chunks are gone from the table, more than half of those that were here."
            text.box(f"{told} If it is being filled anew, sync again when that is done.", "warn")
    if failed is not None:
        text.problem(failed, key="syncing.problems")


def run(session: Session, duplicates: Duplicates = "refuse", *, allow_empty: bool = False) -> None:
    """Sync with a bar; what came of it is said by `outcome` at the next run of the page."""
    bar = st.progress(0.0, text="Reading the chunk table…")

    def show(rows: int, total: int | None) -> None:
        share = min(1.0, rows / total) if total else 0.0
        of = f" of {total:,}" if total else ""
        bar.progress(share, text=f"{rows:,}{of} rows read")

    try:
        st.session_state[_DONE] = chunk_table.sync(
            session.workspace,
            session.who,
            duplicates=duplicates,
            allow_empty=allow_empty,
            progress=show,
        )
        bar.progress(1.0, text="Bringing the search up to date…")
        search.bring_up_to_date(session.workspace)
    except AnnotatorError as error:
        hint = error.hint
        if isinstance(error, InputError) and "--duplicates" in hint:
            hint = "Mend the table, or choose under Options which of each counts, and sync again. Nothing was written."
            error = InputError(error.message, problems=error.problems, hint=hint)
        elif isinstance(error, InputError) and "--allow-empty" in hint:
            hint = hint.replace("--allow-empty says so", "say so under Options, and sync again")
            error = InputError(error.message, hint=hint)
        st.session_state[_FAILED] = error
    bar.empty()


def _words(done: SyncResult) -> str:
    said = f"Synced in {done.seconds:.1f} s: {blocks.count(done.total, 'chunk')}"
    changes = [
        f"{number:,} {word}"
        for number, word in ((done.added, "new"), (done.changed, "changed"), (done.removed, "removed"))
        if number
    ]
    said += f", {', '.join(changes)}." if changes else ", nothing had changed."
    if done.repeated:
        said += f" {blocks.count(done.repeated, 'row')} had an id that came before."
    if done.empty:
        said += f" {blocks.count(done.empty, 'chunk has', 'chunks have')} no text."
    return said
