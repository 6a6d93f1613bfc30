"""`export`: take a frozen version out in a format other programs read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from annotator.cli import echo_json, pass_workspace
from annotator.services.workspace import Workspace

__all__ = ["command", "counts_line"]


@click.command(epilog="Example: python -m annotator export 3 -o gold/policies-v3.zip --format native")
@click.argument("version")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write; for native, trec and beir a folder, or one file when the name ends in .zip.",
)
@click.option(
    "--format",
    "format_name",
    default="native",
    show_default=True,
    help="native, jsonl, yaml, csv, trec, beir or ragas.",
)
@click.option(
    "--level",
    default="chunk",
    show_default=True,
    help="trec, beir and ragas: what there is to find, chunk, document or span (the quoted evidence).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, version: str, path: Path, format_name: str, level: str, as_json: bool) -> None:
    """Write a released version, given by its number or tag, to a file or folder."""
    from annotator.services import gold

    written = gold.export_version(workspace, gold.version(workspace, version).version, path, format_name, level)
    if as_json:
        echo_json(
            {"path": written.path, "format": written.format, "digest": written.digest, "counts": dict(written.counts)}
        )
        return
    click.echo(counts_line(written.counts))
    click.echo(f"digest {written.digest}")
    click.echo(f"Written to {written.path}", err=True)


def counts_line(counts: Mapping[str, int]) -> str:
    """Write counts as one line, e.g. `queries 28, unanswerable 3, judged pairs 312`."""
    from annotator.gold.release import COUNTED

    return ", ".join(f"{name.replace('_', ' ')} {counts[name]}" for name in COUNTED if name in counts)
