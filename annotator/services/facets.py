"""The facets of the workspace: which there are, and how many questions of each kind are wanted."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from annotator.errors import InputError, Problem
from annotator.model import FACETS, id_fault
from annotator.review.coverage import DEFAULT_TARGETS
from annotator.services.permission import require
from annotator.store import events, settings
from annotator.store.database import Workspace

__all__ = ["FacetSchema", "facet_names", "facet_targets", "schema", "set_schema"]


@dataclass(frozen=True, slots=True)
class FacetSchema:
    """The facets in the order they are shown, and per facet and value the number of questions wanted."""

    facets: tuple[str, ...]
    targets: Mapping[str, Mapping[str, int]]


def schema(workspace: Workspace) -> FacetSchema:
    """Return the facets and their targets."""
    with workspace.read() as connection:
        return FacetSchema(facet_names(connection), facet_targets(connection))


def set_schema(workspace: Workspace, who: str, new: FacetSchema) -> None:
    """Replace the facets and targets; values of facets taken away stay with their questions.

    Raises InputError, and Forbidden for anybody but an admin.
    """
    problems = _problems(new)
    if problems:
        raise InputError("These facets cannot be used.", problems=problems)
    with workspace.write() as connection:
        require(connection, who, "change the facets")
        old = {"facets": facet_names(connection), "targets": facet_targets(connection)}
        settings.put(connection, "facets", list(new.facets))
        settings.put(connection, "facet_targets", {facet: dict(values) for facet, values in new.targets.items()})
        changed = {"facets": list(new.facets), "targets": new.targets}
        events.record(connection, who, "facets changed", "setting:facets", old=old, new=changed)


def facet_names(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the facets in the order they are shown."""
    return tuple(settings.get(connection, "facets", FACETS))


def facet_targets(connection: sqlite3.Connection) -> Mapping[str, Mapping[str, int]]:
    """Return facet → value → number of questions wanted, for the facets there are."""
    targets: Mapping[str, Mapping[str, int]] = settings.get(connection, "facet_targets", DEFAULT_TARGETS)
    names = facet_names(connection)
    return {facet: values for facet, values in targets.items() if facet in names}


def _problems(new: FacetSchema) -> list[Problem]:
    problems = [
        Problem(f"{fault}", field="facets", value=str(name)) for name in new.facets if (fault := id_fault(name))
    ]
    repeated = {name for name in new.facets if new.facets.count(name) > 1}
    problems += [Problem("the facet is there twice", field="facets", value=name) for name in sorted(repeated)]
    for facet, values in new.targets.items():
        if facet not in new.facets:
            problems.append(Problem("a target for a facet that is not there", field="targets", value=facet))
        for value, want in values.items():
            if isinstance(want, bool) or not isinstance(want, int) or want < 0:
                problems.append(Problem(f"the target of {facet} “{value}” is not a number", value=str(want)))
    return problems
