"""Backing a workspace up while people work, putting a backup in its place, and checking that all is as it should be."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from annotator.errors import AnnotatorError, Conflict, InputError, NotFound, StoreError
from annotator.gold.verify import verify
from annotator.search import index
from annotator.services import gold
from annotator.services.permission import require
from annotator.store import events, snapshot, versions
from annotator.store.database import Workspace, stamp
from annotator.store.migrations import VERSION

__all__ = ["Checked", "Restored", "Snapshot", "back_up", "check", "restore"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A backup: its file, size in bytes, what it holds, and the digest of all rows."""

    path: Path
    size: int
    counts: Mapping[str, int]
    digest: str


@dataclass(frozen=True, slots=True)
class Restored:
    """What a workspace holds now, and where the database it held before is kept (None: there was none)."""

    counts: Mapping[str, int]
    digest: str
    kept: Path | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found; the counts and the digest are empty for a database that cannot be read."""

    problems: tuple[str, ...]
    counts: Mapping[str, int]
    digest: str

    @property
    def sound(self) -> bool:
        return not self.problems


def back_up(workspace: Workspace, who: str, path: Path) -> Snapshot:
    """Write the workspace's database, as it is at one moment, to a file; people go on labelling meanwhile.

    Raises Conflict where the file is something else than a backup, StoreError when the copy is damaged or the disk
    fails (then nothing was written), Forbidden for anybody but admins.
    """
    with workspace.read() as connection:
        require(connection, who, "back up and restore")
    _refuse_to_replace(workspace, path)
    with _beside(path) as building:
        with closing(workspace.connect()) as connection:
            snapshot.copy(connection, building)
        found = _examined(building)
        if found.problems:
            raise StoreError(
                f"The workspace is damaged, so {path} was not written: {found.problems[0]}.",
                hint="Run `python -m annotator check`.",
            )
        size = building.stat().st_size
        building.replace(path)
    return Snapshot(path, size, found.counts, found.digest)


def restore(workspace: Workspace, who: str, path: Path) -> Restored:
    """Put a backup in the place of the workspace's database, after checking every bit of it.

    The database there is goes to `backups/` first. The derived index is dropped and the folders of releases are
    brought in line. Raises InputError when the backup is damaged, no backup, or of a newer version of Annotator: then
    nothing was changed. Raises Forbidden for anybody but admins.
    """
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    _require_admin(workspace, who)
    workspace.home.mkdir(parents=True, exist_ok=True)
    with workspace.lock("release", seconds=120), workspace.lock("index"), _beside(workspace.database) as building:
        try:
            with closing(snapshot.open_copy(path)) as source:
                snapshot.copy(source, building)
            found = _examined(building)
        except (StoreError, sqlite3.DatabaseError) as error:
            raise InputError(f"{path} cannot be restored: it is no backup, or damaged.", hint=str(error)) from error
        _refuse_unsound(path, building, found)
        kept = _put_in_place(workspace, building)
        shutil.rmtree(workspace.index, ignore_errors=True)
        index.forget(workspace)
    workspace.open()  # an older backup is brought up to date
    with workspace.write() as connection:
        facts = {"file": path.name, "digest": found.digest, "kept": kept.name if kept else ""}
        events.record(connection, who, snapshot.RESTORED, f"file:{path.name}", new=facts)
    _tidy_releases(workspace)
    return Restored(found.counts, found.digest, kept)


def check(workspace: Workspace) -> Checked:
    """Check everything: SQLite's own integrity, links, guards, kept texts, labels in force, versions and their folders.

    Raises NotFound when there is no workspace, StoreError when it may not be opened.
    """
    if not workspace.exists:
        raise NotFound(f"There is no workspace in {workspace.home}.")
    try:
        with closing(snapshot.open_copy(workspace.database)) as connection:
            found = _found(connection)
    except (StoreError, sqlite3.DatabaseError) as error:
        if snapshot.is_barred(error):
            raise StoreError(
                f"The workspace cannot be checked: {str(error).rstrip('.')}.",
                hint="Its folder must be writable, also for reading.",
            ) from error
        return Checked((f"the database cannot be read: {error}",), {}, "")
    return replace(found, problems=(*found.problems, *_folder_faults(workspace)))


def _examined(path: Path) -> Checked:
    with closing(snapshot.open_copy(path)) as connection:
        return _found(connection)


def _found(connection: sqlite3.Connection) -> Checked:
    if not snapshot.schema_of(connection):
        raise StoreError("It is not the database of a workspace.")
    connection.row_factory = sqlite3.Row
    problems = [*snapshot.faults(connection), *_version_faults(connection)]
    return Checked(tuple(problems), snapshot.counts(connection), snapshot.digest(connection))


def _version_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Write every version out again and verify it, its digest being the one on record."""
    with tempfile.TemporaryDirectory() as folder:
        for one in versions.all_versions(connection):
            target = Path(folder) / one.folder
            target.mkdir()
            for name in versions.file_names(connection, one.version):
                (target / name).write_bytes(versions.file(connection, one.version, name))
            found = verify(target)
            yield from (f"version {one.version}: {problem}" for problem in found.problems)
            if found.digest != one.digest:
                yield f"version {one.version}: the digest on record is {one.digest}, the content has {found.digest}"
            shutil.rmtree(target)


