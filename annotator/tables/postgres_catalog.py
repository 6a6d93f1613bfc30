"""What a PostgreSQL database holds that this role may read: tables and views, their columns and key, whose layout.

Read from pg_catalog as PostgreSQL-compatible engines have it too; which rows to take is `postgres.py`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from annotator.tables.columns import guess
from annotator.tables.table import Column

if TYPE_CHECKING:
    import psycopg

__all__ = ["COLLECTIONS", "Attribute", "Relation", "collections", "relations", "rows_about"]

COLLECTIONS: Final = "langchain_pg_collection"
"""LangChain's PGVector keeps the names of its collections here, and all their chunks in one other table."""

_VECTORS: Final = frozenset(("vector", "halfvec", "sparsevec", "_float4", "_float8", "tsvector", "bit", "varbit"))
_NUMBERS: Final = frozenset(("int2", "int4", "int8", "float4", "float8"))
_OBJECTS: Final = frozenset(("json", "jsonb"))
_TEXTS: Final = frozenset(("text", "varchar", "bpchar", "name"))
_WORDS: Final = {"v": "view", "m": "materialized view", "f": "foreign table"}
_SYSTEM: Final = "('pg_catalog', 'information_schema', 'pg_toast', 'crdb_internal', 'pg_extension')"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column. `type` is written so that a value can be cast to it, `base` is the type's short name."""

    name: str
    type: str
    base: str

    @property
    def kind(self) -> str:
        """Say what it holds, in the words of `Column`."""
        if self.base in _VECTORS:
            return "vector"
        if self.base == "bytea":
            return "blob"
        return "number" if self.base in _NUMBERS else "object" if self.base in _OBJECTS else "text"

    @property
    def is_plain(self) -> bool:
        """Say whether the driver gives it as text, number, truth or object; the rest is asked for as text."""
        return self.base in _TEXTS | _NUMBERS | _OBJECTS or self.base == "bool"


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view. `key` is what to page by, empty when there is none; `guarded` is row level security."""

    schema: str
    name: str
    kind: str
    visible: bool
    guarded: bool
    attributes: tuple[Attribute, ...]
    key: tuple[Attribute, ...]

    @property
    def title(self) -> str:
        """The name to choose it by: with its schema when that is not searched by itself."""
        return self.name if self.visible else f"{self.schema}.{self.name}"

    @property
    def layout(self) -> str:
        """The retrieval library whose layout this is, "" for a table of one's own."""
        names = {attribute.name for attribute in self.attributes}
        if {"collection_id", "document", "cmetadata"} <= names:
            return "LangChain PGVector"
        if "langchain_metadata" in names or "langchain_id" in names:
            return "LangChain PGVectorStore"
        if {"node_id", "text", "metadata_"} <= names:
            return "LlamaIndex PGVectorStore"
        if {"content", "meta", "blob_data", "blob_meta", "blob_mime_type"} <= names:
            return "Haystack PgvectorDocumentStore"
        return ""

    @property
    def described(self) -> str:
        """What was recognised, for people."""
        return f"PostgreSQL {_WORDS.get(self.kind, 'table')}" + (f", {self.layout} layout" if self.layout else "")

    @property
    def fits(self) -> bool:
        """Say whether there are columns with usual names for the chunk id and the text."""
        mapping, _ = guess([Column(each.name, each.kind) for each in self.attributes], {})
        return bool(mapping.chunk_id and mapping.text)


def relations(connection: psycopg.Connection[Any]) -> list[Relation]:
    """List what this role may read outside the system's schemas, by schema and name."""
    found = connection.execute(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, pg_table_is_visible(c.oid), c.relrowsecurity "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname NOT IN {_SYSTEM} "
        "AND has_schema_privilege(n.oid, 'USAGE') ORDER BY n.nspname, c.relname"
    ).fetchall()
    columns = _attributes(connection)
    keys = _keys(connection)
    return [
        Relation(schema, name, kind, visible, guarded, tuple(columns[oid].values()), _key(columns[oid], keys[oid]))
        for oid, schema, name, kind, visible, guarded in found
        if columns[oid]
    ]


def collections(connection: psycopg.Connection[Any], schema: str) -> list[str]:
    """List the names of LangChain's collections, which need not be unique in older versions."""
    from psycopg import sql

    query = sql.SQL("SELECT DISTINCT name FROM {} ORDER BY name").format(sql.Identifier(schema, COLLECTIONS))
    return [row[0] for row in connection.execute(query)]


def rows_about(connection: psycopg.Connection[Any], relation: Relation) -> int:
    """Return how many rows the server's own statistics speak of, 0 where they do not."""
    found = connection.execute(
        "SELECT c.reltuples::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s AND c.relkind <> 'v'",
        (relation.schema, relation.name),
    ).fetchall()
    return max(0, int(found[0][0])) if found else 0


def _attributes(connection: psycopg.Connection[Any]) -> dict[int, dict[int, Attribute]]:
    """Read the columns this role may select, by table and number."""
    found: dict[int, dict[int, Attribute]] = defaultdict(dict)
    for oid, number, name, written, base in connection.execute(
        "SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), t.typname "
        "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE a.attnum > 0 AND NOT a.attisdropped AND n.nspname NOT IN {_SYSTEM} "
        "AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY a.attrelid, a.attnum"
    ):
        found[oid][number] = Attribute(name, written, base)
    return found


def _keys(connection: psycopg.Connection[Any]) -> dict[int, list[tuple[int, ...]]]:
    """Read by table the column numbers of its primary key, then of other indexes that tell all rows apart."""
    found: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for oid, numbers in connection.execute(
        "SELECT i.indrelid, (SELECT array_agg(a.attnum ORDER BY k.place) "
        "FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place) "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number AND a.attnotnull "
        "WHERE k.place <= i.indnkeyatts HAVING count(*) = i.indnkeyatts) "
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL "
        # a key tells apart the rows of one table, not those of the tables that inherit from it
        "AND (c.relkind = 'p' OR NOT c.relhassubclass) "
        f"AND n.nspname NOT IN {_SYSTEM} ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid"
    ):
        if numbers:
            found[oid].append(tuple(numbers))
    return found


def _key(columns: dict[int, Attribute], keys: Sequence[tuple[int, ...]]) -> tuple[Attribute, ...]:
    readable = (key for key in keys if all(number in columns for number in key))
    return tuple(columns[number] for number in next(readable, ()))
