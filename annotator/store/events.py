"""The append-only record of who changed what, other than judgments (which are their own history)."""

from __future__ import annotations

import json
import sqlite3

from annotator.store.database import now

__all__ = ["record"]


def record(
    connection: sqlite3.Connection, who: str, action: str, subject: str, *, old: object = None, new: object = None
) -> None:
    """Add an event. `subject` names the thing changed, e.g. `query:q1`; `old` and `new` are JSON values."""
    connection.execute(
        "INSERT INTO events (at, who, action, subject, old, new) VALUES (?, ?, ?, ?, ?, ?)",
        (now(), who, action, subject, _json(old), _json(new)),
    )


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
