"""Released gold set versions: numbered, sealed by triggers, their files kept byte for byte."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotator.errors import NotFound

__all__ = ["Version", "add", "all_versions", "file", "file_names", "next_number", "put_tag", "tags", "version"]


@dataclass(frozen=True, slots=True)
class Version:
    """A released version. `manifest` is the content of its manifest.json."""

    version: int
    name: str
    parent: int | None
    note: str
    created_at: str
    created_by: str
    digest: str
    manifest: Mapping[str, Any]

    @property
    def folder(self) -> str:
        return f"{self.name}-v{self.version}"


def next_number(connection: sqlite3.Connection) -> int:
    """Return the number the next version gets."""
    return int(connection.execute("SELECT COALESCE(MAX(version), 0) + 1 FROM versions").fetchone()[0])


def add(connection: sqlite3.Connection, new: Version, contents: Mapping[str, bytes]) -> None:
    """Store a version with its files, taken one at a time; nothing of it can be changed afterwards."""
    connection.executemany(
        "INSERT INTO version_files VALUES (?, ?, ?)", ((new.version, name, data) for name, data in contents.items())
    )
    connection.execute(
        "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.version,
            new.name,
            new.parent,
            new.note,
            new.created_at,
            new.created_by,
            new.digest,
            json.dumps(new.manifest, ensure_ascii=False, sort_keys=True),
        ),
    )


def all_versions(connection: sqlite3.Connection) -> list[Version]:
    """Return all versions, newest first."""
    return [_version(row) for row in connection.execute("SELECT * FROM versions ORDER BY version DESC")]


def version(connection: sqlite3.Connection, number: int) -> Version:
    """Return the version. Raises NotFound, naming those there are."""
    row = connection.execute("SELECT * FROM versions WHERE version = ?", (number,)).fetchone()
    if row is None:
        known = ", ".join(str(one.version) for one in all_versions(connection)[::-1])
        raise NotFound(
            f"There is no version {number}.", hint=f"There are: {known}." if known else "Nothing was released yet."
        )
    return _version(row)


def file_names(connection: sqlite3.Connection, number: int) -> list[str]:
    """Return the names of the version's files. Raises NotFound."""
    version(connection, number)
    rows = connection.execute("SELECT name FROM version_files WHERE version = ? ORDER BY name", (number,))
    return [row[0] for row in rows]


def file(connection: sqlite3.Connection, number: int, name: str) -> bytes:
    """Return the content of one of the version's files. Raises NotFound."""
    row = connection.execute(
        "SELECT content FROM version_files WHERE version = ? AND name = ?", (number, name)
    ).fetchone()
    if row is None:
        raise NotFound(f"Version {number} has no file {name}.")
    return bytes(row[0])


def tags(connection: sqlite3.Connection) -> dict[str, int]:
    """Return tag → version number, by tag."""
    return {row[0]: row[1] for row in connection.execute("SELECT tag, version FROM tags ORDER BY tag")}


def put_tag(connection: sqlite3.Connection, tag: str, number: int) -> None:
    """Let the tag stand for this version, whatever it stood for before."""
    connection.execute(
        "INSERT INTO tags VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version", (tag, number)
    )


def _version(row: sqlite3.Row) -> Version:
    return Version(
        version=row["version"],
        name=row["name"],
        parent=row["parent"],
        note=row["note"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        digest=row["digest"],
        manifest=json.loads(row["manifest"]),
    )
