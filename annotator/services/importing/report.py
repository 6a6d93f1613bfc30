"""What an import did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotator.errors import Problem

__all__ = ["SHOWN_LAST", "SHOWN_ROWS", "ImportReport"]

SHOWN_ROWS = 20
SHOWN_LAST = 5


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of what was written (or would be, of a dry run), and the first and last rows as understood.

    `skipped` rows were imported before and have been changed by somebody since: the later change stands.
    `problems` and `rest` are filled when only the good rows were taken: the faults, and the refused rows as a file.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    warnings: tuple[str, ...] = ()
    first_rows: tuple[Mapping[str, object], ...] = ()
    last_rows: tuple[Mapping[str, object], ...] = ()
    """Those at the end that are not among the first."""
    problems: tuple[Problem, ...] = ()
    rest: str = ""
    dry_run: bool = False
