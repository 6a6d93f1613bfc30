"""From the command line: released, the table changed, drift told, labels carried, the next version released."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.model import Judgment, Query, text_hash
from annotator.services import carry, drift, gold
from annotator.store import judgments, queries
from annotator.store.database import Workspace

Command = Callable[..., tuple[int, str]]

TEXTS = {
    "pay#1": "Salaries are paid on the last working day of each month. Bonuses follow in March of the next year.",
    "pay#2": "Overtime is paid at one and a half times the hourly rate, if the head of department agreed before.",
    "pay#3": "Expenses are refunded within fourteen days. Receipts have to be handed in with the form E-12.",
    "pay#4": "Company cars may be used privately; the benefit is taxed at one percent of the list price a month.",
    "pay#5": "The canteen is open from eleven to two. Vegetarian meals are cooked every day of the week.",
}


@pytest.fixture
def table(tmp_path: Path) -> sqlite3.Connection:
    """The live table: a real SQLite database that is changed under the workspace's feet."""
    made = sqlite3.connect(tmp_path / "live.db", isolation_level=None)
    made.execute("CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id TEXT, position INTEGER, text TEXT)")
    rows = [(key, "pay", place, text) for place, (key, text) in enumerate(TEXTS.items())]
    made.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?)", rows)
    return made


