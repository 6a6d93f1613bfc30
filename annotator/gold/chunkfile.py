"""Chunks of a run or a release read from a file, for what scoring needs of them: text and document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from annotator.errors import InputError, Problem
from annotator.gold.tablefile import find_columns, header_of, table_rows
from annotator.gold.textfile import name_of, read_text
from annotator.model import Chunk, id_fault

__all__ = ["read_chunks"]

FIELDS: Final = {
    "chunk_id": ("chunk_id", "id"),
    "text": ("text", "content", "document", "page_content"),
    "doc_id": ("doc_id", "document_id", "source"),
}


def read_chunks(path: str) -> dict[str, Chunk]:
    """Read chunks from JSONL or a table with a header (chunk_id, text, doc_id), also gzipped.

    Raises InputError listing every fault; the same id with another text is one.
    """
    text, path = read_text(path), name_of(path)
    chunks: dict[str, Chunk] = {}
    problems: list[Problem] = []
    for line, fields in _json_rows(text, path, problems) if text.lstrip().startswith("{") else _table_rows(text, path):
        named = {name: next((fields[key] for key in keys if key in fields), "") for name, keys in FIELDS.items()}
        fault = id_fault(named["chunk_id"])
        if fault:
            problems.append(Problem(fault, path, line, "chunk_id", str(named["chunk_id"])))
        elif not isinstance(named["text"], str) or not isinstance(named["doc_id"] or "", str):
            problems.append(Problem("text and doc_id are text", path, line))
        else:
            chunk = Chunk(str(named["chunk_id"]), named["text"], str(named["doc_id"] or ""))
            if chunks.setdefault(chunk.chunk_id, chunk) != chunk:
                problems.append(
                    Problem("this id is there with another text or document", path, line, "chunk_id", chunk.chunk_id)
                )
    if problems or not chunks:
        raise InputError(
            f"{path} cannot be used as chunks.", problems=problems, hint="" if problems else "It has none."
        )
    return chunks


def _json_rows(text: str, path: str, problems: list[Problem]) -> list[tuple[int, Mapping[str, object]]]:
    rows: list[tuple[int, Mapping[str, object]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(f"not JSON: {error}", path, number))
            continue
        if isinstance(row, dict):
            rows.append((number, row))
        else:
            problems.append(Problem("not a chunk: an object is expected", path, number))
    return rows


def _table_rows(text: str, path: str) -> list[tuple[int, Mapping[str, object]]]:
    columns = find_columns(header_of(text), FIELDS)
    if "chunk_id" not in columns:
        raise InputError(f"{path} has no column chunk_id.", hint="Give JSONL, or a table with a header.")
    return [
        (line, {name: cells[place] for name, place in columns.items() if place < len(cells)})
        for line, cells in table_rows(text, path)
    ]
