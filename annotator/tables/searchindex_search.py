"""Searches an OpenSearch or Elasticsearch index where it is, by its own BM25, phrases and fuzziness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotator.errors import InputError
from annotator.tables.reading import Reading
from annotator.tables.searchable import SEARCH_SECONDS, Asked, Found
from annotator.tables.searchindex import SearchIndex, batch
from annotator.tables.table import Batch

__all__ = ["IndexSearch", "open_index_search"]

_ID: Final = "_id"
_WINDOW: Final = 10_000
"""How far down these servers page without more ado."""
_MOST_OF_A_DOCUMENT: Final = 5_000
_IN_ORDER: Final = 4.0

Query = Mapping[str, Any]


def open_index_search(table: SearchIndex, reading: Reading) -> IndexSearch:
    """Get ready for searching the index. Raises InputError when its texts are not analysed."""
    place = reading.place_of("text")
    if table.field(place).get("type") not in ("text", "match_only_text", "search_as_you_type"):
        raise InputError(
            f"The field {'.'.join(place)} of {table.name} is no text to search in.",
            hint="Choose a field of the type text, or connect the index without --in-place.",
        )
    if len(reading.place_of("chunk_id")) > 1 or reading.way != "index":
        raise InputError(
            f"Chunks of {table.name} cannot be looked up by {'.'.join(reading.place_of('chunk_id'))}.",
            hint="Choose _id, or a field of the type keyword, as the chunk id.",
        )
    notes = []
    doc = reading.place_of("doc_id")
    if doc and not table.exactly(doc):
        notes.append(f"Documents are told by {'.'.join(doc)}, a text: names with the same words are not told apart.")
    return IndexSearch(table, reading, tuple(notes))


@dataclass(frozen=True, slots=True)
class IndexSearch:
    """One index, searched in the fields of the text and the title."""

    table: SearchIndex
    reading: Reading
    notes: tuple[str, ...] = ()
    forgives: bool = True
    rough: bool = False

    @property
    def described(self) -> str:
        return f"{self.table.service.kind}'s own search (BM25) in {' and '.join(self._places)}"

    def about(self) -> int | None:
        return self.table.count()

    def close(self) -> None:
        return

    def texts_beginning(self, _beginning: str) -> list[str]:
        return []

    def document(self, doc_id: str, columns: Sequence[str]) -> Batch:
        place = self.reading.place_of("doc_id")
        if not place or not doc_id:
            return batch([], columns, 1)
        query = {"bool": {"filter": [self._has(place, doc_id)]}}
        found = self.table.search({"query": query, "size": _MOST_OF_A_DOCUMENT}, SEARCH_SECONDS)
        return batch(found["hits"]["hits"], columns, 1)

    def search(self, asked: Asked) -> Found:
        query = self._by_id(asked) if asked.by_id else self._by_words(asked)
        first = max(0, min(asked.offset, _WINDOW - asked.limit))
        body = {
            "query": query,
            "from": first,
            "size": min(asked.limit, _WINDOW),
            "track_total_hits": _WINDOW,
            "sort": ["_score"],
        }
        found = self.table.search(body, SEARCH_SECONDS)["hits"]
        total = found["total"]
        key = self.reading.place_of("chunk_id")[0]
        page = [(_key(hit, key), round(float(hit["_score"] or 0.0), 4)) for hit in found["hits"]]
        if first < asked.offset:  # beyond the last page that can be asked for
            page = page[asked.offset - first :]
        return Found(tuple(one for one in page if one[0]), int(total["value"]), total["relation"] != "eq")

    @property
    def _places(self) -> list[str]:
        found = [self.reading.place_of(name) for name in ("text", "title")]
        return [".".join(place) for place in found if place and self.table.field(place).get("type") == "text"]

    def _by_words(self, asked: Asked) -> Query:
        must = [self._match(each, "phrase") for each in asked.phrases]
        words = [spelt[0][0] for spelt in asked.words]
        should: list[Query] = []
        if words:
            how: dict[str, Any] = {"fuzziness": "AUTO", "prefix_length": 1} if asked.forgiving else {}
            any_word = self._match(" ".join(words), **how)
            (should if must else must).append(any_word)
            should += [self._match(each, "phrase", boost=_IN_ORDER) for each in words if not each.isalnum()]
        narrow = [self._has(self.reading.place_of("doc_id"), asked.doc_id)] if asked.doc_id else []
        narrow += [self._any([self._has(place, value) for place in self._metadata(key)]) for key, value in asked.where]
        without = [self._match(each, "phrase") for each in asked.without]
        return {"bool": {"must": must, "should": should, "filter": narrow, "must_not": without}}

    def _by_id(self, asked: Asked) -> Query:
        """Find the id itself, ids that begin so where the id is a field of its own, and a document of that name."""
        key = self.reading.place_of("chunk_id")[0]
        field = self.table.exactly((key,))
        either: list[Query] = []
        if key == _ID:
            either.append(_worth({"ids": {"values": [asked.text]}}, 4.0))
        else:
            either.append(_worth({"term": {field: {"value": asked.text}}}, 4.0))
            either.append(_worth({"prefix": {field: {"value": asked.text}}}, 2.0))
        if place := self.reading.place_of("doc_id"):
            either.append(_worth(self._has(place, asked.text), 2.0))
        return {"dis_max": {"queries": either}}

    def _match(self, text: str, kind: str = "best_fields", **how: object) -> Query:
        first, *others = self._places
        return {"multi_match": {"query": text, "fields": [first, *(f"{one}^2" for one in others)], "type": kind, **how}}

    def _metadata(self, key: str) -> list[tuple[str, ...]]:
        return [place for place in self.reading.places_of(key) if self.table.field(place)]

    def _has(self, place: tuple[str, ...], value: str) -> Query:
        if not place:
            return {"match_none": {}}
        if field := self.table.exactly(place):
            return {"term": {field: {"value": value}}}
        return {"match_phrase": {".".join(place): {"query": value}}}

    @staticmethod
    def _any(queries: Sequence[Query]) -> Query:
        return {"bool": {"should": list(queries), "minimum_should_match": 1}} if queries else {"match_none": {}}


def _worth(query: Query, score: float) -> Query:
    return {"constant_score": {"filter": query, "boost": score}}


def _key(hit: Mapping[str, Any], key: str) -> str:
    value = hit[_ID] if key == _ID else hit.get("_source", {}).get(key)
    return "" if value is None else str(value)
