"""People who save labels while a benchmark does something else: a process of its own, each save timed."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from annotator.model import Chunk
from annotator.services import labelling
from annotator.services.labelling import Operation
from annotator.store import corpus
from annotator.store.database import Workspace

SPAWN = multiprocessing.get_context("spawn")
"""Processes that share nothing with their parent, as those of a server and of commands do not."""


@contextmanager
def saving(workspace: Workspace, who: str, query_ids: list[str], pause: float) -> Iterator[list[float]]:
    """Have one person grade in another process, with a pause (seconds) between.

    The list gets the seconds of each save that was acknowledged, when the block ends.
    """
    taken: list[float] = []
    told: Queue[Any] = SPAWN.Queue()
    stop = SPAWN.Event()
    ready = SPAWN.Event()
    process = SPAWN.Process(target=_save, args=(workspace.home, who, query_ids, pause, ready, stop, told))
    process.start()
    ready.wait(60)
    try:
        yield taken
    finally:
        stop.set()
        taken += told.get(timeout=60)
        process.join()


def _save(home: Path, who: str, query_ids: list[str], pause: float, ready: Any, stop: Any, told: Any) -> None:
    workspace = Workspace(home)
    holder = workspace.hold()  # as the server does
    chunks = _chunks(workspace)
    taken = []
    ready.set()
    number = 0
    while not stop.wait(pause):
        chunk = chunks[number % len(chunks)]
        one = Operation(
            id=f"{who}-{time.time_ns()}",
            kind="judge",
            who=who,
            query_id=query_ids[number % len(query_ids)],
            chunk_id=chunk.chunk_id,
            sha256=chunk.sha256,
            grade=number % 4,
        )
        begun = time.perf_counter()
        outcome = labelling.apply(workspace, who, [one])
        if outcome.acknowledged:
            taken.append(time.perf_counter() - begun)
        elif "chunk" in outcome.refused[0][1]:  # a sync changed it or took it away
            chunks = _chunks(workspace)
        else:
            raise RuntimeError(outcome.refused)
        number += 1
    holder.close()
    told.put(taken)


def _chunks(workspace: Workspace) -> list[Chunk]:
    with workspace.read() as connection:
        return [chunk for _, chunk in corpus.browse(connection, limit=500)]
