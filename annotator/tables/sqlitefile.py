"""Opens SQLite files for reading only, and turns their failures into words: for tables and for stores kept in them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from annotator.errors import InputError

__all__ = ["quoted", "reading"]

_STEPS: Final = 10_000
"""Steps of SQLite's machine between two looks at the clock: well under a millisecond."""


@contextmanager
def reading(path: Path, seconds: float | None = None) -> Iterator[sqlite3.Connection]:
    """Open the file read-only; a failure of the file as a whole is an InputError that names it.

    With `seconds`, waiting for a writer and every statement end after about that long.
    """
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        address = f"file:{quote(str(path.resolve()))}?mode=ro"
        wait = 30 if seconds is None else seconds
        with closing(sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)) as connection:
            if seconds is not None:
                end = time.monotonic() + seconds
                connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            yield connection
    except sqlite3.Error as error:
        hint = (
            "Another program is writing to it: try again when that is done."
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            else "Is it an SQLite file, and may this user read it? A file in WAL mode needs its -wal file beside "
            "it and a folder that can be written to."
        )
        raise InputError(f"{path} cannot be read: {error}.", hint=hint) from error


def quoted(name: str) -> str:
    """Write a name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
