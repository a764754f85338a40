"""The tables of the run page as CSV files, whole."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType

from evalbench.web.csv_rows import place_said
from evalbench.web.csv_text import csv_text
from evalbench.web.models.parts import MissingError
from evalbench.web.models.run import RunPage, run_page
from evalbench.web.models.run_parts import MetricRow
from evalbench.web.pages import Given, required
from evalbench.web.store import View

TRIAL = (
    "recorded", "status", "declared", "outcome", "outcome_reason", "waiting", "quality", "effects", "calls",
    "expected", "cost_usd", "cost_state", "duration_s", "contradiction",
)  # fmt: skip
CLAIM = (
    "metric", "claimed_score", "claimed_correct", "claimed_total", "reads_as", "value", "denominator", "passed",
    "unavailable", "misleading", "why",
)  # fmt: skip
METRIC = tuple(field.name for field in fields(MetricRow))
HEALTH = ("n", "at_maximum", "variance", "never_varied", "judged", "agreeing")


def _trials(page: RunPage) -> str:
    """All that is known of them; the last column says why effects and calls aren't, where that is so."""
    rows = (
        (page.run_id, row.link.task_id, row.link.trial, *(getattr(row, n) for n in TRIAL), page.facts_reason)
        for row in page.trials
    )
    return csv_text(("run_id", "task_id", "trial", *TRIAL, "not_available"), rows)


def _findings(page: RunPage) -> str:
    rows = (
        (
            page.run_id,
            row.kind,
            row.code,
            row.about,
            row.count,
            row.message,
            [place_said(place) for place in row.places],
        )
        for row in page.findings
    )
    return csv_text(("run_id", "kind", "code", "about", "count", "message", "first_places"), rows)


def _claims(page: RunPage) -> str:
    rows = ((page.run_id, *(getattr(row, name) for name in CLAIM), place_said(row.place)) for row in page.claims)
    return csv_text(("run_id", *CLAIM, "place"), rows)


def _metrics(page: RunPage) -> str:
    """Metrics with their health; that of a metric without a row isn't known."""
    rows = (
        (
            page.run_id,
            *(getattr(row, name) for name in METRIC),
            *(getattr(page.health.get(row.name), name, None) for name in HEALTH),
        )
        for row in page.metrics
    )
    return csv_text(("run_id", *METRIC, *HEALTH), rows)


def _defects(page: RunPage) -> str:
    rows = (
        (
            page.run_id,
            row.code,
            row.message,
            None if row.task is None else row.task.task_id,
            None if row.task is None else row.task.trial,
            place_said(row.place),
        )
        for row in page.defects
    )
    return csv_text(("run_id", "code", "message", "task_id", "trial", "place"), rows)


def _of_run(file: Callable[[RunPage], str]) -> Callable[[View, Given], str]:
    return lambda view, given: file(run_page(view, required(given, "run_id")))


def _of_facts(file: Callable[[RunPage], str]) -> Callable[[View, Given], str]:
    """A file without rows would say that there are none: without facts there is no file."""

    def text(view: View, given: Given) -> str:
        page = run_page(view, required(given, "run_id"))
        if page.facts_reason is not None:
            raise MissingError(f"{page.run_id}: what was recorded of it can't be read: {page.facts_reason}")
        return file(page)

    return text


RUN: Mapping[str, Callable[[View, Given], str]] = MappingProxyType(
    {
        "trials": _of_run(_trials),
        "findings": _of_facts(_findings),
        "claims": _of_facts(_claims),
        "metrics": _of_facts(_metrics),
        "defects": _of_facts(_defects),
    }
)
"""Name of the download → its text."""
