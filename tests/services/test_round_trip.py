"""A version taken out and brought into another workspace is the same version there, whatever its ids and texts are."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.errors import InputError
from annotator.model import Adjudication, Evidence, Judgment, Query, id_fault, text_hash
from annotator.services import gold
from annotator.services.importing import import_judgments, import_queries
from annotator.store import decisions, judgments, queries
from annotator.store.database import Workspace

letters = st.characters(exclude_categories=("Cs",))
ids = st.one_of(
    st.sampled_from(
        ["007", "1e5", "NA", "null", "a b/c#d", "✓ 👍🏽", "‮right", "[1]", "{a", "=1", "'+", "---", "text:", "#"]
    ),
    st.text(letters, min_size=1, max_size=8),
).filter(lambda value: not id_fault(value))
texts = st.one_of(
    st.text(letters, max_size=20),
    st.sampled_from(
        ["yes", "null", "a: b", "'=1+1", "=cmd|' /C calc'!A0", "-1", "- x", "two\nlines", '"', "~", "tab\tbed"]
    ),
).map(str.strip)


def text_of(chunk_id: str) -> str:
    return f"text of {chunk_id}\n\r\u2028\x85 with every sort of line end, and “quotes”"


@st.composite
def contents(draw: st.DrawFn) -> list[tuple[Query, list[Judgment], list[Adjudication]]]:
    found = []
    for number, query_id in enumerate(draw(st.lists(ids, min_size=1, max_size=3, unique=True))):
        chunk_ids = draw(st.lists(ids, max_size=3, unique=True))
        facets = {name: value for name, value in draw(st.dictionaries(ids, texts, max_size=2)).items() if value}
        question = draw(texts) or "Who?"
        query = Query(query_id, question, draw(texts), facets, "open", draw(st.booleans()) or not chunk_ids)
        said, decided = [], []
        for place, chunk_id in enumerate(chunk_ids):
            stale = draw(st.booleans()) and (query.unanswerable or place > 0)
            about: dict[str, Any] = {
                "grade": 0 if stale else draw(st.integers(0 if query.unanswerable or place else 1, 3)),
                "stale": stale,
                "reason": draw(texts),
                "evidence": draw(st.sampled_from([(), (Evidence(text_of(chunk_id)[:4], 0, 4),)])),
                "sha256": text_hash(text_of(chunk_id)),
            }
            said += [
                Judgment(query_id, chunk_id, who, operation_id=f"{number}.{place}.{who}", **about)
                for who in ("ana", "ben")[: draw(st.integers(1, 2))]
            ]
            if draw(st.booleans()):
                unsure = {"grade": None, "reason": "not my field", "sha256": about["sha256"]}
                said.append(Judgment(query_id, chunk_id, "cem", operation_id=f"{number}.{place}.cem", **unsure))
            if draw(st.booleans()):
                about["grade"] = 0 if stale else draw(st.integers(1, 3))
                decided.append(Adjudication(query_id, chunk_id, "rosa", operation_id=f"{number}.{place}", **about))
        found.append((query, said, decided))
    return found


def workspace(folder: Path, content: list[tuple[Query, list[Judgment], list[Adjudication]]]) -> Workspace:
    """Make a workspace that has the chunks."""
    made = Workspace(folder)
    made.create()
    with made.write() as connection:
        for chunk_id in {one.chunk_id for _, said, _ in content for one in said}:
            text = text_of(chunk_id)
            connection.execute(
                "INSERT INTO chunks (chunk_id, doc_id, title, text, metadata, sha256, row_hash, sync_id)"
                " VALUES (?, ?, '', ?, '{}', ?, x'00', 1)",
                (chunk_id, f"d {chunk_id}"[:500], text, text_hash(text)),
            )
    return made


def released(home: Workspace, name: str) -> list[dict[str, Any]]:
    version = gold.release(home, "nobody", name=name, allow_open=True)
    (_, content) = gold.download(home, version.version, "jsonl")
    return [json.loads(row) for row in content.split(b"\n") if row]


def as_brought(row: dict[str, Any], *, bare: bool) -> dict[str, Any]:
    """Return a row with what the format cannot hold taken out: who settled a label, and of bare grades the reasons."""
    gone = {"settled_by"} | ({"reason", "evidence", "stale"} if bare else set())
    return {**row, "gold": [{key: value for key, value in one.items() if key not in gone} for one in row["gold"]]}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(contents(), st.sampled_from(["native", "jsonl", "yaml", "csv", "beir", "trec"]))
def test_what_is_imported_from_an_export_is_released_as_it_was(
    content: list[tuple[Query, list[Judgment], list[Adjudication]]], form: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        here = workspace(folder / "here", content)
        with here.write() as connection:
            for query, said, decided in content:
                queries.add(connection, query, "ana")
                for judgment in said:
                    judgments.append(connection, judgment)
                for decision in decided:
                    decisions.append(connection, decision)
        rows = released(here, "gold")
        there = workspace(folder / "there", content)
        try:
            exported = gold.export_version(here, 1, folder / "out", form)
        except InputError:
            assert form == "trec"
            return
        assert exported.counts["judged_pairs"] == sum(len(row["gold"]) for row in rows)
        judged = bring(there, folder / "out", form, any(row["gold"] for row in rows))
        bare = form in ("beir", "trec")
        if form == "trec":  # no place for notes, facets and unanswerable
            rows = [
                {**row, "slice": {}} for row in rows if row["gold"] and any(one["relevance"] for one in row["gold"])
            ]
            for row in rows:
                row.pop("notes", None), row.pop("unanswerable", None)
            if not rows:
                return
        again = released(there, "gold")
        if form == "native":
            assert gold.version(here, "1").digest == gold.version(there, "1").digest
        assert [as_brought(row, bare=bare) for row in again] == [as_brought(row, bare=bare) for row in rows]
        assert bring(there, folder / "out", form, judged, twice=True)


def bring(there: Workspace, out: Path, form: str, judged: bool, *, twice: bool = False) -> bool:
    """Import an export as its guide says; the second time it changes nothing."""
    asked, said = {"beir": ("queries.jsonl", "qrels/test.tsv"), "trec": ("topics.tsv", "qrels")}.get(form, ("", ""))
    if form != "native":
        file = (asked or f"out.{form}", (out / asked).read_bytes())
        report = import_queries(there, "rosa", file)
        assert not twice or not (report.added or report.changed)
    if judged or form == "native":
        file = (said or f"out.{form}", (out / said).read_bytes()) if form != "native" else out  # type: ignore[assignment]
        report = import_judgments(there, "rosa", file, annotator="rosa")
        assert not twice or not (report.added or report.changed)
        assert not [warning for warning in report.warnings if "left out" in warning]
    return True


def test_a_sheet_edited_in_one_row_only_is_refused_not_guessed(tmp_path: Path) -> None:
    content = [
        (Query("q1", "Who?"), [Judgment("q1", one, "ana", 2, sha256=text_hash(text_of(one))) for one in "ab"], [])
    ]
    home = workspace(tmp_path / "home", content)
    header = (
        "query_id,question,notes,unanswerable,chunk_id,grade,meaning,stale,reason,evidence,doc_id,settled_by,sha256"
    )
    rows = f"{header}\nq1,Who?,,,a,3,answers,,,,,,\nq1,Who then?,,,b,1,related,,,text of b,,,\n"
    with pytest.raises(InputError, match="line 2 has another question with this id"):
        import_queries(home, "ana", ("gold.csv", rows.encode()))
    import_queries(home, "ana", ("gold.csv", rows.replace("Who then?", "Who?").encode()))
    report = import_judgments(home, "ana", ("gold.csv", rows.encode()), annotator="ana")
    assert report.added == 2
    with pytest.raises(InputError, match="line 3, field grade"):
        import_judgments(home, "ana", ("gold.csv", rows.replace("b,1,", "b,7,").encode()), annotator="ana")
