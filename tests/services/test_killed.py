"""Processes killed in the middle of what they do leave nothing half done; `tests.bench kill` does it 200 times."""

from __future__ import annotations

from pathlib import Path

from tests.bench._killing import KINDS, kill, make


def test_whatever_is_killed_nothing_acknowledged_is_lost_and_nothing_is_half_there(tmp_path: Path) -> None:
    done = kill(make(tmp_path), len(KINDS) + 1, seed=3)
    assert done.faults == ()
    assert done.acknowledged
    assert done.saves > 0
