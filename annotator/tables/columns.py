"""Describes the columns of a table by their first rows, and guesses which column holds what from usual names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from annotator.errors import shorten
from annotator.tables.table import FIELDS, Column, Columns

__all__ = ["HIDDEN", "as_object", "describe", "guess", "is_metadata_name", "is_row_key", "path", "remaining"]

_USUAL_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "chunk_id": (
        *("chunk_id", "node_id", "passage_id", "langchain_id", "custom_id", "embedding_id", "segment_id", "uid"),
        *("uuid", "id", "_id", "point_id", "row_id", "key", "docno", "pid"),
    ),
    "text": (
        *("text", "chunk_text", "content", "page_content", "chunk_content", "contents", "document", "body"),
        *("passage", "chunk", "raw_text", "content_with_weight", "segment"),
    ),
    "doc_id": (
        *("doc_id", "document_id", "ref_doc_id", "docid", "doc", "file_id", "source_id", "parent_id", "source"),
        *("file_name", "filename", "file_path", "file", "path", "url", "document"),
    ),
    "title": ("title", "section", "heading", "section_title", "header", "headline", "doc_title", "document_title"),
    "position": (
        *("position", "chunk_index", "ord", "ordinal", "split_id", "chunk_number", "chunk_no", "chunk_position"),
        *("seq", "sequence", "idx", "index"),
    ),
}
_METADATA_NAMES: Final = frozenset(
    (
        *("metadata", "meta", "cmetadata", "metadata_", "metadata_json", "meta_json", "langchain_metadata"),
        *("vmetadata", "chunk_metadata", "payload"),
    )
)
_ROW_KEYS: Final = frozenset(("id", "_id", "rowid", "row_id", "uuid", "embedding_id"))
HIDDEN: Final = frozenset(("_node_content", "_node_type"))
"""Keys of a metadata object that hold the retrieval library's own copy of the chunk."""

_FIELD_WORDS: Final = {"chunk_id": "chunk ids", "text": "texts", "doc_id": "documents", "title": "titles"}
_VECTOR_TEXT: Final = re.compile(r"\s*\[[\d.eE+\-\s]+,[\d.eE+\-,\s]+\]\s*")
_INTEGER: Final = re.compile(r"\s*[+-]?\d+(\.0+)?\s*")


def as_object(value: object) -> dict[str, object] | None:
    """Return the value as an object if it is one, or text (also in a blob) that is a JSON object."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (str, bytes)) and value[:1] in ("{", b"{"):
        try:
            decoded = msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            try:  # the standard library takes NaN, which Python itself writes
                decoded = json.loads(value)
            except (ValueError, RecursionError):
                return None
        return decoded if isinstance(decoded, dict) else None
    return None


def is_metadata_name(name: str) -> bool:
    """Say whether the column's name is usual for a metadata object."""
    return _plain(name) in _METADATA_NAMES


def is_row_key(name: str) -> bool:
    """Say whether the column looks like the row's own key, or is a library's copy: no metadata when left over."""
    return _plain(name) in _ROW_KEYS | HIDDEN


def path(name: str, columns: Sequence[Column]) -> tuple[str, ...]:
    """Split a column name into the column and the key inside it; () when there is no such column.

    A column whose own name has a dot comes first: `("meta.page",)` rather than `("meta", "page")`.
    """
    own = {column.name for column in columns if not _is_key(column, columns)}
    if name in own:
        return (name,)
    base, dot, key = name.partition(".")
    return (base, key) if dot and base in own else ()


def describe(names: Iterable[str], rows: Sequence[Mapping[str, object]]) -> list[Column]:
    """Describe the columns by these rows; an object that looks like metadata is followed by its keys."""
    found: list[Column] = []
    for name in names:
        values = [row[name] for row in rows if row.get(name) is not None]
        column = _describe(name, values)
        found.append(column)
        if column.kind == "object" and is_metadata_name(name):
            objects = [as_object(value) or {} for value in values]
            for key in dict.fromkeys(key for each in objects for key in each if key not in HIDDEN):
                found.append(_describe(f"{name}.{key}", [each[key] for each in objects if each.get(key) is not None]))
    return found


def guess(columns: Sequence[Column], given: Mapping[str, str]) -> tuple[Columns, dict[str, str]]:
    """Map every field not `given` to a column with a usual name, never one column twice.

    Columns of the table itself come before keys of a metadata object. Returns the mapping and, by field, the reason.
    """
    chosen = dict(given)
    reasons = dict.fromkeys(given, "as you said")
    for field in FIELDS:
        if field in chosen:
            continue
        taken = set(chosen.values())
        found = next((column for column in _candidates(field, columns) if column.name not in taken), None)
        chosen[field] = found.name if found else ""
        if found:
            what = _FIELD_WORDS.get(field, "the place in the document")
            reasons[field] = f"`{found.name}` is a usual name for {what}"
    chunk_id, text, doc_id, title, position = (chosen[field] for field in FIELDS)
    return Columns(chunk_id, text, doc_id, title, position), reasons


def remaining(columns: Sequence[Column], mapped: Columns) -> list[str]:
    """Name the columns that become metadata when none are named: scalars and metadata objects, nothing mapped.

    Left out: vectors, blobs, other objects, and the row's own key when another column is the chunk id.
    """
    taken = {getattr(mapped, field) for field in FIELDS}
    return [
        column.name
        for column in columns
        if column.name not in taken
        and not is_row_key(column.name)
        and not _is_key(column, columns)
        and (column.kind in ("text", "number") or (column.kind == "object" and is_metadata_name(column.name)))
    ]


def _candidates(field: str, columns: Sequence[Column]) -> list[Column]:
    names = _USUAL_NAMES[field]
    ranked = []
    for column in columns:
        inner = _is_key(column, columns)
        # Chunk ids and texts inside the metadata are copies or leftovers more often than the real thing.
        if (inner and field in ("chunk_id", "text")) or not _fits(field, column):
            continue
        name = _plain(column.name.partition(".")[2] if inner else column.name)
        if name in names:
            ranked.append((inner, names.index(name), column))
    return [column for _, _, column in sorted(ranked, key=lambda each: each[:2])]


def _fits(field: str, column: Column) -> bool:
    if field == "position":
        return column.kind == "number" or (not column.example or bool(_INTEGER.fullmatch(column.example)))
    return column.kind == "text" or (column.kind == "number" and field in ("chunk_id", "doc_id"))


def _is_key(column: Column, columns: Sequence[Column]) -> bool:
    """Say whether it is a key inside an object column rather than a column whose own name has a dot."""
    base = column.name.partition(".")[0]
    return base != column.name and any(other.name == base and other.kind == "object" for other in columns)


def _describe(name: str, values: Sequence[object]) -> Column:
    kinds = {_kind(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else "text"
    example = values[0] if values else ""
    return Column(name, kind, example[:200] if isinstance(example, str) else shorten(example))


def _kind(value: object) -> str:
    if as_object(value) is not None:
        return "object"
    if isinstance(value, (bytes, memoryview)):
        return "blob"
    if isinstance(value, list) or (isinstance(value, str) and _VECTOR_TEXT.fullmatch(value)):
        return "vector"
    return "number" if isinstance(value, (int, float)) else "text"


def _plain(name: str) -> str:
    """Bring `chunkId`, `Chunk ID` and `chunk-id` to `chunk_id`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-]+", "_", apart).lower()
