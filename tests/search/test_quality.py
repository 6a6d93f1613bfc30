"""How well search finds the evidence: questions as typed in twelve languages, and against a plain BM25."""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tantivy

from annotator.model import Chunk
from annotator.search import index
from annotator.search.query import parse
from annotator.search.run import ranked, search
from annotator.store.database import Workspace
from tests.search.conftest import sync

QUESTIONS_PER_LANGUAGE = 100

Grades = Mapping[str, Mapping[str, int]]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def chunks_of(folder: Path) -> list[Chunk]:
    return [
        Chunk(one["chunk_id"], one["text"], one.get("doc_id", ""), one.get("title", ""))
        for one in lines(folder / "chunks.jsonl")
    ]


def grades_of(folder: Path) -> Grades:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query_id, chunk_id, grade = line.split("\t")
        grades[query_id][chunk_id] = int(grade)
    return grades


def indexed(folder: Path, home: Path) -> Workspace:
    made = Workspace(home)
    made.create()
    sync(made, chunks_of(folder))
    index.refresh(made)
    return made


@pytest.fixture(scope="module")
def xquad(shared: Path) -> Path:
    return shared / "corpora" / "xquad_12lang"


@pytest.fixture(scope="module")
def all_languages(xquad: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return indexed(xquad, tmp_path_factory.mktemp("xquad") / "home")


def test_the_answer_is_among_the_first_ten_in_every_language(xquad: Path, all_languages: Workspace) -> None:
    reader, grades = index.current(all_languages), grades_of(xquad)
    by_language: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for question in lines(xquad / "queries.jsonl"):
        by_language[question["metadata"]["lang"]].append(question)
    assert len(by_language) == 12
    rates = {}
    for language, questions in by_language.items():
        asked = random.Random(0).sample(questions, QUESTIONS_PER_LANGUAGE)
        hits: Counter[bool] = Counter()
        for question in asked:
            _, found = ranked(reader, parse(question["question"]), limit=10)
            hits[any(chunk_id in grades[question["query_id"]] for chunk_id, _ in found)] += 1
        rates[language] = hits[True] / len(asked)
    assert min(rates.values()) >= 0.90, rates
    assert sum(rates.values()) / len(rates) >= 0.95, rates


def test_what_is_found_is_marked(xquad: Path, all_languages: Workspace) -> None:
    asked = random.Random(1).sample(list(lines(xquad / "queries.jsonl")), 60)
    for question in asked:
        hits = search(all_languages, question["question"], limit=3).hits
        assert all(hit.spans for hit in hits), question["question"]


def test_one_wrong_letter_loses_little_in_fuzzy_mode(xquad: Path, all_languages: Workspace) -> None:
    reader, grades = index.current(all_languages), grades_of(xquad)
    draw = random.Random(2)
    english = [one for one in lines(xquad / "queries.jsonl") if one["metadata"]["lang"] == "en"]
    hits = {"words": 0, "fuzzy": 0}
    for question in draw.sample(english, 100):
        mistyped = " ".join(slip(word, draw) for word in question["question"].split())
        for mode in hits:
            _, found = ranked(reader, parse(mistyped), mode=mode, limit=10)
            hits[mode] += any(chunk_id in grades[question["query_id"]] for chunk_id, _ in found)
    assert hits["fuzzy"] >= 90, hits
    assert hits["fuzzy"] >= hits["words"] + 10, hits


def slip(word: str, draw: random.Random) -> str:
    """Swap two neighbouring letters in the middle of a longer word."""
    if len(word) < 6 or not word.isalpha():
        return word
    at = draw.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def test_ranking_is_no_worse_than_a_plain_bm25(shared: Path, tmp_path: Path) -> None:
    folder = shared / "corpora" / "cranfield"
    reader, grades = index.current(indexed(folder, tmp_path / "home")), grades_of(folder)
    asked = list(lines(folder / "queries.jsonl"))

    def ours(question: str) -> list[str]:
        return [chunk_id for chunk_id, _ in ranked(reader, parse(question), limit=10)[1]]

    plain = plain_bm25(chunks_of(folder))
    assert mean_ndcg(ours, asked, grades) >= mean_ndcg(plain, asked, grades) + 0.02


def plain_bm25(chunks: Sequence[Chunk]) -> Callable[[str], list[str]]:
    """Return a search by Tantivy's stemmed BM25 (k1 = 1.2, b = 0.75) over title and text, as it comes."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("chunk_id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", tokenizer_name="en_stem")
    plain = tantivy.Index(builder.build())
    writer = plain.writer(50_000_000, 1)
    for one in chunks:
        writer.add_document(tantivy.Document(chunk_id=one.chunk_id, text=f"{one.title}\n{one.text}"))
    writer.commit()
    plain.reload()
    searcher = plain.searcher()

    def find(question: str) -> list[str]:
        query, _ = plain.parse_query_lenient(question, ["text"])
        return [searcher.doc(at)["chunk_id"][0] for _, at in searcher.search(query, 10).hits]

    return find


def mean_ndcg(find: Callable[[str], list[str]], asked: Sequence[Mapping[str, Any]], grades: Grades) -> float:
    """Return nDCG@10 with linear gains over the queries that have a relevant chunk."""
    values = []
    for question in asked:
        judged = grades[question["query_id"]]
        ideal = discounted(sorted(judged.values(), reverse=True))
        if ideal:
            values.append(discounted([judged.get(one, 0) for one in find(question["question"])]) / ideal)
    return sum(values) / len(values)


def discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:10]))
