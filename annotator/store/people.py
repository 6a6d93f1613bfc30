"""The people of the workspace: their roles, and the identities they sign in with.

Deactivated, never deleted: their labels keep their names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from annotator.model import Person
from annotator.store import events
from annotator.store.database import now

__all__ = ["add", "bound", "change", "everyone", "find", "identities", "link", "names_on_record"]


def everyone(connection: sqlite3.Connection) -> list[Person]:
    """Return all people by name."""
    rows = connection.execute("SELECT name, role, active FROM people ORDER BY name")
    return [_person(row) for row in rows]


def find(connection: sqlite3.Connection, name: str) -> Person | None:
    """Return the person, or None."""
    row = connection.execute("SELECT name, role, active FROM people WHERE name = ?", (name,)).fetchone()
    return None if row is None else _person(row)


def add(connection: sqlite3.Connection, person: Person, who: str) -> bool:
    """Add a person; False when the name is known already."""
    if find(connection, person.name) is not None:
        return False
    connection.execute("INSERT INTO people VALUES (?, ?, ?, ?)", (person.name, person.role, int(person.active), now()))
    events.record(connection, who, "person added", _subject(person.name), new={"role": person.role})
    return True


def change(connection: sqlite3.Connection, new: Person, who: str, action: str) -> None:
    """Give a person the role and standing of `new`; the record of changes calls it `action`."""
    old = find(connection, new.name)
    if old is None or old == new:
        return
    connection.execute("UPDATE people SET role = ?, active = ? WHERE name = ?", (new.role, int(new.active), new.name))
    events.record(connection, who, action, _subject(new.name), old=_standing(old), new=_standing(new))


def bound(connection: sqlite3.Connection, subject: str) -> Person | None:
    """Return the person who signs in as this subject, or None."""
    row = connection.execute(
        "SELECT name, role, active FROM people JOIN identities USING (name) WHERE subject = ?", (subject,)
    ).fetchone()
    return None if row is None else _person(row)


def identities(connection: sqlite3.Connection) -> Mapping[str, list[tuple[str, str]]]:
    """Return (subject, e-mail) of everything a person signs in with, by name."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in connection.execute("SELECT name, subject, email FROM identities ORDER BY linked_at, subject"):
        found.setdefault(row["name"], []).append((row["subject"], row["email"]))
    return found


def link(connection: sqlite3.Connection, subject: str, name: str, who: str, email: str = "") -> None:
    """From now on whoever signs in as the subject is this person; `email` is kept where it was not known."""
    old = bound(connection, subject)
    if old is not None and old.name == name:
        return
    connection.execute(
        "INSERT INTO identities VALUES (?, ?, ?, ?) ON CONFLICT (subject) DO UPDATE SET name = excluded.name,"
        " linked_at = excluded.linked_at",
        (subject, name, email, now()),
    )
    events.record(
        connection, who, "sign-in linked", _subject(name),
        old={"subject": subject, "person": old.name} if old else None,
        new={"subject": subject, "person": name, "email": email},
    )  # fmt: skip


def names_on_record(connection: sqlite3.Connection) -> set[str]:
    """Return every name anything was ever done under, of people of the workspace or not."""
    rows = connection.execute(
        "SELECT name FROM people UNION SELECT annotator FROM judgments UNION SELECT reviewer FROM adjudications"
        " UNION SELECT who FROM events UNION SELECT owner FROM queries"
    )
    return {row[0] for row in rows}


def _person(row: sqlite3.Row) -> Person:
    return Person(row["name"], row["role"], bool(row["active"]))


def _standing(person: Person) -> dict[str, object]:
    return {"role": person.role, "active": person.active}


def _subject(name: str) -> str:
    return f"person:{name}"
