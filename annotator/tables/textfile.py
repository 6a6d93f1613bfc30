"""Opens text files of a chunk table: UTF-8 with or without BOM, UTF-16 by its BOM, each also gzipped.

Anything else is refused with the byte position of the first byte that does not fit.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from annotator.errors import InputError, Problem

__all__ = ["open_text", "stamp_of"]

_BLOCK = 1 << 20


@contextmanager
def open_text(path: Path, *, newline: str) -> Iterator[TextIO]:
    """Open the file as text. Raises InputError when it is not there, not such a text or a broken gzip file."""
    try:
        with _open(path) as raw:
            encoding = _encoding(raw)
            with io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline=newline) as text:
                yield text
    except UnicodeDecodeError as error:
        raise _undecodable(path, encoding) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a broken gzip file: {error}.", hint="Export it again.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def stamp_of(paths: Sequence[Path]) -> str:
    """Return how many files there are, their size together and when the newest was written, for comparison."""
    try:
        found = [path.stat() for path in paths]
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror or error}.") from error
    return f"{len(found)} {sum(each.st_size for each in found)} {max(each.st_mtime_ns for each in found)}"


def _open(path: Path) -> io.BufferedReader:
    if path.suffix.lower() == ".gz":
        return io.BufferedReader(gzip.GzipFile(path, "rb"), _BLOCK)
    return io.BufferedReader(io.FileIO(path), _BLOCK)


def _encoding(raw: io.BufferedReader) -> str:
    start = raw.peek(3)[:3]
    return "utf-16" if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _undecodable(path: Path, encoding: str) -> InputError:
    """Read again from the start for the position: the decoder tells it within its own block only."""
    decoder = codecs.getincrementaldecoder(encoding)()
    done, line = 0, 1
    with _open(path) as raw:
        while True:
            block = raw.read(_BLOCK)
            try:
                line += decoder.decode(block, final=not block).count("\n")
            except UnicodeDecodeError as error:
                # The decoder's object ends where the block ends, but may begin before it or after a BOM.
                place = done + len(block) - len(error.object) + error.start
                line += error.object[: error.start].count(b"\n") if encoding == "utf-8-sig" else 0
                byte = error.object[error.start]
                break
            done += len(block)
    kind = "UTF-16" if encoding == "utf-16" else "UTF-8"
    problem = Problem(
        f"byte {place} (counted from 0) is 0x{byte:02X}, which is not {kind}",
        path.name,
        line if kind == "UTF-8" else None,
        mend="Save the file as UTF-8.",
    )
    return InputError(f"{path.name} is not {kind} text.", problems=[problem])
