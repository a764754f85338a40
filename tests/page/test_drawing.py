"""What is drawn and written beside numbers: marks, charts, words and colours."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.page.serving import MORNING

from evalbench.cli import words as terminal
from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.settings import Settings
from evalbench.storage import lake_of
from evalbench.web import charts, marks, words
from evalbench.web.models.candidate import Candidate, candidate
from evalbench.web.models.parts import Check, SignalFigure, SignalPoint
from evalbench.web.palette import PALETTES, Palette, Theme
from evalbench.web.rendering import detail, environment, pretty_json, render, static_files
from evalbench.web.store import Store, View

FAST = Subject(product="release-inversion", suite="inversion", environment="offline", candidate="fast-v2")
FIGURE = SignalFigure(
    name="task_quality", label="Task quality", unit="quality 0..1", value=0.5, numerator=2.0, denominator=4,
    left_out={}, left_out_total=0, ci95=(0.25, 0.75), beside={}, reason=None, covered=4, population=4, counted="trials",
)  # fmt: skip
CHECK = Check(
    number=0, name="floor.progress", stage=4, stage_label="Floors", status="evaluated", fired=False, proven=False,
    unit="share", observed=0.9, best=1.0, worst=0.8, worst_unbounded=False, limit=0.85, numerator=9.0, denominator=10.0,
    reason="", next_step="", evidence=(), evidence_total=0,
)  # fmt: skip
UNITS = ("share", "quality 0..1", "USD", "seconds", "tokens", "drop in share")
TOKEN = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)")


@pytest.fixture(scope="module")
def view(lake: Path) -> Iterator[View]:
    """The lake with a history."""
    settings = Settings(lake=str(lake), clock=MORNING)
    store = Store(lake_of(settings), settings.now)
    yield store.view()
    store.close()


@pytest.fixture(scope="module")
def fast(view: View) -> Candidate:
    """A candidate with two weeks of decisions, a changed policy, and missing bills."""
    return candidate(view, FAST, date(2026, 11, 28))


def point(day: int, value: float | None) -> SignalPoint:
    """A signal on a day of November."""
    return SignalPoint(
        day=date(2026, 11, day), decision=Verdict.PASS, value=value, numerator=value, denominator=1, left_out_total=0,
        ci95=None, reason=None if value is not None else "no windows",
    )  # fmt: skip


def test_an_interval_is_drawn_on_the_whole_scale_of_shares() -> None:
    """A half is in the middle, with its interval evenly around; what isn't available isn't drawn."""
    drawn = marks.interval(FIGURE)
    assert drawn is not None
    assert (60.0, 32.5, 87.5, None) == (drawn.x, drawn.low, drawn.high, drawn.top)
    assert marks.interval(replace(FIGURE, value=None, ci95=None)) is None


amounts = st.floats(0, 1e9)
differences = st.floats(-1e9, 1e9)


@given(value=amounts, ends=st.tuples(amounts, amounts), before=amounts, limit=amounts)
def test_no_figure_is_drawn_outside_of_its_box(
    value: float, ends: tuple[float, float], before: float, limit: float
) -> None:
    """Whatever the amounts, every stroke of an interval, a series and a check lies between the edges."""
    low, high = sorted(ends)
    figure, series = replace(FIGURE, unit="USD", value=value, ci95=(low, high)), [point(1, before), point(2, value)]
    interval, line = marks.interval(figure, series), marks.sparkline(series, figure)
    check = marks.check_range(replace(CHECK, unit="USD", observed=value, best=low, worst=high, limit=limit))
    assert interval is not None
    assert line is not None
    assert check is not None
    across = (interval.x, interval.low, interval.high, check.left, check.right, check.observed, check.limit)
    assert all(x is not None and 0 <= x <= marks.WIDTH for x in across)
    places = [tuple(map(float, place.split(","))) for place in line.lines[0].split()]
    assert all(0 <= x <= marks.SPARK_WIDTH and 0 <= y <= marks.SPARK_HEIGHT for x, y in places)


@given(ends=st.tuples(differences, differences), observed=differences, limit=differences, unit=st.sampled_from(UNITS))
def test_every_figure_of_a_check_is_drawn_on_its_side_of_0(
    ends: tuple[float, float], observed: float, limit: float, unit: str
) -> None:
    """Whatever the differences: within the box, in their order, those below 0 left of it, those above right of it."""
    best, worst = ends
    drawn = marks.check_range(replace(CHECK, unit=unit, observed=observed, best=best, worst=worst, limit=limit))
    assert drawn is not None
    known = sorted(
        [(min(ends), drawn.left), (max(ends), drawn.right), (observed, drawn.observed), (limit, drawn.limit)]
    )
    places = [x for _, x in known if x is not None]
    assert 4 == len(places)
    assert places == sorted(places)
    assert all(0 <= x <= marks.WIDTH for x in places)
    assert all(x <= drawn.zero if value < 0 else x >= drawn.zero for (value, _), x in zip(known, places, strict=True))


def test_dollars_of_a_figure_and_of_its_series_are_on_one_scale() -> None:
    """From $0 to the next round amount above all of them, which is told; the same amount is at the same share of it."""
    figure, series = replace(FIGURE, unit="USD", value=0.2, ci95=None), [point(1, 0.38), point(2, 0.2)]
    interval, line = marks.interval(figure, series), marks.sparkline(series, figure)
    assert interval is not None
    assert line is not None
    assert (0.4, 0.4) == (interval.top, line.top)
    assert marks.WIDTH / 2 == interval.x
    assert (117.0, marks.SPARK_HEIGHT / 2) == line.last
    assert "drawn up to $0.40" in interval_macro()(figure, series)
    assert "drawn up to" not in interval_macro()(FIGURE, series)


def interval_macro() -> Callable[..., str]:
    """The drawing of an interval as templates have it."""
    macro: Callable[..., str] = environment().get_template("marks.html").module.interval_mark  # type: ignore[attr-defined]
    return macro


@pytest.mark.parametrize(
    ("top", "value"), [(1.0, 0), (0.4, 0.38), (0.5, 0.41), (10, 8.3), (1, 1.0), (1.5, 1.01), (2e-5, 1.6e-5), (600, 501)]
)
def test_a_scale_of_dollars_ends_at_a_round_amount(top: float, value: float) -> None:
    """At or above the largest; a dollar where nothing is larger than nothing."""
    drawn = marks.interval(replace(FIGURE, unit="USD", value=value, ci95=None))
    assert drawn is not None
    assert top == drawn.top


def test_a_check_is_drawn_from_best_to_worst_with_its_limit() -> None:
    """The bar is what decides; without a bound at the worst end it goes to the edge and is open there."""
    drawn = marks.check_range(CHECK)
    assert drawn is not None
    assert (93.0, 115.0, 104.0, 98.5, False) == (drawn.left, drawn.right, drawn.observed, drawn.limit, drawn.open)
    endless = marks.check_range(replace(CHECK, unit="USD", worst=None, worst_unbounded=True))
    assert endless is not None
    assert endless.open
    assert marks.WIDTH - 1 == endless.right
    assert marks.check_range(replace(CHECK, observed=None, best=None, worst=None, limit=None)) is None


def test_a_difference_is_drawn_around_0() -> None:
    """A breach lies beyond its limit and a pass before it; where something is below 0, 0 is in the middle and marked,
    and the scale is told.
    """
    compared = replace(CHECK, name="compare.quality", unit="quality 0..1", limit=-0.05)
    breach = marks.check_range(replace(compared, observed=-0.5, best=-0.4, worst=-0.6))
    holds = marks.check_range(replace(compared, observed=0.0, best=0.1, worst=-0.02))
    assert breach is not None
    assert holds is not None
    assert (27.0, 38.0, 32.5, 57.2) == (breach.left, breach.right, breach.observed, breach.limit)
    assert (58.9, 65.5, 60.0, 57.2) == (holds.left, holds.right, holds.observed, holds.limit)
    assert (60.0, 1.0) == (breach.zero, breach.reach)
    said = range_macro()(replace(compared, observed=-0.5, best=-0.4, worst=-0.6))
    assert "drawn from -1 to 1<" in said
    assert '<line class="base" x1="60.0" x2="60.0"' in said
    slower = replace(compared, unit="seconds", observed=-130.0, best=-200.0, worst=40.0, limit=30.0)
    assert "drawn from -200 to 200<" in range_macro()(slower)
    cheaper = replace(compared, unit="USD", observed=-0.07, best=-0.07, worst=-0.02, limit=0.05)
    assert "drawn from -$0.08 to $0.08<" in range_macro()(cheaper)
    assert "drawn" not in range_macro()(CHECK)


def range_macro() -> Callable[..., str]:
    """The drawing of a check as templates have it."""
    macro: Callable[..., str] = environment().get_template("marks.html").module.range_mark  # type: ignore[attr-defined]
    return macro


def test_a_sparkline_breaks_where_nothing_is_known() -> None:
    """Lines join neighbours only; a value between two gaps is a dot; no value at all is no line."""
    series = [point(1, 0.5), point(2, 0.6), point(3, None), point(4, 0.7), point(5, None)]
    drawn = marks.sparkline(series, FIGURE)
    assert drawn is not None
    assert (1, 1, None) == (len(drawn.lines), len(drawn.dots), drawn.last)
    assert marks.sparkline([point(1, None)], FIGURE) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\u2013", words.number(None)),
        ("1,234.5", words.number(1234.5)),
        ("0.00012", words.number(0.00012)),
        ("0.000", words.rate(0)),
        ("0.999990", words.rate(0.99999)),
        ("0.000010", words.rate(0.00001)),
        ("0.000000001", words.rate(1e-9)),
        ("-0.500", words.rate(-0.5)),
        ("$0.00002", words.money(0.00002)),
        ("-$3.50", words.money(-3.5)),
        ("$0.0042", words.money(0.0042)),
        ("$1,234.50", words.money(1234.5)),
        ("unknown / 3", words.fraction(None, 3, "USD")),
        ("$1.89 / 3", words.fraction(1.89, 3, "USD")),
        ("4 min 10 s", words.seconds(250)),
        ("a\ufffdb", words.clean("a\u202eb")),
        ("a\nb", words.clean("a\r\nb")),
    ],
)
def test_numbers_and_texts_are_written_without_loss(text: str, value: str) -> None:
    """Nothing is rounded to 0 or 1 that isn't, absence is a dash, and what hides in a text can be seen."""
    assert text == value


