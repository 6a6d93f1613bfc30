"""The people of the workspace and their roles. Deactivated, never deleted: their labels keep their names."""

from __future__ import annotations

import sqlite3

from annotator.model import Person
from annotator.store import events
from annotator.store.database import now

__all__ = ["add", "everyone", "find"]


def everyone(connection: sqlite3.Connection) -> list[Person]:
    """Return all people by name."""
    rows = connection.execute("SELECT name, role, active FROM people ORDER BY name")
    return [Person(row["name"], row["role"], bool(row["active"])) for row in rows]


def find(connection: sqlite3.Connection, name: str) -> Person | None:
    """Return the person, or None."""
    row = connection.execute("SELECT name, role, active FROM people WHERE name = ?", (name,)).fetchone()
    return None if row is None else Person(row["name"], row["role"], bool(row["active"]))


def add(connection: sqlite3.Connection, person: Person, who: str) -> bool:
    """Add a person; False when the name is known already."""
    if find(connection, person.name) is not None:
        return False
    connection.execute("INSERT INTO people VALUES (?, ?, ?, ?)", (person.name, person.role, int(person.active), now()))
    events.record(connection, who, "person added", f"person:{person.name}", new={"role": person.role})
    return True
