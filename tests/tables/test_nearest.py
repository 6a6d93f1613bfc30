"""Nearest rows by the vectors of the table itself, against distances worked out here."""

from __future__ import annotations

import base64
import json
import math
import pickle
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from annotator.errors import InputError
from annotator.tables import Columns, Nearest, Reading, guess, open_table
from tests.postgres_server import PASSWORD, Postgres
from tests.tables.standin import QdrantServer, serving

VECTORS = {"a": (1.0, 0.0), "b": (0.9, 0.1), "c": (9.0, 2.0), "d": (0.0, 1.0), "e": (-1.0, 0.0), "it's": (1.0, 0.4)}


def by_cosine(own: str) -> list[str]:
    """The ids but its own, by the angle between the vectors."""
    angle = {one: math.atan2(*reversed(vector)) for one, vector in VECTORS.items()}
    return sorted((one for one in VECTORS if one != own), key=lambda one: abs(angle[one] - angle[own]))


def by_length(own: str) -> list[str]:
    """The ids but its own, by the distance between the ends of the vectors."""
    return sorted((one for one in VECTORS if one != own), key=lambda one: math.dist(VECTORS[one], VECTORS[own]))


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
    assert one.nearest("a", 4, 5) == by_length("a")[:4]
    assert one.nearest("it's", 1, 5) == ["b"]
    assert one.nearest("unknown", 3, 5) == []


@pytest.fixture
def extension() -> Callable[[Path], AbstractContextManager[sqlite3.Connection]]:
    """Opens a file to write vectors to, where this Python's SQLite can load extensions at all."""
    vec = pytest.importorskip("sqlite_vec")
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.skip("the SQLite of this Python loads no extensions")

    @contextmanager
    def opened(path: Path) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.enable_load_extension(True)
            vec.load(connection)
            yield connection

    return opened


@pytest.mark.parametrize(
    ("declared", "value", "order"),
    [
        ("chunk_id TEXT PRIMARY KEY, embedding float[2] distance_metric=cosine, +text TEXT", "?", by_cosine),
        ("chunk_id TEXT PRIMARY KEY, +text TEXT, embedding float[2]", "?", by_length),
        ("embedding float[2], +chunk_id TEXT, +text TEXT", "?", by_length),
        ("chunk_id TEXT PRIMARY KEY, embedding int8[2], +text TEXT", "vec_quantize_int8(?, 'unit')", None),
    ],
)
def test_a_vec0_table_is_asked_by_the_distance_it_was_made_for(
    declared: str, value: str, order: Callable[[str], list[str]] | None, extension, tmp_path: Path
) -> None:
    with extension(tmp_path / "a.sqlite3") as connection:
        connection.execute(f"CREATE VIRTUAL TABLE kept USING vec0({declared})")
        query = f"INSERT INTO kept (chunk_id, text, embedding) VALUES (?, 'text', {value})"
        for one, vector in VECTORS.items():
            connection.execute(query, (one, json.dumps(vector)))
    one = reading(f"sqlite:///{tmp_path}/a.sqlite3", "kept")
    if order is None:  # rounded, but near stays near
        assert one.nearest("a", 1, 5) == ["b"]
    else:
        assert one.nearest("a", 3, 5) == order("a")[:3]
        assert one.nearest("it's", 9, 5) == order("it's")
    assert one.nearest("unknown", 3, 5) == one.nearest("7", 3, 5) == []


def test_both_layouts_of_sqlite_vec_name_the_same_neighbours(tables: Path, extension, tmp_path: Path) -> None:
    path = shutil.copy(tables / "sqlite-vec" / "handbook-vec.sqlite3", tmp_path)
    before = Path(path).read_bytes()
    within = reading(f"sqlite:///{path}", "vec_chunks").nearest("1000", 3, 5)
    assert within == ["1005", "1008", "1046"]
    beside = reading(f"sqlite:///{path}", "chunks").nearest("refunds-standard@v1#000", 3, 5)
    assert beside == ["refunds-standard@v2#000", "refunds-standard@v2#003", "security-incident@v2#001"]
    assert reading(f"sqlite:///{path}", "chunks").nearest("unknown", 3, 5) == []
    assert Path(path).read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [Path(path).name]


