"""`release`: freeze the next gold set version."""

from __future__ import annotations

import click

from annotator.cli import acting, echo_json, pass_workspace, shown
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.command(epilog='Example: python -m annotator release --name policies --note "first set"')
@click.option("--name", default="", help="Name of the gold set; the workspace's own when not given.")
@click.option("--note", default="", help="What this version is about.")
@click.option("--allow-open", is_flag=True, help="Leave questions that are not settled out instead of refusing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, name: str, note: str, allow_open: bool, as_json: bool) -> None:
    """Freeze the next version: numbered, with a digest, never changed again."""
    from annotator.cli.export import counts_line
    from annotator.services import gold

    new = gold.release(workspace, acting(), name=name, note=note, allow_open=allow_open)
    left_out = new.manifest["left_out"]
    unlabelled = gold.unlabelled(workspace, new)
    folder = workspace.releases / new.folder
    if as_json:
        echo_json(
            {
                "version": new.version,
                "name": new.name,
                "digest": new.digest,
                "counts": new.manifest["counts"],
                "left_out": left_out,
                "unlabelled": unlabelled,
                "path": str(folder),
            }
        )
        return
    click.echo(f"{new.name} version {new.version}")
    click.echo(f"digest {new.digest}")
    click.echo(counts_line(new.manifest["counts"]))
    if left_out:
        click.echo(f"left out, not settled: {shown(', '.join(left_out))}")
    if unlabelled:
        click.echo(f"not part of it, without a label yet: {unlabelled} question{'s' if unlabelled > 1 else ''}")
    click.echo(f"Written to {folder}", err=True)
