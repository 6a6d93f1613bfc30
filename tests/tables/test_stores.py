"""What is particular to the stores of retrieval libraries: Chroma, DuckDB, LanceDB, Qdrant, sqlite-vec, folders."""

from __future__ import annotations

import json
import pickle
import shutil
import sqlite3
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from annotator.errors import InputError, NotFound
from annotator.tables import Columns, guess, list_tables, open_table

STORES = [
    ("{}/chroma/chroma_dir", ["handbook", "handbook-archive"]),
    ("{}/chroma/chroma_dir/chroma.sqlite3", ["handbook", "handbook-archive"]),
    ("{}/qdrant/qdrant_dir", ["handbook", "handbook-archive", "handbook-llamaindex"]),
    ("{}/lancedb/lance_dir", ["handbook", "vectorstore"]),
    ("{}/duckdb/handbook.duckdb", ["chunks", "embeddings"]),
    ("sqlite:///{}/sqlite-vec/handbook-vec.sqlite3", ["chunks", "vec_chunks"]),
]


@pytest.mark.parametrize(("url", "names"), STORES, ids=[url.rpartition("/")[2] for url, _ in STORES])
def test_a_store_of_several_tables_lists_them_and_lets_one_be_named(url: str, names: list[str], tables: Path) -> None:
    if "duckdb" in url:
        pytest.importorskip("duckdb")
    if "lance" in url:
        pytest.importorskip("lancedb")
    place = url.format(tables)
    assert list_tables(place) == names
    with pytest.raises(InputError, match=r"--table.*\(60 rows\)"):
        open_table(place)
    with pytest.raises(NotFound, match="It has: "):
        open_table(place, "hand")
    assert open_table(place, names[-1]).table == names[-1]


@pytest.mark.parametrize(("url", "names"), STORES, ids=[url.rpartition("/")[2] for url, _ in STORES])
def test_reading_changes_no_file(url: str, names: list[str], tables: Path, tmp_path: Path, read_all) -> None:
    if "duckdb" in url:
        pytest.importorskip("duckdb")
    if "lance" in url:
        pytest.importorskip("lancedb")
    shutil.copytree(tables, tmp_path / "tables")
    before = _digests(tmp_path)
    read_all(url.format(tmp_path / "tables"), names[0])
    assert _digests(tmp_path) == before


def test_equal_ids_of_two_chroma_collections_keep_their_own_texts(tables: Path, read_all) -> None:
    url = tables / "chroma" / "chroma_dir"
    archive = {row[1]: row for row in read_all(url, "handbook-archive")[0]}
    handbook = {row[1]: row for row in read_all(url, "handbook")[0]}
    assert len(archive) == 7
    common = set(archive) & set(handbook)
    assert len(common) == 5
    assert {name[-3:] for name in common if archive[name][2] != handbook[name][2]} >= {"000"}
    assert archive["no-document"][2] == ""
    assert archive["no-metadata"][6] == "{}"


def test_chroma_lists_older_versions_and_equal_names_in_two_databases(tmp_path: Path, read_all) -> None:
    with closing(sqlite3.connect(tmp_path / "chroma.sqlite3")) as connection, connection:
        connection.executescript(
            "CREATE TABLE databases (id, name); CREATE TABLE collections (id, name, database_id);"
            "CREATE TABLE segments (id, scope, collection); CREATE TABLE embeddings (id INTEGER PRIMARY KEY, "
            "segment_id, embedding_id); CREATE TABLE embedding_metadata (id, key, string_value, int_value, "
            "float_value); INSERT INTO databases VALUES (1, 'north'), (2, 'south');"
            "INSERT INTO collections VALUES (1, 'c', 1), (2, 'c', 2);"
            "INSERT INTO segments VALUES ('s1', 'METADATA', 1), ('v1', 'VECTOR', 1), ('s2', 'METADATA', 2);"
            "INSERT INTO embeddings VALUES (1, 's1', 'a'), (2, 's2', 'b'), (3, 's1', 'c');"
            "INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'A', NULL, NULL), (1, 'zero', NULL, NULL, "
            "0.0), (2, 'chroma:document', 'B', NULL, NULL), (3, 'chroma:document', 'C', NULL, NULL)"
        )
    assert list_tables(str(tmp_path)) == ["north/c", "south/c"]
    rows, _ = read_all(tmp_path, "north/c")
    assert [(row[0], row[1], row[2], row[6]) for row in rows] == [(1, "a", "A", '{"zero":0.0}'), (3, "c", "C", "{}")]


def test_chroma_lists_of_metadata_are_kept(tmp_path: Path, tables: Path, read_all) -> None:
    shutil.copytree(tables / "chroma", tmp_path / "chroma")
    with closing(sqlite3.connect(tmp_path / "chroma" / "chroma_dir" / "chroma.sqlite3")) as connection, connection:
        connection.executemany(
            "INSERT INTO embedding_metadata_array (id, key, string_value) SELECT min(id), 'tags', ? FROM embeddings",
            [("b",), ("a",)],
        )
    rows, _ = read_all(tmp_path / "chroma" / "chroma_dir", "handbook")
    assert json.loads(rows[0][6])["tags"] == ["b", "a"]


