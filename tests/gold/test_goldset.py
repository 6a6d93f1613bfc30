"""Gold in every accepted form means the same, and what is wrong with a file is named with its line."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from annotator.errors import AnnotatorError, InputError, NotFound
from annotator.gold.goldset import GoldSet

GRADES = {"q1": {"a": 3, "b": 0}, "q2": {"c": 1}}

QRELS = "q1 0 a 3\nq1 0 b 0\nq2 0 c 1\n"
TABLE = "query_id\tchunk_id\tgrade\nq1\ta\t3\nq1\tb\t0\nq2\tc\t1\n"
BEIR = "query-id\tcorpus-id\tscore\nq1\ta\t3\nq1\tb\t0\nq2\tc\t1\n"
COMMAS = 'query_id,chunk_id,reason,relevance\nq1,a,"yes, it says so",3\nq1,b,,0\nq2,c,,1\n'
JSON = '{"q1": {"a": 3, "b": 0}, "q2": {"c": 1}}'
NATIVE = """\
{"query_id":"q1","question":"Who approves?","gold":[{"chunk_id":"a","relevance":3,"reason":"says it",\
"evidence":[{"quote":"the VP","start":4,"end":10}],"doc_id":"d","sha256":"00"},{"chunk_id":"b","relevance":0,\
"stale":true,"settled_by":"majority"}],"slice":{"domain":"policy"}}
{"query_id":"q2","question":"When?","gold":[{"chunk_id":"c","relevance":1}]}
{"query_id":"q3","question":"Why?","gold":[],"unanswerable":true}
"""
YAML = """\
query_id: q1
question: Who approves?
gold:
  - chunk_id: a
    relevance: 3
    reason: says it
    evidence:
      - quote: the VP
  - chunk_id: b
    relevance: 0
slice:
  domain: policy
---
query_id: q2
question: When?
gold:
  - {chunk_id: c, relevance: 1}
