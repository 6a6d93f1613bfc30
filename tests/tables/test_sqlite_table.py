"""SQLite tables: what is listed, order, undecodable text, and that the file is never touched."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.tables import Columns, open_table

Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a database from statements; returns its address."""

    def make(*statements: str, rows: tuple[tuple[object, ...], ...] = ()) -> str:
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
            for statement in statements:
                connection.execute(statement)
            if rows:
                marks = ",".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO chunks VALUES ({marks})", rows)
        return f"sqlite:///{tmp_path}/a.db"

    return make


def test_the_only_fitting_table_is_taken_even_beside_a_broken_view(make: Make) -> None:
    url = make(
        "CREATE TABLE chunks (id, text)",
        "CREATE TABLE documents (id, title)",
        "CREATE TABLE gone (id, text)",
        "CREATE VIEW broken AS SELECT id, text FROM gone",
        "DROP TABLE gone",
    )
    assert open_table(url).name == "a.db, table chunks"


@pytest.mark.parametrize("statements", [(), ("CREATE TABLE t (a, b)",)])
def test_a_database_without_a_fitting_table_says_what_there_is(statements: tuple[str, ...], make: Make) -> None:
    with pytest.raises(InputError, match=r"No table of a.db.*There: (none|t \(0 rows\))"):
        open_table(make(*statements))


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("chunk_id,text\n" * 100)
    with pytest.raises(InputError, match=r"a\.db cannot be read"):
        open_table(f"sqlite:///{tmp_path}/a.db")


def test_a_file_somebody_writes_to_says_so(make: Make) -> None:
    url = make("CREATE TABLE chunks (id TEXT PRIMARY KEY, text)", rows=(("a", "t"),))
    live = open_table(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as owner:
        owner.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match="Another program is writing"):
            live.rows("id", ["a"], ["id"], 0.1)
        owner.execute("ROLLBACK")


def test_rows_come_in_rowid_order_over_many_pages(make: Make, read_all) -> None:
    url = make("CREATE TABLE chunks (id TEXT PRIMARY KEY, text)", rows=tuple((f"{-n}", "t") for n in range(2_500)))
    rows, _ = read_all(url)
    assert [row[1] for row in rows] == [f"{-n}" for n in range(2_500)]
    assert [row[0] for row in rows] == list(range(1, 2_501))


def test_tables_without_rowid_come_in_key_order(make: Make, read_all) -> None:
    url = make("CREATE TABLE chunks (id TEXT PRIMARY KEY, text) WITHOUT ROWID", rows=(("b", "t"), ("a", "t")))
    rows, _ = read_all(url)
    assert [row[:2] for row in rows] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("table", ["chunks", "seen"])
def test_text_that_is_not_utf8_is_a_fault_of_its_row_alone(table: str, make: Make, read_all) -> None:
    url = make(
        "CREATE TABLE chunks (id, text)",
        "CREATE VIEW seen AS SELECT * FROM chunks",
        rows=tuple((f"id{n}", "grün") for n in range(1, 2_101)),
    )
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE chunks SET text = CAST(X'6772fc6e' AS TEXT) WHERE rowid IN (7, 1000, 2050)")
    rows, problems = read_all(url, table)
    assert len(rows) == 2_097
    assert [problem.file for problem in problems] == [f"a.db, table {table}, row {row}" for row in (7, 1000, 2050)]
    assert {(problem.field, problem.value) for problem in problems} == {("text", "gr\\xfcn")}
    assert "byte 3" in problems[0].message


def test_odd_names_are_quoted(make: Make, read_all) -> None:
    url = make(
        'CREATE TABLE "my ""table""" ("order" TEXT, "a b" TEXT)', 'INSERT INTO "my ""table""" VALUES (\'x\', \'y\')'
    )
    rows, _ = read_all(url, 'my "table"', columns=Columns("order", "a b"))
    assert rows[0][1:3] == ("x", "y")


def test_a_blob_is_no_text_and_integer_ids_are_digits(make: Make, read_all) -> None:
    url = make("CREATE TABLE chunks (id INTEGER PRIMARY KEY, text)", rows=((5, "t"), (9, b"\x01\x02")))
    rows, problems = read_all(url, columns=Columns("id", "text"))
    assert rows[0][1] == "5"
    assert [(problem.file, problem.message) for problem in problems] == [
        ("a.db, table chunks, row 9", "the text is binary data, not text")
    ]


def test_metadata_in_a_blob_of_json_is_read(make: Make, read_all) -> None:
    url = make("CREATE TABLE chunks (id, text, metadata)", rows=(("a", "t", b'{"page": 3}'),))
    assert read_all(url)[0][0][6] == '{"page":3}'


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_reading_changes_no_byte_and_sees_what_is_in_the_journal(journal: str, make: Make, read_all) -> None:
    url = make("CREATE TABLE chunks (id, text)")
    path = Path(url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(f"PRAGMA journal_mode={journal}")
        with writer:
            writer.execute("INSERT INTO chunks VALUES ('a', 't')")
        before = sha256(path.read_bytes()).hexdigest()
        rows, _ = read_all(url)
        assert len(rows) == 1
        assert sha256(path.read_bytes()).hexdigest() == before


def test_the_owner_can_write_between_two_pages(make: Make) -> None:
    url = make("CREATE TABLE chunks (id, text)", rows=tuple((str(n), "t") for n in range(3_000)))
    batches = open_table(url).batches(["id"])
    next(batches)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0)) as owner, owner:
        owner.execute("DELETE FROM chunks WHERE id = '2999'")
    assert sum(len(batch.places) for batch in batches) == 1_999
