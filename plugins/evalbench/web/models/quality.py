"""Data quality: what became of everything in the runs root, and which judges gave no verdict."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from evalbench.accounting import TASK_LOST, Disposition
from evalbench.gate.case import Subject
from evalbench.publishing import EXCLUDED
from evalbench.web.as_of import AsOf
from evalbench.web.models.executions import Execution, executions_of, has_states, unaccounted, untold
from evalbench.web.models.figures import Row
from evalbench.web.models.filters import condition, filter_options
from evalbench.web.models.parts import FilterOptions, Filters, MissingError
from evalbench.web.models.standing import subject_of_row
from evalbench.web.store import View
from evalbench.web.tables import SUBJECT
from evalbench.words import counted, plural, spaced

RECENT = 20
"""Newest pipeline runs that are asked for late runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the runs root. state: quarantined, in_progress, ignored, deleted, …; reason in snake_case; detail:
    what was found where, and what to do next. change: new, late, changed, moved, or None. seen_on: date of the pipeline
    run that says so. run_id, run_time, subject: where they could be read.
    """

    path: str
    state: str
    reason: str | None
    detail: str | None
    change: str | None
    run_id: str | None
    run_time: datetime | None
    subject: Subject | None
    seen_on: date
    plan_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFailure:
    """A comparator of the harness, or a grader, that gave no verdict: without_verdict of asked rows, for one reason."""

    day: date
    subject: Subject
    source: str
    name: str | None
    scorer_type: str | None
    reason: str | None
    without_verdict: int
    judged: int
    asked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """executions: newest first; judge_failures: most rows first; both the first of their total.

    The lists of entries are what the last execution that looked at everything (`told_by`, None when none did) made of
    the runs root: quarantined, lost (planned, and never came back), in_progress, excluded (voided by the operator) and
    ignored; late: new on a date published before, told by any of the RECENT newest executions. Each the first of its
    total in entry_totals, by list name. not_known: lists of which the lake doesn't hold every entry, so that nothing is
    said to be none. told_last: whether no later execution can have looked at everything. nothing: why there is no
    execution, in a sentence; None when there are some.
    """

    as_of: AsOf
    filters: Filters
    options: FilterOptions
    executions: tuple[Execution, ...]
    executions_total: int
    told_by: str | None
    told_last: bool
    quarantined: tuple[Entry, ...]
    lost: tuple[Entry, ...]
    in_progress: tuple[Entry, ...]
    excluded: tuple[Entry, ...]
    late: tuple[Entry, ...]
    ignored: tuple[Entry, ...]
    entry_totals: Mapping[str, int]
    not_known: tuple[str, ...]
    judge_failures: tuple[JudgeFailure, ...]
    judge_failures_total: int
    nothing: str | None


_AS_FOUND: Mapping[str, Callable[[Entry], bool]] = {
    "quarantined": lambda entry: entry.state == Disposition.QUARANTINED and entry.reason not in (TASK_LOST, EXCLUDED),
    "lost": lambda entry: entry.reason == TASK_LOST,
    "in_progress": lambda entry: entry.state == Disposition.IN_PROGRESS,
    "excluded": lambda entry: entry.reason == EXCLUDED,
    "ignored": lambda entry: entry.state == Disposition.IGNORED and entry.reason != EXCLUDED,
}
_LATE = """
    change = 'late' AND (plan_id, run_date) IN (SELECT unnest(CAST(? AS VARCHAR[])), unnest(CAST(? AS DATE[])))
