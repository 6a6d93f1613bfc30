"""The chunk table's page in a real browser: a collection of a PostgreSQL database is chosen, connected and synced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from annotator.model import Person, Query
from annotator.store import people, queries
from annotator.store.database import Workspace
from tests.browser.app import ROOT, App, idle, open_page
from tests.postgres_server import PASSWORD, Postgres
from tests.services.test_in_place import fill

pytestmark = pytest.mark.browser


def test_one_collection_of_a_langchain_database_is_chosen_and_synced(
    chromium: Browser, postgres: Postgres, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.database("vectors", shared / "tables" / "langchain-pgvector" / "dump.pgvector.sql")
    workspace = Workspace(tmp_path / "workspace")
    workspace.create()
    with workspace.write() as connection:
        people.add(connection, Person("Ana", "admin"), "Ana")
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    monkeypatch.setenv("PGHOST", str(postgres.folder))
    app = App(workspace.home)
    try:
        page = open_page(chromium, f"{app.url}/settings", "Ana")
        box = page.get_by_role("textbox", name="Address")
        box.fill("postgresql://reader:${DB_PASSWORD}@/vectors")
        box.press("Enter")
        page.get_by_role("button", name="Look at it").click()
        expect(page.get_by_text("Recognised: PostgreSQL table, LangChain PGVector layout")).to_be_visible()
        expect(page.get_by_text("vectors, collection handbook", exact=True)).to_be_visible()
        expect(page.get_by_text("60 rows")).to_be_visible()
        if os.environ.get("ANNOTATOR_PICTURES") == "1":
            page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
            page.wait_for_timeout(2_000)
            page.screenshot(path=ROOT / "docs" / "connect.png")
        page.get_by_role("combobox", name="Table or collection").click()
        page.get_by_role("option", name="langchain_pg_embedding/handbook-archive").click()
        expect(page.get_by_text("vectors, collection handbook-archive")).to_be_visible()
        expect(page.get_by_text("6 rows", exact=True)).to_be_visible()
        page.get_by_role("button", name="Connect and sync").click()
        expect(page.get_by_text("6 chunks").first).to_be_visible()
        assert PASSWORD not in page.content()
    finally:
        app.stop()


def test_a_table_is_searched_in_place_and_graded_while_its_server_is_away(
    chromium: Browser, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(postgres, "handbook")
    workspace = Workspace(tmp_path / "workspace")
    workspace.create()
    with workspace.write() as connection:
        people.add(connection, Person("Ana", "admin"), "Ana")
        queries.add(connection, Query("q1", "Who approves refunds?"), "Ana")
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    monkeypatch.setenv("PGHOST", str(postgres.folder))
    app = App(workspace.home)
    try:
        page = open_page(chromium, f"{app.url}/settings", "Ana")
        box = page.get_by_role("textbox", name="Address")
        box.fill("postgresql://reader:${DB_PASSWORD}@/handbook")
        box.press("Enter")
        page.get_by_role("button", name="Look at it").click()
        expect(page.get_by_text("handbook, table handbook")).to_be_visible()
        idle(page)
        page.get_by_text("Search it in place").click()
        expect(page.get_by_text("By PostgreSQL's full-text search, configuration english")).to_be_visible()
        if os.environ.get("ANNOTATOR_PICTURES") == "1":
            page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
            page.wait_for_timeout(2_000)
            page.screenshot(path=ROOT / "docs" / "in-place.png")
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_text("about 8 chunks in the live table (searched in place), 0 looked at")).to_be_visible()
        page.goto(f"{app.url}/annotate")
        expect(page.get_by_text("Refund policy v3 (old)").first).to_be_visible()
        postgres.psql("postgres", "ALTER ROLE reader CONNECTION LIMIT 0")
        postgres.drop_connections()
        page.keyboard.press("3")
        expect(page.get_by_text("1 judged · 1 relevant")).to_be_visible()
        search = page.get_by_role("textbox", name="Search chunks")
        search.fill("receipts")
        search.press("Enter")
        expect(page.get_by_text("The chunk table could not be searched just now.")).to_be_visible()
        assert PASSWORD not in page.content()
    finally:
        postgres.psql("postgres", "ALTER ROLE reader CONNECTION LIMIT -1")
        app.stop()
