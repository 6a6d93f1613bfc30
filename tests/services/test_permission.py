"""Every action × every role: what the table says, and that each service that changes something asks it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from annotator.errors import Forbidden, InputError, NotFound
from annotator.model import Person, Query
from annotator.services import (
    audit,
    backup,
    calibration,
    carry,
    chunk_table,
    drift,
    facets,
    gate,
    gold,
    labelling,
    live,
    permission,
    pools,
    questions,
    queue,
    retriever,
    review,
    settings,
    settling,
    sharing,
    team,
)
from annotator.services.facets import FacetSchema
from annotator.services.importing import import_judgments, import_queries, import_run
from annotator.services.labelling import Operation
from annotator.services.workspace import Workspace
from annotator.store import people, queries

ROLES = ("annotator", "reviewer", "admin", "reader")
TABLE = """
                                 annotator  reviewer  admin  reader
look around                      yes        yes       yes    yes
grade chunks                     yes        yes       yes    no
write questions                  yes        yes       yes    no
import runs                      yes        yes       yes    no
sync the chunk table             yes        yes       yes    no
see the labels of others         no         yes       yes    no
settle labels                    no         yes       yes    no
share out questions              no         yes       yes    no
read the record of changes       no         yes       yes    no
import the judgments of others   no         yes       yes    no
release versions                 no         yes       yes    no
tag versions                     no         yes       yes    no
build pools                      no         yes       yes    no
connect a chunk table            no         no        yes    no
change the rubric                no         no        yes    no
change the facets                no         no        yes    no
change the gate                  no         no        yes    no
change the retriever             no         no        yes    no
change how labels are settled    no         no        yes    no
manage people                    no         no        yes    no
back up and restore              no         no        yes    no
"""
CELLS = {
    (line[:33].strip(), role): cell == "yes"
    for line in TABLE.strip("\n").splitlines()[1:]
    for role, cell in zip(ROLES, line[33:].split(), strict=True)
}


def grade(workspace: Workspace, who: str) -> None:
    text = labelling.candidates(workspace, who, "q1", ["errors#1"])[0].chunk.sha256
    operation = Operation(id="1", kind="judge", who=who, query_id="q1", chunk_id="errors#1", sha256=text, grade=3)
    assert labelling.apply(workspace, who, [operation]).acknowledged == ("1",)


def restore(workspace: Workspace, who: str) -> None:
    file = workspace.home.parent / "monday.db"
    backup.back_up(workspace, "Ana", file)
    backup.restore(workspace, who, file)


def decide(workspace: Workspace, who: str) -> None:
    found = review.case(workspace, "Ana", "q3", "errors#1")
    seen, text = found.revision, found.chunk.sha256
    review.decide(workspace, who, "q3", "errors#1", 2, reason="so", sha256=text, seen=seen)


def query(workspace: Workspace, query_id: str = "q1") -> Query:
    with workspace.read() as connection:
        return queries.query(connection, query_id)


def bring(header: str, row: str) -> Callable[[Workspace, str], object]:
    """Import one judgment; {who} stands for the person who imports."""
    return lambda workspace, who: import_judgments(
        workspace, who, ("j.csv", f"query_id,chunk_id,{header},grade\nq1,errors#1,{row},3\n".format(who=who).encode())
    )


def refused_by(error: type[Exception], do: Callable[[Workspace, str], object]) -> Callable[[Workspace, str], None]:
    """Attempt what ends with this error, for want of anything to do it with, where the role may do it."""

    def attempt(workspace: Workspace, who: str) -> None:
        with pytest.raises(error):
            do(workspace, who)

    return attempt


def bring_release(workspace: Workspace, who: str) -> None:
    name, content = gold.download(workspace, 1)
    import_judgments(workspace, who, (name, content))


ATTEMPTS: dict[str, tuple[str, Callable[[Workspace, str], object]]] = {
    "grade": ("grade chunks", grade),
    "import own judgments": ("grade chunks", bring("annotator", "{who}")),
    "write a question": ("write questions", lambda at, who: questions.create(at, who, "Why?")),
    "change a question": (
        "write questions",
        lambda at, who: questions.change(at, who, replace(query(at), question="Who?")),
    ),
    "retire a question": ("write questions", lambda at, who: questions.retire(at, who, "q1")),
    "reopen a question": ("write questions", lambda at, who: questions.reopen(at, who, "q2")),
    "finish a question": ("grade chunks", lambda at, who: queue.finish(at, who, "q2")),
    "skip a question": ("grade chunks", lambda at, who: queue.skip(at, who, "q1", "not my field")),
    "take a question back": ("grade chunks", lambda at, who: queue.take_back(at, who, "q1")),
    "see who does what": ("share out questions", sharing.shared),
    "give a question to somebody": (
        "share out questions",
        lambda at, who: sharing.assign(at, who, ["Ben"], query_ids=["q1"]),
    ),
    "give a slice to somebody": (
        "share out questions",
        lambda at, who: sharing.assign(at, who, ["Ben"], part=("risk", "high")),
    ),
    "have more people on a question": ("share out questions", lambda at, who: sharing.set_overlap(at, who, ["q1"], 2)),
    "calibrate": ("share out questions", lambda at, who: sharing.calibrate(at, who, ["q1"])),
    "see the calibration": ("see the labels of others", calibration.calibration),
    "have more people on all questions": (
        "change how labels are settled",
        lambda at, who: sharing.set_plan(at, who, 2),
    ),
    "confirm labels": ("grade chunks", lambda at, who: drift.confirm(at, who, [])),
    "drop labels": ("settle labels", lambda at, who: drift.drop(at, who, [], "gone")),
    "record proposals": ("grade chunks", lambda at, who: carry.apply(at, who, carry.Search((), (), 0.0))),
    "accept a proposal": ("grade chunks", refused_by(NotFound, lambda at, who: carry.accept(at, who, 1))),
    "refuse a proposal": ("grade chunks", refused_by(NotFound, lambda at, who: carry.refuse(at, who, 1))),
    "refresh a chunk": (
        "sync the chunk table",
        refused_by(InputError, lambda at, who: live.refresh(at, who, "errors#1")),
    ),
    "try the retriever": (
        "change the retriever",
        refused_by(InputError, lambda at, who: retriever.try_out(at, who, "Why?")),
    ),
    "choose a settling rule": ("change how labels are settled", lambda at, who: settling.choose(at, who, "majority")),
    "mark a question": ("write questions", lambda at, who: questions.mark_unanswerable(at, who, "q1")),
    "import questions": (
        "write questions",
        lambda at, who: import_queries(at, who, ("q.csv", b"query_id,question\nq9,Why?\n")),
    ),
    "import a new facet": (
        "change the facets",
        lambda at, who: import_queries(at, who, ("q.csv", b"query_id,question,tenant\nq9,Why?,a\n")),
    ),
    "import a run": ("import runs", lambda at, who: import_run(at, who, ("r", b"q1 Q0 a 1 1.0 x\n"), name="r")),
    "sync": ("sync the chunk table", lambda at, who: chunk_table.sync(at, who)),
    "see who differs": ("see the labels of others", review.waiting),
    "see a pair": ("see the labels of others", lambda at, who: review.case(at, who, "q3", "errors#1")),
    "see the labels of a question": ("see the labels of others", lambda at, who: review.labels(at, who, "q3")),
    "see odd labels": ("see the labels of others", review.suspicious),
    "decide": ("settle labels", decide),
    "open labels again": ("settle labels", lambda at, who: review.reopen(at, who, [("q3", "errors#1")], "why")),
    "read the changes": ("read the record of changes", audit.changes),
    "count the changes": ("read the record of changes", audit.count),
    "take the changes out": ("read the record of changes", audit.as_csv),
    "import a decision": ("settle labels", bring("reviewer", "{who}")),
    "import judgments of others": ("import the judgments of others", bring("annotator", "Zoe")),
    "import a release": ("import the judgments of others", bring_release),
    "release": ("release versions", lambda at, who: gold.release(at, who)),
    "tag": ("tag versions", lambda at, who: gold.tag(at, who, "ci", 1)),
    "build a pool": ("build pools", lambda at, who: pools.build(at, who, pools.Build((), "words", "", 5))),
    "see where candidates came from": ("build pools", lambda at, who: pools.origins(at, who, "q1")),
    "see how large the pools are": ("build pools", pools.sizes),
    "connect": (
        "connect a chunk table",
        lambda at, who: chunk_table.connect(at, who, str(at.home.parent / "handbook.jsonl")),
    ),
    "change the rubric": ("change the rubric", lambda at, who: settings.set_rubric(at, who, "3 answers", seen=0)),
    "change the gate": ("change the gate", lambda at, who: gate.set_text(at, who, gate.EXAMPLE, seen="")),
    "change the retriever": ("change the retriever", lambda at, who: retriever.set_endpoint(at, who, "")),
    "change the facets": (
        "change the facets",
        lambda at, who: facets.set_schema(at, who, FacetSchema(("domain",), {})),
    ),
    "back up": ("back up and restore", lambda at, who: backup.back_up(at, who, at.home.parent / "new.db")),
    "restore": ("back up and restore", restore),
    "add a person": ("manage people", lambda at, who: team.add(at, who, "Cleo", "admin")),
    "give a role": ("manage people", lambda at, who: team.set_role(at, who, "a reader", "annotator")),
    "deactivate a person": ("manage people", lambda at, who: team.deactivate(at, who, "a reader")),
    "activate a person": ("manage people", lambda at, who: team.activate(at, who, "a former admin")),
    "link a sign-in": ("manage people", lambda at, who: team.link(at, who, "a reader", "https://idp.example#7")),
}


@pytest.fixture
def staffed(workspace: Workspace) -> Workspace:
    """One person of every role, a former admin, a graded question and a version."""
    with workspace.write() as connection:
        for role in ROLES:
            people.add(connection, Person(f"a {role}", role), "Ana")
        people.add(connection, Person("a former admin", "admin", active=False), "Ana")
    import_judgments(workspace, "Ana", ("j.csv", b"query_id,chunk_id,annotator,grade\nq3,errors#1,Ana,3\n"))
    gold.release(workspace, "Ana")
    questions.mark_unanswerable(workspace, "Ana", "q2")
    return workspace


def test_the_table_is_as_written_here() -> None:
    assert permission.ROLES == ROLES
    assert {
        (action, role): permission.allows(Person("x", role), action)
        for action, role in itertools.product(permission.MAY, ROLES)
    } == CELLS


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_service_lets_a_role_do_what_the_table_says(staffed: Workspace, attempt: str, role: str) -> None:
    action, do = ATTEMPTS[attempt]
    if CELLS[action, role]:
        do(staffed, f"a {role}")
        return
    before = dump(staffed)
    stated = "write questions" if (attempt, role) == ("import a new facet", "reader") else action
    with pytest.raises(Forbidden, match=rf"a {role} \({role}\) may not {stated}"):
        do(staffed, f"a {role}")
    assert dump(staffed) == before


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_who_no_longer_works_here_may_nothing(staffed: Workspace, attempt: str) -> None:
    with pytest.raises(Forbidden, match="no longer works here"):
        ATTEMPTS[attempt][1](staffed, "a former admin")


@pytest.mark.parametrize("attempt", [name for name in ATTEMPTS if name != "grade"])
def test_whoever_runs_the_command_line_under_a_name_of_nobody_here_may_everything(
    staffed: Workspace, attempt: str
) -> None:
    ATTEMPTS[attempt][1](staffed, "root")


def test_every_action_of_the_table_is_attempted() -> None:
    looking = {"look around"}  # changes nothing: only pages ask it
    assert {action for action, _ in ATTEMPTS.values()} == set(permission.MAY) - looking


def test_no_service_has_a_rule_of_its_own() -> None:
    folder = Path(permission.__file__).parent
    for path in folder.rglob("*.py"):
        if path.name not in ("permission.py", "team.py"):  # team.py decides who becomes the first admin
            assert ".role" not in path.read_text("utf-8"), path


def test_who_no_longer_works_here_cannot_join_again(staffed: Workspace) -> None:
    with pytest.raises(Forbidden, match="no longer works here"):
        team.join(staffed, "a former  admin")


def dump(workspace: Workspace) -> list[str]:
    with workspace.read() as connection:
        return list(connection.iterdump())
