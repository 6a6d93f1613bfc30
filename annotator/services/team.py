"""The people of a workspace: joining under a name, signing in, roles, and who no longer works here.

What a role may do is `permission.py`; how somebody proves who they are is the screen's business.
"""

from __future__ import annotations

import shlex
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace

from annotator.errors import Conflict, Forbidden, InputError, NotFound
from annotator.model import Person, id_fault
from annotator.services.permission import ROLES, require
from annotator.store import people
from annotator.store.database import Workspace

__all__ = [
    "Identity",
    "Member",
    "activate",
    "add",
    "arrive",
    "deactivate",
    "everyone",
    "find",
    "join",
    "link",
    "members",
    "set_role",
    "signed_in",
    "whom_to_ask",
]

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody proved to be: the subject never changes and is never given to anybody else.

    `name` and `email` are what the provider says, good for showing and for nothing else.
    """

    subject: str
    name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A person with all they sign in with, as (subject, e-mail); none for people of a workspace without sign-in."""

    person: Person
    identities: tuple[tuple[str, str], ...] = ()

    @property
    def leads(self) -> bool:
        return self.person.active and self.person.role == "admin"


def everyone(workspace: Workspace) -> list[Person]:
    """Return all people by name."""
    with workspace.read() as connection:
        return people.everyone(connection)


def members(workspace: Workspace) -> list[Member]:
    """Return all people by name, with what they sign in with."""
    with workspace.read() as connection:
        return _members(connection)


def find(workspace: Workspace, name: str) -> Person | None:
    """Return the person, or None."""
    with workspace.read() as connection:
        return people.find(connection, name)


def join(workspace: Workspace, name: str) -> Person:
    """Return the person with this name, added as an annotator when new; the first one, where there is no
    admin yet, becomes the admin. Raises Forbidden for somebody who no longer works here.

    Only for a workspace without sign-in: nothing is proven here.
    """
    name = _checked_name(name)
    with workspace.write() as connection:
        led = any(one.role == "admin" and one.active for one in people.everyone(connection))
        role = "annotator" if led else "admin"
        people.add(connection, Person(name, role), name)
        found = _known(connection, name)
    if not found.active:
        raise Forbidden(f"{name} no longer works here.", hint="Ask an admin of the workspace, or use another name.")
    return found


def signed_in(workspace: Workspace, identity: Identity) -> Person | None:
    """Return the person bound to this identity, working here or no longer; None for somebody who is new."""
    with workspace.read() as connection:
        return people.bound(connection, identity.subject)


def arrive(workspace: Workspace, identity: Identity) -> Person:
    """Return the person bound to this identity; somebody new becomes a reader under a name nobody ever had here.

    The name is only shown: two people of one name are two people, and a known name brings none of its labels along.
    """
    fault = id_fault(identity.subject)
    if fault:
        raise InputError(f"This sign-in cannot be used: its subject is no id ({fault}).")
    with workspace.write() as connection:
        found = people.bound(connection, identity.subject)
        if found is None:
            name = _free_name(identity, people.names_on_record(connection))
            found = Person(name, "reader")
            people.add(connection, found, name)
            people.link(connection, identity.subject, name, name, identity.email)
    return found


def add(workspace: Workspace, who: str, name: str, role: str) -> Person:
    """Add a person. Raises Forbidden for anybody but an admin, Conflict when the name is taken."""
    new = Person(_checked_name(name), _checked_role(role))
    with workspace.write() as connection:
        require(connection, who, "manage people")
        if not people.add(connection, new, who):
            raise Conflict(f"There is somebody called {new.name!r} already.", hint="Add a second name or an initial.")
    return new


def set_role(workspace: Workspace, who: str, name: str, role: str) -> Person:
    """Give a person another role. Raises Forbidden for anybody but an admin, Conflict for the last admin."""
    return _change(workspace, who, name, "role changed", role=_checked_role(role))


def deactivate(workspace: Workspace, who: str, name: str) -> Person:
    """Let a person work here no longer; name, labels and decisions stay. Raises Conflict for the last admin."""
    return _change(workspace, who, name, "person deactivated", active=False)


def activate(workspace: Workspace, who: str, name: str) -> Person:
    """Let a person work here again, in the role they had."""
    return _change(workspace, who, name, "person activated", active=True)


