"""Files as other people publish them: they come in with the right options, or the message says exactly what to do."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.services import chunk_table
from annotator.services.importing import grades_found, import_judgments, import_queries
from annotator.services.workspace import init
from annotator.store import judgments, queries
from annotator.store.database import Workspace

CRANFIELD = {"1": 3, "2": 2, "3": 1, "4": 1, "-1": 0}


@pytest.fixture
def home(tmp_path: Path) -> Workspace:
    init(tmp_path / "home", who="Ana")
    return Workspace(tmp_path / "home")


@pytest.fixture
def cranfield(home: Workspace, shared: Path) -> Workspace:
    chunk_table.connect(home, "Ana", str(shared / "corpora/cranfield/chunks.jsonl"))
    chunk_table.sync(home, "Ana")
    import_queries(home, "Ana", shared / "corpora/cranfield/queries.jsonl")
    return home


def grades(home: Workspace) -> dict[tuple[str, str], int | None]:
    with home.read() as connection:
        return {(one.query_id, one.chunk_id): one.grade for one in judgments.current(connection)}


def test_cranfields_json_calls_the_grade_position_and_comes_in_with_its_columns_named(
    cranfield: Workspace, shared: Path
) -> None:
    original = shared / "corpora/cranfield/original"
    with pytest.raises(InputError, match="--column NAME=query_id"):
        import_judgments(cranfield, "Ana", original / "cranqrel.json", annotator="Ana", grades=CRANFIELD)
    columns = {"query_num": "query_id", "id": "chunk_id", "position": "grade"}
    import_judgments(cranfield, "Ana", original / "cranqrel.json", annotator="Ana", grades=CRANFIELD, columns=columns)
    again = import_judgments(cranfield, "Ana", original / "cranqrel", annotator="Ana", grades=CRANFIELD)
    assert (again.added, again.changed, again.unchanged) == (0, 225, 1612)  # the JSON lost the sign of every -1
    assert Counter(grades(cranfield).values()) == {0: 225, 1: 1097, 2: 387, 3: 128}


def test_the_grades_of_a_file_are_counted_before_they_are_mapped(shared: Path) -> None:
    found = grades_found(shared / "corpora/cranfield/original/cranqrel")
    assert sum(found.values()) == 1837
    assert set(found) == {"-1", "1", "2", "3", "4"}
    found = grades_found(
        shared / "corpora/medquad_liveqa/original/All-qrels_LiveQAMed2017-TestQuestions_2479_Judged-Answers.txt"
    )
    assert set(found) == {"1-Incorrect", "2-Related", "3-Incomplete", "4-Excellent"}
    assert sum(found.values()) == 2479


@pytest.mark.parametrize(("name", "kind"), [("cran.qry", "SMART"), ("cran.qry.xml", "XML"), ("cran.all.1400", "SMART")])
def test_forms_that_are_not_read_say_what_to_write_and_how_questions_are_counted(
    home: Workspace, shared: Path, name: str, kind: str
) -> None:
    with pytest.raises(InputError, match=f"is {kind}, which is not read") as error:
        import_queries(home, "Ana", shared / "corpora/cranfield/original" / name)
    assert "number them 1, 2, 3" in error.value.hint


def test_questions_without_ids_say_so_once_and_come_in_when_they_are_numbered(
    home: Workspace, shared: Path, tmp_path: Path
) -> None:
    original = shared / "corpora/chroma_chunking_eval/original/questions_df.csv"
    with pytest.raises(InputError) as error:
        import_queries(home, "Ana", original)
    (problem,) = error.value.problems
    assert str(problem).endswith(
        "line 1: the header has no column query_id (found 'question, references, corpus_id'). "
        "Add it, or say which it is: --column NAME=query_id."
    )
    with original.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    numbered = tmp_path / "numbered.csv"
    with numbered.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["query_id", *rows[0]], *([str(n), *row] for n, row in enumerate(rows[1:], 1))])
    with pytest.raises(InputError, match="--column references="):
        import_queries(home, "Ana", numbered)
    assert import_queries(home, "Ana", numbered, columns={"references": ""}).added == 472
    with home.read() as connection:
        assert queries.find(connection, "1").facets == {"corpus_id": "state_of_the_union"}  # type: ignore[union-attr]


def test_json_lines_without_ids_say_which_fields_to_leave_out(home: Workspace, shared: Path, tmp_path: Path) -> None:
    original = shared / "corpora/anthropic_contextual/original/evaluation_set.first20.jsonl"
    with pytest.raises(InputError) as error:
        import_queries(home, "Ana", original)
    told = Counter(problem.mend for problem in error.value.problems)
    assert told["Give every question an id of its own, or say which field it is: --column NAME=query_id."] == 20
    fields = [name for name in json.loads(original.read_text("utf-8").splitlines()[0]) if name != "query"]
    numbered = tmp_path / "numbered.jsonl"
    lines = enumerate(original.read_text("utf-8").splitlines(), 1)
    numbered.write_text(
        "\n".join(json.dumps({"query_id": f"q{n:03}", **json.loads(line)}) for n, line in lines), "utf-8"
    )
    assert import_queries(home, "Ana", numbered, columns=dict.fromkeys(fields, "")).added == 20


def test_answers_and_nested_files_are_no_judgments_and_say_what_is_expected(home: Workspace, shared: Path) -> None:
    answers = shared / "corpora/medquad_liveqa/original/All-2479-Answers-retrieved-from-MedQuAD.csv"
    with pytest.raises(InputError, match="query, 0, chunk, grade; or a table with a header: query_id, chunk_id, grade"):
        import_judgments(home, "Ana", answers, annotator="Ana")
    with pytest.raises(InputError, match="Give every question an id of its own"):
        import_queries(home, "Ana", shared / "corpora/xquad_12lang/original/xquad.ar.json")


def test_a_column_cannot_be_what_there_is_not(home: Workspace) -> None:
    with pytest.raises(InputError, match="There are: query_id, question"):
        import_queries(home, "Ana", ("q.csv", b"a,b\n1,2\n"), columns={"a": "queryid"})


def test_the_last_rows_are_shown_beside_the_first(home: Workspace) -> None:
    rows = b"".join(b"q%d\tWhat is %d?\n" % (number, number) for number in range(1, 31))
    report = import_queries(home, "Ana", ("topics.tsv", rows), dry_run=True)
    assert [row["query_id"] for row in report.last_rows] == ["q26", "q27", "q28", "q29", "q30"]
    assert len(import_queries(home, "Ana", ("topics.tsv", rows[:200]), dry_run=True).last_rows) == 0
