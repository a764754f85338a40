"""What a check says, and how its two ends become fired and proven."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from evalbench.judged import JudgedTrial
from evalbench.pool import MissingTrial

Exact: TypeAlias = Fraction | int | Decimal


class CheckStatus(StrEnum):
    """What became of a check. Only `evaluated` and `refused` can fire."""

    EVALUATED = "evaluated"
    REPORTED = "reported"
    NOT_EVALUATED = "not_evaluated"
    NOT_USED = "not_used"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRef:
    """A trial behind a check, and why. trial is None for a planned trial without a record.

    missing: the evidence is absent (it may turn out either way); else it is harm on record.
    """

    run_id: str
    task_id: str
    trial: int | None
    why: str
    missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check at both ends. best = missing evidence in the candidate's favour, worst = against it.

    observed, best, worst and limit are in the check's unit (shares 0..1, counts, US dollars, seconds, tokens); None
    where there is nothing to divide, or, for worst with worst_unbounded, where no bound exists.
    reason: one sentence for people, the raw count first.
    """

    name: str
    stage: int
    status: CheckStatus
    fired: bool
    proven: bool
    reason: str
    next_step: str
    observed: float | None = None
    best: float | None = None
    worst: float | None = None
    worst_unbounded: bool = False
    limit: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    unit: str = "share"
    trials: tuple[TrialRef, ...] = ()


def ratio(numerator: Exact, denominator: Exact) -> Fraction | None:
    """Exact quotient, None over nothing."""
    return Fraction(numerator) / Fraction(denominator) if denominator else None


def as_float(value: Exact | None) -> float | None:
    """For people and JSON; comparisons are made before, exactly."""
    return None if value is None else float(value)


def trial_ref(trial: JudgedTrial, why: str, *, missing: bool) -> TrialRef:
    """A reference to a recorded trial."""
    run_id, task_id, number = trial.key
    return TrialRef(run_id=run_id, task_id=task_id, trial=number, why=why, missing=missing)


def missing_refs(missing: tuple[MissingTrial, ...]) -> tuple[TrialRef, ...]:
    """References to planned trials without a record, one per task."""
    return tuple(
        TrialRef(run_id=item.run_id, task_id=item.task_id, trial=None, why="no record", missing=True)
        for item in missing
    )
