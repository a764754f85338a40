"""The report as one HTML file for a release ticket: it needs nothing else, runs nothing, and asks nobody."""

import base64
import hashlib
from dataclasses import dataclass

from markupsafe import Markup

from evalbench import __version__
from evalbench.web.charts import described, draw
from evalbench.web.models.candidate import Candidate
from evalbench.web.models.parts import SIGNAL_LABELS
from evalbench.web.palette import Theme
from evalbench.web.rendering import HERE, render, static_files
from evalbench.web.report import Report

MOST_CHARTED = 20
"""Subjects up to which charts are drawn: a file for a ticket stays one that can be attached."""
MOST_LOGGED = 10
"""Decisions of record that are shown of a subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart as an address that holds it, and what it shows."""

    label: str
    source: Markup
    alt: str


def as_html(report: Report) -> str:
    """The file's text."""
    style = static_files()["page.css"].data.decode() + (HERE / "templates/report/report.css").read_text(
        encoding="utf-8"
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    charted = len(report.pages) <= MOST_CHARTED
    return render(
        "report/report.html",
        report=report,
        pictures={page.subject: pictures(page) if charted else () for page in report.pages},
        charted=charted,
        most_charted=MOST_CHARTED,
        most_logged=MOST_LOGGED,
        policy=policy,
        style=Markup(style),  # noqa: S704 - the page's own file
        version=__version__,
    )


def pictures(page: Candidate) -> tuple[Picture, ...]:
    """The charts of a subject that was decided more than once: a trend of one date says nothing the tables don't."""
    if len(page.marks) < 2:
        return ()
    return tuple(
        Picture(label=label, source=_data(draw(kind, page, Theme.LIGHT)), alt=described(kind, page))
        for kind, label in {**SIGNAL_LABELS, "costs": "Costs"}.items()
    )


def _data(svg: str) -> Markup:
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    return Markup(address)  # noqa: S704 - base64
