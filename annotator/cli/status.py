"""`status`: how the workspace stands, in counts."""

from __future__ import annotations

from collections.abc import Mapping

import click

from annotator.cli import echo_json, pass_workspace, shown
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator status --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, as_json: bool) -> None:
    """Count chunks, questions, judgments, disputes, coverage, versions and drifted chunks."""
    from annotator.services.overview import status

    found = status(workspace)
    if as_json:
        echo_json(found)
        return
    for name, value in found.items():
        if not isinstance(value, Mapping):
            click.echo(f"{name.replace('_', ' '):<14} {value}")
        elif name == "queries":
            states = ", ".join(f"{number} {state}" for state, number in value.items() if number)
            click.echo(f"{name:<14} {states or '0'}")
        else:
            width = max(12, *map(len, value))
            for facet, values in value.items():
                counted = ", ".join(f"{one} {number}" for one, number in values.items())
                click.echo(shown(f"  {facet:<{width}} {counted or '–'}"))
