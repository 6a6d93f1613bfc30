"""Builds the files of a release and their digest: same content, same bytes, same digest, on any machine.

Knows nothing of the workspace. Reading, packing and checking what was built is `archive.py` and `verify.py`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
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
    "Tally",
    "build",
    "content_digest",
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
    "SHA-256 of the lines 'SHA-256  NAME' of chunks.jsonl, gold.jsonl and judgments.jsonl, the last one taken without "
    "its fields judged_at and decided_at"
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
    folder: Path,
) -> dict[str, Any]:
    """Write the files of a release into an empty folder and return the manifest.

    Cases come in ascending order of query id, one at a time, so that many are never held at once; ValueError when
    they do not. `chunks` gives (sha256, chunk as judged) for the keys it is asked for. `manifest` holds name, version,
    parent, created_at, created_by, note and what else is to be recorded, and is read last; counts, digest and format
    are added.
    """
    keys: set[tuple[str, str]] = set()
    tally = Tally()
    with ExitStack() as stack:
        files = {name: stack.enter_context(_ContentFile(folder / name)) for name in CONTENT}
        for case in _ascending(cases):
            row = gold_row(case.query)
            tally.gold(row)
            files["gold.jsonl"].write(line(row))
            for row in _said(case):
                tally.said(row)
                files["judgments.jsonl"].write(line(row))
            keys.update((label.chunk_id, label.sha256) for label in case.query.gold)
            keys.update((judgment.chunk_id, judgment.sha256) for judgment in case.judgments)
            keys.update((decision.chunk_id, decision.sha256) for decision in case.adjudications)
        for sha, chunk in chunks(sorted(keys)):
            tally.chunk()
            files["chunks.jsonl"].write(line(chunk_row(chunk, sha)))
    complete = {
        **manifest,
        "format": "annotator-gold",
        "format_version": FORMAT_VERSION,
        "grades": {str(grade): word for grade, word in GRADES.items()},
        "counts": tally.counts(),
        "digest": _digest({name: files[name].undated.hexdigest() for name in CONTENT}),
        "digest_covers": DIGEST_COVERS,
    }
    text = json.dumps(complete, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False).encode() + b"\n"
    (folder / "manifest.json").write_bytes(text)
    written = {name: files[name].content.hexdigest() for name in CONTENT}
    (folder / SUMS).write_bytes(_sums({**written, "manifest.json": sha256(text).hexdigest()}))
    return complete


def content_digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of a release's content, 64 hex digits: labels, texts and who said what, not when."""
    undated = {}
    for name in CONTENT:
        digest = sha256()
        for row in rows(files[name]):
            digest.update(_undated(name, row))
        undated[name] = digest.hexdigest()
    return _digest(undated)


def sums(files: Mapping[str, bytes]) -> bytes:
    """Return the content of SHA256SUMS, as `sha256sum -c` reads it."""
    return _sums({name: sha256(content).hexdigest() for name, content in files.items() if name != SUMS})


def rows(content: bytes) -> Iterator[bytes]:
    """Yield the lines of a file with their line feeds, without copying the file."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start) + 1 or len(content)
        yield content[start:end]
        start = end


class Tally:
    """Counts what the rows of a release hold. Raises KeyError or TypeError for a row that is none."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._people: set[str] = set()

    def gold(self, row: Mapping[str, Any]) -> None:
        """Count a row of gold.jsonl."""
        self._counts["queries"] += 1
        self._counts["unanswerable"] += bool(row.get("unanswerable"))
        self._counts["judged_pairs"] += len(row["gold"])
        self._counts["relevant"] += sum(label["relevance"] > 0 for label in row["gold"])

    def said(self, row: Mapping[str, Any]) -> None:
        """Count a row of judgments.jsonl."""
        self._counts[f"{row['kind']}s"] += 1
        if row["kind"] == "judgment":
            self._people.add(row["annotator"])

    def chunk(self) -> None:
        """Count a row of chunks.jsonl."""
        self._counts["chunks"] += 1

    def counts(self) -> dict[str, int]:
        """Return the counts, in the order of COUNTED."""
        self._counts["annotators"] = len(self._people)
        return {name: self._counts[name] for name in COUNTED}


class _ContentFile:
    """A file being written, with the checksum of its bytes and of what the digest covers."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.content = sha256()
        self.undated = sha256() if path.name == "judgments.jsonl" else self.content
        self._target = path.open("xb")

    def __enter__(self) -> _ContentFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._target.close()

    def write(self, row: bytes) -> None:
        self._target.write(row)
        self.content.update(row)
        if self.undated is not self.content:
            self.undated.update(_undated(self.name, row))


def _said(case: Case) -> Iterator[dict[str, Any]]:
    entries: list[tuple[str, int, str, Judgment | Adjudication]] = [
        (one.chunk_id, 0, one.annotator, one) for one in case.judgments
    ]
    # decisions of a pair keep their order: the last is in force
    entries += [(one.chunk_id, 1, "", one) for one in case.adjudications]
    for _, _, _, one in sorted(entries, key=lambda entry: entry[:3]):
        yield judgment_row(one) if isinstance(one, Judgment) else adjudication_row(one)


def _ascending(cases: Iterable[Case]) -> Iterator[Case]:
    before: str | None = None
    for case in cases:
        if before is not None and case.query.query_id <= before:
            raise ValueError(f"query {case.query.query_id!r} does not come after {before!r}")
        before = case.query.query_id
        yield case


def _undated(name: str, row: bytes) -> bytes:
    return _DATES.sub(b"", row) if name == "judgments.jsonl" else row


def _digest(undated: Mapping[str, str]) -> str:
    return sha256(_sums(undated)).hexdigest()


def _sums(checksums: Mapping[str, str]) -> bytes:
    return "".join(f"{checksums[name]}  {name}\n" for name in sorted(checksums)).encode()
