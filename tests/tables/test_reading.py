"""From rows to chunks: what is converted, what is a fault, and that every fault is found with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotator.errors import InputError
from annotator.tables import Columns, Reading, open_table


def _jsonl(folder: Path, *records: Any) -> Path:
    path = folder / "chunks.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _first(rows: list[Any]) -> dict[str, Any]:
    names = ("place", "chunk_id", "text", "doc_id", "title", "position", "metadata")
    found = dict(zip(names, rows[0][:7], strict=True))
    return {**found, "metadata": json.loads(found["metadata"])}


@pytest.mark.parametrize("chunk_id", ["007", "1e5", "NA", "null", "a/b c#d", "🙂", "ü" * 500, "\u200bx", "a\u00a0b"])
def test_ids_are_opaque(chunk_id: str, tmp_path: Path, read_all) -> None:
    rows, problems = read_all(_jsonl(tmp_path, {"id": chunk_id, "text": "t"}))
    assert problems == []
    assert rows[0][1] == chunk_id


def test_whole_number_ids_become_their_digits(tmp_path: Path, read_all) -> None:
    rows, _ = read_all(_jsonl(tmp_path, {"id": 12345678901234567890, "text": "t", "doc_id": 7}))
    assert (rows[0][1], rows[0][3]) == ("12345678901234567890", "7")


@pytest.mark.parametrize(
    ("chunk_id", "fault"),
    [
        ("", "empty"),
        ("   ", "empty"),
        (None, "empty"),
        (1.0, "a number"),
        (True, "true or false"),
        (["a"], "list"),
        ("a\nb", "U\\+000A"),
        ("a\0b", "U\\+0000"),
        ("\ud800", "U\\+D800"),
        ("x" * 501, "501 characters"),
    ],
)
def test_what_cannot_be_an_id_is_a_fault(chunk_id: object, fault: str, tmp_path: Path, read_all) -> None:
    good = {"id": "good", "text": "t"}
    rows, problems = read_all(_jsonl(tmp_path, good, {"id": chunk_id, "text": "t"}), columns=Columns("id", "text"))
    assert [row[1] for row in rows] == ["good"]
    assert len(problems) == 1
    assert (problems[0].line, problems[0].field) == (2, "id")
    with pytest.raises(AssertionError, match=fault):
        raise AssertionError(problems[0].message)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (5, "a number"),
        ({"a": 1}, "an object"),
        (True, "true or false"),
        ("ab\0c", "NUL character stands at character 3"),
        ("a\ud83d", "U+D83D stands at character 2"),
    ],
)
def test_what_cannot_be_a_text_is_a_fault(text: object, fault: str, tmp_path: Path, read_all) -> None:
    _, problems = read_all(
        _jsonl(tmp_path, {"id": "a", "text": "good"}, {"id": "b", "text": text}), columns=Columns("id", "text")
    )
    assert [(problem.line, problem.field, fault in problem.message) for problem in problems] == [(2, "text", True)]


def test_a_missing_text_is_empty_and_counted(tmp_path: Path) -> None:
    live = open_table(str(_jsonl(tmp_path, {"id": "a", "text": None}, {"id": "b"}, {"id": "c", "text": "t"})))
    batch = next(Reading(live, Columns("id", "text")).batches())
    assert [row[2] for row in batch.rows] == ["", "", "t"]
    assert batch.empty == 2


def test_text_survives_as_it_is(tmp_path: Path, read_all) -> None:
    text = " <b>*x*</b>\r\n\t\u202e\u0007 \U0001f642 e\u0301 "
    rows, _ = read_all(_jsonl(tmp_path, {"id": "a", "text": text}))
    assert rows[0][2] == text


@pytest.mark.parametrize(
    ("given", "position", "kept"),
    [
        (4, 4, {}),
        (4.0, 4, {}),
        ("12", 12, {}),
        (None, None, {}),
        ("", None, {}),
        ("3a", None, {"position": "3a"}),
        (4.5, None, {"position": 4.5}),
        (12345678901234567890, None, {"position": 12345678901234567890}),
        (True, None, {"position": True}),
    ],
)
def test_positions_are_whole_numbers_and_anything_else_stays_readable(
    given: object, position: int | None, kept: dict[str, object], tmp_path: Path, read_all
) -> None:
    path = _jsonl(tmp_path, {"id": "a", "text": "t", "position": given})
    rows, problems = read_all(path, columns=Columns("id", "text", position="position"))
    assert problems == []
    assert (_first(rows)["position"], _first(rows)["metadata"]) == (position, kept)


def test_metadata_objects_are_taken_apart_one_level_and_win_over_columns(tmp_path: Path, read_all) -> None:
    record = {
        "id": "a",
        "text": "t",
        "version": "3",
        "lang": "en",
        "tags": ["x"],
        "other": {"a": 1},
        "none": None,
        "embedding": [0.1, 0.2],
        "metadata": {"version": 3, "deep": {"a": [1]}, "_node_content": "{}", "n": None},
    }
    rows, _ = read_all(_jsonl(tmp_path, record))
    assert _first(rows)["metadata"] == {"lang": "en", "version": 3, "deep": {"a": [1]}}


def test_metadata_as_json_text_is_taken_apart_and_other_text_stays(tmp_path: Path, read_all) -> None:
    path = tmp_path / "chunks.csv"
    path.write_text('id,text,metadata\na,t,"{""p"": 1, ""q"": NaN}"\nb,t,{not json\nc,t,\n')
    rows, _ = read_all(path)
    assert [json.loads(row[6]) for row in rows] == [{"p": 1}, {"metadata": "{not json"}, {}]


def test_equal_looking_metadata_of_different_type_is_kept_apart(tmp_path: Path, read_all) -> None:
    records = [{"id": str(number), "text": "t", "v": value} for number, value in enumerate([1, True, 1.0, "1"])]
    for columns in (None, Columns("id", "text", metadata=("v",))):
        rows, _ = read_all(_jsonl(tmp_path, *records), columns=columns)
        assert [row[6] for row in rows] == ['{"v":1}', '{"v":true}', '{"v":1.0}', '{"v":"1"}']


def test_a_key_that_only_later_records_have_is_metadata_as_well(tmp_path: Path, read_all) -> None:
    records = [{"id": str(number), "text": "t"} for number in range(1_500)] + [{"id": "z", "text": "t", "page": 3}]
    rows, _ = read_all(_jsonl(tmp_path, *records))
    assert rows[-1][6] == '{"page":3}'


def test_dotted_names_reach_into_objects(tmp_path: Path, read_all) -> None:
    path = _jsonl(tmp_path, {"id": "a", "text": "t", "metadata": {"loc": {"page": 3}, "a.b": "c"}})
    rows, _ = read_all(path, columns=Columns("id", "text", title="metadata.a.b", position="metadata.loc.page"))
    assert (_first(rows)["title"], _first(rows)["position"]) == ("c", 3)


def test_content_is_equal_exactly_when_all_fields_are(tmp_path: Path, read_all) -> None:
    columns = Columns("id", "text", "doc", "title")
    one, _ = read_all(_jsonl(tmp_path, {"id": "a", "text": "t", "doc": "bc", "title": "d"}), columns=columns)
    other, _ = read_all(_jsonl(tmp_path, {"id": "a", "text": "t", "doc": "b", "title": "cd"}), columns=columns)
    again, _ = read_all(_jsonl(tmp_path, {"title": "cd", "doc": "b", "text": "t", "id": "a"}), columns=columns)
    assert one[0][7] != other[0][7] == again[0][7]


def test_columns_that_are_not_there_are_all_named(tmp_path: Path) -> None:
    live = open_table(str(_jsonl(tmp_path, {"id": "a", "text": "t"})))
    with pytest.raises(InputError) as caught:
        Reading(live, Columns("uid", "", "doc", metadata=("page",)))
    assert [problem.field for problem in caught.value.problems] == ["chunk_id", "doc_id", "metadata", "text"]
    assert "id, text" in caught.value.hint


def test_every_fault_of_a_table_is_found_at_once(tmp_path: Path, read_all) -> None:
    path = tmp_path / "chunks.jsonl"
    lines = [
        '{"id": "a", "text": "t"}',
        "{broken",
        "",
        '{"id": "", "text": "t"}',
        "[1]",
        '{"id": "b", "text": "\\u0000"}',
    ]
    path.write_text("\n".join(lines))
    _, problems = read_all(path)
    assert sorted(problem.line for problem in problems) == [2, 4, 5, 6]
