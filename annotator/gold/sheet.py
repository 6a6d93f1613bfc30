"""The CSV of a gold set for people: one row a label, safe to open in a spreadsheet, and read back exactly.

A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`. Such cells get an apostrophe in front, and lose it when
a file with this header is read; cells of other files are nobody's to change.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Final

from annotator.model import GRADES

__all__ = ["HEADER", "harmless", "is_sheet", "original", "sheet", "sheet_rows"]

HEADER: Final = (
    *("query_id", "question", "notes", "unanswerable", "chunk_id", "grade", "meaning"),
    *("stale", "reason", "evidence", "doc_id", "settled_by", "sha256"),
)
"""The columns; those of the facets come after them."""

_NO_LABEL: Final = ("",) * (len(HEADER) - 4)
_RUNS: Final = re.compile(r"[\s']*[=+\-@＝＋－＠\t\r\n]")
"""What a spreadsheet may run, or has been made harmless before: so that taking one apostrophe away is exact."""


def sheet(queries: Iterable[Mapping[str, Any]]) -> bytes:
    """Write rows of `gold.jsonl` in UTF-8 with byte-order mark; a query without labels has a row without chunk_id."""
    asked = list(queries)
    facets = sorted({facet for row in asked for facet in row["slice"]})
    target = StringIO(newline="")
    writer = csv.writer(target, lineterminator="\r\n")
    writer.writerow([*HEADER, *map(harmless, facets)])
    for row in asked:
        query = (row["query_id"], row["question"], row.get("notes", ""), "yes" if row.get("unanswerable") else "")
        values = [row["slice"].get(facet, "") for facet in facets]
        for cells in map(_cells, row["gold"]) if row["gold"] else [_NO_LABEL]:
            writer.writerow(map(harmless, (*query, *cells, *values)))
    return b"\xef\xbb\xbf" + target.getvalue().encode()


def _cells(label: Mapping[str, Any]) -> tuple[str, ...]:
    grade = label["relevance"]
    evidence = json.dumps(label["evidence"], ensure_ascii=False) if "evidence" in label else ""
    return (
        *(label["chunk_id"], str(grade), GRADES[grade], "yes" if label.get("stale") else "", label.get("reason", "")),
        *(evidence, label.get("doc_id", ""), label.get("settled_by", ""), label["sha256"]),
    )


def harmless(cell: str) -> str:
    """Return the cell so that no spreadsheet runs it as a formula."""
    return f"'{cell}" if _RUNS.match(cell) else cell


def original(cell: str) -> str:
    """Return the cell that `harmless` made this of."""
    return cell[1:] if cell.startswith("'") and _RUNS.match(cell, 1) else cell


def is_sheet(header: Sequence[str]) -> bool:
    """Say whether a table with this header was written by `sheet`."""
    return tuple(header[: len(HEADER)]) == HEADER


def sheet_rows(
    header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, query with its labels as in the native form) from (line, cells as wide as the header).

    Rows that ask the same, one after another, are one query; its `gold` are its labels, as (line, label).
    """
    facets = [original(cell) for cell in header[len(HEADER) :]]
    begun: tuple[int, list[str], dict[str, Any]] | None = None
    for line, row in rows:
        cells = [original(cell) for cell in row]
        asked = cells[:4] + cells[len(HEADER) :]
        if begun is None or begun[1] != asked:
            if begun:
                yield begun[0], begun[2]
            begun = line, asked, _query(asked, facets)
        if any(cells[4 : len(HEADER)]):
            begun[2]["gold"].append((line, _label(cells)))
    if begun:
        yield begun[0], begun[2]


def _query(cells: Sequence[str], facets: Sequence[str]) -> dict[str, Any]:
    row = {**dict(zip(HEADER[:3], cells, strict=False)), "unanswerable": _flag(cells[3])}
    return {**row, "slice": {name: value for name, value in zip(facets, cells[4:], strict=True) if value}, "gold": []}


def _label(cells: Sequence[str]) -> dict[str, Any]:
    values = dict(zip(HEADER, cells, strict=False))
    filled = {name: values[name] for name in ("reason", "doc_id", "settled_by", "sha256") if values[name]}
    label = {"chunk_id": values["chunk_id"], "relevance": values["grade"], "stale": _flag(values["stale"]), **filled}
    if values["evidence"]:
        try:
            label["evidence"] = json.loads(values["evidence"])
        except ValueError:  # somebody typed a quote
            label["evidence"] = values["evidence"]
    return label


def _flag(cell: str) -> object:
    return {"yes": True, "": False}.get(cell, cell)
