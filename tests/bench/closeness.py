"""How near a search in place comes to the index: nDCG@10 of both on questions with human judgments.

Two collections of the reference material, 100 questions each (BENCH_QUESTIONS), once synced and once in a PostgreSQL
table with a stored column, asked as typed.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from annotator import GoldSet, Run, evaluate
from annotator.services import chunk_table, search
from annotator.store.database import Workspace
from tests.postgres_server import PASSWORD, Postgres, server

SHARED = Path(os.environ.get("ANNOTATOR_SHARED", Path(__file__).resolve().parents[3] / "shared"))
QUESTIONS = int(os.environ.get("BENCH_QUESTIONS", "100"))


def run() -> Iterator[dict[str, object]]:
    """Give nDCG@10 in the index and in place, for each collection."""
    os.environ["READER_PASSWORD"] = PASSWORD
    with server() as postgres, tempfile.TemporaryDirectory() as folder:
        for name in ("cranfield", "anthropic_contextual"):
            yield from _figures(postgres, SHARED / "corpora" / name, Path(folder) / name)


def _figures(postgres: Postgres, corpus: Path, folder: Path) -> Iterator[dict[str, object]]:
    gold = GoldSet.load(corpus / "qrels.tsv")
    asked = {row["query_id"]: row["question"] for row in _rows(corpus / "queries.jsonl")}
    judged = sorted(one for one in asked if one in gold.grades)
    chosen = sorted(random.Random(7).sample(judged, min(QUESTIONS, len(judged))))
    gold = GoldSet.of({one: gold.grades[one] for one in chosen})
    for way, workspace in (
        ("index", _synced(corpus, folder / "index")),
        ("in place", _in_place(postgres, corpus, folder)),
    ):
        found = {one: [hit.chunk_id for hit in search.search(workspace, asked[one], limit=10).hits] for one in chosen}
        value = evaluate(gold, Run.of(found), k=[10]).measures["nDCG@10"]
        yield {"bench": "closeness", "figure": f"nDCG@10, {corpus.name}, {way}", "value": round(value, 3)}


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _synced(corpus: Path, home: Path) -> Workspace:
    workspace = Workspace(home)
    workspace.create()
    chunk_table.connect(workspace, "bench", str(corpus / "chunks.jsonl"))
    chunk_table.sync(workspace, "bench")
    return workspace


def _in_place(postgres: Postgres, corpus: Path, folder: Path) -> Workspace:
    postgres.database(corpus.name)
    with psycopg.connect(postgres.url(corpus.name)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE chunks (chunk_id text PRIMARY KEY, doc_id text, title text, text text, words tsvector"
            " GENERATED ALWAYS AS (to_tsvector('english', coalesce(title, '') || ' ' || text)) STORED)"
        )
        with cursor.copy("COPY chunks (chunk_id, doc_id, title, text) FROM STDIN") as copy:
            for row in _rows(corpus / "chunks.jsonl"):
                copy.write_row((row["chunk_id"], row.get("doc_id"), row.get("title"), row["text"]))
        cursor.execute("CREATE INDEX ON chunks USING gin (words)")
    postgres.grant(corpus.name)
    workspace = Workspace(folder / "place")
    workspace.create()
    chunk_table.connect(workspace, "bench", postgres.reader(corpus.name), "chunks", search_in_place=True)
    return workspace
