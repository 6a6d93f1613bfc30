"""Kills working processes at random moments and looks at what they leave behind, while somebody else goes on saving."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from annotator.gold.verify import verify
from annotator.model import Person, Query
from annotator.services import backup, chunk_table, gold, search
from annotator.store import people, queries, versions
from annotator.store.database import Workspace
from tests.bench import _killed
from tests.bench._killed import QUERIES, ROWS, WORK, work
from tests.bench._people import saving

__all__ = ["KINDS", "Killed", "kill", "make"]

KINDS = tuple(WORK)
LONGEST_SECONDS: Mapping[str, float] = {"save": 0.3, "adjudicate": 0.2, "import": 0.4, "release": 0.5, "sync": 0.7}
"""Within which time after its start a process is killed; each gets through a few rounds of its work in that time."""

# Modules are loaded once, in a process that does nothing else; those to be killed start from there.
_FRESH = multiprocessing.get_context("forkserver")
_FRESH.set_forkserver_preload(["tests.bench._killed"])


def make(folder: Path) -> Workspace:
    """Make a workspace with questions, an admin, an annotator, a reviewer and somebody who goes on saving."""
    table = folder / "table.db"
    _killed.make_table(table)
    workspace = Workspace(folder / "workspace")
    workspace.create()
    with workspace.write() as connection:
        for name, role in (("Ana", "admin"), ("Ben", "annotator"), ("Rea", "reviewer"), ("Wit", "annotator")):
            people.add(connection, Person(name, role), "Ana")
        for number in range(QUERIES):
            queries.add(connection, Query(f"q{number}", f"What does article {number} say?"), "Ana")
        queries.add(connection, Query("settled", "What is said last?"), "Ana")
    chunk_table.connect(workspace, "Ana", f"sqlite:///{table}")
    chunk_table.sync(workspace, "Ana")
    search.bring_up_to_date(workspace)
    return workspace


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of it: how many were killed, what was acknowledged to them by kind, and everything that was wrong.

    `saves` is what somebody else had acknowledged meanwhile, `longest` the seconds of the longest of these.
    """

    kills: int
    acknowledged: Mapping[str, int]
    saves: int
    longest: float
    faults: tuple[str, ...]


def kill(workspace: Workspace, number: int, seed: int = 1) -> Killed:
    """Kill so many processes, one kind after the other, and look at everything after each."""
    chance = random.Random(seed)
    told: Counter[str] = Counter()
    faults: list[str] = []
    with saving(workspace, "Wit", [f"q{one}" for one in range(QUERIES)], 0.05) as saved:
        for turn in range(number):
            kind = KINDS[turn % len(KINDS)]
            acknowledged = _killed_at_random(workspace, kind, chance)
            told.update(key for one in acknowledged for key in one)
            faults += (f"{turn}, {kind}: {fault}" for fault in _faults(workspace, kind, acknowledged, chance))
    with workspace.read() as connection:
        stored = connection.execute("SELECT COUNT(*) FROM judgments WHERE annotator = 'Wit'").fetchone()[0]
    if len(saved) != stored:
        faults.append(f"of {len(saved)} labels that somebody else saved meanwhile {stored} are there")
    return Killed(number, told, stored, max(saved, default=0.0), tuple(faults))


def _killed_at_random(workspace: Workspace, kind: str, chance: random.Random) -> list[Mapping[str, object]]:
    """Let a process work, kill it, and return what was acknowledged to it."""
    here, there = _FRESH.Pipe(duplex=False)
    table = workspace.home.parent / "table.db"
    process = _FRESH.Process(target=work, args=(kind, workspace.home, table, chance.getrandbits(32), there))
    process.start()
    there.close()
    here.recv()
    time.sleep(chance.uniform(0.0, LONGEST_SECONDS[kind]))
    if process.pid is None or not process.is_alive():
        raise RuntimeError(f"the process that does {kind} ended by itself")
    os.kill(process.pid, signal.SIGKILL)
    told = []
    try:
        while True:
            told.append(here.recv())
    except (EOFError, OSError):
        here.close()
    process.join()
    return told


