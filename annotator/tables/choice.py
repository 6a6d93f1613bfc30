"""Chooses one chunk table of several in the same place: the one named, else the only one that looks like one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from annotator.errors import InputError, NotFound
from annotator.tables.columns import guess
from annotator.tables.table import Table

__all__ = ["choose"]

Some = TypeVar("Some", bound=Table)


def choose(tables: Sequence[Some], name: str, place: str) -> Some:
    """Return the table of this name; without one, the only table that has ids and texts.

    Raises InputError when the choice is not clear, NotFound for an unknown name, both with the names there are.
    """
    if name:
        for table in tables:
            if table.table == name:
                return table
        listed = ", ".join(table.table for table in tables) or "none"
        raise NotFound(f"{place} has no table {name!r}.", hint=f"It has: {listed}.")
    fitting = [table for table in tables if _fits(table)]
    if len(fitting) != 1:
        what = "More than one table" if fitting else "No table"
        listed = ", ".join(f"{table.table} ({table.count()} rows)" for table in fitting or tables)
        raise InputError(
            f"{what} of {place} has usual names for the chunk id and the text.",
            hint=f"Name one with --table. {'Fitting' if fitting else 'There'}: {listed or 'none'}.",
        )
    return fitting[0]


def _fits(table: Table) -> bool:
    try:
        mapping, _ = guess(table.columns(), {})
    except InputError:  # a view on something that is gone
        return False
    return bool(mapping.chunk_id and mapping.text)
