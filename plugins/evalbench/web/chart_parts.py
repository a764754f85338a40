"""What the page's charts are made of: one frame for all, dates as they lie in time, limits, changes, absences.

Nothing that runs wrote is in a chart but numbers and dates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from types import MappingProxyType
from typing import TypeAlias

import altair as alt

from evalbench.gate.decision import Verdict
from evalbench.web.models.candidate import Candidate
from evalbench.web.palette import Palette
from evalbench.words import in_unit

Layer: TypeAlias = alt.Chart | alt.LayerChart
Row: TypeAlias = dict[str, str | float | None]

WIDTH, HEIGHT = 380, 150
PADDING = MappingProxyType({"left": 48, "right": 78, "top": 18, "bottom": 40})
"""Around the drawn area, for what is written there: the same for every chart, so that all have one size."""
MOST_TICKS = 6
DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1)
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SHAPES = MappingProxyType(
    {Verdict.PASS: "circle", Verdict.FAIL: "square", Verdict.INSUFFICIENT_EVIDENCE: "triangle-up"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A limit that held from a date on until another one did, or none; until None: it still does."""

    limit: float
    since: date
    until: date | None


def of_rows(rows: Sequence[Row]) -> alt.Chart:
    """A chart over these rows, without marks yet."""
    return alt.Chart(alt.Data(values=list(rows)))  # type: ignore[no-untyped-call]


def finished(layers: Sequence[Layer], palette: Palette) -> Layer:
    """Layers in one frame, in the page's type and colours, on nothing."""
    axis = {
        "labelColor": palette.quiet, "titleColor": palette.quiet, "gridColor": palette.rule,
        "domainColor": palette.rule, "tickColor": palette.rule, "labelFontSize": 12, "titleFontSize": 12,
        "titleFontWeight": "normal",
    }  # fmt: skip
    framed = alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, background="transparent", padding=dict(PADDING), autosize="none"
    )
    chart: Layer = framed.configure(font=FONT).configure_view(stroke=None).configure_axis(**axis)
    return chart


def time_axis(page: Candidate, days: Sequence[date]) -> alt.X:
    """Dates as they lie in time, with some of them as ticks; a single one in the middle."""
    ticks = list(days[::-1][:: max(1, -(-len(days) // MOST_TICKS))])
    return alt.X(
        "day:T",
        scale=alt.Scale(type="utc", domain=_ends(page), nice=False),
        axis=alt.Axis(title=None, format="%d %b", values=[_ms(day) for day in ticks], grid=False, labelOverlap=True),
    )


def value_axis(scale: alt.Scale, unit: str, field: str = "value") -> alt.Y:
    """Figures of one unit."""
    shown = "$.2f" if unit == "USD" else ".1f"
    return alt.Y(f"{field}:Q", scale=scale, axis=alt.Axis(title=None, format=shown, tickCount=4))


def value_scale(page: Candidate, name: str, unit: str) -> alt.Scale:
    """Shares and qualities always from 0 to 1, so that charts compare; money from 0 to a little above its most."""
    points = page.signals[name]
    known = [end for point in points for end in (point.value, *(point.ci95 or ())) if end is not None]
    most = max([*known, *(stretch.limit for stretch in stretches(page, name))], default=1.0)
    top = 1.0 if unit != "USD" and most <= 1 else most * 1.1 or 1.0
    return alt.Scale(domain=[0.0, top], nice=False)


def stretches(page: Candidate, name: str) -> tuple[Stretch, ...]:
    """The limits of a signal, oldest first, each as long as the policies of neighbouring dates set the same."""
    of_day = page.limits.get(name, {})
    same = [(limit, [mark.day for mark in marks]) for limit, marks in groupby(page.marks, lambda m: of_day.get(m.day))]
    after = [days[0] for _, days in same[1:]]
    ends: list[date | None] = [*after, None]
    return tuple(
        Stretch(limit=limit, since=days[0], until=until)
        for (limit, days), until in zip(same, ends, strict=True)
        if limit is not None
    )


def limit_lines(page: Candidate, name: str, unit: str, scale: alt.Scale, palette: Palette) -> Iterable[Layer]:
    """The limit of the check on a signal, as the policy of each date sets it; what it is now, in words."""
    found = stretches(page, name)
    if not found:
        return
    first, last = _ends(page)
    rows: list[Row] = [
        {
            "limit": stretch.limit,
            "from": first if stretch.since == page.marks[0].day else _ms(stretch.since),
            "to": last if stretch.until is None else _ms(stretch.until),
            "said": f"limit {in_unit(stretch.limit, unit)}",
        }
        for stretch in found
    ]
    y = alt.Y("limit:Q", scale=scale)
    lines = of_rows(rows).mark_rule(color=palette.ink, strokeWidth=1)
    yield lines.encode(x=alt.X("from:T"), x2="to:T", y=y)
    if found[-1].until is None:
        said = of_rows(rows[-1:]).mark_text(align="left", dx=4, fontSize=12, color=palette.ink)
        yield said.encode(x=alt.value(WIDTH), y=y, text="said:N")


def change_lines(page: Candidate, palette: Palette) -> Iterable[Layer]:
    """A numbered line on every date on which a definition changed; the page's list says what."""
    days = sorted({change.day for change in page.changes})
    if not days:
        return
    chart = of_rows([{"day": str(day), "number": str(at)} for at, day in enumerate(days, 1)])
    x = alt.X("day:T")
    yield chart.mark_rule(color=palette.quiet, strokeDash=[2, 3], strokeWidth=1).encode(x=x)
    number = chart.mark_text(baseline="bottom", dy=-2, fontSize=12, color=palette.quiet)
    yield number.encode(x=x, y=alt.value(0), text="number:N")


def absences(chart: alt.Chart, rows: Sequence[Row], palette: Palette) -> Iterable[Layer]:
    """A cross above the axis on every date without a value."""
    if any(row["value"] is None for row in rows):
        crosses = chart.transform_filter("datum.value == null")
        yield crosses.mark_text(text="\u00d7", fontSize=14, color=palette.quiet).encode(y=alt.value(HEIGHT - 7))


def verdict_shape() -> alt.Shape:
    """A shape for each decision."""
    names = [verdict.value for verdict in SHAPES]
    return alt.Shape("decision:N", scale=alt.Scale(domain=names, range=list(SHAPES.values())), legend=None)


def verdict_color(palette: Palette) -> alt.Color:
    """A colour for each decision."""
    names = [verdict.value for verdict in SHAPES]
    colors = [palette.verdicts[verdict] for verdict in SHAPES]
    return alt.Color("decision:N", scale=alt.Scale(domain=names, range=colors), legend=None)


def _ends(page: Candidate) -> list[float]:
    """From where to where the dates of all charts of a subject reach."""
    first, last = page.marks[0].day, page.marks[-1].day
    pad = DAY_MS * max(1.0, (last - first).days * 0.03)
    return [_ms(first) - pad, _ms(last) + pad]


def _ms(day: date) -> float:
    return float((day - EPOCH).days * DAY_MS)
