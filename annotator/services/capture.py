"""Asking the retriever every question of a gold set and keeping what it did as a run: a JSONL trace with its header.

What is answered is written at once, under the file's name with `.part` behind; the file itself appears when every
question has its answer. A call with the same settings goes on where the last one stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

from annotator.errors import Conflict, InputError, StoreError
from annotator.gold.goldset import GoldSet
from annotator.model import RunQuery
from annotator.services import gold as releases
from annotator.services import in_place
from annotator.services.asking import SECONDS, NoAnswer, Retriever, ask
from annotator.store import imported, queries
from annotator.store.database import Workspace

__all__ = ["PATIENCE", "Captured", "Questions", "capture", "part_of", "questions"]

PATIENCE = 5
"""Questions in a row without an answer after which the retriever is asked no more."""

_COMPARED = ("name", "retriever", "depth", "gold", "questions", "seconds")


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked, as (query_id, question), and what it is called: a version, or the workspace."""

    label: str
    asked: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """Tells apart what was asked: another question under an id is another set."""
        return sha256(json.dumps(self.asked).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Captured:
    """What is in the file: answers, those that were late or empty, and those that stood there before this call.

    `failed`: (query_id, message) of the questions without an answer. `gone`: retrieved ids that the chunk table lacks.
    """

    path: str
    questions: int
    answered: int
    before: int
    timed_out: int
    empty: int
    failed: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every question has its answer, so that the file is there."""
        return self.answered == self.questions


def questions(workspace: Workspace, version: str = "") -> Questions:
    """Return the questions of a version (number, tag or path), of the newest by default, of the workspace without one.

    Raises NotFound, and InputError where there is none or the gold set does not know their text.
    """
    if version or releases.versions(workspace):
        found = _of(releases.gold_set(workspace, version))
    else:
        with workspace.read() as connection:
            stored = queries.all_queries(connection, states=("open", "complete"))
        found = Questions("workspace", tuple((one.query_id, one.question) for one in stored))
    if not found.asked:
        raise InputError("There is no question to ask.", hint="Add or import questions first.")
    return found


def part_of(path: Path) -> Path:
    """Return where the answers are kept until the run is complete."""
    return path.with_name(path.name + ".part")


def capture(
    workspace: Workspace,
    retriever: Retriever,
    wanted: Questions,
    path: Path,
    *,
    name: str,
    depth: int = 100,
    seconds: float = SECONDS,
    meta: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Captured:
    """Ask every question that has no answer yet. One capture at a time: two at once would falsify the latencies.

    A question that fails is left for the next call; a late one is an answer that says so. Raises Conflict when the
    file, or its part, is of another run.
    """
    header: dict[str, object] = {
        **(meta or {}),
        "name": name,
        "retriever": retriever.name,
        "depth": depth,
        "seconds": seconds,
        "gold": wanted.label,
        "questions": wanted.digest,
    }
    with workspace.lock("run", seconds=0.5):
        if path.exists():
            answers = _read(path, header)
            return _told(workspace, path, wanted, answers, len(answers), [])
        part = part_of(path)
        answers = _begun(part, header)
        before = len(answers)
        failed: list[tuple[str, str]] = []
        try:
            with part.open("a", encoding="utf-8", newline="\n") as target:
                _ask_all(retriever, wanted, depth, seconds, answers, failed, target, progress)
                os.fsync(target.fileno())
            if len(answers) == len(wanted.asked):
                part.replace(path)
        except OSError as error:
            raise StoreError(f"{part} cannot be written: {error.strerror or error}.") from error
        return _told(workspace, path, wanted, answers, before, failed)


def _ask_all(
    retriever: Retriever,
    wanted: Questions,
    depth: int,
    seconds: float,
    answers: dict[str, RunQuery],
    failed: list[tuple[str, str]],
    target: TextIO,
    progress: Callable[[int, int], None] | None,
) -> None:
    silent = 0
    for query_id, question in wanted.asked:
        if query_id in answers:
            continue
        if silent >= PATIENCE:
            return
        try:
            answer = ask(retriever, query_id, question, depth, seconds=seconds)
        except NoAnswer as error:
            failed.append((query_id, str(error)))
            silent += 1
            continue
        silent = 0
        target.write(json.dumps(_row(answer)) + "\n")
        target.flush()
        answers[query_id] = answer
        if progress:
            progress(len(answers), len(wanted.asked))


def _row(answer: RunQuery) -> dict[str, object]:
    results: Sequence[object] = answer.chunk_ids
    if answer.scores is not None:
        scored = zip(answer.chunk_ids, answer.scores, strict=True)
        results = [{"chunk_id": chunk_id, "score": score} for chunk_id, score in scored]
    row: dict[str, object] = {"query_id": answer.query_id, "results": results}
    if answer.candidates:
        row["candidates"] = answer.candidates
    if answer.filtered_out:
        row["filtered_out"] = [
            {"chunk_id": chunk_id, "filter": by} if by else chunk_id for chunk_id, by in answer.filtered_out
        ]
    return {**answer.trace, **row}


def _begun(part: Path, header: Mapping[str, object]) -> dict[str, RunQuery]:
    """Return the answers of an earlier call, having cut off a last line that was never finished; or begin."""
    try:
        if part.exists():
            with part.open("rb+") as kept:
                content = kept.read()
                kept.truncate(content.rfind(b"\n") + 1)
            if b"\n" in content:
                return _read(part, header)
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"run": header}) + "\n", "utf-8")
    except OSError as error:
        raise StoreError(f"{part} cannot be written: {error.strerror or error}.") from error
    return {}


def _read(path: Path, header: Mapping[str, object]) -> dict[str, RunQuery]:
    """Read what an earlier call wrote. Raises Conflict when it was about something else."""
    from annotator.metrics.runs import Run

    with path.open(encoding="utf-8", errors="replace") as kept:
        first, second = kept.readline(), kept.readline()
    told: Any = None
    with suppress(ValueError):
        told = json.loads(first)
    before = told.get("run") if isinstance(told, dict) else None
    if not isinstance(before, dict):
        raise Conflict(f"{path} is there and is no run of this command.", hint="Choose another file with -o.")
    names = (*_COMPARED, *sorted((set(before) | set(header)) - set(_COMPARED)))
    other = [name for name in names if before.get(name) != header.get(name)]
    if other:
        differ = "; ".join(_difference(name, before.get(name), header.get(name)) for name in other[:3])
        raise Conflict(
            f"{path} was made with other settings: {differ}.",
            hint="Choose another file with -o, or take that one away.",
        )
    return dict(Run.load(path).queries) if second else {}


def _difference(name: str, before: object, now: object) -> str:
    # questions are compared by a digest, which says nothing to anybody
    return "the questions were others" if name == "questions" else f"{name} was {before!r}, now {now!r}"


def _told(
    workspace: Workspace,
    path: Path,
    wanted: Questions,
    answers: Mapping[str, RunQuery],
    before: int,
    failed: list[tuple[str, str]],
) -> Captured:
    ids = dict.fromkeys(chunk_id for one in answers.values() for chunk_id in one.chunk_ids)
    with workspace.read() as connection:
        # a table searched in place is known by what was looked at only, which says nothing of the others
        known = dict.fromkeys(ids) if in_place.is_on_in(connection) else imported.text_hashes(connection, ids)
    return Captured(
        path=str(path),
        questions=len(wanted.asked),
        answered=len(answers),
        before=before,
        timed_out=sum(one.trace.get("timed_out") is True for one in answers.values()),
        empty=sum(not one.chunk_ids for one in answers.values()),
        failed=tuple(failed),
        gone=tuple(one for one in ids if one not in known),
    )


def _of(gold: GoldSet) -> Questions:
    asked = tuple((query_id, one.question) for query_id, one in gold.details.items() if one.question.strip())
    if len(asked) < len(gold.grades) or not asked:
        raise InputError(
            f"The gold set {gold.name} does not say what its questions are.",
            hint="Name a release, a gold.jsonl or its YAML form.",
        )
    return Questions(f"{gold.name}-v{gold.version}" if gold.version is not None else gold.name, asked)
