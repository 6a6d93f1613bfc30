"""Saving at the service: judgments a second, one operation a call, with one and with eight threads."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from annotator.model import text_hash
from annotator.services import labelling
from annotator.services.labelling import Operation
from tests.conftest import HANDBOOK, make_workspace


def run(count: int = 4000) -> Iterator[dict[str, object]]:
    """Yield the rate for each number of threads; all operations are checked to be in the database."""
    for threads in (1, 8):
        with tempfile.TemporaryDirectory() as folder:
            made = make_workspace(Path(folder))
            holder = made.hold()  # as the server does

            def work(thread: int, each: int = count // threads, made: object = made) -> None:
                for number in range(each):
                    chunk_id, _, _, _, text = HANDBOOK[number % len(HANDBOOK)]
                    one = Operation(
                        id=f"{thread}-{number}",
                        kind="judge",
                        who="Ana",
                        query_id=f"q{thread % 3 + 1}",
                        chunk_id=chunk_id,
                        sha256=text_hash(text),
                        grade=number % 4,
                    )
                    outcome = labelling.apply(made, "Ana", [one])  # type: ignore[arg-type]
                    assert outcome.acknowledged == (one.id,), outcome.refused

            workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
            start = time.perf_counter()
            for one in workers:
                one.start()
            for one in workers:
                one.join()
            seconds = time.perf_counter() - start
            holder.close()
            with made.read() as connection:
                stored = connection.execute("SELECT COUNT(*) FROM judgments").fetchone()[0]
            yield {"bench": "save", "threads": threads, "stored": stored, "per_second": round(stored / seconds)}
