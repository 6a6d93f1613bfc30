"""`init`: make a workspace."""

from __future__ import annotations

import click

from annotator.cli import acting, chosen_workspace, say_next

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator init --demo")
@click.option("--demo", is_flag=True, help="Fill it: a chunk table, questions, judgments of three people, runs.")
def command(demo: bool) -> None:
    """Create a workspace. One that is there already is never touched."""
    from annotator.services.workspace import init

    workspace = chosen_workspace()
    init(workspace.home, who=acting(), demo=demo)
    click.echo(f"Made the workspace {workspace.home}, with {acting()} as its admin.")
    say_next("serve" if demo else "connect URL")
