"""What is drawn and written beside numbers: marks, charts, words, colours and CSV cells."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.page.serving import MORNING

from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.settings import Settings
from evalbench.storage import lake_of
from evalbench.web import charts, marks, words
from evalbench.web.csv_text import csv_text
from evalbench.web.models.candidate import Candidate, candidate
from evalbench.web.models.parts import Check, SignalFigure, SignalPoint
from evalbench.web.palette import PALETTES, Palette, Theme
from evalbench.web.rendering import render, static_files
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
    assert (60.0, 32.5, 87.5, 1.0) == (drawn.x, drawn.low, drawn.high, drawn.top)
    assert marks.interval(replace(FIGURE, value=None, ci95=None)) is None


@given(value=st.floats(0, 1e9), low=st.floats(0, 1e9), high=st.floats(0, 1e9))
def test_no_figure_is_drawn_outside_of_its_box(value: float, low: float, high: float) -> None:
    """Whatever the numbers, every stroke lies between the edges."""
    drawn = marks.interval(replace(FIGURE, unit="USD", value=value, ci95=(min(low, high), max(low, high))))
    assert drawn is not None
    assert all(0 <= x <= marks.WIDTH for x in (drawn.x, drawn.low, drawn.high) if x is not None)


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


def test_a_sparkline_breaks_where_nothing_is_known() -> None:
    """Lines join neighbours only; a value between two gaps is a dot; no value at all is no line."""
    drawn = marks.sparkline([point(1, 0.5), point(2, 0.6), point(3, None), point(4, 0.7), point(5, None)], "share")
    assert drawn is not None
    assert (1, 1, None) == (len(drawn.lines), len(drawn.dots), drawn.last)
    assert marks.sparkline([point(1, None)], "share") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\u2013", words.number(None)),
        ("1,234.5", words.number(1234.5)),
        ("0.00012", words.number(0.00012)),
        ("0.000", words.rate(0)),
        ("0.999990", words.rate(0.99999)),
        ("0.000010", words.rate(0.00001)),
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


HARMFUL = ("=1+1", "+1", "-1+1", "@SUM(1)", "\t=1+1", " =1+1", "\r\n=1", "\uff1d1+1", "\u200b=1", "\ufeff@x")


@pytest.mark.parametrize("text", HARMFUL)
def test_no_text_in_a_download_is_a_formula(text: str) -> None:
    """A spreadsheet shows an apostrophe and the text, whatever stood unseen before its sign."""
    row = next(iter(csv.reader(io.StringIO(csv_text(("a",), [(text,)]).partition("\r\n")[2], newline=""))))
    assert [f"'{text}"] == row


def cells(value: Any) -> str:
    """How one value stands in a file."""
    return csv_text((), [(value,)]).removeprefix("\r\n").removesuffix("\r\n")


def test_numbers_dates_and_absence_stay_what_they_are() -> None:
    """A negative number is a number; nothing is an empty cell, not a zero; counts are spelled out."""
    values = (-0.25, Decimal("1.890"), True, date(2026, 11, 28), {"wait_overdue": 2}, ("a", "b"))
    assert ["-0.25", "1.890", "true", "2026-11-28", "wait overdue 2", '"a, b"'] == [cells(value) for value in values]
    assert ",x" == csv_text((), [(None, "x")]).strip()


@given(st.text())
def test_every_text_survives_a_download(text: str) -> None:
    """Behind at most one apostrophe, what is read back is what was written."""
    (read,) = next(iter(csv.reader(io.StringIO(csv_text((), [(text, "x")]).removeprefix("\r\n"), newline=""))))[:1]
    assert read in (text, f"'{text}")
