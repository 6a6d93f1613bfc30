"""`agreement`: how far the people who judged the same chunks agree."""

from __future__ import annotations

import click

from annotator.cli import echo_json, pass_workspace, shown
from annotator.services.workspace import Workspace

__all__ = ["command"]


@click.command(epilog="Example: python -m annotator agreement --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@pass_workspace
def command(workspace: Workspace, as_json: bool) -> None:
    """Compare people's grades: Krippendorff's alpha (ordinal), percent, and the kappas of every two people.

    Percent is a share from 0 to 1. The interval is that of 95 of 100 resamples of the questions.
    """
    from annotator.services import agreement as service

    found = service.agreement(workspace)
    if as_json:
        echo_json(service.as_json(found))
        return
    overall = found.overall
    if not overall.items:
        click.echo("No chunk was graded by two people yet.")
        return
    click.echo(f"alpha (ordinal)  {_number(overall.alpha)}{_interval(overall.interval)}")
    click.echo(f"percent          {_number(overall.percent)}")
    click.echo(f"items            {overall.items} in {overall.questions} questions")
    click.echo("pairs")
    names = [" · ".join(pair.annotators) for pair in found.pairs]
    width = max(map(len, names))
    for name, pair in zip(names, found.pairs, strict=True):
        kappas = f"kappa {_number(pair.kappa)}  weighted {_number(pair.weighted_kappa)}{_interval(pair.interval)}"
        click.echo(f"  {name:<{width}}  n {pair.n:>4}  percent {_number(pair.percent)}  {kappas}")
    if found.slices:
        click.echo("slices")
    for part in found.slices:
        click.echo(
            f"  {shown(f'{part.facet}={part.value}')}  n {part.figures.items}  alpha {_number(part.figures.alpha)}"
        )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(value: tuple[float, float] | None) -> str:
    return "" if value is None else f" [{value[0]:.3f} … {value[1]:.3f}]"
