"""PostgreSQL chunk tables, read from a real server by a role that may only SELECT."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import pytest

from annotator.errors import InputError, NotFound
from annotator.model import Person
from annotator.services import chunk_table
from annotator.store import people
from annotator.store.database import Workspace
from annotator.tables import Columns, Reading, guess, list_tables, open_table
from annotator.tables import postgres as module
from annotator.tables.postgres_server import parse
from annotator.tables.table import BATCH_ROWS
from tests.conftest import missing
from tests.postgres_server import PASSWORD, Postgres, pooled

Make = Callable[..., str]


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    monkeypatch.setattr(module, "_WAITS", (0.01, 0.01, 0.01))


@pytest.fixture
def make(postgres: Postgres) -> Make:
    """Make the database `made` from statements; returns its address for the reader."""

    def make(*statements: str) -> str:
        postgres.database("made")
        for statement in statements:
            postgres.psql("made", statement)
        postgres.grant("made")
        return postgres.reader("made")

    return make


@pytest.fixture(scope="module")
def traps(postgres: Postgres, shared: Path) -> str:
    postgres.database("traps", shared / "tables" / "postgres-traps" / "traps.sql")
    return postgres.reader("traps")


LAYOUTS = [
    ("langchain-pgvector", "handbook", "LangChain PGVector"),
    ("langchain-pgvectorstore", "handbook_chunks", "LangChain PGVectorStore"),
    ("llamaindex-pgvector", "data_handbook", "LlamaIndex PGVectorStore"),
    ("haystack-pgvector", "", "Haystack PgvectorDocumentStore"),
    ("supabase-plain", "documents", ""),
]


@pytest.mark.parametrize(("kind", "table", "layout"), LAYOUTS, ids=[kind for kind, _, _ in LAYOUTS])
def test_every_layout_is_recognised_and_gives_the_expected_chunks(
    kind: str, table: str, layout: str, postgres: Postgres, shared: Path, read_all
) -> None:
    folder = shared / "tables" / kind
    postgres.database(kind, folder / "dump.pgvector.sql")
    live = open_table(postgres.reader(kind), table)
    assert live.kind == "PostgreSQL table" + (f", {layout} layout" if layout else "")
    expected = json.loads((folder / "expected.json").read_text())
    assert live.count() == expected["count"]
    rows, problems = read_all(postgres.reader(kind), table)
    assert problems == []
    assert [row[0] for row in rows] == list(range(1, expected["count"] + 1))
    lines = sorted(f"{row[1]}\t{sha256(row[2].encode()).hexdigest()}" for row in rows)
    assert sha256("\n".join(lines).encode()).hexdigest() == expected["digest"]
    found = {row[1]: row for row in rows}
    for one in expected["rows"]:
        _, _, text, doc_id, title, position, metadata, _ = found[one["chunk_id"]]
        assert (text, doc_id, title, position) == (one["text"], one["doc_id"], one["title"], one["position"])
        assert json.loads(metadata).items() >= one["metadata"].items()
        assert not {"_node_content", "embedding", "collection_id"} & set(json.loads(metadata))


def test_one_collection_of_several_is_chosen_by_name(postgres: Postgres, shared: Path, read_all) -> None:
    postgres.database("collections", shared / "tables" / "langchain-pgvector" / "dump.pgvector.sql")
    url = postgres.reader("collections")
    assert list_tables(url)[:2] == ["langchain_pg_embedding/handbook", "langchain_pg_embedding/handbook-archive"]
    with pytest.raises(InputError, match=r"/handbook \(60 rows\), langchain_pg_embedding/handbook-archive \(6 rows\)"):
        open_table(url)
    live = open_table(url, "handbook-archive")
    assert (live.name, live.table) == (
        "collections, collection handbook-archive",
        "langchain_pg_embedding/handbook-archive",
    )
    rows, _ = read_all(url, "langchain_pg_embedding/handbook-archive")
    assert len(rows) == 6
    assert {row[1]: row[2] for row in rows}["archive:null-row"] == ""
    with pytest.raises(NotFound, match="handbook-archive"):
        open_table(url, "langchain_pg_embedding")


def test_the_older_langchain_layout_gives_the_callers_ids_only_when_all_have_one(make: Make) -> None:
    url = make(
        "CREATE TABLE langchain_pg_collection (uuid uuid PRIMARY KEY, name varchar, cmetadata json)",
        "CREATE TABLE langchain_pg_embedding (uuid uuid PRIMARY KEY, collection_id uuid, document varchar, "
        "cmetadata json, custom_id varchar)",
        "INSERT INTO langchain_pg_collection VALUES (gen_random_uuid(), 'all'), (gen_random_uuid(), 'some')",
        "INSERT INTO langchain_pg_embedding SELECT gen_random_uuid(), c.uuid, 'text', '{}', "
        "CASE WHEN n = 1 OR c.name = 'all' THEN 'mine' || n END "
        "FROM langchain_pg_collection c, generate_series(1, 3) AS n",
    )
    assert guess(open_table(url, "all").columns(), {})[0].chunk_id == "custom_id"
    assert guess(open_table(url, "some").columns(), {})[0].chunk_id == "uuid"


def test_awkward_metadata_never_fails_the_table(traps: str, read_all) -> None:
    rows, problems = read_all(traps, "chunk_json")
    assert problems == []
    found = {row[1]: row for row in rows}
    assert len(found) == 18
    assert len(found["huge"][2]) == 2_700_000
    assert json.loads(found["nul-in-meta"][6])["title"] == "Canon\0"
    assert json.loads(found["double-key"][6])["title"] == "second"
    assert json.loads(found["big-number"][6]) == {"file_id": 12345678901234567890, "ratio": 1.1}
    assert json.loads(found["json-array"][6]) == {"meta": ["a", "b"]}
    assert json.loads(found["deleted"][6])["deleted_at"] == "2025-01-01 00:00:00+00"
    assert found["null-body"][2] == found["empty-body"][2] == ""
    assert {"trailing ", "Zoë/ä b"} <= set(found)


def test_positions_that_are_no_numbers_are_kept_as_metadata(traps: str, read_all) -> None:
    columns = Columns("id", "body", position="meta.position", metadata=("updated",))
    found = {row[1]: row for row in read_all(traps, "chunk_json", columns)[0]}
    assert [found[name][5] for name in ("plain", "dirty-pos", "float-pos", "null-body")] == [0, None, 4, None]
    assert json.loads(found["dirty-pos"][6]) == {"position": "3a", "updated": "2025-03-30 02:30:00"}


def test_a_table_without_key_and_a_view_are_read_in_one_go(traps: str, read_all) -> None:
    rows, _ = read_all(traps, "chunk_text_meta")
    assert sorted(row[1] for row in rows) == ["-1", "7", "7", "8", "9", "9007199254740993"]
    assert open_table(traps, "live_chunk").kind == "PostgreSQL view"
    assert len(read_all(traps, "live_chunk")[0]) == 17


def test_names_that_need_quoting(traps: str, make: Make, read_all) -> None:
    rows, _ = read_all(traps, "Chunk Table")
    assert [row[1:3] for row in rows] == [("0014defb-ec8e-5990-ae7b-7bedca71843b", "A quoted name.")]
    url = make(
        'CREATE TABLE "50%% of ""it"" {}; --" ("the id%s" int PRIMARY KEY, "text" text, "a.b" text)',
        'INSERT INTO "50%% of ""it"" {}; --" SELECT n, \'t\', \'x\' FROM generate_series(1, 1500) AS n',
    )
    rows, _ = read_all(url, '50%% of "it" {}; --', Columns("the id%s", "text"))
    assert [row[1] for row in rows] == [str(number) for number in range(1, 1501)]
    assert rows[0][6] == '{"a.b":"x"}'


def test_no_rows_under_row_level_security_says_so(traps: str, read_all) -> None:
    with pytest.raises(InputError, match="row level security"):
        read_all(traps, "chunk_rls")
    with pytest.raises(InputError, match="row level security"):
        chunk_table.preview(traps, "chunk_rls")


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('(id varchar COLLATE "C" PRIMARY KEY, text text)', ["id"]),
        ("(id varchar PRIMARY KEY, text text)", ["id"]),
        ("(text text, id varchar NOT NULL UNIQUE)", ["id"]),
        ("(id varchar, text text, part char(3) DEFAULT 'a', PRIMARY KEY (part, id))", ["part", "id"]),
        ("(id varchar, text text, at timestamptz DEFAULT now(), PRIMARY KEY (at, id))", ["at", "id"]),
        ("(id varchar UNIQUE, text text)", []),
        ("(id varchar, text text)", []),
    ],
)
def test_every_row_comes_once_whatever_the_key(table: str, key: list[str], make: Make, read_all) -> None:
    url = make(
        f"CREATE TABLE chunks {table}",
        "INSERT INTO chunks (id, text) SELECT CASE n % 3 WHEN 0 THEN 'a-' WHEN 1 THEN 'A' ELSE 'ä ' END || n, 't' "
        "FROM generate_series(1, 2345) AS n",
    )
    assert [attribute.name for attribute in open_table(url).relation.key] == key
    ids = [row[1] for row in read_all(url)[0]]
    assert len(ids) == len(set(ids)) == 2345


def test_a_lost_connection_goes_on_after_the_last_key(postgres: Postgres, make: Make) -> None:
    live = open_table(make(*_many(4 * BATCH_ROWS)))
    ids: list[object] = []
    for batch in live.batches(["id", "text"]):
        ids += batch.values[0]
        postgres.drop_connections()
    assert ids == list(range(1, 4 * BATCH_ROWS + 1))


def test_a_server_that_stays_away_ends_the_reading_without_showing_the_password(postgres: Postgres, make: Make) -> None:
    batches = open_table(make(*_many(2 * BATCH_ROWS))).batches(["id"])
    next(batches)
    try:
        postgres.psql("made", "ALTER ROLE reader NOLOGIN")
        postgres.drop_connections()
        with pytest.raises(InputError, match="cannot be reached") as caught:
            list(batches)
    finally:
        postgres.psql("made", "ALTER ROLE reader LOGIN")
    assert PASSWORD not in str(caught.value)


def test_a_view_cannot_go_on_and_says_what_helps(postgres: Postgres, make: Make) -> None:
    url = make(*_many(2 * BATCH_ROWS), "CREATE VIEW live AS SELECT * FROM chunks")
    batches = open_table(url, "live").batches(["id"])
    next(batches)
    postgres.drop_connections()
    with pytest.raises(InputError, match=r"after 1000 rows.*no key"):
        list(batches)


def test_nothing_is_held_between_pages(postgres: Postgres, make: Make) -> None:
    batches = open_table(make(*_many(2 * BATCH_ROWS))).batches(["id"])
    next(batches)
    postgres.psql("made", "SET lock_timeout = '2s'; ALTER TABLE chunks ADD COLUMN added int")
    assert len(list(batches)) == 1


@pytest.mark.parametrize("table", ["chunks", "live"])
def test_behind_a_pooler_that_mixes_transactions(table: str, postgres: Postgres, make: Make) -> None:
    make(*_many(5 * BATCH_ROWS), "CREATE VIEW live AS SELECT * FROM chunks")
    with ExitStack() as stack:
        try:
            url = stack.enter_context(pooled(postgres, "made"))
        except RuntimeError as error:
            missing(str(error))
        readings = [open_table(url, table).batches(["id", "text"]) for _ in range(2)]
        pages = list(zip(*readings, strict=True))
        assert [sum(len(each.places) for each in one) for one in zip(*pages, strict=True)] == [5 * BATCH_ROWS] * 2
        psycopg = pytest.importorskip("psycopg")
        with psycopg.connect(url, autocommit=True) as connection:  # one of those that were read through
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
            assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)


def test_only_what_the_role_may_read_is_there(postgres: Postgres, make: Make, read_all) -> None:
    url = make(
        "CREATE TABLE chunks (id int PRIMARY KEY, text text, secret text)",
        "CREATE TABLE hidden (id int, text text)",
        "CREATE SCHEMA private; CREATE TABLE private.chunks (id int, text text)",
        "CREATE SCHEMA open; CREATE TABLE open.more (id int, text text); GRANT USAGE ON SCHEMA open TO reader; "
        "GRANT SELECT ON open.more TO reader",
        "INSERT INTO chunks VALUES (1, 'one', 'x')",
    )
    postgres.psql("made", "REVOKE SELECT ON hidden, chunks FROM reader; GRANT SELECT (id, text) ON chunks TO reader")
    assert list_tables(url) == ["open.more", "chunks"]
    assert read_all(url)[0][0][1:7] == ("1", "one", "", "", None, "{}")


def test_a_partitioned_table_is_one_table(make: Make, read_all) -> None:
    url = make(
        "CREATE TABLE chunks (id int PRIMARY KEY, text text) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF chunks FOR VALUES FROM (0) TO (5)",
        "CREATE TABLE high PARTITION OF chunks FOR VALUES FROM (5) TO (9)",
        "INSERT INTO chunks SELECT n, 't' FROM generate_series(1, 8) AS n",
    )
    assert list_tables(url) == ["chunks"]
    assert [row[1] for row in read_all(url)[0]] == list("12345678")


def test_an_id_that_is_there_again_in_an_inheriting_table_is_not_skipped(make: Make, read_all) -> None:
    url = make(
        "CREATE TABLE chunks (id text PRIMARY KEY, text text)",
        "CREATE TABLE old_chunks () INHERITS (chunks)",
        "INSERT INTO chunks SELECT lpad(n::text, 6, '0'), 'new' FROM generate_series(1, 1000) AS n",
        "INSERT INTO old_chunks VALUES ('001000', 'old')",
    )
    rows = read_all(url, "chunks")[0]
    assert sorted(row[2] for row in rows if row[1] == "001000") == ["new", "old"]


def test_vectors_and_blobs_are_never_asked_for(make: Make) -> None:
    url = make(
        "CREATE EXTENSION vector; CREATE TABLE chunks (id int, text text, e vector(2), r real[], b bytea, tags text[])",
        r"INSERT INTO chunks VALUES (1, 'one', '[1,2]', '{1,2}', '\x00', '{a,b}')",
    )
    live = open_table(url)
    kinds = {column.name: column.kind for column in live.columns()}
    assert kinds == {"id": "number", "text": "text", "e": "vector", "r": "vector", "b": "blob", "tags": "text"}
    assert live.sample(5) == [{"id": 1, "text": "one", "tags": "{a,b}"}]
    with pytest.raises(InputError, match="never read"):
        list(live.batches(["id", "e"]))


def test_the_password_is_never_stored_and_never_shown(
    postgres: Postgres, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make(*_many(3))
    workspace = Workspace(tmp_path / "workspace")
    workspace.create()
    with workspace.write() as connection:
        people.add(connection, Person("Ana", "admin"), "Ana")
    chunk_table.connect(workspace, "Ana", url)
    assert chunk_table.sync(workspace, "Ana").total == 3
    stored = b"".join(path.read_bytes() for path in (tmp_path / "workspace").rglob("*") if path.is_file())
    assert b"${READER_PASSWORD}" in stored
    assert PASSWORD.encode() not in stored
    assert PASSWORD not in repr(open_table(url))
    monkeypatch.setenv("READER_PASSWORD", "guessed-wrong")
    with pytest.raises(InputError, match="password authentication failed") as caught:
        open_table(url)
    assert "guessed-wrong" not in str(caught.value)


def test_whatever_a_variable_fills_stands_in_a_message_as_it_was_written(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWAPPED", "hunter22")
    for url in (
        "postgresql://${SWAPPED}@127.0.0.1:9/db",
        "postgresql://${SWAPPED}:9/db",
        "postgresql://127.0.0.1:9/${SWAPPED}",
    ):
        with pytest.raises(InputError, match="cannot be reached") as caught:
            open_table(url)
        assert "hunter22" not in str(caught.value)
    with pytest.raises(InputError, match=r"password authentication failed|\$\{SWAPPED\}"):
        open_table(postgres.url("postgres").replace("postgres:@", "${SWAPPED}:@", 1))


def test_the_whole_address_may_be_a_variable_and_name_a_driver(
    postgres: Postgres, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(*_many(3))
    written = postgres.reader("made", "p%40ss%2Fw%3Ard%20%2541").replace("postgresql:", "postgresql+psycopg:")
    monkeypatch.setenv("DATABASE_URL", written)
    assert open_table("${DATABASE_URL}").count() == 3


@pytest.mark.parametrize("url", ["postgresql://a:${READER_PASSWORD}@[host/db", "postgresql://h/db?colour=red"])
def test_an_address_that_cannot_be_read_is_not_repeated(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match="cannot be read") as caught:
        open_table(url)
    assert "colour" not in str(caught.value)


def test_what_an_address_says_of_tls_is_passed_on() -> None:
    server = parse("postgresql://me@h1:5433/db?sslmode=verify-full&sslrootcert=/ca.pem&sslcert=${CERT}", "<{}>".format)
    expected = {"user": "me", "host": "h1", "port": "5433", "dbname": "db", "sslmode": "verify-full"}
    expected |= {"sslrootcert": "/ca.pem", "sslcert": "${CERT}"}
    assert server.options == {name: f"<{value}>" for name, value in expected.items()}
    assert "h1" not in repr(server)


def test_a_slow_count_is_left_out(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    url = make("CREATE VIEW slow AS SELECT 1 AS id, 'x' AS text FROM pg_sleep(3)")
    monkeypatch.setattr(module, "_COUNT_SECONDS", 1)
    assert open_table(url).count() is None


def test_without_the_driver_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(InputError, match=r'pip install "psycopg\[binary\]"'):
        open_table("postgresql://reader:${READER_PASSWORD}@host/db")


def _many(rows: int) -> tuple[str, str]:
    return (
        "CREATE TABLE chunks (id bigint PRIMARY KEY, text text)",
        f"INSERT INTO chunks SELECT n, 'text ' || n FROM generate_series(1, {rows}) AS n",
    )


@pytest.mark.parametrize(("layout", "table"), [(layout, table) for layout, table, _ in LAYOUTS])
def test_single_chunks_of_every_layout_are_found_by_their_id(
    layout: str, table: str, postgres: Postgres, shared: Path, read_all
) -> None:
    postgres.database("one", shared / "tables" / layout / "dump.pgvector.sql")
    url = postgres.reader("one")
    live = open_table(url, table)
    one = Reading(live, guess(live.columns(), {})[0])
    whole = {row[1]: row[1:] for row in read_all(url, table)[0]}
    asked = sorted(whole)[-2:]
    assert one.way == "index"  # the handbook is small enough for any way to be quick
    assert {row[1]: row[1:] for row in one.fetch(asked, 5).rows} == {each: whole[each] for each in asked}


def test_a_large_table_is_quick_by_its_key_and_slow_by_another_column(make: Make) -> None:
    url = make(
        "CREATE TABLE chunks (id uuid PRIMARY KEY, other text, text text)",
        "INSERT INTO chunks SELECT gen_random_uuid(), 'o' || n, repeat('words ', 30) FROM generate_series(1, 60000) n",
        "ANALYZE chunks",
    )
    live = open_table(url, "chunks")
    assert Reading(live, Columns("id", "text")).way == "index"
    by_other = Reading(live, Columns("other", "text"))
    assert by_other.way == "scan"
    assert [row[1] for row in by_other.fetch(["o59999"], 5).rows] == ["o59999"]
    with pytest.raises(InputError, match="in time"):
        by_other.fetch(["o59999"], 0.001)
