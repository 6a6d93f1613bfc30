"""Releases from a real workspace: what blocks, what is frozen, what comes out again."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from annotator.errors import Conflict, InputError, NotFound
from annotator.gold.goldset import GoldSet
from annotator.gold.verify import verify
from annotator.model import Adjudication, Judgment, Query, Run, RunQuery, text_hash
from annotator.services import gold
from annotator.services.examined import Item
from annotator.store import decisions, judgments, queries, runs, settings
from annotator.store.database import Workspace


class Bench:
    """A workspace with a few ways of doing things to it."""

    def __init__(self, home: Path) -> None:
        self.workspace = Workspace(home)
        self.workspace.create()
        self.operations = 0

    def chunk(self, chunk_id: str, text: str, doc_id: str = "handbook") -> None:
        with self.workspace.write() as connection:
            connection.execute("DELETE FROM chunks WHERE chunk_id = ?", (chunk_id,))
            connection.execute(
                "INSERT INTO chunks (chunk_id, doc_id, title, text, metadata, sha256, row_hash, sync_id)"
                " VALUES (?, ?, '', ?, '{}', ?, x'00', 1)",
                (chunk_id, doc_id, text, text_hash(text)),
            )

    def query(self, query_id: str, **fields: object) -> None:
        question = str(fields.pop("question", f"What about {query_id}?"))
        with self.workspace.write() as connection:
            queries.add(connection, Query(query_id, question, **fields), "ana")  # type: ignore[arg-type]

    def judge(self, query_id: str, chunk_id: str, grade: int | None, annotator: str = "ana", **fields: object) -> None:
        self.operations += 1
        with self.workspace.write() as connection:
            text = connection.execute("SELECT sha256 FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone()[0]
            one = Judgment(query_id, chunk_id, annotator, grade, sha256=text, operation_id=f"o{self.operations}")
            one = Judgment(**{name: getattr(one, name) for name in one.__slots__} | fields)
            judgments.append(connection, one)

    def decide(self, query_id: str, chunk_id: str, grade: int) -> None:
        self.operations += 1
        with self.workspace.write() as connection:
            text = connection.execute("SELECT sha256 FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone()[0]
            one = Adjudication(query_id, chunk_id, "rosa", grade, reason="settled", sha256=text)
            one = Adjudication(
                **{name: getattr(one, name) for name in one.__slots__} | {"operation_id": f"o{self.operations}"}
            )
            decisions.append(connection, one)

    def blocks(self) -> list[Item]:
        return list(gold.readiness(self.workspace).blocks)

    def warns(self, kind: str) -> list[Item]:
        return [item for item in gold.readiness(self.workspace).warns if item.kind == kind]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path / "home")
    made.chunk("c1", "Refunds after 30 days need the approval of the VP Finance.")
    made.chunk("c2", "Batteries are replaced every two years.")
    made.chunk("c3", "Refunds were once approved by the team lead.")
    return made


@pytest.fixture
def ready(bench: Bench) -> Bench:
    bench.query("q1", state="complete", facets={"domain": "policy"})
    bench.judge("q1", "c1", 3, reason="names the VP")
    bench.judge("q1", "c2", 0)
    return bench


def gold_rows(files: Path) -> list[dict[str, object]]:
    return [json.loads(row) for row in (files / "gold.jsonl").read_text(encoding="utf-8").splitlines()]


def test_an_empty_set_blocks(bench: Bench) -> None:
    assert [item.kind for item in bench.blocks()] == ["empty"]
    with pytest.raises(Conflict, match="nothing to release"):
        gold.release(bench.workspace, "ana", allow_open=True)


def test_a_release_holds_the_settled_labels_with_where_they_come_from(ready: Bench) -> None:
    ready.judge("q1", "c1", 3, "ben")
    version = gold.release(ready.workspace, "ana", name="policies", note="first")
    folder = ready.workspace.releases / "policies-v1"
    assert verify(folder).intact
    assert gold_rows(folder) == [
        {
            "query_id": "q1",
            "question": "What about q1?",
            "slice": {"domain": "policy"},
            "gold": [
                {
                    "chunk_id": "c1",
                    "relevance": 3,
                    "reason": "names the VP",
                    "doc_id": "handbook",
                    "sha256": text_hash("Refunds after 30 days need the approval of the VP Finance."),
                    "settled_by": "unanimous",
                },
                {
                    "chunk_id": "c2",
                    "relevance": 0,
                    "doc_id": "handbook",
                    "sha256": text_hash("Batteries are replaced every two years."),
                    "settled_by": "unanimous",
                },
            ],
        }
    ]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["counts"] == {
        "queries": 1,
        "unanswerable": 0,
        "judged_pairs": 2,
        "relevant": 1,
        "chunks": 2,
        "judgments": 3,
        "adjudications": 0,
        "annotators": 2,
    }
    assert (manifest["name"], manifest["version"], manifest["parent"], manifest["note"]) == (
        "policies",
        1,
        None,
        "first",
    )
    assert manifest["digest"] == version.digest


def test_the_next_version_names_its_parent_and_the_same_content_has_the_same_digest(ready: Bench) -> None:
    first = gold.release(ready.workspace, "ana")
    second = gold.release(ready.workspace, "ben", note="again")
    assert (second.version, second.parent, second.digest) == (2, 1, first.digest)
    ready.judge("q1", "c3", 1)
    assert gold.release(ready.workspace, "ana").digest != first.digest
    assert [one.version for one in gold.versions(ready.workspace)] == [3, 2, 1]


def test_disputes_and_differences_block_and_are_named(ready: Bench) -> None:
    ready.judge("q1", "c1", 0, "ben")
    ready.judge("q1", "c2", 0, "ben")
    ready.judge("q1", "c3", 2)
    ready.judge("q1", "c3", 1, "ben")
    assert [(item.kind, item.query_ids, item.chunk_ids) for item in ready.blocks()] == [
        ("disputed", ("q1",), ("c1",)),
        ("unsettled", ("q1",), ("c3",)),
    ]
    with pytest.raises(Conflict, match=r"2 things block the release.*\n  - q1: people disagree about 1 chunk"):
        gold.release(ready.workspace, "ana")
    assert gold.versions(ready.workspace) == []
    assert list(ready.workspace.releases.iterdir()) == []
    assert [
        (one.kind, one.chunk_id, [j.grade for j in one.judgments]) for one in gold.pairs_unsettled(ready.workspace)
    ] == [
        ("disputed", "c1", [3, 0]),
        ("unsettled", "c3", [2, 1]),
    ]


def test_a_decision_settles_a_dispute(ready: Bench) -> None:
    ready.judge("q1", "c1", 0, "ben")
    ready.decide("q1", "c1", 2)
    assert ready.blocks() == []
    assert gold.pairs_unsettled(ready.workspace) == []
    gold.release(ready.workspace, "ana")
    rows = gold_rows(ready.workspace.releases / "gold-v1")
    assert rows[0]["gold"][0]["settled_by"] == "adjudicated by rosa"  # type: ignore[index]


def test_open_questions_are_left_out_on_request_and_listed(ready: Bench) -> None:
    ready.query("q2")
    ready.judge("q2", "c1", 3)
    ready.judge("q2", "c1", 0, "ben")
    assert gold.readiness(ready.workspace).left_out == ("q2",)
    version = gold.release(ready.workspace, "ana", allow_open=True)
    assert version.manifest["left_out"] == ["q2"]
    assert [row["query_id"] for row in gold_rows(ready.workspace.releases / "gold-v1")] == ["q1"]
    judged = (ready.workspace.releases / "gold-v1" / "judgments.jsonl").read_text(encoding="utf-8")
    assert '"q2"' not in judged


def test_changed_and_vanished_chunks_block_until_judged_again(ready: Bench) -> None:
    ready.chunk("c1", "Refunds after 60 days need the approval of the CFO.")
    with ready.workspace.write() as connection:
        connection.execute("DELETE FROM chunks WHERE chunk_id = 'c2'")
    assert [(item.kind, item.chunk_ids) for item in ready.blocks()] == [("drifted", ("c1", "c2"))]
    ready.judge("q1", "c1", 3, "ben")  # somebody else reads the new text
    ready.chunk("c2", "Batteries are replaced every two years.")
    assert ready.blocks() == []
    gold.release(ready.workspace, "ana")
    rows = gold_rows(ready.workspace.releases / "gold-v1")
    text = "Refunds after 60 days need the approval of the CFO."
    assert rows[0]["gold"][0]["sha256"] == text_hash(text)  # type: ignore[index]
    assert GoldSet.load(ready.workspace.releases / "gold-v1").texts["c1"] == text  # beside the text ana had read


def test_an_answerable_question_needs_a_relevant_chunk_an_unanswerable_one_needs_nothing(bench: Bench) -> None:
    bench.query("q1", state="complete")
    bench.judge("q1", "c2", 0)
    bench.query("q2", unanswerable=True)
    assert [(item.kind, item.query_ids) for item in bench.blocks()] == [("no_relevant", ("q1",))]
    bench.judge("q1", "c1", 1)
    gold.release(bench.workspace, "ana")
    rows = gold_rows(bench.workspace.releases / "gold-v1")
    assert [(row["query_id"], row.get("unanswerable", False)) for row in rows] == [("q1", False), ("q2", True)]


def test_drafts_retired_and_unlabelled_questions_are_not_part_of_a_version(ready: Bench) -> None:
    for state in ("draft", "retired"):
        ready.query(state, state=state)
        ready.judge(state, "c1", 3)
        ready.judge(state, "c1", 0, "ben")
    ready.query("q3")
    found = gold.readiness(ready.workspace)
    assert (found.blocks, found.ready_queries, found.pairs) == ((), 1, 2)
    assert ready.warns("no_labels")[0].query_ids == ("q3",)
    assert [one.query_id for one in gold.pairs_unsettled(ready.workspace)] == ["draft"]


def test_pairs_nobody_could_judge_are_left_unjudged_and_told(ready: Bench) -> None:
    ready.judge("q1", "c3", None, reason="cut off")
    assert ready.blocks() == []
    assert ready.warns("cannot_judge")[0].chunk_ids == ("c3",)
    gold.release(ready.workspace, "ana")
    rows = gold_rows(ready.workspace.releases / "gold-v1")
    assert [one["chunk_id"] for one in rows[0]["gold"]] == ["c1", "c2"]  # type: ignore[index,attr-defined]
    judged = (ready.workspace.releases / "gold-v1" / "judgments.jsonl").read_text(encoding="utf-8")
    assert '"grade":null' in judged


def test_warnings_about_copied_questions_thin_slices_and_unmarked_ones(bench: Bench) -> None:
    bench.query("q1", question="Do refunds after 30 days need the approval of the VP?", facets={"domain": "policy"})
    bench.judge("q1", "c1", 3)
    assert bench.warns("copied")[0].chunk_ids == ("c1",)
    assert bench.warns("not_complete")[0].query_ids == ("q1",)
    messages = [item.message for item in bench.warns("thin_slice")]
    assert "no exact identifier question yet (3 wanted)" in messages
    assert "Only 1 question with domain “policy”: too few for a figure of its own." in messages


def test_warns_of_run_heads_nobody_judged_and_of_answers_to_the_unanswerable(ready: Bench) -> None:
    found = {"q1": RunQuery("q1", ("c2", "c3", "c1", "c9")), "unknown": RunQuery("unknown", ("c1",))}
    with ready.workspace.write() as connection:
        runs.add(connection, Run("bm25", found, digest="d"), "ana")
        queries.change(connection, Query("q1", "What?", facets={}, state="complete", unanswerable=True), "ana")
    assert [(item.query_ids, item.chunk_ids) for item in ready.warns("unjudged_heads")] == [(("q1",), ("c3",))]
    assert ready.warns("contradiction")[0].chunk_ids == ("c1",)


def test_the_settling_rule_of_the_workspace_is_used_and_recorded(ready: Bench) -> None:
    ready.judge("q1", "c1", 3, "ben")
    ready.judge("q1", "c1", 0, "cem")
    with ready.workspace.write() as connection:
        settings.put(connection, "settling_rule", "majority")
    version = gold.release(ready.workspace, "ana")
    assert version.manifest["settling_rule"] == "majority"
    rows = gold_rows(ready.workspace.releases / "gold-v1")
    assert rows[0]["gold"][0]["settled_by"] == "majority"  # type: ignore[index]


def test_a_missing_or_damaged_folder_is_made_again_from_the_database(ready: Bench) -> None:
    gold.release(ready.workspace, "ana")
    folder = ready.workspace.releases / "gold-v1"
    shutil.rmtree(folder)
    assert verify(gold.ensure_folder(ready.workspace, 1)).intact
    (folder / "gold.jsonl").write_bytes(b"")
    assert verify(gold.ensure_folder(ready.workspace, 1)).intact


def test_exports_are_byte_for_byte_the_version(ready: Bench, tmp_path: Path) -> None:
    gold.release(ready.workspace, "ana")
    written = gold.export_version(ready.workspace, 1, tmp_path / "out" / "first.zip")
    assert verify(tmp_path / "out" / "first.zip").intact
    name, content = gold.download(ready.workspace, 1)
    assert (name, content) == ("gold-v1.zip", (tmp_path / "out" / "first.zip").read_bytes())
    assert written.counts["judged_pairs"] == 2
    gold.export_version(ready.workspace, 1, tmp_path / "copy")
    assert verify(tmp_path / "copy").intact
    gold.export_version(ready.workspace, 1, tmp_path / "rows.jsonl", "jsonl")
    assert (tmp_path / "rows.jsonl").read_bytes() == (tmp_path / "copy" / "gold.jsonl").read_bytes()
    assert gold.download(ready.workspace, 1, "jsonl")[0] == "gold-v1.jsonl"


def test_unknown_versions_formats_and_names_are_refused(ready: Bench, tmp_path: Path) -> None:
    for bad in ("../out", "a/b", "", ".hidden", "x" * 81, "a b"):
        if bad:
            with pytest.raises(InputError):
                gold.release(ready.workspace, "ana", name=bad)
    gold.release(ready.workspace, "ana")
    with pytest.raises(NotFound, match="no version 9"):
        gold.download(ready.workspace, 9)
    for odd in ("9" * 30, "²", "0x1"):
        with pytest.raises(NotFound, match="no version with the tag"):
            gold.version(ready.workspace, odd)
    with pytest.raises(InputError, match="native, jsonl"):
        gold.export_version(ready.workspace, 1, tmp_path / "x", "xml")


def test_a_tag_is_a_movable_name_of_a_version(ready: Bench) -> None:
    for _ in range(2):
        gold.release(ready.workspace, "ana")
    gold.tag(ready.workspace, "ana", "ci", 1)
    gold.tag(ready.workspace, "ana", "prod", 1)
    gold.tag(ready.workspace, "ben", "ci", 2)
    assert gold.tags(ready.workspace) == {"ci": 2, "prod": 1}
    assert gold.version(ready.workspace, "ci").version == gold.version(ready.workspace, "2").version == 2
    with pytest.raises(NotFound, match="Tags: ci, prod"):
        gold.version(ready.workspace, "staging")
    with pytest.raises(NotFound, match="no version 9"):
        gold.tag(ready.workspace, "ana", "ci", 9)
    for bad in ("7", "", "a b"):
        with pytest.raises(InputError):
            gold.tag(ready.workspace, "ana", bad, 1)


def test_a_version_can_not_be_changed_and_its_release_is_on_record(ready: Bench) -> None:
    gold.release(ready.workspace, "ana")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), ready.workspace.write() as connection:
        connection.execute("UPDATE versions SET note = 'other'")
    with ready.workspace.read() as connection:
        event = connection.execute("SELECT * FROM events WHERE subject = 'version:1'").fetchone()
    assert (event["who"], event["action"]) == ("ana", "version released")


def test_labels_saved_while_a_release_is_built_wait_for_nothing(ready: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release reads one moment of the workspace; a label that comes meanwhile belongs to the next version."""
    build = gold.build

    def slowly(*arguments: object) -> dict[str, object]:
        manifest: dict[str, object] = build(*arguments)
        ready.judge("q1", "c3", 1)
        return manifest

    monkeypatch.setattr(gold, "build", slowly)
    assert gold.release(ready.workspace, "ana").manifest["counts"]["judged_pairs"] == 2
    monkeypatch.undo()
    assert gold.release(ready.workspace, "ana").manifest["counts"]["judged_pairs"] == 3


