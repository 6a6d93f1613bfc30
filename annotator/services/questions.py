"""Writing, changing and retiring questions, with what is odd about their wording and how far their labels are.

Every change names the revision it was made from, so that nobody's text is written over by accident; all of them
raise Forbidden for readers.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from annotator.errors import InputError, Problem
from annotator.model import QUERY_STATES, Query, id_fault
from annotator.review import lint as wording
from annotator.review.lint import LintWarning
from annotator.services import queue
from annotator.services.examined import PART_OF_A_VERSION, differing
from annotator.services.facets import facet_names
from annotator.services.per_question import PerQuestion
from annotator.services.permission import labels_blindly, require
from annotator.store import corpus, judgments, labels, queries
from annotator.store import queue as steps
from annotator.store.database import Workspace

__all__ = [
    "LintWarning",
    "QuestionRow",
    "change",
    "create",
    "finds",
    "lint",
    "mark_unanswerable",
    "next_id",
    "reopen",
    "retire",
    "rows",
]

LONGEST_QUESTION: Final = 5_000
LONGEST_NOTES: Final = 50_000
_NUMBERED: Final = re.compile(r"q-([0-9]{1,9})", re.ASCII)
_STORED_STATES: Final = tuple(state for state in QUERY_STATES if state != "disputed")
_NOTHING: Final = labels.Progress(0, 0, {})


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question with its progress: pairs anybody judged, relevant ones, pairs `mine`, pairs people differ on.

    `state` is the one to show: disputed while a pair waits for a decision. `standing` is the question's for the person
    who looks. Before somebody who labels blindly only their own labels count, and a dispute shows when they finished.
    """

    query: Query
    judged: int
    relevant: int
    mine: int
    unsettled: int
    state: str
    standing: str = ""

    @property
    def disputed(self) -> bool:
        return self.unsettled > 0


def create(
    workspace: Workspace,
    who: str,
    question: str,
    *,
    query_id: str = "",
    notes: str = "",
    facets: Mapping[str, str] | None = None,
    state: str = "open",
    unanswerable: bool = False,
    owner: str = "",
) -> Query:
    """Add a question, under the next free id when none is given. Raises InputError, or Conflict for a taken id."""
    new = Query(query_id, question, notes, facets or {}, state, unanswerable, owner)
    with workspace.write() as connection:
        require(connection, who, "write questions")
        if not query_id:
            new = replace(new, query_id=_next_id(connection))
        new = _checked(connection, new)
        queries.add(connection, new, who)
    return new


def change(workspace: Workspace, who: str, changed: Query) -> Query:
    """Store a changed question and return it with its new revision.

    Raises InputError, and Conflict when somebody else changed it since `changed.revision` was read.
    """
    with workspace.write() as connection:
        require(connection, who, "write questions")
        return queries.change(connection, _checked(connection, changed), who)


def retire(workspace: Workspace, who: str, query_id: str, *, revision: int | None = None) -> Query:
    """Take the question out of use; its labels stay. Raises NotFound or Conflict."""
    return _change(workspace, who, query_id, revision, state="retired")


def reopen(workspace: Workspace, who: str, query_id: str, *, revision: int | None = None) -> Query:
    """Put a draft, complete or retired question to work again, for everybody who had finished it.

    Raises NotFound or Conflict.
    """
    with workspace.write() as connection:
        opened = _put(connection, who, queries.query(connection, query_id), revision, state="open")
        queue.give_back(connection, query_id, sorted(steps.people_with(connection, query_id, "finished")), who)
        return opened


def mark_unanswerable(
    workspace: Workspace, who: str, query_id: str, unanswerable: bool = True, *, revision: int | None = None
) -> Query:
    """Say on purpose that no chunk answers the question, or take that back. Raises NotFound or Conflict."""
    return _change(workspace, who, query_id, revision, unanswerable=unanswerable)


def lint(workspace: Workspace, question: str, query_id: str = "", *, who: str = "") -> list[LintWarning]:
    """Return what is odd about the question as written; `query_id` names the one that is being changed.

    Whoever labels blindly is warned of the chunks they found relevant themselves, not of those others did.
    """
    with workspace.read() as connection:
        others = {one.query_id: one.question for one in queries.all_queries(connection) if one.state != "retired"}
        others.pop(query_id, None)
        own = who if labels_blindly(connection, who) else ""
        said = judgments.current(connection, query_id=query_id, annotator=own) if query_id else ()
        helpful = {one.chunk_id for one in said if (one.grade or 0) >= 2}
        texts = {chunk_id: chunk.text for chunk_id, chunk in corpus.chunks(connection, sorted(helpful)).items()}
    return wording.lint(question, others=others, chunks=texts)


