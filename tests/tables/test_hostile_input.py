"""Whatever a file holds, the answer is chunks, faults with a place, or one InputError: never another exception."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.errors import InputError
from annotator.tables import Columns, Reading, guess, open_table

_RELAXED = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
_PIECES = [
    b"id",
    b"text",
    b",",
    b'"',
    b"\n",
    b"\r",
    b"{",
    b"}",
    b":",
    b"\xff",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"[1]",
]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
COLUMNS = Columns("id", "text", "doc_id", "title", "position", ())


def _read(url: str, columns: Columns | None = None) -> None:
    try:
        live = open_table(url)
        live.sample(5)
        batches = list(Reading(live, columns or guess(live.columns(), {})[0]).batches())
    except InputError:
        return
    for batch in batches:
        for _, chunk_id, text, doc_id, title, position, metadata, content in batch.rows:
            assert chunk_id.strip()
            joined = "\0".join((chunk_id, doc_id, title, str(position), metadata, text))
            assert joined.encode() == content
            assert isinstance(json.loads(metadata), dict)
        assert all(str(problem) for problem in batch.problems)


@_RELAXED
@given(
    st.lists(st.sampled_from(_PIECES) | st.binary(max_size=4), max_size=30), st.sampled_from(["csv", "jsonl", "tsv.gz"])
)
def test_any_bytes(tmp_path: Path, pieces: list[bytes], suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes((b"" if suffix != "csv" else b"id,text\n") + b"".join(pieces))
    _read(str(path))


@_RELAXED
@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys(("id", "text", "doc_id", "title", "position", "metadata"), values)))
)
def test_any_json_values(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    _read(str(path))
    _read(str(path), COLUMNS)
    _read(str(path), Columns("id", "text", "metadata.doc_id", metadata=("metadata", "title")))


@_RELAXED
@given(st.lists(st.tuples(*[st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=9)] * 6)))
def test_any_sqlite_values(tmp_path: Path, rows: list[tuple[object, ...]]) -> None:
    path = tmp_path / "a.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE chunks (id, text, doc_id, title, position, metadata)")
        connection.executemany("INSERT INTO chunks VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?)", rows)
    _read(f"sqlite:///{path}", COLUMNS)