def test_a_qdrant_collection_of_llamaindex_has_its_text_from_the_librarys_copy(tables: Path, read_all) -> None:
    rows, problems = read_all(tables / "qdrant" / "qdrant_dir", "handbook-llamaindex")
    assert problems == []
    assert len(rows) == 5
    assert rows[0][2].startswith("This is version 1 of the standard refund policy.")
    assert "_node_content" not in json.loads(rows[0][6])


def test_qdrant_ids_may_be_numbers_and_texts_may_be_missing(tables: Path, read_all) -> None:
    rows, _ = read_all(tables / "qdrant" / "qdrant_dir", "handbook-archive")
    assert {row[1]: row[2] != "" for row in rows} == dict.fromkeys("12345", True) | {"99": False}


class _Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("touched"),))


def test_a_qdrant_point_that_asks_for_code_is_a_fault_and_runs_nothing(
    tmp_path: Path, tables: Path, read_all, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tables / "qdrant", tmp_path / "qdrant")
    stored = tmp_path / "qdrant" / "qdrant_dir" / "collection" / "handbook" / "storage.sqlite"
    with closing(sqlite3.connect(stored)) as connection, connection:
        for name, point in (("evil", pickle.dumps(_Evil())), ("cut", b"\x80\x04"), ("number", pickle.dumps(7))):
            connection.execute("INSERT INTO points VALUES (?, ?)", (name, point))
    rows, problems = read_all(tmp_path / "qdrant" / "qdrant_dir", "handbook")
    assert len(rows) == 60
    assert len(problems) == 3
    assert "not opened" in str(problems[0])
    assert not Path("touched").exists()


def test_the_plus_columns_of_a_vec0_table_are_read_without_the_extension(tables: Path, read_all) -> None:
    url = f"sqlite:///{tables}/sqlite-vec/handbook-vec.sqlite3"
    rows, problems = read_all(url, "vec_chunks")
    assert problems == []
    assert [row[1] for row in rows] == [str(number) for number in range(1000, 1060)]
    assert {row[2] for row in rows} == {row[2] for row in read_all(url, "chunks")[0]}
    assert rows[0][3:6] == ("refunds-standard@v1", "Standard refund policy", 0)


def test_duckdb_types_become_what_json_can_say(tmp_path: Path, read_all) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.db"  # also called so, and told by its first bytes
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE SCHEMA other; CREATE TABLE other.chunks AS SELECT n::HUGEINT AS id, 'text ' || n AS text, "
            "TIMESTAMPTZ '2024-02-01 10:30:00+01' AS seen, 1.50::DECIMAL(4,2) AS price, "
            "{'page': n, 'tags': ['a']} AS metadata, [0.5]::FLOAT[] AS embedding, 'x'::BLOB AS raw "
            "FROM range(2500) AS r(n)"
        )
    live = open_table(str(path))
    assert (live.table, live.kind, live.count()) == ("other.chunks", "DuckDB table", 2500)
    kinds = {column.name: column.kind for column in live.columns()}
    assert (kinds["embedding"], kinds["raw"], kinds["metadata"]) == ("vector", "blob", "object")
    rows, problems = read_all(path)
    assert (len(rows), problems) == (2500, [])
    assert rows[7][1:3] == ("7", "text 7")
    expected = {"page": 7, "price": "1.50", "seen": "2024-02-01 09:30:00+00", "tags": ["a"]}
    assert json.loads(rows[7][6]) == expected


def test_a_duckdb_file_somebody_writes_to_says_so(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    path.write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 5000)
    with pytest.raises(InputError, match=r"cannot be read.*open for writing"):
        open_table(str(path))
    assert duckdb


def test_a_missing_driver_is_named_with_its_extra(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, url in (("duckdb", "duckdb/handbook.duckdb"), ("lancedb", "lancedb/lance_dir")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InputError, match=f"pip install {name}"):
            open_table(f"{tables}/{url}", "chunks" if name == "duckdb" else "handbook").columns()


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path, read_all) -> None:
    for name, ids in (("part=2/b.parquet", ["c"]), ("part=1/a.parquet", ["a", "b"]), ("_tmp/x.parquet", ["x"])):
        path = tmp_path / name
        path.parent.mkdir()
        pyarrow.parquet.write_table(pyarrow.table({"id": ids, "text": ids}), path)
    live = open_table(str(tmp_path))
    assert (live.count(), live.kind) == (3, "folder of Parquet files")
    rows, _ = read_all(tmp_path)
    assert [row[:2] for row in rows] == [(1, "a"), (2, "b"), (3, "c")]
    assert str(live.problem(3, "is odd")) == "b.parquet, row 1: is odd."
    pyarrow.parquet.write_table(pyarrow.table({"id": ["d"]}), tmp_path / "z.parquet")
    with pytest.raises(InputError, match=r"z\.parquet has no column text"):
        read_all(tmp_path, "", Columns("id", "text"))


def test_a_folder_that_is_no_store_says_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no kind of chunk table that is known"):
        open_table(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_the_guess_of_a_chroma_collection(tables: Path) -> None:
    live = open_table(str(tables / "chroma" / "chroma_dir"), "handbook")
    assert guess(live.columns(), {})[0] == Columns(
        "embedding_id", "document", "metadata.doc_id", "metadata.title", "metadata.position"
    )


def _digests(folder: Path) -> dict[str, str]:
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}
