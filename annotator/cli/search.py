"""`search`: find chunks from the command line, as on the Annotate page."""

from __future__ import annotations

import dataclasses

import click

from annotator.cli import echo_json, pass_workspace, shown
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.command(
    epilog="""Example: python -m annotator search 'who approves "enterprise refunds" -draft' --where version=v4"""
)
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(["words", "fuzzy", "id"]),
    default="words",
    show_default=True,
    help="By words, by words with slips forgiven, or by chunk id.",
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=10, show_default=True, help="How many hits to show.")
@click.option("--doc", "doc_id", default="", help="Search in this document only.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only chunks with this metadata. May repeat.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(
    workspace: Workspace,
    text: tuple[str, ...],
    mode: str,
    limit: int,
    doc_id: str,
    where: tuple[str, ...],
    as_json: bool,
) -> None:
    """Search the chunks: words, "exact phrases", -words left out, doc:ID and key:value filters, identifiers."""
    from annotator.services.search import search

    result = search(workspace, " ".join(text), mode=mode, limit=limit, doc_id=doc_id, where=_conditions(where))
    if as_json:
        echo_json(dataclasses.asdict(result))
        return
    for number, hit in enumerate(result.hits, 1):
        click.echo(f"{number:>3}  {shown(hit.chunk_id)}  {shown(hit.title)}  {hit.score:.2f}")
        click.echo(f"     {shown(hit.snippet)}")
    over = "+" if result.more else ""
    click.echo(f"{result.total}{over} found in {result.seconds * 1000:.0f} ms. {result.advice}".strip(), err=True)


def _conditions(where: tuple[str, ...]) -> dict[str, str]:
    conditions: dict[str, str] = {}
    for one in where:
        key, equals, value = one.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{one!r} is not KEY=VALUE.", param_hint="--where")
        if conditions.setdefault(key, value) != value:
            raise click.BadParameter(f"{key!r} is given two values; no chunk can have both.", param_hint="--where")
    return conditions
