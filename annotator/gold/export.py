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
from annotator.gold.verify import counts_of, folder_name

__all__ = ["FORMATS", "Exported", "download", "export"]

Files: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where; `counts` are those of the version, counted in what was written from."""

    path: str
    format: str
    digest: str
    counts: Mapping[str, int]


def _native(files: Files) -> Files:
    return files


def _jsonl(files: Files) -> Files:
    return {"gold.jsonl": files["gold.jsonl"]}


FORMATS: Final[Mapping[str, Callable[[Files], Files]]] = {"native": _native, "jsonl": _jsonl}
"""Format by name: from the files of a release to the files to write."""


def export(files: Files, path: Path, format: str) -> Exported:
    """Write a release in the format to the path, whole or not at all.

    Raises InputError for an unknown format, Conflict when the path is a folder with anything else in it, StoreError.
    """
    written = _converted(files, format)
    manifest = json.loads(files["manifest.json"])
    if len(written) == 1:
        write_file(path, next(iter(written.values())))
    elif path.suffix.lower() == ".zip":
        write_zip(path, written, folder_name(manifest))
    else:
        write_folder(path, written)
    return Exported(str(path), format, manifest["digest"], counts_of(files))


def download(files: Files, format: str) -> tuple[str, bytes]:
    """Return the file to offer for download, (name, content). Raises InputError for an unknown format."""
    written = _converted(files, format)
    name = folder_name(json.loads(files["manifest.json"]))
    if len(written) > 1:
        return f"{name}.zip", pack(written, name)
    inner, content = next(iter(written.items()))
    return name + Path(inner).suffix, content


def _converted(files: Files, format: str) -> Files:
    if format not in FORMATS:
        raise InputError(f"There is no format {format!r}.", hint=f"Choose of {', '.join(FORMATS)}.")
    return FORMATS[format](files)
