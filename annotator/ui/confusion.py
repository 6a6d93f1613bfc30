"""The confusion heat map: how often one grade met another, as numbers on a ramp of one hue."""

from __future__ import annotations

from annotator.model import GRADES
from annotator.services.agreement import Confusion
from annotator.ui import charts

__all__ = ["show"]

_RAMP = {
    "light": (("#ffffff", "#27303d"), ("#dbe9f7", "#0b3563"), ("#8fbce8", "#06213f"), ("#0b4f94", "#ffffff")),
    "dark": (("#14181f", "#e8ecf1"), ("#1d3f66", "#dcebfb"), ("#3a7dbf", "#ffffff"), ("#a9d0f5", "#06213f")),
}
"""Background and text: never, up to a tenth, up to a third, more of the largest number."""
_LINE = {"light": "#b6bec9", "dark": "#4a5361"}
_CELL = 58


def show(confusion: Confusion, first: str, second: str) -> None:
    """Show the grades of the first person down, those of the second across; equal grades stand on the diagonal."""
    import altair as alt

    shade = charts.theme()
    most = max(max(row) for row in confusion)
    names = [f"{grade} {word}" for grade, word in GRADES.items()]
    cells = []
    for row, numbers in enumerate(confusion):
        for column, number in enumerate(numbers):
            ground, ink = _RAMP[shade][_step(number, most)]
            cells.append(
                {"down": names[row], "across": names[column], "n": number, "ground": ground, "ink": ink,
                 "width": 2 if row == column else 1}
            )  # fmt: skip
    data = alt.Data(values=cells)  # type: ignore[no-untyped-call]
    across = alt.Axis(
        orient="top", ticks=False, domain=False, labelAngle=0, labelFontSize=12, labelFlush=False,
        labelExpr="split(datum.label, ' ')[0]",  # the words stand at the rows
    )  # fmt: skip
    down = alt.Axis(ticks=False, domain=False, labelFontSize=12, labelLimit=110)
    base = alt.Chart(data).encode(
        x=alt.X("across:N", sort=names, title=second, axis=across),
        y=alt.Y("down:N", sort=names, title=first, axis=down),
        tooltip=[alt.Tooltip("down:N", title=first), alt.Tooltip("across:N", title=second), alt.Tooltip("n:Q")],
    )
    grounds = base.mark_rect(cornerRadius=4, stroke=_LINE[shade]).encode(
        color=alt.Color("ground:N", scale=None), strokeWidth=alt.StrokeWidth("width:Q", scale=None)
    )
    numbers = base.mark_text(fontSize=15, fontWeight="bold").encode(text="n:Q", color=alt.Color("ink:N", scale=None))
    chart = (grounds + numbers).properties(height=len(names) * _CELL + 54)
    words = "; ".join(f"{cell['down']} and {cell['across']}: {cell['n']}" for cell in cells if cell["n"])
    charts.show(chart, f"Grades of {first} and {second}: {words}")


def _step(number: int, most: int) -> int:
    if not number:
        return 0
    if 10 * number <= most:
        return 1
    return 2 if 3 * number <= most else 3
