"""The command line: the group of commands, each loaded when it is called, and what becomes of their errors.

Owns the workspace option, who is acting, exit codes and the shape of JSON output. Each command is a module beside
this one that exports `command`; it parses and prints, and leaves the doing to a service.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

import click

from annotator.errors import AnnotatorError, InputError, one_line, shorten

if TYPE_CHECKING:
    from annotator.services.workspace import Workspace

__all__ = [
    "COMMANDS",
    "acting",
    "annotator",
    "chosen_workspace",
    "echo_json",
    "key_value",
    "main",
    "pass_workspace",
    "progress",
    "say_next",
    "shown",
]

COMMANDS: Final = {
    "init": "annotator.cli.init",
    "connect": "annotator.cli.connect",
    "sync": "annotator.cli.sync",
    "search": "annotator.cli.search",
    "baseline": "annotator.cli.baseline",
    "run": "annotator.cli.run",
    "import": "annotator.cli.imports",
    "status": "annotator.cli.status",
    "agreement": "annotator.cli.agreement",
    "people": "annotator.cli.people",
    "release": "annotator.cli.release",
    "export": "annotator.cli.export",
    "verify": "annotator.cli.verify",
    "diff": "annotator.cli.diff",
    "drift": "annotator.cli.drift",
    "carry": "annotator.cli.carry",
    "evaluate": "annotator.cli.evaluate",
    "backup": "annotator.cli.backup",
    "restore": "annotator.cli.restore",
    "check": "annotator.cli.check",
    "serve": "annotator.cli.serve",
}
"""Command to its module, in the order people need them."""

FINE: Final = 0
COULD_NOT_ANSWER: Final = 2
CRASHED: Final = 3
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

TELL_SECONDS: Final = 5.0
"""How often progress is told where nobody looks."""

_ACTING = "annotator.acting"

P = ParamSpec("P")
R = TypeVar("R")


class _LazyGroup(click.Group):
    """Imports a command's module when the command is asked for, so that each starts with no more than it needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click decides the signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        try:
            command: click.Command = importlib.import_module(module).command
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            return None
        return command


@click.group(
    cls=_LazyGroup,
    epilog="Example: python -m annotator --home /srv/gold status --json",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="ANNOTATOR_HOME",
    show_envvar=True,
    help="The workspace folder; data/workspace of the project when not given.",
)
@click.option(
    "--who",
    envvar="ANNOTATOR_WHO",
    show_envvar=True,
    help="Your name in the record of changes; the name you are logged in with when not given.",
)
@click.pass_context
def annotator(ctx: click.Context, home: Path | None, who: str | None) -> None:
    """Build a golden set for retrieval evaluation with domain experts, and score runs against it."""
    ctx.obj = home.expanduser() if home else None
    ctx.meta[_ACTING] = who


def chosen_workspace() -> Workspace:
    """Return the workspace the present command is about; it may not exist yet."""
    # imported here, as the store takes longer to load than `evaluate`, which can do without
    from annotator.services.workspace import Workspace, default_home

    return Workspace(click.get_current_context().obj or default_home())


def pass_workspace(function: Callable[Concatenate[Workspace, P], R]) -> Callable[P, R]:
    """Give a command the opened workspace as its first argument; NotFound says how to make one."""

    @functools.wraps(function)
    def opened(*args: P.args, **kwargs: P.kwargs) -> R:
        workspace = chosen_workspace()
        workspace.open()
        return function(workspace, *args, **kwargs)

    return opened


def acting() -> str:
    """Return the name under which the present command changes the workspace."""
    named: str | None = click.get_current_context().meta[_ACTING]
    name = named or _login_name()
    if not name.isprintable():  # control characters, or bytes that were not in the encoding of the terminal
        raise InputError(f"{shorten(name)} cannot be your name.", hint="Say who you are with --who NAME.")
    return name


def _login_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return f"user {os.getuid()}"


def echo_json(document: object) -> None:
    """Print one JSON document on stdout, readable and with letters as they are."""
    import json

    click.echo(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))


def shown(text: str) -> str:
    """Replace what would steer the terminal, line by line: control and direction characters are data."""
    return "\n".join(map(one_line, text.split("\n")))


def key_value(text: str, option: str) -> tuple[str, str]:
    """Split KEY=VALUE at its first sign. Raises UsageError naming the option."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise click.UsageError(f"{option} {text}: write it as KEY=VALUE.")
    return key.strip(), value.strip()


def say_next(command: str) -> None:
    """Name the command to go on with, on stderr, for the workspace the present one was about."""
    import shlex

    from annotator.services.workspace import default_home

    home = chosen_workspace().home
    named = "" if home == default_home() else f"--home {shlex.quote(str(home))} "
    click.echo(f"Next: python -m annotator {named}{command}", err=True)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Give what is to be told the steps done and, where known, their number: a bar on stderr where somebody looks,
    else a line now and then."""
    import time

    if sys.stderr.isatty():
        with click.progressbar(length=0, label=label, show_pos=True, file=sys.stderr) as bar:

            def move(done: int, total: int | None) -> None:
                bar.length = total
                bar.update(done - bar.pos)

            yield move
        return
    told = time.monotonic()

    def tell(done: int, total: int | None) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            click.echo(f"{label}: {done}{f' of {total}' if total else ''}", err=True)

    yield tell


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 fine, 1 the answer is no, 2 could not answer, 3 crashed."""
    _speak_utf8()
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read us has gone
        code = PIPE_CLOSED
    except OSError as error:  # standard output or error is on a full disk
        code = COULD_NOT_ANSWER
        with suppress(OSError):
            click.echo(f"Error: the output cannot be written: {error.strerror or error}.", err=True)
    # point stdout elsewhere so that the last flush fails in silence
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        with annotator.make_context("python -m annotator", list(arguments)) as ctx:
            annotator.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return COULD_NOT_ANSWER
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except AnnotatorError as error:
        click.echo(f"Error: {shown(str(error))}", err=True)
        return COULD_NOT_ANSWER
    except BrokenPipeError:
        raise
    except OSError as error:
        _trace(error)
        named = shown(str(error.filename or "The output"))
        click.echo(f"Error: {named} cannot be used: {error.strerror or error}.", err=True)
        return COULD_NOT_ANSWER
    except UnicodeEncodeError as error:
        _trace(error)
        click.echo(f"Error: {shorten(error.object)} holds bytes that are no characters of UTF-8.", err=True)
        return COULD_NOT_ANSWER
    except Exception as error:  # noqa: BLE001 - the last resort: a crash must not look like an answer
        return _crashed(error)
    return FINE


def _trace(error: Exception) -> None:
    if os.environ.get("ANNOTATOR_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)


def _crashed(error: Exception) -> int:
    _trace(error)
    click.echo(
        f"Annotator failed: {type(error).__name__}: {error}\n"
        "This is a fault of Annotator. Run the command again with ANNOTATOR_DEBUG=1 and report what it prints.",
        err=True,
    )
    return CRASHED


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says: ids and questions are in any language. What is closed takes all."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - open as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
