"""Evaluate: the whole process against reading and splitting the same file, and against a bare click program."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 7
Took = tuple[float, float]

SPLIT = "import sys\nfor line in open(sys.argv[1], encoding='utf-8'): line.split()"
CLICK = "import click\nclick.command()(lambda: None).main([], standalone_mode=False)"


def run() -> Iterator[dict[str, object]]:
    """Give one figure after the other; every ratio is of the best of rounds that take turns."""
    with tempfile.TemporaryDirectory() as folder:
        for queries, hits, base, code, most in ((1000, 1000, "read+split", SPLIT, 1.2), (50, 100, "click", CLICK, 3.0)):
            gold, lines = _make(Path(folder), queries, hits)
            figures = _take_turns(
                {
                    base: [sys.executable, "-c", code, str(lines)],
                    "evaluate": [*EVALUATE, "--gold", str(gold), "--run", str(lines), "--json"],
                }
            )
            yield _figure(f"evaluate {queries} x {hits}", figures["evaluate"], base, figures[base], most)
        figures = _take_turns({"click": [sys.executable, "-c", CLICK], "help": [*EVALUATE, "--help"]})
        yield _figure("evaluate --help", figures["help"], "click", figures["click"], 2.0)


EVALUATE = [sys.executable, "-m", "annotator", "evaluate"]


def _figure(name: str, ours: Took, base: str, theirs: Took, aim: float) -> dict[str, object]:
    return {
        "figure": name,
        "seconds": round(ours[0], 4),
        base: round(theirs[0], 4),
        "ratio": round(ours[0] / theirs[0], 2),
        "cpu_ratio": round(ours[1] / theirs[1], 2),
        "aim": aim,
    }


def _take_turns(commands: dict[str, list[str]]) -> dict[str, Took]:
    """Best wall and processor seconds of each command; taking turns, so that a busy moment hits all of them."""
    best = dict.fromkeys(commands, (float("inf"), float("inf")))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            start, used = time.perf_counter(), _children_cpu()
            subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
            wall, cpu = best[name]
            best[name] = min(wall, time.perf_counter() - start), min(cpu, _children_cpu() - used)
    return best


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _make(folder: Path, queries: int, hits: int) -> tuple[Path, Path]:
    """Write judgments (20 retrieved and 20 other chunks a query) and a run in TREC format."""
    draw = random.Random(1)
    gold, lines = folder / f"{queries}.qrels", folder / f"{queries}.trec"
    with gold.open("w", encoding="utf-8") as judged, lines.open("w", encoding="utf-8") as ranked:
        for query in range(queries):
            chunks = draw.sample(range(1_000_000), hits + 20)
            scores = sorted((draw.random() * 20 for _ in range(hits)), reverse=True)
            for rank, (chunk, score) in enumerate(zip(chunks, scores, strict=False), 1):
                ranked.write(f"q{query:04d} Q0 doc-{chunk:07d} {rank} {score:.6f} bench\n")
            for chunk in draw.sample(chunks[:hits], 20) + chunks[hits:]:
                judged.write(f"q{query:04d} 0 doc-{chunk:07d} {draw.choice((0, 0, 1, 2, 3))}\n")
    return gold, lines
