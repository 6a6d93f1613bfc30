"""How long a save takes while something big goes on: sync, imports, release, export, backup of a large workspace.

Somebody in another process saves every 20 ms; BENCH_CHUNKS and BENCH_JUDGMENTS set the sizes.
"""

from __future__ import annotations

import csv
import json
import os
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from annotator.model import Person
from annotator.services import backup, chunk_table, gold, search
from annotator.services.importing import import_judgments, import_queries
from annotator.store import people
from annotator.store.database import Workspace
from tests.bench._people import saving

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "200000"))
JUDGMENTS = int(os.environ.get("BENCH_JUDGMENTS", "100000"))
QUERIES = 5_000


def run() -> Iterator[dict[str, object]]:
    """Give one line for each big thing: how long it took, and what saves took meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _figures(Path(folder))


def _figures(folder: Path) -> Iterator[dict[str, object]]:
    workspace = Workspace(folder / "workspace")
    workspace.create()
    with workspace.write() as connection:
        people.add(connection, Person("Ada", "admin"), "Ada")
        people.add(connection, Person("Ben"), "Ada")
    chance = random.Random(3)
    table = folder / "table.db"
    _make_table(table, chance, 1_000)
    chunk_table.connect(workspace, "Ada", f"sqlite:///{table}")
    chunk_table.sync(workspace, "Ada")
    _questions(folder / "queries.jsonl")
    import_queries(workspace, "Ada", folder / "queries.jsonl")
    _make_table(table, chance, CHUNKS)
    steps: list[tuple[str, Callable[[], object]]] = [
        ("nothing else", lambda: time.sleep(5)),
        (f"sync, {CHUNKS:,} new chunks", lambda: chunk_table.sync(workspace, "Ada")),
        ("index", lambda: search.bring_up_to_date(workspace)),
        ("import of 10,000 judgments", lambda: _import(workspace, folder, 10_000, "Cai")),
        (f"import of {JUDGMENTS:,} judgments", lambda: _import(workspace, folder, JUDGMENTS, "Dee")),
        ("import of 5,000 questions again", lambda: import_queries(workspace, "Ada", folder / "queries.jsonl")),
        ("release", lambda: gold.release(workspace, "Ada", allow_open=True)),
        ("export", lambda: gold.export_version(workspace, 1, folder / "out.zip")),
        ("backup", lambda: backup.back_up(workspace, "Ada", folder / "backup.db")),
        ("check", lambda: backup.check(workspace)),
    ]
    for name, work in steps:
        asked = [f"q{number}" for number in range(100)]
        with _Log(workspace) as log, saving(workspace, "Ben", asked, 0.02) as taken:
            begun = time.perf_counter()
            work()
            seconds = time.perf_counter() - begun
        taken.sort()
        yield {
            "bench": "waits",
            "while": name,
            "seconds": round(seconds, 2),
            "saves": len(taken),
            **{f"p{share}_ms": round(1000 * taken[len(taken) * share // 100], 1) for share in (50, 95, 99)},
            "max_ms": round(1000 * taken[-1], 1),
            "log_mb": log.megabytes(),
        }


class _Log:
    """Watches the write-ahead log beside the database: how large it ever was."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.database.with_name("annotator.db-wal")
        self._stop = threading.Event()
        self._largest = 0
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> _Log:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def megabytes(self) -> float:
        return round(self._largest / 1e6, 1)

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            with suppress(FileNotFoundError):
                self._largest = max(self._largest, self._path.stat().st_size)


def _import(workspace: Workspace, folder: Path, number: int, who: str) -> None:
    path = folder / f"{who}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("query_id", "chunk_id", "grade", "reason"))
        each = max(1, number // QUERIES)
        for one in range(number):
            writer.writerow((f"q{one // each}", f"c{one % 999}", one % 4, "as the manual says"))
    import_judgments(workspace, "Ada", path, annotator=who)


def _questions(path: Path) -> None:
    lines = (json.dumps({"query_id": f"q{one}", "question": f"What does article {one} say?"}) for one in range(QUERIES))
    path.write_text("\n".join(lines), encoding="utf-8")


def _make_table(path: Path, chance: random.Random, number: int) -> None:
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(20_000)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS chunks (chunk_id TEXT PRIMARY KEY, doc_id, text)")
        begun = connection.execute("SELECT COUNT(*) FROM chunks").fetchone()[0]
        connection.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?)",
            ((f"c{one}", f"d{one // 12}", " ".join(chance.choices(words, k=80))) for one in range(begun, number)),
        )
