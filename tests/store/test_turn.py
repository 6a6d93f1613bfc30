"""Whose turn it is to write: order among threads, other processes, and the connection that a server keeps."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from annotator.errors import InputError, StoreError
from annotator.store import settings
from annotator.store.database import Workspace
from annotator.store.turn import turn

_HOLD_IT = """
import sys, time
from pathlib import Path
from annotator.store.turn import turn
with turn(Path(sys.argv[1]), 5):
    print("mine", flush=True)
    time.sleep(60)
"""

_AGAIN_AND_AGAIN = """
import sys, time
from pathlib import Path
from annotator.store.turn import turn
print("on and on", flush=True)
while True:
    with turn(Path(sys.argv[1]), 5):
        time.sleep(0.02)
"""


@pytest.fixture
def held(tmp_path: Path) -> Workspace:
    """A workspace that is kept open, as by a server."""
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    with closing(workspace.hold()):
        yield workspace


def names(workspace: Workspace) -> list[str]:
    with closing(sqlite3.connect(workspace.database)) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM settings ORDER BY name")]


def test_threads_are_served_in_the_order_they_came(tmp_path: Path) -> None:
    served: list[int] = []
    lock = tmp_path / "lock"

    def work(number: int) -> None:
        with turn(lock, 20):
            served.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    with turn(lock, 1):
        for one in threads:
            one.start()
            time.sleep(0.02)  # so that each is in the line before the next comes
    for one in threads:
        one.join()
    assert served == list(range(8))


def test_who_waits_too_long_is_told_and_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    told: list[str] = []

    def work() -> None:
        with pytest.raises(StoreError) as error, turn(lock, 0.05):
            pass
        told.append(error.value.message)

    with turn(lock, 1):
        impatient = threading.Thread(target=work)
        impatient.start()
        impatient.join()
    assert told == ["Somebody else is writing to the workspace for too long."]
    with turn(lock, 0.05):
        pass


def test_the_turn_of_a_killed_process_goes_on_to_the_next(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    process = subprocess.Popen([sys.executable, "-c", _HOLD_IT, str(lock)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    with pytest.raises(StoreError), turn(lock, 0.05):
        pass
    process.kill()
    with turn(lock, 5):
        pass
    process.wait()
    process.stdout.close()


def test_who_writes_again_and_again_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", _AGAIN_AND_AGAIN, str(tmp_path / "lock")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        for _ in range(20):
            with turn(tmp_path / "lock", 5):
                pass
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_eight_threads_lose_no_write_over_the_connection_a_server_keeps(held: Workspace) -> None:
    def work(thread: int) -> None:
        for number in range(25):
            with held.write() as connection:
                settings.put(connection, f"{thread}-{number}", number)

    threads = [threading.Thread(target=work, args=(one,)) for one in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(names(held)) == 200


def test_what_fails_leaves_nothing_behind_in_the_connection_a_server_keeps(held: Workspace) -> None:
    left = []

    def refuse() -> None:
        with held.write() as connection:
            settings.put(connection, "refused", 1)
            left.append(connection.execute("SELECT name FROM settings"))  # a result nobody read to its end
            raise InputError("No.")

    with pytest.raises(InputError):
        refuse()
    with held.write() as connection:
        settings.put(connection, "kept", 1)
    assert names(held) == ["kept"]


def test_a_result_nobody_read_to_its_end_does_not_hold_up_the_next_writer(held: Workspace) -> None:
    with held.write() as connection:
        settings.put(connection, "a", 1)
        settings.put(connection, "b", 1)
    with held.write() as connection:
        unread = connection.execute("SELECT name FROM settings")
        unread.fetchone()
    with closing(sqlite3.connect(held.database)) as other, other:
        other.execute("INSERT INTO settings VALUES ('c', '1')")
    with held.write() as connection:
        settings.put(connection, "d", 1)
    assert names(held) == ["a", "b", "c", "d"]
    del unread


def test_a_database_put_in_the_place_of_the_kept_one_is_the_one_written_to(held: Workspace, tmp_path: Path) -> None:
    with held.write() as connection:
        settings.put(connection, "before", 1)
    copy = tmp_path / "copy.db"
    with closing(held.connect()) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    for ending in ("", "-wal", "-shm"):
        part = held.database.with_name(held.database.name + ending)
        part.unlink(missing_ok=True)
    shutil.move(copy, held.database)
    with held.write() as connection:
        settings.put(connection, "after", 1)
    assert names(held) == ["after", "before"]


def test_a_workspace_let_go_of_is_one_file_again(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    workspace.create()
    hold = workspace.hold()
    with workspace.write() as connection:
        settings.put(connection, "a", 1)
    assert (workspace.home / "annotator.db-wal").exists()
    hold.close()
    assert not (workspace.home / "annotator.db-wal").exists()
    with workspace.write() as connection:
        settings.put(connection, "b", 1)
    assert names(workspace) == ["a", "b"]
