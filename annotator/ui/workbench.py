"""Mounts the grading workbench and turns what it sends into service calls.

The component (component/workbench.js) shows the candidates and the reading pane and keeps the queue of what was
graded; this module fills it with data and acknowledges what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.model import GRADES, Chunk, Evidence, Judgment
from annotator.services import evidence, labelling, live, queue
from annotator.services.labelling import Candidate
from annotator.services.live import Look
from annotator.services.queue import Desk
from annotator.services.workspace import Workspace
from annotator.ui import keys

__all__ = ["SEARCH_LABEL", "Listing", "mount", "script"]

SEARCH_LABEL = "Search chunks"
"""Label of the page's search box: the component finds the box by it."""

LONGEST_TEXT = 200_000
"""Characters of one chunk sent to the screen."""

_FILES = Path(__file__).parent / "component"


def script() -> str:
    """Return the bench's JavaScript, which is one module in five files and has its style in `STYLE`."""
    style = json.dumps((_FILES / "workbench.css").read_text("utf-8"))
    parts = ("nodes.js", "queue.js", "list.js", "live.js", "workbench.js")
    files = ((_FILES / name).read_text("utf-8") for name in parts)
    return "\n".join([f"const STYLE = {style};", *files])


# An element is sent whole with every rerun, its code too, unless it is as it was before. So the code has an element of
# its own, and a grade brings back little more than what was said.
_code = st.components.v2.component("annotator.workbench_code", js=script())
_component = st.components.v2.component("annotator.workbench", js=(_FILES / "mount.js").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Listing:
    """What the list shows: one page of chunk ids and the words that brought them up.

    `snippets` holds, per chunk id, a short text and its marked spans; chunks without one show their beginning.
    """

    token: str
    ids: tuple[str, ...]
    counted: str
    page: int = 0
    pages: int = 1
    seconds: float = 0.0
    advice: str = ""
    marks: Mapping[str, tuple[tuple[int, int], ...]] | None = None
    snippets: Mapping[str, tuple[str, tuple[tuple[int, int], ...]]] | None = None
    landing: str = ""
    """The chunk to begin with, where it is in the list; else the first without a label."""
    whys: Mapping[str, str] | None = None
    """Per chunk id in a few words why it is in the list, where that does not go without saying."""


def mount(
    workspace: Workspace, who: str, desk: Desk, listing: Listing, *, page_key: str, go_key: str, similar_key: str
) -> None:
    """Show the workbench for the desk's question. A turned page lands in session state under `page_key`, a wish for the
    next or previous question or for the search under `go_key`, a chunk id whose like is wanted under `similar_key`."""
    key = "workbench"
    answers = st.session_state.setdefault("workbench.answers", {})

    def store() -> None:
        sent = st.session_state[key].get("queue") or {}
        try:
            outcome = labelling.apply(workspace, who, labelling.decode_operations(sent.get("ops", [])))
        except AnnotatorError as error:
            answers["failure"] = str(error)
            return
        answers.pop("failure", None)
        answers["ack"] = list(outcome.acknowledged)
        answers["refused"] = [list(one) for one in outcome.refused]
        answers["saved_at"] = outcome.saved_at

    def turn() -> None:
        st.session_state[page_key] = int(st.session_state[key].get("page") or 0)

    def go() -> None:
        st.session_state[go_key] = st.session_state[key].get("go")

    def stay() -> None:
        queue.stay(workspace, who, desk.query.query_id)

    def show_around() -> None:
        chunk_id = str(st.session_state[key].get("around"))
        try:
            before, after = labelling.around(workspace, chunk_id)
        except AnnotatorError as error:
            answers["around"] = {"id": chunk_id, "message": str(error)}
            return
        answers["around"] = {"id": chunk_id, "before": _brief(before), "after": _brief(after)}

    def locate() -> None:
        wish = st.session_state[key].get("locate") or {}
        answer: dict[str, Any] = {"id": wish.get("id"), "n": answers.get("located", {}).get("n", 0) + 1}
        try:
            span = evidence.locate(workspace, str(wish.get("id")), str(wish.get("quote", "")))
            answer["span"] = _span(span)
        except AnnotatorError as error:
            answer["message"] = str(error)
        answers["located"] = answer

    def answer(chunk_id: str, found: Look | None, **more: str) -> None:
        shown = {} if found is None else {**asdict(found), "at": found.looked_at}
        answers["look"] = {**shown, **more, "id": chunk_id, "n": answers.get("look", {}).get("n", 0) + 1}

    def look() -> None:
        wish = st.session_state[key].get("look") or {}
        chunk_id = str(wish.get("id"))
        try:
            answer(chunk_id, (live.look if wish.get("asked") else live.glance)(workspace, chunk_id))
        except AnnotatorError as error:
            answer(chunk_id, None, message=str(error))

    def refresh() -> None:
        chunk_id = str(st.session_state[key].get("refresh"))
        try:
            answer(chunk_id, None, done=live.refresh(workspace, who, chunk_id))
        except AnnotatorError as error:
            answer(chunk_id, None, message=str(error))

    def find_similar() -> None:
        st.session_state[similar_key] = st.session_state[key].get("similar")

    _code(key="workbench_code", height=1)
    _component(
        key=key,
        data=_data(workspace, who, desk, listing, answers),
        on_queue_change=store,
        on_page_change=turn,
        on_go_change=go,
        on_alive_change=stay,
        on_around_change=show_around,
        on_locate_change=locate,
        on_look_change=look,
        on_refresh_change=refresh,
        on_similar_change=find_similar,
    )


def _data(
    workspace: Workspace, who: str, desk: Desk, listing: Listing, answers: Mapping[str, Any]
) -> dict[str, object]:
    query_id = desk.query.query_id
    shown = labelling.candidates(workspace, who, query_id, listing.ids)
    twins = labelling.twins(shown)
    undoable = labelling.undoable(workspace, who, query_id)
    judged, relevant = labelling.counts(workspace, who, query_id)
    standing = live.standing(workspace)
    list_token = f"{query_id}\n{listing.token}"
    known = _known(list_token)
    return {
        "who": who,
        "query": query_id,
        "next": bool(desk.following),
        "previous": bool(desk.previous),
        "list": list_token,
        "candidates": [
            _unless_known(_candidate(one, listing), known) | _said(one, twins.get(one.chunk.chunk_id, 0))
            for one in shown
        ],
        "counted": listing.counted,
        "landing": listing.landing,
        "progress": f"{judged} judged · {relevant} relevant",
        "page": listing.page,
        "pages": listing.pages,
        "seconds": listing.seconds,
        "advice": listing.advice,
        "history": [
            {"id": one.operation_id, "chunk_id": one.chunk_id, "before": _label(one.before)}
            for one in reversed(undoable)
        ],
        "ack": answers.get("ack", []),
        "refused": answers.get("refused", []),
        "saved_at": answers.get("saved_at", ""),
        "failure": answers.get("failure", ""),
        "around": answers.get("around"),
        "located": answers.get("located"),
        "synced_at": standing.synced_at,
        "at_a_glance": standing.at_a_glance,
        "look": answers.get("look"),
        "words": {str(grade): word for grade, word in GRADES.items()},
        "keys": keys.as_data(),
        "search_label": SEARCH_LABEL,
    }


def _known(list_token: str) -> Mapping[str, str]:
    """Return the version of each row that the screen says it holds of this list."""
    state = st.session_state.get("workbench") or {}
    has = (state.get("queue") or {}).get("has") or {}
    return dict(has.get("of") or {}) if has.get("list") == list_token else {}


def _unless_known(row: dict[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Leave out what the screen holds already: a grade must not send a page of texts again."""
    version = blake2b(json.dumps(row).encode(), digest_size=8).hexdigest()
    if known.get(row["id"]) == version:
        row = {"id": row["id"], "sha256": row["sha256"]}
    return row | {"version": version}


def _candidate(one: Candidate, listing: Listing) -> dict[str, Any]:
    """Return what of a row stays as it is whatever is said about the chunk."""
    chunk = one.chunk
    text = chunk.text[:LONGEST_TEXT]
    snippet, spans = (listing.snippets or {}).get(chunk.chunk_id) or (" ".join(text[:400].split())[:240], ())
    row: dict[str, Any] = {
        "id": chunk.chunk_id,
        "doc": chunk.doc_id,
        "title": chunk.title,
        "place": one.place,
        "siblings": one.siblings,
        "meta": [[name, _value(value)] for name, value in chunk.metadata.items()],
        "text": text,
        "sha256": chunk.sha256,
        "spans": [list(span) for span in (listing.marks or {}).get(chunk.chunk_id, ())],
        "snippet": snippet,
        "snippet_spans": [list(span) for span in spans],
        "why": (listing.whys or {}).get(chunk.chunk_id, ""),
    }
    if len(text) < len(chunk.text):
        row["cut"] = f"Cut here: the first {len(text):,} of {len(chunk.text):,} characters are shown."
    return row


def _said(one: Candidate, group: int) -> dict[str, Any]:
    """Return what this person said about the chunk; `group` tells near-duplicates, 0 for none."""
    label = _label(one.mine)
    if label is not None and one.mine is not None and one.mine.sha256 not in ("", one.chunk.sha256):
        label["outdated"] = True
    if label is not None and one.reopened:
        label["reopened"] = True
    said: dict[str, Any] = {"label": label, "alike": group}
    if one.draft is not None:
        said["draft"] = {"reason": one.draft[0], "evidence": _spans(one.draft[1])}
    return said


def _label(one: Judgment | None) -> dict[str, object] | None:
    if one is None:
        return None
    return {
        "grade": one.grade,
        "judged": True,
        "stale": one.stale,
        "reason": one.reason,
        "evidence": _spans(one.evidence),
    }


def _spans(evidence: Sequence[Evidence]) -> list[dict[str, object]]:
    return [_span(one) for one in evidence]


def _span(one: Evidence) -> dict[str, object]:
    return {"quote": one.quote, "start": one.start, "end": one.end}


def _brief(chunk: Chunk | None) -> dict[str, str] | None:
    return None if chunk is None else {"id": chunk.chunk_id, "text": chunk.text[:LONGEST_TEXT]}


def _value(value: object) -> str:
    return value if isinstance(value, str) else str(value)
