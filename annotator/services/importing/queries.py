"""Imports questions: checks every row, then adds and changes queries in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from annotator.errors import Forbidden
from annotator.model import MAX_ID_LENGTH, QUERY_STATES, Query, id_fault
from annotator.services.facets import facet_names
from annotator.services.importing.files import ImportFile, Source, flag_of, named_columns, open_file, text_fault
from annotator.services.importing.report import SHOWN_LAST, SHOWN_ROWS, ImportReport
from annotator.services.importing.rows import Row, read_rows
from annotator.services.permission import require
from annotator.services.questions import LONGEST_NOTES, LONGEST_QUESTION
from annotator.store import events, queries, settings
from annotator.store.database import Workspace

__all__ = ["COLUMNS", "import_queries", "take"]

COLUMNS: Final = {
    **dict.fromkeys(("query_id", "query-id", "qid", "_id"), "query_id"),
    **dict.fromkeys(("question", "query", "text"), "question"),
    **{name: name for name in ("notes", "state", "owner", "unanswerable", "slice", "facets", "metadata", "gold")},
}
_STATES: Final = tuple(state for state in QUERY_STATES if state != "disputed")
_LONGEST: Final = {"question": LONGEST_QUESTION, "notes": LONGEST_NOTES, "owner": MAX_ID_LENGTH}
_NO_ID: Final = "Give every question an id of its own, or say which field it is: --column NAME=query_id."
_MOST_FACET_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query as the file has it: only the fields that the file names."""

    row: Row
    query_id: str
    fields: Mapping[str, object]
    facets: Mapping[str, str]

    def onto(self, old: Query) -> Query:
        """Return the query with these fields; a facet that the file leaves empty is taken off."""
        facets = {name: value for name, value in {**old.facets, **self.facets}.items() if value}
        return replace(old, **self.fields, facets=facets)  # type: ignore[arg-type]


def import_queries(
    workspace: Workspace,
    who: str,
    source: Source,
    *,
    facets: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    dry_run: bool = False,
    only_good: bool = False,
) -> ImportReport:
    """Add the file's questions and bring known ones up to date; all of them, or none when any row has a fault.

    Columns beside the known ones are facets; of a `metadata` object only the facets of the workspace and those named
    in `facets` are taken. `columns` maps names of the file's columns to fields, "" for those to leave out. `only_good`
    takes the rows without fault. Raises InputError with every fault of the file, Forbidden for readers, and where
    a new facet comes along for anybody but an admin.
    """
    named = named_columns(COLUMNS, columns or {})
    file = open_file(source, named)
    with workspace.read() if dry_run else workspace.write() as connection:
        require(connection, who, "write questions")
        return take(connection, who, file, facets=facets, columns=named, dry_run=dry_run, only_good=only_good)


def take(
    connection: sqlite3.Connection,
    who: str,
    file: ImportFile,
    *,
    facets: Sequence[str] = (),
    columns: Mapping[str, str] = COLUMNS,
    dry_run: bool = False,
    only_good: bool = False,
    only_new: bool = False,
) -> ImportReport:
    """Take the questions of an opened file within the caller's transaction; as `import_queries`.

    `only_new` leaves known questions as they are.
    """
    rows = _bare_rows(file) if file.form == "bare" else read_rows(file, columns, ("query_id", "question"))
    known_facets = facet_names(connection)
    reading = _Reading(file, frozenset(known_facets) | set(facets))
    asked = reading.fold([one for one in map(reading.asked, rows) if one])
    if not only_good:
        file.refuse_faults()
    plan = [_planned(connection, one, only_new) for one in asked]
    new_facets = [name for name in dict.fromkeys(n for one in asked for n in one.facets) if name not in known_facets]
    if new_facets:
        _require_facets(connection, who, new_facets)
    if not dry_run:
        _write(connection, who, file, plan, known_facets, new_facets)
    return ImportReport(
        added=sum(old is None for old, _ in plan),
        changed=sum(old is not None and old != new for old, new in plan),
        unchanged=sum(old == new for old, new in plan) + reading.repeats,
        warnings=tuple(reading.warnings(new_facets)),
        first_rows=tuple(queries.record_of(new) for _, new in plan[:SHOWN_ROWS]),
        last_rows=tuple(queries.record_of(new) for _, new in plan[SHOWN_ROWS:][-SHOWN_LAST:]),
        problems=tuple(file.problems),
        rest=file.refused(),
        dry_run=dry_run,
    )


def _require_facets(connection: sqlite3.Connection, who: str, new: Sequence[str]) -> None:
    try:
        require(connection, who, "change the facets")
    except Forbidden as error:
        raise Forbidden(
            f"The file has facets that are not of this workspace ({', '.join(new)}). {error.message}",
            hint="Leave these columns out, or ask an admin.",
        ) from error


def _bare_rows(file: ImportFile) -> list[Row]:
    """TREC topics: query id, tab, question."""
    rows = []
    for number, text in enumerate(file.lines, 1):
        query_id, tab, question = text.rstrip("\r\n").partition("\t")
        if tab:
            rows.append(Row(number, {"query_id": query_id, "question": question}))
        elif text.strip():
            mend = "Write the id, a tab and the question, or a header with query_id and question."
            file.fault(number, "no query id and question", value=text.strip(), mend=mend)
    return rows


