"""The workspace's gate: its rules, who may change them, and what they say of a stored run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from annotator.errors import Conflict, InputError
from annotator.metrics.gate import Check, Rule, Verdict, parse_gate
from annotator.metrics.reasons import Reason, lost_chunks
from annotator.metrics.rendering import as_markdown
from annotator.metrics.report import Report, report
from annotator.services import preview
from annotator.services.permission import require
from annotator.services.preview import RunInfo, Scores, Yardstick
from annotator.store import events, settings
from annotator.store.database import Workspace

__all__ = [
    "EXAMPLE",
    "LONGEST",
    "NAME",
    "Check",
    "Reason",
    "Report",
    "Verdict",
    "as_markdown",
    "judged",
    "lost_chunks",
    "set_text",
    "text",
]

NAME = "gate.yaml"
"""What the rules are called in messages."""
LONGEST = 50_000
EXAMPLE = """rules:
  - {measure: "R@10", max_drop: 0.0, severity: block}
  - {measure: "Judged@10", min: 0.8, severity: warn}
"""


def text(workspace: Workspace) -> str:
    """Return the rules as they were written, "" while there are none."""
    with workspace.read() as connection:
        return str(settings.get(connection, "gate", {"text": ""})["text"])


def set_text(workspace: Workspace, who: str, new: str, *, seen: str) -> None:
    """Put other rules in force; `seen` is the text they were written from, and "" takes the gate away.

    Raises InputError for what is no gate, Forbidden for anybody but an admin, Conflict when it was changed meanwhile.
    """
    if len(new) > LONGEST:
        raise InputError(f"The gate has {len(new):,} characters; {LONGEST:,} is the most.")
    if new.strip():
        parse_gate(new, NAME)
    with workspace.write() as connection:
        require(connection, who, "change the gate")
        old = str(settings.get(connection, "gate", {"text": ""})["text"])
        if old != seen:
            raise Conflict(
                "The gate was changed meanwhile.", hint="Copy your rules, reload the page, look at the new ones."
            )
        if new != old:
            settings.put(connection, "gate", {"text": new})
            events.record(connection, who, "gate changed", "setting:gate", old={"text": old}, new={"text": new})


def judged(workspace: Workspace, against: Yardstick, run: RunInfo, baseline: RunInfo | None, rules: str) -> Report:
    """Say what the rules say of a run. Raises InputError when they do not fit or lack a baseline."""
    cuts = _cuts(parse_gate(rules, NAME))
    before = preview.score(workspace, against, baseline, cuts) if baseline else None
    return _report(Scores(preview.score(workspace, against, run, cuts), before), rules)


@lru_cache(maxsize=16)
def _report(scores: Scores, rules: str) -> Report:
    # comparing every slice on every measure takes long, and the rules look at their own slices themselves
    return report([replace(scores.run, slices=())], baseline=scores.baseline, gate=parse_gate(rules, NAME))


def _cuts(rules: Sequence[Rule]) -> tuple[int, ...]:
    """The usual cut-offs and those that rules speak of."""
    named = (re.fullmatch(r"[A-Za-z_]+@([1-9][0-9]{0,3})", rule.measure) for rule in rules)
    return tuple(sorted({*preview.CUTS, *(int(found[1]) for found in named if found)}))
