"""`verify`: recompute the digest and counts of a release."""

from __future__ import annotations

from pathlib import Path

import click

from annotator.cli import echo_json, shown

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator verify gold/policies-v3")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, path: Path, as_json: bool) -> None:
    """Check that a release folder or zip is as it was frozen. Exit code 0: intact, 1: not."""
    from annotator.cli.export import counts_line
    from annotator.gold.verify import verify

    found = verify(path)
    if as_json:
        echo_json(
            {
                "path": found.path,
                "name": found.name,
                "version": found.version,
                "digest": found.digest,
                "counts": dict(found.counts),
                "intact": found.intact,
                "problems": list(found.problems),
            }
        )
    else:
        named = f"{found.name} version {found.version}" if found.name else found.path
        click.echo(shown(f"{named}: {'intact' if found.intact else 'NOT as it was released'}"))
        for problem in found.problems:
            click.echo(f"  - {problem}")
        if found.digest:
            click.echo(f"digest {found.digest}")
            click.echo(counts_line(found.counts))
    ctx.exit(0 if found.intact else 1)