class _Reading:
    """Turns rows into queries, noting every fault in the file, and remembers what has to be told."""

    def __init__(self, file: ImportFile, facets: frozenset[str]) -> None:
        self.file = file
        self.facets = facets
        self.left_out: dict[str, int] = {}
        self.labels = 0
        self.repeats = 0

    def asked(self, row: Row) -> _Asked | None:
        """Return the query of the row, None when it has a fault."""
        before = len(self.file.problems)
        values = row.values
        query_id = values.get("query_id")
        fault = id_fault(query_id) if "query_id" in values else "there is no query id"
        if fault:
            mend = "Write it in quotes: ids are text." if isinstance(query_id, int | float) else _NO_ID
            self._fault(row, "query_id", fault, mend)
        question = self._text(row, "question", "")
        if not question.strip() and len(self.file.problems) == before:
            self._fault(row, "question", "there is no question")
        fields: dict[str, object] = {"question": question.strip()}
        for name in ("notes", "owner"):
            if name in values:
                fields[name] = self._text(row, name, "")
        if values.get("state"):
            fields["state"] = self._state(row)
        if "unanswerable" in values:
            fields["unanswerable"] = self._flag(row, "unanswerable")
        self.labels += bool(values.get("gold"))
        facets = self._facets(row)
        return _Asked(row, str(query_id), fields, facets) if len(self.file.problems) == before else None

    def fold(self, asked: Sequence[_Asked]) -> list[_Asked]:
        """Take identical repeats once, and note two different rows with one id."""
        first: dict[str, _Asked] = {}
        for one in asked:
            known = first.setdefault(one.query_id, one)
            if known is one:
                continue
            if (known.fields, known.facets) == (one.fields, one.facets):
                self.repeats += 1
            else:
                self._fault(
                    one.row, "query_id", f"line {known.row.line} has another question with this id", "Keep one."
                )
        return list(first.values())

    def warnings(self, new_facets: Sequence[str]) -> list[str]:
        """Say what the reader of the report should know."""
        said = []
        if new_facets:
            said.append(f"Facets new to this workspace: {', '.join(new_facets)}.")
        for name, number in self.left_out.items():
            said.append(f"metadata.{name} of {number} rows was left out; take it as a facet with --facet {name}.")
        if self.labels:
            said.append(f"The labels of {self.labels} questions were not read: import the file as judgments as well.")
        return said

    def _facets(self, row: Row) -> dict[str, str]:
        found: dict[str, object] = {}
        for name, value in row.values.items():
            if name in ("slice", "facets", "metadata"):
                inner = value or {}
                if not isinstance(inner, Mapping):
                    self._fault(row, name, "not an object of names and values")
                    continue
                found.update(self._taken(inner) if name == "metadata" else inner)
            elif name not in COLUMNS:
                found[name] = value
        return {name: self._facet(row, name, value) for name, value in found.items()}

    def _taken(self, metadata: Mapping[str, object]) -> dict[str, object]:
        for name in metadata.keys() - self.facets:
            self.left_out[name] = self.left_out.get(name, 0) + 1
        return {name: value for name, value in metadata.items() if name in self.facets}

    def _facet(self, row: Row, name: str, value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, bool | int | float):
            value = str(value).lower() if isinstance(value, bool) else str(value)
        fault = text_fault(value) or id_fault(name)
        text = value.strip() if isinstance(value, str) else ""
        if not fault and len(text) > _MOST_FACET_CHARACTERS:
            fault = f"a facet value has {len(text)} characters, over {_MOST_FACET_CHARACTERS}"
        if fault:
            self.file.fault(
                row.line,
                fault,
                name,
                value,
                f"A facet is one short word or name; leave the column out with --column {name}=.",
            )
        return text

    def _text(self, row: Row, name: str, default: str) -> str:
        value = row.values.get(name, default)
        if value is None:
            return default
        fault = text_fault(value)
        most = _LONGEST[name]
        if not fault and isinstance(value, str) and len(value) > most:
            fault = f"has {len(value)} characters, over {most}"
        if fault:
            self._fault(row, name, fault)
        return value if isinstance(value, str) else default

    def _state(self, row: Row) -> str:
        value = row.values["state"]
        if value == "disputed":  # derived from the labels, not stored
            return "open"
        if value not in _STATES:
            self._fault(row, "state", "no such state", f"Write {', '.join(_STATES)}.")
        return str(value)

    def _flag(self, row: Row, name: str) -> bool:
        flag = flag_of(row.values[name])
        if flag is None:
            self._fault(row, name, "neither true nor false")
        return bool(flag)

    def _fault(self, row: Row, name: str, message: str, mend: str = "") -> None:
        self.file.fault(row.line, message, name, row.values.get(name, ""), mend)


def _planned(connection: sqlite3.Connection, asked: _Asked, only_new: bool) -> tuple[Query | None, Query]:
    old = queries.find(connection, asked.query_id)
    if old is not None and only_new:
        return old, old
    return old, asked.onto(old if old is not None else Query(asked.query_id, ""))


def _write(
    connection: sqlite3.Connection,
    who: str,
    file: ImportFile,
    plan: Sequence[tuple[Query | None, Query]],
    known_facets: Sequence[str],
    new_facets: Sequence[str],
) -> None:
    if new_facets:
        settings.put(connection, "facets", [*known_facets, *new_facets])
        change = {"old": {"facets": list(known_facets)}, "new": {"facets": [*known_facets, *new_facets]}}
        events.record(connection, who, "facets changed", "setting:facets", **change)
    for old, new in plan:
        if old is None:
            queries.add(connection, new, who)
        elif old != new:
            queries.change(connection, new, who)
    changes = [(old is None) for old, new in plan if old != new]
    if changes:
        counts = {"added": sum(changes), "changed": len(changes) - sum(changes)}
        events.record(connection, who, "questions imported", f"file:{file.name}", new=counts)