@pytest.mark.parametrize("value", [0, 1, 0.5, 0.99999, 0.00001, -0.25, 1234.5])
def test_a_terminal_writes_numbers_as_the_page_does(value: float) -> None:
    """The same number looks the same in both; nothing is a dash that every terminal has."""
    for unit in ("share", "quality 0..1", "USD", "seconds"):
        assert words.in_unit(value, unit) == terminal.in_unit(value, unit)
        assert "-" == terminal.in_unit(None, unit)
    assert words.number(value) == terminal.number(value)
    assert words.money(value) == terminal.money(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"amount": 10, "amount": 1000000}',
        '{"amount":10,"amount":1000000}',
        '{"b":1,"a":2}',
        "1e999",
        '{"a":1e999}',
        "0.12345678901234567890123",
        "NaN",
        '{"a":"\\u0061"}',
        "[" * 100_000,
        "no JSON",
    ],
)
def test_json_that_is_not_canonical_is_shown_as_it_is(text: str) -> None:
    """To write it anew would choose between keys, round numbers, or invent words."""
    assert text == pretty_json(text)
    assert text == detail(text)


def test_canonical_json_is_shown_as_people_read_it() -> None:
    """Arguments with room between them, counts of a verdict as words; no value is another one."""
    assert '{"amount": 10, "to": "a"}' == pretty_json('{"amount":10,"to":"a"}')
    assert "equal 3, tools none" == detail('{"equal":3,"tools":[]}')


