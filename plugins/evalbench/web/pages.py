"""The pages by name: which model each is made from, and what its template is told beside it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from evalbench.errors import UsageError
from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.signals import UNITS
from evalbench.web import charts
from evalbench.web.links import Links, filter_fields, subject_fields
from evalbench.web.models.board import board
from evalbench.web.models.candidate import Candidate, candidate
from evalbench.web.models.contradictions import contradictions
from evalbench.web.models.filters import day_of, filters_of
from evalbench.web.models.parts import SIGNAL_LABELS, Filters
from evalbench.web.models.quality import RECENT, quality
from evalbench.web.models.run import run_page
from evalbench.web.models.search import search
from evalbench.web.models.trial import TrialLimits, trial_page
from evalbench.web.palette import Theme
from evalbench.web.rendering import render, static_files
from evalbench.web.store import View

Given: TypeAlias = Mapping[str, str]
"""The fields of a query string."""
Page: TypeAlias = Callable[[View, Links, Given], str]

MOST_LETTERS = 2000
"""Of what is searched for. An id may be as long as the address that names it, which the server bounds."""
MOST_ROWS, MOST_TRIALS, MOST_CALLS, MOST_DEFECTS, MOST_EXECUTIONS, MOST_HITS = 500, 1000, 300, 200, 20, 50
MOST_FACTS, MOST_SIBLINGS = 300, 100
"""Of a table; a page says what it leaves out, and downloads have all of it."""
OF_A_TRIAL = TrialLimits(calls=MOST_CALLS, facts=MOST_FACTS, siblings=MOST_SIBLINGS)
CHART_TITLES = MappingProxyType(
    {
        **{name: (label, "") for name, label in SIGNAL_LABELS.items()},
        "costs": ("Costs", "US dollars; hollow: a bill is missing, the true figure is higher"),
        "pass_hat_k": ("pass^k", "the chance that k trials of a task in a row succeed, from lower to upper bound"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartImage:
    """A chart of the candidate page: its addresses in both themes, and what it shows in words."""

    title: str
    unit: str
    light: str
    dark: str
    alt: str


def shell(to: Links, here: str, text: str = "") -> dict[str, object]:
    """What the frame of every page needs. here: the page's place in the navigation; text: what was searched for."""
    files = static_files()
    return {"to": to, "here": here, "text": text, "static": lambda name: to.static(name, files[name].version)}


def required(given: Given, name: str) -> str:
    """A field of the query. Raises UsageError without it."""
    if not (text := given.get(name, "")):
        raise UsageError(f"{name} is missing in the address; start at the board")
    return text


def subject_of(given: Given) -> Subject:
    """The subject a query names. Raises UsageError for half a one."""
    names = ("product", "suite", "environment", "candidate")
    return Subject(**{name: required(given, name) for name in names})


def searched(given: Given) -> str:
    """What is searched for."""
    return given.get("q", "")[:MOST_LETTERS]


def trial_of(given: Given) -> int:
    """The number of a trial. Raises UsageError for what is no number."""
    text = required(given, "trial")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UsageError(f"trial: {text!r} is no number of a trial; start at the board")
    return int(text)


def _board(view: View, to: Links, given: Given) -> str:
    filters = filters_of(given)
    return render(
        "board.html",
        **shell(to, "board"),
        page=board(view, filters),
        fields=filter_fields(filters),
        filtered=filters != Filters(),
        with_older=replace(filters, older=True),
        by_decision={one: replace(filters, decision=None if one is filters.decision else one) for one in Verdict},
    )


def _candidate(view: View, to: Links, given: Given) -> str:
    page = candidate(view, subject_of(given), day_of(given.get("date")))
    return render(
        "candidate.html",
        **shell(to, "candidate"),
        page=page,
        fields=subject_fields(page.subject, page.standing.day),
        all_dates=subject_fields(page.subject),
        units=UNITS,
        charts=[_chart(page, to, kind, view.version) for kind in charts.kinds_for(page)],
    )


def _chart(page: Candidate, to: Links, kind: str, version: str) -> ChartImage:
    title, unit = CHART_TITLES[kind]
    address = partial(to.chart, kind, page.subject, page.standing.day, version=version)
    return ChartImage(
        title=title,
        unit=unit,
        light=address(theme=Theme.LIGHT),
        dark=address(theme=Theme.DARK),
        alt=charts.described(kind, page),
    )


def _run(view: View, to: Links, given: Given) -> str:
    page = run_page(view, required(given, "run_id"), trials=MOST_TRIALS, defects=MOST_DEFECTS, facts=MOST_FACTS)
    return render("run.html", **shell(to, "run"), page=page)


def _trial(view: View, to: Links, given: Given) -> str:
    key = required(given, "run_id"), required(given, "task_id"), trial_of(given)
    page = trial_page(view, *key, OF_A_TRIAL)
    return render("trial.html", **shell(to, "trial"), page=page)


def _contradictions(view: View, to: Links, given: Given) -> str:
    filters = filters_of(given)
    return render(
        "contradictions.html",
        **shell(to, "contradictions"),
        page=contradictions(view, filters, MOST_ROWS),
        fields=filter_fields(filters),
        filtered=filters != Filters(),
    )


def _quality(view: View, to: Links, given: Given) -> str:
    filters = filters_of(given)
    return render(
        "quality.html",
        **shell(to, "quality"),
        page=quality(view, filters, rows=MOST_ROWS, executions=MOST_EXECUTIONS),
        recent=RECENT,
        fields=filter_fields(filters),
        filtered=filters != Filters(),
    )


def _search(view: View, to: Links, given: Given) -> str:
    text = searched(given)
    return render("search.html", **shell(to, "search", text), page=search(view, text, MOST_HITS))


PAGES: Mapping[str, Page] = MappingProxyType(
    {
        "": _board,
        "candidate": _candidate,
        "run": _run,
        "trial": _trial,
        "contradictions": _contradictions,
        "quality": _quality,
        "search": _search,
    }
)
"""Path below the mount → the page's HTML from a view of the lake, its addresses and the query."""


def message(to: Links, title: str, said: str, *, loading: bool = False) -> str:
    """A page that only says something; while loading, that it will be replaced."""
    return render("message.html", **shell(to, ""), title=title, said=said, loading=loading)
