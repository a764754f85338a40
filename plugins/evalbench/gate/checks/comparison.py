"""Stage 5: candidate against baseline. Runs only when nothing before it fired, and decides only where the policy
declares a non-inferiority margin. Differences are candidate - baseline of per-task means over the same tasks.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from evalbench.counts import CostCounts, OutcomeCounts
from evalbench.gate.baseline import baseline_gaps, graders, incomparable, uncompared
from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.pairs import paired
from evalbench.gate.result import CheckResult, CheckStatus, Exact, ratio
from evalbench.gate.wording import difference, figure, plural
from evalbench.judged import JudgedTrial
from evalbench.pool import Pool
from evalbench.usage import processed_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A difference with its two ends, over how many tasks, and both figures in words with what they are counted over.

    None: of difference where a side has no figure, of an end where it has no bound.
    """

    difference: Exact | None
    best: Exact | None
    worst: Exact | None
    tasks: int
    candidate: str
    baseline: str


class Comparison(Check):
    """One figure of the candidate against the baseline's, over the same tasks."""

    stage = 5
    next_step = "read the paired differences by task before trading one figure for another"
    unit: ClassVar[str]
    what: ClassVar[str]
    higher_is_better: ClassVar[bool] = False

    def evaluate(self, case: Case) -> CheckResult:
        if case.baseline is None or not case.pool.runs:
            return self.silent(CheckStatus.NOT_EVALUATED, uncompared(case), unit=self.unit)
        margin = self.margin(case)
        differences = (*incomparable(case.pool, case.baseline), *self.differs(case.pool, case.baseline))
        if differences:
            return self.silent(
                CheckStatus.REFUSED,
                f"not comparable with {case.baseline_candidate}: {', '.join(differences)} differ{baseline_gaps(case)}",
                fired=margin is not None,
                unit=self.unit,
            )
        return self.judged(case, margin, self.compare(case.pool, case.baseline))

    @abstractmethod
    def margin(self, case: Case) -> Decimal | None:
        """The margin the policy declares, None when it only shows the figure."""

    def differs(self, candidate: Pool, baseline: Pool) -> tuple[str, ...]:
        """Further differences that forbid this comparison."""
        return ()

    @abstractmethod
    def compare(self, candidate: Pool, baseline: Pool) -> Compared:
        """Candidate - baseline."""

    def judged(self, case: Case, margin: Decimal | None, found: Compared) -> CheckResult:
        """Judge a difference against the margin; a declared margin without any pair is missing evidence."""
        reason = (
            f"{self.what} over {plural(found.tasks, 'task')}: {found.candidate} against {case.baseline_candidate}'s"
            f" {found.baseline}, {difference(found.difference, self.unit)}{baseline_gaps(case)}"
        )
        shown, over = found.difference, found.tasks
        if margin is None:
            return self.silent(CheckStatus.REPORTED, reason, observed=shown, denominator=over, unit=self.unit)
        if shown is None and found.worst is None:
            return self.silent(CheckStatus.REFUSED, f"{reason}: nothing to compare", fired=True, unit=self.unit)
        if self.higher_is_better:
            return self.at_least(
                -margin,
                observed=shown,
                best=found.best,
                worst=found.worst,
                reason=reason,
                denominator=over,
                unit=self.unit,
            )
        return self.at_most(
            margin,
            observed=shown,
            best=found.best,
            worst=found.worst,
            worst_unbounded=found.worst is None,
            reason=reason,
            denominator=over,
            unit=self.unit,
        )


class PerTrialComparison(Comparison):
    """A figure every trial has: the mean over tasks of the differences of per-task means."""

    @abstractmethod
    def reading(self, trial: JudgedTrial) -> Exact | None:
        """The figure of one trial, None when unavailable."""

    def compare(self, candidate: Pool, baseline: Pool) -> Compared:
        pair = paired(candidate.trials, baseline.trials, self.reading)
        best, worst = self.ends(candidate, baseline)
        return Compared(
            difference=pair.difference,
            best=best,
            worst=worst,
            tasks=len(pair.tasks),
            candidate=self._said(pair.candidate, candidate.trials, pair.tasks),
            baseline=self._said(pair.baseline, baseline.trials, pair.tasks),
        )

    def _said(self, value: Exact | None, trials: Iterable[JudgedTrial], tasks: frozenset[str]) -> str:
        """`0.818 (4/5 trials)`: of the trials that don't validly wait, those that make the figure."""
        owed = [trial for trial in trials if not trial.waiting]
        read = sum(1 for trial in owed if trial.trial.task_id in tasks and self.reading(trial) is not None)
        return f"{figure(value, self.unit)} ({read}/{plural(len(owed), 'trial')})"

    def ends(self, candidate: Pool, baseline: Pool) -> tuple[Exact | None, Exact | None]:
        """(best, worst). An unread figure is 0 or has no bound: the candidate's at the best and at the worst end, the
        baseline's the other way round. None where an end has no bound.
        """
        mine, theirs = candidate.trials, baseline.trials
        best = paired(mine, theirs, self.reading, absent=0).difference
        worst = paired(mine, theirs, self.reading, absent_baseline=0).difference
        return None if self._unread(theirs) else best, None if self._unread(mine) else worst

    def _unread(self, trials: Iterable[JudgedTrial]) -> bool:
        return any(not trial.waiting and self.reading(trial) is None for trial in trials)


