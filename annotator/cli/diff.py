"""`diff`: what changed between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from annotator.cli import chosen_workspace, echo_json, shown

if TYPE_CHECKING:
    from annotator.gold.diff import Change

__all__ = ["command"]

_LONGEST = 100


@click.command(
    epilog="Example: python -m annotator diff 2 3\n\nExample: python -m annotator diff gold/policies-v3.zip ci"
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(before: str, after: str, as_json: bool) -> None:
    """Say what changed from A to B: queries and labels added, removed, regraded and reworded, with the reasons.

    A and B are versions by number or tag, or paths of releases, zips or other gold files.
    """
    from annotator.services import difference

    found = difference.between(chosen_workspace(), before, after)
    if as_json:
        echo_json(difference.as_json(found))
        return
    click.echo(f"{_name(found.before)} → {_name(found.after)}")
    if not found.changes:
        click.echo("No label and no query differs.")
    for kind in ("added", "removed", "regraded", "reworded"):
        queries, labels = found.of(kind, labels=False), found.of(kind, labels=True)
        if queries or labels:
            click.echo(f"{kind}: {_count(len(queries), 'query', 'queries')}, {_count(len(labels), 'label', 'labels')}")
            for one in sorted((*queries, *labels), key=lambda one: (one.query_id, one.chunk_id)):
                click.echo(shown(f"  {_line(one)}"))


def _name(gold: object) -> str:
    name, version = getattr(gold, "name", ""), getattr(gold, "version", None)
    return f"{name} v{version}" if version is not None else str(name)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _line(one: Change) -> str:
    place = f"{one.query_id} {one.chunk_id}".rstrip()
    if one.kind in ("added", "removed"):
        said = one.after or one.before
        said = f"grade {said}" if one.chunk_id else said
    else:
        said = f"{one.field} {_short(one.before)} → {_short(one.after)}"
    why = f"  ({_short(one.reason)})" if one.reason and one.field != "reason" else ""
    return f"{place}  {_short(said) if one.kind in ('added', 'removed') else said}{why}"


def _short(text: str) -> str:
    line = " ".join(text.split()) or "nothing"
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
