"""The Queries page's panel for sharing questions out: who gets which, how many people each, the calibration set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from annotator.errors import AnnotatorError
from annotator.services import sharing
from annotator.services.questions import QuestionRow
from annotator.services.sharing import Shared
from annotator.ui import blocks, choice, text
from annotator.ui.shell import Session

__all__ = ["of_question", "panel"]

_SKIPS_SHOWN = 12
_EVERYWHERE = 0
_SAID = "sharing.said"


@dataclass(frozen=True, slots=True)
class _Target:
    """What is shared out: questions, or a slice (facet, value) with all its questions."""

    label: str
    query_ids: tuple[str, ...]
    part: tuple[str, str] | None = None


def panel(session: Session, listed: Sequence[QuestionRow], chosen: str, one_slice: tuple[str, str] | None) -> None:
    """Show the panel for the questions of the list, the chosen one of them, or the slice it is narrowed to."""
    blocks.heading("Share out", "who labels which questions")
    message = st.session_state.pop(_SAID, "")
    if message:
        text.box(message, "good")
    found = sharing.shared(session.workspace, session.who)
    targets = _targets(listed, chosen, one_slice)
    at = st.selectbox(
        "Which questions", range(len(targets)), format_func=lambda one: targets[one].label,
        index=0 if chosen else None, placeholder="choose here, or one question of the list",
        key=choice.key("sharing.which", [one.label for one in targets]),
    )  # fmt: skip
    if at is not None:
        _give(session, found, targets[at])
    _loads(found)
    _slices(found)
    _skips(found)


def of_question(session: Session, query_id: str) -> None:
    """Show in one line whom a question was given to, how many are wanted, and who finished or skipped it."""
    found = sharing.of_question(session.workspace, session.who, query_id)
    finished = [one.annotator for one in found.steps if one.kind == "finished"]
    skipped = [f"{one.annotator} (“{one.reason}”)" for one in found.steps if one.kind == "skipped"]
    text.line(
        [
            f"for {', '.join(found.assigned)}" if found.assigned else "for everybody",
            blocks.count(found.overlap, "person", "people") + " wanted",
            "calibration" if found.calibration else "",
            f"finished by {', '.join(finished)}" if finished else "",
            f"skipped by {', '.join(skipped)}" if skipped else "",
        ]
    )


def _targets(listed: Sequence[QuestionRow], chosen: str, one_slice: tuple[str, str] | None) -> list[_Target]:
    ids = tuple(row.query.query_id for row in listed)
    targets = [_Target(f"The chosen question {chosen}", (chosen,))] if chosen else []
    if len(ids) > len(targets):
        targets.append(_Target(f"All {blocks.count(len(ids), 'question')} of the list", ids))
    if one_slice:
        label = f"The slice {one_slice[0]}: {one_slice[1]}, with questions added later"
        targets.append(_Target(label, (), one_slice))
    return targets


def _give(session: Session, found: Shared, target: _Target) -> None:
    """Show what can be done with the questions, each thing with its own button."""
    mark = choice.key("sharing", [*target.query_ids, *(target.part or ())])
    names = [one.name for one in found.loads]
    with st.form(f"{mark}:people", border=False):
        left, right = st.columns([0.7, 0.3], vertical_alignment="bottom")
        people = left.multiselect(
            "For whom", names, _present(found, target), placeholder="everybody", key=f"{mark}:for",
            help="Nobody else is given these questions, unless more people are wanted than are named",
        )  # fmt: skip
        if right.form_submit_button("Give", width="stretch"):
            _do(
                partial(
                    sharing.assign,
                    session.workspace,
                    session.who,
                    people,
                    query_ids=target.query_ids,
                    part=target.part,
                ),
                f"{target.label}: for {', '.join(people) if people else 'everybody'}.",
            )
    if target.part:
        return
    plans = [found.plans.get(one, sharing.Plan()) for one in target.query_ids]
    own = {one.overlap or _EVERYWHERE for one in plans}
    with st.form(f"{mark}:overlap", border=False):
        left, right = st.columns([0.7, 0.3], vertical_alignment="bottom")
        options = [_EVERYWHERE, *range(1, max(10, *own) + 1)]
        overlap = left.selectbox(
            "People per question", options, index=options.index(own.pop()) if len(own) == 1 else None,
            format_func=lambda one: str(one) if one else f"as everywhere ({found.overlap})", key=f"{mark}:k",
            placeholder="it differs",
        )  # fmt: skip
        if right.form_submit_button("Set", width="stretch") and overlap is not None:
            _do(
                partial(sharing.set_overlap, session.workspace, session.who, target.query_ids, overlap or None),
                f"{target.label}: {blocks.count(overlap or found.overlap, 'person', 'people')} each.",
            )
    within = sum(one.calibration for one in plans)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text.line([f"Calibration set: {within} of {len(plans)}" if len(plans) > 1 else "Calibration, labelled by all"])
        for label, wanted, shown in (("Take in", True, within < len(plans)), ("Take out", False, within > 0)):
            if shown and st.button(label, key=f"{mark}:{label}"):
                _do(
                    partial(sharing.calibrate, session.workspace, session.who, target.query_ids, wanted),
                    f"{target.label}: {'in' if wanted else 'out of'} the calibration set.",
                )


def _present(found: Shared, target: _Target) -> list[str]:
    """The people it is given to, where that is the same for all questions."""
    by: dict[tuple[str, str, str], set[str]] = {}
    for one in found.assignments:
        by.setdefault((one.query_id, one.facet, one.value), set()).add(one.annotator)
    wanted = [("", *target.part)] if target.part else [(one, "", "") for one in target.query_ids]
    groups = {frozenset(by.get(one, ())) for one in wanted}
    names = {one.name for one in found.loads}
    return sorted(groups.pop() & names) if len(groups) == 1 else []


def _do(change: Callable[[], None], said: str) -> None:
    try:
        change()
    except AnnotatorError as error:
        text.problem(error)
        return
    st.session_state[_SAID] = said
    st.rerun()


def _loads(found: Shared) -> None:
    blocks.heading("Who has what")
    blocks.table(
        ("Person", "needs them", "in use", "finished", "skipped"),
        [
            (
                one.name, f"{one.standings.get('needs me', 0):,}", f"{one.standings.get('in use', 0):,}",
                f"{one.finished:,}", f"{one.skipped:,}",
            )
            for one in found.loads
        ],
        figures=(1, 2, 3, 4),
    )  # fmt: skip


def _slices(found: Shared) -> None:
    given: dict[str, list[str]] = {}
    for one in found.assignments:
        if one.facet:
            given.setdefault(f"{one.facet}: {one.value}", []).append(one.annotator)
    if given:
        blocks.heading("Slices given")
        blocks.table(("Slice", "For"), [(name, ", ".join(people)) for name, people in given.items()])


def _skips(found: Shared) -> None:
    if found.skips:
        blocks.heading("Left to others", blocks.count(len(found.skips), "question"))
        shown = found.skips[:_SKIPS_SHOWN]
        blocks.table(("Question", "By", "Why"), [(one.query_id, one.annotator, one.reason) for one in shown])
