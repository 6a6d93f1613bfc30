"""Queries: revisions against lost updates, and a record of every change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotator.errors import Conflict, NotFound
from annotator.model import Query
from annotator.store import queries
from annotator.store.database import Workspace


def test_change_moves_the_revision_and_is_recorded(workspace: Workspace) -> None:
    with workspace.write() as connection:
        old = queries.query(connection, "q1")
        new = queries.change(connection, replace(old, question="Who approves it?", facets={"risk": "high"}), "Ana")
        assert new.revision == 2
        assert queries.query(connection, "q1") == new
        who, action = connection.execute(
            "SELECT who, action FROM events WHERE subject = 'query:q1' AND old != ''"
        ).fetchone()
    assert (who, action) == ("Ana", "query changed")


def test_stale_revision_is_refused(workspace: Workspace) -> None:
    with workspace.write() as connection:
        read = queries.query(connection, "q1")
        queries.change(connection, replace(read, notes="mine"), "Ana")
        with pytest.raises(Conflict, match="somebody else"):
            queries.change(connection, replace(read, notes="theirs"), "Ben")
        assert queries.query(connection, "q1").notes == "mine"


def test_change_without_a_change_keeps_the_revision(workspace: Workspace) -> None:
    with workspace.write() as connection:
        read = queries.query(connection, "q1")
        assert queries.change(connection, read, "Ana").revision == 1


def test_taken_id_is_refused_and_unknown_one_not_found(workspace: Workspace) -> None:
    with workspace.write() as connection:
        with pytest.raises(Conflict):
            queries.add(connection, Query("q1", "again"), "Ana")
        with pytest.raises(NotFound):
            queries.query(connection, "q99")


def test_order_is_that_of_adding_and_states_filter(workspace: Workspace) -> None:
    with workspace.write() as connection:
        queries.change(connection, replace(queries.query(connection, "q2"), state="complete"), "Ana")
        assert [one.query_id for one in queries.all_queries(connection)] == ["q1", "q2", "q3"]
        assert [one.query_id for one in queries.all_queries(connection, states=("open",))] == ["q1", "q3"]
