"""Nearest rows by the vectors of the table itself, against distances worked out here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from annotator.tables import Columns, Nearest, Reading, guess, open_table
from tests.postgres_server import PASSWORD, Postgres
from tests.tables.standin import QdrantServer, serving

VECTORS = {"a": (1.0, 0.0), "b": (0.9, 0.1), "c": (9.0, 2.0), "d": (0.0, 1.0), "e": (-1.0, 0.0), "it's": (1.0, 0.4)}


def by_cosine(own: str) -> list[str]:
    """The ids but its own, by the angle between the vectors."""
    angle = {one: math.atan2(*reversed(vector)) for one, vector in VECTORS.items()}
    return sorted((one for one in VECTORS if one != own), key=lambda one: abs(angle[one] - angle[own]))


def reading(url: object, table: str = "") -> Reading:
    live = open_table(str(url), table)
    assert isinstance(live, Nearest)
    return Reading(live, guess(live.columns(), {})[0])


@pytest.mark.parametrize("kind", ["FLOAT[2]", "FLOAT[]", "DOUBLE[]"])
def test_duckdb_orders_by_the_angle(kind: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE chunks (id VARCHAR, text VARCHAR, embedding {kind})")
        for one, vector in VECTORS.items():
            connection.execute(f"INSERT INTO chunks VALUES (?, 'text', ?::{kind})", [one, list(vector)])
        connection.execute("INSERT INTO chunks VALUES ('none', 'text', NULL)")
    one = reading(tmp_path / "t.duckdb")
    assert one.nearest("a", 3, 5) == by_cosine("a")[:3]
    assert one.nearest("it's", 9, 5) == by_cosine("it's")
    assert one.nearest("none", 3, 5) == one.nearest("unknown", 3, 5) == []


def test_lancedb_orders_by_its_own_distance(tmp_path: Path) -> None:
    lancedb = pytest.importorskip("lancedb")
    rows: Sequence[dict[str, object]] = [
        {"id": one, "text": "text", "vector": list(vector)} for one, vector in VECTORS.items()
    ]
    lancedb.connect(str(tmp_path)).create_table("chunks", rows)
    one = reading(tmp_path)
    by_length = sorted((one for one in VECTORS if one != "a"), key=lambda one: math.dist(VECTORS[one], VECTORS["a"]))
    assert one.nearest("a", 4, 5) == by_length[:4]
    assert one.nearest("it's", 1, 5) == ["b"]
    assert one.nearest("unknown", 3, 5) == []


@pytest.fixture
def points() -> Iterator[QdrantServer]:
    """A server with VECTORS as the points 0 to 5, and one point without a vector."""
    with serving(QdrantServer()) as server:
        assert isinstance(server, QdrantServer)
        server.collections["handbook"] = {at: {"text": one} for at, one in enumerate([*VECTORS, "none"])}
        server.vectors["handbook"] = {at: list(vector) for at, vector in enumerate(VECTORS.values())}
        yield server


def numbered(ids: Sequence[str]) -> list[str]:
    return [str(list(VECTORS).index(one)) for one in ids]


def paths(server: QdrantServer) -> list[str]:
    return [path.rpartition("/points")[2] for _, path, _, _ in server.requests]


@pytest.mark.parametrize("named", ["", "dense"])
@pytest.mark.parametrize("old", [False, True])
def test_a_qdrant_server_is_asked_the_way_its_version_knows(points: QdrantServer, old: bool, named: str) -> None:
    points.old = old
    if named:
        # A sparse one whose name comes first is not what a retriever of meaning compares by.
        sparse = {"indices": [1], "values": [1.0]}
        points.vectors["handbook"] = {
            at: {"a-sparse": sparse, named: vector} for at, vector in points.vectors["handbook"].items()
        }
    one = reading(f"qdrant://127.0.0.1:{points.port}", "handbook")
    points.requests.clear()
    assert one.nearest("0", 3, 5) == numbered(by_cosine("a")[:3])
    assert paths(points) == (["", "/query", "/search"] if old else ["", "/query"])
    assert one.nearest("5", 9, 5) == numbered(by_cosine("it's"))


def test_a_point_without_vector_or_with_an_impossible_id_has_nothing_near(points: QdrantServer) -> None:
    one = reading(f"qdrant://127.0.0.1:{points.port}", "handbook")
    assert [one.nearest(each, 3, 5) for each in ("6", "99", "-1", "no id")] == [[], [], [], []]


@pytest.fixture
def pgvector(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    postgres.database("near")
    postgres.psql(
        "near", "CREATE SCHEMA extra; CREATE EXTENSION vector SCHEMA extra; GRANT USAGE ON SCHEMA extra TO reader"
    )
    postgres.psql("near", "CREATE TABLE chunks (id text PRIMARY KEY, text text, embedding extra.vector(2))")
    rows = ", ".join(
        f"('{one.replace(chr(39), chr(39) * 2)}', 'text', '{list(vector)}')" for one, vector in VECTORS.items()
    )
    postgres.psql("near", f"INSERT INTO chunks VALUES {rows}, ('none', 'text', NULL)")
    postgres.grant("near")
    return postgres.reader("near")


def test_pgvector_is_asked_by_a_role_that_may_only_select(pgvector: str, postgres: Postgres) -> None:
    one = reading(pgvector, "chunks")
    assert one.nearest("a", 3, 5) == by_cosine("a")[:3]
    assert one.nearest("none", 3, 5) == one.nearest("unknown", 3, 5) == []
    postgres.psql("near", "CREATE INDEX ON chunks USING hnsw (embedding extra.vector_l2_ops)")
    by_length = sorted((one for one in VECTORS if one != "a"), key=lambda one: math.dist(VECTORS[one], VECTORS["a"]))
    assert one.nearest("a", 3, 5) == by_length[:3]


def test_the_nearest_of_a_langchain_collection_stay_in_it(postgres: Postgres, shared: Path, monkeypatch) -> None:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    postgres.database("near_collection", shared / "tables" / "langchain-pgvector" / "dump.pgvector.sql")
    live = open_table(postgres.reader("near_collection"), "handbook-archive")
    one = Reading(live, guess(live.columns(), {})[0])
    ids = {row[1] for batch in one.batches() for row in batch.rows}
    found = one.nearest(min(ids), 60, 5)
    assert found
    assert set(found) <= ids - {min(ids)}


def test_a_table_without_vectors_has_nothing_near(tables: Path) -> None:
    live = open_table(f"sqlite:///{tables}/sqlite/handbook.sqlite3", "live_chunks")
    assert Reading(live, guess(live.columns(), {})[0]).nearest("refunds-standard@v1#000", 3, 5) == []
    duck = open_table(str(tables / "duckdb" / "handbook.duckdb"), "chunks")
    assert len(Reading(duck, Columns("chunk_id", "content")).nearest("refunds-standard@v1#000", 3, 5)) == 3
