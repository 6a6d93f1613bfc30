"""What changed between two gold sets: versions of the workspace by number or tag, or files and folders by path."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from annotator.gold.diff import Change, Diff, as_json, diff
from annotator.gold.goldset import GoldSet
from annotator.services import gold
from annotator.store.database import Workspace

__all__ = ["Change", "Diff", "as_json", "between", "between_versions"]


def between(workspace: Workspace, before: str, after: str) -> Diff:
    """Compare two gold sets, each named by a path, or by the number or tag of a version. Raises as `gold.gold_set`."""
    return diff(gold.gold_set(workspace, before), gold.gold_set(workspace, after))


def between_versions(workspace: Workspace, before: int, after: int) -> Diff:
    """Compare two versions by number. Raises NotFound."""
    digests = [gold.version(workspace, str(number)).digest for number in (before, after)]
    return _kept(str(workspace.home), before, after, *digests)


@lru_cache(maxsize=4)
def _kept(home: str, before: int, after: int, *digests: str) -> Diff:  # noqa: ARG001 - another digest is another version
    workspace = Workspace(Path(home))
    return diff(_version(workspace, before), _version(workspace, after))


def _version(workspace: Workspace, number: int) -> GoldSet:
    return GoldSet.load(gold.ensure_folder(workspace, number))
