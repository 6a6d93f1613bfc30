"""What admins set for the whole workspace: the rubric with its version; and what there is to know about it.

The chunk table is `chunk_table.py`, the facets are `facets.py`, the people are `team.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from annotator.errors import Conflict, InputError
from annotator.services.permission import require
from annotator.store import events, settings
from annotator.store.database import Workspace
from annotator.store.migrations import VERSION

__all__ = ["About", "Rubric", "about", "rubric", "set_rubric", "table_columns"]

LONGEST_RUBRIC = 100_000


@dataclass(frozen=True, slots=True)
class Rubric:
    """How to grade, in Markdown; `version` grows by one with every change, 0 while nobody has written one."""

    version: int
    text: str


@dataclass(frozen=True, slots=True)
class About:
    """The workspace as an administrator needs to know it. `size` is that of the database, in bytes."""

    home: str
    schema: int
    size: int
    name: str


def rubric(workspace: Workspace) -> Rubric:
    """Return the rubric in force."""
    with workspace.read() as connection:
        return _rubric(connection)


def set_rubric(workspace: Workspace, who: str, text: str, *, seen: int) -> Rubric:
    """Put a new text in force as the next version. `seen` is the version it was written from.

    Raises Forbidden for anybody but an admin, Conflict when somebody changed it meanwhile.
    """
    if not text.strip():
        raise InputError("The rubric is empty.", hint="Say what each grade means, with an example.")
    if len(text) > LONGEST_RUBRIC:
        raise InputError(f"The rubric has {len(text):,} characters; {LONGEST_RUBRIC:,} is the most.")
    with workspace.write() as connection:
        require(connection, who, "change the rubric")
        old = _rubric(connection)
        if old.version != seen:
            raise Conflict(
                f"The rubric was changed meanwhile: version {old.version} is in force, yours began with {seen}.",
                hint="Copy your text, look at the new version, then change that one.",
            )
        if text == old.text:
            return old
        new = Rubric(old.version + 1, text)
        settings.put(connection, "rubric", {"version": new.version, "text": text})
        events.record(
            connection, who, "rubric changed", "setting:rubric",
            old={"version": old.version, "text": old.text}, new={"version": new.version, "text": text},
        )  # fmt: skip
    return new


def table_columns(workspace: Workspace) -> Mapping[str, object]:
    """Return which column of the connected table holds what; empty while none is connected."""
    with workspace.read() as connection:
        chosen = settings.get(connection, "table")
    columns: Mapping[str, object] = chosen["columns"] if chosen else {}
    return columns


def about(workspace: Workspace) -> About:
    """Return where the workspace is and in which form it is kept."""
    with workspace.read() as connection:
        name: str = settings.get(connection, "name", "gold")
    return About(str(workspace.home.absolute()), VERSION, workspace.database.stat().st_size, name)


def _rubric(connection: sqlite3.Connection) -> Rubric:
    kept = settings.get(connection, "rubric", {"version": 0, "text": ""})
    return Rubric(int(kept["version"]), str(kept["text"]))
