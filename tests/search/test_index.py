from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from annotator.errors import Conflict
from annotator.model import Chunk
from annotator.search import index
from annotator.search.run import search
from annotator.store.database import Workspace
from tests.search.conftest import sync

Filled = Callable[..., Workspace]


def found(workspace: Workspace, text: str) -> list[str]:
    return [hit.chunk_id for hit in search(workspace, text).hits]


def pointer(workspace: Workspace) -> dict[str, object]:
    values: dict[str, object] = json.loads((workspace.index / "current.json").read_text())
    return values


def swap(file: Path, content: bytes) -> None:
    """Put other content in place of a file; writing into one that is mapped would end the process that maps it."""
    file.unlink()
    file.write_bytes(content)


def test_the_first_search_builds_the_index(filled: Filled) -> None:
    workspace = filled("alpha", "beta")
    assert not workspace.index.exists()
    assert found(workspace, "alpha") == ["c0"]
    assert index.refresh(workspace).indexed == 0


def test_a_sync_is_followed_with_only_what_changed(filled: Filled) -> None:
    workspace = filled("alpha one", "alpha two", "alpha three", "alpha four")
    assert index.refresh(workspace).built
    folder = pointer(workspace)["folder"]
    sync(
        workspace,
        [Chunk("c0", "alpha one"), Chunk("c1", "omega two"), Chunk("c3", "alpha four"), Chunk("new", "alpha")],
    )
    done = index.refresh(workspace)
    assert (done.built, done.indexed, done.removed) == (False, 2, 1)
    assert pointer(workspace)["folder"] == folder
    assert set(found(workspace, "alpha")) == {"c0", "c3", "new"}
    assert found(workspace, "omega") == ["c1"]
    assert search(workspace, "alpha").total == 3


def test_search_follows_a_sync_by_itself(filled: Filled) -> None:
    workspace = filled("alpha")
    assert found(workspace, "alpha") == ["c0"]
    filled("beta")
    assert found(workspace, "alpha") == []
    assert found(workspace, "beta") == ["c0"]


def test_new_words_are_known_to_fuzzy_search_after_a_sync(filled: Filled) -> None:
    workspace = filled("refund")
    assert search(workspace, "warehuse", mode="fuzzy").total == 0
    filled("refund", "warehouse")
    assert search(workspace, "warehuse", mode="fuzzy").total == 1


def test_an_index_of_mostly_replaced_chunks_is_built_anew(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = filled("a")
    index.refresh(workspace)
    monkeypatch.setattr(index, "_FEWEST_REPLACED", 2)
    assert [index.refresh(filled(f"text {turn}")).built for turn in range(4)] == [False, False, False, True]
    assert pointer(workspace)["replaced"] == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: (path / "current.json").write_text("{"),
        lambda path: (path / "current.json").write_text('{"format": 999}'),
        lambda path: (path / "current.json").write_text("[]"),
        lambda path: (path / "current.json").unlink(),
        lambda path: shutil.rmtree(path),
        lambda path: [shutil.rmtree(folder) for folder in path.glob("build-*")],
        lambda path: [file.unlink() for file in path.glob("build-*/meta.json")],
        lambda path: [swap(file, b"{}") for file in path.glob("build-*/meta.json")],
        lambda path: [swap(file, b"") for file in path.glob("build-*/*.term")],
        lambda path: [swap(file, file.read_bytes()[:40]) for file in path.glob("build-*/*.idx")],
        lambda path: [swap(file, b"\0" * 64) for file in path.glob("build-*/*.store")],
        lambda path: [file.unlink() for file in path.glob("build-*/*.store")],
    ],
)
def test_a_damaged_index_is_built_anew(filled: Filled, damage: Callable[[Path], object]) -> None:
    workspace = filled("alpha beta", "gamma")
    assert found(workspace, "alpha") == ["c0"]
    index.forget(workspace)
    damage(workspace.index)
    assert found(workspace, "alpha") == ["c0"]
    filled("alpha", "gamma", "delta")
    assert found(workspace, "delta") == ["c2"]


