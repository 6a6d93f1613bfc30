"""The Annotate page's lower part: the workbench with its search, pool, neighbours and judged lists.

The question above it is `question.py`.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.model import Query
from annotator.services import labelling, pools, search, similar
from annotator.services.queue import Desk
from annotator.services.search import SearchResult
from annotator.ui import blocks, question, shell, text, workbench
from annotator.ui.shell import Session
from annotator.ui.workbench import Listing

__all__ = ["bench"]

PAGE_SIZE = 25
_AGAIN_SECONDS = 20.0
"""How long a live table that did not answer is not asked the same again."""
_TABS = ("Search", "Pool", "Neighbours", "Judged")
_SIMILAR = "Similar"
_ASKED = "annotate.similar"
_MODES = {"words": "words", "fuzzy": "typos allowed", "id": "chunk id"}
_ADVICE = {
    "Pool": "The pool is empty: nothing was gathered for this question.\n"
    "Runs are imported on the Metrics page; reviewers build pools in Settings.",
    "Neighbours": "Nothing here yet: grade a chunk 1, 2 or 3 and the chunks around it in its document appear.",
    "Judged": "You have not judged a chunk for this question yet.",
    "Similar": "No other chunk reads like this one, is near it by vector or stands in its document.",
}


@st.fragment
def bench(session: Session, desk: Desk) -> None:
    """Show the search controls and the workbench. A grade reruns this part only."""
    with shell.errors():  # a rerun of this part alone does not pass through the page's own
        _bench(session, desk)


def _bench(session: Session, desk: Desk) -> None:
    query_id = desk.query.query_id
    wish = st.session_state.pop("annotate.go", None)
    target = {"next": desk.following, "previous": desk.previous}.get(str(wish), "")
    if target:
        question.go(target)
    if wish == "skip":
        question.ask_to_skip(query_id)
    if wish == "search":
        st.session_state[f"tab:{query_id}"] = "Search"
    like = _like(query_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lists"):
        tabs = (*_TABS, _SIMILAR) if like else _TABS
        tab = st.segmented_control(
            "Candidates",
            tabs,
            default="Judged" if desk.reopened else "Search",
            required=True,
            key=f"tab:{query_id}",
            label_visibility="collapsed",
        )
        tab = tab or "Search"
        typed = st.text_input(
            workbench.SEARCH_LABEL,
            key=f"search:{query_id}",
            placeholder='Words, "a phrase", -without, doc:, an id',
            label_visibility="collapsed",
            disabled=tab != "Search",
        )
        mode = st.selectbox(
            "Kind of search",
            list(_MODES),
            format_func=_MODES.__getitem__,
            key=f"mode:{query_id}",
            label_visibility="collapsed",
            disabled=tab != "Search",
            width=140,
        )
        where = _filters(session, query_id, disabled=tab != "Search")
    page_key = f"page:{query_id}:{tab}"
    if tab == "Search":
        listing = _search(session, desk.query, typed, mode, where, page_key)
    else:
        listing = _other(session, desk.query, tab, page_key, like)
    workbench.mount(
        session.workspace, session.who, desk, listing, page_key=page_key, go_key="annotate.go", similar_key=_ASKED
    )


def _like(query_id: str) -> str:
    """Return the chunk whose like was last asked for on this question, "" for none; a new wish opens their list."""
    asked = st.session_state.pop(_ASKED, None)
    if asked:
        st.session_state[f"similar:{query_id}"] = str(asked)
        st.session_state[f"tab:{query_id}"] = _SIMILAR
        st.session_state.pop("annotate.list", None)
    return str(st.session_state.get(f"similar:{query_id}", ""))


def _filters(session: Session, query_id: str, *, disabled: bool) -> dict[str, str]:
    chosen: dict[str, str] = {}
    with st.popover("Filters", disabled=disabled, width="content"):
        known = search.filters(session.workspace)
        if not known:
            st.caption("The chunk table has no metadata with few values to filter by.")
        for place, (name, values) in enumerate(known.items(), 1):
            with st.container(gap=None):
                text.line([name or "(no name)"], quiet=False)  # a name is data, and labels read Markdown
                value = st.selectbox(
                    f"Value of filter {place}", values, index=None, key=f"filter:{query_id}:{name}", placeholder="any",
                    label_visibility="collapsed",
                )  # fmt: skip
            if value is not None:
                chosen[name] = value
    return chosen


def _search(session: Session, query: Query, typed: str, mode: str, where: dict[str, str], page_key: str) -> Listing:
    words = typed.strip() or search.as_words(query.question)
    mode = mode if typed.strip() else "words"
    token = _token("search", words, mode, *(f"{name}={value}" for name, value in where.items()))
    page = _page(page_key, token)
    # What was found stays as it is until the next search or visit: a sync must not move rows under the reader.
    kept = st.session_state.get("annotate.found")
    if kept is None or kept[0] != (token, page) or time.monotonic() > kept[2]:
        st.session_state.pop("annotate.list", None)
        again = math.inf
        try:
            result = search.search(
                session.workspace, words, mode=mode, limit=PAGE_SIZE, offset=page * PAGE_SIZE, where=where
            )
        except AnnotatorError as error:  # a live table that does not answer must not take the workbench away
            result, again = SearchResult(0, (), 0.0, _calmly(error)), time.monotonic() + _AGAIN_SECONDS
        kept = ((token, page), result, again)
        st.session_state["annotate.found"] = kept
    found: SearchResult = kept[1]
    pages = min(40, -(-found.total // PAGE_SIZE)) or 1
    number = f"{found.total}{'+' if found.more else ''}"
    counted = f"{number} found" if typed.strip() else f"{number} near the question"
    return Listing(
        token=f"{token}:{page}",
        ids=tuple(hit.chunk_id for hit in found.hits),
        counted=counted,
        landing=typed.strip() if mode == "id" else "",
        page=page,
        pages=pages,
        seconds=found.seconds,
        advice=found.advice,
        marks=search.marks(session.workspace, [hit.chunk_id for hit in found.hits], words, mode),
        snippets={hit.chunk_id: (hit.snippet, hit.spans) for hit in found.hits},
    )


def _other(session: Session, query: Query, tab: str, page_key: str, like: str) -> Listing:
    """List the chunks of a tab as they were when it was opened: nothing moves under the reader."""
    kept = st.session_state.get("annotate.list")
    name = f"{session.who}\n{query.query_id}\n{tab}"
    if kept is None or kept[0] != name:
        try:
            kept = (name, *_listed(session, query.query_id, tab, like), _ADVICE[tab])
        except AnnotatorError as error:
            kept = (name, {}, "", _calmly(error))
        st.session_state["annotate.list"] = kept
        st.session_state.pop("annotate.found", None)
        st.session_state[page_key] = 0
    whys: Mapping[str, str] = kept[1]
    found: str = kept[2]
    ids = list(whys)
    page = min(int(st.session_state.get(page_key, 0)), max(0, (len(ids) - 1) // PAGE_SIZE))
    shown = tuple(ids[page * PAGE_SIZE : (page + 1) * PAGE_SIZE])
    marks = search.marks(session.workspace, shown, search.as_words(query.question), "words")
    return Listing(
        token=f"{_token(tab, *ids)}:{page}",
        ids=shown,
        counted=blocks.count(len(ids), "chunk") + found,
        page=page,
        pages=-(-len(ids) // PAGE_SIZE) or 1,
        advice=kept[3],
        marks=marks,
        whys=whys,
    )


def _calmly(error: AnnotatorError) -> str:
    return f"The chunk table could not be searched just now. What was graded is saved.\n\n{error.message}\n{error.hint}"


def _listed(session: Session, query_id: str, tab: str, like: str) -> tuple[Mapping[str, str], str]:
    """Return the chunks of a tab, each with why it is there where that is not plain, and words beside their number."""
    if tab == _SIMILAR:
        alike = similar.similar(session.workspace, like)
        return alike.found, f" like {like}" + (" · vectors were not to be had" if alike.note else "")
    if tab == "Neighbours":
        return similar.neighbours(session.workspace, session.who, query_id), ""
    if tab == "Pool":
        found = pools.pool(session.workspace, session.who, query_id)
        said = f" from {blocks.count(found.sources, 'source')}, depth {found.depth}" if found.ids else ""
        return dict.fromkeys(found.ids, ""), said
    return dict.fromkeys(labelling.judged_ids(session.workspace, session.who, query_id), ""), ""


def _page(page_key: str, token: str) -> int:
    """Return the page of the list; a new search begins at its first."""
    if st.session_state.get(f"{page_key}:token") != token:
        st.session_state[f"{page_key}:token"] = token
        st.session_state[page_key] = 0
    return int(st.session_state[page_key])


def _token(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
