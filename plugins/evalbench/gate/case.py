"""What a decision is about: a subject on a date, its pooled trials, and the baseline's beside them."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from evalbench.counts import CostCounts, DeclarationCounts, EffectCounts, OutcomeCounts, ProgressCounts, QualityCounts
from evalbench.ledger import Run
from evalbench.policy import Policy
from evalbench.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Subject:
    """The gated unit."""

    product: str
    suite: str
    environment: str
    candidate: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """One subject on one date under one policy. `baseline` is the baseline's pool over its own runs, if any.

    other_versions: runs of the window on another dataset version than the newest run's; never pooled with it.
    """

    subject: Subject
    on: date
    policy: Policy
    pool: Pool
    other_versions: tuple[Run, ...] = ()
    baseline_candidate: str | None = None
    baseline: Pool | None = None

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
