"""Addresses of chunk tables: kinds, passwords, places."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotator.errors import InputError
from annotator.tables import absolute, list_tables, open_table
from annotator.tables.address import expand, refuse_password


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:hunter2@host/db",
        "postgresql://reader:hun@ter2@host/db",
        "postgresql://reader:hunter2${NAME}@host/db",
        "postgresql://host/db?user=reader&password=hunter2",
        "postgresql://host/db?sslpassword=hunter2",
    ],
)
def test_a_literal_password_is_refused_and_never_repeated(url: str) -> None:
    with pytest.raises(InputError) as caught:
        open_table(url)
    assert "password" in str(caught.value)
    assert "hun" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://reader:${DB_PASSWORD}@host/db", "postgresql://host/db?password=${DB_PASSWORD}", "a:b@c.csv"]
)
def test_a_password_named_by_variable_is_no_literal_password(url: str) -> None:
    refuse_password(url)


def test_variables_come_from_the_environment_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDER", "/srv")
    assert expand("sqlite:///${FOLDER}/a.db") == "sqlite:////srv/a.db"
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(InputError, match="NOT_SET"):
        expand("${NOT_SET}/a.csv")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("a.jsonl", "/base/a.jsonl"),
        ("/x/a.jsonl", "/x/a.jsonl"),
        ("sqlite:///a.db", "sqlite:////base/a.db"),
        ("sqlite:////x/a.db", "sqlite:////x/a.db"),
        ("sqlite:///${FOLDER}/a.db", "sqlite:///${FOLDER}/a.db"),
        ("${FOLDER}/a.csv", "${FOLDER}/a.csv"),
        ("postgresql://h/d", "postgresql://h/d"),
    ],
)
def test_a_relative_file_becomes_independent_of_the_working_directory(url: str, expected: str) -> None:
    assert absolute(url, Path("/base")) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "is empty"),
        ("a.txt", "not a kind"),
        ("a.parquet.gz", "Unpack it"),
        ("a.db", "sqlite:///"),
        ("mysql://h/d", "mysql://"),
        ("missing.csv", "does not exist"),
        ("folder.csv", "folder.csv holds no kind"),
    ],
)
def test_what_cannot_be_opened_says_why(
    name: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=expected):
        open_table(name)


@pytest.mark.parametrize(
    "url", ["${WORD}", "${WORD}.db", "${WORD}/a.jsonl", "sqlite:///${WORD}", "${WORD}://a", "${HERE}", "${HERE}/a.csv"]
)
def test_the_value_of_a_variable_is_in_no_message(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "hunter2")
    (tmp_path / "hunter2").mkdir()
    monkeypatch.setenv("HERE", str(tmp_path / "hunter2"))
    with pytest.raises(InputError) as caught:
        open_table(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["host=db user=reader password=hunter2 dbname=a", "postgresql:/reader:hunter2@db/a"])
def test_an_address_of_postgresql_in_another_form_is_told_and_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="postgresql://reader") as caught:
        open_table(url)
    assert "hunter2" not in str(caught.value)


def test_only_a_database_has_tables_to_choose_from(tables: Path) -> None:
    assert list_tables(f"sqlite:///{tables}/sqlite/handbook.sqlite3") == ["chunks", "documents", "live_chunks"]
    assert list_tables(f"{tables}/csv/handbook.csv") == []
