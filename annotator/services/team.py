"""The people of a workspace: who there is, joining under a name, and what a role may do."""

from __future__ import annotations

import sqlite3

from annotator.errors import Forbidden, InputError
from annotator.model import Person, id_fault
from annotator.store import people
from annotator.store.database import Workspace

__all__ = ["checked_name", "everyone", "find", "join", "require"]


def everyone(workspace: Workspace) -> list[Person]:
    """Return all people by name."""
    with workspace.read() as connection:
        return people.everyone(connection)


def find(workspace: Workspace, name: str) -> Person | None:
    """Return the person, or None."""
    with workspace.read() as connection:
        return people.find(connection, name)


def join(workspace: Workspace, name: str) -> Person:
    """Return the person with this name, added as an annotator when new; the first one, where there is no
    admin yet, becomes the admin."""
    name = checked_name(name)
    with workspace.write() as connection:
        led = any(one.role == "admin" and one.active for one in people.everyone(connection))
        role = "annotator" if led else "admin"
        people.add(connection, Person(name, role), name)
        found = people.find(connection, name)
    assert found is not None  # just written
    return found


def checked_name(name: str) -> str:
    """Return the name with single spaces. Raises InputError when nobody can be called that."""
    name = " ".join(name.split())
    fault = id_fault(name)
    if fault or len(name) > 80:
        raise InputError("That name cannot be used: " + (fault or "it is over 80 characters") + ".")
    return name


def require(connection: sqlite3.Connection, who: str, *roles: str) -> None:
    """Raise Forbidden for people of another role, and for deactivated ones.

    A name that is nobody's here belongs to whoever runs the command line, and with it holds the files anyway.
    """
    person = people.find(connection, who)
    if person is not None and not (person.active and person.role in roles):
        raise Forbidden(f"{who} may not do this.", hint="Ask an admin of the workspace.")
