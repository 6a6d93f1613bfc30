"""Sync: from empty, unchanged and with one row in a hundred changed, by kind of chunk table; memory on top.

BENCH_CHUNKS sets the size, BENCH_KINDS takes some of the kinds only (sqlite, parquet, and postgresql up to 500,000).
"""

from __future__ import annotations

import os
import resource
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from annotator.services import chunk_table
from annotator.store import settings
from annotator.store.database import Workspace
from tests.bench import _corpus
from tests.postgres_server import PASSWORD, server

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "200000"))
KINDS = os.environ.get("BENCH_KINDS", "sqlite,parquet" if CHUNKS > 500_000 else "sqlite,parquet,postgresql").split(",")


def run() -> Iterator[dict[str, object]]:
    """Give one figure after the other."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        database = home / "table.db"
        _corpus.write_table(database, _corpus.vocabulary(), CHUNKS)
        yield _bare_read(database)
        yield {"figure": "live table on the disk", "value": round(database.stat().st_size / 1e6), "unit": "MB"}
        if "sqlite" in KINDS:
            yield from _figures("sqlite", home, f"sqlite:///{database}", lambda: _touch(database))
        if "parquet" in KINDS:
            _make_parquet(home / "table.parquet", database)
            yield from _figures("parquet", home, str(home / "table.parquet"), None)
        if "postgresql" in KINDS:
            yield from _postgres(home)


def _postgres(home: Path) -> Iterator[dict[str, object]]:
    """Read with a role that may only SELECT, beside what one cursor of the server takes for the same columns."""
    import psycopg

    os.environ["READER_PASSWORD"] = PASSWORD
    with server() as postgres:
        postgres.database("bench")
        _make_postgres(postgres.url("bench"))
        postgres.grant("bench")
        begun = time.perf_counter()
        with psycopg.connect(postgres.url("bench")) as connection, connection.cursor("all") as cursor:
            cursor.execute("SELECT chunk_id, doc_id, title, position, text, metadata::text FROM chunks")
            while cursor.fetchmany(1_000):
                pass
        yield {
            "figure": "bare read by one cursor, postgresql",
            "value": round(CHUNKS / (time.perf_counter() - begun)),
            "unit": "chunks/s",
        }
        change = "UPDATE chunks SET text = text || ' changed' WHERE doc_id LIKE '%00'"
        yield from _figures("postgresql", home, postgres.reader("bench"), lambda: postgres.psql("bench", change))


def _figures(kind: str, home: Path, url: str, touch: Callable[[], None] | None) -> Iterator[dict[str, object]]:
    workspace = Workspace(home / kind)
    workspace.create()
    chunk_table.connect(workspace, "bench", url)
    before = _memory()
    with _waiting(workspace) as waits:
        yield _timed(f"sync from empty, {kind}", workspace)
    yield {"figure": f"longest wait of another writer meanwhile, {kind}", "value": round(max(waits), 3), "unit": "s"}
    yield _timed(f"sync unchanged, {kind}", workspace)
    size = sum(path.stat().st_size for path in workspace.home.iterdir() if path.is_file())
    yield {"figure": f"workspace on the disk, {kind}", "value": round(size / 1e6), "unit": "MB"}
    if touch:
        touch()
        yield _timed(f"sync with 1 % changed, {kind}", workspace)
    yield {"figure": f"memory over start, {kind}", "value": round(_memory() - before, 1), "unit": "MB"}


def _bare_read(database: Path) -> dict[str, object]:
    """Read the table and do nothing with it, for comparison."""
    begun = time.perf_counter()
    with closing(sqlite3.connect(database)) as connection:
        cursor = connection.execute("SELECT chunk_id, doc_id, title, position, text, metadata FROM chunks")
        while cursor.fetchmany(1_000):
            pass
    return {"figure": "bare read", "value": round(CHUNKS / (time.perf_counter() - begun)), "unit": "chunks/s"}


def _timed(figure: str, workspace: Workspace) -> dict[str, object]:
    result = chunk_table.sync(workspace, "bench")
    rate = round(result.total / result.seconds)
    return {"figure": figure, "value": rate, "unit": "chunks/s", "chunks": result.total, "seconds": result.seconds}


class _waiting:
    """Somebody else who saves every 50 ms while the sync runs; gives how long each save took."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stop = threading.Event()
        self._waits = [0.0]
        self._thread = threading.Thread(target=self._save)

    def __enter__(self) -> list[float]:
        self._thread.start()
        return self._waits

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _save(self) -> None:
        while not self._stop.wait(0.05):
            begun = time.perf_counter()
            with self._workspace.write() as connection:
                settings.put(connection, "bench", begun)
            self._waits.append(time.perf_counter() - begun)


def _make_postgres(url: str) -> None:
    """Make the same table with a vector of 384 numbers in each row, as retrievers have them."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "CREATE EXTENSION vector; CREATE TABLE chunks (chunk_id text PRIMARY KEY, doc_id text, title text, "
            "position int, text text, metadata jsonb, embedding vector(384))"
        )
        vector = str([0.5] * 384)
        with connection.cursor().copy("COPY chunks FROM STDIN") as copy:
            for row in _corpus.rows(_corpus.vocabulary(), CHUNKS):
                copy.write_row((*row, vector))


def _touch(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE chunks SET text = text || ' changed' WHERE rowid % 100 = 0")


def _make_parquet(path: Path, database: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    with closing(sqlite3.connect(database)) as connection:
        cursor = connection.execute("SELECT chunk_id, doc_id, title, position, text, metadata FROM chunks")
        names = [column[0] for column in cursor.description]
        writer = None
        while rows := cursor.fetchmany(50_000):
            columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
            table = pyarrow.table({**columns, "embedding": [[0.5] * 64] * len(rows)})
            writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        if writer:
            writer.close()


def _memory() -> float:
    """Return the most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
