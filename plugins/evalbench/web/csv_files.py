"""What the pages show, as CSV files: the same rows from the same models."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from itertools import repeat
from types import MappingProxyType

from evalbench.errors import UsageError
from evalbench.gate.case import Subject
from evalbench.web.csv_text import Cell, Row, csv_text
from evalbench.web.models.board import board
from evalbench.web.models.candidate import Candidate, RunRow, candidate
from evalbench.web.models.contradictions import contradictions
from evalbench.web.models.filters import day_of, filters_of
from evalbench.web.models.parts import SIGNAL_LABELS, Standing
from evalbench.web.models.quality import Entry, Execution, JudgeFailure, quality
from evalbench.web.models.run import run_page
from evalbench.web.models.run_parts import MetricRow
from evalbench.web.pages import Given, required, subject_of
from evalbench.web.store import View

SUBJECT = ("product", "suite", "environment", "candidate")
SIGNAL = ("value", "numerator", "denominator", "left_out", "ci95_low", "ci95_high", "unit", "not_available")
ENTRY_LISTS = ("quarantined", "lost", "in_progress", "excluded", "late", "ignored")


def file_name(table: str, given: Given) -> str:
    """What a download is called: of our own words and a date only."""
    day = day_of(given.get("date"))
    return f"evalbench-{table.replace('_', '-')}{f'-{day}' if day else ''}.csv"


def _subject(subject: Subject | None) -> tuple[Cell, ...]:
    return astuple(subject) if subject is not None else ("",) * len(SUBJECT)


def _signals(standing: Standing) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    for figure in standing.signals:
        low, high = figure.ci95 or (None, None)
        numbers = (figure.value, figure.numerator, figure.denominator, figure.left_out, low, high, figure.unit)
        yield figure.name, (*numbers, figure.reason if figure.value is None else None)


def _board(view: View, given: Given) -> str:
    page = board(view, filters_of(given))
    names = tuple(SIGNAL_LABELS)
    facts = ("decision", "provisional", "decided_by", "proven", "why", "flip", "changed", "policy", "runs")
    funnel = ("planned", "started", "ended", "declared", "judged", "verified")
    header = ("date", *SUBJECT, *facts, *funnel, *(f"{name}_{part}" for name in names for part in SIGNAL))
    rows = (
        (
            row.day, *_subject(row.subject), row.verdict.value, row.provisional, row.deciding.check,
            row.deciding.proven, row.deciding.sentence, row.flip, row.change.changed,
            f"{row.policy_name} {row.policy_version}", row.runs, *(getattr(row.funnel, step) for step in funnel),
            *(cell for _, cells in _signals(row) for cell in cells),
        )
        for row in page.rows
    )  # fmt: skip
    return csv_text(header, rows)


def _candidate(view: View, given: Given) -> Candidate:
    return candidate(view, subject_of(given), day_of(given.get("date")))


def _signals_over_time(view: View, given: Given) -> str:
    """Every signal on every date of one subject."""
    page = _candidate(view, given)
    units = {figure.name: figure.unit for figure in page.standing.signals}
    header = ("date", *SUBJECT, "decision", "signal", *SIGNAL)
    rows = []
    for name, points in page.signals.items():
        for point in points:
            low, high = point.ci95 or (None, None)
            numbers = (point.value, point.numerator, point.denominator, point.left_out_total, low, high, units[name])
            rows.append((point.day, *_subject(page.subject), point.decision.value, name, *numbers, point.reason))
    return csv_text(header, sorted(rows, key=lambda row: (row[0], row[6])))


def _checks(view: View, given: Given) -> str:
    page = _candidate(view, given)
    names = (
        "number", "name", "stage", "status", "fired", "proven", "unit", "observed", "best", "worst", "worst_unbounded",
        "limit", "numerator", "denominator", "reason", "next_step", "evidence_total",
    )  # fmt: skip
    rows = (
        (page.standing.day, *_subject(page.subject), *(getattr(check, name) for name in names)) for check in page.checks
    )
    return csv_text(("date", *SUBJECT, *names), rows)


def _decision_log(view: View, given: Given) -> str:
    page = _candidate(view, given)
    names = (
        "day", "decided_at", "verdict", "decided_by", "policy_name", "policy_version", "run_count", "because",
        "current", "log_id", "supersedes",
    )  # fmt: skip
    return csv_text(
        (*SUBJECT, *names), ((*_subject(page.subject), *(getattr(row, n) for n in names)) for row in page.log)
    )


def _runs(view: View, given: Given) -> str:
    page = _candidate(view, given)
    return _records(RunRow, page.runs, SUBJECT, repeat(_subject(page.subject)))


def _trials(view: View, given: Given) -> str:
    page = run_page(view, required(given, "run_id"))
    names = (
        "recorded", "status", "declared", "outcome", "outcome_reason", "waiting", "quality", "effects", "calls",
        "expected", "cost_usd", "cost_state", "duration_s", "contradiction",
    )  # fmt: skip
    rows = ((page.run_id, row.link.task_id, row.link.trial, *(getattr(row, n) for n in names)) for row in page.trials)
    return csv_text(("run_id", "task_id", "trial", *names), rows)


def _metrics(view: View, given: Given) -> str:
    page = run_page(view, required(given, "run_id"))
    return _records(MetricRow, page.metrics, ("run_id",), repeat((page.run_id,)))


def _contradictions(view: View, given: Given) -> str:
    header = ("date", *SUBJECT, "run_id", "task_id", "trial", "quality", "outcome", "declared", "status", "policy")
    rows = (
        (
            row.day, *_subject(row.subject), row.link.run_id, row.link.task_id, row.link.trial, row.quality,
            row.outcome, row.declared, row.status, row.policy_name,
        )
        for row in contradictions(view, filters_of(given)).rows
    )  # fmt: skip
    return csv_text(header, rows)


def _entries(view: View, given: Given) -> str:
    name = required(given, "list")
    if name not in ENTRY_LISTS:
        raise UsageError(f"list: {name!r} is none of {', '.join(ENTRY_LISTS)}")
    found: Sequence[Entry] = getattr(quality(view, filters_of(given)), name)
    return _records(Entry, found, SUBJECT, [_subject(row.subject) for row in found])


def _accounting(view: View, given: Given) -> str:
    return _records(Execution, quality(view, filters_of(given)).executions, (), repeat(()))


def _judge_failures(view: View, given: Given) -> str:
    found = quality(view, filters_of(given)).judge_failures
    return _records(JudgeFailure, found, SUBJECT, [_subject(row.subject) for row in found])


def _records(kind: type, rows: Sequence[object], header: Sequence[str], before: Iterable[Row]) -> str:
    """Records as they are, each behind some cells of its own; their `subject` is among these."""
    names = [field.name for field in fields(kind) if field.name != "subject"]
    shown = zip(before, rows, strict=False)
    return csv_text([*header, *names], ((*cells, *(getattr(row, name) for name in names)) for cells, row in shown))


DOWNLOADS: Mapping[str, Callable[[View, Given], str]] = MappingProxyType(
    {
        "board": _board,
        "signals": _signals_over_time,
        "checks": _checks,
        "decision_log": _decision_log,
        "runs": _runs,
        "trials": _trials,
        "metrics": _metrics,
        "contradictions": _contradictions,
        "entries": _entries,
        "accounting": _accounting,
        "judge_failures": _judge_failures,
    }
)
"""Name of the download → its text, from a view of the lake and the query of the page it belongs to."""
