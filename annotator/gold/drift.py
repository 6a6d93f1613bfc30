"""What became of judged chunks in the live table: missing, changed, reused for other text, or moved to another id.

Pure: it is given what was judged and what stands there now. Asking the workspace is the services' business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from annotator.gold.words import words_of
from annotator.model import Chunk

__all__ = ["KINDS", "RELATED", "Drifted", "JudgedText", "Kind", "drift", "similarity"]

Kind: TypeAlias = Literal["missing", "changed", "reused", "moved"]
KINDS: Final[Mapping[Kind, str]] = {
    "missing": "gone from the table",
    "changed": "text edited",
    "reused": "id re-used for other text",
    "moved": "the same text under another id",
}
"""Kind to what it means, in the order they are told."""

RELATED: Final = 42.0
"""Least similarity (0-100) at which a text counts as an edit of another; below it the id was re-used.

Measured on 2,250 pairs each from nine corpora (English prose, tables, chat logs, twelve languages in eight scripts):
unrelated texts reach 26 in 99 % of the pairs, and 42 where a corpus repeats itself; a text of which half the words were
replaced, removed or added keeps 49 and more (`python -m tests.bench drift`); one cut to a third, or with another text
appended, 80 and more.
"""

_SAME_LETTERS: Final = 70.0
"""From here on letters speak for themselves: other accents, hyphens or scanning faults change nearly every word."""
_COMPARED: Final = 400


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A chunk as it was judged. `text` is None where only its hash is known, `sha256` "" where not even that."""

    chunk_id: str
    sha256: str = ""
    text: str | None = None
    doc_id: str = ""
    query_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drifted:
    """A judged chunk that no longer stands in the table as it was judged.

    `present` is what has its id now (None: nothing); `to` are the other ids under which the judged text stands, those
    of its document first. `similarity` (0-100) is None where there are no two texts to compare.
    """

    judged: JudgedText
    kind: Kind
    present: Chunk | None = None
    to: tuple[str, ...] = ()
    similarity: float | None = None


def drift(
    judged: Iterable[JudgedText], live: Mapping[str, Chunk], by_text: Mapping[str, Sequence[Chunk]]
) -> Iterator[Drifted]:
    """Yield what drifted, in the order given.

    `live` holds the chunks that have the judged ids now; `by_text` the live chunks by the hash of their text, for the
    hashes judged. Where the judged text is not known, an edited chunk cannot be told from a re-used id: it is changed.
    """
    for one in judged:
        present = live.get(one.chunk_id)
        if present is not None and one.sha256 in ("", present.sha256):
            continue
        elsewhere = [chunk for chunk in by_text.get(one.sha256, ()) if chunk.chunk_id != one.chunk_id]
        to = tuple(chunk.chunk_id for chunk in sorted(elsewhere, key=lambda chunk: chunk.doc_id != one.doc_id))
        if present is None:
            yield Drifted(one, "moved" if to else "missing", to=to)
            continue
        alike = None if one.text is None else similarity(one.text, present.text)
        reused = alike is not None and alike < RELATED
        yield Drifted(one, "reused" if reused else "changed", present, to, alike)


def similarity(judged: str, present: str) -> float:
    """Return how alike two texts are, 0-100: how well the words of the shorter one lie within the other, in order."""
    from rapidfuzz import fuzz

    shorter, longer = sorted((words_of(judged), words_of(present)), key=len)
    plain = [word.plain for word in shorter[:_COMPARED]], [word.plain for word in longer]
    if plain[0] == plain[1]:
        return 100.0 if shorter else fuzz.ratio(judged, present)
    words = fuzz.partial_ratio(*plain) if shorter else 0.0
    return max(words, fuzz.ratio(judged, present, score_cutoff=_SAME_LETTERS))
