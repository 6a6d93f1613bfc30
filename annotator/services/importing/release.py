"""Imports a release: its questions, every annotator's judgments, the decisions, and the texts as they were judged."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from annotator.errors import InputError, Problem
from annotator.gold.archive import read_release
from annotator.gold.textfile import ZIP_MAGIC
from annotator.gold.verify import verify
from annotator.model import Chunk
from annotator.services.importing import queries
from annotator.services.importing.files import Source, open_file
from annotator.services.importing.judgment_rows import COLUMNS, Reading
from annotator.services.importing.judgment_taking import said_in, take
from annotator.services.importing.report import ImportReport
from annotator.services.permission import require
from annotator.store import imported
from annotator.store.database import Workspace

__all__ = ["import_release", "is_release"]


class _DryRun(Exception):
    """Takes everything back that the transaction wrote."""


def is_release(source: Source) -> bool:
    """Say whether this is a release folder or zip rather than a file of rows."""
    if isinstance(source, tuple):
        return source[1].startswith(ZIP_MAGIC)
    path = Path(source)
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            return str(source) != "-" and file.read(4) == ZIP_MAGIC
    except OSError:
        return False


def import_release(workspace: Workspace, who: str, source: Source, *, dry_run: bool = False) -> ImportReport:
    """Take over an intact release, all or nothing; questions that are here already are left as they are.

    Texts that the chunk table does not have come along and count as drifted. Raises InputError when the release is not
    as it was frozen, Forbidden for annotators and readers.
    """
    if isinstance(source, tuple):
        with tempfile.TemporaryDirectory() as folder:  # not a temporary file, which some systems open only once
            path = Path(folder) / "release.zip"
            path.write_bytes(source[1])
            return _import(workspace, who, path, source[0], dry_run)
    return _import(workspace, who, Path(source), str(source), dry_run)


def _import(workspace: Workspace, who: str, path: Path, name: str, dry_run: bool) -> ImportReport:
    checked = verify(path)
    if not checked.intact:
        raise InputError(
            f"{name} is not as it was released; nothing was written.",
            problems=[Problem(problem, file=name) for problem in checked.problems],
        )
    files = read_release(path)
    try:
        with workspace.write() as connection:
            report = _take(connection, who, name, files)
            if dry_run:
                raise _DryRun
    except _DryRun:
        return replace(report, dry_run=True)
    return report


def _take(connection: sqlite3.Connection, who: str, name: str, files: Mapping[str, bytes]) -> ImportReport:
    require(connection, who, "import the judgments of others")
    asked = queries.take(
        connection, who, open_file((f"{name}/gold.jsonl", files["gold.jsonl"]), queries.COLUMNS), only_new=True
    )
    texts = _texts(files["chunks.jsonl"])
    warnings = [f"Questions: {asked.added} added, {asked.unchanged} were here already and are left as they are."]
    live = imported.text_hashes(connection, (chunk_id for chunk_id, _ in texts))
    other = sum(live.get(chunk_id) != sha256 for chunk_id, sha256 in texts)
    if other:
        warnings.append(f"{other} of {len(texts)} judged texts are not in the chunk table now; they count as drifted.")
    if not files["judgments.jsonl"].strip():
        return replace(asked, warnings=tuple(warnings))
    file = open_file((f"{name}/judgments.jsonl", files["judgments.jsonl"]), COLUMNS)
    reading = Reading(file, "", {})
    taken = take(connection, who, reading, said_in(reading), texts=texts)
    return replace(taken, warnings=(*warnings, *taken.warnings))


def _texts(content: bytes) -> dict[tuple[str, str], Chunk]:
    found = {}
    for line in content.splitlines():
        row = json.loads(line)
        found[row["chunk_id"], row["sha256"]] = Chunk(
            row["chunk_id"],
            row["text"],
            row.get("doc_id", ""),
            row.get("title", ""),
            row.get("position"),
            row.get("metadata", {}),
        )
    return found
