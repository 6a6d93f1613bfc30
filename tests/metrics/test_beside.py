"""Jobs done by copies of the process: every answer in its order, and no copy left behind however one ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from annotator.metrics.beside import beside

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system copies no process"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
]


def test_copies_answer_in_the_order_of_the_jobs() -> None:
    with beside([os.getpid, lambda: ("a", -0.0, {"b": [1]}), lambda: b"x" * 1_000_000], True) as answers:
        process, told, much = answers
    assert process != os.getpid()
    assert repr(told) == "('a', -0.0, {'b': [1]})"
    assert len(much) == 1_000_000


def test_a_copy_that_ends_without_an_answer_gives_none(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        raise ValueError("told to nobody")

    with beside([fails, lambda: os.kill(os.getpid(), 9), lambda: object(), lambda: 4], True) as answers:
        assert list(answers) == [None, None, None, 4]
    assert capfd.readouterr() == ("", "")


def test_copies_nobody_waits_for_are_ended() -> None:
    start = time.monotonic()
    with beside([os.getpid, lambda: time.sleep(60)], True) as answers:
        process = next(answers)
    assert time.monotonic() - start < 30
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_copies_end_with_the_process_that_made_them() -> None:
    code = """
import os
from annotator.metrics.beside import beside
with beside([lambda: b"x" * 1_000_000, lambda: b"y" * 1_000_000], True):
    os.kill(os.getpid(), 9)
"""
    # what the copies were given to write to stays open until the last of them has ended
    ended = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60, check=False)
    assert ended.returncode == -9


def test_a_job_that_is_not_copied_is_done_when_it_is_its_turn() -> None:
    done: list[int] = []
    with beside([lambda: done.append(1), lambda: done.append(2)], False) as answers:
        next(answers)
    assert done == [1]