class CompareQuality(PerTrialComparison):
    """Task quality against the baseline, per task."""

    name = "compare.quality"
    unit = "quality 0..1"
    what = "task quality"
    higher_is_better = True

    def margin(self, case: Case) -> Decimal | None:
        return case.policy.comparison.quality

    def differs(self, candidate: Pool, baseline: Pool) -> tuple[str, ...]:
        return () if graders(candidate) == graders(baseline) else ("graders or rubric versions",)

    def reading(self, trial: JudgedTrial) -> Exact | None:
        return trial.quality if trial.completed else None

    def ends(self, candidate: Pool, baseline: Pool) -> tuple[Exact | None, Exact | None]:
        """Ungraded → 1 / 0 for the candidate, the other way round for the baseline."""
        mine, theirs = candidate.trials, baseline.trials
        best = paired(mine, theirs, self.reading, absent=1, absent_baseline=0)
        worst = paired(mine, theirs, self.reading, absent=0, absent_baseline=1)
        return best.difference, worst.difference


class CompareLatency(PerTrialComparison):
    """Wall time per trial against the baseline, per task."""

    name = "compare.latency"
    unit = "seconds"
    what = "latency"

    def margin(self, case: Case) -> Decimal | None:
        return case.policy.comparison.latency_s

    def reading(self, trial: JudgedTrial) -> Exact | None:
        timing = trial.trial.timing
        return None if timing is None or timing.duration_s is None else Fraction(timing.duration_s)


class CompareTokens(PerTrialComparison):
    """Processed tokens per trial against the baseline, per task."""

    name = "compare.tokens"
    unit = "tokens"
    what = "processed tokens"

    def margin(self, case: Case) -> Decimal | None:
        return case.policy.comparison.tokens

    def reading(self, trial: JudgedTrial) -> Exact | None:
        return processed_tokens(trial.trial.usage)


class CompareCost(Comparison):
    """Cost per verified outcome against the baseline, over all trials of both."""

    name = "compare.cost"
    unit = "USD"
    what = "cost per verified outcome"

    def margin(self, case: Case) -> Decimal | None:
        return case.policy.comparison.cost_usd

    def compare(self, candidate: Pool, baseline: Pool) -> Compared:
        mine, theirs = _cost_per_verified(candidate), _cost_per_verified(baseline)
        my_low, my_high = _cost_ends(candidate)
        their_low, their_high = _cost_ends(baseline)
        return Compared(
            difference=_difference(mine, theirs),
            best=_difference(my_low, their_high),
            worst=_difference(my_high, their_low),
            tasks=len({trial.trial.task_id for trial in candidate.trials}),
            candidate=self._said(mine, candidate),
            baseline=self._said(theirs, baseline),
        )

    def _said(self, value: Fraction | None, pool: Pool) -> str:
        """`$0.52 ($2.07 over 4 verified outcomes)`, and how many trials have no covered cost."""
        cost, verified = CostCounts.of(pool), OutcomeCounts.of(pool).verified
        spent = f"{figure(cost.covered_usd, self.unit)} over {plural(verified, 'verified outcome')}"
        without = f", {plural(cost.uncovered, 'trial')} without covered cost" if cost.uncovered else ""
        return f"{figure(value, self.unit)} ({spent}{without})"


def _difference(mine: Fraction | None, theirs: Fraction | None) -> Fraction | None:
    return None if mine is None or theirs is None else mine - theirs


def _cost_per_verified(pool: Pool) -> Fraction | None:
    return ratio(CostCounts.of(pool).covered_usd, OutcomeCounts.of(pool).verified)


def _cost_ends(pool: Pool) -> tuple[Fraction | None, Fraction | None]:
    """(lowest, highest) cost per verified outcome that what is missing allows; None where there is none."""
    cost, outcomes = CostCounts.of(pool), OutcomeCounts.of(pool)
    lowest = Fraction(0) if pool.open_ended else ratio(cost.covered_usd, outcomes.could_verify)
    bounded = not cost.uncovered_untolerated and outcomes.verified
    return lowest, ratio(cost.covered_usd, outcomes.verified) if bounded else None
