"""A PostgreSQL table searched in place: from connecting it to a version, with what was looked at remembered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from annotator.errors import Conflict, InputError
from annotator.model import Person, Query
from annotator.services import (
    baseline,
    chunk_table,
    chunks,
    drift,
    gold,
    in_place,
    labelling,
    pools,
    preview,
    search,
    similar,
)
from annotator.services.importing.judgments import import_judgments
from annotator.services.importing.runs import import_run
from annotator.services.overview import home
from annotator.store import corpus, judgments, people, queries
from annotator.store.database import Workspace
from tests.conftest import HANDBOOK, QUESTIONS
from tests.postgres_server import PASSWORD, Postgres
from tests.services.test_preview import grade

TABLE = (
    "CREATE TABLE handbook (chunk_id text PRIMARY KEY, doc_id text, title text, position int, text text, "
    "metadata jsonb, words tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A') || "
    "to_tsvector('english', text)) STORED); CREATE INDEX ON handbook USING gin (words)"
)


def fill(postgres: Postgres, name: str, *statements: str) -> str:
    """Make a database with the handbook; returns its address for the reader."""
    postgres.database(name)
    postgres.psql(name, TABLE)
    with psycopg.connect(postgres.url(name)) as connection:
        for row in HANDBOOK:
            metadata = json.dumps({"version": row[1].rpartition("-")[2], "page": row[3]})
            connection.execute("INSERT INTO handbook VALUES (%s, %s, %s, %s, %s, %s)", (*row, metadata))
    for statement in statements:
        postgres.psql(name, statement)
    postgres.grant(name)
    return postgres.reader(name)


def made(folder: Path, url: str) -> Workspace:
    folder.mkdir(exist_ok=True)
    workspace = Workspace(folder / "workspace")
    workspace.create()
    with workspace.write() as connection:
        people.add(connection, Person("Ana", "admin"), "Ana")
        people.add(connection, Person("Ben"), "Ana")
        for query_id, question in QUESTIONS:
            queries.add(connection, Query(query_id, question), "Ana")
    chunk_table.connect(workspace, "Ana", url, search_in_place=True)
    return workspace


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("READER_PASSWORD", PASSWORD)
    in_place.forget()
    yield
    in_place.forget()


@pytest.fixture(scope="module")
def handbook(postgres: Postgres) -> str:
    return fill(postgres, "handbook")


@pytest.fixture
def placed(handbook: str, tmp_path: Path) -> Workspace:
    return made(tmp_path / "placed", handbook)


def hits(workspace: Workspace, text: str, **how: object) -> list[str]:
    return [hit.chunk_id for hit in search.search(workspace, text, **how).hits]  # type: ignore[arg-type]


def remembered(workspace: Workspace) -> set[str]:
    with workspace.read() as connection:
        return {chunk_id for chunk_id, _ in corpus.changes(connection, 0)}


@pytest.mark.parametrize(
    "text",
    [
        "who approves refunds",
        '"support team"',
        "approves -sales",
        "refunds doc:refunds-v3",
        "refunds -doc",
        "E-4107",
        "REF-2024/07",
        '"enterprise refunds" vp',
        "doc:travel",
        "nonsense",
    ],
)
def test_a_search_finds_the_same_chunks_as_in_the_index(text: str, placed: Workspace, workspace: Workspace) -> None:
    assert set(hits(placed, text)) == set(hits(workspace, text))


def test_words_phrases_exclusions_filters_and_identifiers_are_understood(placed: Workspace) -> None:
    assert set(hits(placed, "who approves refunds")[:2]) == {"refunds-v3#1", "refunds-v4#1"}
    assert hits(placed, '"support team"') == ["refunds-v4#1"]
    assert hits(placed, "approves -sales") == ["refunds-v4#1"]
    assert set(hits(placed, "refunds doc:refunds-v3")) == {"refunds-v3#1", "refunds-v3#2"}
    assert set(hits(placed, "refunds version:v3")) == {"refunds-v3#1", "refunds-v3#2"}
    assert hits(placed, "refunds", where={"page": "2"}) == ["refunds-v4#3"]
    assert hits(placed, "E-4107") == ["errors#1"]
    assert hits(placed, "REF-2024/07") == ["refunds-v4#2"]
    found = search.search(placed, "enterprise VP")
    assert found.hits[0].snippet == "Enterprise refunds after 30 days need the VP Finance (REF-2024/07)."
    assert [found.hits[0].snippet[start:end] for start, end in found.hits[0].spans] == ["Enterprise", "VP"]
    assert (found.total, found.more) == (2, False)


@pytest.mark.parametrize(
    "text", ["", "  ", "%", "'; DROP TABLE handbook; --", "\\", '"', "-", "a" * 4_000, "\x00", "🚆", ":*&|!()"]
)
@pytest.mark.parametrize("mode", search.MODES)
def test_any_text_is_a_search(text: str, mode: str, placed: Workspace) -> None:
    found = search.search(placed, text, mode=mode)
    assert found.hits or found.advice


def test_slips_are_forgiven_behind_the_first_letters(placed: Workspace) -> None:
    assert hits(placed, "recipts", mode="words") == []
    assert hits(placed, "recipts", mode="fuzzy") == ["travel#2"]
    assert hits(placed, "gateawy", mode="fuzzy") == ["errors#1"]


def test_ids_are_found_whole_by_their_beginning_by_their_document_and_nearly(placed: Workspace) -> None:
    assert hits(placed, "travel#1", mode="id")[0] == "travel#1"
    assert hits(placed, "refunds-v4", mode="id")[:3] == ["refunds-v4#1", "refunds-v4#2", "refunds-v4#3"]
    assert hits(placed, "errors", mode="id") == ["errors#1"]
    assert hits(placed, "refunds-v4#4", mode="id")[0] in {"refunds-v4#1", "refunds-v4#2", "refunds-v4#3"}
    assert hits(placed, "refunds_v4%", mode="id")[0] == "refunds-v4#1"  # near: no sign has a meaning
    assert hits(placed, "zzz", mode="id") == []


def test_an_id_that_looks_like_a_filter_is_found_as_an_id(postgres: Postgres, tmp_path: Path) -> None:
    odd = "INSERT INTO handbook VALUES ('doc:12#3', 'd', '', 0, 'Some text.', '{}')"
    placed = made(tmp_path, fill(postgres, "odd_ids", odd))
    assert hits(placed, " doc:12#3", mode="id")[0] == "doc:12#3"
    assert hits(placed, "doc:travel travel", mode="id")[0] == "travel#1"


def test_pages_follow_one_another(placed: Workspace) -> None:
    every = hits(placed, "refunds", limit=10)
    assert hits(placed, "refunds", limit=2) + hits(placed, "refunds", limit=2, offset=2) == every[:4]
    assert search.search(placed, "refunds", limit=2, offset=50).advice.startswith("There are no more")


def test_only_what_was_shown_is_remembered(placed: Workspace) -> None:
    assert remembered(placed) == set()
    hits(placed, '"support team"')
    assert remembered(placed) == {"refunds-v4#1"}
    assert labelling.around(placed, "refunds-v4#1")[1].chunk_id == "refunds-v4#2"  # type: ignore[union-attr]
    assert remembered(placed) == {"refunds-v4#1", "refunds-v4#2", "refunds-v4#3"}
    assert chunks.chunk(placed, "errors#1").text.startswith("E-4107")
    assert chunks.document(placed, "travel")[1].chunk_id == "travel#2"
    assert set(preview.texts(placed, ["refunds-v3#2", "none"])) == {"refunds-v3#2"}
    state = chunks.state(placed)
    assert (state.in_place, state.count, state.last) == (True, 7, None)


def test_the_place_in_a_document_is_shown_once_all_of_it_was_read(placed: Workspace) -> None:
    hits(placed, '"support team"')
    assert labelling.candidates(placed, "Ana", "q1", ["refunds-v4#1"])[0].siblings == 0
    labelling.around(placed, "refunds-v4#1")
    seen = labelling.candidates(placed, "Ana", "q1", ["refunds-v4#1"])[0]
    assert (seen.place, seen.siblings) == (1, 3)


def test_pools_imports_and_the_baseline_look_ids_up_in_the_live_table(placed: Workspace, tmp_path: Path) -> None:
    run = tmp_path / "dense.jsonl"
    run.write_text('{"query_id": "q1", "results": ["travel#1", "errors#1", "nowhere"]}\n')
    import_run(placed, "Ana", run, name="dense")
    assert set(pools.pool(placed, "Ana", "q1").ids) == {"travel#1", "errors#1"}
    labels = tmp_path / "labels.csv"
    labels.write_text("query_id,chunk_id,grade,annotator\nq1,refunds-v3#2,2,Ana\nq1,travel#2,0,Ana\n")
    assert import_judgments(placed, "Ana", labels).added == 2
    labels.write_text("query_id,chunk_id,grade,annotator\nq1,nowhere,2,Ana\n")
    with pytest.raises(InputError, match="nowhere"):
        import_judgments(placed, "Ana", labels)
    ranked = dict(baseline.baseline(placed))
    assert ranked["q3"][0][0] == "errors#1"
    built = pools.build(placed, "Ana", pools.Build(("dense",), "words", "", 3))
    assert built.told == ("Left out: 1 chunk ids that are not in the chunk table.",)
    assert "refunds-v4#3" in pools.pool(placed, "Ana", "q1").ids


def test_what_is_like_a_chunk_is_looked_for_in_the_live_table(placed: Workspace) -> None:
    hits(placed, '"support team"')
    found = similar.similar(placed, "refunds-v4#1").found
    assert list(found) == ["refunds-v3#1", "refunds-v4#2", "refunds-v4#3"]
    grade(placed, "Ana", "q2", {"refunds-v4#1": 3})
    assert next(iter(similar.neighbours(placed, "Ana", "q2"))) == "refunds-v3#1"


def test_home_does_not_ask_for_a_sync_before_work_can_begin(placed: Workspace) -> None:
    found = home(placed, "Ana")
    assert found.in_place
    assert found.next_step.page == "annotate"
    assert search.filters(placed)["version"] == ["errors", "travel", "v3", "v4"]


def test_from_a_search_to_a_version_over_a_live_change(postgres: Postgres, tmp_path: Path) -> None:
    placed = made(tmp_path, fill(postgres, "life"))
    hits(placed, "who signs off a late enterprise refund")
    grade(placed, "Ana", "q1", {"refunds-v4#2": 3, "refunds-v4#1": 1, "refunds-v3#2": 0})
    first = gold.release(placed, "Ana", allow_open=True)
    assert first.manifest["counts"]["judgments"] == 3
    assert first.manifest["chunk_table"]["in_place"]
    postgres.psql(
        "life", "UPDATE handbook SET text = 'Enterprise refunds need nobody.' WHERE chunk_id = 'refunds-v4#2'"
    )
    postgres.psql("life", "DELETE FROM handbook WHERE chunk_id = 'refunds-v4#1'")
    looked = len(remembered(placed))
    synced = chunk_table.sync(placed, "Ana")
    assert (synced.added, synced.changed, synced.removed, synced.total) == (0, 1, 1, looked - 1)
    kinds = {one.label.chunk_id: one.drifted.kind for one in drift.affected(placed)}
    assert kinds == {"refunds-v4#2": "changed", "refunds-v4#1": "missing"}
    with pytest.raises(Conflict, match="changed"):
        gold.release(placed, "Ana")
    keys = {one.label.chunk_id: one.key for one in drift.affected(placed)}
    drift.confirm(placed, "Ana", [keys["refunds-v4#2"]], "still the rule")
    drift.drop(placed, "Ana", [keys["refunds-v4#1"]], "gone")
    second = gold.release(placed, "Ana", allow_open=True)
    assert second.manifest["counts"]["judgments"] == 2
    assert chunk_table.sync(placed, "Ana").unchanged == looked - 1


def test_a_changed_text_is_noticed_when_it_is_shown_again(postgres: Postgres, tmp_path: Path) -> None:
    placed = made(tmp_path, fill(postgres, "again"))
    hits(placed, "gateway")
    grade(placed, "Ana", "q3", {"errors#1": 3})
    postgres.psql("again", "UPDATE handbook SET text = 'The gateway is gone.' WHERE chunk_id = 'errors#1'")
    hits(placed, "gateway")
    assert [one.drifted.kind for one in drift.affected(placed)] == ["changed"]


def test_a_server_that_went_away_is_told_calmly_and_grading_goes_on(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = made(tmp_path, fill(postgres, "away"))
    hits(placed, "gateway")
    postgres.drop_connections()
    assert hits(placed, "gateway") == ["errors#1"]  # the idle connection was ended: another is opened
    postgres.psql("postgres", "ALTER ROLE reader CONNECTION LIMIT 0")
    try:
        postgres.drop_connections()
        with pytest.raises(InputError, match="cannot be reached") as error:
            search.search(placed, "refunds")
        assert PASSWORD not in str(error.value)
        assert error.value.hint
        grade(placed, "Ana", "q3", {"errors#1": 3})
        with placed.read() as connection:
            assert next(judgments.current(connection, query_id="q3")).grade == 3
        with pytest.raises(InputError, match="cannot be reached"):
            chunk_table.sync(placed, "Ana")
        assert remembered(placed) == {"errors#1"}
    finally:
        postgres.psql("postgres", "ALTER ROLE reader CONNECTION LIMIT -1")
    assert hits(placed, "gateway") == ["errors#1"]


def test_a_table_without_an_index_is_refused_with_the_sql_for_its_owner(postgres: Postgres, tmp_path: Path) -> None:
    url = fill(postgres, "bare", "ALTER TABLE handbook DROP COLUMN words", 'ALTER TABLE handbook RENAME TO "Hand book"')
    workspace = Workspace(tmp_path / "workspace")
    workspace.create()
    with pytest.raises(InputError, match="no index for full-text search") as error:
        chunk_table.connect(workspace, "Ana", url, search_in_place=True)
    offered = chunk_table.preview(url).offer
    assert offered is not None
    assert not offered.possible
    create = next(line for line in error.value.hint.splitlines() if line.startswith("CREATE INDEX")).partition(";")[0]
    assert create == 'CREATE INDEX CONCURRENTLY ON "public"."Hand book" USING gin (to_tsvector(\'english\', "text"))'
    postgres.psql("bare", create)
    placed = made(tmp_path / "now", url)
    assert hits(placed, "receipts") == ["travel#2"]


@pytest.fixture(scope="module")
def crowded(postgres: Postgres) -> str:
    """Of 4,200 chunks 2,500 have the one word and 2,700 the other, a thousand both."""
    return fill(
        postgres,
        "crowded",
        "TRUNCATE handbook",
        "INSERT INTO handbook SELECT 'c' || n, 'd', '', n, concat_ws(' ', CASE WHEN n <= 2500 THEN 'refund' END, "
        "CASE WHEN n > 1500 THEN 'voucher' END, repeat('of it ', n % 7)), '{}' FROM generate_series(1, 4200) AS n",
    )


@pytest.mark.parametrize("size", [30, 400])
def test_no_chunk_stands_on_two_pages(size: int, crowded: str, tmp_path: Path) -> None:
    workspace = made(tmp_path / "placed", crowded)
    found = [
        one for page in range(1200 // size) for one in hits(workspace, "refund voucher", limit=size, offset=page * size)
    ]
    assert len(found) == len(set(found)) == 1200
    assert {int(one[1:]) for one in found[:1000]} == set(range(1501, 2501))
    assert hits(workspace, "refund voucher", limit=150)[:20] == hits(workspace, "refund voucher", limit=20)


def test_scores_fall_to_the_end_of_a_deep_list(crowded: str, tmp_path: Path) -> None:
    scores = [score for _, score in in_place.ranked(made(tmp_path / "placed", crowded), "refund voucher", "words", 200)]
    assert len(scores) == 200
    assert scores == sorted(scores, reverse=True)


def test_words_that_stand_everywhere_are_said_to_tell_nothing(placed: Workspace) -> None:
    assert "Add one that tells more" in search.search(placed, "what is the").advice


def test_a_search_column_that_was_renamed_is_found_by_the_next_search(postgres: Postgres, tmp_path: Path) -> None:
    placed = made(tmp_path / "placed", fill(postgres, "renamed"))
    assert hits(placed, "gateway") == ["errors#1"]
    postgres.psql("renamed", "ALTER TABLE handbook RENAME words TO looked_up")
    with pytest.raises(InputError, match="Has the table changed"):
        hits(placed, "gateway")
    assert hits(placed, "gateway") == ["errors#1"]


def test_a_table_that_lost_all_its_rows_removes_nothing_unless_told(postgres: Postgres, tmp_path: Path) -> None:
    placed = made(tmp_path / "placed", fill(postgres, "emptied"))
    hits(placed, "gateway")
    postgres.psql("emptied", "DELETE FROM handbook WHERE chunk_id <> 'travel#1'")
    assert chunk_table.sync(placed, "Ana").removed == 1  # what was looked at is gone, the table is not empty
    hits(placed, "travel")
    postgres.psql("emptied", "DELETE FROM handbook")
    with pytest.raises(InputError, match="has no rows, but 1 of its chunks"):
        chunk_table.sync(placed, "Ana")
    assert chunk_table.sync(placed, "Ana", allow_empty=True).removed == 1


def test_files_are_not_searched_in_place(tmp_path: Path) -> None:
    table = tmp_path / "chunks.jsonl"
    table.write_text('{"id": "a", "text": "one"}\n')
    workspace = Workspace(tmp_path / "workspace")
    workspace.create()
    with pytest.raises(InputError, match="cannot be searched in place"):
        chunk_table.connect(workspace, "Ana", str(table), search_in_place=True)
    assert chunk_table.preview(str(table)).offer is None


def test_a_table_may_be_read_as_a_whole_later(placed: Workspace, handbook: str) -> None:
    hits(placed, "gateway")
    chunk_table.connect(placed, "Ana", handbook)
    synced = chunk_table.sync(placed, "Ana")
    assert (synced.added, synced.unchanged, synced.total) == (7, 1, 8)
    assert hits(placed, "gateway") == ["errors#1"]
    assert hits(placed, "receipts") == ["travel#2"]
