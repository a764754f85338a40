"""Charts of one subject: Altair describes them, vl-convert draws them here, without a network, as SVG for the page.

A chart repeats what tables beside it say. Absence is drawn as absence: a line breaks, and a cross on the axis marks a
date without a value.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import altair as alt
import vl_convert

from evalbench.signals import UNITS
from evalbench.web.chart_parts import (
    WIDTH,
    Layer,
    Row,
    Stretch,
    absences,
    change_lines,
    finished,
    limit_lines,
    of_rows,
    stretches,
    time_axis,
    value_axis,
    value_scale,
    verdict_color,
    verdict_shape,
)
from evalbench.web.models.candidate import Candidate
from evalbench.web.models.parts import SIGNAL_LABELS, SignalPoint
from evalbench.web.palette import PALETTES, Palette, Theme
from evalbench.web.words import fraction
from evalbench.words import in_unit, plural

Drawing: TypeAlias = Callable[[Candidate, Palette], Layer]


def kinds() -> tuple[str, ...]:
    """The charts there are."""
    return tuple(CHARTS)


def kinds_for(page: Candidate) -> tuple[str, ...]:
    """Those that say something of this subject: pass^k needs more than one k."""
    several = sum(bracket.lower is not None for bracket in page.standing.pass_hat_k.values()) > 1
    return tuple(kind for kind in kinds() if several or kind != "pass_hat_k")


def draw(kind: str, page: Candidate, theme: Theme) -> str:
    """A chart as SVG. `kind`: one of `kinds()`."""
    # Tests validate every chart against Vega-Lite's schema; here that would double the time.
    chart = CHARTS[kind](page, PALETTES[theme])
    return vl_convert.vegalite_to_svg(chart.to_dict(validate=False), allowed_base_urls=[])


def described(kind: str, page: Candidate) -> str:
    """What a chart shows, for those who don't see it."""
    if kind == "pass_hat_k":
        return f"pass^k on {page.standing.day}, as a span from its lower to its upper bound for each k; table below"
    if kind == "costs":
        return f"Costs per trial and per verified outcome over {plural(len(page.costs), 'date')}; table below"
    points = page.signals[kind]
    known = [point for point in points if point.value is not None]
    over = f"{SIGNAL_LABELS[kind]} over {plural(len(points), 'date')}"
    if not known:
        return f"{over}: never available"
    unit, last = UNITS[kind], known[-1]
    values = [point.value for point in known if point.value is not None]
    ends = f"lowest {in_unit(min(values), unit)}, highest {in_unit(max(values), unit)}"
    counts = fraction(last.numerator, last.denominator, unit)
    limits = "".join(f", limit {in_unit(part.limit, unit)} {_span(part)}" for part in stretches(page, kind))
    return f"{over}: {in_unit(last.value, unit)} ({counts}) on {last.day}, {ends}{limits}; table below"


def _span(stretch: Stretch) -> str:
    return f"since {stretch.since}" if stretch.until is None else f"from {stretch.since} until {stretch.until}"


def _signal(page: Candidate, palette: Palette, name: str) -> Layer:
    """Values with their intervals, joined where neighbouring dates both have one; shapes say what was decided."""
    points, unit = page.signals[name], UNITS[name]
    rows = [_row(point) for point in points]
    base = of_rows(rows).encode(x=time_axis(page, [point.day for point in points]))
    scale = value_scale(page, name, unit)
    y = value_axis(scale, unit)
    spans = base.mark_rule(color=palette.accent, opacity=0.35, strokeWidth=5, strokeCap="round")
    shown = base.transform_filter(f"datum.named == '{page.standing.day}'")
    return finished(
        [
            *limit_lines(page, name, unit, scale, palette),
            *change_lines(page, palette),
            spans.encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
            base.mark_line(color=palette.quiet, strokeWidth=1.25, invalid="break-paths-show-domains").encode(y=y),
            base.mark_point(filled=True, size=52, opacity=1, stroke=None).encode(
                y=y, shape=verdict_shape(), color=verdict_color(palette)
            ),
            *absences(base, rows, palette),
            shown.mark_point(size=170, filled=False, strokeWidth=1.25, color=palette.ink, opacity=1).encode(y=y),
        ],
        palette,
    )


def _costs(page: Candidate, palette: Palette) -> Layer:
    """Two lines with their names at their ends; hollow where trials without a bill make the figure too low."""
    rows: list[Row] = [
        {"day": str(point.day), "value": value, "of": of, "whole": "no" if point.uncovered_trials else "yes"}
        for point in page.costs
        for of, value in (("per trial", point.per_trial), ("per verified", point.per_verified))
    ]
    known = [row for row in rows if row["value"] is not None]
    most = max((float(row["value"]) for row in known if row["value"] is not None), default=1.0)
    base = of_rows(rows).encode(x=time_axis(page, [point.day for point in page.costs]))
    scale = alt.Scale(domain=[0, most * 1.15 or 1], nice=False)
    y = value_axis(scale, "USD")
    names = alt.Scale(domain=["per trial", "per verified"], range=[palette.quiet, palette.accent])
    color = alt.Color("of:N", scale=names, legend=None)
    last = sorted({str(row["of"]): row for row in known}.values(), key=lambda row: float(row["value"] or 0))
    return finished(
        [
            *change_lines(page, palette),
            base.mark_line(strokeWidth=1.5, invalid="break-paths-show-domains").encode(y=y, color=color),
            base.transform_filter("datum.whole == 'yes'")
            .mark_point(filled=True, size=40, opacity=1)
            .encode(y=y, color=color),
            base.transform_filter("datum.whole == 'no'")
            .mark_point(size=40, opacity=1, strokeWidth=1.5)
            .encode(y=y, color=color),
            *absences(base, rows, palette),
            *(
                of_rows([row])
                .mark_text(align="left", dx=5, dy=3 if at == 0 and len(last) > 1 else -3, fontSize=12)
                .encode(x=alt.value(WIDTH), y=y, text="of:N", color=color)
                for at, row in enumerate(last)
            ),
        ],
        palette,
    )


def _pass_hat_k(page: Candidate, palette: Palette) -> Layer:
    """For each k a span from the lower to the upper bound."""
    rows: list[Row] = [
        {"k": str(k), "low": bracket.lower, "high": bracket.upper}
        for k, bracket in sorted(page.standing.pass_hat_k.items())
        if bracket.lower is not None
    ]
    scale = alt.Scale(domain=[0, 1])
    base = of_rows(rows).encode(x=alt.X("k:O", sort=None, axis=alt.Axis(title="k trials in a row", labelAngle=0)))
    low = value_axis(scale, "share", "low")
    return finished(
        [
            base.mark_rule(color=palette.accent, opacity=0.35, strokeWidth=7).encode(y=low, y2="high:Q"),
            base.mark_tick(color=palette.accent, thickness=2.5, size=16).encode(y=low),
            base.mark_tick(color=palette.accent, thickness=2.5, size=16).encode(y=alt.Y("high:Q", scale=scale)),
        ],
        palette,
    )


def _row(point: SignalPoint) -> Row:
    low, high = point.ci95 or (None, None)
    return {
        "day": str(point.day), "named": str(point.day), "value": point.value, "low": low, "high": high,
        "decision": point.decision.value,
    }  # fmt: skip


CHARTS: Mapping[str, Drawing] = MappingProxyType(
    {**{name: partial(_signal, name=name) for name in SIGNAL_LABELS}, "costs": _costs, "pass_hat_k": _pass_hat_k}
)
"""Kind → the chart."""
