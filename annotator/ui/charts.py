"""Charts of the app: the coverage heat map, a measure by slice, two runs compared, and runs over time.

Colours are one hue from light to dark, so they hold for colour-blind readers, and every mark carries its number:
nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    import altair

__all__ = ["Change", "Point", "bars", "coverage", "dumbbells", "show", "theme", "trend"]

_STEPS = ("none yet", "under half", "half or more", "target reached", "no target")
_RAMP = {
    "light": (
        ("#ffffff", "#27303d"), ("#dbe9f7", "#0b3563"), ("#8fbce8", "#06213f"), ("#0b4f94", "#ffffff"),
        ("#eef0f3", "#27303d"),
    ),
    "dark": (
        ("#14181f", "#e8ecf1"), ("#1d3f66", "#dcebfb"), ("#3a7dbf", "#ffffff"), ("#a9d0f5", "#06213f"),
        ("#2b323d", "#e8ecf1"),
    ),
}  # fmt: skip
"""Background and text of each step."""
_INK = {"light": "#27303d", "dark": "#e8ecf1"}
_BLUE = {"light": "#1f5f99", "dark": "#83b8ea"}
_QUIET = {"light": "#56616f", "dark": "#b3bcc7"}
"""What names an axis or a mark: 6.2 to 1 on the page and more."""
_LINE = {"light": "#b6bec9", "dark": "#4a5361"}
_ROW = 40
_BELOW = 44
"""Pixels of a row of cells, and of the legend below."""
_AXIS = 54
_LEGEND = 90
"""Pixels of an axis with its title, and of a legend of two lines."""
_MOST_VALUES = 10


def coverage(counts: Mapping[str, Mapping[str, int]], targets: Mapping[str, Mapping[str, int]]) -> None:
    """Show the questions per facet (a row) and value (its cells): the count, and the number wanted where one is set."""
    import altair as alt

    rows = [row for facet, values in counts.items() for row in _cells(facet, values, targets.get(facet, {}))]
    if not rows:
        return
    facets = list(dict.fromkeys(str(row["facet"]) for row in rows))
    widest = max(int(str(row["place"])) for row in rows) + 1
    shade = theme()
    data = alt.Data(values=rows)  # type: ignore[no-untyped-call]
    base = alt.Chart(data).encode(
        x=alt.X("place:O", axis=None, scale=alt.Scale(domain=list(range(widest)), paddingInner=0.04)),
        y=alt.Y(
            "facet:N",
            sort=facets,
            title=None,
            scale=alt.Scale(paddingInner=0.1),
            axis=alt.Axis(ticks=False, domain=False, labelPadding=8, labelLimit=110, labelFontSize=13),
        ),
        tooltip=[alt.Tooltip("facet:N"), alt.Tooltip("value:N"), alt.Tooltip("said:N", title="questions")],
    )
    cells = base.mark_rect(cornerRadius=4, stroke=_LINE[shade]).encode(
        color=alt.Color(
            "step:N",
            scale=alt.Scale(domain=list(_STEPS), range=[one[0] for one in _RAMP[shade]]),
            legend=alt.Legend(
                title=None,
                orient="bottom",
                symbolType="square",
                symbolSize=180,
                symbolStrokeWidth=1,
                symbolStrokeColor=_LINE[shade],
                offset=4,
            ),
        )
    )
    chart = cells + _text(base, "said:N", -8, 14, "bold") + _text(base, "value:N", 9, 11, "normal")
    words = f"Questions per facet and value: {'; '.join(_spoken(row) for row in rows)}"
    show(chart.properties(height=_ROW * len(facets) + _BELOW), words)


def _text(base: altair.Chart, field: str, down: int, size: int, weight: str) -> altair.Chart:
    import altair as alt

    ink = alt.Color("ink:N", scale=None, legend=None)
    room = alt.ExprRef("bandwidth('x') - 6")
    mark = base.mark_text(dy=down, fontSize=size, fontWeight=weight, limit=room)  # type: ignore[arg-type]
    written: altair.Chart = mark.encode(text=alt.Text(field), color=ink)
    return written


def _cells(facet: str, counts: Mapping[str, int], wanted: Mapping[str, int]) -> list[dict[str, object]]:
    shade = theme()
    cells: list[dict[str, object]] = []
    for place, (value, number) in enumerate(counts.items()):
        if place == _MOST_VALUES - 1 and len(counts) > _MOST_VALUES:
            rest = list(counts.values())[place:]
            value, number, want = f"{len(rest)} more values", sum(rest), 0
        else:
            want = wanted.get(value, 0)
        step = _step(number, want)
        cells.append(
            {
                "facet": facet.replace("_", " "),
                "place": place,
                "value": value.replace("_", " "),
                "said": f"{number} of {want}" if want else str(number),
                "step": _STEPS[step],
                "ink": _RAMP[shade][step][1],
            }
        )
        if len(cells) == _MOST_VALUES:
            break
    return cells


def _step(number: int, want: int) -> int:
    """Return how far a value is on the way to its target."""
    if not want:
        return 4
    if not number:
        return 0
    if number >= want:
        return 3
    return 2 if 2 * number >= want else 1


def _spoken(row: Mapping[str, object]) -> str:
    return f"{row['facet']}, {row['value']}: {row['said']}"


def bars(rows: Sequence[Mapping[str, object]], measure: str) -> None:
    """Show one measure by slice: `rows` hold name, value (0 to 1), shown (the value as text) and n."""
    import altair as alt

    shade = theme()
    data = alt.Data(values=list(rows))  # type: ignore[no-untyped-call]
    base = alt.Chart(data).encode(
        y=alt.Y(
            "name:N",
            sort=None,
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=220, labelOverlap=False),
        ),
        # room for the figure behind the longest bar
        x=alt.X(
            "value:Q",
            title=measure,
            scale=alt.Scale(domain=[0, 1.2], nice=False),
            axis=alt.Axis(format=".1f", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
        ),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("shown:N", title=measure), alt.Tooltip("n:Q", title="questions")],
    )
    marks = base.mark_bar(height=14, cornerRadiusEnd=3, color="#5b9bd8")
    ink = _INK[shade]
    labels = base.mark_text(align="left", dx=5, color=ink).encode(text="shown:N")
    spoken = "; ".join(f"{row['name']} {row['shown']}" for row in rows)
    show((marks + labels).properties(height=26 * len(rows) + _AXIS), f"{measure} by slice: {spoken}")


@dataclass(frozen=True, slots=True)
class Change:
    """A measure or a slice in two runs (0 to 1), and the change as text."""

    name: str
    before: float
    after: float
    said: str


def dumbbells(rows: Sequence[Change], runs: tuple[str, str], measure: str) -> None:
    """Show two runs, the baseline first, one row a change.

    The baseline is a hollow circle and the candidate a filled diamond, so that no colour is needed to tell them.
    """
    import altair as alt

    shade = theme()
    ink, blue = _INK[shade], _BLUE[shade]
    called = [f"baseline: {runs[0]}", f"run: {runs[1]}"]
    low = max(0.0, min(min(row.before, row.after) for row in rows) - 0.05)
    high = min(1.0, max(max(row.before, row.after) for row in rows) + 0.02)
    scale = alt.Scale(domain=[low, high + 0.2 * (high - low)], nice=False, zero=False)
    y = alt.Y(
        "name:N",
        sort=[row.name for row in rows],
        title=None,
        axis=alt.Axis(
            ticks=False, domain=False, labelLimit=230, labelFontSize=12, labelOverlap=False, labelPadding=8, grid=True
        ),
    )
    each = [
        {
            "name": row.name,
            "before": row.before,
            "after": row.after,
            "end": max(row.before, row.after),
            "said": row.said,
        }
        for row in rows
    ]
    ends = [
        {"name": row.name, "run": run, "value": value, "shown": f"{value:.3f}"}
        for row in rows
        for run, value in zip(called, (row.before, row.after), strict=True)
    ]
    wide = alt.Chart(alt.Data(values=each)).encode(y=y)  # type: ignore[no-untyped-call]
    across = alt.X("before:Q", title=measure, scale=scale, axis=alt.Axis(format=".2f", tickCount=5, grid=False))
    lines = wide.mark_rule(strokeWidth=2.5, color=ink, opacity=0.45).encode(x=across, x2="after:Q")
    labels = wide.mark_text(align="left", dx=12, color=ink, fontSize=12).encode(
        x=alt.X("end:Q", scale=scale), text="said:N"
    )
    points = (
        alt.Chart(alt.Data(values=ends))  # type: ignore[no-untyped-call]
        .mark_point(size=120, strokeWidth=2, opacity=1)
        .encode(
            y=y,
            x=alt.X("value:Q", scale=scale),
            shape=alt.Shape(
                "run:N",
                scale=alt.Scale(domain=called, range=["circle", "diamond"]),
                legend=alt.Legend(title=None, orient="top", columns=1, labelLimit=240, symbolSize=120),
            ),
            stroke=alt.Stroke("run:N", scale=alt.Scale(domain=called, range=[ink, blue])),
            fill=alt.Fill("run:N", scale=alt.Scale(domain=called, range=["transparent", blue])),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("run:N"), alt.Tooltip("shown:N", title=measure)],
        )
    )
    spoken = "; ".join(f"{row.name} from {row.before:.3f} to {row.after:.3f}" for row in rows)
    chart = (lines + points + labels).properties(height=27 * len(rows) + _AXIS + _LEGEND)
    show(chart, f"{measure}, {runs[1]} against {runs[0]}: {spoken}")


@dataclass(frozen=True, slots=True)
class Point:
    """A run: where it stands on the axis, its figure, and the range left open by what nobody judged (0 to 1)."""

    run: str
    at: str
    value: float
    low: float
    high: float


def trend(points: Sequence[Point], along: str, measure: str) -> None:
    """Show runs in the order given; a line joins them where each has a place of its own."""
    import altair as alt

    shade = theme()
    ink, blue = _INK[shade], _BLUE[shade]
    places = list(dict.fromkeys(point.at for point in points))
    apart = len(places) == len(points)
    rows = [
        {
            "run": point.run,
            "at": point.at,
            "place": place,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "said": f"{point.value:.3f}" if apart else f"{point.run} {point.value:.3f}",
        }
        for place, point in enumerate(points)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        x=alt.X("at:N", sort=places, title=along, axis=alt.Axis(labelAngle=0, labelLimit=170, grid=False)),
        y=alt.Y("value:Q", title=measure, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".1f", tickCount=5)),
        tooltip=[alt.Tooltip("run:N"), alt.Tooltip("at:N", title=along), alt.Tooltip("value:Q", format=".3f")],
    )
    chart = base.mark_rule(strokeWidth=7, color=blue, opacity=0.3).encode(y="low:Q", y2="high:Q")
    if apart:
        chart += base.mark_line(strokeDash=[4, 3], color=blue).encode(order="place:Q")
    chart += base.mark_point(size=90, filled=True, color=blue, opacity=1, shape="diamond")
    chart += base.mark_text(align="left", dx=9, dy=-10, fontSize=12, color=ink, limit=160).encode(text="said:N")
    spoken = "; ".join(f"{point.run} ({point.at}) {point.value:.3f}" for point in points)
    show(chart.properties(height=244), f"{measure} along {along}: {spoken}")


def show(chart: altair.Chart | altair.LayerChart, words: str) -> None:
    """Show a chart, said in words for who does not see it; its axes and legends in an ink that is legible."""

    quiet = _QUIET[theme()]
    st.altair_chart(
        chart.properties(padding={"bottom": 4})
        .configure_view(strokeWidth=0)
        .configure_axis(labelColor=quiet, titleColor=quiet)
        .configure_legend(labelColor=quiet),
        alt=words,
    )


def theme() -> str:
    """Return "light" or "dark", as the page is shown."""
    return "dark" if st.context.theme.type == "dark" else "light"
