"""The Settings page's part for candidate pools: what is gathered, building it, and the team's own retriever."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.services import pools, preview, retriever
from annotator.services.pools import Build, Built
from annotator.ui import blocks, text
from annotator.ui.blocks import Pair
from annotator.ui.shell import Session

__all__ = ["of_question", "show"]

_BUILT = "pools.built"
_SEARCH = {"": "not asked", "words": "by words", "fuzzy": "by words, slips forgiven"}
_TOLD = 10
_ORIGINS = 100
_TRIAL = "What is the notice period?"


def show(session: Session) -> None:
    """Show what the pools are gathered from and the retriever; let those who may build and change them."""
    left, right = st.columns([0.56, 0.44], gap="large")
    with left:
        _pools(session)
    with right:
        _retriever(session)


def of_question(session: Session, query_id: str, grades: Mapping[str, int]) -> None:
    """Show those who may know it where the candidates of a question came from; nothing where no pool was built."""
    if not session.may("build pools"):
        return
    found = pools.origins(session.workspace, session.who, query_id)
    if not found:
        return
    sources = {name for one in found for name in one.origins}
    of = f"{blocks.count(len(found), 'candidate')} from {blocks.count(len(sources), 'source')}"
    with st.expander(f"The pool of this question: {of}"):
        text.line(["Who grades is not shown this."])
        blocks.table(
            ("Candidate", "Gold", "Found by, at rank"),
            [
                (
                    one.chunk_id,
                    str(grades.get(one.chunk_id, "–")),
                    " · ".join(f"{s} {r}" for s, r in one.origins.items()),
                )
                for one in found[:_ORIGINS]
            ],
        )
        if len(found) > _ORIGINS:
            text.line([f"and {len(found) - _ORIGINS} more"])


def _pools(session: Session) -> None:
    last = pools.last_build(session.workspace)
    when = f"built {blocks.moment(last.built_at)} by {last.built_by}" if last else "none built yet"
    blocks.heading("Candidate pool", when)
    text.line(
        [
            "What several retrievers find for a question, mixed: people grade it without knowing which found what. "
            "Without a pool the first 20 of every imported run stand in for it."
        ]
    )
    if not session.may("build pools"):
        _described(last)
        return
    _outcome(st.session_state.pop(_BUILT, None))
    stored = [one.name for one in preview.stored_runs(session.workspace)]
    before = [one for one in last.runs if one in stored] if last else stored
    mark = f"{last.built_at if last else ''}:{len(stored)}"
    chosen = st.multiselect("Runs", stored, default=before, key=f"pools.runs:{mark}", placeholder="none")
    search_box, depth_box = st.columns([0.6, 0.4], gap="small")
    modes = list(_SEARCH)
    with search_box:
        search = st.selectbox(
            "Built-in search", modes, index=modes.index(last.search if last else "words"),
            format_func=_SEARCH.__getitem__, key=f"pools.search:{mark}",
        )  # fmt: skip
    with depth_box:
        depth = st.number_input(
            "Depth", 1, pools.DEEPEST, last.depth if last else pools.DEPTH, key=f"pools.depth:{mark}",
            help="How far down each source is gathered",
        )  # fmt: skip
    there = bool(retriever.fixed() or retriever.endpoint(session.workspace))
    ask = st.checkbox(
        "Ask the retriever", there and bool(last and last.retriever), key=f"pools.retriever:{mark}", disabled=not there,
        help="Every open question is put to it, one after the other",
    )  # fmt: skip
    left = sorted(set(stored) - set(before)) if last else []
    if left:
        text.line([f"Not in the pool up to now: {', '.join(left)}"])
    if st.button("Build the pool", type="primary", key="pools.build"):
        wanted = Build(tuple(chosen), search, "asked" if ask else "", int(depth))
        bar = st.progress(0.0, "Gathering…")

        def progress(done: int, total: int) -> None:
            bar.progress(done / max(total, 1), f"Gathering… {done} of {total} questions")

        built = pools.build(session.workspace, session.who, wanted, progress)
        st.session_state[_BUILT] = built
        st.rerun()
    _size(session)


def _described(last: Build | None) -> None:
    if last:
        number = len(last.runs) + bool(last.search) + bool(last.retriever)
        text.line([f"The first {last.depth} of {blocks.count(number, 'source')}"], quiet=False)


def _outcome(built: Built | None) -> None:
    if built is None:
        return
    text.box(
        f"{blocks.count(built.candidates, 'candidate')} for {blocks.count(built.questions, 'open question')}, "
        f"{built.new} of them new. They stand under Pool on the Annotate page.",
        "good",
    )
    if built.told:
        more = len(built.told) - _TOLD
        text.box("\n".join((*built.told[:_TOLD], *([f"and {more} more"] if more > 0 else []))), "warn")


def _size(session: Session) -> None:
    sizes = pools.sizes(session.workspace, session.who)
    if sizes:
        chunks, holes = (sum(each) for each in zip(*sizes.values(), strict=True))
        text.line(
            [
                f"{blocks.count(chunks, 'candidate')} for {blocks.count(len(sizes), 'question')}",
                f"{holes:,} not judged by anybody yet" if holes else "every one judged by somebody",
            ]
        )


def _retriever(session: Session) -> None:
    blocks.heading("Retriever", "your own, asked for chunk ids")
    if not session.may("change the retriever"):
        text.line(["An admin can set it."])
        return
    fixed = retriever.fixed()
    if fixed:
        blocks.pairs([Pair("Set where Annotator was started", fixed)])
    else:
        kept = retriever.endpoint(session.workspace)
        url = st.text_input(
            "Address", kept, key=f"retriever.url:{kept}", placeholder="https://search.example.org/retrieve"
        )
        if st.button("Save the address", key="retriever.save", disabled=url.strip() == kept):
            retriever.set_endpoint(session.workspace, session.who, url)
            st.rerun()
    allowed = retriever.hosts()
    blocks.pairs(
        [
            Pair(
                "Hosts",
                ", ".join(allowed) or f"none may be asked: {retriever.HOSTS} lists them in the environment",
            )
        ]
    )
    text.line(["A Python function is named where Annotator is started, never here: it runs code."])
    if fixed or retriever.endpoint(session.workspace):
        _trial(session)


def _trial(session: Session) -> None:
    question = st.text_input("Try a question", key="retriever.trial", placeholder=_TRIAL)
    if st.button("Ask it", key="retriever.ask", disabled=not question.strip()):
        try:
            with st.spinner("Asking…"):
                answer = retriever.try_out(session.workspace, session.who, question.strip())
        except AnnotatorError as error:
            text.problem(error)
            return
        if answer.trace.get("timed_out") is True:
            text.box("It ran out of time.", "warn")
        took = answer.trace.get("latency_ms")
        text.line([f"{blocks.count(len(answer.chunk_ids), 'chunk')} in {took} ms"])
        blocks.table(("Rank", "Chunk"), [(str(rank), one) for rank, one in enumerate(answer.chunk_ids, 1)], figures=[0])
