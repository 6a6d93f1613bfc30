"""How far apart unrelated and edited texts lie in likeness: what the line between *changed* and *reused* rests on.

250 pairs each (BENCH_PAIRS) of every collection of the reference material: two chunks that have nothing to do with
each other, and a chunk beside itself with half of its words replaced, removed or added.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from annotator.gold.drift import RELATED, similarity
from annotator.gold.words import words_of
from tests.bench.carry import texts

SHARED = Path(os.environ.get("ANNOTATOR_SHARED", Path(__file__).resolve().parents[3] / "shared"))
PAIRS = int(os.environ.get("BENCH_PAIRS", "250"))


def run() -> Iterator[dict[str, object]]:
    """Give the shares of unrelated and of edited pairs, over all collections."""
    draw = random.Random(7)
    unrelated: list[float] = []
    edited: list[float] = []
    for chunks in _collections():
        words = _words(" ".join(draw.sample(chunks, min(len(chunks), 100))))
        for _ in range(PAIRS):
            one, other = draw.sample(chunks, 2)
            unrelated.append(similarity(one, other))
            edited.append(similarity(one, _edited(draw, _words(one), words)))
    unrelated.sort()
    edited.sort()
    pairs = len(unrelated)
    yield {"bench": "drift", "figure": "pairs of each kind", "value": pairs}
    for share in (0.99, 0.999):
        yield {
            "bench": "drift",
            "figure": f"unrelated, {share:.1%} reach at most",
            "value": round(unrelated[_at(pairs, share)]),
        }
        yield {
            "bench": "drift",
            "figure": f"edited, {share:.1%} keep at least",
            "value": round(edited[-1 - _at(pairs, share)]),
        }
    wrong = sum(one >= RELATED for one in unrelated), sum(one < RELATED for one in edited)
    yield {"bench": "drift", "figure": f"on the wrong side of {RELATED:.0f}", "unrelated": wrong[0], "edited": wrong[1]}


def _at(pairs: int, share: float) -> int:
    return min(pairs - 1, round(pairs * share))


def _collections() -> Iterator[list[str]]:
    """Yield the chunks of each collection; the five long texts count one each."""
    for folder in sorted((SHARED / "corpora").iterdir()):
        if folder.name == "chroma_chunking_eval":
            for text in texts(folder).values():
                yield [text[at : at + 800] for at in range(0, len(text) - 800, 1600)]
        else:
            rows = (json.loads(line) for line in (folder / "chunks.jsonl").read_text("utf-8").splitlines())
            yield [text for text in dict.fromkeys(row["text"] for row in rows) if len(words_of(text)) >= 20]


def _words(text: str) -> list[str]:
    """Return the words as likeness counts them, which in Chinese or Thai no spaces part."""
    return [text[word.start : word.end] for word in words_of(text)]


def _edited(draw: random.Random, words: Sequence[str], others: Sequence[str]) -> str:
    """Replace, remove or add half of the words."""
    kind = draw.choice(("replace", "remove", "add"))
    chosen = set(draw.sample(range(len(words)), len(words) // 2))
    made: list[str] = []
    for at, word in enumerate(words):
        if at not in chosen:
            made.append(word)
        elif kind == "replace":
            made.append(draw.choice(others))
        elif kind == "add":
            made += (word, draw.choice(others))
    return " ".join(made)
