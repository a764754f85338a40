"""What a decision is about: a subject on a date, its pooled trials, the baseline's beside them, and what is not there:
runs that were expected, lost on the way, or voided.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from evalbench.counts import CostCounts, DeclarationCounts, EffectCounts, OutcomeCounts, ProgressCounts, QualityCounts
from evalbench.exclusions import Exclusion
from evalbench.ledger import Run
from evalbench.policy import Policy, Window
from evalbench.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Subject:
    """The gated unit."""

    product: str
    suite: str
    environment: str
    candidate: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LostRun:
    """A run directory that was planned and came back without a result. suite: routing's. path: below the runs root."""

    product: str
    suite: str
    environment: str
    candidate: str
    run_date: date
    path: str

    @property
    def subject(self) -> Subject:
        """The subject it would have been evidence for."""
        return Subject(product=self.product, suite=self.suite, environment=self.environment, candidate=self.candidate)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One subject on one date under one policy. `baseline` is the baseline's pool over its own runs, if any.

    other_versions: runs of the window on another dataset version than the newest run's; never pooled with it.
    window: routing's, instead of the policy's. expected: a run on this date is due.
    lost, excluded: lost and voided runs of the window, sorted by path and run id; they are in no pool. baseline_lost,
    baseline_excluded: the baseline's.
    """

    subject: Subject
    on: date
    policy: Policy
    pool: Pool
    other_versions: tuple[Run, ...] = ()
    baseline_candidate: str | None = None
    baseline: Pool | None = None
    window: Window | None = None
    expected: bool = False
    lost: tuple[LostRun, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    baseline_lost: tuple[LostRun, ...] = ()
    baseline_excluded: tuple[Exclusion, ...] = ()

    @property
    def window_days(self) -> int:
        """Days pooled, the decided one included."""
        return (self.window or self.policy.window).days

    @property
    def left_out(self) -> tuple[Exclusion, ...]:
        """Voided runs of the window, the baseline's among them, by run id."""
        return tuple(sorted((*self.excluded, *self.baseline_excluded), key=lambda item: item.run_id))

    @property
    def runs_on_date(self) -> int:
        """Runs on the decided date, whichever dataset version they are on."""
        return sum(1 for run in (*self.pool.runs, *self.other_versions) if run.run_date == self.on)

    @cached_property
    def outcomes(self) -> OutcomeCounts:
        """Outcome counts of the pool."""
        return OutcomeCounts.of(self.pool)

    @cached_property
    def declarations(self) -> DeclarationCounts:
        """Declaration counts of the pool."""
        return DeclarationCounts.of(self.pool)

    @cached_property
    def effects(self) -> EffectCounts:
        """Effect counts of the pool."""
        return EffectCounts.of(self.pool)

    @cached_property
    def progress(self) -> ProgressCounts:
        """Window counts of the pool."""
        return ProgressCounts.of(self.pool)

    @cached_property
    def cost(self) -> CostCounts:
        """Cost counts of the pool."""
        return CostCounts.of(self.pool)

    @cached_property
    def quality(self) -> QualityCounts:
        """Quality counts of the pool."""
        return QualityCounts.of(self.pool)


def as_of(day: date) -> datetime:
    """00:00 UTC of the day after: the moment that decides whether waits on `day` are still valid."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC)
