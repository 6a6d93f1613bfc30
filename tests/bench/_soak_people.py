"""People at work, a thread each in a few processes: annotators who grade and change their minds, reviewers who decide.

They go at a set pace and write down, each on a line of its own, everything that was acknowledged, refused or failed.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

from annotator.errors import AnnotatorError, Conflict, NotFound
from annotator.model import Evidence
from annotator.services import labelling, queue, review, search
from annotator.services.labelling import Candidate, Operation
from annotator.store.database import Workspace

__all__ = ["CANDIDATES", "Diary", "Pace", "Paced", "candidate_ids", "memory", "work"]

_ALL_THERE = 120.0
"""Seconds within which all processes have to be ready."""
CANDIDATES = 40
"""Chunks that are looked at for one question: few enough for people to meet on them."""


@dataclass(frozen=True, slots=True)
class Pace:
    """For how many seconds, the seconds from one thing a person does to the next, and when it began (time.time())."""

    seconds: float
    period: float
    begins: float = 0.0


class Diary:
    """A file of one JSON object a line, in the order in which things came about; shared by threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def note(self, **facts: object) -> None:
        """Write one thing down, with the time."""
        line = json.dumps({"at": time.time(), **facts}, ensure_ascii=False) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()


class Paced:
    """Somebody who does one thing after the other at a pace, whatever comes of it."""

    def __init__(self, workspace: Workspace, who: str, diary: Diary, pace: Pace) -> None:
        self.workspace = workspace
        self.who = who
        self.diary = diary
        self.pace = pace
        self.chance = random.Random(who)

    def go(self) -> None:
        """Work until the time is over."""
        begins = time.time()
        due = begins + self.chance.uniform(0, self.pace.period)
        end = begins + self.pace.seconds
        while due < end:
            time.sleep(max(0.0, due - time.time()))
            try:
                self.act()
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                self.diary.note(who=self.who, failed=f"{type(error).__name__}: {error}")
            due += self.pace.period * self.chance.uniform(0.8, 1.2)

    def act(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Do what has its first time, so that memory is that of somebody at work from the beginning."""

    def saved(self, facts: Mapping[str, object], save: Callable[[], str]) -> bool:
        """Save something and write down what came of it: "" from `save` is an acknowledgement, all else a refusal."""
        begun = time.perf_counter()
        refused = save()
        seconds = time.perf_counter() - begun
        self.diary.note(who=self.who, seconds=seconds, refused=refused, **facts)
        return not refused


class Annotator(Paced):
    """Takes questions from the queue or by a link, grades with reasons and evidence, takes back, leaves drafts.

    Now and then a question is finished, skipped, or taken up again.
    """

    def __init__(self, *anything: Any) -> None:
        super().__init__(*anything)
        self._done: deque[Operation] = deque(maxlen=30)  # each may still be taken back

    def act(self) -> None:
        kinds = ("judge", "again", "undo", "draft", "twice", "finish", "skip", "take back")
        kind = self.chance.choices(kinds, (56, 12, 10, 12, 5, 2, 1, 2))[0]
        if kind in ("finish", "skip", "take back") and self._done:
            self._step(kind, self.chance.choice(self._done).query_id)
            return
        if kind == "undo" and self._done:
            last = self._done[-1]
            operation = Operation(
                id=self._id(), kind="undo", who=self.who, query_id=last.query_id, chunk_id=last.chunk_id, target=last.id
            )
            if self._apply(operation):
                self._done.pop()
            return
        seen = self._looked_at(self._done[-1] if kind == "again" and self._done else None)
        if seen is None:
            return
        query_id, candidate = seen
        if kind == "draft":
            operation = self._operation("draft", query_id, candidate, grade=None)
            self._apply(operation)
            return
        operation = self._operation("judge", query_id, candidate, grade=self.chance.choice((0, 0, 1, 2, 3, None)))
        if self._apply(operation):
            self._done.append(operation)
            if kind == "twice":  # the answer was lost on its way, so the screen sends it again
                labelling.apply(self.workspace, self.who, [operation])

    def _step(self, kind: str, query_id: str) -> None:
        """Say something about a question as a whole."""

        def save() -> str:
            try:
                if kind == "finish":
                    queue.finish(self.workspace, self.who, query_id)
                elif kind == "skip":
                    queue.skip(self.workspace, self.who, query_id, f"not mine {self._id()}")
                else:
                    queue.take_back(self.workspace, self.who, query_id)
            except Conflict as error:  # all taken back since, or finished before
                return error.message
            return ""

        self.saved({"do": kind, "id": self._id(), "query": query_id}, save)

    def prepare(self) -> None:
        for _ in range(5):
            self._looked_at(None)
            for mode in search.MODES:
                search.search(self.workspace, "What does section 3 of the articel say?", mode=mode)

    def _looked_at(self, again: Operation | None) -> tuple[str, Candidate] | None:
        linked = f"q{self.chance.randrange(_questions(self.workspace))}" if self.chance.random() < 0.7 else ""
        desk = queue.desk(self.workspace, self.who, again.query_id if again else linked)
        if not isinstance(desk, queue.Desk):  # nothing needs this person now
            return None
        query_id = desk.query.query_id
        if self.chance.random() < 0.2:
            search.search(self.workspace, desk.query.question, mode=self.chance.choice(("words", "fuzzy")))
        ids = [again.chunk_id] if again else self.chance.sample(candidate_ids(query_id), 5)
        found = labelling.candidates(self.workspace, self.who, query_id, ids)
        return (query_id, found[0]) if found else None

    def _operation(self, kind: Any, query_id: str, candidate: Candidate, grade: int | None) -> Operation:
        chunk = candidate.chunk
        start = self.chance.randrange(10)
        quote = chunk.text[start : start + 30]
        return Operation(
            id=self._id(),
            kind=kind,
            who=self.who,
            query_id=query_id,
            chunk_id=chunk.chunk_id,
            sha256=chunk.sha256,
            grade=grade,
            stale=grade == 0 and self.chance.random() < 0.2,
            reason=f"as far as {self.who} knows" if grade is None or self.chance.random() < 0.3 else "",
            evidence=(Evidence(quote, start, start + len(quote)),) if self.chance.random() < 0.2 else (),
            seconds=self.chance.uniform(2, 60),
        )

    def _apply(self, one: Operation) -> bool:
        def save() -> str:
            outcome = labelling.apply(self.workspace, self.who, [one])
            return "" if outcome.acknowledged == (one.id,) else str(outcome.refused)

        facts = {"do": one.kind, "id": one.id, "query": one.query_id, "chunk": one.chunk_id, "target": one.target}
        return self.saved({**facts, "grade": one.grade, "stale": one.stale, "reason": one.reason}, save)

    def _id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128)))


class Reviewer(Paced):
    """Goes through what waits, decides with a reason, and now and then opens a pair again."""

    def __init__(self, *anything: Any) -> None:
        super().__init__(*anything)
        self._waiting: list[tuple[str, str]] = []

    def act(self) -> None:
        if not self._waiting:
            found = [(one.query_id, one.chunk_id) for one in review.waiting(self.workspace, self.who)]
            self._waiting = self.chance.sample(found, min(30, len(found)))
        if not self._waiting:
            return
        query_id, chunk_id = self._waiting.pop()
        try:
            case = review.case(self.workspace, self.who, query_id, chunk_id)
        except NotFound:  # the only label was taken back since
            return
        said = [one for one in case.judgments if one.grade is not None]
        if not said:
            return
        chosen = self.chance.choice(said)
        operation = str(uuid.UUID(int=self.chance.getrandbits(128)))

        def decide() -> str:
            try:
                review.decide(
                    self.workspace,
                    self.who,
                    query_id,
                    chunk_id,
                    chosen.grade or 0,
                    chosen.stale,
                    "read it with care",
                    sha256=chosen.sha256,
                    seen=case.revision,
                    operation_id=operation,
                )
            except Conflict as error:  # somebody judged the pair in between
                return error.message
            return ""

        facts: dict[str, object] = {"id": operation, "query": query_id, "chunk": chunk_id, "grade": chosen.grade or 0}
        if self.saved({"do": "decide", **facts}, decide) and self.chance.random() < 0.2:
            reason = f"once more {operation}"

            def reopen() -> str:
                return "" if review.reopen(self.workspace, self.who, [(query_id, chunk_id)], reason) else "open already"

            self.saved({"do": "reopen", "query": query_id, "chunk": chunk_id, "id": reason}, reopen)


def candidate_ids(query_id: str) -> list[str]:
    """Return the chunks that people look at for a question."""
    begin = int(hashlib.sha256(query_id.encode()).hexdigest(), 16)
    return [f"c{1 + (begin + step * 7) % 1_000}" for step in range(CANDIDATES)]


def work(home: Path, names: Mapping[str, str], pace: Pace, folder: Path, start: Barrier) -> None:
    """Have these people (name to role) work in this process, a thread each, once all processes are there."""
    workspace = Workspace(home)
    workspace.open()
    holder = workspace.hold()  # as the server does
    diary = Diary(folder / f"{next(iter(names))}.jsonl")
    kinds: dict[str, type[Paced]] = {"annotator": Annotator, "reviewer": Reviewer}
    staff = [kinds[role](workspace, who, diary, pace) for who, role in names.items()]
    for one in staff:
        one.prepare()
    start.wait(_ALL_THERE)
    threads = [threading.Thread(target=one.go) for one in staff]
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        diary.note(memory=memory())
        time.sleep(min(0.5, pace.seconds / 40))
    try:
        holder.close()
    except AnnotatorError as error:
        diary.note(failed=str(error))


def memory() -> float:
    """Return the memory of this process that is in use now, in MB."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _questions(workspace: Workspace) -> int:
    return int((workspace.home.parent / "questions").read_text("ascii"))
