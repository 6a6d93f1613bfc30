"""Chunks in a list, as HTML: rank, grade as badge, id, title, a note and the beginning of the text.

All that is put in is text and shown as text.
"""

from __future__ import annotations

import html

from annotator.model import GRADES, Chunk

__all__ = ["badge", "beginning", "row"]

_SHOWN = 200


def row(rank: str, mark: str, chunk_id: str, chunk: Chunk | None, note: str, reason: str = "", css: str = "") -> str:
    """Write one chunk; `mark` is its badge, `note` stands at the end of the line, `reason` below it."""
    title = chunk.title or chunk.doc_id if chunk else "no longer in the chunk table"
    said = f'<div class="an-line" dir="auto">{html.escape(reason)}</div>' if reason else ""
    return (
        f'<div class="an-hit{css}"><div class="an-hithead">'
        f"{f'<span class=an-rank>{rank}</span>' if rank else ''}{mark}"
        f'<code>{html.escape(chunk_id)}</code><span class="an-line an-quiet an-note">{html.escape(note)}</span></div>'
        f'<div class="an-line an-quiet" dir="auto">{html.escape(title)}</div>{said}'
        f'<div class="an-snippet an-quiet an-start" dir="auto">{html.escape(beginning(chunk))}</div></div>'
    )


def badge(grade: int | None, *, stale: bool = False, without: str = "not judged") -> str:
    """Write a grade with its number, word and shade; `without` one, why there is none."""
    if grade is None:
        return f'<span class="an-badge">– {without}</span>'
    shade = max(0, min(3, grade))
    word = "stale" if stale else GRADES[shade]
    return f'<span class="an-badge an-g{shade}">{grade} {word}</span>'


def beginning(chunk: Chunk | None) -> str:
    """Return the first words of the chunk on one line, "" when it is gone."""
    start = " ".join(chunk.text[: 3 * _SHOWN].split()) if chunk else ""
    return start if len(start) <= _SHOWN else f"{start[:_SHOWN].rstrip()}…"
