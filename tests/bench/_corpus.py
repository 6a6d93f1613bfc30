"""A generated chunk table of any size for the benchmarks: 80 words a chunk, few words common, most of them rare."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

WORDS = 80
VOCABULARY = 200_000
BATCH = 10_000
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or", "ing")]

Row = tuple[str, str, str, int, str, str]
"""(chunk_id, doc_id, title, position, text, metadata as JSON)."""


def vocabulary() -> list[str]:
    """Return the words, the commonest first."""
    draw = random.Random(7)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(draw.choices(_SYLLABLES, k=draw.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(words)


def texts(words: Sequence[str], number: int, seed: int = 7) -> Iterator[str]:
    """Give so many texts; the same for the same seed."""
    import numpy

    weights = numpy.fromiter((1 / (rank + 2.7) ** 1.05 for rank in range(len(words))), float)
    cumulative = numpy.cumsum(weights) / weights.sum()
    dice = numpy.random.default_rng(seed)
    for start in range(0, number, BATCH):
        some = min(BATCH, number - start)
        drawn = numpy.searchsorted(cumulative, dice.random((some, WORDS))).clip(max=len(words) - 1)
        yield from (" ".join(map(words.__getitem__, row)) for row in drawn.tolist())


def rows(words: Sequence[str], number: int) -> Iterator[Row]:
    """Give the rows of a table of so many chunks, twelve to a document."""
    for place, text in enumerate(texts(words, number)):
        document, position = divmod(place, 12)
        metadata = json.dumps({"version": f"v{place % 5}", "page": place % 300})
        yield f"doc-{document}#{position}", f"doc-{document}", f"Section {position}", position, text, metadata


def write_table(path: Path, words: Sequence[str], number: int) -> None:
    """Write the rows to an SQLite table `chunks` as retrieval systems keep them: with the chunk id as its key."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id, title, position, text, metadata)")
        made = rows(words, number)
        while some := list(itertools.islice(made, BATCH)):
            connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", some)
