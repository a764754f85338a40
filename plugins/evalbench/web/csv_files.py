"""What the pages show, as CSV files: the same rows from the same models, all of them where a page shows the first."""

from collections.abc import Callable, Mapping
from itertools import repeat
from types import MappingProxyType

from evalbench.errors import UsageError
from evalbench.web.csv_candidate import CANDIDATE
from evalbench.web.csv_rows import FIGURE, OF_SUBJECT, figure_cells, records, subject_cells
from evalbench.web.csv_run import RUN
from evalbench.web.csv_text import csv_text
from evalbench.web.csv_trial import TRIAL
from evalbench.web.marks import STEPS
from evalbench.web.models.board import board
from evalbench.web.models.contradictions import contradictions
from evalbench.web.models.executions import Execution, executions_of
from evalbench.web.models.filters import day_of, filters_of
from evalbench.web.models.parts import SIGNAL_LABELS
from evalbench.web.models.quality import LISTS, Entry, JudgeFailure, entries_of, quality
from evalbench.web.models.search import search
from evalbench.web.pages import Given, required, searched
from evalbench.web.store import View


def file_name(table: str, given: Given, whole: bool) -> str:
    """What a download is called: of our own words and a date only. whole: whether the view it is made from was."""
    which = given.get("list") if given.get("list") in LISTS else None
    parts = ("evalbench", table, which, day_of(given.get("date")), None if whole else "incomplete")
    return "-".join(str(part).replace("_", "-") for part in parts if part is not None) + ".csv"


def _board(view: View, given: Given) -> str:
    page = board(view, filters_of(given))
    facts = (
        "decision", "provisional", "not_of_record", "decided_by", "proven", "why", "flip", "changed", "policy", "runs",
    )  # fmt: skip
    signals = (f"{name}_{part}" for name in SIGNAL_LABELS for part in FIGURE)
    rows = []
    for row in page.rows:
        figures = {figure.name: figure for figure in row.signals}
        rows.append(
            (
                row.day, *subject_cells(row.subject), row.verdict, row.provisional, row.not_of_record,
                row.deciding.check, row.deciding.proven, row.deciding.sentence, row.flip, row.change.changed,
                f"{row.policy_name} {row.policy_version}", row.runs, *(getattr(row.funnel, step) for step in STEPS),
                *(cell for name in SIGNAL_LABELS for cell in figure_cells(figures.get(name))),
            )
        )  # fmt: skip
    return csv_text(("date", *OF_SUBJECT, *facts, *STEPS, *signals), rows)


def _contradictions(view: View, given: Given) -> str:
    header = (
        "date", *OF_SUBJECT, "run_id", "task_id", "trial", "quality", "outcome", "declared", "status", "policy",
    )  # fmt: skip
    rows = (
        (
            row.day, *subject_cells(row.subject), row.link.run_id, row.link.task_id, row.link.trial, row.quality,
            row.outcome, row.declared, row.status, row.policy_name,
        )
        for row in contradictions(view, filters_of(given)).rows
    )  # fmt: skip
    return csv_text(header, rows)


def _entries(view: View, given: Given) -> str:
    name = required(given, "list")
    if name not in LISTS:
        raise UsageError(f"list: {name!r} is none of {', '.join(LISTS)}")
    found = entries_of(view, filters_of(given), name)
    return records(Entry, found, OF_SUBJECT, [subject_cells(row.subject) for row in found])


def _accounting(view: View, _: Given) -> str:
    return records(Execution, executions_of(view), (), repeat(()))


def _judge_failures(view: View, given: Given) -> str:
    found = quality(view, filters_of(given)).judge_failures
    return records(JudgeFailure, found, OF_SUBJECT, [subject_cells(row.subject) for row in found])


def _found_runs(view: View, given: Given) -> str:
    rows = ((hit.run_id, *subject_cells(hit.subject), hit.run_date) for hit in search(view, searched(given)).runs)
    return csv_text(("run_id", *OF_SUBJECT, "date"), rows)


def _found_tasks(view: View, given: Given) -> str:
    rows = (
        (hit.link.task_id, *subject_cells(hit.subject), hit.trials, hit.link.run_id, hit.link.trial, hit.run_date)
        for hit in search(view, searched(given)).tasks
    )
    return csv_text(("task_id", *OF_SUBJECT, "trials", "newest_run_id", "newest_trial", "date"), rows)


DOWNLOADS: Mapping[str, Callable[[View, Given], str]] = MappingProxyType(
    {
        "board": _board,
        **CANDIDATE,
        **RUN,
        **TRIAL,
        "contradictions": _contradictions,
        "entries": _entries,
        "accounting": _accounting,
        "judge_failures": _judge_failures,
        "found_runs": _found_runs,
        "found_tasks": _found_tasks,
    }
)
"""Name of the download → its text, from a view of the lake and the query of the page it belongs to."""
