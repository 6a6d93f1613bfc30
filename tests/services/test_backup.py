"""Backups taken while people work, restored bit by bit the same, and every kind of damage found."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from annotator.cli import main
from annotator.errors import Conflict, Forbidden, InputError, NotFound, StoreError
from annotator.model import Judgment, Query
from annotator.services import backup, gold, search
from annotator.services.labelling import Operation, apply
from annotator.store import corpus, judgments, queries, snapshot
from annotator.store.database import Workspace


def judge(workspace: Workspace, who: str, query_id: str, chunk_id: str, grade: int, operation: str) -> None:
    with workspace.write() as connection:
        text = corpus.chunk(connection, chunk_id).sha256
        judgments.append(connection, Judgment(query_id, chunk_id, who, grade, sha256=text, operation_id=operation))


@pytest.fixture
def busy(workspace: Workspace) -> Workspace:
    """A workspace with labels, a version and a search index."""
    judge(workspace, "Ana", "q1", "refunds-v4#2", 3, "1")
    judge(workspace, "Ben", "q1", "refunds-v4#2", 3, "2")
    judge(workspace, "Ben", "q2", "refunds-v4#1", 2, "3")
    gold.release(workspace, "Ana", note="first")
    search.bring_up_to_date(workspace)
    return workspace


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_a_restored_workspace_is_what_was_backed_up(busy: Workspace, tmp_path: Path) -> None:
    before = backup.check(busy)
    assert before.sound, before.problems
    written = backup.back_up(busy, "Ana", tmp_path / "monday.db")
    assert (written.counts, written.digest, written.size) == (
        before.counts,
        before.digest,
        (tmp_path / "monday.db").stat().st_size,
    )
    judge(busy, "Ben", "q3", "errors#1", 3, "4")
    gold.release(busy, "Ana", note="second")
    assert backup.check(busy).digest != before.digest
    later = dump(busy.database)

    done = backup.restore(busy, "Ana", tmp_path / "monday.db")
    after = backup.check(busy)
    assert after.sound, after.problems
    assert (done.counts, done.digest) == (before.counts, before.digest)
    assert (after.counts, after.digest) == (before.counts, before.digest)
    assert [one.version for one in gold.versions(busy)] == [1]
    assert (busy.releases / "gold-v1").is_dir()
    assert not (busy.releases / "gold-v2").exists()  # moved aside with the rest of what was replaced
    assert not busy.index.exists()
    assert done.kept is not None
    assert done.kept.parent == busy.backups
    assert dump(done.kept) == later
    assert gold.release(busy, "Ana", note="another second").version == 2  # nothing of the former one is in the way


def test_the_record_says_that_a_workspace_was_restored(busy: Workspace, tmp_path: Path) -> None:
    backup.back_up(busy, "Ana", tmp_path / "monday.db")
    backup.restore(busy, "Ana", tmp_path / "monday.db")
    with busy.read() as connection:
        who, action, subject = connection.execute(
            "SELECT who, action, subject FROM events ORDER BY event_id DESC"
        ).fetchone()
    assert (who, action, subject) == ("Ana", snapshot.RESTORED, "file:monday.db")


def test_a_backup_while_people_write_holds_all_that_was_saved_before(busy: Workspace, tmp_path: Path) -> None:
    with busy.write() as connection:
        for number in range(40):
            queries.add(connection, Query(f"w{number}", f"What about {number}?"), "Ana")
        text = corpus.chunk(connection, "errors#1").sha256
    stop = threading.Event()
    saved: list[str] = []
    failed: list[Exception] = []

    def work(who: str) -> None:
        number = 0
        try:
            while not stop.is_set():
                operation = Operation(
                    id=f"{who} {number}", kind="judge", who=who, query_id=f"w{number % 40}", chunk_id="errors#1",
                    sha256=text, grade=number % 4,
                )  # fmt: skip
                saved.extend(apply(busy, who, [operation]).acknowledged)
                number += 1
        except Exception as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in ("Ana", "Ben")]
    for thread in threads:
        thread.start()
    try:
        for number in range(3):
            known = list(saved)
            backup.back_up(busy, "Ana", tmp_path / f"{number}.db")
            with closing(sqlite3.connect(tmp_path / f"{number}.db")) as connection:
                kept = {row[0] for row in connection.execute("SELECT operation_id FROM judgments")}
            assert set(known) <= kept
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    assert len(saved) > 10
    assert backup.check(busy).sound


def test_a_restore_reaches_those_who_have_the_workspace_open(busy: Workspace, tmp_path: Path) -> None:
    backup.back_up(busy, "Ana", tmp_path / "monday.db")
    judge(busy, "Ben", "q3", "errors#1", 3, "4")
    with closing(busy.hold()), busy.read() as reading:
        assert reading.execute("SELECT COUNT(*) FROM judgments").fetchone()[0] == 4
        backup.restore(busy, "Ana", tmp_path / "monday.db")
        assert reading.execute("SELECT COUNT(*) FROM judgments").fetchone()[0] == 4  # one unmoving state
        with busy.read() as other:
            assert other.execute("SELECT COUNT(*) FROM judgments").fetchone()[0] == 3
        judge(busy, "Ben", "q3", "errors#1", 2, "5")
    assert backup.check(busy).sound


def test_a_backup_makes_a_workspace_where_there_is_none(busy: Workspace, tmp_path: Path) -> None:
    backup.back_up(busy, "Ana", tmp_path / "monday.db")
    other = Workspace(tmp_path / "elsewhere")
    done = backup.restore(other, "Ana", tmp_path / "monday.db")
    assert done.kept is None
    assert backup.check(other).digest == backup.check(busy).digest
    assert (other.releases / "gold-v1").is_dir()


def test_a_workspace_damaged_beyond_reading_is_restored_and_kept_as_it_was(busy: Workspace, tmp_path: Path) -> None:
    wanted = backup.back_up(busy, "Ana", tmp_path / "monday.db").digest
    rubbish = b"not a database any more" * 1000
    for ending in ("-wal", "-shm"):
        busy.database.with_name(busy.database.name + ending).unlink(missing_ok=True)
    busy.database.write_bytes(rubbish)
    checked = backup.check(busy)
    assert not checked.sound
    assert "cannot be read" in checked.problems[0]
    done = backup.restore(busy, "Ana", tmp_path / "monday.db")
    assert done.kept is not None
    assert done.kept.read_bytes() == rubbish
    assert backup.check(busy).digest == wanted


def broken(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statement)


DAMAGE: dict[str, tuple[str, str]] = {
    "a guard taken away": ("DROP TRIGGER judgments_no_update", "trigger judgments_no_update: missing"),
    "a guard made harmless": (
        "DROP TRIGGER events_no_delete; CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT 1; END",
        "trigger events_no_delete: not as Annotator made it",
    ),
    "a label taken out of force": ("DELETE FROM current_judgments WHERE query_id = 'q2'", "not in force"),
    "an older label in force": (
        "INSERT INTO judgments (operation_id, query_id, chunk_id, annotator, grade, stale, reason, evidence, sha256,"
        " judged_at, origin) SELECT 'x', query_id, chunk_id, annotator, 0, 0, '', '[]', sha256, judged_at, 'import'"
        " FROM judgments WHERE judgment_id = 1; UPDATE current_judgments SET judgment_id = 1 WHERE annotator = 'Ana'",
        "not the last ones given",
    ),
    "a finished question forgotten": (
        "INSERT INTO steps VALUES (1, 'q1', 'Ana', 'finished', '', 'Ana', '', 0); DELETE FROM current_steps",
        "not the last thing the person said",
    ),
    "a link to nothing": ("PRAGMA foreign_keys = OFF; DELETE FROM queries WHERE query_id = 'q1'", "not there"),
    "another version": (
        "CREATE TEMP TABLE t AS SELECT sql FROM sqlite_master WHERE name = 'version_files_no_update';"
        "DROP TRIGGER version_files_no_update; UPDATE version_files SET content = CAST(replace(content, '3', '2') AS"
        " BLOB) WHERE name = 'gold.jsonl'",
        "version 1",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_never_backed_up_or_restored(what: str, busy: Workspace, tmp_path: Path) -> None:
    statement, words = DAMAGE[what]
    backup.back_up(busy, "Ana", tmp_path / "good.db")
    (tmp_path / "bad.db").write_bytes((tmp_path / "good.db").read_bytes())
    broken(tmp_path / "bad.db", statement)
    before = backup.check(busy)
    with pytest.raises(InputError, match="damaged"):
        backup.restore(busy, "Ana", tmp_path / "bad.db")
    assert backup.check(busy) == before
    assert not busy.backups.exists() or not list(busy.backups.iterdir())

    broken(busy.database, statement)
    found = backup.check(busy)
    assert any(words in problem for problem in found.problems), found.problems
    with pytest.raises(StoreError, match="damaged"):
        backup.back_up(busy, "Ana", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    backup.restore(busy, "Ana", tmp_path / "good.db")
    assert backup.check(busy).sound


def test_flipped_bytes_and_cut_files_are_no_backup(busy: Workspace, tmp_path: Path) -> None:
    backup.back_up(busy, "Ana", tmp_path / "good.db")
    good = (tmp_path / "good.db").read_bytes()
    before = backup.check(busy)
    bad = {
        "cut": good[: len(good) // 2],
        "text": b"query_id,chunk_id\n",
        "empty": b"",
        "flipped": good[:5000] + bytes(byte ^ 0xFF for byte in good[5000:9000]) + good[9000:],
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            backup.restore(busy, "Ana", tmp_path / name)
        assert backup.check(busy) == before
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE something (a)")
    with pytest.raises(InputError, match="no backup"):
        backup.restore(busy, "Ana", tmp_path / "other.db")
    broken(tmp_path / "good.db", "PRAGMA user_version = 999")
    with pytest.raises(InputError, match="newer"):
        backup.restore(busy, "Ana", tmp_path / "good.db")
    with pytest.raises(NotFound):
        backup.restore(busy, "Ana", tmp_path / "nothing.db")
    assert backup.check(busy) == before


def test_a_restore_that_fails_on_the_way_changes_nothing(
    busy: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup.back_up(busy, "Ana", tmp_path / "good.db")
    judge(busy, "Ben", "q3", "errors#1", 3, "4")
    before = backup.check(busy)

    def full(copied: Path, workspace: Workspace) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(snapshot, "put_in_place", full)
    with pytest.raises(StoreError, match="disk is full"):
        backup.restore(busy, "Ana", tmp_path / "good.db")
    assert backup.check(busy) == before
    assert not [one for one in busy.home.iterdir() if one.name.startswith(".backup-")]


def test_a_backup_writes_over_nothing_but_a_backup(busy: Workspace, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear all", "utf-8")
    with pytest.raises(Conflict, match="no backup"):
        backup.back_up(busy, "Ana", tmp_path / "letter.txt")
    assert (tmp_path / "letter.txt").read_text("utf-8") == "dear all"
    with pytest.raises(Conflict, match="own database"):
        backup.back_up(busy, "Ana", busy.database)
    with pytest.raises(Conflict, match="folder"):
        backup.back_up(busy, "Ana", tmp_path)
    with pytest.raises(NotFound):
        backup.back_up(busy, "Ana", tmp_path / "no" / "such.db")
    backup.back_up(busy, "Ana", tmp_path / "daily.db")
    judge(busy, "Ben", "q3", "errors#1", 3, "4")
    assert backup.back_up(busy, "Ana", tmp_path / "daily.db").counts["judgments"] == 4
    assert sorted(one.name for one in tmp_path.iterdir()) == ["daily.db", "handbook.jsonl", "letter.txt", "workspace"]


ADMINS_ONLY: dict[str, Callable[[Workspace, Path], object]] = {
    "back up": lambda at, folder: backup.back_up(at, "Ben", folder / "mine.db"),
    "restore": lambda at, folder: backup.restore(at, "Ben", folder / "good.db"),
}


@pytest.mark.parametrize("what", ADMINS_ONLY)
def test_only_admins_back_up_and_restore(what: str, busy: Workspace, tmp_path: Path) -> None:
    backup.back_up(busy, "Ana", tmp_path / "good.db")
    before = backup.check(busy)
    with pytest.raises(Forbidden):
        ADMINS_ONLY[what](busy, tmp_path)
    assert backup.check(busy) == before


def test_a_release_folder_that_was_edited_is_found(busy: Workspace) -> None:
    with (busy.releases / "gold-v1" / "gold.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    found = backup.check(busy)
    assert not found.sound
    assert all("releases/gold-v1" in problem for problem in found.problems)


def test_the_commands_tell_counts_and_digest_and_whether_all_is_sound(
    busy: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(busy.home), "--who", "Ana"]
    file = str(tmp_path / "monday.db")
    assert main([*home, "backup", file, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert main([*home, "check", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert (checked["sound"], checked["counts"], checked["digest"]) == (True, written["counts"], written["digest"])
    assert main([*home, "restore", file, "--json"]) == 0
    restored = json.loads(capsys.readouterr().out)
    assert (restored["counts"], restored["digest"]) == (written["counts"], written["digest"])
    assert Path(restored["kept"]).is_file()
    for command in (["backup", file], ["restore", file], ["check"]):
        assert main([*home, *command]) == 0
    assert "sound" in capsys.readouterr().out
    broken(busy.database, "DROP TRIGGER events_no_update")
    assert main([*home, "check"]) == 1
    assert "NOT sound" in capsys.readouterr().out
    assert main([*home, "restore", str(tmp_path / "handbook.jsonl")]) == 2
    assert main(["--home", str(tmp_path / "none"), "check"]) == 2


def test_what_may_not_be_opened_is_told_from_what_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "noise.db").write_bytes(b"noise" * 1000)
    barred = {}
    for name in ("closed.db", "noise.db"):  # what is not there can be opened no more than a file of somebody else
        with pytest.raises(StoreError) as refused:
            snapshot.open_copy(tmp_path / name)
        barred[name] = snapshot.is_barred(refused.value)
    assert barred == {"closed.db": True, "noise.db": False}


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_workspace_in_a_closed_folder_cannot_be_checked_and_is_not_called_damaged(workspace: Workspace) -> None:
    workspace.home.chmod(0o500)
    try:
        assert main(["--home", str(workspace.home), "check"]) == 2
    finally:
        workspace.home.chmod(0o700)