def test_a_template_that_prints_nothing_known_is_an_error() -> None:
    """None on a page would read as a value: templates must say why there is none."""
    with pytest.raises(TypeError, match="say why there is nothing"):
        render("refused.html", title="Title", said=None)


@pytest.mark.parametrize("kind", charts.kinds())
@pytest.mark.parametrize("theme", Theme)
def test_every_chart_is_a_drawing_by_the_schema(fast: Candidate, kind: str, theme: Theme) -> None:
    """What Altair is told is valid Vega-Lite, and what comes out is an SVG of one size, without a script or address."""
    charts.CHARTS[kind](fast, PALETTES[theme]).to_dict(validate=True)
    drawn = charts.draw(kind, fast, theme)
    root = ET.fromstring(drawn)  # noqa: S314 - our own drawing
    assert ("506", "208") == (root.get("width"), root.get("height"))
    assert "<script" not in drawn
    assert "href" not in drawn.replace("xmlns:xlink", "").replace("xlink:href", "href")


def test_a_chart_shows_decisions_changes_and_limits(fast: Candidate) -> None:
    """Shapes per decision, a dotted line where the policy changed, the limit in words, the date in view ringed."""
    drawn = charts.draw("cost_per_verified_outcome", fast, Theme.LIGHT)
    colors = PALETTES[Theme.LIGHT].verdicts
    assert all(f'fill="{colors[verdict]}"' in drawn for verdict in {mark.decision for mark in fast.marks})
    assert "limit $0.60" in drawn
    assert 'stroke-dasharray="2,3"' in drawn


