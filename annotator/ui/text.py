"""Text from people and corpora on the screen: always as text, never as markup.

Streamlit's own text commands read Markdown in messages and labels; what comes from data goes through here.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import streamlit as st

from annotator.errors import SHOWN_PROBLEMS, AnnotatorError, InputError

__all__ = ["box", "line", "marked", "problem", "question", "standing"]


def question(text: str) -> None:
    """Show a question in large type."""
    st.html(f'<h2 class="an-question" dir="auto">{html.escape(text)}</h2>')


def line(parts: Iterable[str], *, quiet: bool = True) -> None:
    """Show short texts on one line; empty ones are left out."""
    shown = " · ".join(f"<bdi>{html.escape(part)}</bdi>" for part in parts if part)
    st.html(f'<div class="an-line {"an-quiet" if quiet else ""}">{shown or "&nbsp;"}</div>')


def standing(parts: Iterable[str], notes: str) -> None:
    """Show where a question stands, and its notes in full ink after it: they say what the asker really needs."""
    shown = " · ".join(f"<bdi>{html.escape(part)}</bdi>" for part in parts if part)
    said = f' · <bdi class="an-notes">{html.escape(notes)}</bdi>' if notes else ""
    st.html(f'<div class="an-line an-standing"><span class="an-quiet">{shown}</span>{said}</div>')


def box(text: str, kind: str = "info") -> None:
    """Show a message in a box; `kind` is info, good, warn or bad."""
    st.html(f'<div class="an-box an-{kind}" dir="auto">{html.escape(text)}</div>')


def marked(text: str, spans: Sequence[tuple[int, int]] = (), *, css: str = "an-text") -> None:
    """Show a longer text as it is, with the spans (code points, sorted, apart) marked."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces.append(html.escape(text[at:start]))
        pieces.append(f"<mark>{html.escape(text[start:end])}</mark>")
        at = end
    pieces.append(html.escape(text[at:]))
    st.html(f'<div class="{css}" dir="auto">{"".join(pieces) or "&nbsp;"}</div>')


def problem(error: AnnotatorError, *, key: str = "problem") -> None:
    """Show an error: what is wrong, what to do, and every fault found (the first hundred here, all as a file)."""
    faults = error.problems if isinstance(error, InputError) else ()
    rows = "".join(f"<li>{html.escape(str(fault))}</li>" for fault in faults[:SHOWN_PROBLEMS])
    more = len(faults) - SHOWN_PROBLEMS
    rest = f"<p>… and {more} more, in the full list below.</p>" if more > 0 else ""
    hint = f"<p>{html.escape(error.hint)}</p>" if error.hint else ""
    listed = f"<ul>{rows}</ul>{rest}" if rows else ""
    st.html(f'<div class="an-box an-bad" role="alert"><b>{html.escape(error.message)}</b>{hint}{listed}</div>')
    if more > 0:
        full = "\n".join(str(fault) for fault in faults)
        st.download_button("Download the full list", full, "problems.txt", on_click="ignore", key=f"{key}-list")
