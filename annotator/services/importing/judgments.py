"""Imports judgments: checks every row against queries, chunks and texts, then records them in one transaction."""

from __future__ import annotations

from collections.abc import Mapping

from annotator.errors import InputError
from annotator.model import id_fault
from annotator.services import in_place
from annotator.services.importing.files import ImportFile, Source, named_columns, open_file
from annotator.services.importing.judgment_rows import COLUMNS, CONFLICTS, Reading, bare_rows
from annotator.services.importing.judgment_taking import NEEDED, said_in, take
from annotator.services.importing.release import import_release, is_release
from annotator.services.importing.report import ImportReport
from annotator.services.importing.rows import read_rows
from annotator.store.database import Workspace

__all__ = ["grades_found", "import_judgments"]


def import_judgments(
    workspace: Workspace,
    who: str,
    source: Source,
    *,
    annotator: str = "",
    grades: Mapping[str, int | None] | None = None,
    conflicts: str = "refuse",
    columns: Mapping[str, str] | None = None,
    dry_run: bool = False,
    only_good: bool = False,
) -> ImportReport:
    """Record the file's judgments, all of them or none; people who are not known yet are added as annotators.

    `annotator` judged the rows that name nobody. `grades` maps the file's grades to 0-3, None for cannot judge;
    `columns` the names of its columns to fields, "" for those to leave out.
    Raises InputError with every fault of the file. `only_good` takes the rows without fault. A release brings its
    questions, texts and decisions along, and says itself who judged. Annotators may bring their own judgments; those of
    others, and decisions, are for reviewers and admins: Forbidden otherwise.
    """
    if conflicts not in CONFLICTS:
        raise InputError(f"{conflicts!r} does not say which grade counts.", hint=f"Choose of {', '.join(CONFLICTS)}.")
    if is_release(source):
        return import_release(workspace, who, source, dry_run=dry_run)
    named = named_columns(COLUMNS, columns or {})
    if in_place.is_on(workspace) and str(source) != "-":
        in_place.look_up(workspace, _chunks_named(open_file(source, named), named))
    file = open_file(source, named)
    reading = Reading(file, annotator, grades or {})
    said = said_in(reading, named, conflicts)  # before anybody has to wait for the transaction
    with workspace.read() if dry_run else workspace.write() as connection:
        return take(connection, who, reading, said, dry_run=dry_run, only_good=only_good)


def _chunks_named(file: ImportFile, columns: Mapping[str, str]) -> list[str]:
    """Return the chunk ids of the file, as far as it can be read: what is wrong with it is found out later."""
    rows = bare_rows(file, {}) if file.form == "bare" else read_rows(file, columns, NEEDED)
    return [one for row in rows if isinstance(one := row.values.get("chunk_id"), str) and not id_fault(one)]


def grades_found(source: Source) -> dict[str, int]:
    """Return the grades that the file has, as written, with how many rows have each; none for a release.

    Raises InputError when the file cannot be read at all.
    """
    if is_release(source):
        return {}
    file = open_file(source, COLUMNS)
    rows = bare_rows(file, {}) if file.form == "bare" else read_rows(file, COLUMNS, NEEDED)
    reading = Reading(file, "somebody", {})
    for row in rows:
        reading.said(row)
    return dict(sorted((reading.foreign + reading.unmapped).items()))
