"""Turns the rows of a live table into chunks ready for the mirror: checked, canonical, whole columns at a time.

Works on columns instead of rows because a check that passes for a whole batch at once costs nearly nothing; only a
batch with something unusual in it is looked at value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from annotator.errors import InputError, Problem
from annotator.tables import values
from annotator.tables.columns import HIDDEN, as_object, is_metadata_name, is_row_key, path, remaining
from annotator.tables.table import FIELDS, WHOLE_RECORD, Batch, Column, Columns, Lookup, Nearest, Table, Way
from annotator.tables.values import Faults

__all__ = ["ChunkBatch", "Reading", "SourceRow"]

SourceRow = tuple[int, str, str, str, str, "int | None", str, bytes]
"""(place, chunk_id, text, doc_id, title, position, metadata as canonical JSON, content).

`content` is all the fields in UTF-8 with NUL between them; it is equal exactly when all fields are, as no field may
hold a NUL itself.
"""

_CACHED = 4_096

_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(slots=True)
class ChunkBatch:
    """Some chunks of the live table and the faults found among them. `empty` counts texts that were missing."""

    rows: list[SourceRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    empty: int = 0


class Reading:
    """One table read by one mapping; `asked` are the columns it needs.

    Raises InputError when the mapping names columns that are not there.
    """

    def __init__(self, table: Table, columns: Columns) -> None:
        self._table = table
        self._columns = columns
        found = table.columns()
        self._paths = {name: path(getattr(columns, name), found) for name in FIELDS if getattr(columns, name)}
        self._whole = table.open_ended and not columns.metadata
        named = [] if self._whole else list(columns.metadata or remaining(found, columns))
        self._metadata = [(name, path(name, found)) for name in named]
        self._objects = [column.name for column in found if column.kind == "object" and "." not in column.name]
        self._check(found)
        bases = [each[0] for each in (*self._paths.values(), *(each for _, each in self._metadata))]
        self.asked = list(dict.fromkeys([*bases, *([WHOLE_RECORD] if self._whole else [])]))
        # What a whole record must not repeat as metadata: the mapped columns and the row's own key.
        self._mapped = {each[0] for each in self._paths.values() if len(each) == 1}
        self._cache: dict[tuple[object, ...], str] = {}

    def batches(self) -> Iterator[ChunkBatch]:
        """Read the whole table."""
        for batch in self._table.batches(self.asked):
            yield self.read(batch)

    @property
    def name(self) -> str:
        """What to call the table in a message."""
        return self._table.name

    @property
    def way(self) -> Way:
        """Say how single chunks can be found by their id; ids inside an object never are."""
        key = self._paths["chunk_id"]
        return self._table.way(key[0]) if isinstance(self._table, Lookup) and len(key) == 1 else "none"

    def fetch(self, ids: Sequence[str], seconds: float) -> ChunkBatch:
        """Read the chunks with these ids, as `batches` would give them; ids that are not there are left out.

        Raises InputError when reading fails, takes longer than `seconds`, or is not possible for single chunks.
        """
        key = self._paths["chunk_id"]
        if not isinstance(self._table, Lookup) or len(key) > 1:
            raise InputError(f"Chunks of {self._table.name} cannot be looked up one by one.", hint="Sync instead.")
        found = self.read(self._table.rows(key[0], ids, self.asked, seconds))
        wanted = set(ids)
        found.rows = [row for row in found.rows if row[1] in wanted]
        return found

    def nearest(self, chunk_id: str, k: int, seconds: float) -> list[str]:
        """Return the ids of the k chunks nearest by the table's own vectors, nearest first; none where it has none.

        Raises InputError when asking fails or takes longer than `seconds`.
        """
        key = self._paths["chunk_id"]
        if not isinstance(self._table, Nearest) or len(key) > 1:
            return []
        found = self._table.nearest(key[0], chunk_id, k + 1, seconds)
        return [one for one in dict.fromkeys(found) if one != chunk_id][:k]

    def place_of(self, field: str) -> tuple[str, ...]:
        """Return the column, and the key inside it, that a field is mapped to; () for none."""
        return self._paths.get(field, ())

    def places_of(self, key: str) -> list[tuple[str, ...]]:
        """Return where a metadata key may stand: a column of that name, or the key of an object."""
        if self._whole:
            return [(key,), *((column, key) for column in self._objects)]
        found = [each for _, each in self._metadata if each[-1] == key]
        return found + [(each[0], key) for _, each in self._metadata if len(each) == 1 and each[0] in self._objects]

    def _check(self, found: Sequence[Column]) -> None:
        problems = [
            Problem(f"there is no column {getattr(self._columns, name)!r}", self._table.name, field=name)
            for name, each in self._paths.items()
            if not each
        ]
        problems += [
            Problem(f"there is no column {name!r}", self._table.name, field="metadata")
            for name, each in self._metadata
            if not each
        ]
        problems += [
            Problem(f"no column is named as the {name}", self._table.name, field=name)
            for name in ("chunk_id", "text")
            if name not in self._paths
        ]
        if problems and not found:
            raise InputError(
                f"{self._table.name} holds nothing, not even columns.", hint="Is it being written? Try again later."
            )
        if problems:
            raise InputError(
                f"The columns of {self._table.name} do not fit.",
                problems=problems,
                hint=f"It has: {', '.join(column.name for column in found)}. Connect it again with these.",
            )

    def read(self, batch: Batch) -> ChunkBatch:
        """Turn a batch of the columns `asked` for into chunks."""
        result = ChunkBatch(problems=list(batch.problems))
        if not batch.places:
            return result
        given = dict(zip(self.asked, batch.values, strict=True))
        faults = Faults(self._table, batch.places)
        none: Sequence[object] = (None,) * len(batch.places)

        def of(name: str) -> Sequence[object]:
            return _along(given, self._paths[name]) if name in self._paths else none

        texts = of("text")
        result.empty = sum(1 for text in texts if text is None)
        ids = values.ids(of("chunk_id"), faults, self._columns.chunk_id)
        texts = values.texts(texts, faults, self._columns.text)
        docs = values.documents(of("doc_id"), faults, self._columns.doc_id)
        titles = values.titles(of("title"))
        positions, unusable = values.positions(of("position"))
        metadata = self._metadata_of(given, len(batch.places), faults)
        for index, value in unusable.items():
            metadata[index] = _with(metadata[index], self._paths["position"][-1], value)
        contents = values.contents(ids, docs, titles, positions, metadata, texts, faults, self._columns)
        rows: Any = zip(batch.places, ids, texts, docs, titles, positions, metadata, contents, strict=True)
        result.rows = [row for index, row in enumerate(rows) if index not in faults.rows] if faults.rows else list(rows)
        result.problems += faults.problems
        return result

    def _metadata_of(self, given: Mapping[str, Sequence[object]], size: int, faults: Faults) -> list[str]:
        if self._whole:
            records: Any = given[WHOLE_RECORD]
            return [self._gather(self._left(record), index, faults) for index, record in enumerate(records)]
        if not self._metadata:
            return ["{}"] * size
        names = [name if len(each) == 1 else each[-1] for name, each in self._metadata]
        columns = [_along(given, each) for _, each in self._metadata]
        # 1, 1.0 and True are one key of a dictionary, so only text and whole numbers can be looked up.
        plain = all(set(map(type, column)) <= {str, int, type(None)} for column in columns)
        found = []
        for index, row in enumerate(zip(*columns, strict=True)):
            known = self._cache.get(row) if plain else None
            if known is None:
                known = self._gather(zip(names, row, strict=True), index, faults)
                if plain:
                    if len(self._cache) >= _CACHED:
                        self._cache.clear()
                    self._cache[row] = known
            found.append(known)
        return found

    def _left(self, record: Mapping[str, object]) -> Iterator[tuple[str, object]]:
        for name, value in record.items():
            if name in self._mapped or is_row_key(name):
                continue
            if isinstance(value, (str, int, float)) or (isinstance(value, dict) and is_metadata_name(name)):
                yield name, value

    def _gather(self, items: Any, index: int, faults: Faults) -> str:
        """Write metadata as JSON with sorted keys. Objects are taken apart one level and win over columns."""
        scalars: dict[str, object] = {}
        keys: dict[str, object] = {}
        for name, value in items:
            if value == "" or not _says_something(value):
                continue
            inside = as_object(value)
            if inside is not None:
                keys.update((key, each) for key, each in inside.items() if _says_something(each) and key not in HIDDEN)
            elif isinstance(value, bytes):
                faults.add(index, "the metadata is binary data, not text", name, mend="Leave the column out.")
            else:
                scalars[name] = value
        if not scalars and not keys:
            return "{}"
        try:
            return _encode(scalars | keys).decode()
        except UnicodeEncodeError as error:
            fault = f"the metadata has the lone surrogate U+{ord(error.object[error.start]):04X}"
        except (TypeError, RecursionError) as error:
            fault = f"the metadata cannot be written as JSON: {error}"
        faults.add(index, fault, "metadata")
        return "{}"


def _says_something(value: object) -> bool:
    """Tell a value from none; NaN is how some writers store none."""
    return value is not None and value == value


def _along(given: Mapping[str, Sequence[object]], where: tuple[str, ...]) -> Sequence[object]:
    column = given[where[0]]
    return column if len(where) == 1 else [_inside(value, where[1]) for value in column]


def _inside(value: object, key: str) -> object:
    """Look a key up in an object: as it stands, else level by level at its dots."""
    found = as_object(value)
    if found is None or key in found:
        return None if found is None else found[key]
    first, dot, rest = key.partition(".")
    return _inside(found.get(first), rest) if dot else None


def _with(metadata: str, name: str, value: object) -> str:
    """Keep a position that is no whole number, e.g. `3a`, among the metadata."""
    shown = value if isinstance(value, (int, float)) else str(value).encode("utf-8", "backslashreplace").decode()
    return _encode({name: shown} | msgspec.json.decode(metadata)).decode()
