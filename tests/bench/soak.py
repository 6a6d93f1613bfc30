"""25 annotators and 3 reviewers on one workspace, with syncs, imports, releases and backups at the same time.

The pace is that of people who give 4 judgments a minute, two hours of it in a few minutes. SOAK_ACTS, SOAK_SECONDS,
SOAK_ANNOTATORS, SOAK_PROCESSES and SOAK_BACKUPS make it shorter.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench._soaking import Plan, make, soak


def run() -> Iterator[dict[str, object]]:
    """Yield one line for each figure, and one with everything that was wrong."""
    usual = Plan()
    plan = Plan(
        acts=int(os.environ.get("SOAK_ACTS", usual.acts)),
        seconds=float(os.environ.get("SOAK_SECONDS", usual.seconds)),
        annotators=int(os.environ.get("SOAK_ANNOTATORS", usual.annotators)),
        processes=int(os.environ.get("SOAK_PROCESSES", usual.processes)),
        backups=int(os.environ.get("SOAK_BACKUPS", usual.backups)),
    )
    with tempfile.TemporaryDirectory() as folder:
        done = soak(make(Path(folder), plan), plan)
    for name, value in done.figures.items():
        yield {"bench": "soak", "figure": name, "value": value}
    yield {"bench": "soak", "figure": "faults", "value": list(done.faults)}
