"""Releases on disk: written as a folder or as one zip, always whole or not at all, and read back with suspicion.

A zip is the same bytes for the same files on any machine, so nothing in it is compressed.
"""

from __future__ import annotations

import json
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final
from uuid import uuid4

from annotator.errors import Conflict, InputError, NotFound, StoreError
from annotator.gold.textfile import MOST_EXPANSION, SMALL, ZIP_MAGIC

__all__ = ["DamagedArchive", "FolderFiles", "pack", "read_release", "write_file", "write_folder", "write_zip"]

LARGEST_ARCHIVE: Final = 2**31
MOST_MEMBERS: Final = 100
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, IndexError, ValueError),
    *(NotImplementedError, RuntimeError),  # ways of packing that are not for us, encryption
)
"""What the standard library raises for a damaged zip."""


class DamagedArchive(InputError):
    """A zip that is not whole, or not the bytes that were packed: it is no longer what was released."""


class FolderFiles(Mapping[str, bytes]):
    """The files of a folder, each read when it is asked for, so that they are never all in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(place.name for place in self._folder.iterdir()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def pack(files: Mapping[str, bytes], folder: str) -> bytes:
    """Return the zip that unpacks to `folder` with the files."""
    target = BytesIO()
    _zip(target, files, folder)
    return target.getvalue()


def write_zip(path: Path, files: Mapping[str, bytes], folder: str) -> None:
    """Write the zip that unpacks to `folder` with the files. Raises StoreError."""
    with _replacing(path) as target:
        _zip(target, files, folder)


def write_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it. Raises StoreError."""
    with _replacing(path) as target:
        target.write(content)


def _zip(target: BinaryIO, files: Mapping[str, bytes], folder: str) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(f"{folder}/{name}", _NO_DATE)
            member.create_system = 3  # Unix, also when packed elsewhere
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(member, files[name])


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as target:  # a device or a pipe, /dev/stdout for one: not to be replaced by a file
                yield target
            return
        path = path.resolve()  # what a link names is replaced, not the link
        temporary = _temporary(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as target:
                yield target
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into a folder, which appears when it is complete.

    A folder that holds exactly these files is left as it is; a damaged one of the same digest is replaced. Raises
    Conflict for any other that is not empty.
    """
    if path.exists():
        if _holds(path, files):
            return
        if not path.is_dir() or not _may_replace(path, files):
            raise Conflict(f"{path} exists and is not this version.", hint="Choose another name; nothing was written.")
    temporary = _temporary(path)
    try:
        try:
            temporary.mkdir(parents=True)
            for name, content in files.items():
                (temporary / name).parent.mkdir(parents=True, exist_ok=True)
                (temporary / name).write_bytes(content)
            if path.exists():
                former = _temporary(path)
                path.rename(former)
                temporary.rename(path)
                shutil.rmtree(former)
            else:
                temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}.") from error


def read_release(path: Path, packed: bytes | None = None) -> dict[str, bytes]:
    """Return the files of a release folder or zip, name → content; names in folders below keep their path.

    `packed` are the bytes of the zip where they are read already, as from a pipe. Raises NotFound, or InputError when
    it cannot be read as a release or the zip is not safe to read.
    """
    if packed is None and not path.exists():
        raise NotFound(f"There is nothing at {path}.")
    try:
        if packed is not None:
            files = _read_zip(path, BytesIO(packed), len(packed))
        elif path.is_dir():
            files = _read_folder(path)
        else:
            with path.open("rb") as file:
                files = _read_zip(path, file, path.stat().st_size)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if "manifest.json" not in files and "gold.jsonl" not in files:
        raise InputError(f"{path} is not a release: it has neither manifest.json nor gold.jsonl.")
    return files


def _read_folder(path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for place in sorted(path.rglob("*")):
        if not place.is_dir():
            name = place.relative_to(path).as_posix()
            if not place.is_file():
                raise InputError(f"{place} is not a regular file.", hint="A release holds nothing else.")
            if len(files) >= MOST_MEMBERS:
                raise InputError(f"{path} is not a release: it holds more than {MOST_MEMBERS} files.")
            if place.stat().st_size > LARGEST_ARCHIVE:
                raise InputError(f"{place} is larger than a release can be ({LARGEST_ARCHIVE} bytes).")
            files[name] = place.read_bytes()
    return files


def _read_zip(path: Path, file: BinaryIO, size: int) -> dict[str, bytes]:
    if size > LARGEST_ARCHIVE:
        raise InputError(f"{path} is larger than a release can be ({LARGEST_ARCHIVE} bytes).")
    try:
        with zipfile.ZipFile(file) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            _refuse_hostile(path, members, size)
            files = {member.filename: archive.read(member) for member in members}
    except _DAMAGE as error:
        file.seek(0)
        if file.read(len(ZIP_MAGIC)) == ZIP_MAGIC:
            raise DamagedArchive(f"{path} cannot be unpacked: {error}.", hint="The zip is damaged.") from error
        raise InputError(
            f"{path} cannot be unpacked: {error}.", hint="It is neither a release folder nor its zip."
        ) from error
    return _below_common_folder(files)


def _refuse_hostile(path: Path, members: list[zipfile.ZipInfo], packed: int) -> None:
    if len(members) > MOST_MEMBERS:
        raise InputError(f"{path} is not a release: it holds {len(members)} files.")
    size = sum(member.file_size for member in members)
    if size > LARGEST_ARCHIVE:
        raise InputError(f"{path} would unpack to more than {LARGEST_ARCHIVE} bytes.", hint="No release is that large.")
    if size > max(SMALL, MOST_EXPANSION * packed):
        raise InputError(
            f"{path} would unpack to over {MOST_EXPANSION} times its size.",
            hint="Unpack it yourself if that is no mistake, and name the folder.",
        )
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise InputError(f"{path} is packed in an unusual way.", hint="Unpack it and name the folder.")
    names = [member.filename for member in members]
    for name in names:
        if name.startswith("/") or "\\" in name or ":" in name or ".." in PurePosixPath(name).parts:
            raise InputError(f"{path} has a file that would leave its folder: {name!r}.", hint="It was not read.")
    if len(set(names)) < len(names):
        raise InputError(f"{path} has a file name twice.", hint="It was not read.")


def _below_common_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    folders = {name.split("/", 1)[0] if "/" in name else "" for name in files}
    if len(folders) != 1 or "" in folders:
        return files
    return {name.split("/", 1)[1]: content for name, content in files.items()}


def _holds(path: Path, files: Mapping[str, bytes]) -> bool:
    if not path.is_dir():
        return False
    there = {place.relative_to(path).as_posix() for place in path.rglob("*") if not place.is_dir()}
    if there != set(files):
        return False
    return all((path / name).read_bytes() == content for name, content in files.items())


def _may_replace(path: Path, files: Mapping[str, bytes]) -> bool:
    """Whether nothing would be lost: the folder is empty, or holds nothing but files of a release of this digest."""
    names = {place.name for place in path.iterdir()}
    if not names:
        return True
    if not names <= files.keys():
        return False
    try:
        there = json.loads((path / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(there, dict) and there.get("digest") == json.loads(files["manifest.json"])["digest"]


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name[:40]}.{uuid4().hex}")
