"""Workspaces filled with the chunks a test names, through a real sync."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from annotator.model import Chunk
from annotator.store.database import Workspace
from annotator.store.sync import staging

Fill = Callable[[Workspace, Iterable[Chunk]], None]


def sync(workspace: Workspace, chunks: Iterable[Chunk]) -> None:
    """Make the mirror hold exactly these chunks."""
    with staging(workspace, "refuse") as staged:
        rows = []
        for place, one in enumerate(chunks):
            metadata = json.dumps(dict(one.metadata), sort_keys=True, ensure_ascii=False)
            content = json.dumps([one.text, one.doc_id, one.title, one.position, metadata]).encode()
            rows.append((place, one.chunk_id, one.text, one.doc_id, one.title, one.position, metadata, content))
            if len(rows) == 500:
                staged.add(rows)
                rows = []
        staged.add(rows)
        staged.apply("test", "tester")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace."""
    made = Workspace(tmp_path / "home")
    made.create()
    return made


@pytest.fixture
def filled(workspace: Workspace) -> Callable[..., Workspace]:
    """Give a function that makes the workspace hold the chunks given, as Chunk or as bare texts `c0`, `c1` …"""

    def fill(*chunks: Chunk | str) -> Workspace:
        sync(
            workspace,
            [one if isinstance(one, Chunk) else Chunk(f"c{place}", one) for place, one in enumerate(chunks)],
        )
        return workspace

    return fill
