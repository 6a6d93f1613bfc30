"""Collections of a Chroma directory, read straight from its SQLite file: Chroma itself changes files when it reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from annotator.errors import Problem
from annotator.tables.choice import choose
from annotator.tables.columns import describe
from annotator.tables.sqlitefile import reading
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way

__all__ = ["CHROMA_FILE", "ChromaCollection", "chroma_names", "open_chroma"]

CHROMA_FILE: Final = "chroma.sqlite3"
_COLUMNS: Final = ("embedding_id", "document", "metadata")
_DOCUMENT: Final = "chroma:document"
_SAMPLED: Final = 100

Record = Mapping[str, object]


def open_chroma(folder: Path, name: str) -> ChromaCollection:
    """Open a collection; without a name, the only one. Raises InputError, or NotFound for an unknown name."""
    return choose(_collections(folder), name, folder.name)


def chroma_names(folder: Path) -> list[str]:
    """List the collections of the directory."""
    return [each.table for each in _collections(folder)]


@dataclass(frozen=True, slots=True)
class ChromaCollection:
    """One collection. Places are Chroma's own numbers of its records."""

    folder: Path
    table: str
    segment: str
    kind: str = "Chroma collection"
    open_ended: bool = False

    @property
    def name(self) -> str:
        return f"{self.folder.name}, collection {self.table}"

    def columns(self) -> list[Column]:
        return describe(_COLUMNS, self.sample(_SAMPLED))

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        records = (record for page in self._pages(limit) for record in page.values())
        return list(islice(records, limit))

    def count(self) -> int:
        with reading(self.folder / CHROMA_FILE) as connection:
            query = "SELECT COUNT(*) FROM embeddings WHERE segment_id = ?"
            return int(connection.execute(query, (self.segment,)).fetchone()[0])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for page in self._pages(BATCH_ROWS):
            yield Batch(list(page), [[record[name] for record in page.values()] for name in columns])

    def way(self, key: str) -> Way:
        return "index" if key == _COLUMNS[0] else "none"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        marks = ",".join("?" * len(ids))
        query = f"SELECT id, embedding_id FROM embeddings WHERE segment_id = ? AND {key} IN ({marks})"
        with reading(self.folder / CHROMA_FILE, seconds) as connection:
            numbers = connection.execute(query, (self.segment, *ids)).fetchall()
            # One by one: between two of them may lie most of the collection.
            found = [record for one in numbers for record in _records(connection, dict([one])).items()]
        return Batch([number for number, _ in found], [[record[name] for _, record in found] for name in columns])

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, record {place}", field=field, value=value, mend=mend)

    def _pages(self, size: int) -> Iterator[dict[int, Record]]:
        with reading(self.folder / CHROMA_FILE) as connection:
            last = -1
            while ids := self._ids(connection, last, size):
                yield _records(connection, ids)
                last = max(ids)

    def _ids(self, connection: sqlite3.Connection, last: int, size: int) -> dict[int, str]:
        query = "SELECT id, embedding_id FROM embeddings WHERE segment_id = ? AND id > ? ORDER BY id LIMIT ?"
        return dict(connection.execute(query, (self.segment, last, size)).fetchall())


def _collections(folder: Path) -> list[ChromaCollection]:
    """Find the collections; one whose name is in two databases is called by both names."""
    with reading(folder / CHROMA_FILE) as connection:
        found = connection.execute(
            "SELECT c.name, d.name, s.id FROM collections c JOIN segments s ON s.collection = c.id "
            "LEFT JOIN databases d ON d.id = c.database_id WHERE s.scope = 'METADATA' ORDER BY c.name, d.name"
        ).fetchall()
    names = [name for name, _, _ in found]
    return [
        ChromaCollection(folder, name if names.count(name) == 1 else f"{database}/{name}", segment)
        for name, database, segment in found
    ]


def _records(connection: sqlite3.Connection, ids: Mapping[int, str]) -> dict[int, Record]:
    """Put the values of these records together; they lie in rows of key and value, lists in a table of their own."""
    documents: dict[int, object] = dict.fromkeys(ids)
    metadata: dict[int, dict[str, object]] = {number: {} for number in ids}
    for number, key, value in _values(connection, "embedding_metadata", ids):
        if key == _DOCUMENT:
            documents[number] = value
        else:
            metadata[number][key] = value
    for number, key, value in _values(connection, "embedding_metadata_array", ids):
        items = metadata[number].setdefault(key, [])
        if isinstance(items, list):
            items.append(value)
    return {
        number: dict(zip(_COLUMNS, (chunk_id, documents[number], metadata[number]), strict=True))
        for number, chunk_id in ids.items()
    }


def _values(connection: sqlite3.Connection, table: str, ids: Mapping[int, str]) -> Iterator[tuple[int, str, object]]:
    # Older versions have no truth values, and no lists at all.
    known = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    if not known:
        return
    truth = "bool_value" if "bool_value" in known else "NULL"
    query = (
        f"SELECT id, key, string_value, int_value, float_value, {truth} FROM {table} "
        "WHERE id BETWEEN ? AND ? ORDER BY rowid"
    )
    for number, key, text, whole, real, true in connection.execute(query, (min(ids), max(ids))):
        if number in ids:  # those between may be of another collection
            yield (
                number,
                key,
                bool(true) if true is not None else next((v for v in (text, whole, real) if v is not None), None),
            )
