"""The Review page's view of the record of changes: who, when, what, old and new; narrowed, and taken out as a file."""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

import streamlit as st

from annotator.services import audit
from annotator.services.audit import Change, Wanted
from annotator.ui import blocks, text
from annotator.ui.paging import Pages
from annotator.ui.shell import Session

__all__ = ["show"]

_PAGE = 50
_LONGEST = 220
_DIGEST = 12
"""Characters shown of a value, and of a digest, which the files hold in full."""
_WORDS = {"label": "labels", "decision": "decisions", "question": "questions", "person": "people",
          "version": "versions", "import": "imports", "sync": "syncs", "setting": "other settings"}  # fmt: skip


def show(session: Session) -> None:
    """Show the changes, newest first."""
    wanted = _filters(session)
    total = audit.count(session.workspace, session.who, wanted)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        text.line([blocks.count(total, "change"), "kept for ever: nobody can edit or delete them"])
        with st.container(horizontal=True, width="content", gap="small"):
            for name, ending, take in (("CSV", "csv", audit.as_csv), ("JSONL", "jsonl", audit.as_jsonl)):
                st.download_button(
                    name,
                    data=partial(take, session.workspace, session.who, wanted),
                    file_name=f"changes.{ending}",
                    on_click="ignore",
                    key=f"audit.{ending}",
                    icon=":material/download:",
                    disabled=not total,
                )
    if not total:
        text.box("Nothing in the record fits.")
        return
    pages = Pages("audit", 0, repr(wanted))
    found = audit.changes(session.workspace, session.who, wanted, limit=_PAGE, offset=pages.here)
    rows = "".join(_row(one) for one in found)
    head = "".join(f"<th>{name}</th>" for name in ("When", "Who", "What", "About", "Old → new"))
    st.html(
        '<div class="an-wide"><table class="an-table an-changes"><thead><tr>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    pages.buttons(pages.here + _PAGE if pages.here + _PAGE < total else None)


def _filters(session: Session) -> Wanted:
    who, kind, query, since, until = st.columns([0.24, 0.2, 0.24, 0.16, 0.16])
    name = who.selectbox(
        "Who", audit.people(session.workspace, session.who), index=None, key="audit.who", placeholder="anybody"
    )
    about = kind.selectbox(
        "What",
        audit.KINDS,
        index=None,
        key="audit.kind",
        placeholder="anything",
        format_func=lambda one: _WORDS.get(one, one),
    )
    query_id = query.text_input("Question", key="audit.query", placeholder="its id").strip()
    first = since.date_input("From", value=None, key="audit.since")
    last = until.date_input("To", value=None, key="audit.until")
    wanted = Wanted(who=name or "", kind=about or "", query_id=query_id)
    if isinstance(first, date):
        wanted = replace(wanted, since=_midnight(first))
    if isinstance(last, date):
        wanted = replace(wanted, until=_midnight(last + timedelta(days=1)))
    return wanted


def _midnight(day: date) -> str:
    """The day's beginning where the reader is, in UTC."""
    begun = datetime(day.year, day.month, day.day, tzinfo=blocks.zone()).astimezone(UTC)
    return begun.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _row(one: Change) -> str:
    about = " · ".join(part for part in (one.query_id, one.chunk_id, one.subject) if part)
    return (
        f'<tr><td title="{html.escape(one.at)}">{html.escape(blocks.moment(one.at))}</td>'
        f'<td dir="auto">{html.escape(one.who)}</td><td>{html.escape(one.action)}</td>'
        f'<td dir="auto">{html.escape(about)}</td><td>{_difference(one)}</td></tr>'
    )


def _difference(one: Change) -> str:
    lines = []
    for name, old, new in audit.values(one):
        if name == "digest":
            old, new = old[:_DIGEST], new[:_DIGEST]
        before = f"<del>{_short(old)}</del> → " if old else ""
        called = html.escape(name.removeprefix("counts.").replace(".", " ").replace("_", " "))
        lines.append(f'<span dir="auto"><span class="an-quiet">{called}</span> {before}{_short(new) or "–"}</span>')
    return " ".join(lines)


def _short(value: str) -> str:
    return html.escape(value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…")
