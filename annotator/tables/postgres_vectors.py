"""Nearest rows by a pgvector column, asked of PostgreSQL itself by the distance its index was made for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from annotator.tables.postgres_catalog import Attribute, Relation
from annotator.tables.postgres_server import Server, transaction

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

__all__ = ["nearest_to", "vector_of"]

_VECTORS: Final = frozenset(("vector", "halfvec", "sparsevec"))
_OPERATORS: Final = {"l2": "<->", "ip": "<#>", "l1": "<+>"}
_COSINE: Final = "<=>"
"""What retrievers compare by when nothing else is said."""


def vector_of(relation: Relation) -> Attribute | None:
    """Return the column with the vectors, the first of several."""
    return next((each for each in relation.attributes if each.base in _VECTORS), None)


def nearest_to(
    server: Server,
    relation: Relation,
    key: sql.Composed,
    row: tuple[sql.Composed, list[Any]],
    only: tuple[Sequence[sql.Composed], list[Any]],
    k: int,
    seconds: float,
) -> list[str]:
    """Return the keys of the k rows nearest to one, as text, with its own; none when it has no vector.

    `row` selects the vector of that row as text, `only` are conditions for all of them.
    """
    from psycopg import sql

    vector = vector_of(relation)
    if vector is None:
        return []
    with server.failures(), closing(server.connect()) as connection, transaction(connection, seconds):
        own = connection.execute(*row).fetchone()
        if own is None or own[0] is None:
            return []
        column = sql.SQL("t.{}").format(_name(vector.name))
        query = sql.SQL("SELECT {}::text FROM {} AS t WHERE {} ORDER BY {} {} %s::{} LIMIT %s").format(
            key,
            _name(relation.schema, relation.name),
            sql.SQL(" AND ").join([*only[0], sql.SQL("{} IS NOT NULL").format(column)]),
            column,
            sql.SQL(_operator(connection, relation, vector)),
            sql.SQL(vector.type.replace("%", "%%")),
        )
        return [found[0] for found in connection.execute(query, [*only[1], own[0], k])]


def _operator(connection: psycopg.Connection[Any], relation: Relation, vector: Attribute) -> str:
    """Name the operator an index on the column serves, with its schema, which the role may not search by itself."""
    (found,) = connection.execute(
        "SELECT (SELECT quote_ident(n.nspname) FROM pg_type y JOIN pg_namespace n ON n.oid = y.typnamespace "
        "WHERE y.oid = a.atttypid), "
        "(SELECT min(o.opcname) FROM pg_index i JOIN pg_opclass o ON o.oid = ANY (i.indclass) "
        "WHERE i.indrelid = c.oid AND a.attnum = ANY (i.indkey) AND o.opcname LIKE '%%\\_ops') "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace s ON s.oid = c.relnamespace "
        "WHERE s.nspname = %s AND c.relname = %s AND a.attname = %s",
        (relation.schema, relation.name, vector.name),
    ).fetchall()
    schema, operators = found
    named = next((sign for name, sign in _OPERATORS.items() if operators and f"_{name}_" in operators), _COSINE)
    return f"OPERATOR({schema}.{named})".replace("%", "%%")


def _name(*names: str) -> sql.Identifier:
    from psycopg import sql

    return sql.Identifier(*(name.replace("%", "%%") for name in names))