def test_a_workspace_restored_to_another_past_is_indexed_anew(filled: Filled) -> None:
    workspace = filled("alpha")
    assert found(workspace, "alpha") == ["c0"]
    with workspace.write() as connection:  # as after a restore: the same number, another sync
        connection.execute("DROP TRIGGER syncs_no_update")
        connection.execute("UPDATE syncs SET finished_at = '2001-01-01T00:00:00.000Z'")
        connection.execute("UPDATE chunks SET text = 'omega'")
    assert found(workspace, "alpha") == []
    assert found(workspace, "omega") == ["c0"]


def test_while_another_process_updates_the_state_before_is_searched(filled: Filled) -> None:
    workspace = filled("alpha")
    assert found(workspace, "alpha") == ["c0"]
    filled("beta")
    with workspace.lock("index"):
        started = time.monotonic()
        assert index.current(workspace).state.generation == 1
        assert [hit.snippet for hit in search(workspace, "alpha").hits] == ["beta"]  # found as it was, shown as it is
        assert time.monotonic() - started < 5
        with pytest.raises(Conflict):
            index.refresh(workspace, seconds=0)
    assert found(workspace, "beta") == ["c0"]


def test_an_open_reader_is_unmoved_by_updates_and_rebuilds(filled: Filled) -> None:
    workspace = filled("alpha")
    index.refresh(workspace)
    reader = index.current(workspace)
    filled("beta")
    index.refresh(workspace)
    index.refresh(workspace, anew=True)
    assert reader.searcher.doc_freq("stems", "alpha") == 1
    assert index.current(workspace).searcher.doc_freq("stems", "alpha") == 0


def test_former_builds_are_cleared_away_later(filled: Filled) -> None:
    workspace = filled("alpha")
    index.refresh(workspace)
    index.refresh(workspace, anew=True)
    former = [path for path in workspace.index.glob("build-*") if path.name != pointer(workspace)["folder"]]
    assert len(former) == 1
    os.utime(former[0], (1, 1))
    filled("beta")
    index.refresh(workspace)
    assert [path.name for path in workspace.index.glob("build-*")] == [pointer(workspace)["folder"]]


def test_threads_share_a_reader(filled: Filled) -> None:
    workspace = filled(*(f"alpha word{n}" for n in range(300)))

    def look(n: int) -> list[str]:
        return found(workspace, f"word{n}")

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(look, range(300))) == [[f"c{n}"] for n in range(300)]


def test_searching_and_syncing_at_once_never_fails(filled: Filled) -> None:
    workspace = filled("alpha 0")
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            assert search(workspace, "alpha").total <= 1

    with ThreadPoolExecutor(4) as pool:
        looking = [pool.submit(look) for _ in range(4)]
        for turn in range(1, 15):
            filled(f"alpha {turn}")
            if turn % 5 == 0:
                index.refresh(workspace, anew=True)
        stop.set()
        for one in looking:
            one.result()
    assert search(workspace, "alpha").hits[0].snippet == "alpha 14"


PROCESS = """
import sys, pathlib
from annotator.store.database import Workspace
from annotator.search import index
from annotator.search.run import search
workspace = Workspace(pathlib.Path(sys.argv[1]))
print("ready", flush=True)
{}
"""


def process(workspace: Workspace, code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROCESS.format(code), str(workspace.home)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def test_two_processes_refreshing_at_once_leave_one_whole_index(filled: Filled) -> None:
    workspace = filled(*(f"alpha word{n}" for n in range(3000)))
    code = "for turn in range(4): index.refresh(workspace, anew=True); assert search(workspace, 'alpha').total == 3000"
    both = [process(workspace, code) for _ in range(2)]
    for one in both:
        one.communicate(timeout=120)
    assert [one.returncode for one in both] == [0, 0]
    assert search(workspace, "alpha").total == 3000
    assert found(workspace, "word1234") == ["c1234"]


@pytest.mark.parametrize("anew", [True, False])
def test_killed_in_the_middle_nothing_is_lost(filled: Filled, anew: bool) -> None:
    workspace = filled(*(f"alpha word{n}" for n in range(4000)))
    index.refresh(workspace)
    for turn, seconds in enumerate((0.0, 0.03, 0.06, 0.1, 0.15, 0.2)):
        sync(workspace, [Chunk(f"c{n}", f"alpha word{n} turn{turn}") for n in range(4000)])
        worker = process(workspace, f"index.refresh(workspace, anew={anew})")
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
        index.forget(workspace)
        assert search(workspace, f"turn{turn}").total == 4000
        assert found(workspace, "word1234") == ["c1234"]
