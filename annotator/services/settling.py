"""The rule that settles what people said about a chunk: which there are, what each leaves open, choosing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from annotator.errors import InputError
from annotator.review.settle import RULES
from annotator.services.examined import differing_by_rule, settling_rule
from annotator.services.permission import require
from annotator.store import events, settings
from annotator.store.database import Workspace

__all__ = ["MEANINGS", "Choice", "choices", "choose", "rule"]

MEANINGS: Final[Mapping[str, str]] = {
    "unanimous": "A grade counts when everybody gave it; a reviewer decides the rest.",
    "majority": "The grade of more than half of the people counts; a reviewer decides where there is none.",
    "lower_median": "The middle grade counts, of two middle ones the lower; nothing is left to a reviewer.",
}
"""Settling rule → what it does, in one line."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A settling rule, in words, and the chunks people would still differ on under it."""

    name: str
    meaning: str
    left_open: int
    in_force: bool


def rule(workspace: Workspace) -> str:
    """Return the name of the rule in force."""
    with workspace.read() as connection:
        return settling_rule(connection)


def choices(workspace: Workspace) -> list[Choice]:
    """Return the rules, each with how many pairs it would leave to a reviewer today."""
    with workspace.read() as connection:
        present, left_open = settling_rule(connection), differing_by_rule(connection)
    return [Choice(name, MEANINGS[name], left_open[name], name == present) for name in RULES]


def choose(workspace: Workspace, who: str, name: str) -> None:
    """Put a rule in force; versions released before stay as they are. Raises InputError, Forbidden for non-admins."""
    if name not in RULES:
        raise InputError(f"There is no settling rule {name!r}.", hint=f"Choose of {', '.join(RULES)}.")
    with workspace.write() as connection:
        require(connection, who, "change how labels are settled")
        old = settling_rule(connection)
        if name != old:
            settings.put(connection, "settling_rule", name)
            events.record(connection, who, "settling rule changed", "setting:settling_rule", old=old, new=name)
