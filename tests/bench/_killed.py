"""Work that is killed at any moment: each kind is a process that goes on and on and tells what was acknowledged."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from annotator.errors import AnnotatorError
from annotator.model import Chunk
from annotator.services import chunk_table, gold, labelling, review, search
from annotator.services.importing import import_judgments, import_queries, import_run
from annotator.services.labelling import Operation
from annotator.store import corpus, judgments, sync_apply
from annotator.store.database import Workspace

__all__ = ["QUERIES", "ROWS", "WORK", "Work", "change_table", "make_table", "token", "work"]

CHUNKS = 1_200
"""Those that change; ten more never do, and are what versions are made of."""
QUERIES = 12
ROWS = 300
"""Rows of each imported file."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a killed process needs: the workspace, the live chunk table beside it, chance, and whom to tell."""

    workspace: Workspace
    table: Path
    chance: random.Random
    tell: Callable[[Mapping[str, object]], None]

    def chunk(self) -> Chunk:
        """Return any chunk of the mirror."""
        with self.workspace.read() as connection:
            last = connection.execute("SELECT MAX(row) FROM chunks").fetchone()[0]
            return corpus.browse(connection, after_row=self.chance.randrange(last), limit=1)[0][1]

    def query(self) -> str:
        return f"q{self.chance.randrange(QUERIES)}"


def work(kind: str, home: Path, table: Path, seed: int, pipe: Connection) -> None:
    """Do this kind of work until killed. The first thing told is that the process is ready."""
    one = Work(Workspace(home), table, random.Random(seed), pipe.send)
    pipe.send({"ready": kind})
    WORK[kind](one)


def make_table(path: Path) -> None:
    """Make the live chunk table."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE chunks (chunk_id TEXT PRIMARY KEY, doc_id, title, position, text)")
        connection.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", (_row(one, 0) for one in range(CHUNKS + 10))
        )


def change_table(path: Path, chance: random.Random) -> None:
    """Change, remove and add about a third of the chunks, in one transaction."""
    with closing(sqlite3.connect(path)) as connection, connection:
        revision = chance.randrange(1, 2**32)
        numbers = chance.sample(range(CHUNKS), CHUNKS // 3)
        connection.executemany("DELETE FROM chunks WHERE chunk_id = ?", ((f"c{one}",) for one in numbers))
        kept = (one for one in numbers if chance.random() < 0.8)
        connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", (_row(one, revision) for one in kept))


def token(number: int, revision: int) -> str:
    """Return the word that only this state of a chunk has."""
    return f"word{number}x{revision}"


def _row(number: int, revision: int) -> tuple[object, ...]:
    document, position = divmod(number, 12)
    text = f"Section {position} of article {document} says {token(number, revision)}. " + "It is binding for all. " * 20
    return f"c{number}", f"d{document}", f"Article {document}", position, text


def _save(one: Work) -> None:
    """Grade, grade again, take back and write drafts, as Ben."""
    done: list[Operation] = []
    while True:
        kind = one.chance.choices(("judge", "again", "undo", "draft"), (6, 2, 1, 1))[0]
        chunk = one.chunk()
        values = {"id": str(uuid.uuid4()), "who": "Ben", "query_id": one.query(), "chunk_id": chunk.chunk_id}
        values["sha256"] = chunk.sha256
        if kind == "draft":
            operation = Operation(kind="draft", reason=f"unfinished {values['id']}", **values)
        elif kind == "undo" and done:
            operation = Operation(kind="undo", target=done.pop().id, **values)
        else:
            if kind == "again" and done:
                values |= {"query_id": done[-1].query_id, "chunk_id": done[-1].chunk_id, "sha256": done[-1].sha256}
            operation = Operation(kind="judge", grade=one.chance.randrange(4), **values)
            done.append(operation)
        if labelling.apply(one.workspace, "Ben", [operation]).acknowledged and operation.kind != "draft":
            one.tell({"judgment": operation.id})


def _adjudicate(one: Work) -> None:
    """Decide on pairs that somebody judged, and open some again, as Rea."""
    while True:
        with one.workspace.read() as connection:
            judged = [(said.query_id, said.chunk_id) for said in judgments.current(connection, query_id=one.query())]
        for query_id, chunk_id in one.chance.sample(judged, min(5, len(judged))):
            operation = str(uuid.uuid4())
            try:
                case = review.case(one.workspace, "Rea", query_id, chunk_id)
                sha256, grade = case.judgments[0].sha256 if case.judgments else case.chunk.sha256, 2
                review.decide(
                    one.workspace,
                    "Rea",
                    query_id,
                    chunk_id,
                    grade,
                    reason="read twice",
                    sha256=sha256,
                    seen=case.revision,
                    operation_id=operation,
                )
            except AnnotatorError:  # somebody judged it in between
                continue
            one.tell({"decision": operation})
            if one.chance.random() < 0.3:
                reason = f"look again {operation}"
                review.reopen(one.workspace, "Rea", [(query_id, chunk_id)], reason)
                one.tell({"reopening": reason})


def _import(one: Work) -> None:
    """Bring in judgments of somebody new, questions and runs, a whole file each."""
    for number in itertools.count():
        name = f"{uuid.uuid4()}"
        with one.workspace.read() as connection:
            ids = [chunk.chunk_id for _, chunk in corpus.browse(connection, limit=ROWS // 4)]
        if number % 3 == 0:
            lines = ["query_id,chunk_id,grade"]
            lines += [f"q{row % 6},{ids[row // 6]},{row % 4}" for row in range(ROWS)]
            import_judgments(one.workspace, "Ana", (f"{name}.csv", "\n".join(lines).encode()), annotator=name)
            one.tell({"annotator": name})
        elif number % 3 == 1:
            lines = ["query_id,question,owner", *(f"{name}-{row},What is rule {row}?,{name}" for row in range(ROWS))]
            import_queries(one.workspace, "Ana", (f"{name}.csv", "\n".join(lines).encode()))
            one.tell({"owner": name})
        else:
            answers = {f"q{row}": one.chance.sample(ids, 20) for row in range(ROWS)}
            import_run(one.workspace, "Ana", (f"{name}.json", json.dumps(answers).encode()), name=name)
            one.tell({"run": name})


def _release(one: Work) -> None:
    """Grade something that is beyond dispute, freeze a version and write it out as one file."""
    while True:
        with one.workspace.read() as connection:
            chunk = corpus.chunk(connection, f"c{CHUNKS + one.chance.randrange(10)}")
        values = {"query_id": "settled", "chunk_id": chunk.chunk_id, "sha256": chunk.sha256}
        operation = Operation(id=str(uuid.uuid4()), kind="judge", who="Ana", grade=one.chance.randrange(1, 4), **values)
        labelling.apply(one.workspace, "Ana", [operation])
        version = gold.release(one.workspace, "Ana", allow_open=True)
        one.tell({"version": version.version, "digest": version.digest})
        path = one.table.parent / f"{version.folder}.zip"
        gold.export_version(one.workspace, version.version, path)
        one.tell({"export": str(path)})


def _sync(one: Work) -> None:
    """Change the live table and take the changes over, index and all; in small steps, to be killed between them."""
    sync_apply._APPLIED = 20  # type: ignore[misc]
    while True:
        change_table(one.table, one.chance)
        result = chunk_table.sync(one.workspace, "Ana")
        one.tell({"synced": result.total})
        search.bring_up_to_date(one.workspace)


WORK: Mapping[str, Callable[[Work], None]] = {
    "save": _save,
    "adjudicate": _adjudicate,
    "import": _import,
    "release": _release,
    "sync": _sync,
}
