"""Takes a frozen version out of the workspace in the formats other programs read.

A format turns the files of a release into the files to write: one becomes a file, several a folder or, when the path
ends in `.zip`, one zip.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from annotator.errors import InputError
from annotator.gold.archive import pack, write_file, write_folder, write_zip
from annotator.gold.contents import LEVELS, query_rows
from annotator.gold.exchange import beir, ragas, trec
from annotator.gold.sheet import sheet
from annotator.gold.verify import counts_of, folder_name
from annotator.gold.yamlform import yaml_form

__all__ = ["FORMATS", "Exported", "Format", "download", "download_name", "export"]

Files: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where; `counts` are those of the version, counted in what was written from."""

    path: str
    format: str
    digest: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Format:
    """How a version can be written: `write` turns the files of a release into the files to write, at a level.

    `ending` is that of the one file it is offered as.
    """

    title: str
    ending: str
    write: Callable[[Files, str], Files]
    levels: tuple[str, ...] = ("chunk",)
    """Others than chunks only where the format has no place for documents and evidence beside the chunk."""


FORMATS: Final[Mapping[str, Format]] = {
    "native": Format("Whole release (zip)", "zip", lambda files, _: files),
    "jsonl": Format("Labels (JSONL)", "jsonl", lambda files, _: {"gold.jsonl": files["gold.jsonl"]}),
    "yaml": Format("Labels (YAML)", "yaml", lambda files, _: {"gold.yaml": yaml_form(query_rows(files))}),
    "csv": Format("Spreadsheet (CSV)", "csv", lambda files, _: {"gold.csv": sheet(query_rows(files))}),
    "trec": Format("TREC judgments and topics (zip)", "zip", trec, LEVELS),
    "beir": Format("BEIR (zip)", "zip", beir, LEVELS),
    "ragas": Format("ragas (JSONL)", "jsonl", ragas, LEVELS),
}
"""Format by name."""


def export(files: Files, path: Path, format: str, level: str = "chunk") -> Exported:
    """Write a release in the format to the path, whole or not at all.

    Raises InputError for an unknown format or what the format cannot hold, Conflict when the path is a folder with
    anything else in it, StoreError.
    """
    written = _converted(files, format, level)
    manifest = json.loads(files["manifest.json"])
    if len(written) == 1:
        write_file(path, next(iter(written.values())))
    elif path.suffix.lower() == ".zip":
        write_zip(path, written, folder_name(manifest))
    else:
        write_folder(path, written)
    return Exported(str(path), format, manifest["digest"], counts_of(files))


def download(files: Files, format: str, level: str = "chunk") -> tuple[str, bytes]:
    """Return the file to offer for download, (name, content). Raises InputError as `export`."""
    written = _converted(files, format, level)
    folder = folder_name(json.loads(files["manifest.json"]))
    content = pack(written, folder) if len(written) > 1 else next(iter(written.values()))
    return download_name(folder, format), content


def download_name(folder: str, format: str) -> str:
    """Return the name of the file that `download` gives for the release with this folder name."""
    ending = FORMATS[format].ending
    return f"{folder}.{ending}" if format in ("native", ending) else f"{folder}-{format}.{ending}"


def _converted(files: Files, format: str, level: str) -> Files:
    if format not in FORMATS:
        raise InputError(f"There is no format {format!r}.", hint=f"Choose of {', '.join(FORMATS)}.")
    if level not in FORMATS[format].levels:
        others = ", ".join(name for name, one in FORMATS.items() if level in one.levels)
        hint = f"These do: {others}." if others else f"Choose of {', '.join(LEVELS)}."
        raise InputError(f"{format} has no level {level!r}.", hint=hint)
    return FORMATS[format].write(files, level)
