"""The formats a version is taken out in: read back they say the same; what one cannot hold is refused with the list."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.errors import Conflict, InputError
from annotator.gold.archive import FolderFiles
from annotator.gold.export import FORMATS, download, export
from annotator.gold.goldset import GoldSet
from annotator.gold.release import Case, ChunkKeys, build
from annotator.gold.sheet import HEADER, harmless, original
from annotator.model import Chunk, Evidence, GoldLabel, GoldQuery, Judgment, id_fault, text_hash

TEXTS = {
    "c1": "Refunds after 30 days need the approval of the VP Finance.",
    "c2": "Batteries are replaced every two years.",
    "c 3": "=SUM(A1)\n\r\u2028\x85 with every sort of line end, \x00 and “quotes”",
}
DOCUMENTS = {"c1": "d1", "c2": "d1", "c 3": ""}

texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=30),
    st.sampled_from(
        ["yes", "null", "a: b", "# no", "'=1+1", "=cmd|' /C calc'!A0", "-1", "007", "- x", "two\nlines", "~"]
    ),
)
ids = st.one_of(
    st.sampled_from(
        ["007", "1e5", "NA", "null", "a b/c#d", "✓ 👍🏽", "x" * 500, "‮right", "[1]", "{a", "=1", "'+", "---"]
    ),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12),
).filter(lambda value: not id_fault(value))


def kept(keys: ChunkKeys) -> Iterable[tuple[str, Chunk]]:
    for place, (chunk_id, sha256) in enumerate(keys):
        text = TEXTS.get(chunk_id, f"text of {chunk_id}")
        yield sha256, Chunk(chunk_id, text, DOCUMENTS.get(chunk_id, ""), "Handbook", 10 - place)


def release(*queries: GoldQuery) -> dict[str, bytes]:
    judged = [
        Case(query, tuple(Judgment(query.query_id, one.chunk_id, "ana", 1, sha256=one.sha256) for one in query.gold))
        for query in queries
    ]
    with tempfile.TemporaryDirectory() as folder:
        in_order = sorted(judged, key=lambda case: case.query.query_id)
        build(in_order, kept, {"name": "policies", "version": 3}, Path(folder))
        return dict(FolderFiles(Path(folder)))


def label(chunk_id: str, grade: int, *quotes: tuple[int, int], **fields: object) -> GoldLabel:
    text = TEXTS.get(chunk_id, f"text of {chunk_id}")
    evidence = tuple(Evidence(text[start:end], start, end) for start, end in quotes)
    doc_id = DOCUMENTS.get(chunk_id, "")
    return GoldLabel(chunk_id, grade, evidence=evidence, doc_id=doc_id, sha256=text_hash(text), **fields)  # type: ignore[arg-type]


@pytest.fixture
def files() -> dict[str, bytes]:
    return release(
        GoldQuery(
            "q1",
            "Who approves refunds?",
            (
                label("c1", 3, (14, 21), (31, 43), reason="names the VP", settled_by="unanimous"),
                label("c2", 0, stale=True, settled_by="rosa"),
            ),
            {"domain": "policy", "risk": "high"},
            notes="no, not the lead",
        ),
        GoldQuery("q2", "What is the moon made of?", (), {}, True),
    )


@st.composite
def gold_queries(draw: st.DrawFn) -> list[GoldQuery]:
    made = []
    for query_id in draw(st.lists(ids, min_size=1, max_size=3, unique=True)):
        chunk_ids = draw(st.lists(st.one_of(ids, st.sampled_from(sorted(TEXTS))), max_size=3, unique=True))
        stale = draw(st.booleans())
        labels = tuple(
            label(
                chunk_id,
                0 if stale else draw(st.integers(0, 3)),
                *draw(st.sampled_from([(), ((0, 3),), ((0, 1), (2, 4))])),
                stale=stale,
                reason=draw(texts),
                settled_by=draw(st.sampled_from(["unanimous", "rosa"])),
            )
            for chunk_id in chunk_ids
        )
        facets = {name: value for name, value in draw(st.dictionaries(ids, texts, max_size=2)).items() if value}
        unanswerable = draw(st.booleans()) or not labels
        made.append(GoldQuery(query_id, draw(texts), best_first(labels), facets, unanswerable, draw(texts)))
    return made


def best_first(labels: Iterable[GoldLabel]) -> tuple[GoldLabel, ...]:
    return tuple(sorted(labels, key=lambda one: (-one.relevance, one.chunk_id)))


@settings(max_examples=150, deadline=None)
@given(gold_queries(), st.sampled_from(["native", "jsonl", "yaml", "csv"]))
def test_whatever_ids_and_texts_come_back(queries: list[GoldQuery], form: str) -> None:
    files = release(*queries)
    with tempfile.TemporaryDirectory() as folder:
        name, content = download(files, form)
        (Path(folder) / name).write_bytes(content)
        loaded = GoldSet.load(Path(folder) / name)
    assert dict(loaded.details) == {query.query_id: query for query in queries}


@settings(max_examples=150, deadline=None)
@given(gold_queries())
def test_judgments_for_other_tools_come_back_with_all_grades(queries: list[GoldQuery]) -> None:
    grades = {query.query_id: {one.chunk_id: one.relevance for one in query.gold} for query in queries if query.gold}
    files = release(*queries)
    odd = re.compile(r"\s")
    for form, qrels in (("beir", "qrels/test.tsv"), ("trec", "qrels")):
        named = [*grades, *(query.query_id for query in queries), *(id for one in grades.values() for id in one)]
        lines = any("\n" in query.question or "\r" in query.question for query in queries)
        marks = any(query.query_id.startswith(("#", "\ufeff")) for query in queries)
        if form == "trec" and (lines or marks or any(odd.search(value) for value in named)):
            with pytest.raises(InputError, match="cannot be written as TREC"):
                download(files, form)
        elif grades:
            with tempfile.TemporaryDirectory() as folder:
                export(files, Path(folder) / "out", form)
                assert GoldSet.load(Path(folder) / "out" / qrels).grades == grades


@settings(max_examples=100, deadline=None)
@given(gold_queries())
def test_other_programs_read_the_yaml_as_text_too(queries: list[GoldQuery]) -> None:
    (_, content) = download(release(*queries), "yaml")
    rows = [json.loads(row) for row in release(*queries)["gold.jsonl"].split(b"\n") if row]
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        read = list(yaml.load_all(content.decode(), loader))
        assert [row | {"slice": row.get("slice", {})} for row in read] == rows


@given(texts)
def test_a_cell_made_harmless_is_exactly_given_back(cell: str) -> None:
    assert original(harmless(cell)) == cell
    assert not harmless(cell).lstrip().startswith(("=", "+", "-", "@", "＝"))


def test_a_spreadsheet_has_nothing_to_run_and_ids_of_other_files_are_left_alone(tmp_path: Path) -> None:
    made = release(GoldQuery("=1+1", "=HYPERLINK(0)", (label("@c", 2, reason="-2+3"),), {"=f": "+x"}))
    text = download(made, "csv")[1].decode("utf-8-sig")
    (head, row) = csv.reader(StringIO(text, newline=""))
    assert tuple(head) == (*HEADER, "'=f")
    assert [row[0], row[1], row[4], row[8], row[-1]] == ["'=1+1", "'=HYPERLINK(0)", "'@c", "'-2+3", "'+x"]
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("query_id,chunk_id,grade\n'=1,'@c,2\n")
    assert GoldSet.load(foreign).grades == {"'=1": {"'@c": 2}}


def test_a_sheet_saved_with_semicolons_is_the_same(files: dict[str, bytes], tmp_path: Path) -> None:
    rows = csv.reader(StringIO(download(files, "csv")[1].decode("utf-8-sig"), newline=""))
    saved = tmp_path / "saved.csv"
    with saved.open("w", newline="", encoding="utf-8") as target:
        csv.writer(target, delimiter=";").writerows(rows)
    (tmp_path / "gold.jsonl").write_bytes(files["gold.jsonl"])
    assert GoldSet.load(saved).details == GoldSet.load(tmp_path / "gold.jsonl").details


def test_yaml_is_as_people_write_it(files: dict[str, bytes]) -> None:
    assert (
        download(files, "yaml")[1].decode()
        == f"""\
