"""`import queries`, `import judgments`, `import run`: take in files, all or nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from annotator.cli import acting, echo_json, key_value, pass_workspace, shown
from annotator.errors import SHOWN_PROBLEMS
from annotator.services.workspace import Workspace

if TYPE_CHECKING:
    from annotator.services.importing import ImportReport

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

_CANNOT_JUDGE: Final = "x"
_GRADES: Final = {"0": 0, "1": 1, "2": 2, "3": 3, _CANNOT_JUDGE: None}


@click.group(
    short_help="Import questions, judgments or a run.",
    epilog="Example: python -m annotator import queries questions.csv --dry-run",
)
def command() -> None:
    """Import questions, judgments or a run; the whole file or nothing, and the same file twice changes nothing."""


def _rows_options(function: F) -> F:
    """Add what imports of rows take: names of columns, and what to do with rows that have faults."""
    for option in (
        click.option(
            "--good-rows",
            "rest",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="REST",
            help="Take the rows without fault, and write the others to the file REST.",
        ),
        click.option(
            "--column",
            multiple=True,
            metavar="NAME=FIELD",
            help="The file's column NAME is our FIELD; NAME= leaves it out. May repeat.",
        ),
    ):
        function = option(function)
    return function


def _file_options(function: F) -> F:
    """Add what all imports take: the file, --dry-run and --json."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option("--dry-run", is_flag=True, help="Say what would happen; write nothing."),
        click.argument("file", metavar="FILE"),
    ):
        function = option(function)
    return function


@command.command(
    "queries", short_help="Import questions.", epilog="Example: python -m annotator import queries questions.csv"
)
@_file_options
@_rows_options
@click.option(
    "--facet", multiple=True, metavar="NAME", help="Take this key of metadata objects as a facet. May repeat."
)
@pass_workspace
def queries(
    workspace: Workspace,
    file: str,
    dry_run: bool,
    as_json: bool,
    facet: tuple[str, ...],
    column: tuple[str, ...],
    rest: Path | None,
) -> None:
    """Import questions: CSV or TSV with a header (query_id, question, notes, one column a facet), JSONL, YAML, or
    TREC topics (query id, tab, question). FILE may be - for stdin.
    """
    from annotator.services.importing import import_queries

    report = import_queries(
        workspace,
        acting(),
        file,
        facets=facet,
        columns=_columns(column),
        dry_run=dry_run,
        only_good=rest is not None,
    )
    _show(report, "questions", as_json, rest)


@command.command(
    "judgments",
    short_help="Import judgments.",
    epilog="Example: python -m annotator import judgments qrels.txt --annotator ana --map-grade 4=3 --map-grade -1=0",
)
@_file_options
@_rows_options
@click.option("--annotator", default="", metavar="NAME", help="Who judged the rows that name nobody.")
@click.option(
    "--map-grade",
    multiple=True,
    metavar="A=B",
    help="Grade A of the file is B here: 0 to 3, or x for cannot judge. May repeat.",
)
@click.option(
    "--conflicts",
    type=click.Choice(["refuse", "highest", "lowest", "last"]),
    default="refuse",
    show_default=True,
    help="Which grade counts when one person gave one pair two.",
)
@pass_workspace
def judgments(
    workspace: Workspace,
    file: str,
    dry_run: bool,
    as_json: bool,
    annotator: str,
    map_grade: tuple[str, ...],
    conflicts: str,
    column: tuple[str, ...],
    rest: Path | None,
) -> None:
    """Import judgments: CSV, TSV or JSONL (query_id, chunk_id, grade), TREC qrels, YAML, or a release.

    Further fields: annotator, reason, evidence, judged_at, stale, cannot_judge. FILE may be - for stdin.
    """
    from annotator.services.importing import import_judgments

    report = import_judgments(
        workspace,
        acting(),
        file,
        annotator=annotator,
        grades=_grades(map_grade),
        conflicts=conflicts,
        columns=_columns(column),
        dry_run=dry_run,
        only_good=rest is not None,
    )
    _show(report, "judgments", as_json, rest)


@command.command(
    "run",
    short_help="Import a run.",
    epilog="Example: python -m annotator import run bm25.trec --name bm25 --meta index_version=7",
)
@_file_options
@click.option("--name", required=True, help="What the run is called here.")
@click.option("--meta", multiple=True, metavar="K=V", help="Something to know about the run. May repeat.")
@pass_workspace
def run(workspace: Workspace, file: str, dry_run: bool, as_json: bool, name: str, meta: tuple[str, ...]) -> None:
    """Import a run: TREC, JSON, CSV, TSV or a JSONL trace, also .gz. Its chunks are offered for grading."""
    from annotator.services.importing import import_run

    pairs = dict(key_value(one, "--meta") for one in meta)
    _show(import_run(workspace, acting(), file, name=name, meta=pairs, dry_run=dry_run), "queries of the run", as_json)


def _grades(pairs: Sequence[str]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for one in pairs:
        foreign, own = _pair(one, "--map-grade")
        if own not in _GRADES:
            raise click.UsageError(f"--map-grade {one}: {own!r} is no grade. Write 0, 1, 2, 3, or x for cannot judge.")
        if found.get(foreign, _GRADES[own]) != _GRADES[own]:
            raise click.UsageError(f"--map-grade maps {foreign!r} twice.")
        found[foreign] = _GRADES[own]
    return found


def _columns(pairs: Sequence[str]) -> dict[str, str]:
    return dict(_pair(one, "--column") for one in pairs)


def _pair(text: str, option: str) -> tuple[str, str]:
    left, sign, right = text.rpartition("=")  # what stands in a file may hold the sign
    if not sign or not left.strip():
        raise click.UsageError(f"{option} {text}: write it as A=B.")
    return left.strip(), right.strip()


def _show(report: ImportReport, what: str, as_json: bool, rest: Path | None = None) -> None:
    if rest and report.problems:
        from annotator.gold.archive import write_file

        for problem in report.problems[:SHOWN_PROBLEMS]:
            click.echo(f"  {problem}", err=True)
        number = len(report.problems)
        counted = "1 fault" if number == 1 else f"{number} faults"
        if report.dry_run:
            click.echo(f"{counted}; what is left out would be written to {rest}.", err=True)
        else:
            write_file(rest, report.rest.encode())
            click.echo(f"{counted}; what is left out is in {rest}.", err=True)
    if as_json:
        echo_json(
            {name: value for name, value in dataclasses.asdict(report).items() if name not in ("problems", "rest")}
        )
    else:
        would = "would be " if report.dry_run else ""
        skipped = f", {report.skipped} skipped" if report.skipped else ""
        click.echo(
            f"{what.capitalize()}: {report.added} {would}added, {report.changed} {would}changed, "
            f"{report.unchanged} unchanged{skipped}."
        )
    for warning in report.warnings:
        click.echo(shown(f"Note: {warning}"), err=True)
