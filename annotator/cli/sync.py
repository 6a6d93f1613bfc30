"""`sync`: bring the workspace's copy up to the live chunk table."""

from __future__ import annotations

import dataclasses
from typing import Literal

import click

from annotator.cli import acting, echo_json, pass_workspace, progress
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator sync --json")
@click.option(
    "--duplicates",
    type=click.Choice(["refuse", "first", "last"]),
    default="refuse",
    show_default=True,
    help="Which row counts when an id appears twice with different text.",
)
@click.option("--allow-empty", is_flag=True, help="Let a table that lost all its rows remove every chunk.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(
    workspace: Workspace, duplicates: Literal["refuse", "first", "last"], allow_empty: bool, as_json: bool
) -> None:
    """Read the live chunk table and take over what is new, changed or gone. The live table is never written to.

    Of a table that is searched in place, only the chunks that were looked at are read again.
    """
    from annotator.services import in_place
    from annotator.services.chunk_table import sync
    from annotator.services.search import bring_up_to_date

    with progress("Reading") as tell:
        result = sync(workspace, acting(), duplicates=duplicates, allow_empty=allow_empty, progress=tell)
    bring_up_to_date(workspace)  # here rather than at somebody's first search
    if result.shrank:
        click.echo(
            f"Note: {result.removed} chunks are gone from the table, more than half of those that were here. If it is "
            "being filled anew, sync again when that is done.",
            err=True,
        )
    if as_json:
        echo_json(dataclasses.asdict(result))
        return
    looked = " that were looked at" if in_place.is_on(workspace) else ""
    click.echo(
        f"{result.total} chunks{looked}: {result.added} added, {result.changed} changed, {result.removed} removed, "
        f"{result.unchanged} unchanged, in {result.seconds:.1f} s."
    )
    if result.repeated:
        click.echo(f"{result.repeated} rows repeated an id that had come before and were left out.", err=True)
    if result.empty:
        click.echo(f"{result.empty} rows have no text.", err=True)
