"""Indexes of OpenSearch and Elasticsearch, read through their documented JSON API; vectors are left out of the answers.

A whole index is read at one point in time, page by page after the last hit; searching it in place is
`searchindex_search.py`'s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from annotator.errors import InputError, Problem
from annotator.tables.choice import choose
from annotator.tables.columns import describe
from annotator.tables.http import Missing, Refused, Service, segment
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way

if TYPE_CHECKING:
    from annotator.tables.reading import Reading
    from annotator.tables.searchable import Searchable

__all__ = ["SearchIndex", "index_names", "open_index"]

_SAMPLED: Final = 100
_SECONDS: Final = 60.0
_KEPT: Final = "5m"
_ID: Final = "_id"
_VECTORS: Final = frozenset(("dense_vector", "sparse_vector", "knn_vector", "rank_features", "semantic_text"))
_EXACT: Final = frozenset(
    ("keyword", "constant_keyword", "wildcard", "long", "integer", "short", "byte", "boolean", "double", "float", "ip")
)
_WAITS: Final = (0.2, 1.0, 3.0)
"""Seconds before each new try when a page did not come."""

Hit = Mapping[str, Any]


def open_index(service: Service, name: str) -> SearchIndex:
    """Open an index or alias; without a name, the only one that has texts.

    Raises InputError when the server does not answer or the choice is not clear, NotFound for an unknown name.
    """
    if named := name or service.path:
        return SearchIndex(service, named, _fields(service, named))
    return choose(
        [SearchIndex(service, each, _fields(service, each)) for each in index_names(service)], "", service.where
    )


def index_names(service: Service) -> list[str]:
    """List the indexes to choose from, without those of the server itself; none where the address names one."""
    if service.path:
        return []
    found = service.ask("GET", "/_cat/indices?format=json&h=index", seconds=_SECONDS)
    return sorted(str(each["index"]) for each in found if not str(each["index"]).startswith("."))


def _fields(service: Service, name: str) -> dict[str, Mapping[str, Any]]:
    """Return the mapping's top-level fields; those of all indexes behind an alias together."""
    try:
        found = service.ask("GET", f"/{segment(name)}/_mapping", seconds=_SECONDS)
    except Missing as error:
        raise Missing(
            f"The {service.kind} server {service.where} has no index {name!r}.", hint="Check its name."
        ) from error
    fields: dict[str, Mapping[str, Any]] = {}
    for each in found.values():
        fields.update(each.get("mappings", {}).get("properties", {}))
    return fields


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """One index: the id of a document and the fields of its source as columns. Places are numbers in reading order."""

    service: Service
    table: str
    fields: Mapping[str, Mapping[str, Any]]
    open_ended: bool = False

    @property
    def name(self) -> str:
        return f"{self.service.where}, index {self.table}"

    @property
    def kind(self) -> str:
        return f"{self.service.kind} index"

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        plain = [name for name, field in self.fields.items() if field.get("type") not in _VECTORS]
        vectors = [Column(name, "vector") for name in self.fields if name not in plain]
        return [*describe([_ID, *plain], rows), *vectors]

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        found = self.search({"query": {"match_all": {}}, "size": limit}, _SECONDS)
        return [record(hit) for hit in found["hits"]["hits"]]

    def count(self) -> int:
        return int(self.service.ask("GET", f"/{segment(self.table)}/_count", seconds=_SECONDS)["count"])

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        done = 0
        for hits in self._pages():
            yield batch(hits, columns, done + 1)
            done += len(hits)

    def way(self, key: str) -> Way:
        return "index" if key == _ID or self.exactly((key,)) else "none"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        field = self.exactly((key,))
        if key != _ID and not field:
            raise InputError(f"Chunks of {self.name} cannot be looked up by {key}, a text.", hint="Choose _id instead.")
        query = {"ids": {"values": list(ids)}} if key == _ID else {"terms": {field: list(ids)}}
        # Twice as many as asked for: an id in a field need not be the only one of its kind.
        found = self.search({"query": query, "size": min(2 * len(ids), 10_000)}, seconds)
        return batch(found["hits"]["hits"], columns, 1)

    def searchable(self, reading: Reading) -> Searchable:
        from annotator.tables.searchindex_search import open_index_search

        return open_index_search(self, reading)

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, document {place} as read", field=field, value=value, mend=mend)

    def search(self, body: Mapping[str, object], seconds: float) -> Any:
        """Send a search of this index, without the vectors in its answer."""
        return self.service.ask(
            "POST", f"/{segment(self.table)}/_search", {**body, "_source": self._source}, seconds=seconds
        )

    def field(self, place: tuple[str, ...]) -> Mapping[str, Any]:
        """Return the mapping of a field, `("metadata", "source")` for one inside an object; {} for none."""
        fields: Mapping[str, Any] = self.fields
        found: Mapping[str, Any] = {}
        for name in ".".join(place).split("."):
            found = fields.get(name, {})
            fields = found.get("properties", {})
        return found

    def exactly(self, place: tuple[str, ...]) -> str:
        """Name what to compare with exactly: the field, or the keyword beside a text; "" when there is neither."""
        found, path = self.field(place), ".".join(place)
        if found.get("type") in _EXACT:
            return path
        inner = (name for name, each in found.get("fields", {}).items() if each.get("type") in _EXACT)
        return next((f"{path}.{name}" for name in inner), "")

    @property
    def _source(self) -> dict[str, list[str]]:
        return {"excludes": sorted(_vectors_in(self.fields, ""))}

    def _pages(self) -> Iterator[Sequence[Hit]]:
        """Read at one point in time, so that every document comes once whatever is written meanwhile."""
        path = f"/{segment(self.table)}"
        elastic = self.service.kind == "Elasticsearch"
        begin = f"{path}/_pit?keep_alive={_KEPT}" if elastic else f"{path}/_search/point_in_time?keep_alive={_KEPT}"
        opened = self.service.ask("POST", begin, seconds=_SECONDS)
        point = opened["id" if elastic else "pit_id"]
        after: object = None
        order = "_shard_doc"
        try:
            while True:
                body = {
                    "size": BATCH_ROWS,
                    "query": {"match_all": {}},
                    "pit": {"id": point, "keep_alive": _KEPT},
                    "sort": [{order: "asc"}],
                    "track_total_hits": False,
                    "_source": self._source,
                    **({} if after is None else {"search_after": after}),
                }
                try:
                    found = self._again(body)
                except Refused as error:
                    # OpenSearch before 3.3 has no order of its own; by the id it costs more, and is as sure.
                    if elastic or order == _ID or order not in error.message:
                        raise
                    order = _ID
                    continue
                point = found.get("pit_id", point)
                if not (hits := found["hits"]["hits"]):
                    return
                yield hits
                after = hits[-1]["sort"]
        finally:
            end = ("/_pit", {"id": point}) if elastic else ("/_search/point_in_time", {"pit_id": [point]})
            self._let_go(*end)

    def _again(self, body: Mapping[str, object]) -> Any:
        """Ask for a page, a few times if need be: the point in time is kept, so nothing is lost by it."""
        for wait in _WAITS:
            try:
                return self.service.ask("POST", "/_search", body, seconds=_SECONDS)
            except Missing as error:
                hint = "Sync again, when the server has less to do."
                raise InputError(f"The point in time of {self.name} ran out while reading.", hint=hint) from error
            except Refused:
                raise
            except InputError:
                time.sleep(wait)
        return self.service.ask("POST", "/_search", body, seconds=_SECONDS)

    def _let_go(self, path: str, body: object) -> None:
        try:
            self.service.ask("DELETE", path, body, seconds=5.0)
        except InputError:  # it ends by itself
            return


def record(hit: Hit) -> dict[str, object]:
    """Make a row of a hit: its source, and its id."""
    return {**hit.get("_source", {}), _ID: hit[_ID]}


def batch(hits: Sequence[Hit], columns: Sequence[str], first: int) -> Batch:
    """Make a batch of hits."""
    records = [record(hit) for hit in hits]
    return Batch(range(first, first + len(hits)), [[each.get(name) for each in records] for name in columns])


def _vectors_in(fields: Mapping[str, Mapping[str, Any]], before: str) -> Iterator[str]:
    for name, field in fields.items():
        if field.get("type") in _VECTORS:
            yield f"{before}{name}"
        yield from _vectors_in(field.get("properties", {}), f"{before}{name}.")
