"""What a release holds, as its rows: the queries with their labels, and the chunks as judged; read for exports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from annotator.gold.release import rows

__all__ = ["LEVELS", "Chunks", "Unit", "chunk_rows", "query_rows", "units"]

LEVELS: Final = ("chunk", "document", "span")
"""What there is to find: labelled chunks, their documents, or the passages quoted as evidence."""

Chunks: TypeAlias = Mapping[tuple[str, str], Mapping[str, Any]]
"""Rows of chunks.jsonl by (chunk_id, sha256)."""


class Unit:
    """A thing to find for one query, with its grade and the texts it is made of, as (position, chunk_id, text)."""

    __slots__ = ("doc_id", "grade", "parts", "title", "unit_id")

    def __init__(self, unit_id: str, grade: int, title: str = "", doc_id: str = "") -> None:
        self.unit_id, self.grade, self.title, self.doc_id = unit_id, grade, title, doc_id
        self.parts: list[tuple[int, str, str]] = []


def query_rows(files: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    """Yield the rows of gold.jsonl, by query id."""
    return map(json.loads, rows(files["gold.jsonl"]))


def chunk_rows(files: Mapping[str, bytes]) -> Chunks:
    """Return the rows of chunks.jsonl."""
    found = map(json.loads, rows(files["chunks.jsonl"]))
    return {(row["chunk_id"], row["sha256"]): row for row in found}


def units(query: Mapping[str, Any], chunks: Chunks, level: str) -> list[Unit]:
    """Return what a query has to find at one of LEVELS, with grades.

    A document has the best grade of its chunks; a chunk without document stands for itself. A span is one quote of a
    relevant label, named CHUNK:START-END; labels without a quote, and irrelevant ones, stay the chunk.
    """
    found: dict[str, Unit] = {}
    for label in query["gold"]:
        chunk = chunks.get((label["chunk_id"], label["sha256"]), {})
        doc_id, text = label.get("doc_id", ""), chunk.get("text", "")
        named = [(label["chunk_id"], text)]
        if level == "document":
            named = [(doc_id or label["chunk_id"], text)]
        elif level == "span" and label["relevance"] > 0 and label.get("evidence"):
            named = [(f"{label['chunk_id']}:{one['start']}-{one['end']}", one["quote"]) for one in label["evidence"]]
        for unit_id, part in named:
            unit = found.setdefault(unit_id, Unit(unit_id, label["relevance"], chunk.get("title", ""), doc_id))
            unit.grade = max(unit.grade, label["relevance"])
            unit.parts.append((chunk.get("position") or 0, label["chunk_id"], part))
    return list(found.values())
