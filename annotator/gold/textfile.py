"""The bytes of a file and the text in them: compression and byte-order marks, for every reader of gold and runs."""

from __future__ import annotations

import sys
import zlib
from io import BytesIO
from os import PathLike
from typing import Final

from annotator.errors import InputError, Problem

__all__ = ["ZIP_MAGIC", "decode", "name_of", "read_bytes", "read_text", "unpack"]

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
SMALL: Final = 2**26
MOST_EXPANSION: Final = 200
"""What unpacks to more, relative to its size, was made to fill the memory; small files may."""


def name_of(path: str | PathLike[str]) -> str:
    """Return what a file is called in messages: `-` is standard input."""
    return "standard input" if str(path) == "-" else str(path)


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Read a file whole, unpacked when it is gzip; `-` is standard input. Raises InputError when it cannot be read."""
    name = str(path)
    try:
        if name == "-":
            if sys.stdin is None:
                raise InputError("Standard input is closed.", hint="Name a file.")
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as file:
                data = file.read()
    except OSError as error:
        raise InputError(f"Cannot read {name_of(name)}: {error.strerror or error}.") from error
    return unpack(data, name_of(name))


def unpack(data: bytes, file: str) -> bytes:
    """Unpack gzip data, told by its first two bytes; other data comes back as it is."""
    if not data.startswith(GZIP_MAGIC):
        return data
    import gzip

    most = max(SMALL, MOST_EXPANSION * len(data))
    try:
        with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
            content = packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"Cannot unpack {file}: {error}.", hint="The file is cut short or damaged.") from error
    if len(content) > most:
        raise InputError(
            f"{file} unpacks to over {MOST_EXPANSION} times its size.", hint="Unpack it yourself if that is no mistake."
        )
    return content


def decode(data: bytes, file: str) -> str:
    """Decode UTF-8 with or without byte-order mark, or UTF-16 by its mark; anything else is an InputError.

    Lines that end in a carriage return alone, as one spreadsheet writes them, come back with line feeds.
    """
    encoding = "utf-8"
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        problem = Problem(
            f"byte {error.start} is not {encoding.upper()}",
            file=file,
            line=data.count(b"\n", 0, error.start) + 1 if encoding == "utf-8" else None,
            value=data[error.start : error.end].hex(),
            mend="Save the file as UTF-8.",
        )
        raise InputError(f"{file} is not text in UTF-8.", problems=[problem]) from None
    return text.replace("\r", "\n") if "\r" in text and "\n" not in text else text


def read_text(path: str | PathLike[str]) -> str:
    """Read a file as text. Raises InputError when it cannot be read or is not UTF-8 or marked UTF-16."""
    return decode(read_bytes(path), name_of(path))
