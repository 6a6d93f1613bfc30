"""The Queries page's parts: the list with its filters, and the form a question is written and changed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from annotator.model import QUERY_STATES, Query
from annotator.services import facets, questions, team
from annotator.services.questions import QuestionRow
from annotator.ui import blocks, choice, importing, sharing, shell, text
from annotator.ui.paging import Pages
from annotator.ui.shell import Session

__all__ = ["Listed", "change", "close", "header", "listing", "write"]

_PAGE = 200
_HEIGHT = 580
_MODE = "queries.mode"
_SAID = "queries.said"
_ANYBODY = "anybody"
_FOR_ME = ("needs me", "needs others")


@dataclass(frozen=True, slots=True)
class Listed:
    """The list as it is shown: the chosen question's id or "", the rows, and the slice it is narrowed to."""

    chosen: str
    rows: Sequence[QuestionRow]
    one_slice: tuple[str, str] | None


def header(session: Session, rows: Sequence[QuestionRow]) -> str:
    """Show how many questions there are in which state; returns what was asked for: "new", "import", "share" or ""."""
    left, right = st.columns(2, vertical_alignment="center")
    counted = Counter(row.state for row in rows)
    with left:
        facts = [f"{counted[state]:,} {state}" for state in QUERY_STATES if counted[state]]
        blocks.title("Queries", [blocks.count(len(rows), "question"), *facts])
    mode = str(st.session_state.get(_MODE, ""))
    if not session.may("write questions"):
        return ""
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        if session.may("share out questions"):
            st.button("Share out…", key="queries.share", on_click=_set_mode, args=("share",), disabled=mode == "share")
        st.button("Import…", key="queries.import", on_click=_set_mode, args=("import",), disabled=mode == "import")
        st.button(
            "New question", key="queries.new", type="secondary" if mode else "primary", on_click=_set_mode,
            args=("new",), disabled=mode == "new",
        )  # fmt: skip
    message = st.session_state.pop(_SAID, "")
    if message:
        text.box(message, "good")
    importing.said()
    return mode


def _set_mode(mode: str) -> None:
    st.session_state[_MODE] = mode


def close() -> None:
    """Offer to leave what the page was asked for, and go back to the question chosen in the list."""
    st.button("Close", key="queries.close", type="tertiary", on_click=_set_mode, args=("",))


def listing(session: Session, rows: Sequence[QuestionRow]) -> Listed:
    """Show the questions that fit the filters, at most 200 a page."""
    found, one_slice = _filtered(session, rows)
    pages = Pages("queries", 0, str(len(found)))
    shown = found[pages.here : pages.here + _PAGE]
    if not shown:
        first = " Write the first one, or import some." if session.may("write questions") else ""
        text.box("No question fits these filters." if rows else f"There is no question yet.{first}")
        return Listed("", (), one_slice)
    labels, sees_all = session.may("grade chunks"), session.may("see the labels of others")
    columns: dict[str, list[object]] = {
        "Id": [row.query.query_id for row in shown],
        "Question": [row.query.question for row in shown],
        "State": [_state(row) if labels else row.state for row in shown],
    }
    columns["Judged"] = [row.judged for row in shown]
    columns["Relevant"] = [row.relevant for row in shown]
    if labels and sees_all:
        columns["By me"] = [row.mine for row in shown]
    columns["Facets"] = [" · ".join(row.query.facets.values()).replace("_", " ") for row in shown]
    columns["Owner"] = [row.query.owner for row in shown]
    whose = "you" if labels and not sees_all else "anybody"
    chosen = choice.one(
        "queries",
        [row.query.query_id for row in shown],
        columns,
        height=_HEIGHT,
        required=False,
        on_choice=_chosen,
        config={
            "Id": st.column_config.TextColumn(width=70),
            "Question": st.column_config.TextColumn(width=200 if labels else 300),
            "State": st.column_config.TextColumn(
                width=122 if labels else 85, help="How it stands, and whether it needs you now" if labels else None
            ),
            "Judged": st.column_config.NumberColumn(width=60, help=f"Chunks {whose} judged"),
            "Relevant": st.column_config.NumberColumn(width=72, help=f"Chunks {whose} graded 1 to 3"),
            "By me": st.column_config.NumberColumn(width=58, help="Chunks you judged"),
        },
    )
    pages.buttons(pages.here + _PAGE if len(found) > pages.here + _PAGE else None)
    return Listed(chosen, found, one_slice)


