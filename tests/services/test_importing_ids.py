"""Ids are opaque: odd ones survive every form of file, and what is no id is refused in each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.errors import InputError
from annotator.services import chunk_table
from annotator.services.importing import import_judgments, import_queries
from annotator.services.importing.files import open_file
from annotator.services.importing.rows import read_rows
from annotator.services.workspace import Workspace, init
from annotator.store import judgments

ODD = (
    "007",
    "1e5",
    "NA",
    "null",
    "~",
    "true",
    "=1+1",
    " padded ",
    'a/b c#d,"e";f',
    "\u202eright to left",
    "🚆👩‍👩‍👧",
    "שלום",
    "x" * 500,
    "- item: 1",
    "#comment",
)
Pair = tuple[str, str]


def as_table(delimiter: str) -> Callable[[list[Pair]], str]:
    def write(pairs: list[Pair]) -> str:
        target = io.StringIO()
        writer = csv.writer(target, delimiter=delimiter)
        writer.writerows([("query_id", "chunk_id", "grade"), *((*pair, 2) for pair in pairs)])
        return target.getvalue()

    return write


def as_jsonl(pairs: list[Pair]) -> str:
    return "".join(json.dumps({"query_id": query, "chunk_id": chunk, "grade": 2}) + "\n" for query, chunk in pairs)


def as_yaml(pairs: list[Pair]) -> str:
    rows = [{"query_id": query, "gold": [{"chunk_id": chunk, "relevance": "2"}]} for query, chunk in pairs]
    return yaml.safe_dump_all(rows, allow_unicode=True, explicit_start=True)


FORMS = {"j.csv": as_table(","), "j.tsv": as_table("\t"), "j.jsonl": as_jsonl, "j.yaml": as_yaml}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("odd")
    made = init(folder / "home", who="Ana")
    rows = [json.dumps({"chunk_id": name, "text": f"text {place}"}) for place, name in enumerate(ODD)]
    (folder / "t.jsonl").write_text("\n".join(rows), "utf-8")
    chunk_table.connect(made, "Ana", str(folder / "t.jsonl"))
    chunk_table.sync(made, "Ana")
    text = "".join(json.dumps({"query_id": name, "question": "Why?"}) + "\n" for name in ODD)
    import_queries(made, "Ana", ("q.jsonl", text.encode()))
    return made


@pytest.mark.parametrize("name", FORMS)
def test_odd_ids_survive(odd: Workspace, name: str) -> None:
    pairs = list(zip(ODD, reversed(ODD), strict=True))
    report = import_judgments(odd, "Ana", (name, FORMS[name](pairs).encode()), annotator=name)
    assert report.added == len(ODD)
    with odd.read() as connection:
        stored = {(one.query_id, one.chunk_id) for one in judgments.current(connection, annotator=name)}
    assert stored == set(pairs)


@pytest.mark.parametrize("bad", ["", "   ", "a\x07b", "a\x85b", "x" * 501])
@pytest.mark.parametrize("name", FORMS)
def test_what_is_no_id_is_refused(odd: Workspace, name: str, bad: str) -> None:
    if "\x07" in bad and name == "j.yaml":
        bad = "a\u200b\x85b"  # YAML itself cannot hold the bell
    with pytest.raises(InputError) as caught:
        import_judgments(odd, "Ana", (name, FORMS[name]([(bad, "007")]).encode()), annotator="x")
    assert caught.value.problems[0].field == "query_id"


def test_a_lone_surrogate_is_refused_and_shown(odd: Workspace, tmp_path: Path) -> None:
    row = b'{"query_id":"007","chunk_id":"a\\ud800","grade":2}'
    with pytest.raises(InputError, match=r"U\+D800"):
        import_judgments(odd, "Ana", ("j.jsonl", row), annotator="x")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), st.sampled_from([",", "\t", ";"]))
def test_every_cell_of_a_table_is_read_as_it_was_written(cells: list[tuple[str, str]], delimiter: str) -> None:
    target = io.StringIO()
    writer = csv.writer(target, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("query_id", "notes"), *cells])
    file = open_file(("t", target.getvalue().encode()), ["query_id"])
    rows = read_rows(file, {"query_id": "query_id", "notes": "notes"})
    assert file.problems == []
    assert [(row.values["query_id"], row.values["notes"]) for row in rows] == cells


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_and_nothing_else(data: bytes) -> None:
    for start in (b"", b"query_id,question\n", b'{"query_id":"', b"query_id: "):
        try:
            file = open_file(("f", start + data), ["query_id"])
            if file.form != "bare":  # bare columns are read elsewhere
                read_rows(file, {"query_id": "query_id"})
        except InputError:
            pass
