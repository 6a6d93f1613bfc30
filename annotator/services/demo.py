"""Fills a new workspace with the demo: a chunk table, questions, what people said about them, sample runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from annotator.errors import NotFound
from annotator.services import chunk_table
from annotator.services.importing import import_judgments, import_queries, import_run
from annotator.services.project import project_root
from annotator.store import settings
from annotator.store.database import Workspace

__all__ = ["fill"]

_FOLDER: Final = Path("data", "demo")


def fill(workspace: Workspace, who: str) -> None:
    """Fill an empty workspace. Raises NotFound when the demo is not there."""
    folder = project_root() / _FOLDER
    if not folder.is_dir():
        raise NotFound(f"The demo is not there: {folder} is missing.", hint="It comes with a checkout of the project.")
    chunk_table.connect(workspace, who, f"sqlite:///{folder / 'chunks.db'}")
    chunk_table.sync(workspace, who)
    import_queries(workspace, who, folder / "queries.jsonl")
    import_judgments(workspace, who, folder / "judgments.jsonl")
    import_judgments(workspace, who, folder / "adjudications.jsonl")
    for path in sorted(folder.glob("runs/*.jsonl")):
        import_run(workspace, who, path, name=path.stem)
    with workspace.write() as connection:
        table = settings.get(connection, "table")
        # relative to the project, so that a checkout that was moved or copied still finds its chunk table
        settings.put(connection, "table", {**table, "url": f"sqlite:///{(_FOLDER / 'chunks.db').as_posix()}"})
        settings.put(connection, "name", "kelderwyn")
        settings.put(connection, "rubric", {"version": 1, "text": (folder / "rubric.md").read_text("utf-8")})
        settings.put(connection, "gate", {"text": (folder / "gate.yaml").read_text("utf-8")})
