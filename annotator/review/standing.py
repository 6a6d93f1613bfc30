"""Where a question stands for one person: whether it needs them, is in use, needs others, is disputed or complete.

Derived from what people did and who it was given to; nothing here is stored. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final
from zlib import crc32

__all__ = ["STANDINGS", "Order", "Turn"]

STANDINGS: Final = ("needs me", "in use", "needs others", "disputed", "complete")
"""Of an open or complete question, for one person; drafts and retired ones stand as they are."""

_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Turn:
    """What decides whose turn a question is.

    `overlap` people are wanted. `assigned` are the active people it was given to: each has a place kept, unless
    there are more of them than places. `returned`: it came back to them. `leases`: who works on it, until when.
    `disputed` is left False where the person may not know.
    """

    state: str
    overlap: int = 1
    calibration: bool = False
    finished: frozenset[str] = _NOBODY
    returned: frozenset[str] = _NOBODY
    skipped: frozenset[str] = _NOBODY
    assigned: frozenset[str] = _NOBODY
    leases: Mapping[str, str] = field(default_factory=dict)
    disputed: bool = False

    def is_for(self, who: str) -> bool:
        """Say whether the question is in the person's list at all, finished or not."""
        if self.state not in ("open", "complete"):
            return False
        free = len(self.assigned) < self.overlap
        return free or self.calibration or any(who in group for group in (self.assigned, self.finished, self.returned))

    def standing(self, who: str) -> str:
        """Return one of STANDINGS, or the state of a draft or a retired question."""
        if self.state not in ("open", "complete"):
            return self.state
        done = who in self.finished or who in self.skipped
        if who in self.returned or (self.calibration and not done):
            return "needs me"
        if self.state == "open" and not done:
            taken = self._taken(who)
            if len(taken | self._working(who)) < self.overlap:
                return "needs me"
            if len(taken) < self.overlap:
                return "in use"
        if self.state == "open":
            return "needs others"
        if self.disputed:
            return "disputed"
        return "complete"

    def free_at(self, who: str) -> str:
        """Return when the next place comes free of a question that is in use, if nobody there goes on; else ""."""
        if self.standing(who) != "in use":
            return ""
        taken = self._taken(who)
        until = sorted(self.leases[name] for name in self._working(who) - taken)
        return until[len(taken) + len(until) - self.overlap]

    def _taken(self, who: str) -> frozenset[str]:
        """Who has a place for good: people who finished and, before somebody it was not given to, the others."""
        if who in self.assigned:
            return self.finished
        return self.finished | ((self.assigned | self.returned) - self.skipped)

    def _working(self, who: str) -> frozenset[str]:
        return frozenset(self.leases) - {who}


class Order:
    """The order of a person's queue under a seed: another one for everybody, the same for ever."""

    def __init__(self, seed: str, who: str) -> None:
        drawn = blake2b(f"{seed}\n{who}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._salt, self._factor = int.from_bytes(drawn[:4]), int.from_bytes(drawn[4:]) | 1

    def key(self, query_id: str) -> int:
        """Return what to sort by. Cheap, for it is asked of every question at every step."""
        mixed = ((crc32(query_id.encode("utf-8", "surrogatepass")) ^ self._salt) * self._factor) & 0xFFFFFFFF
        return mixed ^ (mixed >> 15)