def _faults(
    workspace: Workspace, kind: str, acknowledged: list[Mapping[str, object]], chance: random.Random
) -> Iterator[str]:
    yield from backup.check(workspace).problems
    with closing(sqlite3.connect(workspace.database)) as connection:
        for one in acknowledged:
            for what, value in one.items():
                if what in _WHERE:
                    found = connection.execute(f"SELECT COUNT(*) FROM {_WHERE[what]} = ?", (value,)).fetchone()[0]
                    wanted = ROWS if what in ("annotator", "owner") else 1
                    if found != wanted:
                        yield f"{what} {value} is there {found} times instead of {wanted}"
        if kind == "import":
            for table, column in (("judgments", "annotator"), ("queries", "owner")):
                names = f"SELECT {column}, COUNT(*) FROM {table} WHERE length({column}) = 36 GROUP BY 1"
                yield from (f"{found} rows of {name}" for name, found in connection.execute(names) if found != ROWS)
            for name, found in connection.execute(
                "SELECT name, (SELECT COUNT(*) FROM run_queries q WHERE q.run_id = runs.run_id) FROM runs"
            ):
                if found != ROWS:
                    yield f"run {name} has {found} queries"
    if kind == "release":
        yield from _release_faults(workspace, acknowledged)
    if kind == "sync":
        yield from _sync_faults(workspace, chance)


_WHERE = {
    "judgment": "judgments WHERE operation_id",
    "decision": "adjudications WHERE operation_id",
    "reopening": "reopenings WHERE reason",
    "annotator": "judgments WHERE annotator",
    "owner": "queries WHERE owner",
    "run": "runs WHERE name",
    "version": "versions WHERE version",
}


def _release_faults(workspace: Workspace, acknowledged: list[Mapping[str, object]]) -> Iterator[str]:
    """Versions are whole or not there at all, in the database, as folders and as files."""
    with workspace.read() as connection:
        known = {one.folder: one for one in versions.all_versions(connection)}
    there = {path.name for path in workspace.releases.iterdir() if not path.name.startswith(".")}
    yield from (f"the folder {name} is of no version" for name in there - known.keys())
    for name, version in known.items():
        told = any(one.get("version") == version.version for one in acknowledged)
        if told and name not in there:
            yield f"the folder of the acknowledged {name} is missing"
        found = verify(gold.ensure_folder(workspace, version.version))
        if not found.intact or found.digest != version.digest:
            yield f"{name} is not whole"
    for path in workspace.home.parent.glob("*.zip"):
        if not verify(path).intact:
            yield f"{path.name} is not whole"
    for one in acknowledged:
        if "export" in one and not Path(str(one["export"])).is_file():
            yield f"{one['export']} is missing"


def _sync_faults(workspace: Workspace, chance: random.Random) -> Iterator[str]:
    """No sync is half done once somebody opens the workspace, and the search finds what the mirror has, nothing else.

    The mirror is the table as it was before the killed sync, or as it is; after the next sync it is the latter.
    """
    with closing(sqlite3.connect(workspace.home.parent / "table.db")) as connection:
        connection.execute("SELECT COUNT(*) FROM chunks")  # takes back a change of the live table that was cut short
    for one in range(0, _killed.CHUNKS, 100):  # whatever the killed one left, a search is answered
        search.search(workspace, f"article {one // 12}")
    workspace.open()
    search.bring_up_to_date(workspace)
    with closing(sqlite3.connect(workspace.database)) as connection:
        mirror = connection.execute("SELECT chunk_id, text FROM chunks ORDER BY chunk_id").fetchall()
        last = connection.execute("SELECT finished_at, total FROM syncs ORDER BY sync_id DESC").fetchone()
    if last[0] is None or last[1] != len(mirror):
        yield f"the last sync is half done: {last}, {len(mirror)} chunks"
    yield from _search_faults(workspace, mirror, chance)
    chunk_table.sync(workspace, "Ana")
    search.bring_up_to_date(workspace)
    select = "SELECT chunk_id, doc_id, title, position, text FROM chunks ORDER BY chunk_id"
    with closing(sqlite3.connect(workspace.home.parent / "table.db")) as connection:
        table = connection.execute(select).fetchall()
    with closing(sqlite3.connect(workspace.database)) as connection:
        mirror = connection.execute(select).fetchall()
    if table != mirror:
        yield "the mirror is another table than the live one"
    yield from _search_faults(workspace, [(row[0], row[4]) for row in table], chance)


def _search_faults(workspace: Workspace, chunks: list[tuple[str, str]], chance: random.Random) -> Iterator[str]:
    found = search.search(workspace, "binding").total
    if found != len(chunks):
        yield f"the index has {found} of {len(chunks)} chunks"
    for chunk_id, text in chance.sample(chunks, 20):
        word = text.split(" says ")[1].split(".")[0]
        hits = [hit.chunk_id for hit in search.search(workspace, f'"{word}"').hits]
        if hits != [chunk_id]:
            yield f"{word} of {chunk_id} is found in {hits}"
