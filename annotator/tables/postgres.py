"""Chunk tables in PostgreSQL: tables, views and the layouts of retrieval libraries; only ever read.

A table with a key is read page by page, each in a transaction of its own, and goes on after a lost connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from annotator.errors import InputError, NotFound, Problem
from annotator.tables.columns import describe
from annotator.tables.postgres_catalog import COLLECTIONS, Attribute, Relation, collections, relations
from annotator.tables.postgres_conditions import column, has_value, identifier
from annotator.tables.postgres_server import Server, is_lost, parse, transaction
from annotator.tables.postgres_vectors import nearest_to, vector_of
from annotator.tables.table import BATCH_ROWS, Batch, Column, Way

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

    from annotator.tables.reading import Reading
    from annotator.tables.searchable import Searchable

__all__ = ["PostgresTable", "open_postgres", "postgres_names"]

_SAMPLED: Final = 100
_PAGE_SECONDS: Final = 120
_COUNT_SECONDS: Final = 10
_LOOK_SECONDS: Final = 2
_LITTLE_COST: Final = 2_000
"""In PostgreSQL's own units, in which reading a page costs 1: some ten milliseconds."""
_WAITS: Final = (0.2, 1.0, 3.0, 10.0, 30.0)
"""Seconds before each new try when a connection was lost; a page that arrives starts them over."""

Rows = list[tuple[Any, ...]]


def open_postgres(url: str, fill: Callable[[str], str], table: str) -> PostgresTable:
    """Open a table, view or collection; without a name, the only one that has ids and texts.

    `fill` puts the environment's values into the parts of the address. Raises InputError when the database cannot be
    read or the choice is not clear, NotFound for an unknown name.
    """
    server = parse(url, fill)
    found = _choices(server)
    if table:
        # A collection may be called by its own name alone when no other has that name.
        named = [each for each in found if each.table == table] or [each for each in found if each.collection == table]
        if len(named) != 1:
            listed = ", ".join(each.table for each in found) or "none"
            raise NotFound(
                f"The database {server.database} has no table {table!r} that this role may read.",
                hint=f"It may read: {listed}. If it was given another name, connect it again.",
            )
        return named[0]
    fitting = [each for each in found if each.relation.fits]
    near = [each for each in fitting if each.relation.visible] or fitting
    if len(near) != 1:
        what = "More than one table" if near else "No table"
        raise InputError(
            f"{what} of the database {server.database} has usual names for the chunk id and the text.",
            hint=f"Name one with --table. {'Fitting' if near else 'There'}: {_counted(near or found)}.",
        )
    return near[0]