def _state(row: QuestionRow) -> str:
    """Write the state, and beside it whether the question needs the person."""
    return row.state if row.standing in ("", row.state) else f"{row.state}, {row.standing}"


def _chosen() -> None:
    """Show the chosen question; who shares questions out goes on with that."""
    if st.session_state.get(_MODE) != "share":
        _set_mode("")


def _filtered(session: Session, rows: Sequence[QuestionRow]) -> tuple[list[QuestionRow], tuple[str, str] | None]:
    pairs = {facet for row in rows for facet in row.query.facets.items()}
    slices = {f"{name}: {value}": (name, value) for name, value in pairs}
    box, states_box, facet_box = st.columns([0.4, 0.32, 0.28])
    typed = box.text_input(
        "Find", key="queries.find", placeholder="id, words of the question", label_visibility="collapsed"
    )
    states = states_box.multiselect(
        "States", [*QUERY_STATES, *(_FOR_ME if session.may("grade chunks") else ())], key="queries.states",
        placeholder="all but retired", label_visibility="collapsed",
    )  # fmt: skip
    one_slice = facet_box.selectbox(
        "Facet", sorted(slices), index=None, key="queries.slice", placeholder="any facet", label_visibility="collapsed"
    )
    words = typed.casefold().split()
    wanted = states or [state for state in QUERY_STATES if state != "retired"]
    fitting = [row for row in rows if row.state in wanted or row.standing in wanted]
    facet = slices.get(one_slice or "")
    if facet:
        fitting = [row for row in fitting if row.query.facets.get(facet[0]) == facet[1]]
    return [row for row in fitting if questions.finds(row.query, words)] if words else fitting, facet


@dataclass(frozen=True, slots=True)
class _Written:
    """What stands in the form."""

    question: str
    notes: str
    facets: Mapping[str, str]
    unanswerable: bool
    owner: str


def write(session: Session, rows: Sequence[QuestionRow]) -> None:
    """Show the form for a new question."""
    turn = st.session_state.setdefault("queries.turn", 0)
    blocks.heading("New question", "in the asker's own words")
    proposed = questions.next_id(session.workspace)
    written = _form(session, rows, Query("", ""), f"new:{turn}")
    left, right = st.columns(2, vertical_alignment="bottom")
    query_id = left.text_input("Id", key=f"edit.id:new:{turn}", placeholder=proposed, max_chars=500).strip()
    draft = right.checkbox("Keep as a draft", key=f"edit.draft:new:{turn}", help="Not in anybody's queue yet")
    with st.container(horizontal=True, gap="small"):
        saved = st.button("Save question", type="primary", key="edit.create", disabled=not written.question.strip())
        st.button("Cancel", key="edit.cancel", type="tertiary", on_click=_set_mode, args=("",))
    if saved:
        new = questions.create(
            session.workspace, session.who, written.question, query_id=query_id, notes=written.notes,
            facets=written.facets, state="draft" if draft else "open", unanswerable=written.unanswerable,
            owner=written.owner,
        )  # fmt: skip
        st.session_state["queries.turn"] = turn + 1
        st.session_state[_SAID] = f"Saved {new.query_id}: “{new.question}”"
        st.rerun()


