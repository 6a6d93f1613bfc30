"""Collections of a Qdrant server, read through its documented REST API, without their vectors.

Searched in place by the full-text index of the payload. That index says which points hold a word and nothing about
how well, so the best of them are told here, by how rare the words are that they hold.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotator.errors import InputError, Problem
from annotator.tables.choice import choose
from annotator.tables.columns import describe
from annotator.tables.http import Missing, Refused, Service, segment
from annotator.tables.qdrant import record_of
from annotator.tables.qdrant_vectors import nearest_to
from annotator.tables.reading import Reading
from annotator.tables.searchable import SEARCH_SECONDS, Asked, Found
from annotator.tables.table import BATCH_ROWS, WHOLE_RECORD, Batch, Column, Way
from annotator.tables.values import as_stored

__all__ = ["PointSearch", "Points", "open_points", "point_collections"]

_SAMPLED: Final = 100
_SECONDS: Final = 60.0
_WAITS: Final = (0.2, 1.0, 3.0)
_RANKED: Final = 500
_MOST_WORDS: Final = 12
_SUPPOSED_POINTS: Final = 1_000_000
_MOST_OF_A_DOCUMENT: Final = 5_000
_WORD: Final = re.compile(r"\w+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")

Filter = Mapping[str, Any]
Record = Mapping[str, object]


def open_points(service: Service, name: str) -> Points:
    """Open a collection; without a name, the only one that has texts.

    Raises InputError when the server does not answer or the choice is not clear, NotFound for an unknown name.
    """
    if named := name or service.path:
        return Points(service, named)
    return choose([Points(service, each) for each in point_collections(service)], "", service.where)


def point_collections(service: Service) -> list[str]:
    """List the collections to choose from; none where the address names one."""
    if service.path:
        return []
    found = service.ask("GET", "/collections", seconds=_SECONDS)["result"]["collections"]
    return sorted(str(each["name"]) for each in found)


@dataclass(frozen=True, slots=True)
class Points:
    """One collection: the point's id and the keys of its payload as columns. Places are numbers in reading order."""

    service: Service
    table: str
    kind: str = "Qdrant collection"
    open_ended: bool = True

    @property
    def name(self) -> str:
        return f"{self.service.where}, collection {self.table}"

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        return describe(dict.fromkeys(name for row in rows for name in row), rows)

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        return [dict(each) for each in self.scroll({"limit": limit}, _SECONDS)[0]]

    def count(self) -> int:
        return self.counted({}, exact=True)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        done, offset = 0, None
        while True:
            page, offset = self._again({"limit": BATCH_ROWS, **({} if offset is None else {"offset": offset})})
            if page:
                yield _batch(page, columns, done + 1)
                done += len(page)
            if offset is None:
                return

    def way(self, key: str) -> Way:
        return "index" if key == "id" else "none"

    def rows(self, _key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        wanted = _point_ids(ids)
        body = {"ids": wanted, "with_payload": True, "with_vector": False}
        found = self.ask("/points", body, seconds) if wanted else []
        return _batch([record_of(each["id"], each.get("payload") or {}) for each in found], columns, 1)

    def nearest(self, key: str, chunk_id: str, k: int, seconds: float) -> list[str]:
        wanted = _point_ids([chunk_id]) if key == "id" else []
        return nearest_to(self.ask, wanted[0], k, seconds) if wanted else []

    def searchable(self, reading: Reading) -> PointSearch:
        place = reading.place_of("text")
        field = ".".join(place)
        schema = self.service.ask("GET", f"/collections/{segment(self.table)}", seconds=_SECONDS)["result"]
        if (schema.get("payload_schema") or {}).get(field, {}).get("data_type") != "text":
            wanted = f'{{"field_name": "{field}", "field_schema": {{"type": "text", "tokenizer": "word"}}}}'
            raise InputError(
                f"{self.name} has no full-text index over {field}, so it cannot be searched in place.",
                hint=f"Its owner can make one:\nPUT /collections/{self.table}/index {wanted}",
            )
        if reading.place_of("chunk_id") != ("id",):
            raise InputError(
                f"Points of {self.name} can only be looked up by their own id.", hint="Choose id as the chunk id."
            )
        return PointSearch(self, reading, field)

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        return Problem(message, f"{self.name}, point {place} as read", field=field, value=value, mend=mend)

    def ask(self, path: str, body: object, seconds: float) -> Any:
        """Send a request about this collection and return the result."""
        try:
            answer = self.service.ask("POST", f"/collections/{segment(self.table)}{path}", body, seconds=seconds)
        except Missing as error:
            message = f"The Qdrant server {self.service.where} has no collection {self.table!r}."
            raise Missing(message, hint="Check its name.") from error
        return answer["result"]

    def scroll(self, body: Mapping[str, object], seconds: float) -> tuple[list[Record], object]:
        """Read points by a scroll: their rows, and where the next page begins, None after the last."""
        found = self.ask("/points/scroll", {"with_payload": True, "with_vector": False, **body}, seconds)
        rows: list[Record] = [record_of(each["id"], each.get("payload") or {}) for each in found["points"]]
        return rows, found.get("next_page_offset")

    def counted(self, wanted: Filter, *, exact: bool) -> int:
        """Count the points that fulfil a filter, roughly where that is enough."""
        body = {"exact": exact, **({"filter": wanted} if wanted else {})}
        return int(self.ask("/points/count", body, SEARCH_SECONDS)["count"])

    def _again(self, body: Mapping[str, object]) -> tuple[list[Record], object]:
        for wait in _WAITS:
            try:
                return self.scroll(body, _SECONDS)
            except (Missing, Refused):
                raise
            except InputError:
                time.sleep(wait)
        return self.scroll(body, _SECONDS)


@dataclass(frozen=True, slots=True)
class PointSearch:
    """One collection, searched by the full-text index over a key of the payload."""

    table: Points
    reading: Reading
    field: str
    notes: tuple[str, ...] = ("Slips are not forgiven: Qdrant's full-text index has nothing for them.",)
    forgives: bool = True
    """There is no way to look for the beginnings of words, so nothing is gained by asking for them."""
    rough: bool = True

    @property
    def described(self) -> str:
        return f"Qdrant's full-text index over {self.field}"

    def about(self) -> int | None:
        return self.table.counted({}, exact=False)

    def close(self) -> None:
        return

    def texts_beginning(self, _beginning: str) -> list[str]:
        return []

    def document(self, doc_id: str, columns: Sequence[str]) -> Batch:
        place = self.reading.place_of("doc_id")
        if not place or not doc_id:
            return _batch([], columns, 1)
        body = {"filter": {"must": [_has(place, doc_id)]}, "limit": _MOST_OF_A_DOCUMENT}
        return _batch(self.table.scroll(body, SEARCH_SECONDS)[0], columns, 1)

    def search(self, asked: Asked) -> Found:
        return self._by_id(asked) if asked.by_id else self._by_words(asked)

    def _by_words(self, asked: Asked) -> Found:
        """Gather the points with the rarest words, as many as are ranked, and put the best of them first."""
        must = [self._holds(each) for each in asked.phrases]
        if asked.doc_id:
            must.append(_has(self.reading.place_of("doc_id"), asked.doc_id))
        must += [_any([_has(place, value) for place in self.reading.places_of(key)]) for key, value in asked.where]
        without = [self._holds(each) for each in asked.without if len(_WORD.findall(each)) == 1]
        words = [spelt[0][0] for spelt in asked.words][:_MOST_WORDS]
        counts = {word: self.table.counted({"must": [self._holds(word)]}, exact=False) for word in words}
        known = sorted((word for word in words if counts[word]), key=counts.__getitem__)
        if words and not known and not asked.phrases:
            return Found((), 0)
        rare = [word for at, word in enumerate(known) if sum(counts[one] for one in known[: at + 1]) <= _RANKED]
        telling = known if asked.phrases or not known else rare or known[:1]
        wanted: dict[str, Any] = {"must": must, "must_not": without}
        if not asked.phrases and telling:
            wanted["must"] = [*must, _any([self._holds(word) for word in telling])]
        rows, after = self.table.scroll({"filter": wanted, "limit": _RANKED}, SEARCH_SECONDS)
        kept = [row for row in rows if self._stands(row, asked)]
        scored = [(str(row["id"]), self._score(row, known, counts)) for row in kept]
        scored.sort(key=lambda each: (-each[1], each[0]))
        more = after is not None or (bool(telling) and len(telling) < len(known))
        rarity = tuple((word, _rarity(counts[word])) for word in known)
        return Found(tuple(scored[asked.offset : asked.offset + asked.limit]), len(scored), more, rarity=rarity)

    def _score(self, row: Record, words: Sequence[str], counts: Mapping[str, int]) -> float:
        """Rank roughly, by how rare the words are that the text holds; the best are ranked again by who asked."""
        there = set(_WORD.findall(self._text(row).casefold()))
        held = (word for word in words if there.issuperset(_WORD.findall(word.casefold())))
        return round(sum(_rarity(counts[word]) for word in held), 4)

    def _stands(self, row: Record, asked: Asked) -> bool:
        """Look at phrases word by word: the server tells of their words, and only newer ones of their order."""
        said = f" {' '.join(_WORD.findall(self._text(row).casefold()))} "
        inside = {
            each: f" {' '.join(_WORD.findall(each.casefold()))} " in said for each in asked.phrases + asked.without
        }
        return all(inside[each] for each in asked.phrases) and not any(inside[each] for each in asked.without)

    def _text(self, row: Record) -> str:
        found: object = row
        for name in self.field.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, str) else ""

    def _by_id(self, asked: Asked) -> Found:
        exact = self.table.rows("id", [asked.text], ["id"], SEARCH_SECONDS).values[0]
        found = [(str(each), 4.0) for each in exact]
        if (place := self.reading.place_of("doc_id")) and not found:
            rows, _ = self.table.scroll(
                {"filter": {"must": [_has(place, asked.text)]}, "limit": _RANKED}, SEARCH_SECONDS
            )
            found = [(str(row["id"]), 2.0) for row in rows]
        return Found(tuple(found[asked.offset : asked.offset + asked.limit]), len(found))

    def _holds(self, text: str) -> Filter:
        return {"key": self.field, "match": {"text": text}}


def _point_ids(ids: Sequence[str]) -> list[int | str]:
    """Keep what can be the id of a point, as the server takes it; it refuses a request with anything else."""
    stored = [each for each in as_stored(ids) if isinstance(each, int) or _UUID.fullmatch(each)]
    return [each for each in stored if not (isinstance(each, int) and each < 0)]


def _rarity(count: int) -> float:
    return math.log(1 + _SUPPOSED_POINTS / (count + 0.5))


def _has(place: tuple[str, ...], value: str) -> Filter:
    """Ask for a value as text, or as the number it is the digits of."""
    key = ".".join(place)
    return _any([{"key": key, "match": {"value": each}} for each in as_stored([value])])


def _any(filters: Sequence[Filter]) -> Filter:
    return {"should": list(filters)}


def _batch(rows: Sequence[Record], columns: Sequence[str], first: int) -> Batch:
    values = [[row if name == WHOLE_RECORD else row.get(name) for row in rows] for name in columns]
    return Batch(range(first, first + len(rows)), values)
