"""Every kind of chunk table from its address to a search: connect, sync, sync again, find."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from annotator.services import chunk_table
from annotator.services.search import search
from annotator.store.database import Workspace
from tests.conftest import missing
from tests.postgres_server import PASSWORD, Postgres

TABLES = Path(__file__).resolve().parents[1] / "fixtures" / "tables"
FILES = [
    ("chroma/chroma_dir", "handbook", ""),
    ("lancedb/lance_dir", "handbook", "lancedb"),
    ("qdrant/qdrant_dir", "handbook", ""),
    ("duckdb/handbook.duckdb", "chunks", "duckdb"),
    ("parquet", "", ""),
    ("sqlite-vec/handbook-vec.sqlite3", "vec_chunks", ""),
]
DUMPS = [
    ("langchain-pgvector", "handbook"),
    ("langchain-pgvectorstore", "handbook_chunks"),
    ("llamaindex-pgvector", "data_handbook"),
    ("haystack-pgvector", ""),
    ("supabase-plain", "documents"),
]


def found_after_sync(folder: Path, url: str, table: str) -> list[str]:
    """Connect and sync twice; returns the documents of what a search finds."""
    workspace = Workspace(folder / "workspace")
    workspace.create()
    chunk_table.connect(workspace, "Ana", url, table)
    first = chunk_table.sync(workspace, "Ana")
    again = chunk_table.sync(workspace, "Ana")
    assert (first.added, again.unchanged, again.total) == (60, 60, 60)
    return [hit.doc_id for hit in search(workspace, "expired voucher").hits]


@pytest.mark.parametrize(("place", "table", "driver"), FILES, ids=[place.partition("/")[0] for place, _, _ in FILES])
def test_a_file_or_folder(place: str, table: str, driver: str, tmp_path: Path) -> None:
    if driver and not importlib.util.find_spec(driver):
        missing(f"{driver} is not installed")
    url = f"sqlite:///{TABLES / place}" if place.endswith(".sqlite3") else str(TABLES / place)
    assert found_after_sync(tmp_path, url, table)[0] == "refunds-gift@v1"


@pytest.mark.parametrize(("kind", "table"), DUMPS, ids=[kind for kind, _ in DUMPS])
def test_a_layout_in_postgresql(
    kind: str, table: str, postgres: Postgres, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    postgres.database("live", shared / "tables" / kind / "dump.pgvector.sql")
    assert found_after_sync(tmp_path, postgres.reader("live"), table)[0] == "refunds-gift@v1"
