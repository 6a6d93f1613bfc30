"""What PostgreSQL's full-text search can use of a table, and that it is used; as a role that may only SELECT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest

from annotator.errors import InputError
from annotator.tables import Asked, Reading, guess, open_table, searchable
from annotator.tables.postgres_conditions import combined
from annotator.tables.postgres_search import PostgresSearch
from tests.conftest import missing
from tests.postgres_server import PASSWORD, Postgres, pooled

CHUNKS = "(id text PRIMARY KEY, content text, metadata jsonb)"
ROWS = (
    "INSERT INTO {} SELECT 'c' || n, 'Chunk number ' || n || ' of the running handbook', "
    "jsonb_build_object('source', 'd' || n / 10, 'page', n, 'tags', jsonb_build_array('t' || n % 3)) "
    "FROM generate_series(1, 300) n"
)
Found = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)


@pytest.fixture
def opened() -> Iterator[Callable[..., PostgresSearch]]:
    with ExitStack() as stack:

        def open_(url: str, table: str = "chunks") -> PostgresSearch:
            live = open_table(url, table)
            found = stack.enter_context(closing(searchable(live, Reading(live, guess(live.columns(), {})[0]))))
            assert isinstance(found, PostgresSearch)
            return found

        yield open_


def made(postgres: Postgres, *statements: str, table: str = "chunks") -> str:
    postgres.database("placed")
    for statement in (f"CREATE TABLE {table} {CHUNKS}", ROWS.format(table), *statements):
        postgres.psql("placed", statement)
    postgres.grant("placed")
    return postgres.reader("placed")


def asked(*words: str, **more: Any) -> Asked:
    return Asked(" ".join(words), tuple(((word, 1.0),) for word in words), **more)


def ids(found: PostgresSearch, *words: str, **more: Any) -> list[str]:
    return [one for one, _ in found.search(asked(*words, **more)).ids]


EXPRESSION = "CREATE INDEX ON chunks USING gin (to_tsvector('{}', content))"
TRIGGER = (
    "ALTER TABLE chunks ADD words tsvector; CREATE TRIGGER t BEFORE INSERT OR UPDATE ON chunks FOR EACH ROW "
    "EXECUTE FUNCTION tsvector_update_trigger('words', 'pg_catalog.simple', 'content'); "
    "UPDATE chunks SET content = content; CREATE INDEX ON chunks USING gin (words)"
)


@pytest.mark.parametrize(
    ("statement", "config", "stems"),
    [
        (EXPRESSION.format("english"), "english", True),
        (EXPRESSION.format("simple"), "simple", False),
        (EXPRESSION.format("german"), "german", False),
        (TRIGGER, "pg_catalog.simple", False),
        (
            "ALTER TABLE chunks ADD words tsvector GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED; "
            "CREATE INDEX ON chunks USING gist (words)",
            "simple",
            False,
        ),
    ],
    ids=["expression", "simple", "german", "trigger", "generated"],
)
def test_an_index_is_found_and_asked_in_its_own_configuration(
    statement: str, config: str, stems: bool, postgres: Postgres, opened: Callable[..., PostgresSearch]
) -> None:
    found = opened(made(postgres, statement))
    assert found.index.config == config
    assert ids(found, "17", "number")[0] == "c17"
    assert bool(ids(found, "run")) == stems


@pytest.mark.parametrize("kind", ["stored", "expression"])
def test_the_index_serves_the_statement(kind: str, postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    stored = (
        "ALTER TABLE chunks ADD words tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED; "
        "CREATE INDEX by_words ON chunks USING gin (words)"
    )
    expression = "CREATE INDEX by_words ON chunks USING gin (to_tsvector('english', content))"
    url = made(postgres, stored if kind == "stored" else expression)
    found = opened(url)
    holds = found._all([found._holds((("17", 1.0),))])
    query = combined("EXPLAIN SELECT 1 FROM {} AS t WHERE {}", found._source, holds)
    with psycopg.connect(postgres.url("placed")) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = "\n".join(row[0] for row in connection.execute(*query))
    assert "Bitmap Index Scan on by_words" in plan


def test_filters_are_bound_values_on_columns_and_json_keys(
    postgres: Postgres, opened: Callable[..., PostgresSearch]
) -> None:
    found = opened(made(postgres, EXPRESSION.format("english")))
    assert set(ids(found, "chunk", doc_id="d2", limit=50)) == {f"c{n}" for n in range(20, 30)}
    assert ids(found, "chunk", where=(("page", "17"),)) == ["c17"]
    assert len(ids(found, "chunk", where=(("tags", "t1"),), limit=500)) == 100
    assert ids(found, "chunk", where=(("page", "17' OR 'a' = 'a"),)) == []
    assert ids(found, "chunk", where=(("none", "x"),)) == []
    assert ids(found, where=(("page", "17"),)) == ["c17"]


def test_many_matches_are_cut_and_that_is_said(postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    url = made(postgres, ROWS.format("chunks").replace("'c' ||", "'x' ||"), EXPRESSION.format("english"))
    found = opened(url)
    every = found.search(asked("chunk", "handbook", limit=10))
    assert (every.total, every.more) == (300, True)
    rare = found.search(asked("chunk", "17", limit=10))
    assert {one for one, _ in rare.ids[:2]} == {"c17", "x17"}
    assert (rare.total, rare.more) == (2, True)


def test_names_that_need_quoting_and_percent_signs(postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    url = made(
        postgres,
        'ALTER TABLE "Odd %s ""name" RENAME content TO "Text %s"',
        'ALTER TABLE "Odd %s ""name" RENAME metadata TO "meta data"',
        """CREATE INDEX ON "Odd %s ""name" USING gin (to_tsvector('english', "Text %s"))""",
        table='"Odd %s ""name"',
    )
    live = open_table(url, 'Odd %s "name')
    reading = Reading(live, guess(live.columns(), {"text": "Text %s"})[0])
    with closing(searchable(live, reading)) as found:
        assert [one for one, _ in found.search(asked("17")).ids] == ["c17"]
        assert [one for one, _ in found.search(Asked("c299", by_id=True)).ids] == ["c299"]
        assert len(found.search(Asked("c29", by_id=True)).ids) == 10


def test_collections_of_one_table_do_not_mix(postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    postgres.database("placed")
    for statement in (
        "CREATE TABLE langchain_pg_collection (uuid uuid PRIMARY KEY, name varchar UNIQUE)",
        "CREATE TABLE langchain_pg_embedding (id varchar PRIMARY KEY, collection_id uuid, document varchar, "
        "cmetadata jsonb)",
        "INSERT INTO langchain_pg_collection VALUES ('0d9c81a2-0000-4000-8000-000000000001', 'a%'), "
        "('0d9c81a2-0000-4000-8000-000000000002', 'b')",
        "INSERT INTO langchain_pg_embedding VALUES "
        "('1', '0d9c81a2-0000-4000-8000-000000000001', 'refunds here', '{\"source\": \"d\"}'), "
        "('2', '0d9c81a2-0000-4000-8000-000000000002', 'refunds there', '{\"source\": \"d\"}')",
        "CREATE INDEX ON langchain_pg_embedding USING gin (to_tsvector('english', document))",
    ):
        postgres.psql("placed", statement)
    postgres.grant("placed")
    for name, one in (("a%", "1"), ("b", "2")):
        found = opened(postgres.reader("placed"), f"langchain_pg_embedding/{name}")
        assert ids(found, "refunds") == [one]
        assert ids(found, "refunds", doc_id="d") == [one]
        assert found.about() == 1
        assert found.search(Asked("1", by_id=True)).total == (1 if one == "1" else 0)


def test_ids_of_every_type_are_found(postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    for kind, value in (("bigint", "n"), ("uuid", "md5(n::text)::uuid")):
        postgres.database("placed")
        postgres.psql("placed", f"CREATE TABLE chunks (id {kind} PRIMARY KEY, content text)")
        postgres.psql("placed", f"INSERT INTO chunks SELECT {value}, 'Chunk ' || n FROM generate_series(1, 30) n")
        postgres.psql("placed", EXPRESSION.format("english"))
        postgres.grant("placed")
        found = opened(postgres.reader("placed"))
        (one,) = ids(found, "17")
        assert found.search(Asked(one, by_id=True)).ids[0] == (one, 4.0)
        assert one in [each for each, _ in found.search(Asked(one[:1], by_id=True)).ids]
        assert found.search(Asked("no such id", by_id=True)).total == 0
        found.close()


def test_behind_a_pooler_in_transaction_mode(postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    made(postgres, EXPRESSION.format("english"))
    with ExitStack() as stack:
        try:
            url = stack.enter_context(pooled(postgres, "placed"))
        except RuntimeError as error:
            missing(str(error))
        found = [opened(url) for _ in range(3)]
        for _ in range(3):
            for one in found:
                assert ids(one, "17") == ["c17"]
                assert one.search(Asked("c17", by_id=True)).ids[0] == ("c17", 4.0)
        for one in found:
            one.close()


def test_nothing_is_written_and_nothing_stays_open(postgres: Postgres, opened: Callable[..., PostgresSearch]) -> None:
    found = opened(made(postgres, EXPRESSION.format("english")))
    for _ in range(3):
        ids(found, "17")
    with psycopg.connect(postgres.url("postgres")) as connection:
        states = connection.execute("SELECT state, query FROM pg_stat_activity WHERE usename = 'reader'").fetchall()
    assert [state for state, _ in states] == ["idle"]


def test_no_error_shows_a_password(
    postgres: Postgres, opened: Callable[..., PostgresSearch], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = made(postgres, EXPRESSION.format("english"))
    found = opened(url)
    postgres.psql("placed", "DROP TABLE chunks")
    with pytest.raises(InputError) as gone:
        ids(found, "17")
    postgres.psql("placed", f"CREATE TABLE chunks {CHUNKS}")
    with pytest.raises(InputError) as forbidden:
        ids(found, "17")
    monkeypatch.setenv("READER_PASSWORD", "wrong" + PASSWORD)
    with pytest.raises(InputError) as refused:
        open_table(url, "chunks")
    for error in (gone, forbidden, refused):
        assert PASSWORD not in str(error.value)
        assert error.value.hint
        told: BaseException | None = error.value.__cause__
        while told is not None:
            assert PASSWORD not in str(told)
            told = told.__cause__