def _folder_faults(workspace: Workspace) -> Iterator[str]:
    """Folders of releases that are not as released; a missing one is written again when it is needed."""
    for one in gold.versions(workspace):
        folder = workspace.releases / one.folder
        if folder.is_dir():
            try:
                found = verify(folder)
            except AnnotatorError as error:
                yield f"releases/{one.folder}: {error.message}"
                continue
            yield from (f"releases/{one.folder}: {problem}" for problem in found.problems)
            if not found.problems and found.digest != one.digest:
                yield f"releases/{one.folder}: another release than version {one.version}"


def _require_admin(workspace: Workspace, who: str) -> None:
    """Ask the workspace, where there is one that can be asked: a damaged one is what restoring is for."""
    if workspace.exists:
        try:
            with workspace.read() as connection:
                require(connection, who, "back up and restore")
        except (StoreError, sqlite3.DatabaseError):
            return  # it cannot be asked any more


def _refuse_unsound(path: Path, building: Path, found: Checked) -> None:
    with closing(snapshot.open_copy(building)) as connection:
        schema = snapshot.schema_of(connection)
    if schema > VERSION:
        raise InputError(f"{path} was written by a newer Annotator.", hint="Update Annotator, then restore it.")
    if found.problems:
        listed = "\n".join(f"  - {problem}" for problem in found.problems[:20])
        raise InputError(f"{path} is damaged; nothing was changed.\n{listed}")


def _put_in_place(workspace: Workspace, building: Path) -> Path | None:
    """Keep what is there, then replace it; what is no database any more is moved aside as it is."""
    if not workspace.exists:
        building.rename(workspace.database)
        return None
    workspace.backups.mkdir(exist_ok=True)
    kept = workspace.backups / f"{stamp()}-before-restore.db"
    try:
        with closing(workspace.connect()) as connection:
            snapshot.copy(connection, kept)
        snapshot.put_in_place(building, workspace)
    except (StoreError, sqlite3.DatabaseError) as error:
        kept.unlink(missing_ok=True)
        if not snapshot.is_broken(error):
            raise StoreError(f"The backup was not restored: {error}.", hint="Nothing was changed.") from error
        for ending in ("-wal", "-shm", ""):
            part = workspace.database.with_name(workspace.database.name + ending)
            if part.exists():
                part.rename(kept.with_name(kept.name + ending))
        building.rename(workspace.database)
    return kept


def _tidy_releases(workspace: Workspace) -> None:
    """Move folders of versions there are no longer to `backups/`, and write those that are missing or others."""
    known = {one.folder: one for one in gold.versions(workspace)}
    aside = workspace.backups / f"{stamp()}-releases"
    for folder in sorted(workspace.releases.iterdir()) if workspace.releases.is_dir() else ():
        if folder.name.startswith("."):
            continue
        version = known.get(folder.name)
        try:
            same = version is not None and folder.is_dir() and verify(folder).digest == version.digest
        except AnnotatorError:
            same = False
        if not same:
            aside.mkdir(parents=True, exist_ok=True)
            folder.rename(aside / folder.name)
    for version in known.values():
        gold.ensure_folder(workspace, version.version)


def _refuse_to_replace(workspace: Workspace, path: Path) -> None:
    if path.is_dir():
        raise Conflict(f"{path} is a folder.", hint="Name the file to write.")
    if not path.parent.is_dir():
        raise NotFound(f"There is no folder {path.parent}.", hint="Make it first.")
    if not path.exists():
        return
    if workspace.database.exists() and path.samefile(workspace.database):
        raise Conflict("That is the workspace's own database.", hint="Name another file.")
    try:
        with closing(snapshot.open_copy(path)) as connection:
            backup = snapshot.schema_of(connection) > 0
    except StoreError:
        backup = False
    if not backup:
        raise Conflict(f"{path} exists and is no backup; it was not written over.", hint="Name another file.")


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give the name of a file to build in, in the folder of the final one; gone afterwards unless it was renamed."""
    folder = Path(tempfile.mkdtemp(prefix=".backup-", dir=path.parent))
    try:
        yield folder / "building.db"
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
