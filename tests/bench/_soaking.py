"""Many people and everything else at once on one workspace, and afterwards the question whether all of it is there."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from annotator.gold.verify import verify
from annotator.model import Person, Query
from annotator.services import backup, chunk_table, gold, search
from annotator.store import people, queries, settings, versions
from annotator.store.database import Workspace
from tests.bench import _soak_chores, _soak_people
from tests.bench._people import SPAWN
from tests.bench._soak_chores import CHORES, ROWS
from tests.bench._soak_people import Pace

__all__ = ["Plan", "Soaked", "make", "soak"]

OVERLAP = 3
Note = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of it: things done by people, in how many seconds, by how many people in how many processes."""

    acts: int = 13_500
    seconds: float = 150.0
    annotators: int = 25
    reviewers: int = 3
    processes: int = 5
    questions: int = 60
    chunks: int = 3_000
    backups: int = 10
    """Of every other chore there are more: releases once and a half as many, syncs three times, imports four times."""

    @property
    def people(self) -> dict[str, str]:
        """Name to role."""
        names = {f"Ann{number}": "annotator" for number in range(self.annotators)}
        return names | {f"Rev{number}": "reviewer" for number in range(self.reviewers)}

    def chore_period(self, name: str) -> float:
        return self.seconds / self.backups / {"sync": 3, "import": 4, "release": 1.5, "backup": 1}[name]


@dataclass(frozen=True, slots=True)
class Soaked:
    """What came of it: the figures by name, and everything that was wrong."""

    figures: Mapping[str, object]
    faults: tuple[str, ...]


def make(folder: Path, plan: Plan) -> Workspace:
    """Make the workspace with its people and questions over a live table."""
    _soak_chores.make_table(folder / "table.db", plan.chunks)
    (folder / "questions").write_text(str(plan.questions), "ascii")
    (folder / "exports").mkdir()
    workspace = Workspace(folder / "workspace")
    workspace.create()
    with workspace.write() as connection:
        for name, role in {"Ada": "admin", **plan.people}.items():
            people.add(connection, Person(name, role), "Ada")
        for number in range(plan.questions):
            queries.add(connection, Query(f"q{number}", f"What does section {number % 12} say?"), "Ada")
        queries.add(connection, Query("settled", "What is said at first?"), "Ada")
        settings.put(connection, "overlap", OVERLAP)
    chunk_table.connect(workspace, "Ada", f"sqlite:///{folder / 'table.db'}")
    chunk_table.sync(workspace, "Ada")
    search.bring_up_to_date(workspace)
    return workspace


def soak(workspace: Workspace, plan: Plan) -> Soaked:
    """Let everybody work for the time of the plan, then look at everything."""
    folder = workspace.home.parent / "diaries"
    folder.mkdir()
    names = list(plan.people.items())
    pace = Pace(plan.seconds, plan.seconds * len(names) / plan.acts)
    start = SPAWN.Barrier(plan.processes + len(CHORES) + 1)
    processes = [
        SPAWN.Process(
            target=_soak_people.work, args=(workspace.home, dict(names[one :: plan.processes]), pace, folder, start)
        )
        for one in range(plan.processes)
    ]
    processes += [
        SPAWN.Process(
            target=_soak_chores.do,
            args=(name, workspace.home, Pace(plan.seconds, plan.chore_period(name)), folder, start),
        )
        for name in CHORES
    ]
    with _Largest(workspace.database.with_name("annotator.db-wal")) as log:
        for one in processes:
            one.start()
        start.wait(120)
        pace = replace(pace, begins=time.time())
        for one in processes:
            one.join()
    faults = [f"{one.name} ended with {one.exitcode}" for one in processes if one.exitcode]
    notes = _notes(folder)
    faults += _faults(workspace, notes)
    return Soaked({**_figures(notes, pace), "log_mb": round(log.size / 1e6, 1)}, tuple(faults))


