"""Live tables that are searched where they are, because they are too large to mirror: what is asked and answered.

How a typed text is understood is the caller's; a small module beside this one per kind of table does the asking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from annotator.errors import InputError
from annotator.tables.reading import Reading
from annotator.tables.table import Batch, Table

__all__ = ["SEARCH_SECONDS", "Asked", "Found", "InPlace", "Searchable", "searchable"]

SEARCH_SECONDS: Final = 10.0
"""How long the server of the table may take for one search."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A search. `words` are the typed words, each with the spellings that may stand for it and their weights.

    Words add to the score of whatever holds any of them; phrases and filters must hold, what is in `without` must not.
    `by_id` looks for `text` among the chunk ids instead; `forgiving` allows slips, where the table itself can.
    """

    text: str
    words: tuple[tuple[tuple[str, float], ...], ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    doc_id: str = ""
    where: tuple[tuple[str, str], ...] = ()
    by_id: bool = False
    forgiving: bool = False
    limit: int = 10
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A page of (chunk id, score), best first, of `total`; with `more` there are others that were not looked at.

    `near` are ids that stand next to the one typed, to be judged by who asked. Where the order is rough, `rarity` says
    how rare each word is, by its first spelling, so that whoever asked can rank the best of them again.
    """

    ids: tuple[tuple[str, float], ...]
    total: int
    more: bool = False
    near: tuple[str, ...] = ()
    rarity: tuple[tuple[str, float], ...] = ()


@runtime_checkable
class Searchable(Protocol):
    """A live table as it is searched. Raises InputError, with what to do about it, when the server does not answer."""

    @property
    def described(self) -> str:
        """How it is searched, for people."""

    @property
    def notes(self) -> Sequence[str]:
        """What would make it better, for people."""

    @property
    def forgives(self) -> bool:
        """Say whether the table itself finds words with slips."""

    @property
    def rough(self) -> bool:
        """Say whether its order is rough, so that the best should be ranked again by who asked."""

    def search(self, asked: Asked) -> Found:
        """Find chunks."""

    def document(self, doc_id: str, columns: Sequence[str]) -> Batch:
        """Read the rows of a document, in the order of the table where it has one."""

    def texts_beginning(self, beginning: str) -> list[str]:
        """Return some texts that hold a word that begins so; for a table that does not forgive by itself."""

    def about(self) -> int | None:
        """Return roughly how many chunks there are, as far as the server knows without counting."""

    def close(self) -> None:
        """Let go of connections that are kept between searches."""


@runtime_checkable
class InPlace(Protocol):
    """What a table is as well when it can be searched in place."""

    def searchable(self, reading: Reading, /) -> Searchable:
        """Get ready for searching. Raises InputError that says what is missing."""


def searchable(table: Table, reading: Reading) -> Searchable:
    """Get ready for searching the table in place. Raises InputError that says what is missing."""
    if not isinstance(table, InPlace):
        raise InputError(
            f"{table.name} ({table.kind}) cannot be searched in place.",
            hint="PostgreSQL, OpenSearch, Elasticsearch and a Qdrant server can. Connect it without --in-place: sync "
            "then reads it into the workspace.",
        )
    return table.searchable(reading)
