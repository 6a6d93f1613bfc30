"""Collections of a local Qdrant folder, read straight from its SQLite files, also while a client has it locked.

The points in them are pickled; all that is ever built from a pickle here is a bag of values, whatever it asks for.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, Final

from annotator.errors import InputError, Problem
from annotator.tables.choice import choose
from annotator.tables.columns import as_object, describe
from annotator.tables.distances import DISTANCES, distances
from annotator.tables.sqlitefile import reading
from annotator.tables.table import BATCH_ROWS, WHOLE_RECORD, Batch, Column, Way
from annotator.tables.values import as_stored

__all__ = ["QdrantCollection", "open_qdrant", "qdrant_names", "record_of"]

_STORED: Final = "storage.sqlite"
_MODELS: Final = "qdrant_client.http.models.models"
_SAMPLED: Final = 100
_PROTOCOLS: Final = (4, 5)
_LLAMA: Final = "_node_content"
_LARGEST: Final = 1 << 63
"""A whole number in a vector is below this, so that it is one for floating-point arithmetic too."""

Record = dict[str, object]


def open_qdrant(folder: Path, name: str) -> QdrantCollection:
    """Open a collection; without a name, the only one that has texts.

    Raises InputError when the choice is not clear, NotFound for an unknown name.
    """
    return choose([QdrantCollection(folder, each) for each in qdrant_names(folder)], name, folder.name)


def qdrant_names(folder: Path) -> list[str]:
    """List the collections of the folder."""
    return sorted(path.parent.name for path in folder.glob(f"collection/*/{_STORED}"))


@dataclass(frozen=True, slots=True)
class QdrantCollection:
    """One collection: the point's id and the keys of its payload as columns. Places are row numbers of its file."""

    folder: Path
    table: str
    kind: str = "Qdrant collection (local)"
    open_ended: bool = True

    @property
    def name(self) -> str:
        return f"{self.folder.name}, collection {self.table}"

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        return describe(dict.fromkeys(name for row in rows for name in row), rows)

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        records = (record for page in self._pages(limit) for _, record in page if not isinstance(record, str))
        return list(islice(records, limit))

    def count(self) -> int:
        with reading(self._path) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM points").fetchone()[0])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        for page in self._pages(BATCH_ROWS):
            yield self._batch(page, columns)

    def way(self, key: str) -> Way:
        if key != "id":
            return "none"
        with reading(self._path) as connection:
            first = connection.execute("SELECT id, point FROM points LIMIT 1").fetchone()
        record = _record(first[1]) if first else {}
        # Of a client that writes its keys in another way the points would all seem to be gone.
        known = first is None or (not isinstance(record, str) and first[0] in _keys([str(record["id"])]))
        return "index" if known else "none"

    def rows(self, _key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        keys = _keys(ids)
        query = f"SELECT rowid, point FROM points WHERE id IN ({','.join('?' * len(keys))})"
        with reading(self._path, seconds) as connection:
            found = connection.execute(query, keys).fetchall()
        return self._batch([(place, _record(point)) for place, point in found], columns)

    def nearest(self, key: str, chunk_id: str, k: int, seconds: float) -> list[str]:
        end = time.monotonic() + seconds
        name, own = self._vector_of(chunk_id, seconds) if key == "id" else ("", [])
        if not own:
            return []
        kind = self._distance(name)
        best: list[tuple[float, str]] = []
        for page in self._raw(BATCH_ROWS):
            if time.monotonic() > end:
                raise InputError(f"{self.name} has more vectors than can be compared in {seconds:g} s.")
            opened = [_opened(point) for _, point in page]
            given = [(str(each.get("id")), _dense(each).get(name, [])) for each in opened if not isinstance(each, str)]
            held = [(one, vector) for one, vector in given if len(vector) == len(own)]
            if held:
                far = distances(own, [vector for _, vector in held], kind)
                best = nsmallest(k, [*best, *zip(far, (one for one, _ in held), strict=True)])
        return [one for _, one in best]

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, row {place}", field=field, value=value, mend=mend)

    def _batch(self, page: Sequence[tuple[int, Record | str]], columns: Sequence[str]) -> Batch:
        sound = [(place, record) for place, record in page if not isinstance(record, str)]
        faults = [self.problem(place, fault) for place, fault in page if isinstance(fault, str)]
        values = [[record if name == WHOLE_RECORD else record.get(name) for _, record in sound] for name in columns]
        return Batch([place for place, _ in sound], values, faults)

    @property
    def _path(self) -> Path:
        return self.folder / "collection" / self.table / _STORED

    def _vector_of(self, chunk_id: str, seconds: float) -> tuple[str, list[float]]:
        """Return the vector of a point that is compared, of several the first by name: its name, and its value."""
        keys = _keys([chunk_id])
        query = f"SELECT point FROM points WHERE id IN ({','.join('?' * len(keys))}) ORDER BY rowid DESC LIMIT 1"
        with reading(self._path, seconds) as connection:
            row = connection.execute(query, keys).fetchone()
        opened = _opened(row[0]) if row else ""
        return min(_dense(opened).items(), default=("", [])) if not isinstance(opened, str) else ("", [])

    def _distance(self, name: str) -> str:
        """Return the distance the collection was made for, Qdrant's usual one where its file does not tell."""
        try:
            found = json.loads((self.folder / "meta.json").read_bytes())["collections"][self.table]["vectors"]
            kind = (found[name] if name else found)["distance"]
        except (OSError, ValueError, KeyError, TypeError):
            kind = ""
        return kind if kind in DISTANCES else DISTANCES[0]

    def _pages(self, size: int) -> Iterator[list[tuple[int, Record | str]]]:
        """Read records with their places; in place of one that cannot be opened, what is wrong with it."""
        for rows in self._raw(size):
            yield [(place, _record(point)) for place, point in rows]

    def _raw(self, size: int) -> Iterator[list[tuple[int, bytes]]]:
        query = "SELECT rowid, point FROM points WHERE rowid > ? ORDER BY rowid LIMIT ?"
        with reading(self._path) as connection:
            last = -1
            while rows := connection.execute(query, (last, size)).fetchall():
                yield rows
                last = rows[-1][0]


def _keys(ids: Sequence[str]) -> list[str]:
    """Return what the client calls these points by in its file: their pickled ids in base 64."""
    pickled = (pickle.dumps(each, protocol) for each in as_stored(ids) for protocol in _PROTOCOLS)
    return [base64.b64encode(each).decode() for each in pickled]


class _Values:
    """Stands in for every model of the client: keeps the values and does nothing."""

    values: Mapping[str, object]

    def __setstate__(self, state: object) -> None:
        inner = state.get("__dict__") if isinstance(state, dict) else None
        self.values = inner if isinstance(inner, dict) else {}


class _Points(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        if module == _MODELS:
            return _Values
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not opened")


def _record(point: bytes) -> Record | str:
    found = _opened(point)
    if isinstance(found, str):
        return found
    payload = found.get("payload")
    return record_of(found.get("id"), payload if isinstance(payload, dict) else {})


def _dense(point: Mapping[str, object]) -> dict[str, list[float]]:
    """Return the vectors of a point that are one list of numbers, by their names, "" for one without."""
    held = point.get("vector")
    named = held if isinstance(held, dict) else {"": held}
    return {name: vector for name, vector in named.items() if isinstance(vector, list) and _is_flat(vector)}


def _is_flat(vector: list[Any]) -> bool:
    kinds = set(map(type, vector))
    return kinds == {float} or (bool(kinds) and kinds <= {float, int} and max(map(abs, vector)) < _LARGEST)


def _opened(point: bytes) -> Mapping[str, object] | str:
    try:
        found = _Points(io.BytesIO(point)).load()
    except Exception as error:  # noqa: BLE001 -- a broken pickle raises nearly anything
        return f"the point cannot be opened: {error}"
    if not isinstance(found, _Values) or not hasattr(found, "values"):
        return "this is no point"
    return found.values


def record_of(point_id: object, payload: Mapping[str, object]) -> Record:
    """Make a row of a point: its id and its payload."""
    record: Record = {"id": point_id}
    for key, value in payload.items():
        record["payload_id" if key == "id" else key] = value  # the point's own id is what retrievers answer with
    # LlamaIndex keeps the text nowhere but inside its own copy of the chunk.
    if "text" not in record and (inside := as_object(record.get(_LLAMA))):
        record["text"] = inside.get("text")
    return record
