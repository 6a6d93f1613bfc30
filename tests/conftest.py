"""What every test shares: where the reference material is, and how a missing tool is reported."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from annotator.model import Person, Query
from annotator.services import chunk_table
from annotator.store import people, queries
from annotator.store.database import Workspace
from tests.postgres_server import Postgres, server

REQUIRE_ALL = os.environ.get("ANNOTATOR_REQUIRE_ALL") == "1"
"""Set in continuous integration: whatever would be skipped for a missing tool fails instead."""


def missing(reason: str) -> None:
    """Skip the test, naming what is missing; fail instead where everything has to be there."""
    if REQUIRE_ALL:
        pytest.fail(f"{reason} (ANNOTATOR_REQUIRE_ALL=1 turns skips into failures)")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference cases and corpora, beside the checkout or named by ANNOTATOR_SHARED."""
    named = os.environ.get("ANNOTATOR_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "cases").is_dir():
        missing(f"the reference material is not at {folder}")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL of the tests' own; a test that finds none is skipped, or fails where all has to be there."""
    with ExitStack() as stack:
        try:
            running = stack.enter_context(server())
        except (ImportError, RuntimeError) as error:
            missing(f"no PostgreSQL can be started: {error}")
        yield running


HANDBOOK = (
    # chunk_id, doc_id, title, position, text
    (
        "refunds-v4#1",
        "refunds-v4",
        "Refund policy v4",
        0,
        "Refunds are paid within 14 days. The support team approves them.",
    ),
    (
        "refunds-v4#2",
        "refunds-v4",
        "Refund policy v4",
        1,
        "Enterprise refunds after 30 days need the VP Finance (REF-2024/07).",
    ),
    ("refunds-v4#3", "refunds-v4", "Refund policy v4", 2, "A written reason is kept for every refund above 500 euros."),
    (
        "refunds-v3#1",
        "refunds-v3",
        "Refund policy v3 (old)",
        0,
        "Refunds are paid within 30 days. The sales team approves them.",
    ),
    ("refunds-v3#2", "refunds-v3", "Refund policy v3 (old)", 1, "Enterprise refunds need the head of sales."),
    ("travel#1", "travel", "Travel expenses", 0, "Train journeys are booked in second class."),
    ("travel#2", "travel", "Travel expenses", 1, "Receipts are handed in within one month, 🚆 tickets included."),
    ("errors#1", "errors", "Error codes", 0, "E-4107 means that the gateway lost its clock. Restart it."),
)
QUESTIONS = (
    ("q1", "Who signs off a late refund for a big customer?"),
    ("q2", "When is money paid back?"),
    ("q3", "What does E-4107 mean?"),
)


@cache
def _with_people_and_questions() -> bytes:
    """Return the database of a workspace before anything is synced: the same for every test, so it is made once."""
    with TemporaryDirectory() as folder:
        made = Workspace(Path(folder))
        made.create()
        with made.write() as connection:
            people.add(connection, Person("Ana", "admin"), "Ana")
            people.add(connection, Person("Ben"), "Ana")
            for query_id, question in QUESTIONS:
                queries.add(connection, Query(query_id, question), "Ana")
        with closing(made.connect()) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return made.database.read_bytes()


def make_workspace(folder: Path, chunks: Sequence[tuple[str, str, str, int, str]] = HANDBOOK) -> Workspace:
    """Make a workspace with the chunks synced, the questions above open, and Ana (admin) and Ben as people."""
    table = folder / "handbook.jsonl"
    names = ("chunk_id", "doc_id", "title", "position", "text")
    table.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in chunks), "utf-8")
    made = Workspace(folder / "workspace")
    made.home.mkdir()
    made.database.write_bytes(_with_people_and_questions())
    chunk_table.connect(made, "Ana", str(table))
    chunk_table.sync(made, "Ana")
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh workspace of the handbook."""
    return make_workspace(tmp_path)
