"""`run`: ask the team's retriever every question and keep what it did as a run."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from annotator.cli import acting, echo_json, key_value, pass_workspace, progress, say_next, shown
from annotator.errors import Conflict, InputError
from annotator.services.workspace import Workspace

if TYPE_CHECKING:
    from annotator.services.asking import Retriever
    from annotator.services.capture import Captured

__all__ = ["command"]

_NAMED = 5
_INCOMPLETE = 2


@click.command(
    epilog="Example: python -m annotator run --name hybrid-0312 --hook mysearch.hook:retrieve --depth 50 --import"
)
@click.option("--name", required=True, help="Name of the run.")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write, a JSONL trace; NAME.jsonl here when not given.",
)
@click.option(
    "--depth", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Chunks for each question."
)
@click.option(
    "--gold",
    default="",
    metavar="VERSION|PATH",
    help="Whose questions are asked: a version, tag or file; the newest version when not given, else the workspace.",
)
@click.option(
    "--hook",
    default="",
    metavar="HOOK",
    help="module:function or an address; the retriever of the workspace when not given.",
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0, 3600, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds the retriever may take for one question.",
)
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="What the run says of itself besides. May repeat.")
@click.option("--import", "bring", is_flag=True, help="Store the run in the workspace when it is complete.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
@pass_workspace
def command(
    workspace: Workspace,
    ctx: click.Context,
    name: str,
    path: Path | None,
    depth: int,
    gold: str,
    hook: str,
    seconds: float,
    meta: tuple[str, ...],
    bring: bool,
    as_json: bool,
) -> None:
    """Ask the retriever every question of the gold set and record ranked ids, scores, latency and its trace.

    Stopped at any moment, the same command goes on where it stopped.
    """
    from annotator.services import capture

    target = path or _named(name)
    said = dict(key_value(one, "--meta") for one in meta)
    asked = capture.questions(workspace, gold)
    if bring and not target.exists():
        _free(workspace, name)  # better told before the questions are asked
    try:
        # what the team's function prints is no part of the answer of this command
        with redirect_stdout(sys.stderr), progress("Asking") as tell:
            retriever = _retriever(workspace, hook)
            found = capture.capture(
                workspace, retriever, asked, target,
                name=name, depth=depth, seconds=seconds, meta=said, progress=tell,
            )  # fmt: skip
    except KeyboardInterrupt:
        click.echo(f"\nStopped. The answers are kept in {capture.part_of(target)}; the same command goes on.", err=True)
        raise
    if as_json:
        echo_json({**dataclasses.asdict(found), "complete": found.complete})
    _tell(found, as_json)
    if not found.complete:
        click.echo(
            f"{found.questions - found.answered} questions have no answer yet. What was answered is kept in "
            f"{capture.part_of(target)}; the same command asks the others.",
            err=True,
        )
        ctx.exit(_INCOMPLETE)
    if bring:
        from annotator.services.importing import import_run

        report = import_run(workspace, acting(), str(target), name=name)
        click.echo(f"{'Imported' if report.added else 'Imported before'} as {shown(name)}.", err=True)
    else:
        say_next(f"import run {shlex.quote(str(target))} --name {shlex.quote(name)}")


def _named(name: str) -> Path:
    if name.startswith((".", "-")) or Path(name).name != name or not name.isprintable() or "\\" in name:
        raise InputError(f"{name!r} cannot name a file.", hint="Name one with -o FILE.jsonl.")
    return Path(f"{name}.jsonl")


def _free(workspace: Workspace, name: str) -> None:
    from annotator.services.preview import stored_runs

    if any(one.name == name for one in stored_runs(workspace)):
        raise Conflict(f"There is a run with the name {name!r} already.", hint="Give this one another name.")


def _retriever(workspace: Workspace, hook: str) -> Retriever:
    from annotator.services import retriever

    found = retriever.retriever(hook) if hook else retriever.find(workspace)
    if found is None:
        raise InputError(
            "No retriever is set.",
            hint=f"Name one with --hook module:function, or set {retriever.HOOK}, or an address in Settings.",
        )
    return found


def _tell(found: Captured, as_json: bool) -> None:
    before = f", {found.before} of them before" if found.before else ""
    click.echo(
        f"{found.answered} of {found.questions} questions answered{before}; {found.timed_out} out of time, "
        f"{found.empty} empty.",
        err=as_json,
    )
    for query_id, message in found.failed[:_NAMED]:
        click.echo(f"  {shown(query_id)}: {shown(message)}", err=True)
    if len(found.failed) > _NAMED:
        click.echo(f"  and {len(found.failed) - _NAMED} more", err=True)
    if found.gone:
        named = ", ".join(shown(one) for one in found.gone[:_NAMED]) + (" …" if len(found.gone) > _NAMED else "")
        click.echo(f"Note: {len(found.gone)} retrieved ids are not in the chunk table: {named}", err=True)
    if found.complete:
        click.echo(f"Written to {found.path}", err=True)
