"""`people`: who works here, in which role, and what they sign in with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from annotator.cli import acting, echo_json, pass_workspace, shown
from annotator.errors import Forbidden
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.group("people", invoke_without_command=True, epilog="Example: python -m annotator people --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the people; the commands below change their roles and what they sign in with."""
    if ctx.invoked_subcommand is None:
        _listing(as_json)


@pass_workspace
def _listing(workspace: Workspace, as_json: bool) -> None:
    from annotator.services import team

    found = team.members(workspace)
    if as_json:
        echo_json(
            [
                {
                    "name": one.person.name,
                    "role": one.person.role,
                    "active": one.person.active,
                    "identities": [{"subject": subject, "email": email} for subject, email in one.identities],
                }
                for one in found
            ]
        )
        return
    for one in found:
        standing = "" if one.person.active else "  no longer works here"
        click.echo(f"{one.person.role:<10} {shown(one.person.name)}{standing}")
        for subject, email in one.identities:
            click.echo(f"{'':<10} signs in as {shown(subject)}{f' ({shown(email)})' if email else ''}")


@command.command("role", epilog='Example: python -m annotator people role "Ana" admin')
@click.argument("name")
@click.argument("role", metavar="ROLE")
@pass_workspace
def role(workspace: Workspace, name: str, role: str) -> None:
    """Give a person another ROLE: annotator, reviewer, admin or reader."""
    from annotator.services import team

    with _for_whoever_holds_the_files():
        person = team.set_role(workspace, acting(), name, role)
    _say(person.name, person.role, person.active)


@command.command("deactivate", epilog='Example: python -m annotator people deactivate "Ana"')
@click.argument("name")
@pass_workspace
def deactivate(workspace: Workspace, name: str) -> None:
    """Let a person work here no longer. Their labels and decisions stay, under their name."""
    from annotator.services import team

    with _for_whoever_holds_the_files():
        person = team.deactivate(workspace, acting(), name)
    _say(person.name, person.role, person.active)


@command.command("activate", epilog='Example: python -m annotator people activate "Ana"')
@click.argument("name")
@pass_workspace
def activate(workspace: Workspace, name: str) -> None:
    """Let a person work here again."""
    from annotator.services import team

    with _for_whoever_holds_the_files():
        person = team.activate(workspace, acting(), name)
    _say(person.name, person.role, person.active)


@command.command(
    "link", epilog='Example: python -m annotator people link "Ana" https://accounts.example.org#248289761001'
)
@click.argument("name")
@click.argument("subject")
@pass_workspace
def link(workspace: Workspace, name: str, subject: str) -> None:
    """Let whoever signs in as SUBJECT work as the person NAME, whose labels are theirs from then on.

    `people` shows the SUBJECT of everybody who signed in: ISSUER#SUBJECT, or proxy#NAME behind a proxy.
    """
    from annotator.services import team

    with _for_whoever_holds_the_files():
        person = team.link(workspace, acting(), name, subject)
    _say(person.name, person.role, person.active)


def _say(name: str, role: str, active: bool) -> None:
    click.echo(f"{shown(name)} {f'is {role} here' if active else 'no longer works here'}.")


@contextmanager
def _for_whoever_holds_the_files() -> Iterator[None]:
    """A login name may be that of somebody here who may not do this, as of the one who just signed in."""
    try:
        yield
    except Forbidden as error:
        raise Forbidden(
            error.message, hint="Say with --who under which name you act here: an admin's, or one that is nobody's."
        ) from error
