"""`check`: whether the workspace is sound."""

from __future__ import annotations

import click

from annotator.cli import chosen_workspace, echo_json
from annotator.cli.backup import counts_line

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator check")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check the database, what keeps the record from being edited, kept texts and versions. Exit code 1: damaged."""
    from annotator.services import backup

    found = backup.check(chosen_workspace())
    if as_json:
        echo_json(
            {
                "sound": found.sound,
                "problems": list(found.problems),
                "counts": dict(found.counts),
                "digest": found.digest,
            }
        )
    else:
        click.echo("sound" if found.sound else "NOT sound")
        for problem in found.problems:
            click.echo(f"  - {problem}")
        if found.counts:
            click.echo(counts_line(found.counts))
            click.echo(f"digest {found.digest}")
    ctx.exit(0 if found.sound else 1)
