"""`drift`: what became of the chunks a gold set was judged on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from annotator.cli import echo_json, pass_workspace, shown
from annotator.errors import InputError, NotFound, one_line
from annotator.services.workspace import Workspace

if TYPE_CHECKING:
    from annotator.gold.drift import Drifted
    from annotator.gold.goldset import GoldSet

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator drift --gold gold/policies-v3 --json")
@click.option("--gold", default="", metavar="PATH|VERSION|TAG", help="The gold set; the newest version when not given.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
@pass_workspace
def command(workspace: Workspace, ctx: click.Context, gold: str, as_json: bool) -> None:
    """Compare a gold set with the live chunk table, which is only read. Exit code 0: nothing drifted, 1: something did.

    Where the live table cannot be read, what the last sync found in it counts.
    """
    from annotator.services.drift import KINDS
    from annotator.services.gold import gold_set

    judged = gold_set(workspace, gold)
    found = _drifted(workspace, judged)
    if not any(label.sha256 for query_id in judged.grades for label in judged.labels(query_id)):
        click.echo("The gold set has no hashes of the texts judged: only missing ids can be told.", err=True)
    if as_json:
        rows: dict[str, list[dict[str, object]]] = {kind: [] for kind in KINDS}
        for one in found:
            row: dict[str, object] = {"chunk_id": one.judged.chunk_id}
            if one.to:
                row |= {"to": one.to[0], "also": list(one.to[1:])}
            if one.similarity is not None:
                row["similarity"] = round(one.similarity, 1)
            row |= {"sha256": one.judged.sha256, "query_ids": list(one.judged.query_ids)}
            rows[one.kind].append(row)
        echo_json({"gold": {"name": judged.name, "version": judged.version, "digest": judged.digest}, **rows})
    else:
        for one in found:
            to = f" → {one.to[0]}" if one.to else ""
            judged_for = ", ".join(one.judged.query_ids)
            click.echo(shown(f"{one.kind:<8} {one.judged.chunk_id}{to}  (judged for {judged_for})"))
        counts = ", ".join(f"{sum(one.kind == kind for one in found)} {kind}" for kind in KINDS)
        click.echo(f"{judged.name}{f' version {judged.version}' if judged.version else ''}: {counts}.")
    ctx.exit(1 if found else 0)


def _drifted(workspace: Workspace, judged: GoldSet) -> list[Drifted]:
    from annotator.services.drift import against

    try:
        return against(workspace, judged, live=True)
    except (InputError, NotFound) as error:
        click.echo(f"Warning: the live table was not read; the last sync counts. {one_line(str(error))}", err=True)
        return against(workspace, judged)
