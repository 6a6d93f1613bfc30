"""The people of a workspace: who there is, and joining under a name. What a role may do is `permission.py`."""

from __future__ import annotations

from annotator.errors import Forbidden, InputError
from annotator.model import Person, id_fault
from annotator.store import people
from annotator.store.database import Workspace

__all__ = ["checked_name", "everyone", "find", "join"]


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
    admin yet, becomes the admin. Raises Forbidden for somebody who no longer works here."""
    name = checked_name(name)
    with workspace.write() as connection:
        led = any(one.role == "admin" and one.active for one in people.everyone(connection))
        role = "annotator" if led else "admin"
        people.add(connection, Person(name, role), name)
        found = people.find(connection, name)
    assert found is not None  # just written
    if not found.active:
        raise Forbidden(f"{name} no longer works here.", hint="Ask an admin of the workspace, or use another name.")
    return found


def checked_name(name: str) -> str:
    """Return the name with single spaces. Raises InputError when nobody can be called that."""
    name = " ".join(name.split())
    fault = id_fault(name)
    if fault or len(name) > 80:
        raise InputError("That name cannot be used: " + (fault or "it is over 80 characters") + ".")
    return name