class _Largest:
    """Watches a file: how large it ever was, in bytes."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> _Largest:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            with suppress(FileNotFoundError):
                self.size = max(self.size, self._path.stat().st_size)


def _notes(folder: Path) -> list[Note]:
    """Return what all wrote down, each file's lines in their order, with the name of the file as `by`."""
    return [
        {"by": path.stem, **json.loads(line)}
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def _figures(notes: list[Note], pace: Pace) -> dict[str, object]:
    saves = [one for one in notes if "do" in one and "who" in one]
    done = [one for one in saves if not one["refused"]]
    chores = Counter(one["do"] for one in notes if "do" in one and "who" not in one and not one.get("refused"))
    failed = [str(one["failed"]).lower() for one in notes if "failed" in one]
    taken = sorted(one["seconds"] for one in done)
    figures: dict[str, object] = {
        "acknowledged": dict(Counter(one["do"] for one in done)),
        "writes": len(done),
        "refused": dict(Counter(_kind(one["refused"]) for one in notes if one.get("refused"))),
        "failed": len(failed),
        "locked": sum(any(word in one for word in ("lock", "busy", "writing")) for one in failed),
        "chores": dict(chores),
        "seconds": pace.seconds,
        "writes_per_second": round(len(done) / pace.seconds, 1),
    }
    for share in (50, 95, 99):
        figures[f"save_p{share}_ms"] = round(1000 * taken[len(taken) * share // 100], 1)
    figures["save_max_ms"] = round(1000 * taken[-1], 1)
    syncs = [one["seconds"] for one in notes if one.get("do") == "sync" and "seconds" in one]
    figures["longest_sync_seconds"] = max(syncs, default=0.0)
    quarter, end = _memory(notes, pace)
    figures["memory_mb_after_a_quarter"], figures["memory_mb_at_the_end"] = round(quarter, 1), round(end, 1)
    figures["memory_growth_percent"] = round(100 * (end / quarter - 1), 1)
    return figures


def _kind(refused: str) -> str:
    for words in (
        "changed",
        "no more",
        "Somebody judged",
        "running already",
        "open already",
        "nothing for this",
        "finished this",
    ):
        if words in refused:
            return words
    return refused


def _memory(notes: list[Note], pace: Pace) -> tuple[float, float]:
    """Return the mean memory of a process of people, in MB: after a quarter of the time, and at the end."""
    seen = [(one["at"] - pace.begins, one["memory"]) for one in notes if "memory" in one]

    def mean(begin: float, end: float) -> float:
        found = [memory for at, memory in seen if begin * pace.seconds <= at < end * pace.seconds]
        return sum(found) / max(1, len(found))

    return mean(0.2, 0.3), mean(0.9, 1.0)


def _faults(workspace: Workspace, notes: list[Note]) -> Iterator[str]:
    """Say everything that is not as it was acknowledged."""
    yield from (f"{one['by']}: {one['failed']}" for one in notes if "failed" in one)
    yield from backup.check(workspace).problems
    done = [one for one in notes if "do" in one and not one.get("refused")]
    with closing(sqlite3.connect(workspace.database)) as connection:
        yield from _record_faults(connection, done)
        yield from _standing_faults(connection, done)
        yield from _queue_faults(connection, done)
        yield from _import_faults(connection, done)
    yield from _version_faults(workspace, done)
    yield from _backup_faults(workspace, done)
    yield from _mirror_faults(workspace)


def _record_faults(connection: sqlite3.Connection, done: list[Note]) -> Iterator[str]:
    """Everything acknowledged is there exactly once, and nothing else."""
    for what, kinds, sql in (
        ("judgments", ("judge", "undo"), "SELECT operation_id FROM judgments WHERE annotator LIKE 'Ann%'"),
        ("decisions", ("decide",), "SELECT operation_id FROM adjudications"),
        ("re-openings", ("reopen",), "SELECT reason FROM reopenings"),
    ):
        stored = Counter(row[0] for row in connection.execute(sql))
        told = Counter(one["id"] for one in done if one["do"] in kinds)
        lost, more = told - stored, stored - told
        if lost:
            yield f"{lost.total()} {what} that were acknowledged are not there, e.g. {next(iter(lost))}"
        if more:
            yield f"{more.total()} {what} are there too often, e.g. {next(iter(more))}"


def _standing_faults(connection: sqlite3.Connection, done: list[Note]) -> Iterator[str]:
    """What is in force is what follows from all that was acknowledged, in each person's order."""
    stacks: dict[tuple[str, str, str], list[Note]] = defaultdict(list)
    drafts: dict[tuple[str, str, str], str] = {}
    for one in done:
        pair = (one.get("who", ""), one.get("query", ""), one.get("chunk", ""))
        if one["do"] == "judge":
            stacks[pair].append(one)
            drafts.pop(pair, None)
        elif one["do"] == "undo":
            if stacks[pair].pop()["id"] != one["target"]:
                yield f"{one['id']} took back another label than the last one"
        elif one["do"] == "draft":
            drafts[pair] = one["reason"]
    last = {pair: stack[-1] for pair, stack in stacks.items() if stack}
    wanted = {pair: (one["grade"], int(one["stale"]), one["reason"]) for pair, one in last.items()}
    sql = """SELECT j.annotator, j.query_id, j.chunk_id, j.grade, j.stale, j.reason
        FROM current_judgments c JOIN judgments j USING (judgment_id) WHERE j.annotator LIKE 'Ann%'"""
    found = {row[:3]: row[3:] for row in connection.execute(sql)}
    different = {pair for pair in wanted.keys() | found.keys() if wanted.get(pair) != found.get(pair)}
    if different:
        yield f"{len(different)} labels in force are others than the last given, e.g. of {min(different)}"
    kept = {row[:3]: row[3] for row in connection.execute("SELECT annotator, query_id, chunk_id, reason FROM drafts")}
    drafts = {pair: reason for pair, reason in drafts.items() if reason}
    different = {pair for pair in drafts.keys() | kept.keys() if drafts.get(pair) != kept.get(pair)}
    if different:
        yield f"{len(different)} drafts are others than the last written, e.g. of {min(different)}"


def _queue_faults(connection: sqlite3.Connection, done: list[Note]) -> Iterator[str]:
    """What people said about questions stands as they said it last, and no question is with more people than wanted."""
    kinds = {"finish": "finished", "skip": "skipped", "take back": "returned"}
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in done:
        if one["do"] in kinds:
            told[one["who"], one["query"]].append(kinds[one["do"]])
    stored: dict[tuple[str, str], list[str]] = defaultdict(list)
    for annotator, query_id, kind in connection.execute(
        "SELECT annotator, query_id, kind FROM steps WHERE annotator = who ORDER BY step_id"
    ):
        stored[annotator, query_id].append(kind)
    for key in told.keys() | stored.keys():
        wanted, found = ([kind for kind, _ in groupby(steps[key])] for steps in (told, stored))
        if wanted != found:
            yield f"{key} said {wanted} of the question, the record has {found}"
    other = connection.execute(
        "SELECT COUNT(*) FROM current_steps c WHERE step_id <> (SELECT MAX(step_id) FROM steps s"
        " WHERE s.query_id = c.query_id AND s.annotator = c.annotator)"
    ).fetchone()[0]
    if other:
        yield f"{other} steps in force are not the last ones"
    crowded = connection.execute(
        """SELECT query_id, COUNT(*) FROM (
               SELECT query_id, annotator FROM leases WHERE expires_at > strftime('%Y-%m-%dT%H:%M:%SZ')
               UNION SELECT query_id, annotator FROM current_steps WHERE kind = 'finished')
           WHERE query_id NOT IN (SELECT query_id FROM steps WHERE kind = 'returned')
           GROUP BY query_id HAVING COUNT(*) > ?""",
        (OVERLAP,),
    )
    yield from (f"question {query_id} is with {number} people" for query_id, number in crowded)


def _import_faults(connection: sqlite3.Connection, done: list[Note]) -> Iterator[str]:
    """Every import is there once and whole."""
    counts = {
        "annotator": "SELECT COUNT(*) FROM judgments WHERE annotator = ?",
        "owner": "SELECT COUNT(*) FROM queries WHERE owner = ?",
        "run": "SELECT COUNT(*) FROM run_queries JOIN runs USING (run_id) WHERE name = ?",
    }
    for one in done:
        if one["do"] == "import":
            found = connection.execute(counts[one["what"]], (one["name"],)).fetchone()[0]
            if found != ROWS[one["what"]]:
                yield f"import {one['name']}: {found} rows instead of {ROWS[one['what']]}"


def _version_faults(workspace: Workspace, done: list[Note]) -> Iterator[str]:
    """Every version that was told is there with its digest, in the database and as a folder."""
    with workspace.read() as connection:
        known = {one.version: one for one in versions.all_versions(connection)}
    told = {one["version"]: one["digest"] for one in done if one["do"] == "release"}
    if told != {number: version.digest for number, version in known.items()}:
        yield f"{len(told)} versions were told, {len(known)} are there"
    for version in known.values():
        found = verify(workspace.releases / version.folder)
        if not found.intact or found.digest != version.digest:
            yield f"{version.folder} is not as it was released"
    yield from (f"{one['path']} is missing" for one in done if one["do"] == "export" and not Path(one["path"]).exists())


def _backup_faults(workspace: Workspace, done: list[Note]) -> Iterator[str]:
    """The last backup has all that was acknowledged before it began, and is restored to what it was."""
    ends = [one for one in done if one["do"] == "backup"]
    if not ends:
        yield "there was no backup"
        return
    last = ends[-1]
    began = max(one["at"] for one in done if one["do"] == "backup begins" and one["at"] < last["at"])
    with closing(sqlite3.connect(last["path"])) as connection:
        held = {row[0] for row in connection.execute("SELECT operation_id FROM judgments")}
    before = {one["id"] for one in done if one["do"] in ("judge", "undo") and one["at"] < began}
    if before - held:
        yield f"{len(before - held)} of {len(before)} judgments acknowledged before the backup are not in it"
    restored = Workspace(workspace.home.parent / "restored")
    backup.restore(restored, "Ada", Path(last["path"]))
    found = backup.check(restored)
    yield from (f"restored: {problem}" for problem in found.problems)
    if dict(found.counts) != last["counts"] or found.digest != last["digest"]:
        yield "what was restored is not what was backed up"
    for version in gold.versions(restored):
        if verify(restored.releases / version.folder).digest != version.digest:
            yield f"restored: {version.folder} is another"


def _mirror_faults(workspace: Workspace) -> Iterator[str]:
    """After one more sync the mirror is the live table, and the search finds every chunk of it."""
    chunk_table.sync(workspace, "Ada")
    search.bring_up_to_date(workspace)
    select = "SELECT chunk_id, doc_id, title, position, text FROM chunks ORDER BY chunk_id"
    with closing(sqlite3.connect(workspace.home.parent / "table.db")) as connection:
        table = connection.execute(select).fetchall()
    with closing(sqlite3.connect(workspace.database)) as connection:
        mirror = connection.execute(select).fetchall()
    if table != mirror:
        yield "the mirror is another table than the live one"
    found = search.search(workspace, "binding").total
    if found != len(table):
        yield f"the search finds {found} of {len(table)} chunks"
