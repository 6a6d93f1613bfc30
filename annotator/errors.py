"""The error tree: one base, one subclass for each thing a user can do about it.

AnnotatorError
├── InputError    a file, argument or value is wrong: mend it (lists every problem found)
├── NotFound      no such query, chunk, version, run …: pick another
├── Conflict      someone changed it meanwhile, or the state forbids it: look again
├── Forbidden     this person's role may not do it: ask an admin
└── StoreError    the workspace or its disk failed: nothing was written
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

__all__ = [
    "SHOWN_PROBLEMS",
    "AnnotatorError",
    "Conflict",
    "Forbidden",
    "InputError",
    "NotFound",
    "Problem",
    "StoreError",
    "as_written",
    "one_line",
    "shorten",
]

SHOWN_PROBLEMS = 100
LONGEST_VALUE = 1000

_STEERING: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""What steers a terminal, ends a line, turns the direction of reading around, or is no character at all."""


def one_line(text: str) -> str:
    """Return other people's text as one line that means nothing but itself on a terminal."""
    return _STEERING.sub("\ufffd", text)


def shorten(value: object, limit: int = 80) -> str:
    """Show a value for a message: escaped, at most `limit` characters."""
    text = repr(value[:limit] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def as_written(value: object) -> str:
    """Show a value of a file: text as it is, anything else as JSON, of which only the beginning is made.

    A few lines of YAML with aliases can stand for more than any memory holds.
    """
    if isinstance(value, str):
        return value
    text = ""
    # what is nested too deeply to be written whole is told as far as it could be
    with suppress(RecursionError):
        for part in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            text += part
            if len(text) > LONGEST_VALUE:
                return text[: LONGEST_VALUE - 1] + "…"
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in the input, with its place. `line` counts from 1; `value` is the offending value as read."""

    message: str
    file: str = ""
    line: int | None = None
    field: str = ""
    value: str = ""
    mend: str = ""

    def __str__(self) -> str:
        place = ", ".join(
            part
            for part in (
                self.file,
                f"line {self.line}" if self.line is not None else "",
                f"field {self.field}" if self.field else "",
            )
            if part
        )
        shown = f" (found {shorten(self.value)})" if self.value else ""
        mend = f" {self.mend}" if self.mend else ""
        return one_line(f"{place}: {self.message}{shown}.{mend}" if place else f"{self.message}{shown}.{mend}")


class AnnotatorError(Exception):
    """Base of every error meant for a person: a message, and a hint that says what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(AnnotatorError):
    """The input cannot be used. `problems` lists all faults found, in the order of the file."""

    def __init__(self, message: str, *, problems: Iterable[Problem] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        lines = [super().__str__()]
        lines += [f"  {problem}" for problem in self.problems[:SHOWN_PROBLEMS]]
        if len(self.problems) > SHOWN_PROBLEMS:
            lines.append(f"  … and {len(self.problems) - SHOWN_PROBLEMS} more")
        return "\n".join(lines)


class NotFound(AnnotatorError):
    """The named thing does not exist; the hint names near matches where there are any."""


class Conflict(AnnotatorError):
    """The action does not fit the present state, or somebody changed it meanwhile."""


class Forbidden(AnnotatorError):
    """The person's role does not allow the action."""


class StoreError(AnnotatorError):
    """The workspace cannot be read or written."""
