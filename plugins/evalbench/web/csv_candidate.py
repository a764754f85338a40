"""The tables of the candidate page as CSV files, whole: each date, decision of record and trial behind a check."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import repeat
from types import MappingProxyType

from evalbench.repeats import Bracket
from evalbench.signals import UNITS
from evalbench.web.csv_rows import FIGURE, OF_SUBJECT, POINT, figure_cells, point_cells, records, subject_cells
from evalbench.web.csv_text import csv_text
from evalbench.web.models.candidate import Candidate, Most, RunRow, candidate
from evalbench.web.models.decision_log import LogEntry
from evalbench.web.models.filters import day_of
from evalbench.web.models.parts import SIGNAL_LABELS
from evalbench.web.pages import Given, subject_of
from evalbench.web.store import View

COST = (
    "covered_usd", "covered_trials", "uncovered_trials", "planned_trials", "verified", "per_trial", "per_verified",
    "reason",
)  # fmt: skip
CHECK = (
    "number", "name", "stage", "status", "fired", "proven", "unit", "observed", "best", "worst", "worst_unbounded",
    "limit", "numerator", "denominator", "reason", "next_step", "evidence_total",
)  # fmt: skip
BRACKET = tuple(field.name for field in fields(Bracket))


def _signals(page: Candidate) -> str:
    """The signals on the date."""
    standing = page.standing
    before = (standing.day, *subject_cells(page.subject), standing.verdict, standing.not_of_record)
    rows = ((*before, figure.name, *figure_cells(figure)) for figure in standing.signals)
    return csv_text(("date", *OF_SUBJECT, "decision", "not_of_record", "signal", *FIGURE), rows)


def _trend(page: Candidate) -> str:
    """Signals and costs on every date."""
    signals = (f"{name}_{part}" for name in SIGNAL_LABELS for part in POINT)
    rows = (
        (
            row.mark.day,
            *subject_cells(page.subject),
            row.mark.decision,
            row.mark.not_of_record,
            *(cell for name in SIGNAL_LABELS for cell in point_cells(row.signals.get(name), UNITS[name])),
            *(None if row.cost is None else getattr(row.cost, part) for part in COST),
        )
        for row in page.dates
    )
    header = ("date", *OF_SUBJECT, "decision", "not_of_record", *signals, *(f"cost_{part}" for part in COST))
    return csv_text(header, rows)


def _pass_hat_k(page: Candidate) -> str:
    """The brackets on every date."""
    rows = (
        (point.day, *subject_cells(page.subject), k, *(getattr(bracket, name) for name in BRACKET))
        for point in page.pass_hat_k
        for k, bracket in point.brackets.items()
    )
    return csv_text(("date", *OF_SUBJECT, "k", *BRACKET), rows)


def _checks(page: Candidate) -> str:
    before = (page.standing.day, *subject_cells(page.subject))
    return csv_text(
        ("date", *OF_SUBJECT, *CHECK),
        ((*before, *(getattr(check, name) for name in CHECK)) for check in page.checks),
    )


def _evidence(page: Candidate) -> str:
    """The trials behind every check."""
    before = (page.standing.day, *subject_cells(page.subject))
    rows = (
        (*before, check.number, check.name, row.link.run_id, row.link.task_id, row.link.trial, row.why, row.missing)
        for check in page.checks
        for row in check.evidence
    )
    names = ("check_number", "check", "run_id", "task_id", "trial", "why", "evidence_missing")
    return csv_text(("date", *OF_SUBJECT, *names), rows)


def _decision_log(page: Candidate) -> str:
    return records(LogEntry, page.log, OF_SUBJECT, repeat(subject_cells(page.subject)))


def _runs(page: Candidate) -> str:
    return records(RunRow, page.runs, OF_SUBJECT, repeat(subject_cells(page.subject)))


def _of_candidate(file: Callable[[Candidate], str]) -> Callable[[View, Given], str]:
    return lambda view, given: file(candidate(view, subject_of(given), day_of(given.get("date")), Most()))


CANDIDATE: Mapping[str, Callable[[View, Given], str]] = MappingProxyType(
    {
        "signals": _of_candidate(_signals),
        "trend": _of_candidate(_trend),
        "pass_hat_k": _of_candidate(_pass_hat_k),
        "checks": _of_candidate(_checks),
        "evidence": _of_candidate(_evidence),
        "decision_log": _of_candidate(_decision_log),
        "runs": _of_candidate(_runs),
    }
)
"""Name of the download → its text."""
