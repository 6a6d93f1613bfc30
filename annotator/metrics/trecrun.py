"""Runs in TREC's six columns: quickly where every line is regular, line by line where one is not."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from annotator.gold.tablefile import trec_rows
from annotator.metrics.runcontent import Rows, RunContent, add_by_score, add_written

__all__ = ["read_trec"]

BLOCK: Final = 1 << 14
"""Characters split at once: few enough that the pieces stay in the processor's cache (measured, 8-32 thousand)."""


def read_trec(text: str, file: str) -> RunContent:
    """Read a TREC run. Raises InputError listing every fault."""
    content = RunContent(file)
    if _add_regular_trec(content, text) and not content.problems:
        return content.finish()
    content = RunContent(file)  # irregular or faulty: once more, line by line, to name the lines
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


def _add_regular_trec(content: RunContent, text: str) -> bool:
    """Read a TREC run of six columns with one and the same separator, query after query; False when it is not one.

    Splitting a block of lines at once is several times cheaper than line by line. With five separators a line, the
    pieces at 5, 10, … are the tag, the line end and the next query; anything irregular shows there or in the count,
    and has to go the careful way, which names its faults.
    """
    separator, other = ("\t", " ") if text.count("\t", 0, text.find("\n")) == 5 else (" ", "\t")
    query_id = ""
    chunk_ids: list[str] = []
    scores: list[float] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start + BLOCK) + 1 or len(text)
        block = text[start:end]
        start = end
        if not block.endswith("\n"):
            block += "\n"
        pieces = block.split(separator)
        if len(pieces) != 5 * block.count("\n") + 1 or other in block or not block.isascii():
            return False
        written = pieces[4::5]
        try:
            numbers = list(map(float, written))
        except ValueError:
            return False
        if "" in pieces[1::5] or "" in pieces[3::5] or not pieces[-1].strip():
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
    content.add(query_id, chunk_ids, scores)
    return True
