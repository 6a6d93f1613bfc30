"""Finding a quoted span in the text that was read: exactly, else forgiving white space, else fuzzily."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable

from annotator.errors import InputError
from annotator.model import Evidence
from annotator.store import corpus, judged_texts
from annotator.store.database import Workspace

__all__ = ["MIN_SIMILARITY", "find_quote", "locate", "located"]

MIN_SIMILARITY = 90.0
"""Least rapidfuzz similarity (0-100) at which a pasted quote counts as found."""


def find_quote(text: str, quote: str) -> Evidence | None:
    """Find a quote in the text; the result holds the text's own wording. None when nothing is near enough."""
    wanted = quote.strip()
    if not wanted:
        return None
    at = text.find(wanted)
    if at >= 0:
        return Evidence(wanted, at, at + len(wanted))
    loose = re.search(r"\s+".join(map(re.escape, wanted.split())), text, re.IGNORECASE)
    if loose:
        return Evidence(loose.group(), *loose.span())
    from rapidfuzz import fuzz

    if len(wanted) < 8 or len(wanted) > len(text) * 1.2:
        return None
    best = fuzz.partial_ratio_alignment(wanted.casefold(), text.casefold(), score_cutoff=MIN_SIMILARITY)
    if best is None or len(text.casefold()) != len(text):
        return None
    start, end = best.dest_start, best.dest_end
    while start and not text[start - 1].isspace() and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    return Evidence(text[start:end], start, end)


def locate(workspace: Workspace, chunk_id: str, quote: str) -> Evidence:
    """Find a pasted quote in a live chunk. Raises NotFound for the chunk, InputError when the quote is not in it."""
    with workspace.read() as connection:
        text = corpus.chunk(connection, chunk_id).text
    found = find_quote(text, quote)
    if found is None:
        raise InputError("That quote is not in this chunk.", hint="Copy the passage from the text, or select it.")
    return found


def located(
    connection: sqlite3.Connection, chunk_id: str, sha256: str, spans: Iterable[Evidence]
) -> tuple[Evidence, ...]:
    """Check spans against the text that was read, mending offsets that do not fit their quote; in text order."""
    given = tuple(spans)
    if not given:
        return ()
    judged_texts.keep(connection, chunk_id, sha256)
    text = next(judged_texts.chunks(connection, [(chunk_id, sha256)]))[1].text
    fixed: dict[tuple[int, int], Evidence] = {}
    for span in given:
        fits = 0 <= span.start < span.end <= len(text) and text[span.start : span.end] == span.quote
        one = span if fits else find_quote(text, span.quote)
        if one is None:
            raise InputError("A quote given as evidence is not in the chunk's text.", hint="Select the passage again.")
        fixed[one.start, one.end] = one
    return tuple(fixed[key] for key in sorted(fixed))
