"""Searching a PostgreSQL table in place, beside one bare statement for the same words on the same server.

BENCH_CHUNKS sets the size (200,000), of 80 words each with the usual skew. The bare statement is what one would write
by hand: any of the words, ranked by ts_rank, the best 20.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psycopg

from annotator.services import chunk_table, search
from annotator.store.database import Workspace
from tests.bench import _corpus
from tests.bench.search import _long_word, _mistyped, _word
from tests.postgres_server import PASSWORD, Postgres, server

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "200000"))
QUERIES = 45
BARE_SECONDS = 3
"""With an expression index the bare statement may take very long; what it had not done by then counts as this."""

Figure = dict[str, object]


def run() -> Iterator[Figure]:
    """Give one figure after the other."""
    draw = random.Random(7)
    vocabulary = _corpus.vocabulary()
    os.environ["READER_PASSWORD"] = PASSWORD
    with server() as postgres, tempfile.TemporaryDirectory() as folder:
        _fill(postgres, vocabulary)
        texts = [" ".join(_word(draw, vocabulary) for _ in range(draw.choice((2, 3, 4, 6)))) for _ in range(QUERIES)]
        long = [" ".join(_word(draw, vocabulary) for _ in range(25)) for _ in range(QUERIES // 3)]
        slips = [_mistyped(draw, _long_word(draw, vocabulary), 1) for _ in range(QUERIES // 3)]
        ids = [f"doc-{draw.randrange(CHUNKS // 12)}#{draw.randrange(12)}" for _ in range(QUERIES // 3)]
        for table in ("stored", "computed"):
            workspace = Workspace(Path(folder) / table)
            workspace.create()
            chunk_table.connect(workspace, "bench", postgres.reader("bench"), table, search_in_place=True)
            share = 1 if table == "stored" else 3  # the slower kind with fewer searches
            yield from _figures(workspace, postgres, table, *(each[::share] for each in (texts, long, slips, ids)))


def _figures(
    workspace: Workspace,
    postgres: Postgres,
    table: str,
    texts: Sequence[str],
    long: Sequence[str],
    slips: Sequence[str],
    ids: Sequence[str],
) -> Iterator[Figure]:
    def ours(text: str, mode: str = "words") -> None:
        search.search(workspace, text, mode=mode, limit=20)

    with psycopg.connect(postgres.url("bench"), autocommit=True) as connection:
        connection.execute(f"SET statement_timeout = '{BARE_SECONDS}s'")
        vector = "words" if table == "stored" else "to_tsvector('english', text)"
        statement = (
            f"SELECT chunk_id, text, ts_rank({vector}, q) AS rank FROM {table}, "
            f"to_tsquery('english', %s) AS q WHERE {vector} @@ q ORDER BY rank DESC LIMIT 20"
        )

        def bare(text: str) -> None:
            with suppress(psycopg.errors.QueryCanceled):
                connection.execute(statement, (" | ".join(text.split()),)).fetchall()

        for text in texts[:5]:
            ours(text)
        pairs = [(_timed(bare, text), _timed(ours, text)) for text in texts]
    plain, found = [one for one, _ in pairs], [one for _, one in pairs]
    yield _times(f"bare statement, best 20, {table}", plain)
    yield _times(f"words, 20 hits with snippets, {table}", found)
    for share in (0.5, 0.95):
        figure = {"figure": f"words to the bare statement, p{share * 100:.0f}, {table}", "unit": "times"}
        yield {**figure, "value": round(_at(found, share) / _at(plain, share), 2)}
    yield _times(f"questions of 25 words, {table}", [_timed(ours, text) for text in long])
    yield _times(f"one word with a slip, {table}", [_timed(lambda text: ours(text, "fuzzy"), text) for text in slips])
    yield _times(f"by id, {table}", [_timed(lambda text: ours(text, "id"), text) for text in ids])


def _fill(postgres: Postgres, vocabulary: Sequence[str]) -> None:
    postgres.database("bench")
    columns = "chunk_id text PRIMARY KEY, doc_id text, position int, text text, metadata jsonb"
    with psycopg.connect(postgres.url("bench")) as connection:
        connection.execute(f"CREATE TABLE computed ({columns})")
        with connection.cursor().copy("COPY computed FROM STDIN") as copy:
            for chunk_id, doc_id, _, position, text, metadata in _corpus.rows(vocabulary, CHUNKS):
                copy.write_row((chunk_id, doc_id, position, text, metadata))
        made = "words tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED"
        connection.execute(f"CREATE TABLE stored ({columns}, {made})")
        connection.execute("INSERT INTO stored SELECT * FROM computed")
        connection.execute("CREATE INDEX ON stored USING gin (words); CREATE INDEX ON stored (doc_id)")
        connection.execute("CREATE INDEX ON computed USING gin (to_tsvector('english', text))")
        connection.execute("CREATE INDEX ON computed (doc_id)")
    postgres.psql("bench", "VACUUM ANALYZE")
    postgres.grant("bench")


def _timed(function: Callable[[str], None], text: str) -> float:
    started = time.perf_counter()
    function(text)
    return time.perf_counter() - started


def _at(times: Sequence[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]


def _times(what: str, times: Sequence[float]) -> Figure:
    return {
        "figure": f"{what}, {CHUNKS} chunks",
        "p50_ms": round(_at(times, 0.5) * 1000, 1),
        "p95_ms": round(_at(times, 0.95) * 1000, 1),
    }
