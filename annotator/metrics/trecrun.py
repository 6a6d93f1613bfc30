"""Runs in TREC's six columns: quickly where every line is regular, line by line where one is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import groupby
from typing import Final

from annotator.gold.tablefile import trec_rows
from annotator.metrics.runcontent import Rows, RunContent, add_by_score, add_written

__all__ = ["read_regular_trec", "read_trec"]

BLOCK: Final = 1 << 14
"""Characters split at once: few enough that the pieces stay in the processor's cache (measured, 8-32 thousand)."""


def read_regular_trec(path: str) -> tuple[RunContent, str] | None:
    """Read a file that is a regular TREC run in ASCII, with the SHA-256 of its bytes; None when it is anything else.

    It is never in memory as a whole. Whatever is wrong with the file is told by the careful reading that follows None.
    """
    content, digest = RunContent(path), sha256()

    def blocks() -> Iterator[str]:
        with open(path, "rb") as file:
            while data := file.read(BLOCK):
                data += file.readline()
                digest.update(data)
                yield data.decode("ascii")

    try:
        regular = _add_regular(content, blocks()) and not content.problems
    except (OSError, UnicodeDecodeError):
        return None
    return (content.finish(), digest.hexdigest()) if regular else None


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


def _add_regular(content: RunContent, blocks: Iterable[str]) -> bool:
    """Take blocks of whole lines in six columns with one and the same separator; False when one is not like that.

    Splitting a block of lines at once is several times cheaper than line by line. With five separators a line, the
    pieces at 5, 10, … are the tag, the line end and the next query; anything irregular shows there or in the count.
    """
    separator = ""
    query_id = ""
    chunk_ids: list[str] = []
    scores: list[float] = []
    for block in blocks:
        if not block.endswith("\n"):
            block += "\n"
        if not separator:
            separator, other = ("\t", " ") if block.count("\t", 0, block.find("\n")) == 5 else (" ", "\t")
        pieces = block.split(separator)
        # two separators in a row leave a column empty, or mean nothing where any white space separates
        if len(pieces) != 5 * block.count("\n") + 1 or other in block or separator * 2 in block:
            return False
        written = pieces[4::5]
        try:
            numbers = list(map(float, written))
        except ValueError:
            return False
        if not pieces[-1].strip():
            return False
        if "_" in block and "_" in "".join(written):
            return False
        named = pieces[2::5]
        place = 0
        for head, group in groupby([f"tag\n{pieces[0]}", *pieces[5:-1:5]]):
            tag, _, query = head.partition("\n")
            if not tag.strip() or not query or "\n" in query or query.startswith("#"):
                return False
            if query != query_id:
                if chunk_ids:
                    content.add(query_id, chunk_ids, scores)
                query_id, chunk_ids, scores = query, [], []
            until = place + len(list(group))
            chunk_ids += named[place:until]
            scores += numbers[place:until]
            place = until
    if chunk_ids:
        content.add(query_id, chunk_ids, scores)
    return bool(chunk_ids)
