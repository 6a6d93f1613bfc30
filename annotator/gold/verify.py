"""Says whether a release is as it was frozen: checksums, digest, counts, texts, nothing missing, nothing added."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from annotator.gold.archive import DamagedArchive, pack, read_release
from annotator.gold.release import CONTENT, FILES, SUMS, Tally, content_digest, rows, sums
from annotator.model import text_hash

__all__ = ["Verification", "counts_of", "folder_name", "verify"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check found. `problems` name the file each; `counts` are recomputed, empty when that was impossible."""

    path: str
    name: str
    version: int | None
    digest: str
    counts: Mapping[str, int]
    problems: tuple[str, ...]

    @property
    def intact(self) -> bool:
        return not self.problems


def verify(path: Path) -> Verification:
    """Recompute everything about a release folder or zip; a damaged zip is one problem.

    Raises NotFound, and InputError for what is no release at all.
    """
    try:
        files = read_release(path)
    except DamagedArchive as error:
        return Verification(str(path), "", None, "", {}, (f"{path.name}: {error}",))
    problems = [*_file_problems(files), *_sum_problems(files)]
    manifest = _manifest(files)
    digest, counts = "", {}
    if set(CONTENT) <= files.keys():
        digest = content_digest(files)
        if manifest.get("digest") != digest:
            problems.append(f"manifest.json: the digest is {manifest.get('digest')}, the content has {digest}")
        try:
            counts = counts_of(files)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"gold.jsonl or judgments.jsonl: a line is not a row of a release ({error})")
        problems += _count_problems(manifest, counts)
        problems += _text_problems(files["chunks.jsonl"])
    if not problems and path.is_file() and path.read_bytes() != pack(files, folder_name(manifest)):
        problems.append(
            f"{path.name}: packed by another program or altered between its files, which are intact; "
            "unpack it and verify the folder"
        )
    version = manifest.get("version")
    return Verification(
        path=str(path),
        name=str(manifest.get("name", "")),
        version=version if isinstance(version, int) else None,
        digest=digest,
        counts=counts,
        problems=tuple(problems),
    )


def folder_name(manifest: Mapping[str, Any]) -> str:
    """Return the name of a release's folder, `NAME-vN`."""
    return f"{manifest.get('name')}-v{manifest.get('version')}"


def counts_of(files: Mapping[str, bytes]) -> dict[str, int]:
    """Count what the content files hold. Raises ValueError, KeyError or TypeError when a row is not a native one."""
    tally = Tally()
    for row in rows(files["gold.jsonl"]):
        tally.gold(json.loads(row))
    for row in rows(files["judgments.jsonl"]):
        tally.said(json.loads(row))
    for _ in rows(files["chunks.jsonl"]):
        tally.chunk()
    return tally.counts()


def _file_problems(files: Mapping[str, bytes]) -> Iterator[str]:
    yield from (f"{name}: missing" for name in FILES if name not in files)
    yield from (f"{name}: not part of the release" for name in sorted(files) if name not in FILES)


def _sum_problems(files: Mapping[str, bytes]) -> Iterator[str]:
    known = {name: files[name] for name in FILES if name in files}
    listed = files.get(SUMS, b"")
    if not listed or listed == sums(known):
        return
    stated = {}
    for row in listed.decode("utf-8", "replace").split("\n"):
        checksum, _, name = row.partition("  ")
        stated[name] = checksum
    wrong = [name for name in sorted(known) if name != SUMS and stated.get(name) != sha256(known[name]).hexdigest()]
    yield from (f"{name}: not the content whose checksum stands in {SUMS}" for name in wrong)
    if not wrong:
        yield f"{SUMS}: altered"


def _manifest(files: Mapping[str, bytes]) -> dict[str, Any]:
    try:
        manifest = json.loads(files.get("manifest.json", b"{}"))
    except ValueError:
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _count_problems(manifest: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[str]:
    stated = manifest.get("counts")
    stated = stated if isinstance(stated, dict) else {}
    for name, number in counts.items():
        if stated.get(name) != number:
            yield f"manifest.json: counts {stated.get(name)} {name.replace('_', ' ')}, the content has {number}"


def _text_problems(content: bytes) -> Iterator[str]:
    for number, row in enumerate(rows(content), 1):
        try:
            chunk = json.loads(row)
            sound = text_hash(chunk["text"]) == chunk["sha256"]
        except (ValueError, KeyError, TypeError, AttributeError):
            yield f"chunks.jsonl: line {number} is not a chunk"
            continue
        if not sound:
            yield f"chunks.jsonl: line {number}: the text of {chunk.get('chunk_id')!r} does not have the hash it states"