def finds(query: Query, words: Sequence[str]) -> bool:
    """Say whether id, question and notes have all of these case-folded words in them."""
    haystack = f"{query.query_id}\n{query.question}\n{query.notes}".casefold()
    return all(word in haystack for word in words)


def next_id(workspace: Workspace) -> str:
    """Propose an id for a new question: q-001, q-002 …"""
    with workspace.read() as connection:
        return _next_id(connection)


def rows(workspace: Workspace, who: str = "") -> list[QuestionRow]:
    """Return every question in the order they were added, with its progress; `mine` is that of the person.

    Without a person all labels of all people count.
    """
    with workspace.read() as connection:
        blind = labels_blindly(connection, who)
        progress, unsettled = _progress.of(workspace, connection), differing(workspace, connection)
        standing = queue.standing_of(connection, who, frozenset(unsettled)) if who else {}
        every = queries.all_queries(connection)
    return [
        _row(
            query,
            progress.get(query.query_id, _NOTHING),
            unsettled.get(query.query_id, 0) if query.state in PART_OF_A_VERSION else 0,
            standing.get(query.query_id, ""),
            who,
            blind=blind,
        )
        for query in every
    ]


def _row(
    query: Query, progress: labels.Progress, unsettled: int, standing: str, who: str, *, blind: bool
) -> QuestionRow:
    """Return the row as the person may see it: who labels blindly must not know what others found."""
    mine, relevant = progress.by.get(who, (0, 0))
    if blind:
        unsettled = unsettled if standing == "disputed" else 0
        progress = labels.Progress(mine, relevant, {})
    state = "disputed" if unsettled else query.state
    return QuestionRow(query, progress.judged, progress.relevant, mine, unsettled, state, standing)


def _progress_of(
    connection: sqlite3.Connection, only: Collection[str] | None, _: object
) -> Mapping[str, labels.Progress]:
    return labels.progress(connection, only)


_progress = PerQuestion(_progress_of)


def _next_id(connection: sqlite3.Connection) -> str:
    taken = (_NUMBERED.fullmatch(query.query_id) for query in queries.all_queries(connection))
    highest = max((int(match[1]) for match in taken if match), default=0)
    return f"q-{highest + 1:03d}"


def _change(workspace: Workspace, who: str, query_id: str, revision: int | None, **fields: object) -> Query:
    with workspace.write() as connection:
        return _put(connection, who, queries.query(connection, query_id), revision, **fields)


def _put(connection: sqlite3.Connection, who: str, query: Query, revision: int | None, **fields: object) -> Query:
    require(connection, who, "write questions")
    changed = replace(query, **fields, revision=query.revision if revision is None else revision)  # type: ignore[arg-type]
    return queries.change(connection, changed, who)


def _checked(connection: sqlite3.Connection, query: Query) -> Query:
    """Return the query with its texts trimmed and empty facets dropped. Raises InputError with every fault."""
    facets = {name: str(value).strip() for name, value in query.facets.items()}
    tidy = replace(
        query,
        question=query.question.strip(),
        notes=query.notes.strip(),
        owner=query.owner.strip(),
        facets={name: value for name, value in facets.items() if value},
    )
    before = queries.find(connection, query.query_id)  # what it has of facets taken away since may stay
    known = (*facet_names(connection), *(before.facets if before else ()))
    problems = list(_problems(tidy, known))
    if problems:
        raise InputError("The question cannot be saved.", problems=problems)
    return tidy


def _problems(query: Query, facets: tuple[str, ...]) -> Iterable[Problem]:
    if fault := id_fault(query.query_id):
        yield Problem(fault, field="query_id", value=query.query_id)
    if not query.question:
        yield Problem("there is no question", field="question", mend="Write it in the asker's words.")
    for field, text, most in (("question", query.question, LONGEST_QUESTION), ("notes", query.notes, LONGEST_NOTES)):
        if len(text) > most:
            yield Problem(f"has {len(text)} characters, over {most}", field=field)
    for field, text in (("question", query.question), ("notes", query.notes), ("owner", query.owner)):
        if any("\ud800" <= character <= "\udfff" for character in text):
            yield Problem("has a broken character (lone surrogate)", field=field, mend="Type it again.")
    if query.state not in _STORED_STATES:
        yield Problem("not a state", field="state", value=query.state, mend=f"One of {', '.join(_STORED_STATES)}.")
    for facet in query.facets:
        if facet not in facets:
            known = ", ".join(facets)
            yield Problem("no such facet", field="facets", value=facet, mend=f"There are: {known}; Settings adds more.")
        elif fault := id_fault(query.facets[facet]):
            yield Problem(fault.replace("id", "the value", 1), field=facet, value=query.facets[facet])
