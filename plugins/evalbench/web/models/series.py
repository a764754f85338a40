"""What a subject's figures were over time beside its signals, and where they began to mean something else."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from evalbench.repeats import Bracket
from evalbench.web.models.change import DEFINITIONS
from evalbench.web.models.figures import Row, number, reason_of, value_of
from evalbench.web.models.parts import DayMark, SignalPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """Costs of one date, in US dollars.

    covered_usd over covered_trials of planned_trials; None where no trial has a bill, then reason says why.
    per_trial = covered_usd / covered_trials. per_verified = covered_usd / verified; None over nothing. While
    uncovered_trials is above 0, the true figures are higher.
    """

    day: date
    covered_usd: float | None
    covered_trials: int
    uncovered_trials: int
    planned_trials: int
    verified: int
    per_trial: float | None
    per_verified: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPoint:
    """pass^k of one date, k → bracket."""

    day: date
    brackets: Mapping[int, Bracket]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionChange:
    """From this date on figures mean something else.

    what: `policy`, `code` (a digest of the versions behind decisions), `evaluator tool_order`, `comparator …`,
    `grader …`, `dataset version`, `model`, `window`, `baseline`. before, after: None where there was none, or is none.
    """

    day: date
    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRow:
    """Everything of one date. signals: by name, None for one that wasn't published for it; cost likewise."""

    mark: DayMark
    signals: Mapping[str, SignalPoint | None]
    cost: CostPoint | None


LIMITED_BY = {
    "useful_progress": "floor.progress",
    "effect_integrity": "floor.effect_integrity",
    "cost_per_verified_outcome": "floor.budget",
    "false_success": "false_success",
}
"""The check that limits a signal, where one does."""
_COST = "cost_per_verified_outcome"
_SOURCES = {"evaluator": "evaluator", "harness": "comparator", "grader": "grader"}


def cost_points(decisions: Iterable[Row], signals: Iterable[Row]) -> tuple[CostPoint, ...]:
    """Rows of `decisions` and `signals` of one subject, the decisions by date."""
    costs = {row["run_date"]: row for row in signals if row["signal"] == _COST}
    return tuple(_cost(row, costs[row["run_date"]]) for row in decisions if row["run_date"] in costs)


def _cost(decision: Row, signal: Row) -> CostPoint:
    covered, usd = json.loads(signal["beside"])["covered_trials"], number(signal["numerator"])
    return CostPoint(
        day=decision["run_date"],
        covered_usd=usd,
        covered_trials=covered,
        uncovered_trials=signal["left_out_total"],
        planned_trials=decision["planned"],
        verified=signal["denominator"],
        per_trial=None if usd is None or not covered else usd / covered,
        per_verified=value_of(signal),
        reason=reason_of(signal),
    )


def date_rows(
    marks: Iterable[DayMark], signals: Mapping[str, Iterable[SignalPoint]], costs: Iterable[CostPoint]
) -> tuple[DateRow, ...]:
    """A row per mark, with what the series have of its date."""
    points = {name: {point.day: point for point in series} for name, series in signals.items()}
    of_day = {cost.day: cost for cost in costs}
    return tuple(
        DateRow(
            mark=mark,
            signals={name: series.get(mark.day) for name, series in points.items()},
            cost=of_day.get(mark.day),
        )
        for mark in marks
    )


def limits_of(checks: Iterable[Row]) -> Mapping[str, Mapping[date, float]]:
    """Signal → date → limit, of rows of `gate_checks` of one subject that have one."""
    found: dict[str, dict[date, float]] = {name: {} for name in LIMITED_BY}
    limits = {check: found[name] for name, check in LIMITED_BY.items()}
    for row in checks:
        limits[row["check_name"]][row["run_date"]] = float(row["limit_value"])
    return found


def definition_changes(decisions: Sequence[Row], measured_with: Iterable[Row]) -> tuple[DefinitionChange, ...]:
    """Rows of `decisions` by date, and of `measured_with`, of one subject."""
    versions: dict[date, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in measured_with:
        name = f"{_SOURCES[row['source']]} {row['name'] or 'without a name'}"
        versions[row["run_date"]][name].add(row["version"] or "unversioned")
    known = {
        day: {name: ", ".join(sorted(of_name)) for name, of_name in found.items()} for day, found in versions.items()
    }
    found: list[DefinitionChange] = []
    last: Mapping[str, str] | None = None
    for before, after in pairwise(decisions):
        last = known.get(before["run_date"], last)
        found += _decision_changes(before, after)
        found += _version_changes(after["run_date"], last, known.get(after["run_date"]))
    return tuple(found)


def _decision_changes(before: Row, after: Row) -> Iterator[DefinitionChange]:
    for name, what in DEFINITIONS:
        if before[name] != after[name]:
            yield DefinitionChange(
                day=after["run_date"], what=what, before=_named(before, name), after=_named(after, name)
            )


def _named(row: Row, name: str) -> str | None:
    """What a column says, a policy by name and version; by its hash too, since a name may stay while limits change."""
    if name == "policy_hash":
        return f"{row['policy_name']} {row['policy_version']} ({row['policy_hash'][:8]})"
    if name == "window_days":
        return f"{row['window_days']} days"
    return None if row[name] is None else str(row[name])


def _version_changes(
    day: date, before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> Iterator[DefinitionChange]:
    """before: of the last date that had verdicts. Nothing where there is none, or none on the date itself."""
    if before is None or after is None:
        return
    for what in sorted(before.keys() | after.keys()):
        if before.get(what) != after.get(what):
            yield DefinitionChange(day=day, what=what, before=before.get(what), after=after.get(what))
