"""Taking in a file: what it would do is shown first, with every fault; only then it is written, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import streamlit as st

from annotator.errors import AnnotatorError, InputError
from annotator.services.importing import ImportReport
from annotator.ui import blocks, text

__all__ = ["Importing", "Sent", "file", "said"]

_SAID = "importing.said"
_REST = "importing.rest"

Sent: TypeAlias = tuple[str, bytes]
"""Name and content of the file."""


class Importing(Protocol):
    """An import of the services, with the person and the options filled in."""

    def __call__(self, source: tuple[str, bytes], *, dry_run: bool, only_good: bool) -> ImportReport: ...


def file(
    name: str, kinds: list[str], thing: str, ask: Callable[[Sent | None], Importing | None], *, partly: bool = True
) -> None:
    """Offer to import a file of the `kinds` (endings), holding so many of a `thing`.

    `ask` shows what else is to be said, about the file once there is one, and returns the import, None while something
    is missing. `partly` says whether the good rows of a faulty file may be taken.
    """
    turn = st.session_state.setdefault(f"{name}.turn", 0)
    sent = st.file_uploader("File", kinds, key=f"{name}.file:{turn}")
    source = (sent.name, sent.getvalue()) if sent else None
    importing = ask(source)
    if source is None or importing is None:
        return
    only_good = False
    try:
        report = importing(source, dry_run=True, only_good=False)
    except AnnotatorError as error:
        text.problem(error, key=f"{name}.problems")
        whole = not partly or source[0].endswith(".zip")  # a version is whole or nothing
        if whole or not isinstance(error, InputError) or not error.problems:
            return
        only_good = st.checkbox(
            "Import the good rows only, and get the others back as a file", key=f"{name}.good:{turn}"
        )
        if not only_good:
            return
        report = importing(source, dry_run=True, only_good=True)
    _preview(report, name, source[0])
    ready = report.added + report.changed
    label = f"Import {blocks.count(ready, thing)}"
    if st.button(label, type="primary", key=f"{name}.go", disabled=not ready):
        done = importing(source, dry_run=False, only_good=only_good)
        st.session_state[_SAID] = f"Imported {source[0]}: {_counts(done)}."
        st.session_state[_REST] = (f"refused-{source[0]}", done.rest) if done.rest else None
        st.session_state[f"{name}.turn"] = turn + 1  # an empty uploader for the next file
        st.rerun()


def said() -> None:
    """Say what the last import did, once."""
    message = st.session_state.pop(_SAID, "")
    if message:
        text.box(message, "good")
        st.session_state["importing.kept"] = st.session_state.pop(_REST, None)
    rest = st.session_state.get("importing.kept")
    if rest:
        st.download_button("Download the rows left out", rest[1], rest[0], on_click="ignore", key="importing.rest")


def _preview(report: ImportReport, name: str, file_name: str) -> None:
    text.line([f"This file would bring: {_counts(report)}"], quiet=False)
    for warning in report.warnings:
        text.box(warning, "warn")
    if report.rest:
        st.download_button(
            f"Download the {blocks.count(len(report.problems), 'refused row')}",
            report.rest,
            f"refused-{file_name}",
            on_click="ignore",
            key=f"{name}.rest",
        )
    if report.first_rows:
        _rows(report.first_rows, 250)
    if report.last_rows:
        text.line(["The last rows"])
        _rows(report.last_rows, 250)


def _rows(rows: Sequence[Mapping[str, object]], height: int) -> None:
    filled = (key for row in rows for key, value in row.items() if value not in ("", None))
    columns = list(dict.fromkeys(filled))
    st.dataframe(
        {column: [_cell(row.get(column)) for row in rows] for column in columns},
        hide_index=True,
        height=min(35 * (len(rows) + 1) + 2, height),
    )


def _counts(report: ImportReport) -> str:
    named = (
        (report.added, "new"),
        (report.changed, "changed"),
        (report.unchanged, "unchanged"),
        (report.skipped, "left alone because of a later change"),
    )
    return ", ".join(f"{number:,} {word}" for number, word in named if number) or "nothing"


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {one}" for key, one in value.items())
    return "" if value is None else str(value)
