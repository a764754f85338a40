"""One subject: its decision on a date, what it rests on, and how it came to be."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date, datetime, timedelta

from evalbench.gate.case import Subject
from evalbench.web.as_of import AsOf
from evalbench.web.models.checks import NAMED, check_of
from evalbench.web.models.decision_log import LOG_ORDER, LogEntry, log_entries
from evalbench.web.models.figures import Row
from evalbench.web.models.parts import Check, DayMark, MissingError, SignalPoint, Standing
from evalbench.web.models.series import (
    LIMITED_BY,
    CostPoint,
    DateRow,
    DefinitionChange,
    PassPoint,
    cost_points,
    date_rows,
    definition_changes,
    limits_of,
)
from evalbench.web.models.standing import DATES_SHOWN, brackets, marks_of, sparks, standing_of
from evalbench.web.store import View
from evalbench.web.tables import SUBJECT

_OF_SUBJECT = "product = ? AND suite = ? AND environment = ? AND candidate = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run of the window. pooled: the decision rests on it; where it doesn't, not_counted says why in words."""

    run_id: str
    path: str
    run_date: date
    run_time: datetime
    state: str
    format: str
    model: str | None
    dataset_version: str | None
    planned_trials: int
    recorded_trials: int
    missing_trials: int
    unplanned_trials: int
    defects: int
    pooled: bool
    not_counted: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Most:
    """How much there is of a subject at most; None: all. entries: of its log. evidence: trials behind each check."""

    dates: int | None = None
    entries: int | None = None
    evidence: int | None = None


