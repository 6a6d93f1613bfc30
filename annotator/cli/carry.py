"""`carry`: propose where the labels of drifted chunks belong now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from annotator.cli import acting, echo_json, pass_workspace, progress, shown
from annotator.services.workspace import Workspace

if TYPE_CHECKING:
    from annotator.gold.carry import Proposal

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator carry --apply")
@click.option(
    "--gold", default="", metavar="PATH|VERSION|TAG", help="Labels of a gold set, not of those in force here."
)
@click.option("--apply", "keep", is_flag=True, help="Record the proposals for review on the Chunks page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, gold: str, keep: bool, as_json: bool) -> None:
    """Propose new chunks for the labels whose chunk changed or vanished. Proposals are never labels by themselves."""
    from annotator.services import carry
    from annotator.services.gold import gold_set

    with progress("Looking") as tell:
        search = carry.propose(workspace, gold_set(workspace, gold) if gold else None, tell)
    waiting = carry.apply(workspace, acting(), search) if keep else None
    if as_json:
        document: dict[str, object] = {
            "labels": len(search.labels),
            "proposals": [_row(one) for one in search.found],
            "without": [{"query_id": label.query_id, "chunk_id": label.chunk_id} for label in search.without],
            "seconds": round(search.seconds, 3),
        }
        echo_json(document if waiting is None else document | {"open": waiting})
        return
    for one in search.found:
        label = one.label
        moved = shown(f"{label.query_id}  {label.chunk_id} → {one.chunk.chunk_id}")
        click.echo(f"{moved}  grade {label.grade} → {one.grade}  {one.how} {one.score:.0%}")
    for label in search.without:
        click.echo(shown(f"{label.query_id}  {label.chunk_id}: found nowhere"))
    click.echo(
        f"{len(search.labels)} labels of drifted chunks: {len(search.found)} proposals, nothing found for "
        f"{len(search.without)}, in {search.seconds:.1f} s."
    )
    if waiting is not None:
        click.echo(f"{waiting} proposals wait for review on the Chunks page.")
    elif search.found:
        click.echo("Nothing was recorded; --apply keeps the proposals for review.", err=True)


def _row(one: Proposal) -> dict[str, object]:
    label = one.label
    return {
        "query_id": label.query_id,
        "chunk_id": label.chunk_id,
        "to": one.chunk.chunk_id,
        "from_grade": label.grade,
        "grade": one.grade,
        "stale": label.stale,
        "score": round(one.score, 4),
        "how": one.how,
        "evidence": [{"quote": span.quote, "start": span.start, "end": span.end} for span in one.evidence],
        "text": label.text,
        "to_text": one.chunk.text,
    }