def change(session: Session, rows: Sequence[QuestionRow], query_id: str) -> None:
    """Show a question to change, work on, retire or reopen."""
    row = next((row for row in rows if row.query.query_id == query_id), None)
    if row is None:
        if rows:
            text.box("Choose a question of the list to read or change it.")
        return
    query = row.query
    progress = [row.state, blocks.count(row.judged, "chunk") + " judged", f"{row.relevant} relevant"]
    blocks.heading(query.query_id)
    needed = row.standing if row.standing != row.state else ""
    text.line([*progress, needed, f"{row.unsettled} in dispute" if row.unsettled else ""])
    if session.may("share out questions"):
        sharing.of_question(session, query_id)
    may = session.may("write questions")
    mark = f"{query_id}:{query.revision}"
    written = _form(session, rows, query, mark, disabled=not may or query.state == "retired")
    changed = replace(
        query, question=written.question, notes=written.notes, facets=written.facets,
        unanswerable=written.unanswerable, owner=written.owner,
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        if may and query.state != "retired":
            if st.button("Save changes", key=f"edit.save:{mark}", disabled=changed == query):
                questions.change(session.workspace, session.who, changed)
                _done(f"Saved {query_id}.")
            if st.button("Open in Annotate", key=f"edit.open:{mark}"):
                st.switch_page(shell.page("annotate"), query_params={"query": query_id})
        if may:
            _state_buttons(session, query, mark)


def _state_buttons(session: Session, query: Query, mark: str) -> None:
    """Offer the other states: a question is retired, never deleted."""
    if query.state != "open" and st.button("Reopen", key=f"edit.reopen:{mark}"):
        questions.reopen(session.workspace, session.who, query.query_id, revision=query.revision)
        _done(f"{query.query_id} is open again.")
    if query.state != "retired" and st.button(
        "Retire",
        key=f"edit.retire:{mark}",
        type="tertiary",
        help="Out of use, with its labels kept. It can be reopened.",
    ):
        questions.retire(session.workspace, session.who, query.query_id, revision=query.revision)
        _done(f"{query.query_id} is retired; its labels are kept.")


def _done(message: str) -> None:
    st.session_state[_SAID] = message
    st.rerun()


def _form(
    session: Session, rows: Sequence[QuestionRow], query: Query, mark: str, *, disabled: bool = False
) -> _Written:
    """Show the fields, and under the question what is odd about it."""
    question = st.text_area("Question", query.question, key=f"edit.question:{mark}", height=92, disabled=disabled)
    if question.strip() and not disabled:
        for warning in questions.lint(session.workspace, question, query.query_id, who=session.who):
            text.box(f"{warning.message} {warning.mend}", "warn")
    notes = st.text_area(
        "Notes: what the asker needs to know", query.notes, key=f"edit.notes:{mark}", height=92, disabled=disabled
    )
    values = _facets(session, rows, query, mark, disabled=disabled)
    left, right = st.columns(2, vertical_alignment="bottom")
    names = [_ANYBODY, *(person.name for person in team.everyone(session.workspace) if person.active)]
    known = names if query.owner in (*names, "") else [*names, query.owner]
    with left:
        owner = st.selectbox(
            "Whose question", known, index=known.index(query.owner or _ANYBODY), key=f"edit.owner:{mark}",
            disabled=disabled,
        )  # fmt: skip
    with right:
        unanswerable = st.checkbox(
            "Unanswerable", query.unanswerable, key=f"edit.unanswerable:{mark}", disabled=disabled,
            help="On purpose: no chunk of the table answers it",
        )  # fmt: skip
    return _Written(question, notes, values, unanswerable, "" if owner == _ANYBODY else owner)


def _facets(
    session: Session, rows: Sequence[QuestionRow], query: Query, mark: str, *, disabled: bool
) -> dict[str, str]:
    """Show a field for every facet, offering the values in use; another value may be typed."""
    schema = facets.schema(session.workspace)
    names = [*schema.facets, *(name for name in query.facets if name not in schema.facets)]
    values: dict[str, str] = {}
    columns = st.columns(2)
    for place, name in enumerate(names):
        used = {row.query.facets[name] for row in rows if name in row.query.facets}
        options = sorted(used | set(schema.targets.get(name, {})))
        now = query.facets.get(name)
        with columns[place % 2], st.container(gap=None):
            text.line([name.replace("_", " ")], quiet=False)  # a name is data, and labels read Markdown
            chosen = st.selectbox(
                f"Value of facet {place + 1}", options, index=options.index(now) if now else None,
                key=f"edit.facet:{mark}:{name}", label_visibility="collapsed", accept_new_options=True,
                placeholder="choose or type", disabled=disabled,
            )  # fmt: skip
        if chosen:
            values[name] = chosen
    return values
