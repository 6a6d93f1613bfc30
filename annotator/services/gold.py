"""Releasing gold set versions, finding them by name and taking them out again.

Whether a version can be released is asked in `readiness.py`; how its files look is the gold room's.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from annotator.errors import Conflict, InputError, NotFound, StoreError
from annotator.gold.archive import FolderFiles, write_folder
from annotator.gold.export import FORMATS, Exported, download_name
from annotator.gold.export import download as offered
from annotator.gold.export import export as exported
from annotator.gold.goldset import GoldSet
from annotator.gold.release import Case, build
from annotator.services import in_place
from annotator.services.examined import PART_OF_A_VERSION, Item, examine, pairs_unsettled, settling_rule
from annotator.services.permission import require
from annotator.services.readiness import Readiness, readiness
from annotator.store import corpus, events, judged_texts, queries, settings
from annotator.store import versions as stored
from annotator.store.database import Workspace, now
from annotator.store.versions import Version

__all__ = [
    "FORMATS",
    "Item",
    "Readiness",
    "Version",
    "download",
    "download_name",
    "ensure_folder",
    "export_version",
    "gold_set",
    "pairs_unsettled",
    "readiness",
    "release",
    "tag",
    "tags",
    "unlabelled",
    "version",
    "versions",
]

_NAME: Final = re.compile(r"\w[\w.-]{0,79}")
_BLOCKS_NAMED: Final = 20


def release(workspace: Workspace, who: str, *, name: str = "", note: str = "", allow_open: bool = False) -> Version:
    """Freeze the next version: in the database, then as the folder `releases/NAME-vN/`.

    The version is the workspace at one moment; people go on labelling meanwhile. Raises Conflict listing what blocks
    it; with `allow_open` the questions concerned are left out instead and listed in the manifest. Raises InputError
    for a name that cannot be a folder's, Forbidden for annotators and readers.
    """
    with workspace.lock("release", seconds=120), _building(workspace) as folder:
        with workspace.read() as connection:
            require(connection, who, "release versions")
            new = _frozen(connection, who, name, note, allow_open, folder)
        target = workspace.releases / new.folder
        if target.exists():
            raise Conflict(
                f"{target} exists already.", hint="It is not from this workspace as it is now: move it away."
            )
        with workspace.write() as connection:
            stored.add(connection, new, FolderFiles(folder))
            facts = {"name": new.name, "digest": new.digest, "counts": new.manifest["counts"], "note": note}
            events.record(connection, who, "version released", f"version:{new.version}", new=facts)
        folder.rename(target)
    return new


def unlabelled(workspace: Workspace, new: Version) -> int:
    """Return how many questions are worked on but not part of the new version, as nobody labelled them yet."""
    with workspace.read() as connection:
        working = queries.all_queries(connection, states=PART_OF_A_VERSION)
    return len(working) - int(new.manifest["counts"]["queries"]) - len(new.manifest["left_out"])


def versions(workspace: Workspace) -> list[Version]:
    """Return all versions, newest first."""
    with workspace.read() as connection:
        return stored.all_versions(connection)


def version(workspace: Workspace, named: str) -> Version:
    """Return the version with this number or tag. Raises NotFound, naming those there are."""
    with workspace.read() as connection:
        counted = named.isascii() and named.isdigit() and len(named) < 19  # no more fits into the database
        number = int(named) if counted else stored.tags(connection).get(named)
        if number is None:
            known = ", ".join(stored.tags(connection))
            raise NotFound(
                f"There is no version with the tag {named!r}.",
                hint=f"Tags: {known}." if known else "Give the number of a version.",
            )
        return stored.version(connection, number)


def gold_set(workspace: Workspace, named: str = "") -> GoldSet:
    """Load a gold set: what is at this path, else the version with this number or tag; "" is the newest version.

    Raises NotFound, and InputError for a file that is none.
    """
    if named == "-" or (named and os.path.exists(named)):  # a dash is standard input
        return GoldSet.load(named)
    try:
        workspace.open()  # whoever compares two files needs no workspace
        found = version(workspace, named) if named else next(iter(versions(workspace)), None)
    except NotFound as error:
        raise NotFound(error.message, hint=f"{error.hint} A path to a gold set will do as well.".strip()) from error
    if found is None:
        raise NotFound("Nothing was released yet.", hint="Release a version, or name a gold set with --gold PATH.")
    return GoldSet.load(ensure_folder(workspace, found.version))


def tags(workspace: Workspace) -> dict[str, int]:
    """Return tag → version number, by tag."""
    with workspace.read() as connection:
        return stored.tags(connection)


def tag(workspace: Workspace, who: str, name: str, number: int) -> None:
    """Give the version a name such as `ci` or `prod`, taking it from another.

    Raises NotFound, InputError, and Forbidden for annotators and readers.
    """
    if name.isdigit() or not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be a tag.", hint="Use letters, digits, dots and hyphens, e.g. ci.")
    with workspace.write() as connection:
        require(connection, who, "tag versions")
        stored.version(connection, number)
        before = stored.tags(connection).get(name)
        stored.put_tag(connection, name, number)
        events.record(connection, who, "version tagged", f"tag:{name}", old=before, new=number)


def ensure_folder(workspace: Workspace, number: int) -> Path:
    """Return the version's folder, written again from the database when it is missing or damaged."""
    with workspace.read() as connection:
        folder = workspace.releases / stored.version(connection, number).folder
    write_folder(folder, _StoredFiles(workspace, number))
    return folder


