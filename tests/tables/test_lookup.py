"""Single rows of every kind of table by their id: the same chunk as a sync would read, and how they are found."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from annotator.errors import InputError
from annotator.tables import Columns, Reading, Stamped, guess, open_table
from annotator.tables.values import as_stored
from tests.tables.test_kinds import HANDBOOKS, driver

WAYS = {"sqlite": "index", "chroma": "index", "qdrant": "index", "sqlite-vec": "index", "csv": "none", "jsonl": "none"}


def reading(url: object, table: str = "", columns: Columns | None = None) -> Reading:
    live = open_table(str(url), table)
    return Reading(live, columns or guess(live.columns(), {})[0])


@pytest.mark.parametrize(("kind", "url", "table"), HANDBOOKS, ids=[f"{kind} {table}" for kind, _, table in HANDBOOKS])
def test_single_chunks_are_as_the_whole_table_gives_them(
    kind: str, url: str, table: str, tables: Path, read_all
) -> None:
    driver(kind)
    whole = {row[1]: row[1:] for row in read_all(url.format(tables), table)[0]}
    one = reading(url.format(tables), table)
    assert one.way == WAYS.get(kind, "scan")
    asked = [*sorted(whole)[:2], sorted(whole)[-1]]
    if one.way == "none":
        with pytest.raises(InputError, match="one by one"):
            one.fetch(asked, 5)
        return
    assert {row[1]: row[1:] for row in one.fetch([*asked, "no such id", "it's 'one'"], 5).rows} == {
        chunk_id: whole[chunk_id] for chunk_id in asked
    }
    assert one.fetch(["no such id"], 5).rows == []


def test_ids_that_are_numbers_are_found_by_their_digits_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE chunks (id INTEGER PRIMARY KEY, text TEXT)")
        connection.execute("INSERT INTO chunks VALUES (7, 'seven'), (-3, 'minus three')")
    one = reading(f"sqlite:///{tmp_path}/t.db")
    assert [row[1:3] for row in one.fetch(["7", "007", "7.0"], 5).rows] == [("7", "seven")]
    assert [row[1] for row in one.fetch(["-3", "9" * 30], 5).rows] == ["-3"]
    assert as_stored(["7", "007", "-3", "9" * 30, "٣", "-"]) == ["7", "007", "-3", "9" * 30, "٣", "-", 7, -3]


def test_a_table_without_an_index_is_looked_through_and_a_view_is_judged_by_its_table(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE plain (id TEXT, text TEXT)")
        connection.execute("CREATE TABLE keyed (id TEXT PRIMARY KEY, body TEXT)")
        connection.execute("CREATE VIEW seen AS SELECT id, body AS text FROM keyed")
        connection.execute("INSERT INTO plain VALUES ('a', 'A'), ('b', 'B')")
    url = f"sqlite:///{tmp_path}/t.db"
    plain = reading(url, "plain")
    assert (plain.way, reading(url, "seen").way) == ("scan", "index")
    assert [row[1:3] for row in plain.fetch(["b"], 5).rows] == [("b", "B")]


def test_looking_through_ends_when_its_time_is_up(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE plain (id TEXT, text TEXT)")
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
        connection.execute(f"INSERT INTO plain {numbers} SELECT 'id' || i, 'text' FROM n")
    with pytest.raises(InputError, match="interrupted"):
        reading(f"sqlite:///{tmp_path}/t.db").fetch(["id199999"], 0.001)


def test_a_fault_of_the_row_is_told_with_its_place(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("CREATE TABLE chunks (id TEXT PRIMARY KEY, text TEXT)")
        connection.execute("INSERT INTO chunks VALUES ('a', 'A'), ('b', CAST(x'ff41' AS TEXT))")
    found = reading(f"sqlite:///{tmp_path}/t.db", columns=Columns("id", "text")).fetch(["a", "b"], 5)
    assert [row[1] for row in found.rows] == ["a"]
    assert "not UTF-8" in str(found.problems[0])


def test_ids_inside_an_object_cannot_be_looked_up(tables: Path) -> None:
    one = reading(tables / "chroma" / "chroma_dir", "handbook", Columns("metadata.title", "document"))
    assert one.way == "none"
    with pytest.raises(InputError, match="one by one"):
        one.fetch(["a"], 5)


def test_a_qdrant_file_with_keys_of_another_kind_is_not_looked_up(tmp_path: Path, tables: Path) -> None:
    shutil.copytree(tables / "qdrant", tmp_path / "qdrant")
    stored = tmp_path / "qdrant" / "qdrant_dir" / "collection" / "handbook" / "storage.sqlite"
    with closing(sqlite3.connect(stored)) as connection, connection:
        connection.execute("UPDATE points SET id = 'new ' || id")
    assert reading(tmp_path / "qdrant" / "qdrant_dir", "handbook").way == "none"


def test_parquet_rows_are_found_across_row_groups_and_files(tmp_path: Path) -> None:
    for name, first in (("a", 0), ("b", 1000)):
        ids = [f"c{number}" for number in range(first, first + 1000)]
        table = pyarrow.table({"id": ids, "text": [f"text {each}" for each in ids]})
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=300)
    found = reading(tmp_path).fetch(["c1999", "c5", "c1000"], 5)
    assert [row[:2] for row in found.rows] == [(6, "c5"), (1001, "c1000"), (2000, "c1999")]
    assert found.rows[2][2] == "text c1999"
    with pytest.raises(InputError, match="took too long"):
        reading(tmp_path).fetch(["c5"], -1)


@pytest.mark.parametrize("name", ["jsonl/handbook.jsonl", "csv/handbook.csv", "parquet"])
def test_files_have_a_stamp_that_changes_with_them(name: str, tables: Path, tmp_path: Path) -> None:
    shutil.copytree(tables, tmp_path / "tables")
    live = open_table(str(tmp_path / "tables" / name))
    assert isinstance(live, Stamped)
    before = live.stamp()
    assert live.stamp() == before
    for path in (tmp_path / "tables" / name.partition("/")[0]).iterdir():
        path.write_bytes(path.read_bytes() + b"\n")
    assert live.stamp() != before


def test_a_database_file_has_no_stamp(tables: Path) -> None:
    assert not isinstance(open_table(f"sqlite:///{tables}/sqlite/handbook.sqlite3", "chunks"), Stamped)
