"""Jobs done beside the work of this process, by copies of it."""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeVar

__all__ = ["beside"]

T = TypeVar("T")


@contextmanager
def beside(jobs: Sequence[Callable[[], T]], copied: bool) -> Iterator[Iterator[T | None]]:
    """Begin the jobs in copies of this process, and give what they return as it is asked for; `marshal` carries it.

    A copy that ended without an answer gives None, and those not waited for are ended. Not `copied`, or where the
    system copies no process, each job is done here when it is its turn. Copies have none of the other threads.
    """
    if not copied or not hasattr(os, "fork"):
        yield (job() for job in jobs)
        return
    copies: list[tuple[int, BinaryIO]] = []
    try:
        for job in jobs:
            copies.append(_copy(job))
        yield (_answer(pipe) for _, pipe in copies)
    finally:
        for process, pipe in copies:
            pipe.close()
            with suppress(ProcessLookupError, ChildProcessError):  # as where ended processes are not kept for waiting
                os.kill(process, 9)
                os.waitpid(process, 0)


def _copy(job: Callable[[], Any]) -> tuple[int, BinaryIO]:
    outlet, inlet = os.pipe()
    process = os.fork()
    if process:
        os.close(inlet)
        return process, open(outlet, "rb")
    try:
        os.close(outlet)  # or this copy would wait for ever to be read, were the process it was made by ended
        with open(inlet, "wb") as pipe:
            marshal.dump(job(), pipe)
    finally:
        os._exit(0)  # nothing of this process is written out or closed a second time


def _answer(pipe: BinaryIO) -> Any:
    try:
        return marshal.loads(pipe.read())
    except (EOFError, ValueError, TypeError):
        return None