def export_version(
    workspace: Workspace, number: int, path: Path, format: str = "native", level: str = "chunk"
) -> Exported:
    """Write a version to the path. Raises NotFound, InputError, Conflict or StoreError; then nothing was written."""
    return exported(_StoredFiles(workspace, number), path, format, level)


def download(workspace: Workspace, number: int, format: str = "native", level: str = "chunk") -> tuple[str, bytes]:
    """Return a version as one file, (name, content). Raises NotFound or InputError."""
    return offered(_StoredFiles(workspace, number), format, level)


class _StoredFiles(Mapping[str, bytes]):
    """The files of a version, each read from the database when it is asked for."""

    def __init__(self, workspace: Workspace, number: int) -> None:
        self._workspace, self._number = workspace, number
        with workspace.read() as connection:
            self._names = stored.file_names(connection, number)

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        with self._workspace.read() as connection:
            return stored.file(connection, self._number, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@contextmanager
def _building(workspace: Workspace) -> Iterator[Path]:
    """Give an empty folder to build in, removed afterwards unless it was moved to its place."""
    folder = workspace.releases / ".building"
    try:
        shutil.rmtree(folder, ignore_errors=True)  # what a killed process left
        folder.mkdir(parents=True)
        yield folder
    except OSError as error:
        raise StoreError(
            f"The release cannot be written to {workspace.releases}: {error.strerror or error}."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _frozen(connection: sqlite3.Connection, who: str, name: str, note: str, allow_open: bool, folder: Path) -> Version:
    name = _checked(name or settings.get(connection, "name", "gold"))
    number = stored.next_number(connection)
    blocks: list[Item] = []
    left_out: list[str] = []
    facts = {
        "name": name,
        "version": number,
        "parent": number - 1 or None,
        "created_at": now(),
        "created_by": who,
        "note": note,
        "rubric_version": settings.get(connection, "rubric", {"version": 0})["version"],
        "settling_rule": settling_rule(connection),
        "chunk_table": _chunk_table(connection),
        "left_out": left_out,  # filled while the questions are gone through
    }
    cases = _cases(connection, blocks, left_out)
    manifest = build(cases, partial(judged_texts.chunks, connection), facts, folder)
    if blocks and not allow_open:
        raise _blocked(blocks)
    if not manifest["counts"]["queries"]:
        raise Conflict("There is nothing to release.", hint="Every question is without labels or has something open.")
    moment, digest = manifest["created_at"], manifest["digest"]
    return Version(number, name, number - 1 or None, note, moment, who, digest, manifest)


def _cases(connection: sqlite3.Connection, blocks: list[Item], left_out: list[str]) -> Iterator[Case]:
    for one in examine(connection):
        if one.blocks:
            blocks += one.blocks
            left_out.append(one.query.query_id)
        else:
            yield Case(one.gold, one.judgments, one.adjudications)


def _chunk_table(connection: sqlite3.Connection) -> dict[str, object]:
    """Describe the chunk table the labels were given on, without where it is."""
    last, _ = corpus.last_sync(connection)
    return {
        "chunks": corpus.count(connection),
        "fingerprint": corpus.fingerprint(connection),
        "synced_at": last.finished_at if last else None,
        # Of a table searched in place these are the chunks that were looked at.
        **({"in_place": True} if in_place.is_on_in(connection) else {}),
    }


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"The gold set cannot be called {name!r}: it names a folder.",
            hint="Use letters, digits, dots, hyphens and underscores, 80 at most, e.g. policies.",
        )
    return name


def _blocked(blocks: list[Item]) -> Conflict:
    lines = [f"  - {item.message}" for item in blocks[:_BLOCKS_NAMED]]
    if len(blocks) > _BLOCKS_NAMED:
        lines.append(f"  … and {len(blocks) - _BLOCKS_NAMED} more")
    things = "1 thing blocks" if len(blocks) == 1 else f"{len(blocks)} things block"
    first = f"{things} the release. Mend them, or allow open ones (--allow-open): their questions are left out then."
    return Conflict("\n".join([first, *lines]))