def postgres_names(url: str, fill: Callable[[str], str]) -> list[str]:
    """List the tables, views and collections this role may read, those that look like chunk tables first."""
    found = _choices(parse(url, fill))
    return [each.table for each in sorted(found, key=lambda each: not each.relation.fits)]


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """One table, view or collection of a table. Places are row numbers in the order of its key."""

    server: Server
    relation: Relation
    collection: str = ""
    open_ended: bool = False

    @property
    def name(self) -> str:
        what = f"collection {self.collection}" if self.collection else f"table {self.relation.title}"
        return f"{self.server.database}, {what}"

    @property
    def table(self) -> str:
        return f"{self.relation.title}/{self.collection}" if self.collection else self.relation.title

    @property
    def kind(self) -> str:
        return self.relation.described

    def columns(self) -> list[Column]:
        rows = self.sample(_SAMPLED)
        found: list[Column] = []
        for attribute in self._attributes():
            seen = any(row.get(attribute.name) is not None for row in rows)
            found += describe([attribute.name], rows) if seen else [Column(attribute.name, attribute.kind)]
        # The caller's own ids of older LangChain versions can only tell the chunks apart when every chunk has one.
        unset = self.relation.layout and any(row.get("custom_id", "") is None for row in rows)
        return [column for column in found if not (unset and column.name == "custom_id")]

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        asked = [attribute for attribute in self._attributes() if _is_read(attribute)]
        names = [attribute.name for attribute in asked]
        with self.server.failures(), closing(self.server.connect()) as connection:
            rows = self._page(connection, asked, None, limit)
        return [dict(zip(names, row[len(self.relation.key) :], strict=True)) for row in rows]

    def count(self) -> int | None:
        import psycopg

        with self.server.failures(), closing(self.server.connect()) as connection:
            return _unless_slow(psycopg.errors.QueryCanceled, lambda: self._count(connection))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        asked = [self.attribute(name) for name in columns]
        keys, done = len(self.relation.key), 0
        with self.server.failures():
            for rows in self._pages(asked) if keys else self._stream(asked):
                values = list(zip(*rows, strict=True))[keys:]
                yield Batch(range(done + 1, done + len(rows) + 1), values)
                done += len(rows)
        if not done and self.relation.guarded:
            raise InputError(
                f"{self.name} shows this role no rows, and row level security is switched on for it.",
                hint="Give the role a policy that lets it read, or fill the table if it is empty.",
            )

    def way(self, key: str) -> Way:
        """Ask the server what it would do: for a view as for a table, its own estimate says whether that is little."""
        attribute = self.attribute(key)
        query, values = self._named(attribute, [attribute], [str(row[key]) for row in self.sample(1)])
        explain = _sql("EXPLAIN (FORMAT JSON) ") + query
        with (
            self.server.failures(),
            closing(self.server.connect()) as connection,
            transaction(connection, _LOOK_SECONDS),
        ):
            (row,) = connection.execute(explain, values).fetchall()
        return "index" if row[0][0]["Plan"]["Total Cost"] <= _LITTLE_COST else "scan"

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float) -> Batch:
        query, values = self._named(self.attribute(key), [self.attribute(name) for name in columns], ids)
        with self.server.failures(), closing(self.server.connect()) as connection, transaction(connection, seconds):
            rows = connection.execute(query, values).fetchall()
        if not rows and self.relation.guarded:
            raise InputError(f"{self.name} shows this role no such row: it is gone, or row level security hides it.")
        return Batch(range(1, len(rows) + 1), list(zip(*rows, strict=True)) if rows else [[] for _ in columns])

    def nearest(self, key: str, chunk_id: str, k: int, seconds: float) -> list[str]:
        vector, named = vector_of(self.relation), self.attribute(key)
        if vector is None:
            return []
        own = self._named(named, [vector], [chunk_id])
        return nearest_to(self.server, self.relation, column(named), own, self.only(), k, seconds)

    def searchable(self, reading: Reading) -> Searchable:
        from annotator.tables.postgres_search import open_search

        return open_search(self, reading)

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        order = ", ".join(attribute.name for attribute in self.relation.key)
        where = f"{self.name}, row {place}" + (f" in the order of {order}" if order else "")
        return Problem(message, where, field=field, value=value, mend=mend)

    def _attributes(self) -> list[Attribute]:
        return [each for each in self.relation.attributes if not (self.collection and each.name == "collection_id")]

    def attribute(self, name: str) -> Attribute:
        """Return a column that is read. Raises InputError for any other."""
        found = next((attribute for attribute in self.relation.attributes if attribute.name == name), None)
        if found is None or not _is_read(found):
            what = "is not there" if found is None else f"holds {found.type} and is never read"
            raise InputError(f"The column {name!r} of {self.name} {what}.", hint="Choose another column.")
        return found

    def _pages(self, asked: Sequence[Attribute]) -> Iterator[Rows]:
        """Read by the key, a page a transaction: between pages nothing is held, and a lost connection costs a page."""
        import psycopg

        connection: psycopg.Connection[Any] | None = self.server.connect()
        last: tuple[Any, ...] | None = None
        failed = 0
        try:
            while True:
                try:
                    connection = connection or self.server.connect()
                    rows = self._page(connection, asked, last, BATCH_ROWS)
                except psycopg.OperationalError as error:
                    if not is_lost(error, connection) or failed == len(_WAITS):
                        raise
                    if connection:
                        connection.close()
                    connection = None
                    time.sleep(_WAITS[failed])
                    failed += 1
                    continue
                failed = 0
                if rows:
                    yield rows
                    last = rows[-1][: len(self.relation.key)]
                if len(rows) < BATCH_ROWS:
                    return
        finally:
            if connection:
                connection.close()

    def _stream(self, asked: Sequence[Attribute]) -> Iterator[Rows]:
        """Read what has no key through one cursor of the server; a lost connection ends it."""
        import psycopg

        query, values = self._query(asked, None)
        done = 0
        try:
            with closing(self.server.connect()) as connection, transaction(connection, _PAGE_SECONDS):
                connection.execute(_sql("DECLARE chunks NO SCROLL CURSOR FOR ") + query, values)
                while rows := connection.execute(f"FETCH {BATCH_ROWS} FROM chunks").fetchall():
                    yield rows
                    done += len(rows)
        except psycopg.OperationalError as error:
            if not done or not is_lost(error, connection):
                raise
            raise InputError(
                f"The connection was lost after {done} rows of {self.name}, which has no key to go on by.",
                hint="Sync again; a table with a primary key goes on by itself.",
            ) from error

    def _page(
        self,
        connection: psycopg.Connection[Any],
        asked: Sequence[Attribute],
        last: tuple[Any, ...] | None,
        limit: int,
    ) -> Rows:
        query, values = self._query(asked, last)
        with transaction(connection, _PAGE_SECONDS):
            return connection.execute(query + _sql(f" LIMIT {limit:d}"), values).fetchall()

    def _query(self, asked: Sequence[Attribute], last: tuple[Any, ...] | None) -> tuple[sql.Composed, list[Any]]:
        """Write the statement for the rows after this key: the key as text, then the columns.

        The key is compared in the table's own order, so that its index serves, and never by Python.
        """
        key = self.relation.key
        chosen = [column(each, as_text=True) for each in key]
        chosen += [column(each, as_text=not each.is_plain) for each in asked]
        conditions, values = self.only()
        if last is not None:
            names = _sql(", ").join(column(each) for each in key)
            marks = _sql(", ").join(_sql(f"%s::{each.type.replace('%', '%%')}") for each in key)
            conditions.append(_sql("({}) > ({})").format(names, marks))
            values += last
        query = _sql("SELECT {} FROM {} AS t").format(_sql(", ").join(chosen), self.source())
        if conditions:
            query += _sql(" WHERE ") + _sql(" AND ").join(conditions)
        if key:
            query += _sql(" ORDER BY ") + _sql(", ").join(column(each) for each in key)
        return query, values

    def _named(self, key: Attribute, asked: Sequence[Attribute], ids: Sequence[str]) -> tuple[sql.Composed, list[Any]]:
        """Write the statement for the rows with these ids: compared as the column's type, so that its index serves."""
        conditions, values = self.only()
        named, bound = has_value(key, "", ids)
        chosen = _sql(", ").join(column(each, as_text=not each.is_plain) for each in asked)
        where = _sql(" AND ").join([*conditions, named])
        return _sql("SELECT {} FROM {} AS t WHERE {}").format(chosen, self.source(), where), [*values, *bound]

    def _count(self, connection: psycopg.Connection[Any]) -> int:
        conditions, values = self.only()
        query = _sql("SELECT count(*) FROM {} AS t").format(self.source())
        if conditions:
            query += _sql(" WHERE ") + conditions[0]
        with transaction(connection, _COUNT_SECONDS):
            (row,) = connection.execute(query, values).fetchall()
        return int(row[0])

    def only(self) -> tuple[list[sql.Composed], list[Any]]:
        """Write the condition that keeps to the collection. By name: filling one anew gives it another uuid."""
        if not self.collection:
            return [], []
        names = identifier(self.relation.schema, COLLECTIONS)
        return [_sql("t.collection_id IN (SELECT uuid FROM {} WHERE name = %s)").format(names)], [self.collection]

    def source(self) -> sql.Identifier:
        """Write the table's name."""
        return identifier(self.relation.schema, self.relation.name)


