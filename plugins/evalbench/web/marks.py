"""Where the strokes of the small drawings beside numbers go, in the units of their own boxes. No markup, no colour."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from evalbench.signals import Funnel
from evalbench.web.models.parts import Check, SignalFigure, SignalPoint

WIDTH = 120
"""Of interval and range marks."""
EDGE = 5
"""Kept free at both ends, so that a dot at 0 is whole."""
SPARK_WIDTH, SPARK_HEIGHT, SPARK_EDGE = 120, 24, 3
ROUND = tuple(map(Decimal, ("1", "1.5", "2", "3", "4", "5", "6", "8", "10")))
"""What a scale without a natural end may end at, but for a power of ten."""
STEPS = MappingProxyType(
    {
        "planned": "planned or seen",
        **{name: name for name in ("started", "ended", "declared", "judged", "verified")},
    }
)
"""Steps of the funnel → what they are called: those beyond the plan are among the planned ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalMark:
    """A value on its scale, and its interval. top: what the right end stands for, None for the 1 of shares."""

    x: float
    low: float | None
    high: float | None
    top: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeMark:
    """A check: from best to worst, what was observed, the limit. open: the worst end has no bound.

    zero: where 0 is. reach: how far the scale goes to both sides of it, where something is below 0; else None, and the
    scale begins at 0.
    """

    left: float | None
    right: float | None
    observed: float | None
    limit: float | None
    open: bool
    zero: float
    reach: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkMark:
    """A series: lines between neighbouring dates that both have a value, and dots for those without such a neighbour.

    last: the newest date's dot, None where it has no value. top: what the upper edge stands for, as in IntervalMark.
    """

    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    last: tuple[float, float] | None
    top: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelStep:
    """A step of the funnel, and its share of the widest."""

    name: str
    count: int
    width: float


def interval(figure: SignalFigure, points: Sequence[SignalPoint] = ()) -> IntervalMark | None:
    """The mark of a signal, on one scale with its series; None where it has no value."""
    if figure.value is None:
        return None
    top = _top_of(figure, points)
    low, high = (_x(end, top) for end in figure.ci95) if figure.ci95 is not None else (None, None)
    return IntervalMark(x=_x(figure.value, top), low=low, high=high, top=_told(top, figure.unit))


def check_range(check: Check) -> RangeMark | None:
    """The mark of a check; None where nothing of it is a number."""
    known = [end for end in (check.observed, check.best, check.worst, check.limit) if end is not None]
    if not known:
        return None
    top = _top([abs(end) for end in known], check.unit)
    bottom = -top if min(known) < 0 else 0.0
    ends = sorted(_x(end, top, bottom) for end in (check.best, check.worst) if end is not None)
    right = WIDTH - 1.0 if check.worst_unbounded else (ends[-1] if ends else None)
    return RangeMark(
        left=ends[0] if ends else None,
        right=right if ends else None,
        observed=None if check.observed is None else _x(check.observed, top, bottom),
        limit=None if check.limit is None else _x(check.limit, top, bottom),
        open=check.worst_unbounded and bool(ends),
        zero=_x(0, top, bottom),
        reach=top if bottom < 0 else None,
    )


def sparkline(points: Sequence[SignalPoint], figure: SignalFigure) -> SparkMark | None:
    """The mark of a series, on one scale with its figure, dates evenly apart; None where no date has a value."""
    values = [point.value for point in points]
    if all(value is None for value in values):
        return None
    top = _top_of(figure, points)
    places = [
        None if value is None else (_across(at, len(values)), _down(value, top)) for at, value in enumerate(values)
    ]
    parts = _unbroken(places)
    return SparkMark(
        lines=tuple(" ".join(f"{x},{y}" for x, y in part) for part in parts if len(part) > 1),
        dots=tuple(part[0] for part in parts if len(part) == 1),
        last=places[-1],
        top=_told(top, figure.unit),
    )


def steps(funnel: Funnel) -> tuple[FunnelStep, ...]:
    """The funnel's steps, each as wide as its count."""
    counts = [(label, int(getattr(funnel, name))) for name, label in STEPS.items()]
    widest = max(1, *(count for _, count in counts))
    return tuple(FunnelStep(name=name, count=count, width=round(100 * count / widest, 1)) for name, count in counts)


def _unbroken(places: Sequence[tuple[float, float] | None]) -> list[list[tuple[float, float]]]:
    """Runs of neighbours that are all there."""
    parts: list[list[tuple[float, float]]] = [[]]
    for place in places:
        if place is not None:
            parts[-1].append(place)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _top_of(figure: SignalFigure, points: Sequence[SignalPoint]) -> float:
    """The top of a figure and its series together."""
    ends = [figure.value, *(figure.ci95 or ()), *(point.value for point in points)]
    return _top([end for end in ends if end is not None], figure.unit)


def _top(values: Sequence[float], unit: str) -> float:
    """What the right end stands for: 1 for shares and qualities, else the next round number."""
    most = max(values, default=0.0)
    if most <= 0 or (unit.startswith(("share", "quality")) and most <= 1):
        return 1.0
    size = Decimal(most)
    return float(next(top for step in ROUND if (top := step.scaleb(size.adjusted())) >= size))


def _told(top: float, unit: str) -> float | None:
    """A top that goes without saying is None."""
    return None if top == 1 and unit != "USD" else top


def _x(value: float, top: float, bottom: float = 0.0) -> float:
    share = min(1.0, max(0.0, (value - bottom) / (top - bottom)))
    return round(EDGE + share * (WIDTH - 2 * EDGE), 1)


def _across(at: int, count: int) -> float:
    if count == 1:
        return SPARK_WIDTH - SPARK_EDGE
    return round(SPARK_EDGE + at * (SPARK_WIDTH - 2 * SPARK_EDGE) / (count - 1), 1)


def _down(value: float, top: float) -> float:
    share = min(1.0, max(0.0, value / top))
    return round(SPARK_HEIGHT - SPARK_EDGE - share * (SPARK_HEIGHT - 2 * SPARK_EDGE), 1)
