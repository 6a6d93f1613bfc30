"""What the building blocks of the pages write."""

from __future__ import annotations

import pytest
from streamlit.runtime.context import ContextProxy

from annotator.ui import blocks


@pytest.mark.parametrize(
    ("zone", "offset", "summer", "winter"),
    [
        ("Europe/Berlin", -120, "1 Jul 2026, 11:30", "1 Jan 2026, 10:30"),  # whatever holds today
        ("Asia/Kolkata", -330, "1 Jul 2026, 15:00", "1 Jan 2026, 15:00"),
        (None, -120, "1 Jul 2026, 11:30", "1 Jan 2026, 11:30"),
        ("Nowhere/At all", 60, "1 Jul 2026, 08:30", "1 Jan 2026, 08:30"),
        ("America", 60, "1 Jul 2026, 08:30", "1 Jan 2026, 08:30"),
    ],
)
def test_a_moment_is_written_as_the_clock_of_the_reader_showed_it(
    monkeypatch: pytest.MonkeyPatch, zone: str | None, offset: int, summer: str, winter: str
) -> None:
    monkeypatch.setattr(ContextProxy, "timezone", zone)
    monkeypatch.setattr(ContextProxy, "timezone_offset", offset)
    assert blocks.moment("2026-07-01T09:30:00.125Z") == summer
    assert blocks.moment("2026-01-01T09:30:00.125Z") == winter
    assert blocks.moment(None) == ""
