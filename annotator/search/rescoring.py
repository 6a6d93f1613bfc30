"""Ranks chunks that another server found by the words typed, as the index would rank them among each other.

BM25 over the same stems, with the title counting twice and identifiers counting where they stand whole; how rare a
word is, is told by whoever found the chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from annotator.model import Chunk
from annotator.search import analysis, identifiers

__all__ = ["rescored"]

_SATURATION: Final = 1.2
_LENGTH: Final = 0.75
_WHOLE: Final = 4.0

Spellings = Sequence[tuple[str, float]]


def rescored(
    chunks: Sequence[Chunk], words: Sequence[Spellings], rarity: Mapping[str, float]
) -> list[tuple[str, float]]:
    """Return (chunk id, score), best first. `words` are spellings with their weights, `rarity` is by first spelling.

    Chunks with equal scores stay in the order they come in.
    """
    stemmed = [[([analysis.stem(part) for part in _parts(spelt)], weight) for spelt, weight in one] for one in words]
    codes = [
        {*found, *map(identifiers.squeeze, found)} - {""} for found in (identifiers.codes(one[0][0]) for one in words)
    ]
    counted = [_counted(chunk) for chunk in chunks]
    usual = sum(sum(each.values()) for each in counted) / max(1, len(counted)) or 1.0
    scored = []
    for chunk, there in zip(chunks, counted, strict=True):
        held = _SATURATION * (1 - _LENGTH + _LENGTH * sum(there.values()) / usual)
        named = _names(chunk) if any(codes) else frozenset()
        score = 0.0
        for one, spellings, code in zip(words, stemmed, codes, strict=True):
            best = 0.0
            for stems, weight in spellings:
                shares = [there[stem] * (_SATURATION + 1) / (there[stem] + held) for stem in stems]
                best = max(best, weight * sum(shares) / max(1, len(stems)))
            score += rarity.get(one[0][0], 0.0) * (best + _WHOLE * bool(code & named))
        scored.append((chunk.chunk_id, round(score, 4)))
    return sorted(scored, key=lambda each: -each[1])


def _parts(spelt: str) -> list[str]:
    return identifiers.telling_parts(spelt) or analysis.words(spelt)


def _counted(chunk: Chunk) -> Counter[str]:
    title = analysis.words(chunk.title)
    return Counter(map(analysis.stem, (*title, *title, *analysis.words(chunk.text))))


def _names(chunk: Chunk) -> frozenset[str]:
    found = [*identifiers.identifiers(chunk.title), *identifiers.identifiers(chunk.text)]
    return frozenset((*found, *map(identifiers.squeeze, found)))