---
query_id: q1
question: Who approves refunds?
notes: no, not the lead
slice:
  domain: policy
  risk: high
gold:
- chunk_id: c1
  relevance: 3
  reason: names the VP
  evidence:
  - quote: "30 days"
    start: 14
    end: 21
  - quote: "approval of "
    start: 31
    end: 43
  doc_id: d1
  settled_by: unanimous
  sha256: {sha(TEXTS["c1"])}
- chunk_id: c2
  relevance: 0
  stale: true
  doc_id: d1
  settled_by: rosa
  sha256: {sha(TEXTS["c2"])}
---
query_id: q2
question: What is the moon made of?
unanswerable: true
gold: []
"""
    )


def sha(text: str) -> str:
    digest = text_hash(text)
    return digest if digest[0].isalpha() else f'"{digest}"'


def test_trec_names_everything_it_cannot_hold(files: dict[str, bytes]) -> None:
    made = release(
        GoldQuery("q 1", "two\nlines", (label("c1", 3), label("c 3", 0))), GoldQuery("q2", "Who?", (label("c 3", 1),))
    )
    with pytest.raises(InputError) as error:
        download(made, "trec")
    found = [(problem.field, problem.value) for problem in error.value.problems]
    assert found == [("query_id", "q 1"), ("question", "two\nlines"), ("chunk_id", "c 3")]


def test_trec_beir_and_ragas_say_what_the_release_says(files: dict[str, bytes], tmp_path: Path) -> None:
    export(files, tmp_path / "trec", "trec")
    assert (tmp_path / "trec/qrels").read_text() == "q1 0 c1 3\nq1 0 c2 0\n"
    assert (tmp_path / "trec/topics.tsv").read_text() == "q1\tWho approves refunds?\nq2\tWhat is the moon made of?\n"
    export(files, tmp_path / "beir", "beir")
    assert (tmp_path / "beir/qrels/test.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\tc1\t3\nq1\tc2\t0\n"
    corpus = [json.loads(row) for row in (tmp_path / "beir/corpus.jsonl").read_text().splitlines()]
    assert corpus[0] == {"_id": "c1", "title": "Handbook", "text": TEXTS["c1"], "doc_id": "d1"}
    asked = json.loads((tmp_path / "beir/queries.jsonl").read_text().splitlines()[0])
    assert (asked["_id"], asked["text"], asked["slice"]) == (
        "q1",
        "Who approves refunds?",
        {"domain": "policy", "risk": "high"},
    )
    rows = [json.loads(row) for row in download(files, "ragas")[1].decode().splitlines()]
    assert rows == [
        {
            "user_input": "Who approves refunds?",
            "reference_context_ids": ["c1"],
            "reference_contexts": [TEXTS["c1"]],
        },
        {"user_input": "What is the moon made of?", "reference_context_ids": [], "reference_contexts": []},
    ]


def test_a_document_has_the_best_grade_of_its_chunks_and_a_span_is_a_quote(files: dict[str, bytes]) -> None:
    assert FORMATS["trec"].write(files, "document")["qrels"] == b"q1 0 d1 3\n"
    assert FORMATS["trec"].write(files, "span")["qrels"] == b"q1 0 c1:14-21 3\nq1 0 c1:31-43 3\nq1 0 c2 0\n"
    (document,) = FORMATS["beir"].write(files, "document")["corpus.jsonl"].splitlines()
    assert json.loads(document)["text"] == f"{TEXTS['c2']}\n\n{TEXTS['c1']}"  # in the order of the document
    (quoted, _) = FORMATS["ragas"].write(files, "span")["ragas.jsonl"].splitlines()
    assert json.loads(quoted)["reference_contexts"] == ["30 days", "approval of "]


def test_a_level_the_format_does_not_have_is_refused_naming_those_that_do(files: dict[str, bytes]) -> None:
    with pytest.raises(InputError, match="trec, beir, ragas"):
        download(files, "yaml", "document")
    with pytest.raises(InputError, match="chunk, document, span"):
        download(files, "trec", "page")


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_version_is_the_same_bytes(form: str, files: dict[str, bytes]) -> None:
    backwards = dict(reversed(files.items()))
    assert download(files, form) == download(backwards, form)


def test_a_folder_with_folders_inside_is_left_when_it_holds_the_same(files: dict[str, bytes], tmp_path: Path) -> None:
    export(files, tmp_path / "out", "beir")
    export(files, tmp_path / "out", "beir")
    (tmp_path / "out/qrels/test.tsv").write_text("mine")
    with pytest.raises(Conflict):
        export(files, tmp_path / "out", "beir")
    assert (tmp_path / "out/qrels/test.tsv").read_text() == "mine"
