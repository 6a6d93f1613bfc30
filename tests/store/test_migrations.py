"""A workspace of an earlier schema is brought up to date, with a backup of each step's start and nothing lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from annotator.store.database import Workspace
from annotator.store.migrations import VERSION, _migrations


def schema(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())


def at_schema(home: Path, number: int) -> Workspace:
    """A workspace as that schema left it: only the migrations up to it were applied."""
    made = Workspace(home)
    made.home.mkdir()
    every = _migrations()
    later = next(one.name for one in every._migrations if one.name.startswith(f"m{number + 1:04d}"))
    with closing(sqlite3.connect(made.database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        every.apply(Database(connection), stop_before=later)
    return made


@pytest.fixture
def earlier(tmp_path: Path) -> Workspace:
    made = at_schema(tmp_path / "w", 2)
    with closing(sqlite3.connect(made.database)) as connection:
        connection.execute("INSERT INTO settings VALUES ('name', '\"kept\"')")
        connection.commit()
    return made


def test_an_earlier_schema_becomes_the_present_one_with_a_backup(earlier: Workspace, tmp_path: Path) -> None:
    earlier.open()
    fresh = Workspace(tmp_path / "fresh")
    fresh.create()
    assert schema(earlier.database) == schema(fresh.database)
    (backup,) = earlier.backups.iterdir()
    assert backup.name.endswith("before-schema-3.db")
    with closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("SELECT value FROM settings WHERE name = 'name'").fetchone() == ('"kept"',)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    with earlier.read() as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
        assert connection.execute("SELECT value FROM settings WHERE name = 'name'").fetchone()[0] == '"kept"'
    earlier.open()
    assert len(list(earlier.backups.iterdir())) == 1


def test_what_was_set_aside_cannot_be_changed_or_taken_back(tmp_path: Path) -> None:
    made = Workspace(tmp_path / "w")
    made.create()
    with made.write() as connection:
        connection.execute(
            "INSERT INTO queries (query_id, question, notes, facets, state, unanswerable, owner, revision, created_at,"
            " changed_at) VALUES ('q', '', '', '{}', 'open', 0, '', 1, '', '')"
        )
        connection.execute("INSERT INTO set_aside VALUES (1, 'q', 'c', 'h', 'dropped', 'Ana', 'why', 'now', 0)")
    for statement in (
        "UPDATE set_aside SET who = 'Ben'",
        "DELETE FROM set_aside",
        "INSERT OR REPLACE INTO set_aside VALUES (1, 'q', 'c', 'h', 'dropped', 'Ben', 'why', 'now', 0)",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"), made.write() as connection:
            connection.execute(statement)


def test_what_was_complete_stays_complete_and_is_finished_by_who_marked_it_so(tmp_path: Path) -> None:
    made = at_schema(tmp_path / "w", 3)
    with closing(sqlite3.connect(made.database)) as connection:
        for query_id, state in (("marked", "complete"), ("imported", "complete"), ("opened", "open")):
            connection.execute(
                "INSERT INTO queries (query_id, question, notes, facets, state, unanswerable, owner, revision,"
                " created_at, changed_at) VALUES (?, 'Why?', '', '{}', ?, 0, '', 1, '', '')",
                (query_id, state),
            )
            connection.execute(
                "INSERT INTO judgments (operation_id, query_id, chunk_id, annotator, grade, stale, reason, evidence,"
                " sha256, judged_at, origin) VALUES (?, ?, 'c', 'Ben', 3, 0, '', '[]', '', '', 'annotate')",
                (query_id, query_id),
            )
        for query_id, who in (("marked", "Ana"), ("marked", "Ben"), ("opened", "Ben"), ("imported", "Ana")):
            connection.execute(
                "INSERT INTO events (at, who, action, subject, old, new) VALUES ('2026-03-01', ?, 'query changed', ?,"
                ' \'{"state": "open"}\', \'{"state": "complete"}\')',
                (who, f"query:{query_id}"),
            )
        connection.commit()
    made.open()
    with made.read() as connection:
        states = dict(map(tuple, connection.execute("SELECT query_id, state FROM queries")))
        steps = [tuple(row) for row in connection.execute("SELECT query_id, annotator, kind, at FROM steps")]
        assert connection.execute("SELECT COUNT(*) FROM current_steps").fetchone()[0] == 1
    assert states == {"marked": "complete", "imported": "complete", "opened": "open"}
    assert steps == [("marked", "Ben", "finished", "2026-03-01")]


def test_what_people_said_about_a_question_cannot_be_changed_or_taken_back(tmp_path: Path) -> None:
    made = Workspace(tmp_path / "w")
    made.create()
    with made.write() as connection:
        connection.execute(
            "INSERT INTO queries (query_id, question, notes, facets, state, unanswerable, owner, revision, created_at,"
            " changed_at) VALUES ('q', '', '', '{}', 'open', 0, '', 1, '', '')"
        )
        connection.execute("INSERT INTO steps VALUES (1, 'q', 'Ana', 'skipped', 'why', 'Ana', 'now', 0)")
    for statement in (
        "UPDATE steps SET reason = ''",
        "DELETE FROM steps",
        "INSERT OR REPLACE INTO steps VALUES (1, 'q', 'Ana', 'finished', '', 'Ana', 'now', 0)",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"), made.write() as connection:
            connection.execute(statement)
