"""`baseline`: write a run made by the built-in search."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from annotator.cli import echo_json, pass_workspace, progress
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator baseline -o runs/baseline.jsonl --depth 50")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write: TREC when it ends in .trec, a trace with latencies when it ends in .jsonl.",
)
@click.option(
    "--mode",
    type=click.Choice(["words", "fuzzy"]),
    default="words",
    show_default=True,
    help="By words, or by words with slips forgiven.",
)
@click.option(
    "--queries",
    "file",
    metavar="FILE",
    help="Search for the questions of this file (query_id, question; JSONL, TSV, CSV) instead of the workspace's.",
)
@click.option("--depth", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Hits for each query.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, path: Path, mode: str, file: str | None, depth: int, as_json: bool) -> None:
    """Write the run of the built-in search, the lexical baseline any retriever has to beat."""
    from annotator.services.baseline import read_questions, write_baseline

    questions = read_questions(file) if file else None
    with progress("Searching") as tell:
        written = write_baseline(workspace, path, mode=mode, depth=depth, queries=questions, progress=tell)
    if as_json:
        echo_json(dataclasses.asdict(written))
        return
    click.echo(f"{written.queries} queries, {written.hits} hits, {written.empty} queries without any.")
    click.echo(f"Written to {written.path}", err=True)
