"""Search on a generated corpus, side by side with Tantivy alone on the same index: words, slips, ids, building.

`BENCH_CHUNKS` sets the number of chunks (100,000), of 80 words each from a vocabulary of 200,000 with the usual
skew: few words very common, most of them rare.
"""

from __future__ import annotations

import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from annotator.search import index
from annotator.search.run import search
from annotator.search.similar import near_duplicates
from annotator.store import corpus
from annotator.store.database import Workspace
from annotator.store.sync import staging
from tests.bench import _corpus

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "100000"))
QUERIES = 300


def run() -> Iterator[dict[str, object]]:
    """Give one figure after the other."""
    draw = random.Random(7)
    vocabulary = _corpus.vocabulary()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "home")
        workspace.create()
        _fill(workspace, vocabulary)
        before = _memory()
        built = index.refresh(workspace)
        yield _figure("index built", CHUNKS / built.seconds, "chunks/s", seconds=round(built.seconds, 1))
        yield _figure("memory over start while building", _memory() - before, "MB")
        yield _figure("segments", index.current(workspace).searcher.num_segments, "")
        size = sum(path.stat().st_size for path in workspace.index.rglob("*") if path.is_file())
        yield _figure("index on the disk", size / 1e6, "MB")
        yield from _searches(workspace, draw, vocabulary)
        yield _times("near-duplicates of a chunk", _likenesses(workspace, draw))
        yield from _following(workspace, vocabulary, built.seconds)
        yield _figure("memory over start, all of this", _memory() - before, "MB")


