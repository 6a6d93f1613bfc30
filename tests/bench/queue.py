"""Opening the desk: 10,000 questions, 200,000 judgments, thirty people, two wanted for each question.

Half of the questions are complete, a quarter of the others finished by one; six slices are given to five people each,
and everybody has their own order from a seed.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from annotator.model import Person, text_hash
from annotator.services import overview, queue
from annotator.store import people, settings
from annotator.store.database import Workspace

QUERIES, CHUNKS_EACH, PEOPLE, CALLS = 10_000, 10, 30, 120


def run() -> Iterator[dict[str, object]]:
    """Yield the figures."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "home")
        _fill(workspace)
        holder = workspace.hold()
        names = [f"p{number:02d}" for number in range(PEOPLE)]
        chance = random.Random(2)

        def person() -> str:
            return chance.choice(names)

        def question() -> str:
            return f"q-{chance.randrange(QUERIES):05d}"

        yield _timed("desk: go on or next", lambda: queue.desk(workspace, person()))
        yield _timed("desk: a question by its id", lambda: queue.desk(workspace, person(), question()))
        yield _timed("desk: next after a question", lambda: queue.desk(workspace, person(), after=question()))
        yield _timed("sign of life", lambda: queue.stay(workspace, person(), question()))
        yield _timed("home", lambda: overview.home(workspace, person()), calls=10)
        holder.close()


def _timed(name: str, work: Callable[[], object], calls: int = CALLS) -> dict[str, object]:
    work()
    took = []
    cpu = time.process_time()
    for _ in range(calls):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1000)
    cpu = (time.process_time() - cpu) * 1000 / calls
    ranked = sorted(took)
    return {
        "bench": name,
        "cpu_ms": round(cpu, 1),
        "ms_median": round(statistics.median(took), 1),
        "ms_p95": round(ranked[int(0.95 * (len(ranked) - 1))], 1),
    }


def _fill(workspace: Workspace) -> None:
    workspace.create()
    chance = random.Random(1)
    text = "The same text everywhere."
    sha256 = text_hash(text)
    with workspace.write() as connection:
        for number in range(PEOPLE):
            people.add(connection, Person(f"p{number:02d}"), "p00")
        settings.put(connection, "overlap", 2)
        settings.put(connection, "queue_seed", "spring")
        connection.execute("INSERT INTO judged_texts VALUES (?, ?)", (sha256, text))
        connection.executemany(
            "INSERT INTO queries (query_id, question, notes, facets, state, unanswerable, owner, revision, created_at,"
            " changed_at) VALUES (?, 'Why?', '', ?, ?, 0, '', 1, '', '')",
            (
                (
                    f"q-{number:05d}",
                    json.dumps({"domain": chance.choice("abcdef"), "risk": chance.choice(["high", "low"])}),
                    "complete" if number < QUERIES // 2 else "open",
                )
                for number in range(QUERIES)
            ),
        )
        connection.executemany("INSERT INTO assignments VALUES (?, '', 'domain', ?)", _given())
        for number in range(QUERIES):
            first = chance.randrange(PEOPLE)
            two = [f"p{first:02d}", f"p{(first + 1) % PEOPLE:02d}"]
            done = two if number < QUERIES // 2 else two[:1] if number % 4 == 0 else []
            connection.executemany(
                "INSERT INTO steps (query_id, annotator, kind, reason, who, at, after_judgment)"
                " VALUES (?, ?, 'finished', '', ?, '', 0)",
                ((f"q-{number:05d}", who, who) for who in done),
            )
            connection.executemany(
                "INSERT INTO judgments (operation_id, query_id, chunk_id, annotator, grade, stale, reason, evidence,"
                " sha256, judged_at, origin)"
                " VALUES (?, ?, ?, ?, ?, 0, '', '[]', ?, '2026-03-01T09:30:00.125Z', 'annotate')",
                (
                    (f"{number}-{place}-{who}", f"q-{number:05d}", f"c{place}", who, place % 4, sha256)
                    for place in range(CHUNKS_EACH)
                    for who in two
                ),
            )


def _given() -> Iterator[tuple[str, str]]:
    for place, domain in enumerate("abcdef"):
        for number in range(5):
            yield f"p{place * 5 + number:02d}", domain
