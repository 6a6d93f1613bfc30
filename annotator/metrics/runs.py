"""Runs as evaluation takes them: read from a file of any accepted form, or made of rankings already in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from os import PathLike

from annotator import model
from annotator.gold.textfile import decode, name_of, read_bytes, unpack
from annotator.metrics.runcontent import Kept
from annotator.metrics.runfiles import read_rankings, read_run
from annotator.metrics.trecrun import read_regular_trec

__all__ = ["Run"]


class Run(model.Run):
    """A ranked chunk list per query, with the ways to get one."""

    __slots__ = ()

    @classmethod
    def load(cls, path: str | PathLike[str], name: str = "", kept: Kept | None = None) -> Run:
        """Read a run: TREC, JSON, JSONL trace or a table with header, also gzipped; told by content.

        Without a name it is called as its header says, or as its file. With `kept`, the rest of long TREC lists may be
        left out. Raises InputError listing every fault.
        """
        place = os.fspath(path)
        # a pipe, as standard input is, can be read only once, so it goes the way that reads everything
        regular = read_regular_trec(place, kept) if place != "-" and os.path.isfile(place) else None
        if regular is None:
            return cls.from_bytes(read_bytes(place), name_of(place), name)
        content, digest = regular
        return cls(name or _stem(place), content.queries, {}, digest, tuple(content.warnings))

    @classmethod
    def from_bytes(cls, data: bytes, file: str, name: str = "") -> Run:
        """Read a run from the bytes of a file, for instance an uploaded one; `file` is its name in messages."""
        data = unpack(data, file)
        content = read_run(decode(data, file), file)
        called = name or str(content.meta.get("name") or _stem(file))
        return cls(called, content.queries, content.meta, sha256(data).hexdigest(), tuple(content.warnings))

    @classmethod
    def of(cls, rankings: Mapping[str, object], name: str = "run") -> Run:
        """Make a run of `{query_id: {chunk_id: score}}` or `{query_id: [chunk_id, …]}`, best first.

        Pairs `(chunk_id, score)` in the list do as well. Raises InputError listing every fault.
        """
        content = read_rankings(rankings, name)
        shown = repr([(q.query_id, q.chunk_ids, q.scores) for _, q in sorted(content.queries.items())])
        return cls(name, content.queries, {}, sha256(shown.encode()).hexdigest(), tuple(content.warnings))


def _stem(place: str) -> str:
    name = os.path.basename(place)
    for ending in (".gz", ".jsonl", ".json", ".trec", ".run", ".tsv", ".csv", ".txt"):
        name = name.removesuffix(ending)
    return name
