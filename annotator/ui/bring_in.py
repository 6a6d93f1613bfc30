"""Importing on the Queries page: questions, or judgments that people made elsewhere, with what their grades mean."""

from __future__ import annotations

from functools import partial

import streamlit as st

from annotator.errors import InputError
from annotator.model import GRADES
from annotator.services.importing import grades_found, import_judgments, import_queries
from annotator.ui import blocks, importing, text
from annotator.ui.importing import Importing, Sent
from annotator.ui.shell import Session

__all__ = ["show"]

_KINDS = ["csv", "tsv", "jsonl", "json", "yaml", "yml", "txt", "gz"]
_OWN = {str(grade): grade for grade in GRADES}
_MOST_GRADES = 12
_CONFLICTS = {
    "refuse": "refuse the file and tell me",
    "highest": "the highest counts",
    "lowest": "the lowest counts",
    "last": "the last counts",
}


def show(session: Session) -> None:
    """Import questions, or judgments people made elsewhere."""
    blocks.heading("Import", "nothing is written before you have seen what it does")
    what = st.segmented_control(
        "What the file holds", ["Questions", "Judgments"], default="Questions", required=True, key="import.what"
    )
    if what == "Questions":
        text.line(
            ["CSV or TSV with query_id, question, notes and a column for each facet; JSONL, YAML or TREC topics."]
        )
        take = partial(import_queries, session.workspace, session.who)
        importing.file("questions", _KINDS, "question", lambda _: take)
    else:
        text.line(
            [
                "CSV, TSV or JSONL with query_id, chunk_id, grade and, if wanted, annotator and reason; YAML; TREC "
                "qrels; or the zip of a version, with everything in it."
            ]
        )
        importing.file("judgments", [*_KINDS, "zip", "qrels"], "judgment", partial(_ask, session))


def _ask(session: Session, sent: Sent | None) -> Importing | None:
    """Ask whose judgments the file holds and, where it is on another scale, what its grades mean."""
    left, right = st.columns(2, vertical_alignment="bottom")
    name = left.text_input("Who judged the rows that name nobody", session.who, key="import.annotator", max_chars=80)
    conflicts = right.selectbox(
        "When one person gave one chunk two grades", list(_CONFLICTS), format_func=_CONFLICTS.__getitem__,
        key="import.conflicts",
    )  # fmt: skip
    if sent is None or not name.strip():
        return None
    grades = _grades(sent)
    if grades is None:
        return None
    take = partial(import_judgments, session.workspace, session.who, annotator=name.strip())
    return partial(take, grades=grades, conflicts=conflicts)


def _grades(sent: Sent) -> dict[str, int | None] | None:
    """Ask what the grades of the file mean here; None while one of them means nothing yet."""
    try:
        found = grades_found(sent)
    except InputError:  # told with everything else by the import itself
        return {}
    if not found or len(found) > _MOST_GRADES:
        return {}
    foreign = [grade for grade in found if grade not in _OWN]
    with st.expander("What the grades of this file mean", expanded=bool(foreign)):
        if foreign:
            text.line(["The file is on another scale. On some of them 1 is the best grade: look at all of them."])
        chosen = {grade: _meaning(grade, number, sent[0]) for grade, number in found.items()}
    if any(meaning == "" for meaning in chosen.values()):
        text.box("Choose what every grade of the file means here.")
        return None
    return {grade: None if meaning == "x" else int(meaning) for grade, meaning in chosen.items()}


def _meaning(grade: str, number: int, file: str) -> str:
    options = [*_OWN, "x"]
    left, right = st.columns([0.4, 0.6], vertical_alignment="center")
    with left:
        text.line([grade, blocks.count(number, "row")], quiet=False)
    chosen = right.selectbox(
        f"Meaning of grade {grade if grade.isalnum() else 'in the file'}", options, format_func=_word,
        index=options.index(grade) if grade in _OWN else None, placeholder="choose",
        key=f"import.grade:{file}:{grade}", label_visibility="collapsed",
    )  # fmt: skip
    return chosen or ""


def _word(option: str) -> str:
    return "cannot judge" if option == "x" else f"{option} {GRADES[int(option)]}"
