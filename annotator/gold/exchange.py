"""Gold sets as other evaluation tools read them: TREC, BEIR and ragas. Pure: from the files of a release to files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import Any

from annotator.errors import InputError, Problem
from annotator.gold.contents import Chunks, Unit, chunk_rows, query_rows, units
from annotator.gold.native import line
from annotator.review.settle import RELEVANT

__all__ = ["beir", "ragas", "trec"]


def trec(files: Mapping[str, bytes], level: str) -> dict[str, bytes]:
    """Return `qrels` and `topics.tsv`. Raises InputError listing what this format cannot hold: ids with white space."""
    chunks: Chunks = {}
    topics, qrels = [], []
    problems: dict[tuple[str, str], Problem] = {}
    for row in query_rows(files):
        query_id = row["query_id"]
        found = units(row, chunks, level)
        topics.append(f"{query_id}\t{row['question']}\n")
        qrels += [f"{query_id} 0 {unit.unit_id} {unit.grade}\n" for unit in found]
        for problem in _unfit(row, found):
            problems.setdefault((problem.field, problem.value), problem)
    if problems:
        raise InputError(
            f"This version cannot be written as TREC: {len(problems)} values do not fit. Nothing was written.",
            problems=problems.values(),
            hint="beir, yaml and csv take all ids.",
        )
    return {"qrels": "".join(qrels).encode(), "topics.tsv": "".join(topics).encode()}


def _unfit(row: Mapping[str, Any], found: Iterable[Unit]) -> Iterator[Problem]:
    query_id = row["query_id"]
    if _has_space(query_id):
        yield Problem("a query id with white space", field="query_id", value=query_id)
    elif query_id.startswith(("#", "\ufeff")):
        yield Problem("a query id that would start a line as a comment or mark", field="query_id", value=query_id)
    if "\n" in row["question"] or "\r" in row["question"]:
        yield Problem(f"the question of {query_id} has several lines", field="question", value=row["question"])
    for unit in found:
        if _has_space(unit.unit_id):
            yield Problem("an id with white space", field="chunk_id", value=unit.unit_id)


def _has_space(value: str) -> bool:
    return any(map(str.isspace, value))


def beir(files: Mapping[str, bytes], level: str) -> dict[str, bytes]:
    """Return `corpus.jsonl` (what was judged), `queries.jsonl` and `qrels/test.tsv`.

    A document's text is that of its judged chunks, in their order.
    """
    chunks = chunk_rows(files)
    corpus: dict[str, tuple[Unit, set[tuple[int, str, str]]]] = {}
    queries = []
    target = StringIO(newline="")
    qrels = csv.writer(target, delimiter="\t", lineterminator="\n")
    qrels.writerow(("query-id", "corpus-id", "score"))
    for row in query_rows(files):
        rest = {name: value for name, value in row.items() if name not in ("query_id", "question", "gold") and value}
        queries.append(line({"_id": row["query_id"], "text": row["question"], **rest}))
        for unit in units(row, chunks, level):
            qrels.writerow((row["query_id"], unit.unit_id, unit.grade))
            corpus.setdefault(unit.unit_id, (unit, set()))[1].update(unit.parts)
    return {
        "corpus.jsonl": b"".join(line(_document(*corpus[unit_id])) for unit_id in sorted(corpus)),
        "queries.jsonl": b"".join(queries),
        "qrels/test.tsv": target.getvalue().encode(),
    }


def _document(unit: Unit, parts: set[tuple[int, str, str]]) -> dict[str, object]:
    row: dict[str, object] = {"_id": unit.unit_id, "title": unit.title, "text": _joined(parts)}
    return row | ({"doc_id": unit.doc_id} if unit.doc_id else {})


def _joined(parts: Iterable[tuple[int, str, str]]) -> str:
    return "\n\n".join(text for _, _, text in sorted(parts))


def ragas(files: Mapping[str, bytes], level: str) -> dict[str, bytes]:
    """Return `ragas.jsonl`: every question with the ids and texts of what is relevant for it, best first."""
    chunks = chunk_rows(files)
    rows = []
    for row in query_rows(files):
        relevant = [unit for unit in units(row, chunks, level) if unit.grade >= RELEVANT]
        rows.append(
            line(
                {
                    "user_input": row["question"],
                    "reference_context_ids": [unit.unit_id for unit in relevant],
                    "reference_contexts": [_joined(unit.parts) for unit in relevant],
                }
            )
        )
    return {"ragas.jsonl": b"".join(rows)}