@settings_of_hypothesis(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_digest_does_not_depend_on_who_was_faster(chance: random.Random) -> None:
    """Same questions, chunks, judgments and decisions, stored in another order in another workspace."""
    steps = [
        ("judge", query_id, chunk_id, grade, annotator)
        for query_id in ("q1", "é", "Z")
        for chunk_id, grade in (("c1", 3), ("ç", 0), ("C", 2))
        for annotator in ("ana", "ben")
    ]
    decisions = [("decide", "q1", "c1", 1, "rosa"), ("decide", "Z", "C", 3, "rosa")]
    digests = set()
    for shuffled in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder) / "home")
            chunk_ids, query_ids, work = ["c1", "ç", "C"], ["q1", "é", "Z"], [*steps]
            if shuffled:
                for order in (chunk_ids, query_ids, work):
                    chance.shuffle(order)
            for chunk_id in chunk_ids:
                bench.chunk(chunk_id, f"text of {chunk_id}")
            for query_id in query_ids:
                bench.query(query_id)
            for kind, query_id, chunk_id, grade, annotator in [*work, *decisions]:
                if kind == "judge":
                    bench.judge(query_id, chunk_id, grade, annotator)
                else:
                    bench.decide(query_id, chunk_id, grade)
            digests.add(gold.release(bench.workspace, "ana").digest)
    assert len(digests) == 1


