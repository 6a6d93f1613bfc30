"""The lexical baseline any retriever has to beat: a run made by the built-in search, and its file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from annotator.errors import InputError, Problem
from annotator.gold.archive import write_file
from annotator.model import id_fault
from annotator.search import index
from annotator.search.index import Reader
from annotator.search.query import as_words, parse
from annotator.search.run import ranked
from annotator.services import in_place
from annotator.services.importing.files import Source, open_file, text_fault
from annotator.services.importing.rows import Row, read_rows
from annotator.store import queries as stored
from annotator.store.database import Workspace

__all__ = ["MODES", "Baseline", "baseline", "read_questions", "write_baseline"]

MODES = ("words", "fuzzy")

_COLUMNS = {
    **dict.fromkeys(("query_id", "query-id", "qid", "_id"), "query_id"),
    **dict.fromkeys(("question", "query", "text"), "question"),
}

Question = tuple[str, str]  # query_id, question
Ranking = tuple[str, list[tuple[str, float]]]  # query_id, (chunk_id, score) best first


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was written: the number of queries, of all their hits, and of queries without any."""

    path: str
    queries: int
    hits: int
    empty: int


def baseline(
    workspace: Workspace, *, mode: str = "words", depth: int = 100, queries: Iterable[Question] | None = None
) -> Iterator[Ranking]:
    """Search for every query of the workspace, or those given as (query_id, question), in order.

    Equal scores are in the order in which runs are read (chunk id, descending), so that what is scored is what was
    listed. Brings the index up to date first. Raises InputError for an unknown mode or a depth below 1.
    """
    if mode not in MODES:
        raise InputError(f"There is no baseline mode {mode!r}.", hint=f"Choose one of: {', '.join(MODES)}.")
    if depth < 1:
        raise InputError(f"A baseline {depth} deep would be empty.", hint="Choose a depth of at least 1.")
    asked = ((one, as_words(question)) for one, question in (_stored(workspace) if queries is None else queries))
    if in_place.is_on(workspace):
        return ((query_id, _ordered(in_place.ranked(workspace, question, mode, depth))) for query_id, question in asked)
    index.refresh(workspace)
    reader = index.current(workspace)
    return ((query_id, _hits(reader, question, mode, depth)) for query_id, question in asked)


def write_baseline(
    workspace: Workspace,
    path: Path,
    *,
    mode: str = "words",
    depth: int = 100,
    queries: Iterable[Question] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Baseline:
    """Write the baseline run, TREC for `.trec` and a JSON Lines trace for `.jsonl`, whole or not at all.

    `progress` is told the queries done and their number. Raises InputError for another ending and, for TREC, which
    separates by white space, with every id that holds white space.
    """
    write = {".trec": _trec, ".jsonl": _trace}.get(path.suffix.lower())
    if write is None:
        raise InputError(
            f"{path.name} does not say which format to write.", hint="Let the name end in .trec or .jsonl."
        )
    rankings: list[tuple[Ranking, float]] = []
    asked = _stored(workspace) if queries is None else list(queries)
    answers = baseline(workspace, mode=mode, depth=depth, queries=asked)
    while True:
        started = time.perf_counter()
        ranking = next(answers, None)
        if ranking is None:
            break
        rankings.append((ranking, round((time.perf_counter() - started) * 1000, 3)))
        if progress:
            progress(len(rankings), len(asked))
    if not rankings:
        raise InputError("There is no question to search for.", hint="Add or import questions first.")
    name = f"baseline-{mode}"
    header = {"name": name, "retriever": "built-in search", "mode": mode, "depth": depth}
    live = in_place.is_on(workspace)
    header["index_version"] = "searched in place" if live else str(index.current(workspace).state.generation)
    write_file(path, "".join(write(header, rankings)).encode())
    sizes = [len(hits) for (_, hits), _ in rankings]
    return Baseline(str(path), len(sizes), sum(sizes), sizes.count(0))


def read_questions(source: Source) -> list[Question]:
    """Read (query_id, question) from a file: JSONL, CSV or TSV with a header, YAML, or id, tab and question.

    Raises InputError with every fault of the file.
    """
    file = open_file(source, _COLUMNS)
    if file.form == "bare":
        parted = [(number, line.rstrip("\r\n").partition("\t")) for number, line in enumerate(file.lines, 1)]
        rows = [
            Row(number, {"query_id": query_id, "question": question})
            for number, (query_id, _, question) in parted
            if query_id.strip() or question
        ]
    else:
        rows = read_rows(file, _COLUMNS)
    questions: dict[str, str] = {}
    for row in rows:
        query_id, question = row.values.get("query_id"), row.values.get("question")
        if fault := id_fault(query_id):
            file.fault(row.line, fault, "query_id", query_id)
        elif fault := text_fault(question) or ("" if str(question).strip() else "is empty"):
            file.fault(row.line, f"the question {fault}", "question", question)
        elif questions.setdefault(str(query_id), str(question)) != question:
            file.fault(row.line, "this query_id has another question above", "query_id", query_id)
    file.refuse_faults()
    return list(questions.items())


def _hits(reader: Reader, question: str, mode: str, depth: int) -> list[tuple[str, float]]:
    _, found = ranked(reader, parse(question), mode=mode, limit=depth)
    return _ordered(found)


def _ordered(found: list[tuple[str, float]]) -> list[tuple[str, float]]:
    return sorted(found, key=lambda hit: (hit[1], hit[0]), reverse=True)


def _stored(workspace: Workspace) -> list[Question]:
    with workspace.read() as connection:
        return [(one.query_id, one.question) for one in stored.all_queries(connection)]


def _trec(header: dict[str, object], rankings: list[tuple[Ranking, float]]) -> Iterator[str]:
    ids = dict.fromkeys(one for (query_id, hits), _ in rankings for one in (query_id, *(chunk for chunk, _ in hits)))
    spaced = [one for one in ids if any(character.isspace() for character in one)]
    if spaced:
        raise InputError(
            f"TREC files cannot hold ids with white space, and {len(spaced)} have some. Nothing was written.",
            problems=[Problem("white space in an id", value=one) for one in spaced],
            hint="Write a .jsonl file instead: it takes every id.",
        )
    for (query_id, hits), _ in rankings:
        for rank, (chunk_id, score) in enumerate(hits, 1):
            yield f"{query_id} Q0 {chunk_id} {rank} {score!r} {header['name']}\n"


def _trace(header: dict[str, object], rankings: list[tuple[Ranking, float]]) -> Iterator[str]:
    yield json.dumps({"run": header}, ensure_ascii=False) + "\n"
    for (query_id, hits), milliseconds in rankings:
        results = [{"chunk_id": chunk_id, "score": score} for chunk_id, score in hits]
        row = {"query_id": query_id, "results": results, "latency_ms": milliseconds}
        yield json.dumps(row, ensure_ascii=False) + "\n"