@pytest.fixture
def command(tmp_path: Path, table: sqlite3.Connection, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Run commands on a workspace with the table synced and a first version released."""

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["--home", str(tmp_path / "home"), "--who", "Ana", *arguments])
        return code, capsys.readouterr().out

    assert run("init")[0] == 0
    assert run("connect", f"sqlite:///{tmp_path / 'live.db'}")[0] == 0
    assert run("sync")[0] == 0
    workspace = Workspace(tmp_path / "home")
    with workspace.write() as connection:
        queries.add(connection, Query("q1", "When does the money come?"), "Ana")
        for number, (chunk_id, text) in enumerate(TEXTS.items()):
            grade = (3, 2, 2, 1, 0)[number]
            judged = Judgment("q1", chunk_id, "Ana", grade, sha256=text_hash(text), operation_id=f"o{number}")
            judgments.append(connection, judged)
    assert run("release", "--name", "pay")[0] == 0
    yield run
    table.close()


def drifted(command: Command, *options: str) -> tuple[int, dict[str, list[str]]]:
    code, out = command("drift", "--json", *options)
    found = json.loads(out)
    return code, {kind: [row["chunk_id"] for row in found[kind]] for kind in drift.KINDS}


def test_no_alarm_on_an_unchanged_table(command: Command) -> None:
    command("sync")
    code, found = drifted(command)
    assert code == 0
    assert found == {"missing": [], "changed": [], "reused": [], "moved": []}


def test_new_metadata_and_new_chunks_are_no_drift(command: Command, table: sqlite3.Connection) -> None:
    table.execute("UPDATE chunks SET position = position + 10")
    table.execute("INSERT INTO chunks VALUES ('pay#6', 'pay', 5, 'A sixth chunk about parking.')")
    command("sync")
    assert drifted(command)[0] == 0


@pytest.mark.parametrize("synced", [True, False])
def test_deleted_edited_reused_and_moved_are_told_apart_with_and_without_a_sync(
    command: Command, table: sqlite3.Connection, synced: bool
) -> None:
    table.execute("DELETE FROM chunks WHERE chunk_id = 'pay#1'")
    table.execute("UPDATE chunks SET text = replace(text, 'one and a half', 'one and a quarter') WHERE position = 1")
    table.execute(
        "UPDATE chunks SET text = 'Fire drills are held twice a year; wardens wear yellow.' WHERE position = 2"
    )
    table.execute("UPDATE chunks SET chunk_id = 'cars/1' WHERE chunk_id = 'pay#4'")
    table.execute("UPDATE chunks SET text = replace(text, ' ', char(10) || '  ') WHERE chunk_id = 'pay#5'")
    if synced:
        command("sync")
    code, out = command("drift", "--json")
    found = json.loads(out)
    assert code == 1
    assert [row["chunk_id"] for row in found["missing"]] == ["pay#1"]
    assert [row["chunk_id"] for row in found["changed"]] == ["pay#2", "pay#5"]  # white space only is changed
    assert found["changed"][1]["similarity"] == 100.0
    assert [row["chunk_id"] for row in found["reused"]] == ["pay#3"]
    assert [(row["chunk_id"], row["to"]) for row in found["moved"]] == [("pay#4", "cars/1")]
    assert found["missing"][0]["query_ids"] == ["q1"]


@pytest.mark.parametrize("synced", [True, False])
def test_ids_that_swapped_their_texts_are_reused_and_say_where_the_text_went(
    command: Command, table: sqlite3.Connection, synced: bool
) -> None:
    table.execute("UPDATE chunks SET text = ? WHERE chunk_id = 'pay#1'", (TEXTS["pay#5"],))
    table.execute("UPDATE chunks SET text = ? WHERE chunk_id = 'pay#5'", (TEXTS["pay#1"],))
    if synced:
        command("sync")
    found = json.loads(command("drift", "--json")[1])
    assert [(row["chunk_id"], row["to"]) for row in found["reused"]] == [("pay#1", "pay#5"), ("pay#5", "pay#1")]


def test_looking_at_the_live_table_takes_nothing_over(command: Command, table: sqlite3.Connection) -> None:
    table.execute("DELETE FROM chunks WHERE chunk_id = 'pay#1'")
    assert drifted(command)[0] == 1
    assert json.loads(command("status", "--json")[1])["chunks"] == 5
    assert json.loads(command("sync", "--json")[1])["removed"] == 1


@pytest.mark.parametrize("fault", ["DROP TABLE chunks", "INSERT INTO chunks VALUES (x'00', 'pay', 9, 'In bytes.')"])
def test_where_the_live_table_cannot_be_read_the_last_sync_counts_and_that_is_said(
    command: Command, table: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    table.execute(fault)
    assert main(["--home", str(tmp_path / "home"), "drift"]) == 0
    assert "the last sync counts" in capsys.readouterr().err


def test_an_id_with_two_texts_is_left_to_the_sync(
    command: Command, table: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in TEXTS.items()), "utf-8")
    command("connect", str(rows))
    rows.write_text(rows.read_text("utf-8") + '{"id": "pay#1", "text": "Another text."}\n', "utf-8")
    assert main(["--home", str(tmp_path / "home"), "drift"]) == 0
    assert "'pay#1' twice" in capsys.readouterr().err


def test_a_row_that_comes_twice_is_one_place_a_text_moved_to(command: Command, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    named = {"pay#4": "cars/1"}
    lines = [json.dumps({"id": named.get(key, key), "text": text}) + "\n" for key, text in TEXTS.items()]
    rows.write_text("".join([*lines, *lines]), "utf-8")
    command("connect", str(rows))
    (moved,) = json.loads(command("drift", "--json")[1])["moved"]
    assert (moved["chunk_id"], moved["to"], moved["also"]) == ("pay#4", "cars/1", [])


def test_a_gold_set_by_number_path_and_without_hashes(
    command: Command, table: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.execute("DELETE FROM chunks WHERE chunk_id = 'pay#1'")
    table.execute("UPDATE chunks SET text = 'Something else altogether, about parrots.' WHERE chunk_id = 'pay#2'")
    command("sync")
    by_number = drifted(command, "--gold", "1")
    assert by_number == drifted(command, "--gold", str(tmp_path / "home" / "releases" / "pay-v1"))
    qrels = tmp_path / "gold.trec"
    qrels.write_text("q1 0 pay#1 3\nq1 0 pay#2 2\n", "utf-8")
    assert main(["--home", str(tmp_path / "home"), "drift", "--gold", str(qrels)]) == 1
    captured = capsys.readouterr()
    assert "1 missing, 0 changed" in captured.out
    assert "no hashes" in captured.err


def test_a_version_is_known_by_its_tag(command: Command, table: sqlite3.Connection, tmp_path: Path) -> None:
    gold.tag(Workspace(tmp_path / "home"), "Ana", "ci", 1)
    run = tmp_path / "run.trec"
    run.write_text("q1 Q0 pay#1 1 2.0 r\n", "utf-8")
    assert drifted(command, "--gold", "ci")[0] == 0
    assert json.loads(command("evaluate", "--gold", "ci", "--run", str(run), "--json")[1])["gold"]["version"] == 1
    assert command("evaluate", "--gold", "prod", "--run", str(run))[0] == 2


def test_the_span_level_reads_the_texts_of_the_workspace_that_is_named(
    command: Command, table: sqlite3.Connection, tmp_path: Path
) -> None:
    run, release = tmp_path / "run.json", str(tmp_path / "home" / "releases" / "pay-v1")
    run.write_text('{"q1": ["pay#5", "pay#1"]}', "utf-8")
    span = ("--run", str(run), "--level", "span", "--json")
    for named in ("1", release):
        measures = json.loads(command("evaluate", "--gold", named, *span)[1])["runs"][0]["measures"]
        assert (measures["RR@5"], measures["R@5"]) == (0.5, 0.25)  # one of four relevant texts, at rank 2
    assert main(["evaluate", "--gold", release, *span]) == 2


def test_evaluate_warns_where_it_can_know_that_judged_chunks_are_others_now(
    command: Command, table: sqlite3.Connection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, run = ["--home", str(tmp_path / "home")], tmp_path / "run.trec"
    run.write_text("q1 Q0 pay#2 1 2.0 r\nq1 Q0 pay#1 2 1.0 r\n", "utf-8")
    by_number = [*home, "evaluate", "--gold", "1", "--run", str(run), "--json"]
    assert main(by_number) == 0
    assert "Warning" not in capsys.readouterr().err
    table.execute("UPDATE chunks SET text = 'No overtime is paid any more.' WHERE chunk_id = 'pay#2'")
    command("sync")
    assert main(by_number) == 0
    captured = capsys.readouterr()
    assert "1 judged chunks changed or vanished since they were judged (pay#2)" in captured.err
    findings = json.loads(captured.out)["runs"][0]["diagnosis"]
    assert [one["chunk_ids"] for one in findings if one["kind"] == "stale"] == [["pay#2"]]

    chunks = tmp_path / "chunks.jsonl"
    rows = table.execute("SELECT chunk_id, text FROM chunks WHERE chunk_id <> 'pay#4'").fetchall()
    chunks.write_text("".join(json.dumps({"chunk_id": key, "text": text}) + "\n" for key, text in rows), "utf-8")
    by_path = ["evaluate", "--gold", str(tmp_path / "home" / "releases" / "pay-v1"), "--run", str(run)]
    assert main([*by_path, "--chunks", str(chunks)]) == 0
    assert "1 judged chunks changed" in capsys.readouterr().err
    assert main(by_path) == 0
    assert "Warning" not in capsys.readouterr().err


def test_drift_before_any_release_cannot_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--home", str(tmp_path / "new"), "init"])
    assert main(["--home", str(tmp_path / "new"), "drift"]) == 2
    assert "Nothing was released yet" in capsys.readouterr().err


def test_release_sync_drift_carry_next_release(command: Command, table: sqlite3.Connection, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "home")
    whole = " ".join(TEXTS[f"pay#{number}"] for number in (1, 2, 3, 4))
    cut = [whole[: whole.index("Overtime")], whole[whole.index("Overtime") :]]
    table.execute("DELETE FROM chunks WHERE chunk_id <> 'pay#5'")
    rows = [(f"new#{place}", "pay", place, text) for place, text in enumerate(cut)]
    table.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?)", rows)
    command("sync")

    code, found = drifted(command)
    assert (code, found["missing"]) == (1, ["pay#1", "pay#2", "pay#3", "pay#4"])
    assert command("release")[0] == 2  # blocked

    looked = json.loads(command("carry", "--json")[1])
    assert {(row["chunk_id"], row["to"], row["grade"]) for row in looked["proposals"]} == {
        ("pay#1", "new#0", 3),
        ("pay#2", "new#1", 2),
        ("pay#3", "new#1", 2),
        ("pay#4", "new#1", 1),
    }
    assert carry.waiting(workspace) == []  # nothing recorded without --apply
    assert json.loads(command("carry", "--apply", "--json")[1])["open"] == 4
    assert json.loads(command("status", "--json")[1])["judgments"] == 5  # no label by itself

    for one in carry.waiting(workspace):
        if one.proposal.chunk_id == "pay#4":
            carry.refuse(workspace, "Ana", one.proposal.proposal_id)
        else:
            carry.accept(workspace, "Ana", one.proposal.proposal_id)
    assert json.loads(command("carry", "--apply", "--json")[1])["open"] == 0  # a refusal stands
    left = drift.affected(workspace)
    assert [one.label.chunk_id for one in left] == ["pay#4"]
    drift.drop(workspace, "Ana", [left[0].key], "company cars are no longer in the handbook")

    assert command("release", "--name", "pay")[0] == 0
    assert drifted(command)[0] == 0
    assert drifted(command, "--gold", "1")[0] == 1  # the old version is as it was
    gold = (tmp_path / "home" / "releases" / "pay-v2" / "gold.jsonl").read_text("utf-8")
    labels = {label["chunk_id"]: label["relevance"] for label in json.loads(gold)["gold"]}
    assert labels == {"new#0": 3, "new#1": 2, "pay#5": 0}
    with closing(sqlite3.connect(workspace.database)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM judgments WHERE origin = 'annotate'").fetchone() == (5,)
        origins = connection.execute("SELECT origin FROM judgments WHERE origin <> 'annotate' ORDER BY 1").fetchall()
    assert origins == [("carried from pay#1",), ("carried from pay#2",), ("carried from pay#3",)]