def test_a_release_killed_before_its_folder_was_in_place_is_whole_in_the_database(
    ready: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        gold.release(ready.workspace, "ana")
    monkeypatch.undo()
    assert [one.version for one in gold.versions(ready.workspace)] == [1]
    assert list(ready.workspace.releases.iterdir()) == []
    assert verify(gold.ensure_folder(ready.workspace, 1)).intact


def test_a_release_that_fails_while_it_is_built_or_stored_is_absent(
    ready: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for broken in ("build", "events"):
        monkeypatch.setattr(gold, broken, None)
        with pytest.raises((TypeError, AttributeError)):
            gold.release(ready.workspace, "ana")
        monkeypatch.undo()
        assert gold.versions(ready.workspace) == []
        assert list(ready.workspace.releases.iterdir()) == []
    assert gold.release(ready.workspace, "ana").version == 1


def test_a_folder_from_before_a_restore_is_never_written_over(ready: Bench) -> None:
    foreign = ready.workspace.releases / "gold-v1"
    foreign.mkdir(parents=True)
    (foreign / "gold.jsonl").write_text("{}")
    with pytest.raises(Conflict, match="exists already"):
        gold.release(ready.workspace, "ana")
    assert gold.versions(ready.workspace) == []
    assert (foreign / "gold.jsonl").read_text() == "{}"