def link(workspace: Workspace, who: str, name: str, subject: str) -> Person:
    """Let whoever signs in as the subject work as this person. Raises Forbidden for anybody but an admin.

    The person the subject was bound to before keeps everything, and works here no longer when nothing else leads to
    them. Raises Conflict when that were the last admin.
    """
    fault = id_fault(subject)
    if fault:
        raise InputError(f"{subject!r} is no subject: {fault}.")
    if "#" not in subject:
        raise InputError(
            f"{subject!r} is no subject: it has no “#”.",
            hint="Write it as `people` shows it: ISSUER#SUBJECT, or proxy#NAME for a name a proxy sends.",
        )
    with workspace.write() as connection:
        require(connection, who, "manage people")
        found = _known(connection, name)
        before = people.bound(connection, subject)
        people.link(connection, subject, name, who)
        if before is not None and before.active and before.name not in people.identities(connection):
            retired = replace(before, active=False)
            _keep_an_admin(connection, before, retired, signs_in=True)
            people.change(connection, retired, who, "person deactivated")
    return found


def whom_to_ask(workspace: Workspace, name: str, *, signing_in: bool) -> str:
    """Say who can change the role or standing of NAME; `signing_in` counts only admins who can sign in."""
    admins = [one.person.name for one in members(workspace) if one.leads and (one.identities or not signing_in)]
    if admins:
        return f"Ask {_listed(admins)}, who can change that."
    if signing_in:
        command = f"python -m annotator people role {shlex.quote(name)} admin"
        return f"No admin has signed in yet. Whoever runs the server can make you one: {command}"
    return "There is no admin yet: the next new name becomes one."


def _change(
    workspace: Workspace, who: str, name: str, action: str, *, role: str | None = None, active: bool | None = None
) -> Person:
    with workspace.write() as connection:
        require(connection, who, "manage people")
        old = _known(connection, name)
        new = replace(old, role=old.role if role is None else role, active=old.active if active is None else active)
        _keep_an_admin(connection, old, new, signs_in=name in people.identities(connection))
        people.change(connection, new, who, action)
    return new


def _keep_an_admin(connection: sqlite3.Connection, old: Person, new: Person, *, signs_in: bool) -> None:
    """Raise Conflict when nobody would be left to give roles; where the person signs in, nobody who signs in."""
    if not Member(old).leads or Member(new).leads:
        return
    others = (one for one in _members(connection) if one.leads and one.person.name != old.name)
    if not any(one.identities or not signs_in for one in others):
        raise Conflict(f"{old.name} is the last admin.", hint="Make somebody else an admin first.")


def _members(connection: sqlite3.Connection) -> list[Member]:
    bound = people.identities(connection)
    return [Member(one, tuple(bound.get(one.name, ()))) for one in people.everyone(connection)]


def _known(connection: sqlite3.Connection, name: str) -> Person:
    found = people.find(connection, name)
    if found is None:
        names = [one.name for one in people.everyone(connection)]
        raise NotFound(f"There is nobody called {name!r} here.", hint=f"There are: {_listed(names)}." if names else "")
    return found


def _checked_role(role: str) -> str:
    if role not in ROLES:
        raise InputError(f"There is no role {role!r}.", hint=f"Choose of {', '.join(ROLES)}.")
    return role


def _checked_name(name: str) -> str:
    """Return the name with single spaces. Raises InputError when nobody can be called that."""
    name = " ".join(name.split())
    fault = id_fault(name)
    if fault or len(name) > LONGEST_NAME:
        raise InputError("That name cannot be used: " + (fault or f"it is over {LONGEST_NAME} characters") + ".")
    return name


def _free_name(identity: Identity, taken: Iterable[str]) -> str:
    """Return a name to show for the identity that cannot be mistaken for one that is on record."""
    known = {_looks_like(name) for name in taken}
    wanted = next((name for name in map(_showable, (identity.name, identity.email)) if name), "Person")
    name, number = wanted, 1
    while _looks_like(name) in known:
        number += 1
        name = f"{wanted} {number}"
    return name


def _showable(text: str) -> str:
    """Return what can be seen of the text, on one line: no direction marks, nothing invisible."""
    seen = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(seen.split())[: LONGEST_NAME - 8].strip()  # room for a number


def _looks_like(name: str) -> str:
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
