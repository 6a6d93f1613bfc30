"""Quiet building blocks several pages share: a title with its line of facts, tiles, small tables, a row of steps.

Everything that is put in is text and shown as text. What a page says with them is its own business.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

__all__ = ["Pair", "Tile", "count", "heading", "lead", "moment", "pairs", "table", "tiles", "title", "zone"]


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure with its name above and what it means below; `reach` says how far the figure could move."""

    name: str
    figure: str
    meaning: str = ""
    reach: str = ""


class Pair(NamedTuple):
    """A fact: its name and what it is."""

    name: str
    value: str


def title(text: str, facts: Iterable[str] = ()) -> None:
    """Show a page's title and one line of facts under it; empty facts are left out."""
    shown = " · ".join(f"<bdi>{html.escape(fact)}</bdi>" for fact in facts if fact)
    line = f'<div class="an-line an-quiet">{shown}</div>' if shown else ""
    st.html(f'<h1 class="an-title">{html.escape(text)}</h1>{line}')


def lead(label: str, sentence: str) -> None:
    """Show the one sentence a page is about, under a quiet label."""
    st.html(
        f'<div class="an-line an-quiet">{html.escape(label)}</div>'
        f'<h2 class="an-question" dir="auto">{html.escape(sentence)}</h2>'
    )


def heading(text: str, note: str = "") -> None:
    """Show the name of a part of the page, with a quiet note beside it."""
    beside = f' <span class="an-line an-quiet">{html.escape(note)}</span>' if note else ""
    st.html(f'<h2 class="an-heading">{html.escape(text)}{beside}</h2>')


def tiles(shown: Iterable[Tile]) -> None:
    """Show figures side by side."""
    cells = (
        f'<div class="an-tile"><span class="an-line">{html.escape(tile.name)}</span><b>{html.escape(tile.figure)}</b>'
        f"{_reach(tile)}<small>{html.escape(tile.meaning)}</small></div>"
        for tile in shown
    )
    st.html(f'<div class="an-tiles">{"".join(cells)}</div>')


def _reach(tile: Tile) -> str:
    return f'<span class="an-reach">{html.escape(tile.reach)}</span>' if tile.reach else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, figures: Iterable[int] = ()) -> None:
    """Show a small table; the columns numbered in `figures` (from 0) hold figures and are set to the right."""
    right = set(figures)

    def cell(place: int, value: str, tag: str) -> str:
        css = ' class="an-figure"' if place in right else ""
        return f'<{tag}{css} dir="auto">{html.escape(value)}</{tag}>'

    top = "".join(cell(place, name, "th") for place, name in enumerate(head))
    body = "".join(f"<tr>{''.join(cell(place, one, 'td') for place, one in enumerate(row))}</tr>" for row in rows)
    st.html(
        f'<div class="an-wide"><table class="an-table"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def pairs(shown: Iterable[Pair]) -> None:
    """Show facts one a line, their names in a column."""
    rows = "".join(
        f'<dt>{html.escape(name)}</dt><dd dir="auto">{html.escape(value) or "–"}</dd>' for name, value in shown
    )
    st.html(f'<dl class="an-pairs">{rows}</dl>')


def count(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: `1 question`, `2 questions`, `1,204 chunks`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def moment(written: str | None) -> str:
    """Write a moment kept as UTC ISO 8601 in the reader's own time zone, to the minute."""
    if not written:
        return ""
    at = datetime.fromisoformat(written)
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    here = at.astimezone(zone())
    return f"{here.day} {here:%b %Y, %H:%M}"


def zone() -> tzinfo | None:
    """Return the time zone of the reader's browser, with its summer time; None (the server's) where it tells none."""
    with suppress(ZoneInfoNotFoundError, ValueError, OSError):  # OSError: "America" is a folder
        if name := st.context.timezone:
            return ZoneInfo(name)
    offset = st.context.timezone_offset  # minutes to add to the reader's time, as it is now, to get UTC
    return None if offset is None else timezone(timedelta(minutes=-offset))
