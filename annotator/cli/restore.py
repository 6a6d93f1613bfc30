"""`restore`: put a backup in the place of the workspace's database."""

from __future__ import annotations

from pathlib import Path

import click

from annotator.cli import acting, chosen_workspace, echo_json
from annotator.cli.backup import counts_line

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator restore monday.db")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(file: Path, as_json: bool) -> None:
    """Replace the workspace's content by that of a backup, once the backup is found to be sound.

    What is replaced is kept in the workspace's folder `backups`. Have people stop labelling: what they do between
    the backup and now is in the kept database only.
    """
    from annotator.services import backup

    done = backup.restore(chosen_workspace(), acting(), file)
    if as_json:
        kept = str(done.kept) if done.kept else None
        echo_json({"counts": dict(done.counts), "digest": done.digest, "kept": kept})
        return
    click.echo(counts_line(done.counts))
    click.echo(f"digest {done.digest}")
    if done.kept:
        click.echo(f"The former database is {done.kept}", err=True)
