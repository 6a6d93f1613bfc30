"""Named JSON values of the workspace: the chunk table's address, facets, targets."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

__all__ = ["get", "put"]


def get(connection: sqlite3.Connection, name: str, default: Any = None) -> Any:
    """Return the value stored under `name`, or `default`."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return default if row is None else json.loads(row[0])


def put(connection: sqlite3.Connection, name: str, value: object) -> None:
    """Store a JSON value under `name`, replacing the former one."""
    connection.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        (name, json.dumps(value, ensure_ascii=False, sort_keys=True)),
    )
