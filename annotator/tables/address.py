"""Reads the address of a chunk table: which kind it is and where, with passwords taken from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from annotator.errors import InputError
from annotator.tables.table import Table

if TYPE_CHECKING:
    from annotator.tables.http import Service

__all__ = ["absolute", "expand", "list_tables", "open_table", "refuse_password"]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SQLITE = "sqlite:///"
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://")
_SERVICE = re.compile(r"(opensearch|elasticsearch|qdrant)(s|\+https)?://")
_SECRETS = frozenset(("api_key", "apikey", "token"))
_MISWRITTEN = re.compile(r"(?i)postgres(ql)?(\+\w+)?:(?!//)|.*\bpassword\s*=")
"""PostgreSQL's other form, `host=… password=…`, and an address that lacks a slash."""
_SEVERAL = frozenset(("sqlite", "duckdb", "chroma", "lance", "qdrant"))
_KINDS = (
    "Known are postgresql://…, opensearch://…, elasticsearch://…, qdrant://…, sqlite:///file.db, files .jsonl, "
    ".ndjson, .csv, .tsv (each also .gz), .parquet and .duckdb, and "
    "folders of Chroma, LanceDB, Qdrant (local) or Parquet files."
)


def open_table(url: str, table: str = "") -> Table:
    """Open the chunk table at this address. Raises InputError when it cannot be read or the kind is not known."""
    refuse_password(url)
    if database := _postgres(url):
        from annotator.tables.postgres import open_postgres

        return open_postgres(*database, table)
    if service := _service(url):
        return _served(service).open(service, table)
    kind, path = _place(url)
    if kind in _SEVERAL:
        return _store(kind).open(path, table)
    if kind == "jsonl":
        from annotator.tables.jsonl import JsonlTable

        return JsonlTable(path)
    if kind == "parquet":
        from annotator.tables.parquet import ParquetTable

        return ParquetTable(path)
    if kind == "parquet folder":
        from annotator.tables.parquetfolder import ParquetFolder

        return ParquetFolder(path)
    from annotator.tables.csvfile import CsvTable

    return CsvTable(path, "\t" if kind == "tsv" else ",")


def list_tables(url: str) -> list[str]:
    """List the tables or collections to choose from at this address; none for a file that is one table itself."""
    refuse_password(url)
    if database := _postgres(url):
        from annotator.tables.postgres import postgres_names

        return postgres_names(*database)
    if service := _service(url):
        return _served(service).names(service)
    kind, path = _place(url)
    return _store(kind).names(path) if kind in _SEVERAL else []


def absolute(url: str, folder: Path | None = None) -> str:
    """Make the file of an address independent of the working directory; `${NAME}` stays as it is.

    A relative path starts in `folder`, by default in the working directory.
    """
    prefix = _SQLITE if url.startswith(_SQLITE) else ""
    path = url.removeprefix(prefix)
    if "://" in path or path.startswith("${"):
        return url
    return prefix + str((folder or Path.cwd()) / Path(path).expanduser())


def refuse_password(url: str) -> None:
    """Raise InputError, without repeating it, when a password stands in the address itself."""
    if "://" not in url:
        if _MISWRITTEN.match(url):
            raise InputError(
                "The address of the chunk table cannot be read.",
                hint="PostgreSQL's is written as postgresql://reader:${DB_PASSWORD}@host/database.",
            )
        return
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError("The address of the chunk table cannot be read.", hint=_KINDS) from None
    # The user part ends at the last @, whatever a password may hold.
    _, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    named = [value for name, value in parse_qsl(parts.query) if "password" in name.lower() or name.lower() in _SECRETS]
    if any(value and not _VARIABLE.fullmatch(value) for value in [password if colon else "", *named]):
        raise InputError(
            "The address holds a password, which would be stored in the workspace.",
            hint="Put it into an environment variable and name that: postgresql://reader:${DB_PASSWORD}@host/db. "
            "On a command line the address stands in single quotes.",
        )


