"""Who may do what: one table of actions and roles, and the check that every changing service makes.

Without sign-in names are chosen, not proven, and this keeps people from mistakes; with sign-in it also keeps out
whoever was not let in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final, Literal

from annotator.errors import Forbidden
from annotator.model import Person
from annotator.store import people

__all__ = ["MAY", "ROLES", "Action", "allows", "labels_blindly", "require"]

ROLES: Final = ("annotator", "reviewer", "admin", "reader")

Action = Literal[
    "look around",
    "grade chunks",
    "write questions",
    "import runs",
    "sync the chunk table",
    "see the labels of others",
    "settle labels",
    "share out questions",
    "read the record of changes",
    "import the judgments of others",
    "release versions",
    "tag versions",
    "build pools",
    "connect a chunk table",
    "change the rubric",
    "change the facets",
    "change the gate",
    "change the retriever",
    "change how labels are settled",
    "manage people",
    "back up and restore",
]

_EVERYBODY: Final = frozenset(ROLES)
_ALL_WHO_LABEL: Final = frozenset(("annotator", "reviewer", "admin"))
_ALL_WHO_DECIDE: Final = frozenset(("reviewer", "admin"))
_ADMINS: Final = frozenset(("admin",))

MAY: Final[Mapping[Action, frozenset[str]]] = {
    "look around": _EVERYBODY,
    "grade chunks": _ALL_WHO_LABEL,
    "write questions": _ALL_WHO_LABEL,
    "import runs": _ALL_WHO_LABEL,
    "sync the chunk table": _ALL_WHO_LABEL,
    "see the labels of others": _ALL_WHO_DECIDE,
    "settle labels": _ALL_WHO_DECIDE,
    "share out questions": _ALL_WHO_DECIDE,
    "read the record of changes": _ALL_WHO_DECIDE,
    "import the judgments of others": _ALL_WHO_DECIDE,
    "release versions": _ALL_WHO_DECIDE,
    "tag versions": _ALL_WHO_DECIDE,
    "build pools": _ALL_WHO_DECIDE,
    "connect a chunk table": _ADMINS,
    "change the rubric": _ADMINS,
    "change the facets": _ADMINS,
    "change the gate": _ADMINS,
    "change the retriever": _ADMINS,
    "change how labels are settled": _ADMINS,
    "manage people": _ADMINS,
    "back up and restore": _ADMINS,
}
"""Action to the roles that may; readers change nothing. Pages open to whoever may do what they are for."""


def allows(person: Person, action: Action) -> bool:
    """Say whether the person may do this; the screen offers nothing that would be refused."""
    return person.active and person.role in MAY[action]


def labels_blindly(connection: sqlite3.Connection, who: str) -> bool:
    """Say whether the person grades without a view of what others say, and has to be kept from it."""
    person = people.find(connection, who)
    return person is not None and allows(person, "grade chunks") and not allows(person, "see the labels of others")


def require(connection: sqlite3.Connection, who: str, action: Action) -> None:
    """Raise Forbidden for people whose role does not allow the action, and for deactivated ones.

    A name that is nobody's here belongs to whoever runs the command line: they hold the files, so nothing is withheld.
    """
    person = people.find(connection, who)
    if person is None or allows(person, action):
        return
    stands = person.role if person.active else "no longer works here"
    roles = ", ".join(role for role in ROLES if role in MAY[action])
    raise Forbidden(f"{who} ({stands}) may not {action}; who may: {roles}.", hint="Ask an admin of the workspace.")
