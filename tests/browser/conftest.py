"""One Chromium for all browser tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import app
from tests.conftest import missing

expect.set_options(timeout=30_000)
"""How long a page may take to show what is expected of it, on a busy machine; the same for every file."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A real headless Chromium; the test is skipped with a reason where there is none."""
    if app.chromium_path() is None:
        missing("no Chromium on this machine (Debian: apt-get install chromium)")
    with app.browser() as started:
        yield started


@pytest.fixture(autouse=True)
def _pages_end_with_their_test(chromium: Browser) -> Iterator[None]:
    """Close what a test opened: a page left behind goes on asking for its server, beside all tests that follow."""
    yield
    for context in chromium.contexts:
        context.close()
