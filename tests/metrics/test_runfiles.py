"""Runs in every accepted form mean the same, order follows the rule, and faults are named with their lines."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.errors import InputError
from annotator.gold.goldset import GoldSet
from annotator.metrics import trecrun
from annotator.metrics.evaluation import evaluate
from annotator.metrics.operations import operations
from annotator.metrics.reasons import lost_chunks
from annotator.metrics.report import as_json, report
from annotator.metrics.runcontent import Kept
from annotator.metrics.runfiles import read_run
from annotator.metrics.runs import Run
from annotator.metrics.trecrun import read_regular_trec
from annotator.model import RunQuery

TREC = "q1 Q0 a 1 2.5 tag\nq1 Q0 b 2 1.5 tag\nq2 Q0 c 1 1.0 tag\n"
JSON = '{"q1": {"a": 2.5, "b": 1.5}, "q2": {"c": 1}}'
TABLE = "query_id\tchunk_id\tscore\nq1\ta\t2.5\nq1\tb\t1.5\nq2\tc\t1\n"
COMMAS = "rank,query_id,chunk_id,score\n9,q1,a,2.5\n1,q1,b,1.5\n1,q2,c,1\n"
TRACE = """\
{"run": {"name": "hybrid", "index_version": "7"}}
{"query_id": "q1", "results": [{"chunk_id": "b", "score": 1.5}, {"chunk_id": "a", "score": 2.5}], "latency_ms": 12}
{"query_id": "q2", "results": [{"chunk_id": "c", "score": 1.0}]}
"""
RANKS = "query_id,chunk_id,rank\nq1,b,2\nq2,c,1\nq1,a,1\n"
LISTS = '{"q1": ["a", "b"], "q2": ["c"]}'
TRACE_LISTS = '{"query_id": "q1", "results": ["a", "b"]}\n{"query_id": "q2", "results": ["c"]}\n'


def load(folder: Path, text: str | bytes) -> Run:
    (folder / "some.run.gz").write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return Run.load(folder / "some.run.gz")


@pytest.mark.parametrize("text", [TREC, TREC.replace(" ", "\t"), JSON, TABLE, COMMAS, TRACE, RANKS, LISTS, TRACE_LISTS])
def test_every_form_gives_the_same_ranking(tmp_path: Path, text: str) -> None:
    scored = text not in (RANKS, LISTS, TRACE_LISTS)
    for data in (text.encode("utf-8"), text.encode("utf-8-sig"), text.encode("utf-16"), gzip.compress(text.encode())):
        run = load(tmp_path, data)
        assert {q: r.chunk_ids for q, r in run.queries.items()} == {"q1": ("a", "b"), "q2": ("c",)}
        assert {q: r.scores for q, r in run.queries.items()} == (
            {"q1": (2.5, 1.5), "q2": (1.0,)} if scored else {"q1": None, "q2": None}
        )


def test_a_run_is_called_as_its_header_says_else_as_its_file(tmp_path: Path) -> None:
    assert load(tmp_path, TRACE).name == "hybrid"
    assert load(tmp_path, TREC).name == "some"
    assert load(tmp_path, TRACE).meta == {"name": "hybrid", "index_version": "7"}


def test_bytes_of_an_uploaded_file_are_a_run_too() -> None:
    run = Run.from_bytes(gzip.compress(TRACE_LISTS.encode()), "upload.jsonl.gz")
    assert (run.name, run.queries["q1"].chunk_ids) == ("upload", ("a", "b"))


def test_the_trace_comes_along(tmp_path: Path) -> None:
    row = {
        "query_id": "q", "results": ["a"], "candidates": ["a", "b"],
        "filtered_out": ["c", {"chunk_id": "d", "filter": "f"}],
        "route": "hybrid", "latency_ms": 7.5, "timed_out": False,
    }  # fmt: skip
    found = load(tmp_path, json.dumps(row)).queries["q"]
    assert (found.candidates, found.filtered_out) == (("a", "b"), (("c", ""), ("d", "f")))
    assert found.trace == {"route": "hybrid", "latency_ms": 7.5, "timed_out": False}


def test_a_query_called_run_is_a_query(tmp_path: Path) -> None:
    assert set(load(tmp_path, '{"run": {"a": 1.0}}').queries) == {"run"}


@pytest.mark.parametrize(
    "text", ['{"q1": {"a": 2.0, "b": 1 }}\n', '{ "query_id": "q1", "latency_ms": 12 ,"results":["a","b"]}\n']
)
def test_json_with_as_many_spaces_as_a_trec_line_is_json(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text).queries["q1"].chunk_ids == ("a", "b")


def test_a_query_called_as_a_column_is_a_query_whatever_way_the_file_comes(tmp_path: Path) -> None:
    text = "qid\tQ0\ta\t1\t2.5\tt\n"
    for data in (text.encode(), gzip.compress(text.encode())):
        assert set(load(tmp_path, data).queries) == {"qid"}


def test_lines_may_end_in_every_way_within_one_file(tmp_path: Path) -> None:
    for text in ("q1 Q0 a 1 2 t\rq1 Q0 b 2 1 t\r\nq2 Q0 c 1 1 t\n", "\n\nquery_id,chunk_id,rank\rq1,a,1\rq1,b,2\n"):
        run = load(tmp_path, text)
        assert (run.queries["q1"].chunk_ids, run.warnings) == (("a", "b"), ())


def test_a_comma_inside_quotes_does_not_move_the_columns(tmp_path: Path) -> None:
    text = 'query_id,"asked, as it was",chunk_id,score\nq1,"why, then",a,2\nq1,,b,1\n'
    assert load(tmp_path, text).queries["q1"].chunk_ids == ("a", "b")


def test_what_a_trace_leaves_open_is_not_told(tmp_path: Path) -> None:
    row = {"query_id": "q1", "results": ["a"], "latency_ms": None, "timed_out": None}
    found = evaluate(GoldSet.of({"q1": {"a": 1}}), load(tmp_path, json.dumps(row)))
    assert (operations(found)["latency_p95_ms"], operations(found)["timeout_rate"]) == (None, None)


def test_equal_scores_put_the_higher_id_first_by_code_point() -> None:
    run = Run.of({"q": {"a": 1.0, "é": 1.0, "🍎": 1.0, "�": 1.0, "Z": 2.0}})
    assert run.queries["q"].chunk_ids == ("Z", "🍎", "�", "é", "a")


def test_another_order_than_the_scores_is_mentioned(tmp_path: Path) -> None:
    assert not load(tmp_path, TREC).warnings
    assert "another order" in load(tmp_path, "q Q0 a 1 1.0 t\nq Q0 b 2 2.0 t\n").warnings[0]


@pytest.mark.parametrize("pair", [(0.900000001, 0.9), (1e300, 1e200), (1e-50, 1e-60), (16777217.0, 16777216.0)])
def test_scores_that_are_a_tie_in_32_bits_are_mentioned(pair: tuple[float, float]) -> None:
    run = Run.of({"q": {"a": pair[0], "b": pair[1]}})
    assert run.queries["q"].chunk_ids == ("a", "b")
    assert "32 bits" in run.warnings[0]


@pytest.mark.parametrize("pair", [(0.9, 0.8), (1.0, 1.0), (2e-45, 0.0), (-1.0, -2.0)])
def test_scores_that_differ_in_32_bits_or_are_a_tie_anyway_are_not(pair: tuple[float, float]) -> None:
    assert not Run.of({"q": {"b": pair[0], "a": pair[1]}}).warnings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("q Q0 a 1 1.0 t\nq Q0 b 2 nan t\n", "line 2, field score: score of (q, b) is not a number (found 'nan')"),
        ("q Q0 a 1 -Infinity t\n", "line 1, field score: score of (q, a) is infinite"),
        (
            "q Q0 a 1 0,5 t\n",
            "line 1, field score: score of (q, a) is not a number (found '0,5'). Use a decimal point.",
        ),
        ("q Q0 a 1 1_0 t\n", "is not a number (found '1_0')"),
        ("q Q0 a 1 0x1p3 t\n", "is not a number"),
        ("q Q0 a 1 2.0 t\nq Q0 b 2 1.5 t\nq Q0 a 3 1.0 t\n", "line 3, field chunk_id: duplicate chunk a in query q"),
        ("q Q0 a 1 2.0\n", "line 1: 5 columns instead of 6"),
        ("q Q0 a  2.0 t\n", "line 1: 5 columns instead of 6"),
        ("q Q0 a 1 2.0 \nq Q0 b 1 2.0 t\n", "line 1: 5 columns instead of 6"),
        ("q Q0 a\x02 1 2.0 t\n", "control character U+0002"),
        ("# only a comment\n", "the run is empty"),
        pytest.param("x" * 200_000, "1 columns instead of 6", id="no line ends"),
        pytest.param('"' + "x," * 100_000, "1 columns instead of 6", id="a quote that never ends"),
        ("", "the run is empty"),
        ('{"q": {"a": 1, "a": 2}}', "duplicate chunk a in query q"),
        ('{"q": {"a": 1}, "q": {"b": 1}}', "query q is given twice"),
        ('{"q": {"a": NaN}}', "score of (q, a) is not a number"),
        ('{"q": {"a": 1e999}}', "score of (q, a) is infinite"),
        ('{"q": {"a": "0.5"}}', "score of (q, a) is not a number"),
        ('{"q": {"a": true}}', "score of (q, a) is not a number"),
        ('{"q": {"a": null}}', "0 of 1 chunks have a score"),
        ('{"q": [7]}', "id is a number, not text"),
        ('{"q": "a"}', "not a list of chunks"),
        ('{"q": [["a", 1.0], "b"]}', "1 of 2 chunks have a score; give all or none"),
        ('{"query_id": "q", "results": ["a"]}\n{"query_id": "q", "results": []}\n', "line 2, field query_id: query q"),
        ('{"query_id": "q", "results": ["a"]}\nnonsense\n', "line 2: not JSON"),
        ('{"query_id": "q", "results": ["a"]}\n{"query_id": "r"}\n', "line 2, field results: no results"),
        ('{"query_id": 7, "results": ["a"]}\n', "line 1, field query_id: id is a number, not text"),
        ('{"query_id": "q", "results": ["a"], "candidates": [1]}\n', "line 1, field candidates"),
        ("query_id,chunk_id\nq,a\n", "line 1: the header has no column score or rank"),
        ("query_id,score\nq,1\n", "the header has no column chunk_id"),
        ("query_id,chunk_id,rank\nq,a,1\nq,b,1\n", "line 3, field rank: query q has two chunks at rank 1"),
        ("query_id,chunk_id,score\nq,a,high\n", "line 2, field score: score of (q, a) is not a number"),
        ("query_id,chunk_id,score\nq,,1\n", "line 2, field chunk_id: query q: id is empty"),
        ("query_id,chunk_id,score,score\nq,a,1,2\n", "line 1, field score: the header has this column twice"),
        ("query_id,chunk_id,rank\nq,a,nan\n", "line 2, field rank: rank of (q, a) is no number"),
        ("q Q0 a 1 2 t\rq Q0 a 2 1 t\nq Q0 b 3 0 t\n", "line 2, field chunk_id: duplicate chunk a in query q"),
        ("q Q0 a\x1b[2J\u202e 1 high t\n", "score of (q, a\ufffd[2J\ufffd) is not a number"),
        ('{"query_id": "q", "results": ["a"], "results": []}\n', "line 1, field results: a field is given twice"),
        ('{"query_id": "q", "results": [], "latency_ms": 1%s}\n' % ("0" * 400), "not a number of milliseconds"),
        ('{"query_id": "q", "results": [], "timed_out": "false"}\n', "field timed_out: neither true nor false"),
        ('{"query_id": "q", "results": [], "candidates": {"a": %s}}\n' % ("[" * 900 + "]" * 900), "field candidates"),
        ('{"run": {"name": "dense"}}\n', "the run has no queries"),
        ('{"query_id": "q", "gold": []}\n', "line 1, field results: no results. A gold set is no run."),
        ('[{"query_id": "q", "results": ["a"]}]', "is a list in JSON, which is no form of a run"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, text)
    assert told in str(refused.value)


def test_all_faults_are_told_at_once_in_the_order_of_the_file() -> None:
    with pytest.raises(InputError) as refused:
        read_run("q Q0 a 1 nan t\nr Q0 a 1 x t\nq Q0 a 2 1 t\nshort line\n", "file")
    assert [problem.line for problem in refused.value.problems] == [1, 2, 3, 4]


columns = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=6)


@given(
    st.dictionaries(
        st.tuples(columns.filter(lambda text: text[0] not in "#{"), columns),
        st.floats(allow_nan=False, allow_infinity=False),
        min_size=1,
    ),
    st.sampled_from([" ", "\t", "  ", " \t"]),
    st.booleans(),
)
def test_what_was_written_is_read(rows: dict[tuple[str, str], float], gap: str, shifted: bool) -> None:
    lines = [gap.join((query, "Q0", chunk, "1", repr(score), "tag")) for (query, chunk), score in rows.items()]
    content = read_run(("# a comment\n" if shifted else "") + "\n".join(lines), "file")
    found = {
        (query, chunk): score
        for query, answer in content.queries.items()
        for chunk, score in zip(answer.chunk_ids, answer.scores or (), strict=True)
    }
    assert found == rows


written_scores = st.one_of(
    st.integers(-3, 3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1e-3", ".5", "5.", "+1", "-0.0", "0", "1E5", "1e-400", "9" * 40, "0." + "3" * 40, "16777217"]),
)
odd_scores = st.sampled_from(["1e999", "-1e999", "inf", "-Infinity", "nan", "1_0", "0,5", "0x1p3", "", "high"])


@settings(deadline=None, max_examples=200)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["q1", "q2", "q#3", "q4"]), st.text("ab-_/#0", min_size=1, max_size=4)),
        written_scores,
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([" ", "\t"]),
    st.integers(0, 3),
    st.sampled_from(["", "\n"]),
    st.data(),
)
def test_the_quick_way_and_the_careful_way_agree(
    tmp_path_factory: pytest.TempPathFactory,
    rows: dict[tuple[str, str], str],
    gap: str,
    small: int,
    last: str,
    data: st.DataObject,
) -> None:
    lines = [gap.join((query, "Q0", chunk, "1", score, "tag")) for (query, chunk), score in rows.items()]
    lines = sorted(lines, key=lambda line: line.split()[0]) if small else lines
    end = "\n"
    if data.draw(st.booleans()):  # something is odd, at one place or everywhere
        end = data.draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", " \n", "\t\n"]))
        place = data.draw(st.integers(0, len(lines)))
        other = "\t" if gap == " " else " "
        odd = [
            f"q2 Q0 odd 1 {data.draw(odd_scores)} tag",
            f"q2{other}Q0{other}odd{other}1{other}2{other}tag",
            "q2 Q0 a\u00e9\u0661 1 2 tag",
            "q2 Q0 a\u00a0b 1 2 tag",
            "q2 Q0 a\x0bb 1 2 tag",
            "q2 Q0 \x7f 1 2 tag",
            "q2 Q0  1 2 tag",
            "q2  Q0 odd 2 tag",
            "q2 Q0 odd 1 2 more tag",
            "q2 Q0 odd 1",
            f"q2 Q0 {'x' * 600} 1 2 tag",
            f"{'q' * 600} Q0 odd 1 2 tag",
            '{"query_id": "q2", "results": ["a", "b"]}',
            "# a comment of six or more",
            "",
        ]
        lines.insert(place, data.draw(st.sampled_from([*odd, *lines])))
    text = end.join(lines) + last * len(end)
    path = tmp_path_factory.mktemp("run") / "run"
    path.write_bytes(text.encode())
    kept = Kept(2, {"q1": {"a", "b", "0"}, "q2": {"a", "odd", "\u00e9"}, "q#3": set("ab-_/#0")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trecrun, "BLOCK", 1 << (4 * small))
        patch.setattr(trecrun, "PART", 40)
        patch.setattr("os.cpu_count", lambda: 3)
        patch.delattr("os.fork")
        quick, parts = read_regular_trec(str(path)), read_regular_trec(str(path), kept)
    try:
        careful = read_run(text, str(path))
    except InputError:
        assert (quick, parts) == (None, None)
        return
    if quick is not None:
        assert repr(quick[0]) == repr(careful)
        assert quick[1] == sha256(text.encode()).hexdigest()
    if parts is not None:
        assert repr(parts[0].queries) == repr(
            {query: shortened(careful.queries[query], kept) for query in careful.queries}
        )
        assert (parts[0].warnings, parts[1]) == (careful.warnings, sha256(text.encode()).hexdigest())


def shortened(answer: RunQuery, kept: Kept) -> RunQuery:
    assert answer.scores is not None
    judged = kept.judged.get(answer.query_id, ())
    below = {chunk: rank for rank, chunk in enumerate(answer.chunk_ids, 1) if rank > kept.depth and chunk in judged}
    return RunQuery(answer.query_id, answer.chunk_ids[: kept.depth], answer.scores[: kept.depth], below=below)


def test_a_regular_file_goes_the_quick_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").write_text(TREC, "utf-8")
    assert read_regular_trec(str(tmp_path / "run")) is not None
    assert read_regular_trec(str(tmp_path / "nowhere")) is None
    monkeypatch.setattr(trecrun, "PART", 20)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    monkeypatch.delattr("os.fork")
    for text in (TREC, TREC.rstrip("\n"), TREC.replace("q2", "q1"), TREC[: TREC.index("\n")], TREC * 2, ""):
        (tmp_path / "run").write_text(text, "utf-8")
        assert (read_regular_trec(str(tmp_path / "run"), Kept(1, {})) is None) == (text in (TREC * 2, ""))


def test_the_end_of_a_long_list_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{query} Q0 c{rank} 1 {9 - rank / 100} t\n" for query in ("q1", "q2") for rank in range(300)]
    (tmp_path / "run").write_text("".join(lines), "utf-8")
    looked: list[int] = []

    class File(io.BufferedReader):
        def seek(self, place: int, whence: int = 0) -> int:
            looked.append(place)
            return super().seek(place, whence)

    monkeypatch.setattr(trecrun, "PART", 100)
    monkeypatch.setattr("os.cpu_count", lambda: 40)
    monkeypatch.setattr(trecrun, "open", lambda path, _: File(io.FileIO(path)), raising=False)
    size = (tmp_path / "run").stat().st_size
    middle = len("".join(lines[:300]))
    assert trecrun._cuts(str(tmp_path / "run"), size) == [0, middle, size]
    assert looked == [size // 40, size * 20 // 40]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_parts_of_a_large_file_read_by_copies_are_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"q{query} Q0 c{(query * 7 + rank) % 90} 1 {9 - rank / 10} t" for query in range(99) for rank in range(60)]
    (tmp_path / "run").write_text("\n".join(lines))
    kept = Kept(5, {f"q{query}": {"c1", "c2"} for query in range(99)})
    whole = read_regular_trec(str(tmp_path / "run"), kept)
    monkeypatch.setattr(trecrun, "PART", 4000)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert read_regular_trec(str(tmp_path / "run"), kept) == whole is not None
    (tmp_path / "run").write_text("\n".join([*lines, "q98 Q0 c 1 high t"]))
    assert read_regular_trec(str(tmp_path / "run"), kept) is None


def test_a_file_that_changes_while_it_is_read_is_left_to_the_careful_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").write_text(TREC, "utf-8")

    def changing(path: str) -> str:
        Path(path).write_text(TREC + "q3 Q0 c 1 1.0 tag\n", "utf-8")
        return "digest"

    monkeypatch.setattr(trecrun, "_digest", changing)
    assert read_regular_trec(str(tmp_path / "run")) is None


@given(st.binary(max_size=60))
def test_no_bytes_make_it_crash(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for head in ("", "{", '{"query_id": "q", "results": [', "query_id,chunk_id,score\n", "q Q0 a 1 1.0 t\n"):
        with suppress(InputError):
            read_run(head + text, "file")


@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["q1", "q2", "u"]), st.sampled_from("abcdefghij")),
        st.integers(-9, 9),
        min_size=1,
    ),
    st.dictionaries(
        st.tuples(st.sampled_from(["q1", "q2"]), st.sampled_from("abcdefghijé")), st.integers(0, 3), min_size=1
    ),
    st.integers(1, 4),
)
def test_what_is_left_out_of_long_lists_changes_nothing_in_the_report(
    tmp_path_factory: pytest.TempPathFactory,
    rows: dict[tuple[str, str], int],
    judged: dict[tuple[str, str], int],
    depth: int,
) -> None:
    place = tmp_path_factory.mktemp("run") / "run"
    place.write_text("\n".join(f"{query} Q0 {chunk} 1 {rows[query, chunk]} t" for query, chunk in sorted(rows)))
    grades: dict[str, dict[str, int]] = {}
    for (query, chunk), grade in judged.items():
        grades.setdefault(query, {})[chunk] = grade
    gold = GoldSet.of(grades)
    kept = Run.load(place, kept=Kept(depth, gold.grades))
    assert all(len(answer.chunk_ids) <= depth for answer in kept.queries.values())
    reports = [
        report([evaluate(gold, run, k=[depth])], baseline=evaluate(gold, Run.of({"q1": {"a": 1.0}}), k=[depth]))
        for run in (kept, Run.load(place))
    ]
    assert as_json(reports[0], per_query=True) == as_json(reports[1], per_query=True)
    for one in gold.grades:
        lost = [list(lost_chunks(found.runs[0].evaluation, None, one, depth)) for found in reports]
        assert lost[0] == lost[1]
