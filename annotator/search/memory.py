"""Has the large blocks that index writers take go back to the system, instead of being kept for other threads."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Final

__all__ = ["give_back"]

_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1_000_000


def give_back() -> None:
    """Tell the C library to map blocks of a megabyte and more on their own; anything but glibc is left alone.

    By itself glibc stops doing so after the first such block is freed. Every writer has a thread of its own, so a
    server then grew by two or three megabytes with each sync, up to a hundred.
    """
    with suppress(OSError, AttributeError, TypeError):  # no such library, or no such function in it
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
