"""Opening, creating and locking the workspace, and writers that wait for each other."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from annotator.errors import Conflict, NotFound, StoreError
from annotator.store import settings
from annotator.store.database import Workspace
from annotator.store.migrations import VERSION


def test_create_refuses_to_overwrite(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    with pytest.raises(Conflict, match="already"):
        workspace.create()


def test_open_without_a_workspace_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="init"):
        Workspace(tmp_path / "nothing").open()


def test_open_refuses_a_newer_schema(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    with workspace.write() as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreError, match="newer"):
        workspace.open()


def test_a_damaged_database_is_an_error_with_a_message(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.database.write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        workspace.open()


def test_error_in_a_write_rolls_everything_back(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()

    def half_done() -> None:
        with workspace.write() as connection:
            settings.put(connection, "name", "half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_done()
    with workspace.read() as connection:
        assert settings.get(connection, "name") is None


def test_read_sees_one_unmoving_state(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    with workspace.read() as reader:
        assert settings.get(reader, "name") is None
        with workspace.write() as writer:
            settings.put(writer, "name", "gold")
        assert settings.get(reader, "name") is None


def test_eight_threads_lose_no_write(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()

    def work(thread: int) -> None:
        for number in range(25):
            with workspace.write() as connection:
                settings.put(connection, f"{thread}-{number}", number)

    threads = [threading.Thread(target=work, args=(one,)) for one in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with workspace.read() as connection:
        assert connection.execute("SELECT COUNT(*) FROM settings").fetchone()[0] == 200


def test_lock_is_exclusive_and_freed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    with workspace.lock("sync"), pytest.raises(Conflict, match="busy"), workspace.lock("sync", seconds=0.05):
        pass
    with workspace.lock("sync", seconds=0.05):
        pass


def test_a_lock_that_cannot_be_taken_at_all_is_nobody_elses_doing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written to"), Workspace(tmp_path / "nowhere").lock("sync"):
        pass


def test_what_made_a_transaction_fail_is_said_where_sqlite_rolled_back_by_itself(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()

    def fail() -> None:
        with workspace.write() as connection:
            settings.put(connection, "a", 1)
            connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(StoreError, match="disk is full"):
        fail()


def test_versions_are_sealed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    with workspace.write() as connection:
        connection.execute("INSERT INTO version_files VALUES (1, 'gold.jsonl', x'00')")
        connection.execute("INSERT INTO versions VALUES (1, 'gold', NULL, '', '', 'Ana', 'd', '{}')")
    for statement in (
        "UPDATE versions SET note = 'x'",
        "DELETE FROM version_files",
        "INSERT INTO version_files VALUES (1, 'more', x'00')",
        "INSERT OR REPLACE INTO versions VALUES (1, 'other', NULL, '', '', 'Ana', 'd', '{}')",
    ):
        with pytest.raises(sqlite3.IntegrityError, match=r"append-only|frozen"), workspace.write() as connection:
            connection.execute(statement)