def lines(drawn: str) -> list[str]:
    """What the limits in a chart are drawn from, to and at."""
    return re.findall(r'aria-label="(from: [^"]*)"', drawn)


def test_a_limit_is_drawn_where_it_held(fast: Candidate) -> None:
    """From the date on which a policy sets it until another one does, or none; across no date that had another."""
    days = [mark.day for mark in fast.marks]
    name = "cost_per_verified_outcome"
    limits = {**dict.fromkeys(days[:5], 0.5), **dict.fromkeys(days[8:], 0.6)}
    changed = replace(fast, limits={name: limits})
    told = charts.described(name, changed)
    assert f"limit $0.50 from {days[0]} until {days[5]}, limit $0.60 since {days[8]}; table" in told
    drawn = charts.draw(name, changed, Theme.LIGHT)
    first, last = lines(drawn)
    assert f"limit: 0.5; to: {days[5]:%b %d, %Y}" in first
    assert f"from: {days[8]:%b %d, %Y}; limit: 0.6" in last
    assert ["limit $0.60"] == re.findall(r">(limit [^<]*)<", drawn)
    ended = replace(fast, limits={name: dict.fromkeys(days[:5], 0.5)})
    assert [] == re.findall(r">(limit [^<]*)<", charts.draw(name, ended, Theme.LIGHT))


def test_a_limit_above_all_values_is_in_the_chart(fast: Candidate) -> None:
    """Amounts end above the highest of values and limits."""
    name = "cost_per_verified_outcome"
    (line,) = lines(charts.draw(name, replace(fast, limits={name: {fast.marks[-1].day: 50.0}}), Theme.LIGHT))
    assert "limit: 50;" in line
    chart = charts.CHARTS[name](replace(fast, limits={name: {fast.marks[-1].day: 50.0}}), PALETTES[Theme.LIGHT])
    domains = [layer["encoding"]["y"]["scale"]["domain"] for layer in chart.to_dict()["layer"] if layer_is_line(layer)]
    assert [[0.0, pytest.approx(55.0)]] == domains


def layer_is_line(layer: dict[str, Any]) -> bool:
    """Whether a layer joins values."""
    return bool(layer["mark"]["type"] == "line")


def test_a_chart_says_absence(fast: Candidate) -> None:
    """A date without a value is a cross, in the drawing and never a zero in its words."""
    nothing = tuple(replace(point, value=None, ci95=None) for point in fast.signals["task_quality"])
    absent = replace(fast, signals={**fast.signals, "task_quality": nothing})
    assert "\u00d7" in charts.draw("task_quality", absent, Theme.LIGHT)
    assert "Task quality over 14 dates: never available" == charts.described("task_quality", absent)


def colours() -> dict[str, tuple[str, str]]:
    """The page's colours by name: light, dark."""
    style = static_files()["page.css"].data.decode()
    return {name: (light, dark) for name, light, dark in TOKEN.findall(style)}


@pytest.mark.parametrize(("theme", "at"), [(Theme.LIGHT, 0), (Theme.DARK, 1)])
def test_charts_have_the_colours_of_the_page(theme: Theme, at: int) -> None:
    """The drawings' palette is the style sheet's."""
    named = {name: pair[at] for name, pair in colours().items()}
    verdicts = {
        Verdict.PASS: named["pass"], Verdict.FAIL: named["fail"], Verdict.INSUFFICIENT_EVIDENCE: named["lacks"]
    }  # fmt: skip
    ours = {name: named[name] for name in ("ink", "quiet", "rule", "accent")}
    assert Palette(**ours, verdicts=verdicts) == PALETTES[theme]


def luminance(colour: str) -> float:
    """Relative luminance by WCAG."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("ink", ["ink", "quiet", "accent", "pass", "fail", "lacks"])
@pytest.mark.parametrize("ground", ["ground", "raised", "accent-soft", "fail-soft", "lacks-soft"])
def test_every_text_colour_can_be_read_on_every_ground(ink: str, ground: str, at: int) -> None:
    """4.5 to 1 at least, light and dark."""
    low, high = sorted(luminance(colours()[name][at]) for name in (ink, ground))
    assert 4.5 <= (high + 0.05) / (low + 0.05)
