"""Searches a PostgreSQL table where it is, with PostgreSQL's own full-text search, read-only.

No extension, no temporary table and no session setting is used, and each step is one short transaction. Words are
joined by SQL's own OR and AND and ranked by ts_rank, which engines that are compatible with PostgreSQL have as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from annotator.errors import InputError
from annotator.tables.postgres import PostgresTable
from annotator.tables.postgres_catalog import Attribute, rows_about
from annotator.tables.postgres_conditions import (
    Condition,
    any_of,
    column,
    combined,
    has_value,
    nothing,
    statement,
    sum_of,
)
from annotator.tables.postgres_server import SlowAnswer, is_lost, transaction
from annotator.tables.postgres_text import TextIndex, text_index
from annotator.tables.reading import Reading
from annotator.tables.searchable import SEARCH_SECONDS, Asked, Found
from annotator.tables.table import Batch

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresSearch", "open_search"]

T = TypeVar("T")

_LOOK_SECONDS: Final = 2.0
_MOST_STORED: Final = 2_000
_MOST_COMPUTED: Final = 300
_LIKE_SECONDS: Final = 0.5
_SAMPLED_TEXTS: Final = 300
_SAMPLED_LENGTH: Final = 2_000
_MOST_WORDS: Final = 40
_MOST_SCORED: Final = 12
_SUPPOSED_ROWS: Final = 1_000_000
_WALKED: Final = 1_000
_NEXT: Final = 20
_WEIGHTS: Final = "ARRAY[0.5, 0.6, 0.8, 1.0]::float4[]"
"""What a word counts by its label D, C, B or A: one in a title (A) counts twice, as in the local index."""
_IN_ORDER: Final = 4.0


def open_search(table: PostgresTable, reading: Reading) -> PostgresSearch:
    """Get ready for searching the table. Raises InputError that says what to create where nothing can be searched."""
    place = reading.place_of("text")
    for name in ("chunk_id", "text"):
        if len(reading.place_of(name)) > 1:
            raise InputError(
                f"{table.name} cannot be searched in place: its {name} is a key inside a column.",
                hint="Give the table as a view with a column for it, or connect it without --in-place.",
            )
    with (
        table.server.failures(),
        closing(table.server.connect()) as connection,
        transaction(connection, SEARCH_SECONDS),
    ):
        index = text_index(connection, table.relation, place[0])
        rows = rows_about(connection, table.relation)
    notes = []
    if reading.way != "index":
        key = reading.place_of("chunk_id")[0]
        notes.append(f"Chunks are looked up by {key}, which has no index: one on it makes that quick.")
    return PostgresSearch(table, reading, index, rows or table.count() or _SUPPOSED_ROWS, tuple(notes))


@dataclass(slots=True)
class PostgresSearch:
    """One table of about so many rows, searched by one index.

    A connection is kept between searches; a lost one is opened again.
    """

    table: PostgresTable
    reading: Reading
    index: TextIndex
    rows: int
    notes: tuple[str, ...] = ()
    forgives: bool = False
    rough: bool = True
    _idle: list[psycopg.Connection[Any]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @property
    def described(self) -> str:
        return self.index.described

    @property
    def most(self) -> int:
        """How many matching chunks are ranked at most: making a tsvector anew for each of them takes its time."""
        return _MOST_COMPUTED if self.index.computed else _MOST_STORED

    def close(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def about(self) -> int | None:
        if self.table.collection:
            return self.table.count()
        known = self._within(SEARCH_SECONDS, lambda one: rows_about(one, self.table.relation))
        return known or self.table.count()

    def document(self, doc_id: str, columns: Sequence[str]) -> Batch:
        place = self.reading.place_of("doc_id")
        if not place or not doc_id:
            return Batch([], [[] for _ in columns])
        asked = [self.table.attribute(name) for name in columns]
        chosen = combined(
            ", ".join(["{}"] * len(asked)), *((column(each, as_text=not each.is_plain), []) for each in asked)
        )
        named = self._all([self._in(place, [doc_id])])
        keys: list[Condition] = [(column(each), []) for each in self.table.relation.key]
        order = f" ORDER BY {', '.join(['{}'] * len(keys))}" if keys else ""
        query = combined(f"SELECT {{}} FROM {{}} AS t WHERE {{}}{order}", chosen, self._source, named, *keys)
        rows = self._within(SEARCH_SECONDS, lambda connection: connection.execute(*query).fetchall())
        return Batch(range(1, len(rows) + 1), list(zip(*rows, strict=True)) if rows else [[] for _ in columns])

    def texts_beginning(self, beginning: str) -> list[str]:
        text = self.table.attribute(self.reading.place_of("text")[0])
        begins = self._matches(self._query("to_tsquery", f"{beginning}:*"))
        query = combined(
            f"SELECT left({{}}, {_SAMPLED_LENGTH}) FROM {{}} AS t WHERE {{}} LIMIT {_SAMPLED_TEXTS}",
            (column(text), []),
            self._source,
            self._all([begins]),
        )
        rows = self._within(SEARCH_SECONDS, lambda connection: connection.execute(*query).fetchall())
        return [row[0] or "" for row in rows]

    def search(self, asked: Asked) -> Found:
        return self._by_id(asked) if asked.by_id else self._by_words(asked)

    def _by_words(self, asked: Asked) -> Found:
        """Rank what holds the telling words; of words that stand nearly everywhere only those with all of them."""
        must = [self._matches(self._query("phraseto_tsquery", each)) for each in asked.phrases]
        must += [self._leaves_out(each) for each in asked.without]
        narrow = [self._in(self.reading.place_of("doc_id"), [asked.doc_id])] if asked.doc_id else []
        narrow += [self._has(key, value) for key, value in asked.where]
        words = asked.words[:_MOST_WORDS]

        def run(connection: psycopg.Connection[Any]) -> Found:
            known = [(word, count) for word, count in self._counted(connection, words) if count]
            found = chosen(connection, known)
            return replace(found, rarity=tuple((word[0][0], self._rarity(count)) for word, count in known))

        def chosen(
            connection: psycopg.Connection[Any], known: Sequence[tuple[tuple[tuple[str, float], ...], int]]
        ) -> Found:
            scores = [self._score(word, count) for word, count in known[:_MOST_SCORED]]
            scores += [self._rank(self._query("phraseto_tsquery", each)) for each in asked.phrases]
            if words and not known and not asked.phrases:
                return Found((), 0)
            if asked.phrases or not words:
                return self._page(connection, [*must, *narrow], scores, asked, more=False)
            rare = self._telling(known) if not narrow else [word for word, _ in known]
            if rare:
                telling = [*must, *narrow, any_of([self._holds(word) for word in rare])]
                return self._page(connection, telling, scores, asked, more=len(rare) < len(known))
            holds = [self._holds(word) for word, _ in known]
            every = [*must, *narrow, *holds]
            found = self._page(connection, every, scores, asked, more=True)
            end = asked.offset + asked.limit
            if found.total >= end or len(known) == 1:
                return found
            # then those with some of the words, so that each stands in one place whatever the page
            some = [
                *must,
                *narrow,
                any_of(holds),
                combined("NOT ({})", combined(" AND ".join(["{}"] * len(holds)), *holds)),
            ]
            begin = max(asked.offset, found.total)
            rest = replace(asked, offset=begin - found.total, limit=end - begin)
            others = self._page(connection, some, scores, rest, more=True)
            return Found(found.ids + others.ids, min(self.most, found.total + others.total), more=True)

        return self._within(SEARCH_SECONDS, run)

    def _counted(
        self, connection: psycopg.Connection[Any], words: Sequence[tuple[tuple[str, float], ...]]
    ) -> list[tuple[tuple[tuple[str, float], ...], int]]:
        """Count the rows that hold each word, not further than one beyond what is ranked; the rarest come first."""
        if not words:
            return []
        count = f"(SELECT count(*) FROM (SELECT 1 FROM {{}} AS t WHERE {{}} LIMIT {self.most + 1}) AS s)"
        counts = [combined(count, self._source, self._all([self._holds(word)])) for word in words]
        query = combined("SELECT " + ", ".join(["{}"] * len(counts)), *counts)
        (row,) = connection.execute(*query).fetchall()
        return sorted(zip(words, row, strict=True), key=lambda each: each[1])

    def _telling(
        self, known: Sequence[tuple[tuple[tuple[str, float], ...], int]]
    ) -> list[tuple[tuple[str, float], ...]]:
        """Return the rarest words, as many as together stand in no more rows than are ranked."""
        rare, rows = [], 0
        for word, count in known:
            rows += count
            if rows > self.most:
                break
            rare.append(word)
        return rare

    def _page(
        self,
        connection: psycopg.Connection[Any],
        conditions: Sequence[Condition],
        scores: Sequence[Condition],
        asked: Asked,
        *,
        more: bool,
    ) -> Found:
        """Rank the rows that fulfil the conditions, at most so many, and return a page of them."""
        key = column(self._key, as_text=True)
        score = sum_of(scores) if scores else (statement("0"), [])
        vector = self.index.expression.replace("%", "%%").replace("{", "{{").replace("}", "}}")
        # The inner limit keeps the server from making the tsvector of a row more than once.
        query = combined(
            "SELECT key, score, count(*) OVER () FROM (SELECT key, {} AS score FROM "
            f"(SELECT {{}} AS key, {vector} AS v FROM {{}} AS t WHERE {{}} LIMIT {self.most + 1}) AS c) AS r "
            "ORDER BY score DESC, key LIMIT %s OFFSET %s",
            score,
            (key, []),
            self._source,
            self._all(conditions),
        )
        rows = connection.execute(query[0], [*query[1], asked.limit, asked.offset]).fetchall()
        if not rows and asked.offset:  # beyond the last page: the number is of interest all the same
            at_first = self._page(connection, conditions, scores, replace(asked, limit=1, offset=0), more=more)
            return replace(at_first, ids=())
        total = rows[0][2] if rows else 0
        return Found(
            tuple((row[0], round(float(row[1]), 4)) for row in rows if row[0] is not None),
            min(total, self.most),
            more or total > self.most,
        )

    def _score(self, word: tuple[tuple[str, float], ...], count: int) -> Condition:
        """Weigh a word by how rare it is, as BM25 does; an identifier counts more where its parts stand in order."""
        rarity = self._rarity(count)
        ranks = [
            combined(f"{likeness:.3f} * {{}}", self._rank(self._query("plainto_tsquery", spelt)))
            for spelt, likeness in word
        ]
        typed = word[0][0]
        if not typed.isalnum():
            ranks.append(combined(f"{_IN_ORDER} * {{}}", self._rank(self._query("phraseto_tsquery", typed))))
        best = ranks[0] if len(ranks) == 1 else combined(f"greatest({', '.join(['{}'] * len(ranks))})", *ranks)
        return combined(f"{rarity:.4f} * {{}}", best)

    def _rarity(self, count: int) -> float:
        return math.log(1 + (max(self.rows, count) - count + 0.5) / (count + 0.5))

    def _by_id(self, asked: Asked) -> Found:
        """Find the id itself, ids that begin so, and a document of that name; then what stands next to it."""
        exact = [(one, 4.0) for one in self._ids(self._in((self._key.name,), [asked.text]), 1)]
        begin = [(one, 2.0) for one in self._beginning(asked)]
        inside = [(one, 2.0) for one in self._inside(asked)]
        found = list(dict(reversed([*exact, *begin, *inside])).items())
        found = sorted(found, key=lambda each: (-each[1], each[0]))
        near = self._next(asked.text) if len(found) < _NEXT else ()
        page = found[asked.offset : asked.offset + asked.limit]
        return Found(tuple(page), len(found), len(begin) >= _WALKED, near)

    def _beginning(self, asked: Asked) -> list[str]:
        escaped = asked.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        key = (column(self._key, as_text=True), list[Any]())
        found = self._if_quick(lambda: self._ids((statement("{} LIKE %s", key[0]), [escaped]), _WALKED, _LIKE_SECONDS))
        if found is not None:
            return found
        if self._key.kind != "text" or self._key.base == "uuid":
            return []
        # Without an index made for it that is a look at every id; the ones that follow in order are in any index.
        follow = (statement("{} >= %s", column(self._key)), [asked.text])
        after = combined(
            f"SELECT key FROM (SELECT {{}} AS key FROM {{}} AS t WHERE {{}} ORDER BY {{}} LIMIT {_WALKED}) AS s "
            "WHERE key LIKE %s",
            key,
            self._source,
            self._all([follow]),
            (column(self._key), []),
        )
        rows = self._if_quick(lambda: self._rows((after[0], [*after[1], escaped])))
        return [row[0] for row in rows or ()]

    def _inside(self, asked: Asked) -> list[str]:
        place = self.reading.place_of("doc_id")
        if not place or len(asked.text) < 2:
            return []
        return self._if_quick(lambda: self._ids(self._in(place, [asked.text]), _WALKED)) or []

    def _next(self, text: str) -> tuple[str, ...]:
        """Return the ids that stand right before and after this one in the table's order: what a slip leads to."""
        if self._key.kind != "text" or self._key.base == "uuid":
            return ()
        key = column(self._key)
        found: list[str] = []
        for sign, order in ((">=", ""), ("<", " DESC")):
            query = combined(
                f"SELECT {{}} FROM {{}} AS t WHERE {{}} ORDER BY {{}}{order} LIMIT {_NEXT}",
                (key, []),
                self._source,
                self._all([(statement(f"{{}} {sign} %s", key), [text])]),
                (key, []),
            )
            rows = self._if_quick(partial(self._rows, query))
            found += [row[0] for row in rows or ()]
        return tuple(found)

    def _rows(self, query: Condition, seconds: float = _LOOK_SECONDS) -> list[tuple[Any, ...]]:
        return self._within(seconds, lambda connection: connection.execute(*query).fetchall())

    def _ids(self, condition: Condition, limit: int, seconds: float = _LOOK_SECONDS) -> list[str]:
        query = combined(
            f"SELECT {{}} FROM {{}} AS t WHERE {{}} LIMIT {limit}",
            (column(self._key, as_text=True), []),
            self._source,
            self._all([condition]),
        )
        return [row[0] for row in self._rows(query, seconds)]

    def _if_quick(self, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except SlowAnswer:
            return None

    def _within(self, seconds: float, run: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run statements in one read-only transaction, on the idle connection if it still stands."""
        import psycopg

        with self.table.server.failures():
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            if kept is not None:
                try:
                    return self._once(kept, seconds, run)
                except psycopg.OperationalError as error:
                    if not is_lost(error, kept):
                        raise
            return self._once(self.table.server.connect(), seconds, run)

    def _once(
        self, connection: psycopg.Connection[Any], seconds: float, run: Callable[[psycopg.Connection[Any]], T]
    ) -> T:
        with transaction(connection, seconds):
            found = run(connection)
        with self._lock:
            if self._idle:
                connection.close()
            else:
                self._idle.append(connection)
        return found

    @property
    def _key(self) -> Attribute:
        return self.table.attribute(self.reading.place_of("chunk_id")[0])

    @property
    def _source(self) -> Condition:
        return statement("{}", self.table.source()), []

    def _all(self, conditions: Sequence[Condition]) -> Condition:
        only, values = self.table.only()
        every = [*([(only[0], values)] if only else []), *conditions]
        return combined(" AND ".join(["{}"] * len(every)) or "true", *every)

    def _in(self, place: tuple[str, ...], values: Sequence[str]) -> Condition:
        return has_value(self.table.attribute(place[0]), ".".join(place[1:]), values) if place else nothing()

    def _has(self, key: str, value: str) -> Condition:
        places = self.reading.places_of(key)
        return any_of([self._in(place, [value]) for place in places]) if places else nothing()

    def _query(self, function: str, text: str) -> Condition:
        from psycopg import sql

        # The configuration is written out: engines differ in what type they call it.
        config = sql.Literal(self.index.config)
        return statement(f"{function}({{}}, %s)", config), [text]

    def _matches(self, query: Condition) -> Condition:
        vector = self.index.expression.replace("%", "%%").replace("{", "{{").replace("}", "}}")
        return combined(f"({vector} @@ {{}})", query)

    def _holds(self, word: tuple[tuple[str, float], ...]) -> Condition:
        """Ask for the word in any of its spellings; of a name with signs in it, for its parts as well."""
        queries = [self._query("plainto_tsquery", spelt) for spelt, _ in word]
        typed = word[0][0]
        parts = "".join(each if each.isalnum() else " " for each in typed).split()
        if len(parts) > 1:
            queries.append(self._query("plainto_tsquery", " ".join(parts)))
        return any_of([self._matches(each) for each in queries])

    def _leaves_out(self, text: str) -> Condition:
        return combined("({} IS NOT TRUE)", self._matches(self._query("phraseto_tsquery", text)))

    def _rank(self, query: Condition) -> Condition:
        return combined(f"ts_rank({_WEIGHTS}, v, {{}}, 1)", query)
