"""Finds what PostgreSQL's full-text search can use of a table: a tsvector column or an index over an expression.

Says, as SQL for whoever owns the table, what to create where there is neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from annotator.errors import InputError
from annotator.tables.postgres_catalog import Relation

if TYPE_CHECKING:
    import psycopg

__all__ = ["TextIndex", "text_index"]

_INVERTED: Final = frozenset(("gin", "gist", "ybgin", "rum", "inverted"))
_CONFIGURED: Final = re.compile(r"to_tsvector\('((?:[^']|'')+)'|tsvector_update_trigger\('[^']+', '([^']+)'")
_TABLE: Final = "(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s)"  # fmt: skip  # noqa: E501


@dataclass(frozen=True, slots=True)
class TextIndex:
    """What to search in: SQL for the tsvector of a row of the table `t`, and the configuration it was made with."""

    expression: str
    config: str
    computed: bool
    """Whether the tsvector is made from the text each time it is ranked by, instead of being stored."""

    @property
    def described(self) -> str:
        """What is searched in, for people."""
        what = f"an index on {self.expression}" if self.computed else f"the column {self.expression.removeprefix('t.')}"
        return f"PostgreSQL's full-text search, configuration {self.config}, by {what}"


def text_index(connection: psycopg.Connection[Any], relation: Relation, column: str) -> TextIndex:
    """Find what searches the text of this column. Raises InputError with the SQL to hand to the table's owner."""
    indexed = _indexed(connection, relation)
    (default,) = connection.execute("SHOW default_text_search_config").fetchall()
    usual = str(default[0])
    made = _made(connection, relation)
    vectors = [each.name for each in relation.attributes if each.base == "tsvector"]
    views = relation.kind in ("v", "m", "f")
    fitting = [name for name in vectors if name not in made or _mentions(made[name], column)]
    for name in fitting:
        # What stands behind a view cannot be seen from here; the column is there to be searched in.
        if _quoted(name) in indexed or name in indexed or views:
            return TextIndex(f"t.{_quoted(name)}", _config(made.get(name, ""), usual), computed=False)
    for expression in indexed:
        if "to_tsvector(" in expression and _mentions(expression, column):
            return TextIndex(expression, _config(expression, usual), computed=True)
    raise InputError(
        f"{relation.title} has no index for full-text search over {column}, so it cannot be searched in place.",
        hint=_advice(relation, column, usual, fitting[0] if fitting else ""),
    )


def _indexed(connection: psycopg.Connection[Any], relation: Relation) -> list[str]:
    """Return the columns and expressions of the whole table's inverted indexes, as the server writes them."""
    found = connection.execute(
        "SELECT pg_get_indexdef(i.indexrelid, k.n, true) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid "
        "JOIN pg_am a ON a.oid = x.relam CROSS JOIN generate_series(1, 8) AS k(n) "
        f"WHERE i.indrelid = {_TABLE} AND k.n <= i.indnatts AND i.indisvalid AND i.indpred IS NULL "
        "AND a.amname = ANY(%s) ORDER BY i.indexrelid, k.n",
        (relation.schema, relation.name, sorted(_INVERTED)),
    )
    return [row[0] for row in found if row[0]]


def _made(connection: psycopg.Connection[Any], relation: Relation) -> dict[str, str]:
    """Return by column how its tsvector is made, where the table itself makes it: generated, or by a usual trigger."""
    named = (relation.schema, relation.name)
    found = connection.execute(
        "SELECT a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_attribute a "
        f"ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = {_TABLE}",
        named,
    )
    made = {name: written for name, written in found if "to_tsvector(" in (written or "")}
    triggers = connection.execute(f"SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = {_TABLE}", named)
    for (written,) in triggers:
        if match := re.search(r"tsvector_update_trigger\('([^']+)'", written or ""):
            made.setdefault(match[1], written)
    return made


def _config(written: str, usual: str) -> str:
    match = _CONFIGURED.search(written)
    return (match[1] or match[2]) if match else usual


def _mentions(written: str, column: str) -> bool:
    return bool(re.search(rf"(?<![\w\"]){re.escape(column)}(?![\w\"])", written)) or _quoted(column) in written


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _advice(relation: Relation, column: str, usual: str, vector: str) -> str:
    if relation.kind in ("v", "f"):
        return "Connect the table behind it, or let the view have the table's tsvector column."
    table = f"{_quoted(relation.schema)}.{_quoted(relation.name)}"
    config = usual.rpartition(".")[2]
    over = _quoted(vector) if vector else f"to_tsvector('{config}', {_quoted(column)})"
    # A partitioned table cannot have an index made beside running writes.
    how = "" if relation.kind == "p" else " CONCURRENTLY"
    told = (
        ""
        if vector
        else f"\n{config} is the usual configuration of this database; take the one of the texts' language."
    )
    return f"Its owner can make one, while it is in use:\nCREATE INDEX{how} ON {table} USING gin ({over});{told}"
