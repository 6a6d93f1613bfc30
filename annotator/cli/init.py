"""`init`: make a workspace."""

from __future__ import annotations

import shlex

import click

from annotator.cli import acting, chosen_workspace

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator init --demo")
@click.option("--demo", is_flag=True, help="Fill it: a chunk table, questions, judgments of three people, runs.")
def command(demo: bool) -> None:
    """Create a workspace. One that is there already is never touched."""
    from annotator.services.workspace import default_home, init

    workspace = chosen_workspace()
    init(workspace.home, who=acting(), demo=demo)
    click.echo(f"Made the workspace {workspace.home}, with {acting()} as its admin.")
    named = "" if workspace.home == default_home() else f"--home {shlex.quote(str(workspace.home))} "
    following = "serve" if demo else "connect URL"
    click.echo(f"Next: python -m annotator {named}{following}", err=True)