"""
"""A plan_id alone may be of two dates: a DAG run that is cleared keeps its name."""
LISTS = (*_AS_FOUND, "late")
_KEPT_OUT = frozenset({"quarantined", "lost", "in_progress", "excluded"})
_NOTHING_TOLD = "No pipeline run has told anything of the runs root yet."
_ACCOUNTING_GONE = "Which pipeline runs there were isn't known: their accounting is lost or damaged."


def quality(view: View, filters: Filters, *, rows: int | None = None, executions: int | None = None) -> Quality:
    """The data quality of a view of the lake.

    Filters narrow the judge failures and the lists to runs of a subject and a date; what couldn't be read that far
    stays. The model narrows nothing: neither says which it was. rows, executions: how many at most, of each list and of
    the failures, and of pipeline runs; None: all.
    """
    told = executions_of(view)
    last = next((found for found in told if not found.ranged), None)
    asked = "plan_id = ? AND run_date = ? AND (state <> 'scored' OR reason IS NOT NULL)"
    entries = _entries(view, filters, asked, [last.plan_id, last.day]) if last is not None else []
    lists = {name: [entry for entry in entries if belongs(entry)] for name, belongs in _AS_FOUND.items()}
    recent = told[:RECENT]
    params = [[found.plan_id for found in recent], [found.day for found in recent]]
    lists["late"] = _entries(view, filters, _LATE, params)
    failures = _failures(view, filters)
    return Quality(
        as_of=view.as_of,
        filters=filters,
        options=filter_options(view, filters),
        executions=told[:executions],
        executions_total=len(told),
        told_by=None if last is None else last.plan_id,
        told_last=last is not None and _is_last(view, last),
        **{name: tuple(found[:rows]) for name, found in lists.items()},
        entry_totals={name: len(found) for name, found in lists.items()},
        not_known=(*_not_known(view, last), *(["late"] if _misses_late(view, recent) else [])),
        judge_failures=failures[:rows],
        judge_failures_total=len(failures),
        nothing=None if told else _ACCOUNTING_GONE if unaccounted(view, date.min) else _NOTHING_TOLD,
    )


def entries_of(view: View, filters: Filters, name: str) -> tuple[Entry, ...]:
    """All entries of one of LISTS. Raises MissingError where the lake doesn't hold every one of them."""
    found = quality(view, filters)
    if name in found.not_known:
        raise MissingError(
            f"What is {spaced(name)} isn't known, or not all of it: the lake doesn't hold every entry that pipeline"
            " runs told of the runs root; look at the page Data quality"
        )
    entries: tuple[Entry, ...] = getattr(found, name)
    return entries


def kept_out(view: View) -> str:
    """How many directories of the runs root no number counts, in a sentence; empty where all are counted."""
    found = quality(view, Filters())
    if found.told_by is None or not _KEPT_OUT.isdisjoint(found.not_known):
        return "Whether directories of the runs root are in no number isn't known."
    counts = {name: total for name, total in found.entry_totals.items() if total and name in _KEPT_OUT}
    total = sum(counts.values())
    verb = "is" if total == 1 else "are"
    said = f"{plural(total, 'directory', 'directories')} of the runs root {verb} in no number: {counted(counts)}."
    return said if total else ""


def _is_last(view: View, one: Execution) -> bool:
    hidden = view.as_of.unreadable or view.as_of.left_out
    return not hidden and not unaccounted(view, one.day)


def _not_known(view: View, last: Execution | None) -> Collection[str]:
    """Lists of what the last execution found, of which entries are missing; all of them where none is known."""
    if last is None:
        return list(_AS_FOUND)
    short, lost = untold(view, last), last.quarantined.get(TASK_LOST, 0)
    missing = {
        "quarantined": Disposition.QUARANTINED in short and sum(last.quarantined.values()) > lost,
        "lost": Disposition.QUARANTINED in short and lost > 0,
        "in_progress": Disposition.IN_PROGRESS in short,
        "excluded": bool(short) or not has_states(view, last),
        "ignored": Disposition.IGNORED in short,
    }
    return [name for name, is_missing in missing.items() if is_missing]


def _misses_late(view: View, recent: Sequence[Execution]) -> bool:
    """Whether a recent execution is unknown, or told of entries in a file that isn't held."""
    since = min((one.day for one in recent), default=date.min)
    return unaccounted(view, since) or any(not has_states(view, one) and untold(view, one) for one in recent)


def _entries(view: View, filters: Filters, asked: str, params: Sequence[object]) -> list[Entry]:
    narrowed, values = condition(filters, day=False, model=False)
    rows = view.rows(
        f"SELECT * FROM run_states WHERE {asked} AND (product IS NULL OR ({narrowed}))"
        " AND coalesce(CAST(run_time AS DATE) = ?, true) ORDER BY path, run_date DESC",
        [*params, *values, filters.day],
    )
    return [_entry(row) for row in rows]


def _entry(row: Row) -> Entry:
    return Entry(
        path=row["path"],
        state=row["state"],
        reason=row["reason"],
        detail=row["detail"],
        change=row["change"],
        run_id=row["run_id"],
        run_time=row["run_time"],
        subject=None if row["product"] is None else subject_of_row(row),
        seen_on=row["run_date"],
        plan_id=row["plan_id"],
    )


def _failures(view: View, filters: Filters) -> tuple[JudgeFailure, ...]:
    asked, params = condition(filters, model=False)
    rows = view.rows(
        f"SELECT * FROM silent_judges WHERE {asked}"
        f" ORDER BY without_verdict DESC, run_date DESC, {SUBJECT}, source, name, reason",
        params,
    )
    return tuple(
        JudgeFailure(
            day=row["run_date"],
            subject=subject_of_row(row),
            **{name: row[name] for name in JudgeFailure.__dataclass_fields__ if name not in ("day", "subject")},
        )
        for row in rows
    )