def test_without_the_extension_it_says_what_is_missing(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    one = reading(f"sqlite:///{tables}/sqlite-vec/handbook-vec.sqlite3", "chunks")
    with pytest.raises(InputError, match="sqlite-vec"):
        one.nearest("refunds-standard@v1#000", 3, 5)


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


def of_qdrant(path: Path, distance: str, points: Mapping[int, object], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a collection as the client's local mode does, whose models are pickled by their names."""

    class PointStruct:
        def __init__(self, **values: object) -> None:
            self.values = values

        def __getstate__(self) -> dict[str, object]:
            return {"__dict__": self.values, "__pydantic_fields_set__": None}

    name = "qdrant_client.http.models.models"
    module = ModuleType(name)
    module.PointStruct = PointStruct  # type: ignore[attr-defined]
    PointStruct.__module__, PointStruct.__qualname__ = name, "PointStruct"
    monkeypatch.setitem(sys.modules, "qdrant_client", ModuleType("qdrant_client"))
    monkeypatch.setitem(sys.modules, name, module)
    kept = path / "collection" / "handbook"
    kept.mkdir(parents=True)
    (path / "meta.json").write_text(
        json.dumps({"collections": {"handbook": {"vectors": {"dense": {"size": 2, "distance": distance}}}}})
    )
    with closing(sqlite3.connect(kept / "storage.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        for key, vector in points.items():
            point = pickle.dumps(PointStruct(id=key, vector=vector, payload={"text": "text"}))
            connection.execute(
                "INSERT INTO points VALUES (?, ?)", (base64.b64encode(pickle.dumps(key)).decode(), point)
            )
    return path


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("Cosine", ["1", "2", "5", "3", "4"]),  # by the angle
        ("Euclid", ["1", "5", "3", "4", "2"]),  # 0.14, 0.4, 1.41, 2, 8.25
        ("Manhattan", ["1", "5", "3", "4", "2"]),  # 0.2, 0.4, 2, 2, 10; of two as far the smaller id
        ("Dot", ["2", "5", "1", "3", "4"]),  # 9, 1, 0.9, 0, -1
    ],
)
def test_local_qdrant_is_compared_by_the_distance_of_the_collection(
    distance: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points: dict[int, object] = {at: {"dense": list(vector)} for at, vector in enumerate(VECTORS.values())}
    odd = [{"dense": [[1.0, 0.0]]}, {"other": [1.0, 0.0]}, {"dense": [1.0]}, {"dense": [10**400, 1]}, {}, None]
    points |= dict(enumerate(odd, 100))
    one = reading(of_qdrant(tmp_path, distance, points, monkeypatch), "handbook")
    assert one.nearest("0", 9, 5) == expected
    assert one.nearest("0", 1, 5) == expected[:1]
    assert one.nearest("100", 3, 5) == one.nearest("104", 3, 5) == one.nearest("unknown", 3, 5) == []


def test_local_qdrant_names_the_neighbours_and_writes_nothing(tables: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tables / "qdrant" / "qdrant_dir", tmp_path / "kept"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    one = reading(folder, "handbook")
    places = {row[1]: (row[3], row[5]) for batch in one.batches() for row in batch.rows}
    found = one.nearest("2e7abad9-da4b-5c45-898a-de18499f5d37", 3, 5)
    # the same as sqlite-vec says of the same vectors
    expected = [("refunds-standard@v2", 0), ("refunds-standard@v2", 3), ("security-incident@v2", 1)]
    assert [places[each] for each in found] == expected
    assert len(reading(folder, "handbook-llamaindex").nearest("2e7abad9-da4b-5c45-898a-de18499f5d37", 2, 5)) == 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_more_vectors_than_can_be_compared_in_time_are_said_to_be(tables: Path) -> None:
    with pytest.raises(InputError, match="more vectors than can be compared"):
        reading(tables / "qdrant" / "qdrant_dir", "handbook").nearest("2e7abad9-da4b-5c45-898a-de18499f5d37", 2, 1e-9)


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
    assert one.nearest("a", 3, 5) == by_length("a")[:3]


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
