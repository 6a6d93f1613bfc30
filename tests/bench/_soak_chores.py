"""What else goes on while people label: syncs of a changing table, imports, releases, backups; a process each."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from annotator.errors import Conflict
from annotator.gold.verify import verify
from annotator.services import backup, chunk_table, gold, labelling, overview, search
from annotator.services.importing import import_judgments, import_queries, import_run
from annotator.services.labelling import Operation
from annotator.store import corpus
from annotator.store.database import Workspace
from tests.bench._soak_people import Diary, Pace, Paced, candidate_ids

__all__ = ["CHORES", "ROWS", "do", "make_table"]

ROWS = {"annotator": 200, "owner": 10, "run": 200}
"""Rows of each imported file: judgments of somebody new, questions of a new owner, a run."""


class Chore(Paced):
    """Something that is done over and over by the admin, beside the people."""

    def __init__(self, *anything: Any) -> None:
        super().__init__(*anything)
        self.folder = self.workspace.home.parent
        self.number = itertools.count()


class Sync(Chore):
    """Changes the live table and takes the changes over; now and then two at the same time try to."""

    def act(self) -> None:
        _change(self.folder / "table.db", self)
        together = 2 if next(self.number) % 4 == 3 else 1
        syncs = [threading.Thread(target=self._sync) for _ in range(together)]
        for one in syncs:
            one.start()
        for one in syncs:
            one.join()
        search.bring_up_to_date(self.workspace)

    def _sync(self) -> None:
        try:
            done = chunk_table.sync(self.workspace, "Ada")
        except Conflict as error:
            self.diary.note(do="sync", refused=error.message)
        else:
            self.diary.note(do="sync", seconds=done.seconds, changed=done.changed, added=done.added, total=done.total)


class Import(Chore):
    """Brings in judgments of somebody new, questions, and runs, a file each."""

    def act(self) -> None:
        number = next(self.number)
        name = f"{type(self).__name__}-{number}"
        what = ("annotator", "owner", "run")[number % 3]
        if what == "annotator":
            ids = self._live()
            rows = [f"q{row % 4},{ids[row // 4]},{row % 4},said before" for row in range(ROWS[what])]
            data = "\n".join(["query_id,chunk_id,grade,reason", *rows])
            import_judgments(self.workspace, "Ada", (f"{name}.csv", data.encode()), annotator=name)
        elif what == "owner":
            rows = [f"{name}-{row},What does rule {row} of {name} say?,{name}" for row in range(ROWS[what])]
            import_queries(
                self.workspace, "Ada", (f"{name}.csv", "\n".join(["query_id,question,owner", *rows]).encode())
            )
        else:
            answers = {f"q{row}": candidate_ids(f"q{row}")[: 10 + number % 20] for row in range(ROWS[what])}
            import_run(self.workspace, "Ada", (f"{name}.json", json.dumps(answers).encode()), name=name)
        self.diary.note(do="import", what=what, name=name)

    def _live(self) -> list[str]:
        with self.workspace.read() as connection:
            return [row[0] for row in connection.execute("SELECT chunk_id FROM chunks ORDER BY row LIMIT 50")]


class Release(Chore):
    """Freezes versions and writes each out in one form after the other; something is beyond dispute in each."""

    def act(self) -> None:
        self._settle()
        new = gold.release(self.workspace, "Ada", allow_open=True)
        self.diary.note(do="release", version=new.version, digest=new.digest, counts=new.manifest["counts"])
        form = list(gold.FORMATS)[new.version % len(gold.FORMATS)]
        path = self.folder / "exports" / f"{new.folder}-{form}{'.zip' if form == 'native' else ''}"
        gold.export_version(self.workspace, new.version, path, form)
        if form == "native" and not verify(path).intact:
            self.diary.note(failed=f"{path.name} is not whole")
        self.diary.note(do="export", path=str(path))

    def _settle(self) -> None:
        """Grade a chunk of the question that nobody else grades."""
        with self.workspace.read() as connection:
            _, chunk = corpus.browse(connection, limit=1)[0]
        labelling.apply(
            self.workspace,
            "Ada",
            [
                Operation(
                    id=f"settled-{next(self.number)}",
                    kind="judge",
                    who="Ada",
                    query_id="settled",
                    chunk_id=chunk.chunk_id,
                    sha256=chunk.sha256,
                    grade=self.chance.randrange(1, 4),
                )
            ],
        )


class Backup(Chore):
    """Backs the workspace up, checks it and reads what the home page shows, while everybody works."""

    def act(self) -> None:
        path = self.folder / f"backup-{next(self.number) % 2}.db"
        self.diary.note(do="backup begins", path=str(path))
        done = backup.back_up(self.workspace, "Ada", path)
        self.diary.note(do="backup", path=str(path), counts=dict(done.counts), digest=done.digest)
        for problem in backup.check(self.workspace).problems:
            self.diary.note(failed=problem)
        overview.status(self.workspace)
        overview.home(self.workspace, "Ada")


CHORES: Mapping[str, type[Chore]] = {"sync": Sync, "import": Import, "release": Release, "backup": Backup}


def do(name: str, home: Path, pace: Pace, folder: Path, start: threading.Barrier) -> None:
    """Do a chore in this process until the time is over, once all processes are there."""
    workspace = Workspace(home)
    workspace.open()
    start.wait(120)
    CHORES[name](workspace, name, Diary(folder / f"{name}.jsonl"), pace).go()


def make_table(path: Path, chunks: int) -> None:
    """Make the live chunk table, with a few words in each chunk that no other has."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id, title, position, text)")
        connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", (_row(one, 0) for one in range(chunks)))


def _change(path: Path, one: Chore) -> None:
    """Change about 3 % of the chunks, take some out and put new ones in."""
    with closing(sqlite3.connect(path)) as connection, connection:
        count = connection.execute("SELECT MAX(CAST(substr(chunk_id, 2) AS INTEGER)) + 1 FROM chunks").fetchone()[0]
        revision = one.chance.getrandbits(32)
        numbers = one.chance.sample(range(1, count), count // 30)  # the first one stays as it is
        connection.executemany("DELETE FROM chunks WHERE chunk_id = ?", ((f"c{number}",) for number in numbers))
        back = [number for number in numbers if one.chance.random() < 0.95]
        new = range(count, count + len(numbers) - len(back))
        rows = (_row(number, revision) for number in (*back, *new))
        connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", rows)


def _row(number: int, revision: int) -> tuple[object, ...]:
    document, position = divmod(number, 12)
    text = f"Section {position} of article {document}, revision {revision}, says word{number}x{revision}. "
    return f"c{number}", f"d{document}", f"Article {document}", position, text + "It is binding for everybody. " * 15