---
query_id: q3
unanswerable: true
"""


def load(folder: Path, text: str | bytes, name: str = "gold") -> GoldSet:
    (folder / name).write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return GoldSet.load(folder / name)


@pytest.mark.parametrize("text", [QRELS, TABLE, BEIR, COMMAS, JSON, NATIVE, YAML])
def test_every_form_gives_the_same_grades(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text).grades == GRADES


@pytest.mark.parametrize("text", [QRELS, TABLE, COMMAS, JSON, NATIVE, YAML])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_and_windows_line_ends_change_nothing(tmp_path: Path, text: str, encoding: str) -> None:
    assert load(tmp_path, text.replace("\n", "\r\n").encode(encoding)).grades == GRADES
    assert load(tmp_path, text.replace("\n", "\r").encode(encoding)).grades == GRADES  # as Excel saves for a Macintosh
    assert load(tmp_path, gzip.compress(text.encode(encoding))).grades == GRADES


def test_what_unpacks_to_something_huge_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotator.gold.textfile.SMALL", 1_000_000)
    with pytest.raises(InputError, match="over 200 times its size"):
        load(tmp_path, gzip.compress(b" " * 2_000_000), "bomb.gz")


def test_aliases_that_stand_for_more_than_memory_holds_are_told_in_short(tmp_path: Path) -> None:
    bomb = "query_id: q1\nslice: &a0 [x, x]\n" + "".join(
        f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(20)
    )
    with pytest.raises(InputError, match="not text") as caught:
        load(tmp_path, f"{bomb}question: *a20\n", "bomb.yaml")
    assert max(len(problem.value) for problem in caught.value.problems) <= 1000


@pytest.mark.parametrize("text", [NATIVE, YAML])
def test_question_facets_and_evidence_come_along(tmp_path: Path, text: str) -> None:
    gold = load(tmp_path, text)
    label = gold.labels("q1")[0]
    assert (gold.details["q1"].question, label.reason, label.evidence[0].quote) == (
        "Who approves?",
        "says it",
        "the VP",
    )
    assert (gold.facets, gold.facet_value("q1", "domain"), gold.facet_value("q2", "domain")) == (
        ("domain",),
        "policy",
        "",
    )
    assert (gold.unanswerable, gold.judged_queries, gold.size, gold.judged_pairs) == (("q3",), ("q1", "q2"), 3, 3)


def test_native_labels_keep_what_a_release_says(tmp_path: Path) -> None:
    first, second = load(tmp_path, NATIVE).labels("q1")
    assert (first.doc_id, first.sha256, first.evidence[0].start) == ("d", "00", 4)
    assert (second.stale, second.settled_by) == (True, "majority")


def release(folder: Path) -> Path:
    place = folder / "policies-v3"
    place.mkdir()
    (place / "gold.jsonl").write_text(NATIVE, "utf-8")
    (place / "manifest.json").write_text('{"name": "policies", "version": 3, "digest": "abc"}', "utf-8")
    (place / "chunks.jsonl").write_text('{"chunk_id": "a", "text": "Ask the VP."}\n', "utf-8")
    sums = "".join(f"{sha256((place / n).read_bytes()).hexdigest()}  {n}\n" for n in ("gold.jsonl", "chunks.jsonl"))
    (place / "SHA256SUMS").write_text(sums, "utf-8")
    return place


def test_a_release_has_a_name_a_version_a_digest_and_texts(tmp_path: Path) -> None:
    gold = GoldSet.load(release(tmp_path))
    assert (gold.name, gold.version, gold.digest, gold.texts) == ("policies", 3, "abc", {"a": "Ask the VP."})


def test_a_zip_is_the_same_release(tmp_path: Path) -> None:
    place = release(tmp_path)
    with zipfile.ZipFile(tmp_path / "policies-v3.zip", "w") as archive:
        for file in place.iterdir():
            archive.write(file, f"policies-v3/{file.name}")
    assert GoldSet.load(tmp_path / "policies-v3.zip") == GoldSet.load(place)


def test_a_zip_is_read_once_so_that_it_may_come_through_a_pipe(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("r-v1/gold.jsonl", '{"query_id":"q","gold":[{"chunk_id":"a","relevance":1}]}\n')
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as writer:
        writer.submit((tmp_path / "pipe").write_bytes, (tmp_path / "r.zip").read_bytes())
        assert GoldSet.load(tmp_path / "pipe").grades == {"q": {"a": 1}}


def test_yaml_may_end_with_the_mark_of_another_document(tmp_path: Path) -> None:
    text = "---\n---\nquery_id: q\nunanswerable: False\ngold: [{chunk_id: a, relevance: 0, stale: True}]\n---\n"
    gold = load(tmp_path, text)
    assert (gold.grades, gold.labels("q")[0].stale, gold.unanswerable) == ({"q": {"a": 0}}, True, ())


def test_lines_may_end_in_every_way_within_one_file(tmp_path: Path) -> None:
    for text in ("q 0 a 1\rq 0 b 0\r\nr 0 c 2\n", "\nquery_id,chunk_id,grade\rq,a,1\nq,b,0\r\nr,c,2\n"):
        assert load(tmp_path, text).grades == {"q": {"a": 1, "b": 0}, "r": {"c": 2}}


def test_a_release_that_was_changed_is_not_scored_against(tmp_path: Path) -> None:
    place = release(tmp_path)
    (place / "gold.jsonl").write_text(NATIVE.replace('"relevance":3', '"relevance":2'), "utf-8")
    with pytest.raises(InputError, match=r"gold\.jsonl was changed"):
        GoldSet.load(place)


def test_a_folder_without_gold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a release"):
        GoldSet.load(tmp_path)
    (tmp_path / "manifest.json").write_text("{}", "utf-8")
    with pytest.raises(NotFound, match=r"no gold\.jsonl"):
        GoldSet.load(tmp_path)


def test_ids_that_look_like_something_else_survive(tmp_path: Path) -> None:
    ids = ["007", "1e5", "NA", "null", "true", "no", "1.0", "a/b#c", "café", "🍎", "x" * 500]
    rows = "".join(f"  - {{chunk_id: {chunk_id}, relevance: 1}}\n" for chunk_id in ids if "#" not in chunk_id)
    assert set(load(tmp_path, f"query_id: 007\ngold:\n{rows}").grades["007"]) == {i for i in ids if "#" not in i}
    for chunk_id in ids:
        assert load(tmp_path, f"1e5 0 {chunk_id} 1\n").grades == {"1e5": {chunk_id: 1}}
        assert load(tmp_path, json.dumps({"NA": {chunk_id: 1}})).grades == {"NA": {chunk_id: 1}}
        assert load(tmp_path, f"query_id\tchunk_id\tgrade\nnull\t{chunk_id}\t1\n").grades == {"null": {chunk_id: 1}}


def test_a_no_break_space_is_part_of_an_id_and_a_space_in_a_table_too(tmp_path: Path) -> None:
    assert load(tmp_path, "q 0 a\u00a0b 1\n").grades == {"q": {"a\u00a0b": 1}}
    assert load(tmp_path, "query_id\tchunk_id\tgrade\nq x\ta b\t1\n").grades == {"q x": {"a b": 1}}


def test_foreign_judgments_may_be_negative_or_high_our_own_not(tmp_path: Path) -> None:
    assert load(tmp_path, "q 0 a -10\nq 0 b 100\n").grades == {"q": {"a": -10, "b": 100}}
    with pytest.raises(InputError, match="outside 0 to 3"):
        load(tmp_path, '{"query_id":"q","gold":[{"chunk_id":"a","relevance":4}]}\n')


def test_identical_repeats_count_once_and_are_mentioned(tmp_path: Path) -> None:
    gold = load(tmp_path, "q 0 a 1\nq 0 a 1\n")
    assert (gold.grades, gold.judged_pairs) == ({"q": {"a": 1}}, 1)
    assert "1 judgments are repeated" in gold.warnings[0]


def test_queries_without_judgments_are_named_and_left_out(tmp_path: Path) -> None:
    gold = load(tmp_path, '{"query_id":"q1","gold":[{"chunk_id":"a","relevance":1}]}\n{"query_id":"q2","gold":[]}\n')
    assert gold.judged_queries == ("q1",)
    assert "q2" in gold.warnings[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "q 0 a 1\nq 0 a 2\n",
            "line 2, field grade: conflicting judgments for (q, a): 1 and 2. The first is in line 1",
        ),
        ("q 0 a 1\nq 0 b 1.5\n", "line 2, field grade: grade of (q, b) is not a whole number (found '1.5')"),
        ("q 0 a 101\n", "line 1, field grade: grade of (q, a) is outside -10 to 100"),
        ("q 0 a 0,5\n", "not a whole number (found '0,5')"),
        ("q 0 a 1\nq a 1\n", "line 2: 3 columns instead of 4"),
        ("q 0 a\x01 1\n", "line 1, field chunk_id: id has the control character U+0001"),
        ('{"q": {"": 1}}', "id is empty"),
        ('{"q": {"a": 1, "a": 2}}', "conflicting judgments for (q, a): 1 and 2"),
        ('{"q": {"a": true}}', "grade of (q, a) is not a whole number (found 'true')"),
        ('{"q": {"a": NaN}}', "not a whole number"),
        ('{"q": ["a", "b"]}', "not an object of chunk ids and grades"),
        ('{"q": ', "not JSON"),
        ("[1, 2]", "columns instead of 4"),
        ('{"q": {"a": 1%s}}' % ("0" * 400), "grade of (q, a) is outside -10 to 100"),
        ('{"q": {"a": %s}}' % ("[" * 900 + "]" * 900), "not a whole number"),
        ('{"query_id":"q","gold":[{"chunk_id":"a","relevance":3,"relevance":0}]}', "field relevance: a field is given"),
        ('{"query_id":"q","gold":[],"slice":{"risk":"low","risk":"high"}}', "field slice: a facet is given twice"),
        ("query_id: q\ngold: [{chunk_id: a, relevance: 0, stale: yes}]\n", "field stale: neither true nor false"),
        ("- query_id: q\n  gold: [&b {chunk_id: a, relevance: 1}, {<<: *b, chunk_id: c}]\n", "fields are not merged"),
        ("query_id,chunk_id,grade,grade\nq,a,1,2\n", "field grade: the header has this column twice"),
        ("query_id\tchunk_id\nq\ta\n", "line 1: the header has no column grade"),
        ("query_id\tchunk_id\tgrade\nq\ta\n", "line 2: 2 cells, fewer than the header has"),
        ('query_id,chunk_id,grade\nq,"a,1\n', "broken quoting"),
        ('{"query_id":"q","gold":[{"relevance":1}]}\n', "line 1, field chunk_id"),
        ('{"query_id":7,"gold":[]}\n', "line 1, field query_id: id is a number, not text (found '7'). Quote it"),
        ('{"query_id":"q","gold":[]}\n{"query_id":"q","gold":[]}\n', "line 2, field query_id: query q is given twice"),
        ('{"query_id":"q","gold":{"a":1}}\n', "line 1, field gold: not a list of labels"),
        ('{"query_id":"q","gold":[],"slice":{"domain":3}}\n', "line 1, field slice"),
        ('{"query_id":"q","gold":[],"unanswerable":"maybe"}\n', "neither true nor false"),
        ("query_id: q\ngold: [{chunk_id: a, relevance: high}]\n", "line 1, field grade"),
        ("query_id: q\ngold: [\n", "not YAML"),
        ("", "no judgments"),
        ("\ufeff  \n", "no judgments"),
        ("{}", "no judgments"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, text)
    assert told in str(refused.value)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, "q 0 a 1.5\nq 0 b\nq 0 c 1\nq 0 c 2\n")
    assert [problem.line for problem in refused.value.problems] == [1, 2, 4]


def test_other_encodings_are_refused_with_the_byte(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: byte 12 is not UTF-8 \(found 'e9'\)"):
        load(tmp_path, b"q 0 a 1\nq 0 \xe9 1\n")


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    for data in (b"\x1f\x8bnothing", b"PK\x03\x04nothing", gzip.compress(QRELS.encode())[:-9]):
        with pytest.raises(AnnotatorError):
            load(tmp_path, data)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        GoldSet.load(tmp_path / "nowhere")


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    assert GoldSet.of({"q": {"a": 1, "b": 2}}).digest == GoldSet.of({"q": {"b": 2, "a": 1}}).digest
    assert GoldSet.of({"q": {"a": 1}}).digest != GoldSet.of({"q": {"a": 2}}).digest
    assert load(tmp_path, QRELS).digest == sha256(QRELS.encode()).hexdigest()
