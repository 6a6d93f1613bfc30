"""Parquet tables: types, undecodable text, only the columns that are needed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from annotator.errors import InputError
from annotator.tables import Columns, guess, open_table


def _write(folder: Path, **columns: object) -> Path:
    path = folder / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def test_types_become_what_json_can_say(tmp_path: Path, read_all) -> None:
    path = _write(
        tmp_path,
        id=pyarrow.array([1, 2]),
        text=pyarrow.array(["a", None]).dictionary_encode(),
        seen=pyarrow.array([datetime(2024, 2, 1, tzinfo=UTC), None], pyarrow.timestamp("ns", "UTC")),
        score=pyarrow.array([0.5, float("nan")]),
        live=pyarrow.array([True, False]),
    )
    rows, problems = read_all(path)
    assert problems == []
    assert [row[1:3] for row in rows] == [("1", "a"), ("2", "")]
    assert rows[0][6] == '{"live":true,"score":0.5,"seen":"2024-02-01 00:00:00.000000000Z"}'
    assert rows[1][6] == '{"live":false}'


def test_text_that_is_not_utf8_is_a_fault_of_its_row_alone(tmp_path: Path, read_all) -> None:
    raw = pyarrow.array([b"a", b"gr\xfcn", b"c"])
    text = pyarrow.Array.from_buffers(pyarrow.string(), 3, raw.buffers())
    rows, problems = read_all(_write(tmp_path, id=["x", "y", "z"], text=text), columns=Columns("id", "text"))
    assert [row[:3] for row in rows] == [(1, "x", "a"), (3, "z", "c")]
    assert [(problem.file, problem.field, problem.value) for problem in problems] == [
        ("a.parquet, row 2", "text", "gr\\xfcn")
    ]


def test_binary_columns_are_neither_texts_nor_metadata(tmp_path: Path) -> None:
    live = open_table(str(_write(tmp_path, id=["x"], text=[b"a"], content=["b"])))
    assert guess(live.columns(), {})[0] == Columns("id", "content")


def test_rows_are_numbered_over_batches_and_row_groups(tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.parquet"
    ids = [str(number) for number in range(2_500)]
    pyarrow.parquet.write_table(pyarrow.table({"id": ids, "text": ids}), path, row_group_size=700)
    rows, _ = read_all(path)
    assert [row[0] for row in rows] == list(range(1, 2_501))
    assert open_table(str(path)).count() == 2_500


@pytest.mark.parametrize("content", [b"", b"id,text\n", b"PAR1" + b"\0" * 50 + b"PAR1"])
def test_a_file_that_is_no_parquet_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.parquet cannot be read"):
        open_table(str(path)).columns()
