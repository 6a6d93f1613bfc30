"""`backup`: write the workspace's database to a file while people work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from annotator.cli import acting, echo_json, pass_workspace
from annotator.services.workspace import Workspace

__all__ = ["command", "counts_line"]


@click.command(epilog="Example: python -m annotator backup monday.db")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, file: Path, as_json: bool) -> None:
    """Write everything in the workspace to one file, checked. Nobody has to stop working for it."""
    from annotator.services import backup

    written = backup.back_up(workspace, acting(), file)
    if as_json:
        echo_json({"path": str(file), "size": written.size, "counts": dict(written.counts), "digest": written.digest})
        return
    click.echo(counts_line(written.counts))
    click.echo(f"digest {written.digest}")
    click.echo(f"Written to {file}, {written.size:,} bytes", err=True)


def counts_line(counts: Mapping[str, int]) -> str:
    """Write counts as one line, e.g. `chunks 275, queries 28`."""
    return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in counts.items())
