"""Whose turn it is to write to a workspace: one writer after the other, among threads in the order they came.

SQLite itself lets the next writer in by chance: those who wait sleep up to a tenth of a second between two looks. A
turn reaches over the commit and the checkpoint that may follow it, so that the two never meet another writer's: up to
version 3.51.2 SQLite can lose what was written when they do (its "WAL-reset bug").
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

from annotator.errors import StoreError

__all__ = ["turn"]

_LOOK_AGAIN: Final = 0.001
_NO_LOCKS_HERE: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class _Line:
    """A line of threads: whoever comes first is served first."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._waiting: deque[Lock] = deque()
        self._served = False

    def enter(self, seconds: float) -> bool:
        """Wait to be served; False when that took too long."""
        with self._guard:
            if not self._served:
                self._served = True
                return True
            mine = Lock()
            mine.acquire()
            self._waiting.append(mine)
        called = False
        try:
            called = mine.acquire(timeout=max(0.0, seconds))
        finally:
            if not called:
                called = self._give_up(mine)
        return called

    def leave(self) -> None:
        """Let the next one be served."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._served = False

    def _give_up(self, mine: Lock) -> bool:
        """Leave the line; True when one was called at the very last moment, and is served after all."""
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return False
        return True


_lines: dict[Path, _Line] = {}
_making = Lock()


@contextmanager
def turn(path: Path, seconds: float) -> Iterator[None]:
    """Have the turn of this lock file, in this process and among all; freed by the operating system with its holder.

    Raises StoreError when it does not come within `seconds`.
    """
    with _making:
        line = _lines.setdefault(path, _Line())
    end = time.monotonic() + seconds
    if not line.enter(seconds):
        raise _too_long()
    try:
        # Who comes next waits at the second door, all others before the first: so nobody who writes again and again is
        # ever faster than somebody who waits.
        door = _locked(path.with_name(f"{path.stem}.next.lock"), end)
        try:
            mine = _locked(path, end)
        finally:
            os.close(door)
        try:
            yield
        finally:
            os.close(mine)
    finally:
        line.leave()


def _locked(path: Path, end: float) -> int:
    """Return a descriptor of the file, locked: closing it frees it. Gives up at the moment `end`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StoreError(f"The folder {path.parent} cannot be written to: {error.strerror}.") from error
    try:
        while not _lock(descriptor):
            if time.monotonic() > end:
                raise _too_long()
            time.sleep(_LOOK_AGAIN)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int) -> bool:
    """Lock the file, if nobody else has it. Where there are no such locks SQLite's own have to do."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise
    return True


def _too_long() -> StoreError:
    return StoreError("Somebody else is writing to the workspace for too long.", hint="Nothing was written. Try again.")
