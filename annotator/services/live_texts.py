"""What stands in the live table at this moment of chunks and texts that were judged; nothing is taken over or kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from annotator.errors import InputError
from annotator.model import Chunk, text_hash
from annotator.services.chunk_table import STAMP, as_chunk, connected
from annotator.store import settings
from annotator.store.database import Workspace
from annotator.tables import Reading, Stamped

__all__ = ["Standing", "standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Chunks of the live table by id, and by the hash of their text."""

    by_id: dict[str, Chunk] = field(default_factory=dict)
    by_text: dict[str, list[Chunk]] = field(default_factory=dict)


def standing(workspace: Workspace, ids: Collection[str], hashes: Collection[str]) -> Standing | None:
    """Read the live table once, for the chunks with these ids and those with these texts.

    None when its files are still those of the last sync. Raises NotFound when none is connected, InputError when it
    cannot be read, or has a fault or an id with two texts: then only a sync can say what counts.
    """
    live, columns, source = connected(workspace)
    if isinstance(live, Stamped):
        with workspace.read() as connection:
            if settings.get(connection, STAMP, {}) == {"url": source, "stamp": live.stamp()}:
                return None
    found = Standing()
    for batch in Reading(live, columns).batches():
        if batch.problems:
            raise InputError(f"{live.name} has faults.", problems=batch.problems[:1], hint="`sync` lists them all.")
        for row in batch.rows:
            named, sha256 = row[1] in ids, text_hash(row[2])
            if not named and sha256 not in hashes:
                continue
            chunk = as_chunk(row)
            if named and found.by_id.setdefault(chunk.chunk_id, chunk).text != chunk.text:
                raise InputError(f"{live.name} has {chunk.chunk_id!r} twice, with different texts.", hint="Sync first.")
            # a row may come twice
            if sha256 in hashes and all(chunk.chunk_id != one.chunk_id for one in found.by_text.get(sha256, ())):
                found.by_text.setdefault(sha256, []).append(chunk)
    return found
