"""`connect`: say where the live chunk table is and which column holds what."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click

from annotator.cli import acting, echo_json, pass_workspace, say_next, shown
from annotator.services.workspace import Workspace

if TYPE_CHECKING:
    from annotator.services.chunk_table import Preview

__all__ = ["command"]

_OPTIONS = {
    "chunk_id": "id_column",
    "text": "text_column",
    "doc_id": "doc_column",
    "title": "title_column",
    "position": "position_column",
}


@click.command(
    epilog="Example: python -m annotator connect sqlite:///handbook.db --table chunks --id-column uid "
    "--metadata-column version"
)
@click.argument("url")
@click.option("--table", default="", metavar="T", help="The table, view or collection, where there is a choice.")
@click.option("--id-column", metavar="C", help="Holds the chunk id.")
@click.option("--text-column", metavar="C", help="Holds the text.")
@click.option("--doc-column", metavar="C", help='Holds the document id; "" for none, as for the next two.')
@click.option("--title-column", metavar="C", help="Holds the title or heading.")
@click.option("--position-column", metavar="C", help="Holds the place in the document.")
@click.option("--metadata-column", metavar="C", multiple=True, help="May repeat; all that remain when not given.")
@click.option(
    "--in-place",
    is_flag=True,
    help="Search the live table itself instead of reading it in: for tables too large for that.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(
    workspace: Workspace,
    /,
    url: str,
    table: str,
    metadata_column: tuple[str, ...],
    in_place: bool,
    as_json: bool,
    **columns: str | None,
) -> None:
    """Set the live chunk table. It is only ever read; `sync` brings its chunks in.

    URL is postgresql://…, opensearch://…, elasticsearch://…, qdrant://…, sqlite:///file.db, a file .jsonl, .ndjson,
    .csv, .tsv (each also .gz), .parquet or .duckdb, or a folder of Chroma, LanceDB, Qdrant (local) or Parquet files. A
    password is never stored: write ${NAME} in its place and set that environment variable. Columns with usual names
    are found by themselves; metadata.page names a key of a JSON column.
    """
    from annotator.services.chunk_table import connect

    given = {field: columns[option] for field, option in _OPTIONS.items()}
    seen = connect(
        workspace,
        acting(),
        url,
        table,
        columns={field: column for field, column in given.items() if column is not None},
        metadata=metadata_column,
        search_in_place=in_place,
    )
    if as_json:
        echo_json(_document(seen))
    else:
        _print(seen)
    if in_place and seen.offer is not None:
        click.echo(f"It is searched in place, by {seen.offer.said}.", err=as_json)
        for note in seen.offer.notes:
            click.echo(f"  {note}", err=as_json)
        say_next("serve")
    else:
        say_next("sync")


def _document(seen: Preview) -> dict[str, object]:
    return {
        "name": seen.name,
        "kind": seen.kind,
        "table": seen.table,
        "count": seen.count,
        "columns": {field: getattr(seen.mapping, field) for field in _OPTIONS},
        "reasons": dict(seen.reasons),
        "metadata": list(seen.metadata),
        "available": [dataclasses.asdict(column) for column in seen.columns],
        "chunks": [dataclasses.asdict(chunk) for chunk in seen.chunks],
        "problems": [str(problem) for problem in seen.problems],
        "in_place": dataclasses.asdict(seen.offer) if seen.offer else None,
    }


def _print(seen: Preview) -> None:
    rows = f", {seen.count} rows" if seen.count is not None else ""
    click.echo(f"Connected {seen.name} ({seen.kind}){rows}.")
    for field in _OPTIONS:
        column = getattr(seen.mapping, field)
        click.echo(f"  {field:<9} {column or '–'}" + (f"   ({seen.reasons[field]})" if column else ""))
    click.echo(f"  metadata  {shown(', '.join(seen.metadata)) or '–'}")
    for chunk in seen.chunks:
        text = " ".join(chunk.text.split())
        click.echo(f"  {shown(chunk.chunk_id)}  {shown(text if len(text) <= 80 else text[:79] + '…')}")
    for problem in seen.problems[:5]:
        click.echo(f"  Fault: {problem}", err=True)
