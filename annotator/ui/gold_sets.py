"""The Gold sets page's parts: what stands in the way of the next version, freezing it, and the versions there are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from annotator.services import gold
from annotator.services.gold import Item, Readiness, Version
from annotator.ui import blocks, shell, text
from annotator.ui.blocks import Pair, Tile
from annotator.ui.shell import Session

__all__ = ["freeze", "readiness", "versions"]

_FORMS = (("native", "Whole release (zip)", "zip"), ("jsonl", "Labels only (JSONL)", "jsonl"))
_SHOWN = 12
_FROZEN = "gold_sets.frozen"


def readiness(found: Readiness) -> None:
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
        text.box(f"{many} in the way of the next version. Mend them, or leave those questions out.", "warn")
        _items(found.blocks, "block")
    if found.warns:
        with st.expander(f"Worth a look ({len(found.warns)})"):
            _items(found.warns, "warn")


def _items(items: Sequence[Item], name: str) -> None:
    """List things to mend, each with the way to the question it is about."""
    for place, item in enumerate(items[:_SHOWN]):
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="medium"
        ):
            with st.container(width="stretch"):
                text.line([item.message], quiet=False)
            if item.query_ids:
                more = f" (1 of {len(item.query_ids)})" if len(item.query_ids) > 1 else ""
                if st.button(f"Open in Annotate{more}", key=f"{name}:{place}:{item.kind}:{item.query_ids[0]}"):
                    st.switch_page(shell.page("annotate"), query_params={"query": item.query_ids[0]})
    if len(items) > _SHOWN:
        with st.expander(f"{len(items) - _SHOWN} more"):
            blocks.table(("What", "Questions"), [(one.message, ", ".join(one.query_ids)) for one in items[_SHOWN:]])


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


def versions(session: Session, known: Sequence[Version]) -> None:
    """List the versions, and show one with its downloads and the command that scores a run against it."""
    blocks.heading("Versions", blocks.count(len(known), "version") if known else "none yet")
    if not known:
        text.line(["A version is a numbered snapshot of the settled labels. Runs are scored against it."])
        return
    blocks.table(
        ("Version", "Frozen", "By", "Questions", "Labels", "Relevant", "Digest", "Note"),
        [
            (
                one.folder, blocks.moment(one.created_at), one.created_by, f"{_count(one, 'queries'):,}",
                f"{_count(one, 'judged_pairs'):,}", f"{_count(one, 'relevant'):,}", one.digest[:12], one.note,
            )
            for one in known[:200]
        ],
        figures=(3, 4, 5),
    )  # fmt: skip
    folders = {one.folder: one for one in known}
    chosen = folders[st.selectbox("Take out a version", list(folders), key="version")]
    _take_out(session, chosen)


def _take_out(session: Session, chosen: Version) -> None:
    left, right = st.columns([0.4, 0.6], gap="large")
    with left:
        left_out = chosen.manifest.get("left_out") or []
        blocks.pairs(
            [
                Pair("Digest", chosen.digest),
                Pair("Annotators", f"{_count(chosen, 'annotators'):,}"),
                Pair("Judgments", f"{_count(chosen, 'judgments'):,}"),
                Pair("Left out", ", ".join(left_out) if left_out else "nothing"),
            ]
        )
        with st.container(horizontal=True, gap="small"):
            for form, label, ending in _FORMS:
                st.download_button(
                    label,
                    data=partial(_content, session, chosen.version, form),
                    file_name=f"{chosen.folder}.{ending}",
                    on_click="ignore",
                    key=f"download:{chosen.version}:{form}",
                    icon=":material/download:",
                )
    with right:
        st.html('<div class="an-line an-quiet">Score a run against it in continuous integration</div>')
        st.code(_snippet(chosen), language="bash")


def _content(session: Session, number: int, form: str) -> bytes:
    return gold.download(session.workspace, number, form)[1]


def _snippet(chosen: Version) -> str:
    zip_name = f"{chosen.folder}.zip"
    return (
        f"# {chosen.folder}, digest {chosen.digest[:12]}: keep the downloaded zip beside your code\n"
        f"python -m annotator verify {zip_name}\n"
        f"python -m annotator evaluate --gold {zip_name} --run run.jsonl -k 5 -k 10 \\\n"
        f"  --format json -o evaluation.json"
    )


def _count(version: Version, name: str) -> int:
    return int(version.manifest["counts"].get(name, 0))