def _searches(workspace: Workspace, draw: random.Random, vocabulary: Sequence[str]) -> Iterator[dict[str, object]]:
    queries = [" ".join(_word(draw, vocabulary) for _ in range(draw.choice((2, 3, 4, 6)))) for _ in range(QUERIES)]
    long = [" ".join(_word(draw, vocabulary) for _ in range(25)) for _ in range(QUERIES // 3)]
    right = [[_long_word(draw, vocabulary) for _ in range(2)] for _ in range(QUERIES // 2)]
    reader = index.current(workspace)

    def raw(text: str) -> None:
        reader.searcher.search(reader.index.parse_query(text, ["stems"]), 20)

    def ours(text: str, mode: str = "words") -> None:
        search(workspace, text, mode=mode, limit=20)

    for text in queries[:20]:
        raw(text)
        ours(text)
    tantivy, words = _interleaved(raw, ours, queries)
    yield _times("Tantivy alone, top 20", tantivy)
    yield _times("words, 20 hits with snippets", words)
    yield _figure("words to Tantivy alone, p95", _p95(words) / _p95(tantivy), "times")
    yield _times("questions of 25 words", [_timed(ours, text) for text in long])
    first = _timed(lambda text: ours(text, "fuzzy"), " ".join(right[0]))
    yield _figure("first fuzzy search, reads the vocabulary", first * 1000, "ms")
    for edits in (1, 2):
        slips = [" ".join(_mistyped(draw, word, edits) for word in pair) for pair in right]
        plain, fuzzy = _interleaved(ours, lambda text: ours(text, "fuzzy"), [" ".join(pair) for pair in right], slips)
        yield _times(f"fuzzy, {edits} edits in each of two words", fuzzy)
        yield _figure(f"fuzzy to the same words typed right, {edits} edits, p95", _p95(fuzzy) / _p95(plain), "times")
        yield _figure(f"fuzzy to words, {edits} edits, p95", _p95(fuzzy) / _p95(words), "times")
        found = sum(
            bool({hit.chunk_id for hit in search(workspace, " ".join(pair), limit=5).hits}
                 & {hit.chunk_id for hit in search(workspace, typed, mode="fuzzy", limit=10).hits})
            for pair, typed in zip(right, slips, strict=True)
        )  # fmt: skip
        yield _figure(f"fuzzy finds one of the five meant, {edits} edits", found / len(slips), "")
    ids = [f"doc-{draw.randrange(CHUNKS // 12)}#{draw.randrange(12)}" for _ in range(QUERIES // 3)]
    yield _times("by id", [_timed(lambda text: ours(text, "id"), text) for text in ids])
    yield _times("by beginning of id", [_timed(lambda text: ours(text, "id"), text[:7]) for text in ids])
    yield _times("identifier as words", [_timed(ours, text) for text in ids])


def _likenesses(workspace: Workspace, draw: random.Random) -> list[float]:
    reader = index.current(workspace)
    times = []
    for _ in range(QUERIES // 3):
        with workspace.read() as connection:
            chunk = corpus.chunk(connection, f"doc-{draw.randrange(CHUNKS // 12)}#{draw.randrange(12)}")
            times.append(_timed(lambda _: near_duplicates(reader, connection, chunk), ""))  # noqa: B023 - called here
    return times


def _following(workspace: Workspace, vocabulary: Sequence[str], whole: float) -> Iterator[dict[str, object]]:
    """Change one chunk in a hundred and follow."""
    with workspace.write() as connection:
        sync_id = connection.execute(
            "INSERT INTO syncs (started_at, finished_at, source, who) VALUES ('', 'later', '', '')"
        ).lastrowid
        for row, text in zip(range(1, CHUNKS, 100), _corpus.texts(vocabulary, CHUNKS, seed=8), strict=False):
            connection.execute("UPDATE chunks SET text = ?, sync_id = ? WHERE row = ?", (text, sync_id, row))
    followed = index.refresh(workspace)
    yield _figure("1 % changed, share of the whole", followed.seconds / whole, "times", chunks=followed.indexed)


def _fill(workspace: Workspace, vocabulary: Sequence[str]) -> None:
    rows = []
    with staging(workspace, "refuse") as staged:
        for place, (chunk_id, doc_id, _, position, text, metadata) in enumerate(_corpus.rows(vocabulary, CHUNKS)):
            rows.append((place, chunk_id, text, doc_id, "", position, metadata, text.encode()))
            if len(rows) == 500:
                staged.add(rows)
                rows = []
        if rows:
            staged.add(rows)
        staged.apply("bench", "bench")


def _word(draw: random.Random, vocabulary: Sequence[str]) -> str:
    """Return a word, of any frequency with about equal chance from the commonest to the rarest."""
    return vocabulary[min(len(vocabulary) - 1, int(10 ** draw.uniform(0, 5.3)))]


def _long_word(draw: random.Random, vocabulary: Sequence[str]) -> str:
    return next(word for word in iter(lambda: _word(draw, vocabulary), "") if len(word) >= 6)


def _mistyped(draw: random.Random, word: str, edits: int) -> str:
    letters = list(word)
    for _ in range(edits):
        at = draw.randrange(len(letters))
        letters[at : at + 1] = draw.choice(([], [draw.choice("abcdefghij")], [letters[at], draw.choice("klmnop")]))
    return "".join(letters)


def _interleaved(
    one: Callable[[str], None], other: Callable[[str], None], texts: Sequence[str], others: Sequence[str] = ()
) -> tuple[list[float], list[float]]:
    """Time both on each text in turn, so that both meet the machine in the same state."""
    pairs = [(_timed(one, text), _timed(other, its)) for text, its in zip(texts, others or texts, strict=True)]
    return [first for first, _ in pairs], [second for _, second in pairs]


def _timed(function: Callable[[str], None], text: str) -> float:
    started = time.perf_counter()
    function(text)
    return time.perf_counter() - started


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _times(what: str, times: Sequence[float]) -> dict[str, object]:
    return {
        "bench": "search",
        "what": f"{what}, {CHUNKS} chunks",
        "p50_ms": round(sorted(times)[len(times) // 2] * 1000, 2),
        "p95_ms": round(_p95(times) * 1000, 2),
    }


def _figure(what: str, value: float, unit: str, **more: object) -> dict[str, object]:
    return {"bench": "search", "what": f"{what}, {CHUNKS} chunks", "value": round(value, 3), "unit": unit, **more}


def _memory() -> float:
    """Return the most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
