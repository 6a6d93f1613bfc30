"""Conditions on columns of a PostgreSQL table: one of some values in a column, or under a key of a JSON column.

Values are compared as the column's own type where they can be, so that its index serves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from annotator.errors import InputError
from annotator.tables.postgres_catalog import Attribute
from annotator.tables.values import LARGEST, as_stored

if TYPE_CHECKING:
    from psycopg import sql

__all__ = ["Condition", "any_of", "column", "combined", "has_value", "identifier", "nothing", "statement", "sum_of"]

Condition = tuple["sql.Composed", list[Any]]
"""A condition and the values bound in it."""

_TEXTS: Final = frozenset(("text", "varchar", "name"))
_INTEGERS: Final = {"int2": 2**15 - 1, "int4": 2**31 - 1, "int8": LARGEST}
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def has_value(attribute: Attribute, key: str, values: Sequence[str]) -> Condition:
    """Return the condition that the column, or this key of it, has one of the values; lists have what is in them.

    Raises InputError for a key of a column that is no JSON.
    """
    if not key:
        return _in_column(attribute, values)
    if attribute.base == "jsonb":
        return _in_jsonb(attribute, key, values)
    if attribute.base == "json":
        return statement("{} ->> %s = ANY(%s::text[])", column(attribute)), [key, list(values)]
    raise InputError(
        f"The key {key!r} inside the column {attribute.name!r} cannot be looked for in place: the column is no JSON.",
        hint="Give the table as a view with a column of that name.",
    )


def combined(text: str, *parts: Condition) -> Condition:
    """Put conditions, or other parts of a statement with their values, in the place of a text's braces."""
    return statement(text, *(part for part, _ in parts)), [value for _, values in parts for value in values]


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that at least one of these holds."""
    return combined(f"({' OR '.join(['{}'] * len(conditions))})", *conditions)


def sum_of(scores: Sequence[Condition]) -> Condition:
    """Return the sum of numbers that are written as conditions are."""
    return combined(" + ".join(["{}"] * len(scores)), *scores)


def nothing() -> Condition:
    """Return the condition that never holds."""
    return statement("false"), []


def statement(text: str, *parts: sql.Composable) -> sql.Composed:
    """Write SQL with names and conditions in the place of its braces."""
    from psycopg import sql

    # Every text given is a literal of this package.
    return sql.SQL(text).format(*parts)


def identifier(*names: str) -> sql.Identifier:
    """Write a name, or a schema and a name, as SQL takes it among bound values."""
    from psycopg import sql

    return sql.Identifier(*(name.replace("%", "%%") for name in names))


def column(attribute: Attribute, *, as_text: bool = False) -> sql.Composed:
    """Write a column of the table `t`."""
    # With the table before it, a name in ORDER BY means the column and not the text selected under the same name.
    return statement("t.{}::text" if as_text else "t.{}", identifier(attribute.name))


def _in_column(attribute: Attribute, values: Sequence[str]) -> Condition:
    if attribute.base in _TEXTS:
        return statement("{} = ANY(%s::text[])", column(attribute)), [list(values)]
    if attribute.base in _INTEGERS:
        most = _INTEGERS[attribute.base]
        numbers = [each for each in as_stored(values) if isinstance(each, int) and abs(each) <= most]
        return statement("{} = ANY(%s::bigint[])", column(attribute)), [numbers]
    if attribute.base == "uuid":
        return statement("{} = ANY(%s::uuid[])", column(attribute)), [list(filter(_UUID.fullmatch, values))]
    return statement("{} = ANY(%s::text[])", column(attribute, as_text=True)), [list(values)]


def _in_jsonb(attribute: Attribute, key: str, values: Sequence[str]) -> Condition:
    """Ask whether the object contains the key with the value: what an index over the whole column answers."""
    from psycopg import sql

    forms = [json.dumps({key: form}) for value in values for form in _forms(value)]
    contains = statement("{} @> %s::jsonb", column(attribute))
    return statement("({})", sql.SQL(" OR ").join([contains] * len(forms))), list(forms)


def _forms(value: str) -> Iterable[object]:
    yield value
    yield [value]
    if _NUMBER.fullmatch(value) or value in ("true", "false", "null"):
        yield json.loads(value)
        yield [json.loads(value)]
