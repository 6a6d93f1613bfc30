"""Runs in TREC's six columns: quickly where every line is regular, line by line where one is not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import file_digest
from itertools import chain, count, groupby, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Final

from annotator.gold.tablefile import trec_rows
from annotator.metrics.beside import beside
from annotator.metrics.ranking import best_first
from annotator.metrics.runcontent import Rows, RunContent, add_by_score, add_written
from annotator.model import RunQuery, id_fault

if TYPE_CHECKING:
    from annotator.metrics.runcontent import Kept

__all__ = ["read_regular_trec", "read_trec"]

BLOCK: Final = 1 << 15
"""Bytes split at once: few enough that the pieces stay in the processor's cache (measured, 16-64 thousand)."""
PART: Final = 1 << 22
"""Bytes worth a process of their own."""
_VISIBLE: Final = bytes(range(0x21, 0x7F))
_Part = tuple[list[str], list[str], dict[str, tuple[tuple[str, ...], tuple[float, ...], dict[str, int]]]]
"""What a part of a file says: the queries listed in another order, those with narrow gaps, and for every query what is
kept of its list: chunks, scores, and the ranks of judged chunks below."""


def read_regular_trec(path: str, kept: Kept | None = None) -> tuple[RunContent, str] | None:
    """Read a file that is a regular TREC run in ASCII, with the SHA-256 of its bytes; None when it is anything else.

    It is never in memory as a whole. With `kept`, neither are its lists, and copies of this process read parts of a
    large file. Whatever is wrong with the file is told by the careful reading that follows None.
    """
    content = RunContent(path)
    try:
        before = _state(path)
        cuts = _cuts(path, before[0]) if kept else [0, before[0]]
        here, *elsewhere = [partial(_read_part, path, start, end, kept) for start, end in pairwise(cuts)]
        large = bool(elsewhere)
        with beside(elsewhere, large) as parts, beside([partial(_digest, path)], large) as digests:
            for part in chain([here()], parts):
                if part is None or not content.queries.keys().isdisjoint(part[2]):
                    return None
                content.reordered += len(part[0])
                content.narrow += part[1]
                for query_id, (chunk_ids, scores, below) in part[2].items():
                    content.queries[query_id] = RunQuery(query_id, chunk_ids, scores, below=below)
            digest = next(digests)
        # what was read in several goes must have been one and the same
        if digest is None or _state(path) != before:
            return None
    except OSError:
        return None
    return content.finish(), digest


def read_trec(text: str, file: str) -> RunContent:
    """Read a TREC run line by line. Raises InputError listing every fault."""
    content = RunContent(file)
    rows: dict[str, Rows] = {}
    longer = 0
    for line, columns in trec_rows(text):
        if len(columns) < 6:
            mend = "A TREC run has six: query, Q0, chunk, rank, score, tag; a table needs a header."
            content.fault(f"{len(columns)} columns instead of 6", line, value=" ".join(columns), mend=mend)
            continue
        longer += len(columns) > 6
        add_written(content, rows, columns[0], columns[2], columns[4], line)
    if longer:
        content.warnings.append(f"{longer} lines have more than six columns; the rest of those lines is ignored.")
    if not rows and not content.problems:
        content.fault("the run is empty", None)
    return add_by_score(content, rows)


def _state(path: str) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _cuts(path: str, size: int) -> list[int]:
    """Places to cut a file into parts, from 0 to its size: where a line begins that has another query."""
    parts = min(os.cpu_count() or 1, size // PART)
    cuts, cut = {size}, 0
    with open(path, "rb") as file:
        for part in range(1, parts):
            if (place := size * part // parts) < cut:  # a long list, or no run at all: its end was looked for before
                continue
            file.seek(place)
            file.readline()
            query = file.readline().split(None, 1)[:1]
            while (line := file.readline()) and line.split(None, 1)[:1] == query:
                pass
            cuts.add(cut := file.tell() - len(line))
    return [0, *sorted(cuts)]


def _blocks(path: str, start: int, end: int) -> Iterator[bytes]:
    """Read blocks of whole lines, from one beginning of a line to another."""
    with open(path, "rb") as file:
        file.seek(start)
        while start < end:
            block = file.read(min(BLOCK, end - start))
            if not block.endswith(b"\n"):
                block += file.readline()
            yield block
            start += len(block) or end


def _read_part(path: str, start: int, end: int, kept: Kept | None) -> _Part | None:
    """Read whole lines in six columns with one and the same separator; None when one is not like that.

    Splitting a block of lines at once is several times cheaper than line by line. With five separators a line, the
    pieces at 5, 10, … are the tag, the line end and the next query; without anything visible a block is nothing but
    five separators and a line end, again and again.
    """
    part: _Part = [], [], {}
    separator = b""
    query_id = b""
    chunk_ids: list[bytes] = []
    scores: list[float] = []
    for block in _blocks(path, start, end):
        if not block.endswith(b"\n"):
            block += b"\n"
        if not separator:
            if block.startswith(b"{"):  # JSON may have five spaces a line as well
                return None
            separator = b"\t" if block.count(b"\t", 0, block.find(b"\n")) == 5 else b" "
            line = separator * 5 + b"\n"
        rest = block.translate(None, _VISIBLE)
        if rest != line * (len(rest) // 6):
            return None
        pieces = block.split(separator)
        # two separators in a row leave a column empty, or mean nothing where any white space separates
        if b"" in pieces[1::5] or b"" in pieces[3::5]:
            return None
        written = pieces[4::5]
        try:
            numbers = list(map(float, written))
        except ValueError:
            return None
        if b"_" in block and b"_" in b"".join(written):
            return None
        named = pieces[2::5]
        place = 0
        for head, group in groupby([b"tag\n" + pieces[0], *pieces[5:-1:5]]):
            tag, _, query = head.partition(b"\n")
            if not tag or not query or query.startswith(b"#"):
                return None
            if query != query_id:
                if chunk_ids and not _add(part, query_id, chunk_ids, scores, kept):
                    return None
                query_id, chunk_ids, scores = query, [], []
            until = place + len(list(group))
            chunk_ids += named[place:until]
            scores += numbers[place:until]
            place = until
        if pieces[-1] == b"\n":
            return None
    return part if chunk_ids and _add(part, query_id, chunk_ids, scores, kept) else None


def _add(part: _Part, query: bytes, chunk_ids: Sequence[bytes], scores: Sequence[float], kept: Kept | None) -> bool:
    """Take one query's list; False when something is wrong with it."""
    query_id = query.decode("ascii")
    moved, narrow, lists = part
    if query_id in lists or id_fault(query_id) or not isfinite(sum(scores)):
        return False
    ranked = best_first(chunk_ids, scores)
    ranks = dict(zip(ranked.chunk_ids, count(1), strict=False))
    if len(ranks) < len(chunk_ids) or b"" in ranks:
        return False
    if ranked.moved:
        moved.append(query_id)
    if ranked.narrow:
        narrow.append(query_id)
    if kept is None:
        lists[query_id] = tuple(b" ".join(ranked.chunk_ids).decode("ascii").split(" ")), ranked.scores, {}
        return True
    judged = [chunk_id.encode("utf-8", "surrogatepass") for chunk_id in kept.judged.get(query_id, ())]
    deep = sorted([ranks[chunk_id] for chunk_id in judged if chunk_id in ranks])
    lists[query_id] = (
        tuple([chunk_id.decode("ascii") for chunk_id in ranked.chunk_ids[: kept.depth]]),
        ranked.scores[: kept.depth],
        {ranked.chunk_ids[rank - 1].decode("ascii"): rank for rank in deep if rank > kept.depth},
    )
    return True
