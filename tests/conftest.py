"""What every test shares: where the reference material is, and how a missing tool is reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
