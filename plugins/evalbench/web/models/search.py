"""Runs and tasks by a part of their name."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from evalbench.gate.case import Subject
from evalbench.web.as_of import AsOf
from evalbench.web.inert import PARTED
from evalbench.web.models.checks import trial_link
from evalbench.web.models.parts import TrialLink
from evalbench.web.models.standing import subject_of_row
from evalbench.web.store import View
from evalbench.web.tables import SUBJECT

_RUNS = """
    SELECT *, count(*) OVER () AS total FROM runs WHERE contains(lower(run_id), lower(?))
    ORDER BY run_time DESC, run_id
"""
_TASKS = f"""
    SELECT *, count(*) OVER () AS total FROM (
        SELECT {SUBJECT}, task_id, count(trial) AS trials,
            arg_max(
                {{'run_date': run_date, 'run_time': run_time, 'run_id': run_id, 'trial': trial}},
                {{'run_time': run_time, 'run_id': run_id, 'trial': coalesce(trial, -1)}}
            ) AS newest
        FROM trials JOIN (SELECT run_date, run_id, run_time FROM runs) USING (run_date, run_id)
        WHERE contains(lower(task_id), lower(?)) GROUP BY {SUBJECT}, task_id
    ) ORDER BY newest.run_time DESC, task_id, {SUBJECT}
"""
"""A trial without a record has no number; it is a task's newest only where its run has no other of that task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHit:
    """A run whose id contains the text."""

    run_id: str
    subject: Subject
    run_date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHit:
    """A task of a subject whose id contains the text. link: its newest trial. trials: how many there are of it."""

    link: TrialLink
    subject: Subject
    run_date: date
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Newest first, the first of each; totals beside. Upper and lower case are the same. Nothing for a blank text."""

    as_of: AsOf
    text: str
    runs: tuple[RunHit, ...]
    runs_total: int
    tasks: tuple[TaskHit, ...]
    tasks_total: int


def search(view: View, text: str, most: int | None = None) -> Search:
    """What contains a text, blanks around it left out: all of it, or the first `most` runs and tasks.

    Where nothing does, what contains it without the marks that a note puts into ids, which nobody sees.
    """
    found = _search(view, text.strip(), most)
    if found.runs or found.tasks or PARTED not in text:
        return found
    return _search(view, text.replace(PARTED, "").strip(), most)


def _search(view: View, wanted: str, most: int | None) -> Search:
    runs = _rows(view, _RUNS, wanted, most)
    tasks = _rows(view, _TASKS, wanted, most)
    return Search(
        as_of=view.as_of,
        text=wanted,
        runs=tuple(RunHit(run_id=row["run_id"], subject=subject_of_row(row), run_date=row["run_date"]) for row in runs),
        runs_total=runs[0]["total"] if runs else 0,
        tasks=tuple(
            TaskHit(
                link=trial_link(row["newest"]["run_id"], row["task_id"], row["newest"]["trial"]),
                subject=subject_of_row(row),
                run_date=row["newest"]["run_date"],
                trials=row["trials"],
            )
            for row in tasks
        ),
        tasks_total=tasks[0]["total"] if tasks else 0,
    )


def _rows(view: View, sql: str, text: str, most: int | None) -> list[dict[str, Any]]:
    return view.rows(f"{sql} LIMIT ?", [text, most]) if text else []