def expand(url: str) -> str:
    """Put the environment's values in place of `${NAME}`. Raises InputError naming a variable that is not set."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise InputError(
                f"The environment variable {match[1]}, named in the chunk table's address, is not set.",
                hint=f"Set {match[1]} where this program is started.",
            )
        return found

    return _VARIABLE.sub(value, url)


def _postgres(url: str) -> tuple[str, Callable[[str], str]] | None:
    """Return the address of a PostgreSQL database and what fills its parts, None for another kind of table.

    A variable within the address fills one part; one that is the whole address leaves nothing to fill.
    """
    if _POSTGRES.match(url):
        return url, expand
    place = expand(url) if url.startswith("${") else ""
    return (place, str) if _POSTGRES.match(place) else None


def _service(url: str) -> Service | None:
    """Return the server behind an address of OpenSearch, Elasticsearch or Qdrant, None for another kind of table."""
    place, fill = (expand(url), str) if url.startswith("${") else (url, expand)
    match = _SERVICE.match(place)
    if match is None:
        return None
    from annotator.tables.http import open_service

    if match[1] == "qdrant":
        return open_service(place, fill, "Qdrant", 6333, "api-key")
    kind = {"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch"}[match[1]]
    return open_service(place, fill, kind, 9200, "Authorization ApiKey")


class _Served(NamedTuple):
    """How to open one table of a server, and how to list them."""

    open: Callable[[Service, str], Table]
    names: Callable[[Service], list[str]]


def _served(service: Service) -> _Served:
    if service.kind == "Qdrant":
        from annotator.tables.qdrantserver import open_points, point_collections

        return _Served(open_points, point_collections)
    from annotator.tables.searchindex import index_names, open_index

    return _Served(open_index, index_names)


class _Store(NamedTuple):
    """How to open one table of a place that holds several, and how to list them."""

    open: Callable[[Path, str], Table]
    names: Callable[[Path], list[str]]


def _store(kind: str) -> _Store:
    if kind == "sqlite":
        from annotator.tables.sqlite import open_sqlite, table_names

        return _Store(open_sqlite, table_names)
    if kind == "duckdb":
        from annotator.tables.duckdbfile import duck_names, open_duck

        return _Store(open_duck, duck_names)
    if kind == "chroma":
        from annotator.tables.chroma import chroma_names, open_chroma

        return _Store(open_chroma, chroma_names)
    if kind == "lance":
        from annotator.tables.lance import lance_names, open_lance

        return _Store(open_lance, lance_names)
    from annotator.tables.qdrant import open_qdrant, qdrant_names

    return _Store(open_qdrant, qdrant_names)


def _place(url: str) -> tuple[str, Path]:
    """Tell the kind of a file or folder by its name, or by what lies in it; and where it is."""
    place = expand(url)
    if not place.strip():
        raise InputError("The address of the chunk table is empty.", hint=_KINDS)
    if place.startswith(_SQLITE):
        return "sqlite", _file(place.removeprefix(_SQLITE), url)
    path = _path(place)
    if path.name == "chroma.sqlite3":
        return "chroma", path.parent
    if path.is_dir():
        return _folder_kind(path, url), path
    kind = _kind(place, url)
    return kind, _file(place, url)


def _folder_kind(folder: Path, url: str) -> str:
    if (folder / "chroma.sqlite3").is_file():
        return "chroma"
    if any(folder.glob("*.lance")):
        return "lance"
    if any(folder.glob("collection/*/storage.sqlite")):
        return "qdrant"
    if any(folder.rglob("*.parquet")):
        return "parquet folder"
    raise InputError(f"The folder {_shown(folder, url)} holds no kind of chunk table that is known.", hint=_KINDS)


def _kind(place: str, url: str) -> str:
    if "://" in place:
        raise InputError(f"Chunk tables at {url.partition('://')[0]}:// are not supported.", hint=_KINDS)
    name = place.lower().removesuffix(".gz")
    if _is_duckdb(place):
        return "duckdb"
    if name.endswith((".db", ".sqlite", ".sqlite3")):
        raise InputError(f"{url} looks like an SQLite file.", hint=f"Write it as {_SQLITE}{url}")
    if name.endswith(".parquet") and place.lower().endswith(".gz"):
        raise InputError("Parquet is compressed inside; a .parquet.gz is not supported.", hint="Unpack it.")
    kind = _SUFFIXES.get(Path(name).suffix, "")
    if not kind:
        raise InputError(f"{url} is not a kind of chunk table that is known.", hint=_KINDS)
    return kind


def _is_duckdb(place: str) -> bool:
    """Tell a DuckDB file, which is often called .db, by its first bytes."""
    path = _path(place)
    if not path.is_file():
        return path.suffix.lower() == ".duckdb"
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def _path(place: str) -> Path:
    return Path(unquote(place) if "%" in place and not Path(place).exists() else place).expanduser()


def _file(place: str, url: str) -> Path:
    path = _path(place)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise InputError(
            f"The chunk table {_shown(path, url)} {what}.",
            hint="Check the path: it is one on the machine that Annotator runs on.",
        )
    return path


def _shown(path: Path, url: str) -> str:
    """Name a place in a message: where a variable stands in the address, its value is nobody's to see."""
    return url if _VARIABLE.search(url) else str(path)
