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
RESULTS, DEPTH = 20, 50  # chunks handed to the reader, candidates considered
SNAPSHOT = "2025-05-01"  # the dense index was last built on this day; chunks updated later are not in it
DIMENSIONS = 24
TITLE_WEIGHT = 3.0
FUSION_CONSTANT = 60  # reciprocal rank fusion, Cormack et al. 2009
STOPPED = re.findall(
    r"\w+",
    """a an and any are as at be by can could did do does doesn for from get have how i if in is it its may me my not of
    on one or our out over s should some that the their them there they this to up us was we what when where which who
    whom why will with would you your""",
)

Ranked = list[tuple[str, float]]
Answer = tuple[Ranked, dict[str, object]]


def read_chunks(db: sqlite3.Connection) -> list[dict[str, str]]:
    """Read the chunk table with the two metadata fields that the retrievers use."""
    sql = """SELECT chunk_id, title, text, json_extract(metadata, '$.status') AS status,
                    json_extract(metadata, '$.updated_at') AS updated_at FROM chunks ORDER BY chunk_id"""
    db.row_factory = sqlite3.Row
    return [dict(row) for row in db.execute(sql)]


def best_first(scores: dict[str, float]) -> Ranked:
    """Order by score, then by id, both descending, as evaluation tools do."""
    return sorted(scores.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)[:DEPTH]


class Lexical:
    """BM25 by SQLite's FTS5 with English stemming; a Japanese sentence is one long word to it and matches nothing."""

    def __init__(self, chunks: list[dict[str, str]]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE VIRTUAL TABLE f USING fts5(chunk_id UNINDEXED, title, text, tokenize=porter)")
        self.db.executemany("INSERT INTO f VALUES (:chunk_id, :title, :text)", chunks)

    def rank(self, question: str) -> Ranked:
        words = [word.strip(".,:;?!") for word in question.replace('"', " ").lower().split()]
        phrases = [f'"{word}"' for word in words if word and word not in STOPPED]
        sql = f"SELECT chunk_id, round(-bm25(f, 0, {TITLE_WEIGHT}, 1), 6) FROM f WHERE f MATCH ?"
        return best_first(dict(self.db.execute(sql, (" OR ".join(phrases),))))


def features(text: str) -> Iterator[str]:
    """Yield the words of a text and their character 3- to 5-grams (2-grams as well where no spaces separate words)."""
    for word in filter(lambda word: word not in STOPPED, re.findall(r"\w+", text.lower())):
        yield word
        padded = f" {word} "
        for n in range(3 if word.isascii() else 2, 6):
            yield from (padded[at : at + n] for at in range(len(padded) - n + 1))


class Dense:
    """Latent semantic analysis: TF-IDF of words and character n-grams, truncated SVD, cosine."""

    def __init__(self, chunks: list[dict[str, str]]) -> None:
        indexed = [chunk for chunk in chunks if chunk["updated_at"] <= SNAPSHOT]
        self.ids = [chunk["chunk_id"] for chunk in indexed]
        counts = [Counter(features(f"{chunk['title']} {chunk['text']}")) for chunk in indexed]
        spread = Counter(feature for count in counts for feature in count)
        kept = sorted(feature for feature, number in spread.items() if number >= 2 or not feature.isascii())
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
        scaled: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
        return scaled

    def rank(self, question: str) -> Ranked:
        vector = self.unit(self.weigh(Counter(features(question))) @ self.axes)
        cosines = zip(self.ids, (self.vectors @ vector).round(6).tolist(), strict=True)
        return best_first({chunk_id: cosine for chunk_id, cosine in cosines if cosine > 0})


def fuse(first: Ranked, second: Ranked) -> Ranked:
    """Add up 1 / (60 + rank) over both lists."""
    scores: dict[str, float] = {}
    for ranked in (first, second):
        for rank, (chunk_id, _) in enumerate(ranked, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + 1 / (FUSION_CONSTANT + rank)
    return best_first({chunk_id: round(score, 6) for chunk_id, score in scores.items()})


def write_run(name: str, index: str, model: str, reranker: str, ask: Callable[[str], Answer]) -> None:
    """Ask every question once to warm up and once to measure, then write the trace."""
    meta = {"index_version": index, "embedding_model": model, "reranker": reranker, "prompt_version": "none"}
    lines: list[dict[str, object]] = [{"run": {"name": name} | meta}]
    for query in map(json.loads, (HERE / "queries.jsonl").read_text(encoding="utf-8").splitlines()):
        ask(query["question"])
        start = time.perf_counter()
        ranked, trace = ask(query["question"])
        latency = round((time.perf_counter() - start) * 1000, 2)
        results = [{"chunk_id": chunk_id, "score": score} for chunk_id, score in ranked[:RESULTS]]
        trace |= {"candidates": [chunk_id for chunk_id, _ in ranked], "latency_ms": latency}
        lines.append({"query_id": query["query_id"], "results": results} | trace)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (HERE / "runs" / f"{name}.jsonl").write_text(text, encoding="utf-8")


def main() -> None:
    """Build the indexes and write the runs."""
    chunks = read_chunks(sqlite3.connect(HERE / "chunks.db"))
    superseded = {chunk["chunk_id"] for chunk in chunks if chunk["status"] == "superseded"}
    lexical, dense = Lexical(chunks), Dense(chunks)

    def ask_hybrid(question: str) -> Answer:
        fused = fuse(lexical.rank(question), dense.rank(question))
        dropped = [{"chunk_id": chunk_id, "filter": "freshness"} for chunk_id, _ in fused if chunk_id in superseded]
        fresh = [hit for hit in fused if hit[0] not in superseded]
        return fresh, {"route": "hybrid", "filters": {"status": "current"}, "filtered_out": dropped}

    today, lsa = max(chunk["updated_at"] for chunk in chunks), f"lsa-{DIMENSIONS}"
    write_run("bm25", today, "none", "none", lambda question: (lexical.rank(question), {"route": "words"}))
    write_run("dense", SNAPSHOT, lsa, "none", lambda question: (dense.rank(question), {"route": "vectors"}))
    write_run("hybrid", f"{today} words, {SNAPSHOT} vectors", lsa, f"rrf-{FUSION_CONSTANT}", ask_hybrid)


if __name__ == "__main__":
    main()
