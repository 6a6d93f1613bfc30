"""The next version on the Gold sets page: what stands in its way, each with where it is mended, and freezing it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from annotator.services import gold
from annotator.services.gold import Item, Readiness, Version
from annotator.ui import blocks, shell, text
from annotator.ui.blocks import Tile
from annotator.ui.shell import Session

__all__ = ["freeze", "readiness"]

_MENDED_IN = {
    "copied": "Queries",
    "contradiction": "Queries",
    "thin_slice": "Queries",
    "drifted": "Chunks",
    "disputed": "Review",
    "unsettled": "Review",
    "reopened": "Review",
}
"""Kind of item to the page where it is mended; all others are mended by judging, and so is what only reviewers decide
for everybody who is none."""
_SHOWN = 12
_FROZEN = "gold_sets.frozen"


def readiness(session: Session, found: Readiness) -> None:
    """Say whether the next version can be frozen, what is in its way, and what deserves a look."""
    blocks.tiles(
        [
            Tile("Ready", f"{found.ready_queries:,}", "questions that go into the next version"),
            Tile("Labels", f"{found.pairs:,}", "settled grades of those questions"),
            Tile("Held up", f"{len(found.left_out):,}", "questions with something open"),
            Tile("Worth a look", f"{len(found.warns):,}", "does not hold up anything"),
        ]
    )
    if found.ready:
        text.box("Nothing is in the way of the next version.", "good")
    else:
        many = blocks.count(len(found.blocks), "thing is", "things are")
        todo = ""
        if session.may("release versions"):
            todo = " Mend it" if len(found.blocks) == 1 else " Mend them"
            todo += ", or leave out the questions below." if found.ready_queries else "."
        text.box(f"{many} in the way of the next version.{todo}", "warn")
        _items(session, found.blocks, "block")
    if found.warns:
        with st.expander(f"Worth a look ({len(found.warns)})"):
            _items(session, found.warns, "warn")


def _items(session: Session, items: Sequence[Item], name: str) -> None:
    """List things to mend, each with the way to where it is mended."""
    for place, item in enumerate(items[:_SHOWN]):
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="medium"
        ):
            with st.container(width="stretch"):
                text.line([item.message], quiet=False)
            if item.kind != "waiting":
                _link(session, item, f"{name}:{place}:{item.kind}:{item.query_ids[0] if item.query_ids else ''}")
    if len(items) > _SHOWN:
        with st.expander(f"{len(items) - _SHOWN} more"):
            blocks.table(("What", "Questions"), [(one.message, ", ".join(one.query_ids)) for one in items[_SHOWN:]])


def _link(session: Session, item: Item, key: str) -> None:
    page = _MENDED_IN.get(item.kind, "Annotate")
    if not session.opens(page.lower()):
        page = "Annotate"
    if not session.opens(page.lower()):
        return
    first = item.query_ids[0] if item.query_ids else ""
    more = f" (1 of {len(item.query_ids)})" if len(item.query_ids) > 1 and page == "Annotate" else ""
    if not st.button(f"Open in {page}{more}", key=key):
        return
    if page == "Queries" and len(item.query_ids) == 1:
        st.session_state["queries.find"] = first
    there = {
        "Annotate": {"query": first} if first else None,
        "Chunks": {"view": "drift"},
        "Review": {"query": first, "chunk": item.chunk_ids[0] if item.chunk_ids else ""},
    }.get(page)
    st.switch_page(shell.page(page.lower()), query_params=there)


def freeze(session: Session, found: Readiness, known: Sequence[Version]) -> None:
    """Offer to freeze the next version, with a note, and leaving out what is open only when asked to."""
    blocks.heading("Freeze the next version", "it can never be changed afterwards")
    frozen = st.session_state.pop(_FROZEN, "")
    if frozen:
        text.box(frozen, "good")
    # a fresh form for every version
    note = st.text_input(
        "Note",
        key=f"freeze.note:{len(known)}",
        max_chars=500,
        placeholder="what changed since the last version, for whoever uses it",
    )
    leave_out = False
    if not found.ready and found.ready_queries:
        leave_out = st.checkbox(
            f"Leave the {blocks.count(len(found.left_out), 'question')} with something open out of this version",
            key=f"freeze.leave_out:{len(known)}",
        )
    possible = found.ready_queries > 0 and (found.ready or leave_out)
    if st.button("Freeze", type="primary", key="freeze.go", icon=":material/ac_unit:", disabled=not possible):
        with st.spinner("Freezing…"):
            new = gold.release(session.workspace, session.who, note=note.strip(), allow_open=leave_out)
        st.session_state[_FROZEN] = f"Frozen: {new.folder}, {blocks.count(_count(new, 'queries'), 'question')}."
        st.rerun()


def _count(version: Version, name: str) -> int:
    return int(version.manifest["counts"].get(name, 0))
