"""Rows of `signals` as figures: values with their counts, their coverage, and why there is none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from evalbench.gate.decision import Verdict
from evalbench.web.models.parts import SIGNAL_LABELS, SignalFigure, SignalPoint

Row: TypeAlias = Mapping[str, Any]
"""A row of a held table."""

_OVER_NOTHING = {
    "task_quality": "no completed trial was graded",
    "useful_progress": "no active window was recorded",
    "effect_integrity": "no effect on record counts",
    "cost_per_verified_outcome": "no outcome was verified",
    "false_success": "no completion was declared",
}
_OF_NOTHING = "no trial has a bill"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coverage:
    covered: int
    population: int
    counted: str


def signal_figure(row: Row, trials: int) -> SignalFigure:
    """A row of `signals`. trials: those on record in its decision."""
    beside = json.loads(row["beside"])
    left_out = json.loads(row["left_out"])
    coverage = _coverage(row["signal"], row["denominator"], beside, left_out, trials)
    return SignalFigure(
        name=row["signal"],
        label=SIGNAL_LABELS[row["signal"]],
        unit=row["unit"],
        value=value_of(row),
        numerator=number(row["numerator"]),
        denominator=row["denominator"],
        left_out=left_out,
        left_out_total=row["left_out_total"],
        ci95=_interval(row),
        beside=beside,
        reason=reason_of(row),
        covered=coverage.covered,
        population=coverage.population,
        counted=coverage.counted,
    )


def signal_point(row: Row) -> SignalPoint:
    """A row of `signals` with its decision beside it."""
    return SignalPoint(
        day=row["run_date"],
        decision=Verdict(row["decision"]),
        value=value_of(row),
        numerator=number(row["numerator"]),
        denominator=row["denominator"],
        left_out_total=row["left_out_total"],
        ci95=_interval(row),
        reason=reason_of(row),
    )


def number(value: Decimal | None) -> float | None:
    """A stored number for people and charts."""
    return None if value is None else float(value)


def value_of(row: Row) -> float | None:
    """What a row of `signals` comes to; None over nothing."""
    if row["numerator"] is None or not row["denominator"]:
        return None
    return float(row["numerator"] / row["denominator"])


def _interval(row: Row) -> tuple[float, float] | None:
    return None if row["ci95_low"] is None else (row["ci95_low"], row["ci95_high"])


def reason_of(row: Row) -> str | None:
    """Why a row of `signals` comes to nothing; None where it doesn't."""
    if row["numerator"] is None:
        return _OF_NOTHING
    return None if row["denominator"] else _OVER_NOTHING[row["signal"]]


def _coverage(
    signal: str, denominator: int, beside: Mapping[str, Any], left_out: Mapping[str, int], trials: int
) -> _Coverage:
    """How much of what should speak for a signal does."""
    if signal == "task_quality":
        return _Coverage(covered=beside["graded"], population=beside["completed"], counted="completed trials graded")
    if signal == "useful_progress":
        without = left_out.get("trials_without_windows", 0)
        return _Coverage(covered=trials - without, population=trials, counted="trials with recorded windows")
    if signal == "effect_integrity":
        known = denominator - beside["unknown"]
        return _Coverage(covered=known, population=denominator, counted="effects whose state is known")
    if signal == "cost_per_verified_outcome":
        covered = beside["covered_trials"]
        whole = covered + left_out.get("cost_not_covered", 0)
        return _Coverage(covered=covered, population=whole, counted="trials with a covered cost")
    judged = denominator - beside["unverified"]
    return _Coverage(covered=judged, population=denominator, counted="declared completions judged")
