"""People and everything else at once for a few seconds; `python -m tests.bench soak` does it for two hours' worth."""

from __future__ import annotations

from pathlib import Path

from tests.bench._soaking import Plan, make, soak


def test_of_all_that_many_people_do_at_once_nothing_is_lost_or_doubled_and_nobody_sees_a_lock(tmp_path: Path) -> None:
    plan = Plan(acts=300, seconds=6, annotators=6, reviewers=2, processes=2, questions=10, chunks=1_500, backups=1)
    done = soak(make(tmp_path, plan), plan)
    assert done.faults == ()
    assert done.figures["locked"] == 0
    chores = done.figures["chores"]
    assert isinstance(chores, dict)
    assert chores.keys() >= {"sync", "import", "release", "backup"}
    assert int(str(done.figures["writes"])) > 150
