"""The same handbook read from every kind of table, against the digests that came with it."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

from annotator.errors import InputError, NotFound
from annotator.tables import Columns, guess, open_table, remaining
from tests.conftest import missing

HANDBOOKS = [
    ("sqlite", "sqlite:///{}/sqlite/handbook.sqlite3", "live_chunks"),
    ("csv", "{}/csv/handbook.csv", ""),
    ("jsonl", "{}/jsonl/handbook.jsonl", ""),
    ("parquet", "{}/parquet/handbook.parquet", ""),
    ("parquet", "{}/parquet", ""),
    ("chroma", "{}/chroma/chroma_dir", "handbook"),
    ("duckdb", "{}/duckdb/handbook.duckdb", "chunks"),
    ("lancedb", "{}/lancedb/lance_dir", "handbook"),
    ("qdrant", "{}/qdrant/qdrant_dir", "handbook"),
    ("sqlite-vec", "sqlite:///{}/sqlite-vec/handbook-vec.sqlite3", "chunks"),
]


def driver(kind: str) -> None:
    """Skip, or fail where everything has to be there, when the kind's driver is not."""
    name = {"duckdb": "duckdb", "lancedb": "lancedb"}.get(kind)
    if name and not find_spec(name):
        missing(f"{name} is not installed")


@pytest.mark.parametrize(("kind", "url", "table"), HANDBOOKS, ids=[f"{kind} {table}" for kind, _, table in HANDBOOKS])
def test_every_kind_gives_the_expected_chunks(kind: str, url: str, table: str, tables: Path, read_all) -> None:
    expected = json.loads((tables / kind / "expected.json").read_text())
    driver(kind)
    rows, problems = read_all(url.format(tables), table)
    assert problems == []
    assert len(rows) == expected["count"]
    lines = sorted(f"{row[1]}\t{sha256(row[2].encode()).hexdigest()}" for row in rows)
    assert sha256("\n".join(lines).encode()).hexdigest() == expected["digest"]
    found = {row[1]: row for row in rows}
    for one in expected["rows"]:
        _, _, text, doc_id, title, position, metadata, _ = found[one["chunk_id"]]
        assert (text, doc_id, title, position) == (one["text"], one["doc_id"], one["title"], one["position"])
        wanted = {key: str(value).replace("+00:00", "Z") for key, value in one["metadata"].items()}
        assert {key: str(value) for key, value in json.loads(metadata).items()}.items() >= wanted.items()


@pytest.mark.parametrize(("kind", "url", "table"), HANDBOOKS, ids=[f"{kind} {table}" for kind, _, table in HANDBOOKS])
def test_vectors_never_become_metadata(kind: str, url: str, table: str, tables: Path, read_all) -> None:
    driver(kind)
    rows, _ = read_all(url.format(tables), table)
    assert all("embedding" not in row[6] and "vector" not in row[6] for row in rows)


def test_named_metadata_columns_are_the_only_ones(tables: Path, read_all) -> None:
    columns = Columns("chunk_id", "text", metadata=("meta.domain", "updated_at"))
    rows, _ = read_all(tables / "parquet" / "handbook.parquet", columns=columns)
    assert json.loads(rows[0][6]) == {"domain": "refunds", "updated_at": "2024-02-01 00:00:00.000000Z"}


def test_the_beir_form_is_recognised(tables: Path) -> None:
    live = open_table(str(tables / "jsonl" / "beir-corpus.jsonl"))
    mapping, reasons = guess(live.columns(), {})
    assert mapping == Columns("_id", "text", title="title")
    assert "`_id`" in reasons["chunk_id"]
    assert remaining(live.columns(), mapping) == ["metadata"]


def test_a_database_with_more_than_one_fitting_table_lists_them(tables: Path) -> None:
    with pytest.raises(InputError) as caught:
        open_table(f"sqlite:///{tables}/sqlite/handbook.sqlite3")
    assert "chunks (60 rows), live_chunks (55 rows)" in str(caught.value)
    with pytest.raises(NotFound, match="documents"):
        open_table(f"sqlite:///{tables}/sqlite/handbook.sqlite3", "chunk")


@pytest.mark.parametrize("name", ["jsonl/handbook.jsonl", "csv/handbook.csv"])
@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16", "gz"])
def test_text_files_may_have_a_bom_be_utf16_or_gzipped(
    name: str, form: str, tables: Path, tmp_path: Path, read_all
) -> None:
    source = tables / name
    text = source.read_bytes().decode()
    target = tmp_path / (source.name + (".gz" if form == "gz" else ""))
    target.write_bytes(gzip.compress(text.encode("utf-8-sig")) if form == "gz" else text.encode(form))
    assert read_all(target) == read_all(source)
