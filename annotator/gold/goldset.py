"""The gold set as evaluation sees it: settled grades by query, with what a release knows beyond the grades.

Reading the bytes of each accepted form is `goldfiles`; building and verifying releases is done elsewhere in this room.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike

from annotator.errors import InputError, NotFound, Problem
from annotator.gold.goldcontent import GoldContent
from annotator.gold.goldfiles import read_gold, read_pairs
from annotator.gold.textfile import ZIP_MAGIC, decode, name_of, read_bytes
from annotator.model import GoldLabel, GoldQuery

__all__ = ["GoldSet"]


@dataclass(frozen=True, slots=True)
class GoldSet:
    """Settled grades per query. `grades` holds every query that has a judgment, also grades 0."""

    grades: Mapping[str, Mapping[str, int]]
    details: Mapping[str, GoldQuery] = field(default_factory=dict)
    """Question, facets, evidence, `unanswerable`: filled by the native and YAML forms, empty for bare judgments."""
    name: str = ""
    version: int | None = None
    digest: str = ""
    """The release's digest; without a release, SHA-256 of the bytes read."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Text of the judged chunks, as judged; filled by a release."""
    warnings: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> GoldSet:
        """Read a release folder or zip, `gold.jsonl`, YAML, TREC qrels, a TSV with header or JSON; told by content.

        Raises InputError listing every fault with file and line, also when no judgment is left.
        """
        place = os.fspath(path)
        if os.path.isdir(place):
            return cls._from_release(place)
        data = read_bytes(place)
        if data.startswith(ZIP_MAGIC):
            return cls._from_release(place, data)
        file = name_of(place)
        return cls._from_content(read_gold(decode(data, file), file), _stem(file), None, sha256(data).hexdigest())

    @classmethod
    def of(cls, judgments: Mapping[str, object], name: str = "gold") -> GoldSet:
        """Make a gold set of `{query_id: {chunk_id: grade}}`; rows `(chunk_id, grade)` do as well.

        Raises InputError as `load` does.
        """
        content = read_pairs(judgments, name)
        canonical = {query_id: dict(sorted(grades.items())) for query_id, grades in sorted(content.grades.items())}
        return cls._from_content(content, name, None, sha256(json.dumps(canonical).encode()).hexdigest())

    @classmethod
    def _from_release(cls, place: str, packed: bytes | None = None) -> GoldSet:
        from pathlib import Path

        from annotator.gold.archive import read_release  # brings zip reading along, which other forms do not need

        files = read_release(Path(place), packed)
        if "gold.jsonl" not in files:
            raise NotFound(f"{place} has no gold.jsonl.", hint="Name a release or a file of judgments.")
        _check_sums(place, files)
        manifest = _manifest(place, files)
        content = read_gold(decode(files["gold.jsonl"], f"{place}/gold.jsonl"), f"{place}/gold.jsonl")
        version = manifest.get("version")
        return cls._from_content(
            content,
            str(manifest.get("name") or _stem(place)),
            version if isinstance(version, int) else None,
            str(manifest.get("digest") or sha256(files["gold.jsonl"]).hexdigest()),
            _texts(place, files, {label.sha256 for query in content.details.values() for label in query.gold}),
        )

    @classmethod
    def _from_content(
        cls,
        content: GoldContent,
        name: str,
        version: int | None,
        digest: str,
        texts: Mapping[str, str] | None = None,
    ) -> GoldSet:
        gold = cls(content.grades, content.details, name, version, digest, texts or {}, tuple(content.warnings))
        if not gold.judged_queries and not gold.unanswerable:
            raise InputError(f"{name} has no judgments.", hint="A gold set needs at least one judged query.")
        return gold

    @property
    def unanswerable(self) -> tuple[str, ...]:
        """Ids of the queries that no chunk answers, on purpose; ascending."""
        return tuple(sorted(query_id for query_id, query in self.details.items() if query.unanswerable))

    @property
    def judged_queries(self) -> tuple[str, ...]:
        """Ids of the queries that ranking measures are averaged over: judged and answerable; ascending."""
        left_out = set(self.unanswerable)
        return tuple(sorted(query_id for query_id in self.grades if query_id not in left_out))

    @property
    def size(self) -> int:
        """How many queries there are: judged ones and unanswerable ones."""
        return len(self.grades.keys() | set(self.unanswerable))

    @property
    def judged_pairs(self) -> int:
        """How many (query, chunk) pairs have a grade."""
        return sum(map(len, self.grades.values()))

    @property
    def facets(self) -> tuple[str, ...]:
        """Names of all facets any query has, ascending."""
        return tuple(sorted({facet for query in self.details.values() for facet in query.slice}))

    def facet_value(self, query_id: str, facet: str) -> str:
        """Value of a query's facet, or "" when it has none."""
        query = self.details.get(query_id)
        return query.slice.get(facet, "") if query else ""

    def labels(self, query_id: str) -> tuple[GoldLabel, ...]:
        """Labels of a query, best grade first; made from the bare grades where nothing more is known."""
        if query_id in self.details:
            return self.details[query_id].gold
        grades = self.grades.get(query_id, {})
        best_first = sorted(grades, key=lambda chunk_id: (-grades[chunk_id], chunk_id))
        return tuple(GoldLabel(chunk_id, grades[chunk_id]) for chunk_id in best_first)


def _stem(place: str) -> str:
    """Name for people: the last part of the path without the endings of its format."""
    name = os.path.basename(place.rstrip("/\\")) or place
    for ending in (".gz", ".zip", ".jsonl", ".json", ".yaml", ".yml", ".tsv", ".csv", ".qrels", ".txt"):
        name = name.removesuffix(ending)
    return name


def _check_sums(place: str, files: Mapping[str, bytes]) -> None:
    """Refuse a release whose files are not those it was frozen with: its figures would be against other labels."""
    problems = []
    for number, line in enumerate(decode(files.get("SHA256SUMS", b""), f"{place}/SHA256SUMS").splitlines(), 1):
        sum_, _, name = line.partition(" ")
        name = name.strip().lstrip("*").rsplit("/", 1)[-1]
        if name in files and sha256(files[name]).hexdigest() != sum_:
            problems.append(Problem(f"{name} was changed after the release", file=f"{place}/SHA256SUMS", line=number))
    if problems:
        raise InputError(f"{place} is not as it was released.", problems=problems, hint="`verify` says more.")


def _manifest(place: str, files: Mapping[str, bytes]) -> dict[str, object]:
    if "manifest.json" not in files:
        return {}
    try:
        manifest = json.loads(decode(files["manifest.json"], f"{place}/manifest.json"))
    except ValueError as error:
        raise InputError(f"{place}/manifest.json is not JSON: {error}.") from None
    if not isinstance(manifest, dict):
        raise InputError(f"{place}/manifest.json is not an object.")
    return manifest


def _texts(place: str, files: Mapping[str, bytes], labelled: set[str]) -> dict[str, str]:
    """Return the chunks' texts; of one that was judged before and after a change, the text the label is about."""
    texts: dict[str, str] = {}
    for number, line in enumerate(decode(files.get("chunks.jsonl", b""), f"{place}/chunks.jsonl").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            chunk_id, text = str(row["chunk_id"]), str(row["text"])
            if chunk_id not in texts or row.get("sha256") in labelled:
                texts[chunk_id] = text
        except (ValueError, KeyError, TypeError) as error:
            problem = Problem("not a chunk with chunk_id and text", file=f"{place}/chunks.jsonl", line=number)
            raise InputError(f"{place} cannot be read.", problems=[problem]) from error
    return texts
