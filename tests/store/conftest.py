"""A way to fill the mirror of the chunk table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from annotator.model import Chunk
from annotator.store.database import Workspace
from annotator.store.sync import Duplicates, SourceRow, SyncResult, staging

Mirror = Callable[..., SyncResult]


@pytest.fixture
def mirror(workspace: Workspace) -> Mirror:
    """Sync these chunks, in batches of three."""

    def sync(chunks: Sequence[Chunk], duplicates: Duplicates = "refuse") -> SyncResult:
        rows = [source_row(place, chunk) for place, chunk in enumerate(chunks, 1)]
        with staging(workspace, duplicates) as gathered:
            for start in range(0, len(rows), 3):
                gathered.add(rows[start : start + 3])
            assert not gathered.conflicts
            return gathered.apply("test", "ann")

    return sync


def source_row(place: int, chunk: Chunk) -> SourceRow:
    metadata = msgspec.json.encode(chunk.metadata, order="sorted").decode()
    content = "\0".join((chunk.chunk_id, chunk.doc_id, chunk.title, str(chunk.position), metadata, chunk.text))
    return (place, chunk.chunk_id, chunk.text, chunk.doc_id, chunk.title, chunk.position, metadata, content.encode())
