"""Making a workspace, empty or filled with the demo, and finding the one the app works on."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from annotator.errors import Conflict, StoreError
from annotator.model import Person
from annotator.services.project import project_root
from annotator.store import people
from annotator.store.database import Workspace

__all__ = ["Workspace", "default_home", "find_workspace", "init", "project_root"]


def default_home() -> Path:
    """Return the workspace folder that is used when none is named."""
    return project_root() / "data" / "workspace"


def find_workspace() -> Workspace:
    """Return the workspace named by ANNOTATOR_HOME, or the default one; it may not exist yet."""
    named = os.environ.get("ANNOTATOR_HOME")
    return Workspace(Path(named).expanduser() if named else default_home())


def init(home: Path, *, who: str = "", demo: bool = False) -> Workspace:
    """Make a workspace with `who` as its first admin, all or nothing: it appears when it is complete.

    Without `who` the first person to join becomes the admin. `demo` fills it with the sample data of the project.
    Raises Conflict when the folder holds anything already.
    """
    workspace = Workspace(home)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"The workspace folder {home} cannot be made: {error.strerror}.") from error
    with workspace.lock("init"):
        _refuse_occupied(workspace)
        building = Workspace(Path(tempfile.mkdtemp(prefix=".init-", dir=home)))
        try:
            building.create()
            with building.write() as connection:
                if who:
                    people.add(connection, Person(who, "admin"), who)
            if demo:
                from annotator.services.demo import fill

                fill(building, who or "demo")
            _move_in(building, workspace)
        finally:
            shutil.rmtree(building.home, ignore_errors=True)
    return workspace


def _refuse_occupied(workspace: Workspace) -> None:
    if workspace.exists:
        raise Conflict(f"There is a workspace in {workspace.home} already.", hint="Choose another folder with --home.")
    if any(not entry.name.startswith(".") for entry in workspace.home.iterdir()):
        raise Conflict(f"The folder {workspace.home} is not empty.", hint="Choose an empty or a new one with --home.")


def _move_in(building: Workspace, workspace: Workspace) -> None:
    """Move everything to its place, the database last: its appearance is what makes the workspace exist."""
    with closing(building.connect()) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for entry in sorted(building.home.iterdir(), key=lambda entry: entry == building.database):
        if not entry.name.endswith(".lock"):
            entry.rename(workspace.home / entry.name)
