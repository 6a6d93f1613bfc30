"""Live chunk tables, read only: what kinds there are, which column holds what, and their rows as chunks."""

from annotator.tables.address import absolute, list_tables, open_table
from annotator.tables.columns import guess, remaining
from annotator.tables.reading import ChunkBatch, Reading, SourceRow
from annotator.tables.searchable import Asked, Found, InPlace, Searchable, searchable
from annotator.tables.table import FIELDS, Column, Columns, Lookup, Nearest, Stamped, Table, Way

__all__ = [
    "FIELDS",
    "Asked",
    "ChunkBatch",
    "Column",
    "Columns",
    "Found",
    "InPlace",
    "Lookup",
    "Nearest",
    "Reading",
    "Searchable",
    "SourceRow",
    "Stamped",
    "Table",
    "Way",
    "absolute",
    "guess",
    "list_tables",
    "open_table",
    "remaining",
    "searchable",
]
