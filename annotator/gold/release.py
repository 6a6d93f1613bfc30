"""Builds the files of a release and their digest: same content, same bytes, same digest, on any machine.

Pure: knows nothing of the workspace or the disk. Reading, packing and checking what was built is `archive.py` and
`verify.py`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, TypeAlias

from annotator.gold.native import adjudication_row, chunk_row, gold_row, judgment_row, line
from annotator.model import GRADES, Adjudication, Chunk, GoldQuery, Judgment

__all__ = [
    "CONTENT",
    "COUNTED",
    "FILES",
    "SUMS",
    "Case",
    "ChunkKeys",
    "build",
    "content_digest",
    "counts_of",
    "rows",
    "sums",
]

CONTENT: Final = ("chunks.jsonl", "gold.jsonl", "judgments.jsonl")
"""The files the digest covers, in its order."""
SUMS: Final = "SHA256SUMS"
FILES: Final = (*CONTENT, "manifest.json", SUMS)

COUNTED: Final = (
    *("queries", "unanswerable", "judged_pairs", "relevant"),
    *("chunks", "judgments", "adjudications", "annotators"),
)
"""What the manifest counts, in the order it is told."""

FORMAT_VERSION: Final = 1
DIGEST_COVERS: Final = (
    "SHA-256 over chunks.jsonl, gold.jsonl and judgments.jsonl, each preceded by its name and a line feed; without the "
    "fields judged_at and decided_at of judgments.jsonl"
)

ChunkKeys: TypeAlias = Sequence[tuple[str, str]]
"""(chunk_id, sha256 of the text as judged), ascending."""

_DATES: Final = re.compile(rb',"(?:judged_at|decided_at)":"(?:[^"\\]|\\.)*"')
"""A dated field with the comma before it (a key that sorts lower always stands there). Never part of a text: there,
quotation marks are escaped."""


@dataclass(frozen=True, slots=True)
class Case:
    """One query of a release, what every person said about it, and every decision, oldest first."""

    query: GoldQuery
    judgments: tuple[Judgment, ...] = ()
    adjudications: tuple[Adjudication, ...] = ()


def build(
    cases: Iterable[Case],
    chunks: Callable[[ChunkKeys], Iterable[tuple[str, Chunk]]],
    manifest: Mapping[str, object],
) -> dict[str, bytes]:
    """Return the files of a release, name → content.

    Cases come in any order and one at a time, so that many are never held at once. `chunks` gives (sha256, chunk as
    judged) for the keys it is asked for. `manifest` holds name, version, parent, created_at, created_by, note and
    what else is to be recorded; counts, digest and format are added.
    """
    gold: dict[str, bytes] = {}
    judgments: dict[str, bytes] = {}
    keys: set[tuple[str, str]] = set()
    for case in cases:
        query_id = case.query.query_id
        if query_id in gold:
            raise ValueError(f"query {query_id!r} comes twice")
        gold[query_id] = line(gold_row(case.query))
        judgments[query_id] = b"".join(_judgment_lines(case))
        keys.update((label.chunk_id, label.sha256) for label in case.query.gold)
        keys.update((judgment.chunk_id, judgment.sha256) for judgment in case.judgments)
        keys.update((decision.chunk_id, decision.sha256) for decision in case.adjudications)
    files = {
        "chunks.jsonl": b"".join(line(chunk_row(chunk, key)) for key, chunk in chunks(sorted(keys))),
        "gold.jsonl": _joined(gold),
        "judgments.jsonl": _joined(judgments),
    }
    added = {
        "format": "annotator-gold",
        "format_version": FORMAT_VERSION,
        "grades": {str(grade): word for grade, word in GRADES.items()},
        "counts": counts_of(files),
        "digest": content_digest(files),
        "digest_covers": DIGEST_COVERS,
    }
    text = json.dumps({**manifest, **added}, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    files["manifest.json"] = text.encode() + b"\n"
    files[SUMS] = sums(files)
    return files


def content_digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of a release's content, 64 hex digits: labels, texts and who said what, not when."""
    digest = sha256()
    for name in CONTENT:
        digest.update(f"{name}\n".encode())
        for row in rows(files[name]):
            digest.update(_DATES.sub(b"", row) if name == "judgments.jsonl" else row)
    return digest.hexdigest()


def counts_of(files: Mapping[str, bytes]) -> dict[str, int]:
    """Count what the content files hold. Raises ValueError or KeyError when a row is not a native one."""
    counts: Counter[str] = Counter()
    people = set()
    for row in map(json.loads, rows(files["gold.jsonl"])):
        counts["queries"] += 1
        counts["unanswerable"] += bool(row.get("unanswerable"))
        counts["judged_pairs"] += len(row["gold"])
        counts["relevant"] += sum(label["relevance"] > 0 for label in row["gold"])
    for row in map(json.loads, rows(files["judgments.jsonl"])):
        counts[f"{row['kind']}s"] += 1
        if row["kind"] == "judgment":
            people.add(row["annotator"])
    counts["chunks"] = files["chunks.jsonl"].count(b"\n")
    counts["annotators"] = len(people)
    return {name: counts[name] for name in COUNTED}


def rows(content: bytes) -> Iterator[bytes]:
    """Yield the lines of a file with their line feeds, without copying the file."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start) + 1 or len(content)
        yield content[start:end]
        start = end


def sums(files: Mapping[str, bytes]) -> bytes:
    """Return the content of SHA256SUMS, as `sha256sum -c` reads it."""
    names = sorted(name for name in files if name != SUMS)
    return "".join(f"{sha256(files[name]).hexdigest()}  {name}\n" for name in names).encode()


def _judgment_lines(case: Case) -> Iterator[bytes]:
    entries: list[tuple[str, int, str, dict[str, Any]]] = [
        (one.chunk_id, 0, one.annotator, judgment_row(one)) for one in case.judgments
    ]
    # decisions of a pair keep their order: the last is in force
    entries += [(one.chunk_id, 1, "", adjudication_row(one)) for one in case.adjudications]
    for _, _, _, row in sorted(entries, key=lambda entry: entry[:3]):
        yield line(row)


def _joined(blocks: dict[str, bytes]) -> bytes:
    content = b"".join(blocks[query_id] for query_id in sorted(blocks))
    blocks.clear()
    return content
