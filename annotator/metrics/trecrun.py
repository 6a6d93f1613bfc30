"""Runs in TREC's six columns: quickly where every line is regular, line by line where one is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import count, groupby
from math import isfinite
from typing import TYPE_CHECKING, BinaryIO, Final

from annotator.gold.tablefile import trec_rows
from annotator.metrics.ranking import best_first
from annotator.metrics.runcontent import Rows, RunContent, add_by_score, add_written
from annotator.model import RunQuery, id_fault

if TYPE_CHECKING:
    from threading import Thread

    from annotator.metrics.runcontent import Kept

__all__ = ["read_regular_trec", "read_trec"]

BLOCK: Final = 1 << 15
"""Bytes split at once: few enough that the pieces stay in the processor's cache (measured, 16-64 thousand)."""
_SLAB: Final = 1 << 22
"""Bytes read and hashed at once: enough that handing them to another thread costs nothing."""
_VISIBLE: Final = bytes(range(0x21, 0x7F))


def read_regular_trec(path: str, kept: Kept | None = None) -> tuple[RunContent, str] | None:
    """Read a file that is a regular TREC run in ASCII, with the SHA-256 of its bytes; None when it is anything else.

    It is never in memory as a whole; with `kept`, neither are its lists. Whatever is wrong with the file is told by
    the careful reading that follows None.
    """
    content, digest = RunContent(path), sha256()
    try:
        with open(path, "rb") as file:
            if not _add_regular(content, _blocks(file, digest.update), kept):
                return None
    except OSError:
        return None
    return content.finish(), digest.hexdigest()


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


def _blocks(file: BinaryIO, hashed: Callable[[bytes], None]) -> Iterator[bytes]:
    """Read blocks of whole lines, while another thread hashes what was read. All is hashed when they are used up."""
    hashing: Thread | None = None
    while data := file.read(_SLAB):
        data += file.readline()
        if hashing is not None:
            hashing.join()
        if len(data) < _SLAB:
            hashed(data)
        else:
            from threading import Thread  # here, as most files are small

            hashing = Thread(target=hashed, args=(data,))
            hashing.start()
        start = 0
        while start < len(data):
            end = data.find(b"\n", start + BLOCK) + 1 or len(data)
            yield data[start:end]
            start = end
    if hashing is not None:
        hashing.join()


def _add_regular(content: RunContent, blocks: Iterable[bytes], kept: Kept | None) -> bool:
    """Take blocks of whole lines in six columns with one and the same separator; False when one is not like that.

    Splitting a block of lines at once is several times cheaper than line by line. With five separators a line, the
    pieces at 5, 10, … are the tag, the line end and the next query; without anything visible a block is nothing but
    five separators and a line end, again and again.
    """
    separator = b""
    query_id = b""
    chunk_ids: list[bytes] = []
    scores: list[float] = []
    for block in blocks:
        if not block.endswith(b"\n"):
            block += b"\n"
        if not separator:
            if block.startswith(b"{"):  # JSON may have five spaces a line as well
                return False
            separator = b"\t" if block.count(b"\t", 0, block.find(b"\n")) == 5 else b" "
            line = separator * 5 + b"\n"
        rest = block.translate(None, _VISIBLE)
        if rest != line * (len(rest) // 6):
            return False
        pieces = block.split(separator)
        # two separators in a row leave a column empty, or mean nothing where any white space separates
        if b"" in pieces[1::5] or b"" in pieces[3::5]:
            return False
        written = pieces[4::5]
        try:
            numbers = list(map(float, written))
        except ValueError:
            return False
        if b"_" in block and b"_" in b"".join(written):
            return False
        named = pieces[2::5]
        place = 0
        for head, group in groupby([b"tag\n" + pieces[0], *pieces[5:-1:5]]):
            tag, _, query = head.partition(b"\n")
            if not tag or not query or query.startswith(b"#"):
                return False
            if query != query_id:
                if chunk_ids and not _add(content, query_id, chunk_ids, scores, kept):
                    return False
                query_id, chunk_ids, scores = query, [], []
            until = place + len(list(group))
            chunk_ids += named[place:until]
            scores += numbers[place:until]
            place = until
        if pieces[-1] == b"\n":
            return False
    return bool(chunk_ids) and _add(content, query_id, chunk_ids, scores, kept)


def _add(
    content: RunContent, query: bytes, chunk_ids: Sequence[bytes], scores: Sequence[float], kept: Kept | None
) -> bool:
    """Take one query's list; False when something is wrong with it."""
    query_id = query.decode("ascii")
    if query_id in content.queries or id_fault(query_id) or not isfinite(sum(scores)):
        return False
    ranked = content.ordered(query_id, best_first(chunk_ids, scores))
    ranks = dict(zip(ranked.chunk_ids, count(1), strict=False))
    if len(ranks) < len(chunk_ids) or b"" in ranks:
        return False
    if kept is None:
        names = tuple(b" ".join(ranked.chunk_ids).decode("ascii").split(" "))
        content.queries[query_id] = RunQuery(query_id, names, ranked.scores)
        return True
    judged = [chunk_id.encode("utf-8", "surrogatepass") for chunk_id in kept.judged.get(query_id, ())]
    deep = sorted([ranks[chunk_id] for chunk_id in judged if chunk_id in ranks])
    content.queries[query_id] = RunQuery(
        query_id,
        tuple([chunk_id.decode("ascii") for chunk_id in ranked.chunk_ids[: kept.depth]]),
        ranked.scores[: kept.depth],
        below={ranked.chunk_ids[rank - 1].decode("ascii"): rank for rank in deep if rank > kept.depth},
    )
    return True
