"""One Chromium for all browser tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import app
from tests.conftest import missing


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A real headless Chromium; the test is skipped with a reason where there is none."""
    if app.chromium_path() is None:
        missing("no Chromium on this machine (Debian: apt-get install chromium)")
    with app.browser() as started:
        yield started
