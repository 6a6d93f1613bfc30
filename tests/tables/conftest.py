"""Small chunk tables of every kind, and reading one to the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from annotator.errors import Problem
from annotator.tables import Columns, Reading, guess, open_table
from annotator.tables.reading import SourceRow

ReadAll = Callable[..., tuple[list[SourceRow], list[Problem]]]


@pytest.fixture
def tables() -> Path:
    """The folder of the handbook in every kind of table."""
    return Path(__file__).resolve().parents[1] / "fixtures" / "tables"


@pytest.fixture
def read_all() -> ReadAll:
    """Read a table with guessed columns, or these; returns its rows and its faults."""

    def read(url: object, table: str = "", columns: Columns | None = None) -> tuple[list[SourceRow], list[Problem]]:
        live = open_table(str(url), table)
        batches = list(Reading(live, columns or guess(live.columns(), {})[0]).batches())
        return [row for batch in batches for row in batch.rows], [
            fault for batch in batches for fault in batch.problems
        ]

    return read
