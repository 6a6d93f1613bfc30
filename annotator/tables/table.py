"""What a live chunk table is: columns, rows in batches, and places to name in a message. Never written to.

One small module beside this one per kind of table; turning rows into chunks is `reading.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, runtime_checkable

from annotator.errors import Problem

__all__ = [
    "BATCH_ROWS",
    "FIELDS",
    "WHOLE_RECORD",
    "Batch",
    "Column",
    "Columns",
    "Lookup",
    "Nearest",
    "Stamped",
    "Table",
    "Way",
]

FIELDS: Final = ("chunk_id", "text", "doc_id", "title", "position")
"""The fields of a chunk that one column each is mapped to; metadata takes any number."""

BATCH_ROWS: Final = 1_000

WHOLE_RECORD: Final = "*"
"""Asked for as a column, an open-ended table gives each record as a whole: its keys differ from row to row."""


Way = Literal["index", "scan", "none"]
"""How single rows are found by their id: by an index in a moment, by looking through all rows, or not at all."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as found. `kind`: text, number, object, vector or blob; `metadata.page` names a key of an object."""

    name: str
    kind: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; "" for none. No metadata columns named means all that remain."""

    chunk_id: str = ""
    text: str = ""
    doc_id: str = ""
    title: str = ""
    position: str = ""
    metadata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows, column by column in the order asked for; `problems` are rows that could not be read at all.

    `places` are line numbers of a file, row numbers of a table.
    """

    places: Sequence[int]
    values: Sequence[Sequence[object]]
    problems: Sequence[Problem] = ()


class Table(Protocol):
    """A live chunk table, open for reading."""

    @property
    def name(self) -> str:
        """What to call it in a message, e.g. `handbook.sqlite3, table chunks`."""

    @property
    def table(self) -> str:
        """The table's own name where the address holds several, else ""."""

    @property
    def kind(self) -> str:
        """What it was recognised as, e.g. `SQLite table`."""

    @property
    def open_ended(self) -> bool:
        """Say whether later rows may have columns that `columns` did not see."""

    def columns(self) -> list[Column]:
        """List the columns, judged by the first rows."""

    def sample(self, limit: int) -> list[Mapping[str, object]]:
        """Return the first rows with all their columns."""

    def count(self) -> int | None:
        """Return the number of rows, None when finding out would mean reading them all."""

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Read all rows, these columns only, in bounded memory. Raises InputError when reading fails as a whole."""

    def problem(self, place: int, message: str, *, field: str = "", value: str = "", mend: str = "") -> Problem:
        """Make a Problem that names the place in this table."""


@runtime_checkable
class Lookup(Protocol):
    """What a table is as well when single rows of it can be read by their id."""

    def way(self, key: str, /) -> Way:
        """Say how rows are found by this column; `none` when they cannot be, or when looking would be in the way."""

    def rows(self, key: str, ids: Sequence[str], columns: Sequence[str], seconds: float, /) -> Batch:
        """Read the rows whose `key` column holds one of the ids, and perhaps others that resemble them.

        Raises InputError when reading fails or takes longer than `seconds`, as far as that can be told.
        """


@runtime_checkable
class Stamped(Protocol):
    """What a table in files is as well: whether it was written to shows without reading it."""

    def stamp(self) -> str:
        """Return something that differs after every change of the files."""


@runtime_checkable
class Nearest(Protocol):
    """What a table is as well when it can say which rows have vectors near to that of one row."""

    def nearest(self, key: str, chunk_id: str, k: int, seconds: float, /) -> list[str]:
        """Return the ids of the rows nearest by vector, nearest first, perhaps with its own; none without a vector.

        Raises InputError when the table fails or takes longer than `seconds`, as far as that can be told.
        """
