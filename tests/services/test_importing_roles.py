"""Who may import what: the same on the screen and on the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from annotator.errors import Forbidden
from annotator.model import Person
from annotator.services.importing import import_judgments, import_queries, import_run
from annotator.services.workspace import Workspace
from annotator.store import people

HEADER = b"query_id,chunk_id,annotator,grade\n"
ACTIONS: dict[str, Callable[[Workspace, str], object]] = {
    "questions": lambda workspace, who: import_queries(workspace, who, ("q.csv", b"query_id,question\nq9,Why?\n")),
    "run": lambda workspace, who: import_run(workspace, who, ("r", b"q1 Q0 errors#1 1 1.0 x\n"), name="r"),
    "own judgments": lambda workspace, who: import_judgments(
        workspace, who, ("j.csv", HEADER + f"q1,errors#1,{who},3\n".encode())
    ),
    "judgments of others": lambda workspace, who: import_judgments(
        workspace, who, ("j.csv", HEADER + b"q1,errors#1,Zoe,3\n")
    ),
    "decisions": lambda workspace, who: import_judgments(
        workspace, who, ("d.csv", f"query_id,chunk_id,reviewer,grade\nq1,errors#1,{who},3\n".encode())
    ),
}
ALLOWED = {
    "questions": {"annotator", "reviewer", "admin"},
    "run": {"annotator", "reviewer", "admin"},
    "own judgments": {"annotator", "reviewer", "admin"},
    "judgments of others": {"reviewer", "admin"},
    "decisions": {"reviewer", "admin"},
}


@pytest.fixture
def staffed(workspace: Workspace) -> Workspace:
    with workspace.write() as connection:
        for role in ("reader", "annotator", "reviewer", "admin"):
            people.add(connection, Person(f"a {role}", role), "Ana")
        people.add(connection, Person("a former admin", "admin", active=False), "Ana")
    return workspace


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("role", ["reader", "annotator", "reviewer", "admin", "former admin"])
def test_an_import_is_allowed_or_refused_by_role(staffed: Workspace, action: str, role: str) -> None:
    if role in ALLOWED[action]:
        ACTIONS[action](staffed, f"a {role}")
        return
    with pytest.raises(Forbidden):
        ACTIONS[action](staffed, f"a {role}")


@pytest.mark.parametrize("action", ACTIONS)
def test_whoever_runs_the_command_line_under_a_name_of_nobody_here_may(staffed: Workspace, action: str) -> None:
    ACTIONS[action](staffed, "root")
