"""The record of changes for people: looked through, filtered, and taken out as CSV or JSONL.

It cannot be edited from here or anywhere: the tables it is read from refuse it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict
from io import StringIO
from typing import Any, Final

from annotator.gold.sheet import harmless
from annotator.services.permission import require
from annotator.store import changes as record
from annotator.store.changes import EVERYTHING, Change, Wanted
from annotator.store.database import Workspace

__all__ = ["EVERYTHING", "KINDS", "Change", "Wanted", "as_csv", "as_jsonl", "changes", "count", "people", "values"]

KINDS: Final = (
    *("label", "decision", "question", "facets", "rubric", "person", "version", "import", "sync", "chunk table"),
    "drift",
    "setting",
)
"""What a change can be about."""

_COLUMNS: Final = ("at", "who", "kind", "action", "query_id", "chunk_id", "subject", "old", "new")


def changes(
    workspace: Workspace, who: str, wanted: Wanted = EVERYTHING, *, limit: int = 100, offset: int = 0
) -> list[Change]:
    """Return a page of the changes, newest first. Raises Forbidden for annotators and readers."""
    with workspace.read() as connection:
        require(connection, who, "read the record of changes")
        return list(record.changes(connection, wanted, limit=limit, offset=offset))


def count(workspace: Workspace, who: str, wanted: Wanted = EVERYTHING) -> int:
    """Count the changes. Raises Forbidden for annotators and readers."""
    with workspace.read() as connection:
        require(connection, who, "read the record of changes")
        return record.count(connection, wanted)


def people(workspace: Workspace, who: str) -> list[str]:
    """Return everybody who changed something, by name. Raises Forbidden for annotators and readers."""
    with workspace.read() as connection:
        require(connection, who, "read the record of changes")
        return record.people_who_changed(connection)


def values(change: Change) -> list[tuple[str, str, str]]:
    """Return (field, old, new) of everything that differs, as texts; "" where nothing was or is there."""
    old, new = _fields(change.old), _fields(change.new)
    return [
        (name, _shown(old.get(name)), _shown(new.get(name)))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]


def as_csv(workspace: Workspace, who: str, wanted: Wanted = EVERYTHING) -> bytes:
    """Return the changes as CSV (UTF-8 with byte-order mark), no cell of which a spreadsheet runs as a formula."""
    target = StringIO(newline="")
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for row in _rows(workspace, who, wanted):
        writer.writerow([harmless(row[name] or "") for name in _COLUMNS])
    return b"\xef\xbb\xbf" + target.getvalue().encode("utf-8", "replace")


def as_jsonl(workspace: Workspace, who: str, wanted: Wanted = EVERYTHING) -> bytes:
    """Return the changes as JSON, one a line, with what was and is as values."""
    lines = []
    for row in _rows(workspace, who, wanted):
        told = {name: None if row[name] is None else json.loads(row[name]) for name in ("old", "new")}
        lines.append(json.dumps({**row, **told}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _rows(workspace: Workspace, who: str, wanted: Wanted) -> Iterator[dict[str, Any]]:
    with workspace.read() as connection:
        require(connection, who, "read the record of changes")
        yield from (asdict(one) for one in record.changes(connection, wanted))


def _fields(text: str | None) -> dict[str, Any]:
    value = None if text is None else json.loads(text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {"": value}
    fields: dict[str, Any] = {}
    for name, part in value.items():  # facets, counts and the like have fields of their own
        fields |= {f"{name}.{inner}": one for inner, one in part.items()} if isinstance(part, dict) else {name: part}
    return fields


def _shown(value: object) -> str:
    if value is None or value in ("", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
