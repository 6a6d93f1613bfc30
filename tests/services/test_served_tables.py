"""OpenSearch, Elasticsearch and Qdrant servers, read as a whole and searched in place: against stand-ins over HTTP."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from annotator.errors import InputError
from annotator.services import chunk_table, chunks, drift, in_place, labelling, search
from annotator.store import corpus
from annotator.store.database import Workspace
from annotator.tables import list_tables, open_table, qdrantserver, searchindex
from annotator.tables.http import open_service
from tests.conftest import HANDBOOK
from tests.services.test_in_place import hits, made, remembered
from tests.services.test_preview import grade
from tests.tables.standin import QdrantServer, SearchServer, Standin, serving

KINDS = ("opensearch", "elasticsearch")
SECRET = "geheim@/:%41"
MAPPING: dict[str, Any] = {
    "text": {"type": "text"},
    "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
    "metadata": {
        "properties": {
            "source": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
            "version": {"type": "keyword"},
            "page": {"type": "long"},
        }
    },
    "vector_field": {"type": "knn_vector", "dimension": 3},
}
IDS = {row[0]: f"00000000-0000-4000-8000-00000000000{at}" for at, row in enumerate(HANDBOOK)}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TABLE_PASSWORD", SECRET)
    monkeypatch.setenv("TABLE_KEY", SECRET)
    monkeypatch.setattr(searchindex, "_WAITS", (0.01, 0.01))
    monkeypatch.setattr(qdrantserver, "_WAITS", (0.01, 0.01))
    in_place.forget()
    yield
    in_place.forget()


def document(row: tuple[str, str, str, int, str]) -> dict[str, Any]:
    _, doc_id, title, page, text = row
    metadata = {"source": doc_id, "version": doc_id.rpartition("-")[2], "page": page}
    return {"text": text, "title": title, "metadata": metadata, "vector_field": [0.1, 0.2, 0.3]}


@pytest.fixture(params=KINDS)
def index(request: pytest.FixtureRequest) -> Iterator[SearchServer]:
    kind = {"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}[request.param]
    with serving(SearchServer(kind)) as server:
        assert isinstance(server, SearchServer)
        server.indexes["handbook"] = (MAPPING, {row[0]: document(row) for row in HANDBOOK})
        yield server


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with serving(QdrantServer()) as server:
        assert isinstance(server, QdrantServer)
        points = {}
        for row in HANDBOOK:
            found = document(row)
            points[IDS[row[0]]] = {"page_content": found["text"], "metadata": found["metadata"] | {"title": row[2]}}
        server.collections["handbook"] = points
        server.indexed["handbook"] = {"page_content": "text"}
        yield server


def address(server: Standin, rest: str = "/handbook") -> str:
    kind = server.kind.lower() if isinstance(server, SearchServer) else "qdrant"
    return f"{kind}://127.0.0.1:{server.port}{rest}"


def synced(folder: Path, url: str, table: str = "") -> Workspace:
    workspace = Workspace(folder / "workspace")
    workspace.create()
    chunk_table.connect(workspace, "Ana", url, table)
    chunk_table.sync(workspace, "Ana")
    return workspace


def test_an_index_is_read_at_one_point_in_time_without_its_vectors(
    index: SearchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searchindex, "BATCH_ROWS", 3)
    workspace = synced(tmp_path, address(index))
    assert remembered(workspace) == {row[0] for row in HANDBOOK}
    with workspace.read() as connection:
        one = corpus.chunk(connection, "refunds-v4#2")
    assert (one.doc_id, one.title) == ("refunds-v4", "Refund policy v4")
    assert dict(one.metadata) == {"page": 1, "source": "refunds-v4", "version": "v4"}
    assert index.points == {}  # let go of at the end
    searches = [body for method, path, body, _ in index.requests if path.endswith("/_search") and method == "POST"]
    assert all(body["_source"] == {"excludes": ["vector_field"]} for body in searches)
    assert [body["search_after"] for body in searches if "search_after" in body] == [[2], [5], [7]]


def test_an_older_opensearch_is_read_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searchindex, "BATCH_ROWS", 3)
    with serving(SearchServer("OpenSearch", shard_doc=False)) as server:
        assert isinstance(server, SearchServer)
        server.indexes["handbook"] = (MAPPING, {row[0]: document(row) for row in HANDBOOK})
        assert len(remembered(synced(tmp_path, address(server)))) == 8


def test_a_server_that_stumbles_is_asked_again(index: SearchServer, qdrant: QdrantServer, tmp_path: Path) -> None:
    for server in (index, qdrant):
        workspace = synced(tmp_path / address(server)[:6], address(server))
        server.failing = 1  # the first answer of the next sync is the mapping, which is asked for once
        with pytest.raises(InputError, match="503"):
            chunk_table.sync(workspace, "Ana")
        assert chunk_table.sync(workspace, "Ana").unchanged == 8


def test_an_index_is_chosen_of_several(index: SearchServer) -> None:
    index.indexes["other"] = ({"name": {"type": "keyword"}}, {"x": {"name": "y"}})
    assert list_tables(address(index, "")) == ["handbook", "other"]
    assert open_table(address(index, "")).table == "handbook"
    assert open_table(address(index, ""), "other").count() == 1
    with pytest.raises(InputError, match="no index 'none'"):
        open_table(address(index, "/none"))


def test_an_index_is_searched_in_place(index: SearchServer, tmp_path: Path) -> None:
    placed = made(tmp_path, address(index))
    assert remembered(placed) == set()
    assert hits(placed, "who approves refunds")[0] in {"refunds-v3#1", "refunds-v4#1"}
    assert hits(placed, '"support team"') == ["refunds-v4#1"]
    assert hits(placed, "approves -sales") == ["refunds-v4#1"]
    assert set(hits(placed, "refunds doc:refunds-v3")) == {"refunds-v3#1", "refunds-v3#2"}
    assert set(hits(placed, "refunds version:v3")) == {"refunds-v3#1", "refunds-v3#2"}
    assert hits(placed, "refund", where={"page": "2"}) == ["refunds-v4#3"]
    assert hits(placed, "E-4107")[0] == "errors#1"
    assert hits(placed, "recipts") == []
    assert hits(placed, "recipts", mode="fuzzy") == ["travel#2"]
    assert hits(placed, "travel#1", mode="id") == ["travel#1"]
    assert hits(placed, "travel", mode="id") == ["travel#1", "travel#2"]
    assert hits(placed, "nowhere", mode="id") == []
    assert hits(placed, "refunds", limit=2, offset=2) == hits(placed, "refunds", limit=4)[2:]
    assert labelling.around(placed, "refunds-v4#1")[1].chunk_id == "refunds-v4#2"  # type: ignore[union-attr]
    assert chunks.state(placed).about == 8


@pytest.mark.parametrize("text", ["", "%", '"', "-", "a" * 4_000, "*?", "{}", "🚆 tickets"])
@pytest.mark.parametrize("mode", search.MODES)
def test_any_text_is_a_search(text: str, mode: str, index: SearchServer, qdrant: QdrantServer, tmp_path: Path) -> None:
    for server in (index, qdrant):
        found = search.search(made(tmp_path / address(server)[:6], address(server)), text, mode=mode)
        assert found.hits or found.advice


def test_drift_of_what_was_judged_is_found_in_an_index(index: SearchServer, tmp_path: Path) -> None:
    placed = made(tmp_path, address(index))
    hits(placed, "gateway")
    hits(placed, "receipts")
    grade(placed, "Ana", "q3", {"errors#1": 3, "travel#2": 0})
    index.indexes["handbook"][1]["errors#1"]["text"] = "Nothing is known of E-4107."
    del index.indexes["handbook"][1]["travel#2"]
    synced = chunk_table.sync(placed, "Ana")
    assert (synced.changed, synced.removed) == (1, 1)
    assert {one.drifted.kind for one in drift.affected(placed)} == {"changed", "missing"}


def test_credentials_come_from_the_environment_and_are_in_no_message(index: SearchServer, tmp_path: Path) -> None:
    url = address(index).replace("://", "://reader:${TABLE_PASSWORD}@")
    index.header = ("Authorization", "Basic cmVhZGVyOmdlaGVpbUAvOiU0MQ==")
    placed = made(tmp_path, url)
    assert hits(placed, "gateway") == ["errors#1"]
    index.header = ("Authorization", "Basic other")
    with pytest.raises(InputError, match="does not let this user read") as error:
        hits(placed, "refunds")
    assert SECRET not in str(error.value)
    assert "cmVhZGVy" not in str(error.value)
    assert SECRET.encode() not in placed.database.read_bytes()
    index.header = ("Authorization", f"ApiKey {SECRET}")
    assert open_table(f"{address(index)}?api_key=${{TABLE_KEY}}").count() == 8
    for written in (url.replace("${TABLE_PASSWORD}", "plain"), f"{address(index)}?api_key=plain"):
        with pytest.raises(InputError, match="holds a password"):
            open_table(written)


@pytest.mark.parametrize("key", ["gehe\nim", "gehe☃im"])
def test_a_key_that_cannot_be_sent_is_told_and_not_shown(
    key: str, qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TABLE_KEY", key)
    with pytest.raises(InputError, match="stray characters") as error:
        open_table(f"{address(qdrant)}?api_key=${{TABLE_KEY}}").columns()
    assert "gehe" not in str(error.value)


@pytest.mark.parametrize("host", ["two words", "a" * 300])
def test_a_host_that_is_none_is_told(host: str) -> None:
    with pytest.raises(InputError, match="cannot be"):
        open_table(f"qdrant://{host}/handbook").columns()


def test_an_answer_that_trickles_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def trickle() -> None:
            with listening.accept()[0] as taken, suppress(OSError):
                taken.recv(65_536)
                taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
                for _ in range(40):
                    taken.sendall(b" ")
                    time.sleep(0.05)

        Thread(target=trickle, daemon=True).start()
        served = open_service(f"qdrant://127.0.0.1:{listening.getsockname()[1]}", str, "Qdrant", 6333, "api-key")
        begun = time.monotonic()
        with pytest.raises(InputError, match="did not answer in time"):
            served.ask("GET", "/", seconds=0.3)
        assert time.monotonic() - begun < 1.5


def test_a_server_that_is_away_is_told_calmly(index: SearchServer, tmp_path: Path) -> None:
    placed = made(tmp_path, address(index))
    hits(placed, "gateway")
    index.failing = 1
    with pytest.raises(InputError, match="503"):
        hits(placed, "refunds")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9 cannot be reached") as error:
        open_table(f"{index.kind.lower()}://127.0.0.1:9/handbook")
    assert "Check host and port" in error.value.hint


def test_what_is_no_text_is_refused(index: SearchServer, tmp_path: Path) -> None:
    index.indexes["codes"] = ({"text": {"type": "keyword"}}, {"a": {"text": "one"}})
    with pytest.raises(InputError, match="no text to search in"):
        made(tmp_path, address(index, "/codes"))


def test_a_qdrant_server_is_read_page_by_page(
    qdrant: QdrantServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qdrantserver, "BATCH_ROWS", 3)
    assert list_tables(address(qdrant, "")) == ["handbook"]
    workspace = synced(tmp_path, address(qdrant, ""))
    assert remembered(workspace) == set(IDS.values())
    with workspace.read() as connection:
        one = corpus.chunk(connection, IDS["refunds-v4#2"])
    assert (one.doc_id, one.title) == ("refunds-v4", "Refund policy v4")
    with pytest.raises(InputError, match="no collection"):
        open_table(address(qdrant, "/none")).count()


def test_a_qdrant_server_is_searched_in_place(qdrant: QdrantServer, tmp_path: Path) -> None:
    placed = made(tmp_path, address(qdrant))
    by_id = {point: chunk_id for chunk_id, point in IDS.items()}

    def found(text: str, **how: Any) -> list[str]:
        return [by_id[one] for one in hits(placed, text, **how)]

    assert set(found("approves team")) == {"refunds-v3#1", "refunds-v4#1"}
    assert found('"support team"') == ["refunds-v4#1"]
    assert found('"team support"') == []
    assert found("approves -sales") == ["refunds-v4#1"]
    assert found('team -"sales team"') == ["refunds-v4#1"]
    assert set(found("refunds doc:refunds-v3")) == {"refunds-v3#1", "refunds-v3#2"}
    assert found("refund", where={"page": "2"}) == ["refunds-v4#3"]
    assert found("E-4107") == ["errors#1"]
    assert found(IDS["travel#1"], mode="id") == ["travel#1"]
    assert found("travel", mode="id") == ["travel#1", "travel#2"]
    assert remembered(placed) <= set(IDS.values())
    assert labelling.around(placed, IDS["refunds-v4#1"])[1].text.startswith("Enterprise")  # type: ignore[union-attr]


def test_a_qdrant_collection_without_a_full_text_index_is_refused_with_what_to_create(
    qdrant: QdrantServer, tmp_path: Path
) -> None:
    qdrant.indexed["handbook"] = {}
    with pytest.raises(InputError, match="no full-text index over page_content") as error:
        made(tmp_path, address(qdrant))
    assert 'PUT /collections/handbook/index {"field_name": "page_content"' in error.value.hint


def test_a_key_for_qdrant_goes_into_its_header(qdrant: QdrantServer) -> None:
    qdrant.header = ("api-key", SECRET)
    assert open_table(f"{address(qdrant)}?api_key=${{TABLE_KEY}}").count() == 8
    with pytest.raises(InputError, match="does not let this user read"):
        open_table(address(qdrant)).count()


def test_options_that_mean_nothing_are_refused(qdrant: QdrantServer) -> None:
    with pytest.raises(InputError, match="'ssl'"):
        open_table(f"{address(qdrant)}?ssl=1")
