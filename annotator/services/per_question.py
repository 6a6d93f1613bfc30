"""What was worked out question by question, kept in memory, and worked out anew only where something changed since."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from annotator.store.database import Workspace
from annotator.store.revision import Revision, changed_questions, revision

__all__ = ["PerQuestion"]

_MOST_WORKSPACES = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    revision: Revision
    given: object
    found: Mapping[str, T]


class PerQuestion(Generic[T]):
    """Remembers what `work` makes of the questions: of those named, or of all (None).

    Questions it makes nothing of are left out of what it returns. It must read nothing but what the revision tells of,
    and `given`: with something else given, everything is worked out anew.
    """

    def __init__(self, work: Callable[[sqlite3.Connection, Collection[str] | None, Any], Mapping[str, T]]) -> None:
        self._work = work
        self._kept: dict[str, _Kept[T]] = {}

    def of(self, workspace: Workspace, connection: sqlite3.Connection, given: object = None) -> Mapping[str, T]:
        """Return question id → what was made of it, as this connection sees the workspace; in no particular order."""
        home = str(workspace.home)
        present = revision(connection)
        known = self._kept.get(home)
        if known is not None and known.given != given:
            known = None
        if known is not None and known.revision == present and not present.moving:
            return known.found
        changed = None if known is None else changed_questions(connection, known.revision)
        if known is None or changed is None:
            found = dict(self._work(connection, None, given))
        else:
            found = {query_id: one for query_id, one in known.found.items() if query_id not in changed}
            found.update(self._work(connection, changed, given) if changed else {})
        if len(self._kept) >= _MOST_WORKSPACES and home not in self._kept:
            self._kept.clear()
        self._kept[home] = _Kept(present, given, found)
        return found
