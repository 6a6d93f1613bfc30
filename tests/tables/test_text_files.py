"""JSON Lines and CSV: lines, records, encodings."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.tables import Columns, open_table


@pytest.mark.parametrize(
    ("content", "byte", "line"),
    [
        (b'{"id": "a", "text": "gr\xfc\xdfe"}\n', 23, 1),
        (b'\xef\xbb\xbf{"id": "a"}\n{"id": "\xff"}\n', 23, 2),
        (b'{"id": "a", "text": "' + "ü".encode() * 1_000_000 + b'\xe2\x82"}\n', 2_000_021, 1),
        (b'{"id": "a", "text": "\xed\xa0\x80"}\n', 21, 1),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_not_utf8_is_refused_with_the_byte(
    content: bytes, byte: int, line: int, packed: bool, tmp_path: Path, read_all
) -> None:
    path = tmp_path / ("a.jsonl.gz" if packed else "a.jsonl")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError) as caught:
        read_all(path)
    (problem,) = caught.value.problems
    assert f"byte {byte} " in problem.message
    assert problem.line == line


def test_utf16_cut_in_half_is_refused_with_the_byte(tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("id,text\na,b\n".encode("utf-16")[:-1])
    with pytest.raises(InputError, match=r"byte 24 .*not UTF-16"):
        read_all(path)


CUT_SHORT = gzip.compress(b'{"id": "a", "text": "b"}\n' * 99)[:-12]


@pytest.mark.parametrize("content", [b"no gzip at all", CUT_SHORT], ids=["no gzip at all", "cut short"])
def test_a_broken_gzip_file_is_named(content: bytes, tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="broken gzip"):
        read_all(path, columns=Columns("id", "text"))


def test_a_json_line_with_a_fault_says_where_and_what_is_expected(tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "text": "t"}\r\n{"id": "b", "text": }\r\n"x"\r\n' + "[" * 100_000 + "\r\n")
    _, problems = read_all(path)
    assert [problem.line for problem in problems] == [2, 3, 4]
    assert "character 21" in problems[0].message
    assert "One JSON object a line" in problems[1].mend


def test_csv_cells_hold_line_breaks_and_places_are_where_records_start(tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\r\na,"one\r\ntwo, ""three"""\r\n\r\nb\r\nc,d,e\r\nf,g\r\n')
    rows, problems = read_all(path)
    assert [row[:3] for row in rows] == [(2, "a", 'one\r\ntwo, "three"'), (7, "f", "g")]
    assert [(problem.line, problem.message) for problem in problems] == [
        (5, "the record has 1 cells, the header 2"),
        (6, "the record has 3 cells, the header 2"),
    ]


def test_a_csv_quote_that_is_never_closed_is_a_fault(tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\na,b\nc,"d\ne,f\n')
    rows, problems = read_all(path)
    assert [row[1] for row in rows] == ["a"]
    assert [problem.line for problem in problems] == [3]


def test_a_csv_cell_may_be_large(tmp_path: Path, read_all) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'id,text\na,"{"x" * 1_000_000}"\n')
    rows, _ = read_all(path)
    assert len(rows[0][2]) == 1_000_000


@pytest.mark.parametrize(("name", "content"), [("a.tsv", "id\ttext\na\tb, c\n"), ("a.csv", "id;text\na;b, c\n")])
def test_tabs_and_the_semicolons_of_spreadsheets_separate(name: str, content: str, tmp_path: Path, read_all) -> None:
    path = tmp_path / name
    path.write_text(content)
    rows, _ = read_all(path)
    assert rows[0][1:3] == ("a", "b, c")


@pytest.mark.parametrize(("content", "fault"), [("", "is empty"), ("id,text,id\n", "twice: 'id'"), ('"id\n', "header")])
def test_a_csv_header_that_cannot_be_used_is_refused(content: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=fault):
        open_table(str(path)).columns()


def test_an_empty_json_lines_file_has_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n")
    assert open_table(str(path)).columns() == []