ON_A_PAGE = Most(dates=400, entries=200, evidence=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One subject on one date.

    days: dates it was decided on, newest first. checks: all of them, in their order. signals, costs, pass_hat_k and
    marks: over the last dates up to the newest, oldest first. limits: signal → date → limit, where the
    policy of the date sets one. changes: definition changes among those dates, oldest first. log: newest first, the
    first of log_total. runs: of the window of the date, newest first; voided ones are in `standing.excluded`.
    """

    as_of: AsOf
    subject: Subject
    days: tuple[date, ...]
    standing: Standing
    checks: tuple[Check, ...]
    signals: Mapping[str, tuple[SignalPoint, ...]]
    limits: Mapping[str, Mapping[date, float]]
    costs: tuple[CostPoint, ...]
    pass_hat_k: tuple[PassPoint, ...]
    marks: tuple[DayMark, ...]
    changes: tuple[DefinitionChange, ...]
    log: tuple[LogEntry, ...]
    log_total: int
    runs: tuple[RunRow, ...]

    @property
    def dates(self) -> tuple[DateRow, ...]:
        """Signals and costs date by date, oldest first."""
        return date_rows(self.marks, self.signals, self.costs)


def candidate(view: View, subject: Subject, day: date | None = None, most: Most = ON_A_PAGE) -> Candidate:
    """One subject on its newest date, or on `day`. Raises MissingError when it was never decided, or not then."""
    key = ("candidate", subject, day, most, view.as_of.now.date())
    return replace(view.once(key, lambda: _candidate(view, subject, day, most)), as_of=view.as_of)


def _candidate(view: View, subject: Subject, day: date | None, most: Most) -> Candidate:
    key = list(astuple(subject))
    decisions = view.rows(f"SELECT * FROM daily WHERE {_OF_SUBJECT} ORDER BY run_date", key)
    days = tuple(row["run_date"] for row in reversed(decisions))
    chosen = _chosen(subject, days, day)
    signals = view.rows(
        f"SELECT signals.*, decision FROM signals JOIN daily USING ({SUBJECT}, run_date, policy_hash)"
        f" WHERE {_OF_SUBJECT} ORDER BY run_date, signal",
        key,
    )
    log = view.rows(f"SELECT * FROM decision_log WHERE {_OF_SUBJECT} ORDER BY {LOG_ORDER}", key)
    history = [row for row in decisions if row["run_date"] <= chosen][-DATES_SHOWN:]
    checks, evidence = _checks(view, history[-1], most.evidence)
    decided_by = next((row for row in checks if row["check_name"] == history[-1]["decided_by"]), None)
    standing = standing_of(
        view,
        history,
        [row for row in signals if history[0]["run_date"] <= row["run_date"] <= chosen],
        decided_by,
        evidence[decided_by["check_number"]][:NAMED] if decided_by is not None else [],
        [row for row in log if row["run_date"] == chosen],
    )
    shown = decisions if most.dates is None else decisions[-most.dates :]
    return Candidate(
        as_of=view.as_of,
        subject=subject,
        days=days,
        standing=standing,
        checks=tuple(check_of(row, evidence[row["check_number"]]) for row in checks),
        signals=sparks(row for row in signals if row["run_date"] >= shown[0]["run_date"]),
        limits=_limits(view, key),
        costs=cost_points(shown, signals),
        pass_hat_k=tuple(PassPoint(day=row["run_date"], brackets=brackets(row["pass_hat_k"])) for row in shown),
        marks=marks_of(shown, view.as_of.now.date()),
        changes=definition_changes(shown, view.rows(f"SELECT * FROM measured_with WHERE {_OF_SUBJECT}", key)),
        log=log_entries(log, decisions, view.as_of.left_out)[: most.entries],
        log_total=len(log),
        runs=_runs(view, standing),
    )


def _chosen(subject: Subject, days: Sequence[date], day: date | None) -> date:
    name = f"{subject.candidate} of {subject.product}, {subject.suite}, {subject.environment}"
    if not days:
        raise MissingError(f"{name}: nothing was decided of such a candidate here; look for it on the board")
    if day is not None and day not in days:
        raise MissingError(f"{name}: nothing was decided on {day}; the last decision is of {days[0]}")
    return day or days[0]


def _checks(view: View, decision: Row, most: int | None) -> tuple[list[Row], dict[int, list[Row]]]:
    """Rows of `gate_checks` in their order, and by check number their rows of `gate_evidence`, or the first `most`."""
    key = [decision["run_date"], *(decision[name] for name in (*SUBJECT.split(", "), "policy_hash"))]
    of_decision = f"run_date = ? AND {_OF_SUBJECT} AND policy_hash = ?"
    checks: list[Row] = [*view.rows(f"SELECT * FROM gate_checks WHERE {of_decision} ORDER BY check_number", key)]
    behind: dict[int, list[Row]] = defaultdict(list)
    for found in view.rows(
        f"SELECT * FROM gate_evidence WHERE {of_decision} AND coalesce(evidence_number < ?, true)"
        " ORDER BY check_number, evidence_number",
        [*key, most],
    ):
        behind[found["check_number"]].append(found)
    return checks, behind


def _limits(view: View, key: Sequence[object]) -> Mapping[str, Mapping[date, float]]:
    """The same whichever date is looked at, so asked for once."""
    asked = (
        f"SELECT run_date, check_name, limit_value FROM gate_checks JOIN daily USING ({SUBJECT}, run_date, policy_hash)"
        f" WHERE {_OF_SUBJECT} AND list_contains(?, check_name) AND limit_value IS NOT NULL"
    )
    params = [*key, list(LIMITED_BY.values())]
    return view.once(("limits", *key), lambda: limits_of(view.rows(asked, params)))


def _runs(view: View, standing: Standing) -> tuple[RunRow, ...]:
    first = standing.day - timedelta(days=standing.window_days - 1)
    rows = view.rows(
        f"SELECT * FROM runs WHERE {_OF_SUBJECT} AND run_date BETWEEN ? AND ? ORDER BY run_time DESC, run_id",
        [*astuple(standing.subject), first, standing.day],
    )
    return tuple(
        RunRow(
            **{name: row[name] for name in RunRow.__dataclass_fields__ if name not in ("pooled", "not_counted")},
            pooled=row["run_id"] in standing.runs,
            not_counted=_not_counted(row, standing),
        )
        for row in rows
    )


def _not_counted(run: Row, standing: Standing) -> str | None:
    """Why, as far as it can be told: a run may have come later, too, or be of rows that are newer than the decision."""
    if run["run_id"] in standing.runs:
        return None
    same = run["dataset_version"] == standing.dataset_version
    return "this decision doesn't count it" if same else "another dataset version"
