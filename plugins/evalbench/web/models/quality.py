"""Data quality: what became of everything in the runs root, and which judges gave no verdict."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from evalbench.accounting import TASK_LOST, Disposition
from evalbench.gate.case import Subject
from evalbench.publishing import EXCLUDED
from evalbench.web.models.figures import Row
from evalbench.web.models.filters import condition, filter_options
from evalbench.web.models.parts import FilterOptions, Filters
from evalbench.web.models.standing import subject_of
from evalbench.web.store import AsOf, View
from evalbench.web.tables import SUBJECT

MOST = 500
EXECUTIONS = 20
_EXECUTIONS = f"""
    SELECT run_date, plan_id FROM accounting GROUP BY run_date, plan_id
    ORDER BY run_date DESC, max(executed_at) DESC NULLS LAST, regexp_extract(plan_id, '\\d{{4}}-.*') DESC, plan_id DESC
    LIMIT {EXECUTIONS}
"""
"""A plan that Airflow names has a moment in its name, which tells executions apart whose clock stands still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The accounting of one pipeline run: listed = all other counts. closes: whether that holds.

    day: UTC date on which it ran; executed_at: when, None where its rows don't tell. quarantined, ignored: reason →
    entries. ranged: it looked at some dates only.
    """

    plan_id: str
    day: date
    executed_at: datetime | None
    listed: int
    scored: int
    unchanged: int
    out_of_range: int
    in_progress: int
    quarantined: Mapping[str, int]
    ignored: Mapping[str, int]
    closes: bool
    ranged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the runs root. state: quarantined, in_progress, ignored, deleted, …; reason in snake_case; detail:
    what was found where, and what to do next. change: new, late, changed, moved, or None. seen_on: date of the pipeline
    run that says so. run_id, subject: where they could be read.
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
    """executions: the last 20, newest first. judge_failures: most rows first, at most 500 of judge_failures_total.

    The lists of entries are what the last execution that looked at everything (`told_by`, None when none did) made of
    the runs root: quarantined, lost (planned, and never came back), in_progress, excluded (voided by the operator) and
    ignored; each at most 500, totals in entry_totals by list name. late: new on a date published before, told by any of
    the executions above. nothing: why there is no execution, in a sentence; None when there are some.
    """

    as_of: AsOf
    filters: Filters
    options: FilterOptions
    executions: tuple[Execution, ...]
    told_by: str | None
    quarantined: tuple[Entry, ...]
    lost: tuple[Entry, ...]
    in_progress: tuple[Entry, ...]
    excluded: tuple[Entry, ...]
    late: tuple[Entry, ...]
    ignored: tuple[Entry, ...]
    entry_totals: Mapping[str, int]
    judge_failures: tuple[JudgeFailure, ...]
    judge_failures_total: int
    nothing: str | None


_LISTS: Mapping[str, Callable[[Entry], bool]] = {
    "quarantined": lambda entry: entry.state == Disposition.QUARANTINED and entry.reason not in (TASK_LOST, EXCLUDED),
    "lost": lambda entry: entry.reason == TASK_LOST,
    "in_progress": lambda entry: entry.state == Disposition.IN_PROGRESS,
    "excluded": lambda entry: entry.reason == EXCLUDED,
    "ignored": lambda entry: entry.state == Disposition.IGNORED and entry.reason != EXCLUDED,
}


def quality(view: View, filters: Filters) -> Quality:
    """The data quality of a view of the lake.

    Filters narrow the judge failures, and the entries whose subject is known; the date only the judge failures.
    """
    executions = _executions(view)
    last = next((found for found in executions if not found.ranged), None)
    asked = "plan_id = ? AND run_date = ? AND (state <> 'scored' OR reason IS NOT NULL)"
    entries = _entries(view, filters, asked, [last.plan_id, last.day]) if last is not None else []
    lists = {name: [entry for entry in entries if belongs(entry)] for name, belongs in _LISTS.items()}
    lists["late"] = _entries(
        view, filters, "change = 'late' AND list_contains(?, plan_id)", [[found.plan_id for found in executions]]
    )
    failures = _failures(view, filters)
    return Quality(
        as_of=view.as_of,
        filters=filters,
        options=filter_options(view, filters),
        executions=executions,
        told_by=None if last is None else last.plan_id,
        **{name: tuple(found[:MOST]) for name, found in lists.items()},
        entry_totals={name: len(found) for name, found in lists.items()},
        judge_failures=failures[:MOST],
        judge_failures_total=len(failures),
        nothing=None if executions else "No pipeline run has told anything of the runs root yet.",
    )


def _executions(view: View) -> tuple[Execution, ...]:
    found: dict[tuple[date, str], list[Row]] = {(row["run_date"], row["plan_id"]): [] for row in view.rows(_EXECUTIONS)}
    for row in view.rows(
        f"SELECT accounting.* FROM accounting JOIN ({_EXECUTIONS}) USING (run_date, plan_id) ORDER BY state, reason"
    ):
        found[row["run_date"], row["plan_id"]].append(row)
    return tuple(_execution(plan_id, rows) for (_, plan_id), rows in found.items())


def _execution(plan_id: str, rows: Sequence[Row]) -> Execution:
    counts = Counter[str]()
    reasons: dict[str, dict[str, int]] = {"quarantined": {}, "ignored": {}}
    for row in rows:
        counts[row["state"]] += row["entries"]
        if row["state"] in reasons:
            reasons[row["state"]][row["reason"] or "unknown"] = row["entries"]
    listed = counts.pop("listed", 0)
    return Execution(
        plan_id=plan_id,
        day=rows[0]["run_date"],
        executed_at=rows[0]["executed_at"],
        listed=listed,
        scored=counts["scored"],
        unchanged=counts["unchanged"],
        out_of_range=counts["out_of_range"],
        in_progress=counts["in_progress"],
        quarantined=reasons["quarantined"],
        ignored=reasons["ignored"],
        closes=listed == counts.total(),
        ranged=counts["out_of_range"] > 0,
    )


def _entries(view: View, filters: Filters, asked: str, params: Sequence[object]) -> list[Entry]:
    narrowed, values = condition(replace(filters, model=None, day=None))
    rows = view.rows(
        f"SELECT * FROM run_states WHERE {asked} AND (product IS NULL OR ({narrowed})) ORDER BY path, run_date DESC",
        [*params, *values],
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
        subject=None if row["product"] is None else subject_of(row),
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
            subject=subject_of(row),
            **{name: row[name] for name in JudgeFailure.__dataclass_fields__ if name not in ("day", "subject")},
        )
        for row in rows
    )