def _choices(server: Server) -> list[PostgresTable]:
    """List what can be read, a table of collections as its collections."""
    found = []
    with server.failures(), closing(server.connect()) as connection, transaction(connection, _PAGE_SECONDS):
        known = relations(connection)
        readable = {(each.schema, each.name) for each in known}
        for relation in known:
            if relation.layout == "LangChain PGVector" and (relation.schema, COLLECTIONS) in readable:
                names = collections(connection, relation.schema)
                found += [PostgresTable(server, relation, name) for name in names]
            else:
                found.append(PostgresTable(server, relation))
    return found


def _counted(found: Sequence[PostgresTable]) -> str:
    """Name them with their rows, as far as the server counts quickly."""
    begun = time.monotonic()
    named = []
    for each in found:
        rows = each.count() if time.monotonic() - begun < _COUNT_SECONDS else None
        named.append(each.table if rows is None else f"{each.table} ({rows} rows)")
    return ", ".join(named) or "none"


def _unless_slow(slow: type[Exception], count: Callable[[], int]) -> int | None:
    try:
        return count()
    except slow:
        return None


def _is_read(attribute: Attribute) -> bool:
    return attribute.kind not in ("vector", "blob")


def _sql(text: str) -> sql.SQL:
    from psycopg import sql

    return sql.SQL(text)
