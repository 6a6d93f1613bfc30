"""Make the three sample runs of the demo with three real retrievers: BM25, latent semantic analysis, and both fused.

Reads chunks.db and queries.jsonl beside this file and writes runs/*.jsonl. Rankings repeat exactly; the measured
latencies differ from one execution to the next.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RESULTS, DEPTH = 20, 50
SNAPSHOT = "2025-05-01"  # the dense index was last built on this day; chunks updated later are not in it
DIMENSIONS = 64
FUSION_CONSTANT = 60  # reciprocal rank fusion, Cormack et al. 2009

Ranked = list[tuple[str, float]]
Answer = tuple[Ranked, dict[str, object]]


def read_chunks(db: sqlite3.Connection) -> list[dict[str, str]]:
    """Read the chunk table in id order, with the two metadata fields that the retrievers use."""
    sql = """SELECT chunk_id, title, text, json_extract(metadata, '$.status') AS status,
                    json_extract(metadata, '$.updated_at') AS updated_at FROM chunks ORDER BY chunk_id"""
    db.row_factory = sqlite3.Row
    return [dict(row) for row in db.execute(sql)]


def best_first(scores: dict[str, float], limit: int) -> Ranked:
    """Order by score, then by id, both descending, as evaluation tools do."""
    rounded = ((chunk_id, round(score, 6)) for chunk_id, score in scores.items())
    return sorted(rounded, key=lambda hit: (hit[1], hit[0]), reverse=True)[:limit]


class Lexical:
    """BM25 over titles and texts with English stemming, as SQLite's FTS5 does it. No freshness filter.

    Words are split at spaces and punctuation, so a sentence in Japanese is one long word that matches nothing.
    """

    def __init__(self, chunks: list[dict[str, str]]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE VIRTUAL TABLE f USING fts5(chunk_id UNINDEXED, title, text, tokenize='porter unicode61')")
        self.db.executemany("INSERT INTO f VALUES (:chunk_id, :title, :text)", chunks)

    def rank(self, question: str) -> Ranked:
        phrases = [f'"{word}"' for word in question.replace('"', " ").split() if any(map(str.isalnum, word))]
        sql = "SELECT chunk_id, -bm25(f, 0, 2.0, 1.0) FROM f WHERE f MATCH ?"
        return best_first(dict(self.db.execute(sql, (" OR ".join(phrases),))), DEPTH)


def features(text: str) -> Iterator[str]:
    """Yield the words of a text and their character 3- to 5-grams (2-grams as well where no spaces separate words)."""
    for word in re.findall(r"\w+", text.lower()):
        yield word
        shortest = 3 if word.isascii() else 2
        padded = f" {word} "
        for size in range(shortest, 6):
            yield from (padded[at : at + size] for at in range(len(padded) - size + 1))


class Dense:
    """Latent semantic analysis: TF-IDF of words and character n-grams, truncated SVD, cosine."""

    def __init__(self, chunks: list[dict[str, str]]) -> None:
        indexed = [chunk for chunk in chunks if chunk["updated_at"] <= SNAPSHOT]
        self.ids = [chunk["chunk_id"] for chunk in indexed]
        counts = [Counter(features(f"{chunk['title']} {chunk['text']}")) for chunk in indexed]
        spread = Counter(feature for count in counts for feature in count)
        kept = sorted(feature for feature, number in spread.items() if number >= 2)
        self.column = {feature: at for at, feature in enumerate(kept)}
        self.idf = np.log((1 + len(indexed)) / (1 + np.array([spread[feature] for feature in kept]))) + 1
        matrix = np.stack([self.weigh(count) for count in counts])
        self.axes = np.linalg.svd(matrix, full_matrices=False)[2][:DIMENSIONS].T
        self.vectors = self.unit(matrix @ self.axes)

    def weigh(self, count: Counter[str]) -> np.ndarray:
        row = np.zeros(len(self.column))
        for feature, number in count.items():
            if feature in self.column:
                row[self.column[feature]] = 1 + np.log(number)
        return self.unit(row * self.idf)

    @staticmethod
    def unit(rows: np.ndarray) -> np.ndarray:
        return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)

    def rank(self, question: str) -> Ranked:
        vector = self.unit(self.weigh(Counter(features(question))) @ self.axes)
        return best_first(dict(zip(self.ids, (self.vectors @ vector).tolist(), strict=True)), DEPTH)


def fuse(first: Ranked, second: Ranked) -> Ranked:
    """Add up 1 / (60 + rank) over both lists."""
    scores: dict[str, float] = {}
    for ranked in (first, second):
        for rank, (chunk_id, _) in enumerate(ranked, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (FUSION_CONSTANT + rank)
    return best_first(scores, DEPTH)


def write_run(name: str, meta: dict[str, object], queries: list[dict[str, str]], ask: Callable[[str], Answer]) -> None:
    """Ask every question once to warm up and once to measure, then write the trace."""
    lines: list[dict[str, object]] = [{"run": {"name": name, **meta}}]
    for query in queries:
        ask(query["question"])
        start = time.perf_counter()
        ranked, trace = ask(query["question"])
        latency = round((time.perf_counter() - start) * 1000, 2)
        results = [{"chunk_id": chunk_id, "score": score} for chunk_id, score in ranked[:RESULTS]]
        candidates = [chunk_id for chunk_id, _ in ranked]
        lines.append({"query_id": query["query_id"], "results": results, "candidates": candidates}
                     | trace | {"latency_ms": latency})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (HERE / "runs" / f"{name}.jsonl").write_text(text, encoding="utf-8")


def main() -> None:
    """Build the indexes and write the runs."""
    chunks = read_chunks(sqlite3.connect(HERE / "chunks.db"))
    queries = [json.loads(line) for line in (HERE / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    superseded = {chunk["chunk_id"] for chunk in chunks if chunk["status"] == "superseded"}
    lexical, dense = Lexical(chunks), Dense(chunks)

    def ask_hybrid(question: str) -> Answer:
        fused = fuse(lexical.rank(question), dense.rank(question))
        dropped = [{"chunk_id": chunk_id, "filter": "freshness"} for chunk_id, _ in fused if chunk_id in superseded]
        fresh = [hit for hit in fused if hit[0] not in superseded]
        return fresh, {"route": "hybrid", "filters": {"status": "current"}, "filtered_out": dropped}

    today = max(chunk["updated_at"] for chunk in chunks)
    lsa = f"lsa-{DIMENSIONS}"
    none: dict[str, object] = {"reranker": "none", "prompt_version": "none"}
    write_run("bm25", {"index_version": today, "embedding_model": "none"} | none, queries,
              lambda question: (lexical.rank(question), {"route": "words", "filters": {}}))
    write_run("dense", {"index_version": SNAPSHOT, "embedding_model": lsa} | none, queries,
              lambda question: (dense.rank(question), {"route": "vectors", "filters": {}}))
    write_run("hybrid", {"index_version": f"{today} words, {SNAPSHOT} vectors", "embedding_model": lsa} | none
              | {"reranker": f"reciprocal rank fusion, k={FUSION_CONSTANT}"}, queries, ask_hybrid)


if __name__ == "__main__":
    main()
