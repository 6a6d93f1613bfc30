"""Importing judgments: forms, foreign scales, conflicts, unknown ids, idempotence, the record left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.model import Evidence, Judgment
from annotator.services import chunk_table, gold, labelling, overview
from annotator.services.importing import ImportReport, import_judgments, import_queries
from annotator.services.workspace import Workspace, init
from annotator.store import decisions, judged_texts, judgments, people

HEADER = "query_id\tchunk_id\tgrade\n"


def take(workspace: Workspace, text: str, name: str = "j.tsv", **more: object) -> ImportReport:
    more = {"annotator": "Cleo", **more}
    return import_judgments(workspace, "Ana", (name, text.encode()), **more)  # type: ignore[arg-type]


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.skipped


def in_force(workspace: Workspace) -> dict[tuple[str, str, str], Judgment]:
    with workspace.read() as connection:
        return {(one.query_id, one.chunk_id, one.annotator): one for one in judgments.current(connection)}


def faults(workspace: Workspace, text: str, name: str = "j.tsv", **more: object) -> InputError:
    before = in_force(workspace)
    with pytest.raises(InputError) as caught:
        take(workspace, text, name, **more)
    assert in_force(workspace) == before
    return caught.value


def test_grades_are_recorded_with_the_text_that_stands_now(workspace: Workspace) -> None:
    assert counts(take(workspace, HEADER + "q1\trefunds-v4#2\t3\nq1\ttravel#1\t0\n")) == (2, 0, 0, 0)
    one = in_force(workspace)["q1", "refunds-v4#2", "Cleo"]
    assert (one.grade, one.origin, one.reason) == (3, "import", "")
    with workspace.read() as connection:
        ((_, chunk),) = judged_texts.chunks(connection, [("refunds-v4#2", one.sha256)])
        found = people.find(connection, "Cleo")
    assert chunk.text.startswith("Enterprise refunds after 30 days")
    assert found is not None
    assert found.role == "annotator"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("j.csv", "query_id,chunk_id,relevance\nq1,errors#1,2\n"),
        ("j.csv", "query-id,corpus-id,score\nq1,errors#1,2.0\n"),
        ("j.jsonl", '{"query_id":"q1","chunk_id":"errors#1","grade":2}\n'),
        ("j.jsonl", '{"query_id":"q1","question":"Who?","gold":[{"chunk_id":"errors#1","relevance":2}]}\n'),
        ("j.yaml", "query_id: q1\nquestion: Who?\ngold:\n- chunk_id: errors#1\n  relevance: 2\n"),
        ("qrels", "q1 0 errors#1 2\r\n"),
        ("three", "q1 errors#1 2 \n"),
        ("three", "q1 2 errors#1\n"),
    ],
)
def test_every_form_says_the_same(workspace: Workspace, name: str, text: str) -> None:
    take(workspace, text, name)
    ((key, one),) = in_force(workspace).items()
    assert (key, one.grade) == (("q1", "errors#1", "Cleo"), 2)


def test_every_field_of_a_row_is_kept(workspace: Workspace) -> None:
    row = {
        "query_id": "q1",
        "chunk_id": "refunds-v3#1",
        "annotator": "Dora",
        "grade": 0,
        "stale": True,
        "reason": "superseded",
        "evidence": [{"quote": "The sales team", "start": 33, "end": 47}],
        "judged_at": "2026-03-01T10:30:00+01:00",
    }
    take(workspace, json.dumps(row), "j.jsonl", annotator="")
    one = in_force(workspace)["q1", "refunds-v3#1", "Dora"]
    assert (one.grade, one.stale, one.reason, one.judged_at) == (0, True, "superseded", "2026-03-01T09:30:00.000Z")
    assert one.evidence == (Evidence("The sales team", 33, 47),)


def test_a_quote_alone_is_located_and_one_that_is_not_there_refused(workspace: Workspace) -> None:
    row = '{"query_id":"q1","chunk_id":"travel#2","grade":2,"evidence":["🚆 tickets"]}'
    take(workspace, row, "j.jsonl")
    assert in_force(workspace)["q1", "travel#2", "Cleo"].evidence == (Evidence("🚆 tickets", 41, 50),)
    error = faults(workspace, row.replace("🚆 tickets", "no such words at all"), "j.jsonl")
    assert [(problem.line, problem.field) for problem in error.problems] == [(1, "evidence")]


def test_cannot_judge_has_no_grade(workspace: Workspace) -> None:
    take(workspace, '{"query_id":"q1","chunk_id":"errors#1","grade":null,"cannot_judge":true,"reason":"jargon"}', "j")
    assert in_force(workspace)["q1", "errors#1", "Cleo"].grade is None


def test_no_grade_in_a_release_s_own_row_is_cannot_judge_and_a_fault_in_any_other(workspace: Workspace) -> None:
    row = '{"annotator":"Ida","query_id":"q1","chunk_id":"errors#1","grade":null,"reason":"jargon"}'
    error = faults(workspace, row, "j.jsonl")
    assert [(problem.line, problem.field) for problem in error.problems] == [(1, "grade")]
    take(workspace, row.replace("{", '{"kind":"judgment",', 1), "judgments.jsonl")
    assert in_force(workspace)["q1", "errors#1", "Ida"].grade is None


def test_the_same_file_twice_changes_nothing_whatever_its_form(workspace: Workspace) -> None:
    take(workspace, HEADER + "q1\terrors#1\t2\nq2\terrors#1\t0\n")
    assert counts(take(workspace, "q1 0 errors#1 2\nq2 0 errors#1 0\n", "qrels")) == (0, 0, 2, 0)


def test_a_later_judgment_is_not_undone_by_importing_the_old_file_again(workspace: Workspace) -> None:
    old = HEADER + "q1\terrors#1\t2\n"
    take(workspace, old)
    assert counts(take(workspace, HEADER + "q1\terrors#1\t3\n")) == (0, 1, 0, 0)
    again = take(workspace, old)
    assert counts(again) == (0, 0, 0, 1)
    assert "the later judgment stands" in again.warnings[0]
    assert in_force(workspace)["q1", "errors#1", "Cleo"].grade == 3


def test_a_file_without_reasons_leaves_the_reason_of_an_equal_grade(workspace: Workspace) -> None:
    take(workspace, "query_id,chunk_id,grade,reason\nq1,errors#1,2,names the code\n", "j.csv")
    assert counts(take(workspace, "q1 0 errors#1 2\n", "qrels")) == (0, 0, 1, 0)
    assert in_force(workspace)["q1", "errors#1", "Cleo"].reason == "names the code"


def test_foreign_grades_are_refused_with_the_list_and_taken_when_mapped(workspace: Workspace) -> None:
    text = HEADER + "q1\terrors#1\t-1\nq2\terrors#1\t4\nq3\terrors#1\t1\nq3\ttravel#1\t4\n"
    error = faults(workspace, text)
    assert "'-1' (1), '4' (2)" in error.hint
    assert [problem.line for problem in error.problems] == [2, 3, 5]
    report = take(workspace, text, grades={"-1": 0, "4": 3})
    assert sorted((one.query_id, one.grade) for one in in_force(workspace).values()) == [
        ("q1", 0),
        ("q2", 3),
        ("q3", 1),
        ("q3", 3),
    ]
    assert report.warnings == ("Grades without a mapping were taken as they are: 1 (1).",)


@pytest.mark.parametrize(("conflicts", "grade"), [("highest", 3), ("lowest", 0), ("last", 2)])
def test_two_grades_by_one_person_for_one_pair(workspace: Workspace, conflicts: str, grade: int) -> None:
    text = HEADER + "q1\terrors#1\t0\nq1\terrors#1\t3\nq1\terrors#1\t2\nq2\terrors#1\t1\nq2\terrors#1\t1\n"
    error = faults(workspace, text)
    assert [problem.line for problem in error.problems] == [3, 4]
    assert "line 2 has grade 0" in error.problems[0].message
    report = take(workspace, text, conflicts=conflicts)
    assert in_force(workspace)["q1", "errors#1", "Cleo"].grade == grade
    assert counts(report) == (2, 0, 1, 0)


def test_unknown_ids_are_refused_with_near_ones(workspace: Workspace) -> None:
    error = faults(workspace, HEADER + "q1\terrors#\t2\nq11\terrors#1\t2\nzzzz\tnowhere\t1\n")
    assert [(problem.line, problem.field, problem.mend) for problem in error.problems] == [
        (2, "chunk_id", "Near: errors#1."),
        (3, "query_id", "Near: q1."),
        (4, "query_id", "Import the questions first."),
        (4, "chunk_id", "No id looks like it; was the table synced?"),
    ]


def test_all_faults_of_a_row_and_of_a_file_are_told_together(workspace: Workspace) -> None:
    rows = (
        '{"query_id":1,"chunk_id":"errors#1","grade":2}\n'
        '{"query_id":"q1","chunk_id":"errors#1"}\n'
        '{"query_id":"q1","chunk_id":"errors#1","grade":2.5}\n'
        '{"query_id":"q1","chunk_id":"errors#1","grade":true}\n'
        '{"query_id":"q1","chunk_id":"errors#1","grade":2,"stale":true}\n'
        '{"query_id":"q1","chunk_id":"errors#1","grade":2,"cannot_judge":true}\n'
        '{"query_id":"q1","chunk_id":"errors#1","grade":2,"judged_at":"yesterday","evidence":[{}],"reason":3}\n'
    )
    told = [(problem.line, problem.field) for problem in faults(workspace, rows, "j.jsonl").problems]
    assert told == [
        (1, "query_id"),
        (2, "grade"),
        (3, "grade"),
        (4, "grade"),
        (5, "stale"),
        (6, "grade"),
        (7, "reason"),
        (7, "evidence"),
        (7, "judged_at"),
    ]


def test_who_judged_has_to_be_known(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="does not say who judged"):
        take(workspace, "q1 0 errors#1 2\n", "qrels", annotator="")


def test_a_judgment_about_another_text_is_refused(workspace: Workspace) -> None:
    row = '{"query_id":"q1","chunk_id":"errors#1","grade":2,"sha256":"' + "0" * 64 + '"}'
    assert faults(workspace, row, "j.jsonl").problems[0].field == "sha256"


def test_a_dry_run_writes_nothing(workspace: Workspace) -> None:
    assert counts(take(workspace, HEADER + "q1\terrors#1\t2\n", dry_run=True)) == (1, 0, 0, 0)
    assert in_force(workspace) == {}


def test_only_good_rows_gives_the_rest_back(workspace: Workspace) -> None:
    report = take(workspace, HEADER + "q1\terrors#1\t2\nq1\tnowhere\t2\nq2\terrors#1\t9\n", only_good=True)
    assert report.added == 1
    assert report.rest == HEADER + "q1\tnowhere\t2\nq2\terrors#1\t9\n"


def test_an_imported_judgment_can_be_graded_over_on_the_screen(workspace: Workspace) -> None:
    take(workspace, HEADER + "q1\terrors#1\t2\n", annotator="Ben")
    now = in_force(workspace)["q1", "errors#1", "Ben"]
    change = labelling.Operation(
        id="o1", kind="judge", who="Ben", query_id="q1", chunk_id="errors#1", sha256=now.sha256, grade=1
    )
    labelling.apply(workspace, "Ben", [change])
    with workspace.read() as connection:
        assert [one.grade for one in judgments.history(connection, "q1", "errors#1")] == [2, 1]


CRANFIELD = {"1": 3, "2": 2, "3": 1, "4": 1, "-1": 0}
MEDQUAD = {"1-Incorrect": 0, "2-Related": 1, "3-Incomplete": 2, "4-Excellent": 3}


def corpus(tmp_path: Path, folder: Path) -> Workspace:
    made = init(tmp_path / "corpus", who="Ana")
    chunk_table.connect(made, "Ana", str(folder / "chunks.jsonl"))
    chunk_table.sync(made, "Ana", duplicates="first")
    import_queries(made, "Ana", folder / "queries.jsonl")
    return made


def test_cranfield_with_its_inverted_scale_says_the_same_in_all_its_files(tmp_path: Path, shared: Path) -> None:
    folder = shared / "corpora" / "cranfield"
    made = corpus(tmp_path, folder)
    report = import_judgments(made, "Ana", folder / "qrels.tsv", annotator="Cleverdon")
    assert report.added == 1837
    for name in ("qrels_raw.tsv", "original/cranqrel"):
        report = import_judgments(made, "Ana", folder / name, annotator="Cleverdon", grades=CRANFIELD)
        assert counts(report) == (0, 0, 1837, 0)


def test_medquad_pairs_judged_twice_are_refused_until_told_which_counts(tmp_path: Path, shared: Path) -> None:
    folder = shared / "corpora" / "medquad_liveqa"
    made = corpus(tmp_path, folder)
    with pytest.raises(InputError) as caught:
        import_judgments(made, "Ana", folder / "qrels.tsv", annotator="nlm")
    assert len(caught.value.problems) == 168
    report = import_judgments(made, "Ana", folder / "qrels.tsv", annotator="nlm", conflicts="highest")
    assert report.added == 2479 - 168
    original = folder / "original" / "All-qrels_LiveQAMed2017-TestQuestions_2479_Judged-Answers.txt"
    for path in (folder / "qrels_raw.tsv", original):
        report = import_judgments(made, "Ana", path, annotator="nlm", conflicts="highest", grades=MEDQUAD)
        assert counts(report) == (0, 0, 2479 - 168, 0)


def test_questions_and_judgments_in_twelve_languages(tmp_path: Path, shared: Path) -> None:
    folder = shared / "corpora" / "xquad_12lang"
    made = corpus(tmp_path, folder)
    assert import_judgments(made, "Ana", folder / "qrels.tsv", annotator="xquad").added == 14280


DECIDED = (
    '{"query_id":"q1","chunk_id":"errors#1","annotator":"Cleo","grade":3}\n'
    '{"query_id":"q1","chunk_id":"errors#1","annotator":"Ben","grade":0}\n'
    '{"query_id":"q1","chunk_id":"errors#1","reviewer":"Rita","grade":2,"reason":"half","decided_at":"2026-03-01T09:00:00Z"}\n'
    '{"query_id":"q1","chunk_id":"errors#1","reviewer":"Rita","grade":1,"reason":"less","decided_at":"2026-03-02T09:00:00Z"}\n'
)


def test_decisions_of_reviewers_come_along_in_their_order_and_once(workspace: Workspace) -> None:
    assert counts(take(workspace, DECIDED, "j.jsonl", annotator="")) == (4, 0, 0, 0)
    assert counts(take(workspace, DECIDED, "j.jsonl", annotator="")) == (0, 0, 4, 0)
    with workspace.read() as connection:
        assert [(one.reviewer, one.grade) for one in decisions.in_force(connection)] == [("Rita", 2), ("Rita", 1)]
        found = people.find(connection, "Rita")
    assert found is not None
    assert found.role == "reviewer"


@pytest.mark.parametrize("packed", [False, True])
def test_a_release_brings_everything_along(workspace: Workspace, tmp_path: Path, packed: bool) -> None:
    take(workspace, DECIDED, "j.jsonl", annotator="")
    take(workspace, HEADER + "q2\ttravel#1\t0\nq2\trefunds-v4#1\t3\n")
    version = gold.release(workspace, "Ana", name="first")
    place = tmp_path / ("first.zip" if packed else "first")
    gold.export_version(workspace, version.version, place)
    other = init(tmp_path / "other", who="Ana")
    chunk_table.connect(other, "Ana", str(tmp_path / "handbook.jsonl"))
    chunk_table.sync(other, "Ana")

    dry = import_judgments(other, "Ana", place, dry_run=True)
    assert counts(dry) == (6, 0, 0, 0)
    assert in_force(other) == {}
    source = (place.name, place.read_bytes()) if packed else place
    report = import_judgments(other, "Ana", source)
    assert counts(report) == (6, 0, 0, 0)
    assert report.warnings == ("Questions: 2 added, 0 were here already and are left as they are.",)
    assert counts(import_judgments(other, "Ana", source)) == (0, 0, 6, 0)
    assert gold.release(other, "Ana", name="first").digest == version.digest


def test_texts_of_a_release_that_the_chunk_table_lacks_are_kept_and_count_as_drifted(
    workspace: Workspace, tmp_path: Path
) -> None:
    take(workspace, HEADER + "q2\ttravel#1\t0\nq2\trefunds-v4#1\t3\n")
    gold.export_version(workspace, gold.release(workspace, "Ana").version, tmp_path / "out")
    empty = init(tmp_path / "empty", who="Ana")
    report = import_judgments(empty, "Ana", tmp_path / "out")
    assert "2 of 2 judged texts are not in the chunk table now" in report.warnings[1]
    assert overview.status(empty)["drift"] == 2
    one = in_force(empty)["q2", "travel#1", "Cleo"]
    with empty.read() as connection:
        ((_, chunk),) = judged_texts.chunks(connection, [("travel#1", one.sha256)])
    assert (chunk.text, chunk.doc_id, chunk.position) == ("Train journeys are booked in second class.", "travel", 0)


def test_a_release_that_was_altered_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    take(workspace, HEADER + "q2\trefunds-v4#1\t3\n")
    gold.export_version(workspace, gold.release(workspace, "Ana").version, tmp_path / "out")
    rows = tmp_path / "out" / "judgments.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b'"grade":3', b'"grade":2'))
    with pytest.raises(InputError, match="not as it was released"):
        import_judgments(workspace, "Ana", tmp_path / "out")


def test_ids_are_looked_up_in_faulty_rows_too(workspace: Workspace) -> None:
    error = faults(workspace, HEADER + "q0\terrors#2\t9\n")
    assert sorted(problem.field for problem in error.problems) == ["chunk_id", "grade", "query_id"]
