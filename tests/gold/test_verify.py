"""Releases on disk: written whole, read with suspicion, and every altered byte is found."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotator.errors import AnnotatorError, Conflict, InputError, NotFound
from annotator.gold.archive import FolderFiles, pack, read_release, write_file, write_folder
from annotator.gold.export import export
from annotator.gold.goldset import GoldSet
from annotator.gold.release import FILES, Case, build, sums
from annotator.gold.verify import verify
from annotator.model import Chunk, Evidence, GoldLabel, GoldQuery, Judgment, text_hash

TEXT = "Refunds after 30 days need the approval of the VP Finance. Αθήνα 東京"


def built(cases: list[Case], chunks: object, manifest: dict[str, object]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        build(cases, chunks, manifest, Path(folder))  # type: ignore[arg-type]
        return dict(FolderFiles(Path(folder)))


def release(note: str = "", grade: int = 3) -> dict[str, bytes]:
    sha256 = text_hash(TEXT)
    label = GoldLabel("c1", grade, "names the VP", (Evidence("VP", 47, 49),), "d1", sha256)
    said = Judgment("q1", "c1", "ana", grade, sha256=sha256, judged_at="2026-03-01T09:00:00.000Z")
    query = GoldQuery("q1", "Who approves?", (label,), {"domain": "policy"})
    manifest = {"name": "policies", "version": 3, "note": note}
    return built([Case(query, (said,))], lambda keys: [(sha256, Chunk("c1", TEXT, "d1"))], manifest)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "policies-v3"
    write_folder(path, release())
    return path


@pytest.fixture
def zipped(tmp_path: Path) -> Path:
    path = tmp_path / "policies-v3.zip"
    write_file(path, pack(release(), "policies-v3"))
    return path


def rezip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_an_intact_release_is_intact_as_folder_and_as_zip(folder: Path, zipped: Path) -> None:
    for path in (folder, zipped):
        found = verify(path)
        assert (found.intact, found.name, found.version) == (True, "policies", 3)
        assert found.counts["judged_pairs"] == 1
        assert found.digest == json.loads(release()["manifest.json"])["digest"]


def test_the_zip_is_the_same_bytes_every_time_and_unpacks_to_the_folder(tmp_path: Path, folder: Path) -> None:
    packed = pack(release(), "policies-v3")
    assert packed == pack(dict(reversed(release().items())), "policies-v3")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert read_release(tmp_path / "unpacked" / "policies-v3") == read_release(folder)


def test_evaluation_reads_what_was_released(folder: Path, zipped: Path) -> None:
    for path in (folder, zipped):
        read = GoldSet.load(path)
        assert read.grades == {"q1": {"c1": 3}}
        assert (read.name, read.version, read.digest) == ("policies", 3, verify(folder).digest)
        assert read.details["q1"].gold[0].evidence == (Evidence("VP", 47, 49),)
        assert read.texts == {"c1": TEXT}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FILES), st.data())
def test_one_altered_byte_in_any_file_is_found(folder: Path, name: str, data: st.DataObject) -> None:
    original = release()[name]
    place = data.draw(st.integers(0, len(original) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != original[place]))
    (folder / name).write_bytes(original[:place] + bytes([value]) + original[place + 1 :])
    try:
        found = verify(folder)
    finally:
        (folder / name).write_bytes(original)
    assert not found.intact
    assert any(name in problem for problem in found.problems)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_one_altered_byte_anywhere_in_the_zip_is_found(zipped: Path, data: st.DataObject) -> None:
    original = pack(release(), "policies-v3")
    place = data.draw(st.integers(0, len(original) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != original[place]))
    zipped.write_bytes(original[:place] + bytes([value]) + original[place + 1 :])
    with contextlib.suppress(AnnotatorError):  # so damaged that it cannot be read is found as well
        assert not verify(zipped).intact


def test_a_zip_cut_short_or_damaged_inside_is_not_intact_and_says_so(zipped: Path) -> None:
    original = zipped.read_bytes()
    for damaged in (original[: len(original) // 2], original[:100] + b"~" + original[101:]):
        zipped.write_bytes(damaged)
        found = verify(zipped)
        assert not found.intact
        assert "The zip is damaged" in found.problems[0]


def test_a_zip_packed_by_another_program_is_told_apart_from_altered_files(tmp_path: Path) -> None:
    found = verify(rezip(tmp_path / "again.zip", {f"policies-v3/{name}": data for name, data in release().items()}))
    assert [problem.split(":")[1].split(" or")[0] for problem in found.problems] == [" packed by another program"]


def test_missing_and_added_files_are_named(folder: Path) -> None:
    (folder / "chunks.jsonl").unlink()
    (folder / "extra").mkdir()
    (folder / "extra" / "notes.txt").write_text("mine")
    problems = verify(folder).problems
    assert "chunks.jsonl: missing" in problems
    assert "extra/notes.txt: not part of the release" in problems


def test_a_forged_release_with_fitting_checksums_is_still_found(folder: Path) -> None:
    """Somebody regrades, and writes the checksums anew, but not the digest and the counts."""
    files = read_release(folder)
    files["gold.jsonl"] = files["gold.jsonl"].replace(b'"relevance":3', b'"relevance":0')
    files["chunks.jsonl"] = files["chunks.jsonl"].replace(b"30 days", b"90 days")
    files["SHA256SUMS"] = sums(files)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    problems = " ".join(verify(folder).problems)
    assert "manifest.json: the digest is" in problems
    assert "manifest.json: counts 1 relevant, the content has 0" in problems
    assert "chunks.jsonl: line 1: the text of 'c1' does not have the hash it states" in problems


def test_nothing_and_something_else_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        verify(tmp_path / "nowhere")
    (tmp_path / "notes.zip").write_text("not packed at all")
    with pytest.raises(InputError, match="neither a release folder nor its zip"):
        verify(tmp_path / "notes.zip")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "sea.jpg").write_bytes(b"")
    with pytest.raises(InputError, match="not a release"):
        verify(tmp_path / "photos")


def test_a_folder_with_a_pipe_in_it_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        verify(folder)


@pytest.mark.parametrize("name", ["../gold.jsonl", "/etc/gold.jsonl", "a/../../gold.jsonl", "..\\gold.jsonl", "C:gold"])
def test_a_zip_that_would_leave_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="would leave its folder"):
        verify(rezip(tmp_path / "bad.zip", {"manifest.json": b"{}", name: b""}))


def test_a_zip_that_unpacks_to_something_huge_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotator.gold.archive.LARGEST_ARCHIVE", 1_000_000)
    path = rezip(tmp_path / "bomb.zip", {"manifest.json": b"{}", "gold.jsonl": b" " * 2_000_000})
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="would unpack to more than"):
        verify(path)
    monkeypatch.undo()
    monkeypatch.setattr("annotator.gold.archive.SMALL", 1_000_000)
    with pytest.raises(InputError, match="over 200 times its size"):
        verify(path)
    with pytest.raises(InputError, match="200 files"):
        verify(rezip(tmp_path / "many.zip", {f"{number}": b"" for number in range(200)}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr("manifest.json", '{"other": 1}')
    with pytest.raises(InputError, match="twice"):
        verify(tmp_path / "twice.zip")


def test_an_export_never_overwrites_another_folder(tmp_path: Path, folder: Path) -> None:
    other = release(grade=2)
    with pytest.raises(Conflict, match="is not this version"):
        export(other, folder, "native")
    assert verify(folder).intact
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(Conflict):
        export(other, tmp_path / "mine", "native")
    (tmp_path / "empty").mkdir()
    export(other, tmp_path / "empty", "native")
    assert verify(tmp_path / "empty").intact


def test_an_export_replaces_a_release_of_the_same_digest_and_nothing_beside_it(folder: Path) -> None:
    export(release(note="said better"), folder, "native")
    assert b"said better" in (folder / "manifest.json").read_bytes()
    (folder / "my notes.txt").write_text("kept")
    with pytest.raises(Conflict):
        export(release(), folder, "native")
    assert sorted(path.name for path in folder.parent.iterdir()) == ["policies-v3"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "inside", tmp_path / "file" / "inside.jsonl"):
        with pytest.raises(AnnotatorError):
            export(release(), path, "jsonl" if path.suffix else "native")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "result.json")
    write_file(tmp_path / "link.json", b"{}")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "result.json").read_bytes() == b"{}"


def test_a_pipe_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(tmp_path / "pipe", b"{}")
        assert os.read(reader, 10) == b"{}"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
