"""Freezing and exporting a large set: 10,000 questions, 200,000 judgments, 100,000 chunks of 80 words.

Memory is that of the whole process, over what it needs to start.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from annotator.model import text_hash
from annotator.store.database import Workspace

QUERIES, CHUNKS, CHUNKS_EACH, JUDGED_TWICE = 10_000, 100_000, 15, 5

_MEASURED = """
import json, sys, time
from pathlib import Path
from annotator.services import gold, questions
from annotator.services.workspace import Workspace
home = Workspace(Path(sys.argv[1]))
home.open()
def memory():  # the highest so far, MB; ru_maxrss would begin with the parent's
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
started = memory()
def figure(name, work):
    start, cpu = time.perf_counter(), time.process_time()
    work()
    took = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    took = {key: round(value, 2) for key, value in took.items()}
    print(json.dumps({"bench": name, **took, "mb_over_start": round(memory() - started)}), flush=True)
figure("release", lambda: gold.release(home, "ana"))
figure("export zip", lambda: gold.export_version(home, 1, home.home / "out.zip"))
figure("list of questions", lambda: questions.rows(home, "ana"))
figure("lint of a question", lambda: questions.lint(home, "Who approves word7 word9 after 30 days?"))
figure("readiness", lambda: gold.readiness(home))
"""


def run() -> Iterator[dict[str, object]]:
    """Yield the figures; each step runs in one fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        start = time.perf_counter()
        _fill(Workspace(home))
        yield {"bench": "filling, not measured", "seconds": round(time.perf_counter() - start, 1)}
        done = subprocess.run([sys.executable, "-c", _MEASURED, str(home)], check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            yield json.loads(line)


def _fill(workspace: Workspace) -> None:
    workspace.create()
    chance = random.Random(1)
    vocabulary = [f"word{number}" for number in range(5000)]
    chunks = []
    for number in range(CHUNKS):
        text = " ".join(chance.choices(vocabulary, k=80)) + f" {number}"
        document, place = divmod(number, 10)
        chunks.append((f"doc-{document:05d}#{place}", f"doc-{document:05d}", place, text, text_hash(text)))
    with workspace.write() as connection:
        connection.executemany(
            "INSERT INTO chunks (chunk_id, doc_id, title, position, text, metadata, sha256, row_hash, sync_id)"
            " VALUES (?, ?, 'Title', ?, ?, '{}', ?, x'00', 1)",
            chunks,
        )
        connection.execute("INSERT INTO judged_texts SELECT sha256, text FROM chunks")
        connection.execute(
            "INSERT INTO judged_chunks SELECT chunk_id, sha256, doc_id, title, position, metadata, '' FROM chunks"
        )
        connection.executemany(
            "INSERT INTO queries (query_id, question, notes, facets, state, unanswerable, owner, revision, created_at,"
            " changed_at) VALUES (?, ?, '', ?, 'complete', 0, '', 1, '', '')",
            (
                (
                    f"q-{number:05d}",
                    " ".join(chance.choices(vocabulary, k=10)) + "?",
                    json.dumps({"domain": chance.choice("abcdef"), "risk": chance.choice(["high", "low"])}),
                )
                for number in range(QUERIES)
            ),
        )
        connection.executemany(
            "INSERT INTO judgments (operation_id, query_id, chunk_id, annotator, grade, stale, reason, evidence,"
            " sha256, judged_at, origin) VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, '2026-03-01T09:30:00.125Z', 'annotate')",
            _judgments(chance, chunks),
        )


def _judgments(chance: random.Random, chunks: list[tuple[str, str, int, str, str]]) -> Iterator[tuple[object, ...]]:
    for query in range(QUERIES):
        for place, (chunk_id, _, _, text, sha256) in enumerate(chance.sample(chunks, CHUNKS_EACH)):
            grade = (3, 2, 0, 1, 0)[place % 5]
            evidence = json.dumps([{"quote": text[:20], "start": 0, "end": 20}]) if grade >= 2 else "[]"
            reason = "because it says so in the text" if grade else ""
            for who in ("ana", "ben") if place < JUDGED_TWICE else ("ana",):
                operation = f"{query}-{place}-{who}"
                yield (operation, f"q-{query:05d}", chunk_id, who, grade, reason, evidence, sha256)
