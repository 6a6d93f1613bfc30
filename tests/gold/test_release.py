"""Releases as plain values: the same content is the same bytes, and whatever people wrote comes back."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.gold.archive import FolderFiles
from annotator.gold.release import Case, ChunkKeys, build, content_digest, sums
from annotator.gold.verify import counts_of
from annotator.model import Adjudication, Chunk, Evidence, GoldLabel, GoldQuery, Judgment, id_fault, text_hash

MANIFEST = {"name": "policies", "version": 1, "created_at": "2026-03-01T09:30:00.125Z", "note": ""}

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
ids = st.one_of(
    st.sampled_from(["007", "1e5", "NA", "null", "a b/c#d", "✓ 👍🏽", "x" * 500, "‮right", '","judged_at":"x', "\\"]),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12),
).filter(lambda value: not id_fault(value))
dates = st.sampled_from(["", "2026-03-01T09:30:00.125Z", "1999-12-31", 'odd "date" \\'])


@st.composite
def cases(draw: st.DrawFn) -> list[Case]:
    """Queries with hostile ids and texts, judged by hostile people."""
    made = []
    for query_id in draw(st.lists(ids, min_size=1, max_size=4, unique=True)):
        chunk_ids = draw(st.lists(ids, max_size=4, unique=True))
        labels = tuple(
            GoldLabel(chunk_id, draw(st.integers(0, 3)), draw(texts), sha256=text_hash(text_of(chunk_id)))
            for chunk_id in chunk_ids
        )
        judgments = tuple(
            Judgment(
                query_id,
                chunk_id,
                annotator,
                draw(st.sampled_from([None, 0, 1, 2, 3])),
                reason=draw(texts),
                evidence=(Evidence(text_of(chunk_id)[:3], 0, 3),),
                sha256=text_hash(text_of(chunk_id)),
                judged_at=draw(dates),
            )
            for chunk_id in chunk_ids
            for annotator in draw(st.lists(ids, max_size=2, unique=True))
        )
        decisions = tuple(
            Adjudication(query_id, chunk_id, "rosa", 2, sha256=text_hash(text_of(chunk_id)), decided_at=draw(dates))
            for chunk_id in chunk_ids[:1]
        )
        facets = draw(st.dictionaries(ids, texts, max_size=2))
        query = GoldQuery(query_id, draw(texts), labels, facets, draw(st.booleans()), draw(texts))
        made.append(Case(query, judgments, decisions))
    return made


def built(cases: Iterable[Case], chunks: object, manifest: dict[str, object]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        in_order = sorted(cases, key=lambda case: case.query.query_id)
        complete = build(in_order, chunks, manifest, Path(folder))  # type: ignore[arg-type]
        files = dict(FolderFiles(Path(folder)))
    assert json.loads(files["manifest.json"]) == complete
    assert complete["digest"] == content_digest(files)
    assert complete["counts"] == counts_of(files)
    assert files["SHA256SUMS"] == sums(files)
    return files


def text_of(chunk_id: str) -> str:
    return f"text of {chunk_id}\n\r\u2028\x85 with every sort of line end, \x00 and “quotes”"


def kept(keys: ChunkKeys) -> Iterable[tuple[str, Chunk]]:
    for chunk_id, sha256 in keys:
        yield sha256, Chunk(chunk_id, text_of(chunk_id), "d/1", "title", 3, {"b": [1, {"z": 1, "a": 2.5}], "a": None})


def rows(files: dict[str, bytes], name: str) -> list[dict[str, object]]:
    return [json.loads(row) for row in files[name].split(b"\n") if row]


@settings(max_examples=60, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_moves_no_byte(made: list[Case], chance: random.Random) -> None:
    shuffled = []
    for case in made:
        judgments, labels = list(case.judgments), list(case.query.gold)
        chance.shuffle(judgments)
        chance.shuffle(labels)
        query = GoldQuery(
            case.query.query_id,
            case.query.question,
            tuple(labels),
            dict(reversed(case.query.slice.items())),
            case.query.unanswerable,
            case.query.notes,
        )
        shuffled.append(Case(query, tuple(judgments), case.adjudications))
    chance.shuffle(shuffled)
    assert built(shuffled, kept, MANIFEST) == built(made, kept, MANIFEST)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_hostile_ids_and_texts_survive(made: list[Case]) -> None:
    files = built(made, kept, MANIFEST)
    by_id = {case.query.query_id: case for case in made}
    read = rows(files, "gold.jsonl")
    assert [row["query_id"] for row in read] == sorted(by_id)
    for row in read:
        query = by_id[str(row["query_id"])].query
        assert row["question"] == query.question
        assert row.get("notes", "") == query.notes
        assert row["slice"] == {facet: value for facet, value in query.slice.items() if value}
        assert {one["chunk_id"]: (one["relevance"], one.get("reason", "")) for one in row["gold"]} == {  # type: ignore[attr-defined]
            label.chunk_id: (label.relevance, label.reason) for label in query.gold
        }
    said = {
        (row["query_id"], row["chunk_id"], row["annotator"]): (row["grade"], row.get("reason", ""), row["judged_at"])
        for row in rows(files, "judgments.jsonl")
        if row["kind"] == "judgment"
    }
    assert said == {
        (one.query_id, one.chunk_id, one.annotator): (one.grade, one.reason, one.judged_at)
        for case in made
        for one in case.judgments
    }
    for chunk in rows(files, "chunks.jsonl"):
        assert chunk["text"] == text_of(str(chunk["chunk_id"]))
        assert chunk["sha256"] == text_hash(str(chunk["text"]))


@settings(max_examples=40, deadline=None)
@given(cases(), dates)
def test_dates_and_notes_do_not_move_the_digest_anything_else_does(made: list[Case], date: str) -> None:
    digest = json.loads(built(made, kept, MANIFEST)["manifest.json"])["digest"]
    redated = [
        Case(
            case.query,
            tuple(Judgment(**_fields(one) | {"judged_at": date}) for one in case.judgments),
            tuple(Adjudication(**_fields(one) | {"decided_at": date}) for one in case.adjudications),
        )
        for case in made
    ]
    other = built(redated, kept, MANIFEST | {"note": "later", "created_at": "2027-01-01"})
    assert json.loads(other["manifest.json"])["digest"] == digest == content_digest(other)
    reworded = GoldQuery(**_fields(made[0].query) | {"question": made[0].query.question + "?"})
    changed = built([Case(reworded, made[0].judgments, made[0].adjudications), *made[1:]], kept, MANIFEST)
    assert content_digest(changed) != digest


def test_labels_are_best_first_and_empty_fields_are_left_out() -> None:
    labels = (GoldLabel("b", 0, stale=True), GoldLabel("a", 0), GoldLabel("z", 3, "because", settled_by="unanimous"))
    files = built([Case(GoldQuery("q1", "Who?", labels, {"risk": "", "domain": "policy"}))], lambda keys: [], MANIFEST)
    assert files["gold.jsonl"].decode() == (
        '{"gold":[{"chunk_id":"z","reason":"because","relevance":3,"settled_by":"unanimous","sha256":""},'
        '{"chunk_id":"a","relevance":0,"sha256":""},{"chunk_id":"b","relevance":0,"sha256":"","stale":true}],'
        '"query_id":"q1","question":"Who?","slice":{"domain":"policy"}}\n'
    )


def test_the_digest_is_the_documented_one() -> None:
    """Recomputed from its description, by hand: the files in order, dates taken out."""
    from hashlib import sha256

    judgments = (Judgment("q1", "c1", "ana", 1, sha256=text_hash(text_of("c1")), judged_at="2026-03-01"),)
    files = built([Case(GoldQuery("q1", "Who?"), judgments)], kept, MANIFEST)
    row = json.loads(files["judgments.jsonl"])
    del row["judged_at"]
    undated = json.dumps(row, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    content = files | {"judgments.jsonl": undated}
    lines = [
        f"{sha256(content[name]).hexdigest()}  {name}\n" for name in ("chunks.jsonl", "gold.jsonl", "judgments.jsonl")
    ]
    assert content_digest(files) == sha256("".join(lines).encode()).hexdigest()


def test_the_last_decision_of_a_pair_comes_last() -> None:
    decisions = tuple(Adjudication("q1", "c1", "rosa", grade, decided_at="same moment") for grade in (3, 0, 2))
    files = built([Case(GoldQuery("q1"), (), decisions)], lambda keys: [], MANIFEST)
    assert [row["grade"] for row in rows(files, "judgments.jsonl")] == [3, 0, 2]


@pytest.mark.parametrize("query_ids", [("q1", "q1"), ("q2", "q1")])
def test_queries_out_of_order_are_refused(tmp_path: Path, query_ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="does not come after"):
        build([Case(GoldQuery(query_id)) for query_id in query_ids], kept, MANIFEST, tmp_path)


def test_time_zone_locale_and_hash_seed_move_no_byte(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from annotator.gold.release import Case, build
from annotator.model import *
sha256 = text_hash("été 東京")
query = GoldQuery("q/é", "où?", (GoldLabel("c1", 3, sha256=sha256),), {facet: "x" for facet in {"b", "a", "é"}})
said = tuple(Judgment("q/é", "c1", name, 3, sha256=sha256, judged_at="2026-01-01") for name in {"ben", "ana", "cem"})
chunk = Chunk("c1", "été 東京", metadata={key: 0.1 for key in {"z", "y", "x"}})
build([Case(query, said)], lambda keys: [(sha256, chunk)], {"name": "n", "version": 1}, Path(sys.argv[1]))
"""
    made = []
    for seed, zone, locale in (("1", "UTC", "C"), ("2", "Asia/Tokyo", "tr_TR.UTF-8")):
        folder = tmp_path / seed
        folder.mkdir()
        around = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale}
        root = Path(__file__).resolve().parents[2]
        subprocess.run([sys.executable, "-c", script, str(folder)], check=True, cwd=root, env=around)
        made.append(dict(FolderFiles(folder)))
    assert made[0] == made[1]


def _fields(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__slots__}  # type: ignore[attr-defined]
