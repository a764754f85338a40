"""Stage 5: candidate against baseline. Runs only when nothing before it fired, and decides only where the policy
declares a non-inferiority margin. Differences are candidate - baseline of per-task means over the same tasks.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from evalbench.counts import CostCounts, OutcomeCounts
from evalbench.gate.baseline import graders, incomparable, no_baseline
from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.result import CheckResult, CheckStatus, Exact, ratio
from evalbench.gate.wording import plural
from evalbench.judged import JudgedTrial
from evalbench.pool import Pool
from evalbench.usage import processed_tokens

Reading = Callable[[JudgedTrial], Exact | None]


class Comparison(Check):
    """One figure of the candidate against the baseline's, over the same tasks."""

    stage = 5
    next_step = "read the paired differences by task before trading one figure for another"
    unit: ClassVar[str]
    what: ClassVar[str]
    higher_is_better: ClassVar[bool] = False

    def evaluate(self, case: Case) -> CheckResult:
        if case.baseline is None:
            return self.silent(CheckStatus.NOT_EVALUATED, no_baseline(case), unit=self.unit)
        margin = self.margin(case)
        differences = (*incomparable(case.pool, case.baseline), *self.differs(case.pool, case.baseline))
        if differences:
            return self.silent(
                CheckStatus.REFUSED,
                f"not comparable with {case.baseline_candidate}: {', '.join(differences)} differ",
                fired=margin is not None,
                unit=self.unit,
            )
        return self.compare(case, case.baseline, margin)

    @abstractmethod
    def margin(self, case: Case) -> Decimal | None:
        """The margin the policy declares, None when it only shows the figure."""

    def differs(self, candidate: Pool, baseline: Pool) -> tuple[str, ...]:
        """Further differences that forbid this comparison."""
        return ()

    @abstractmethod
    def compare(self, case: Case, baseline: Pool, margin: Decimal | None) -> CheckResult:
        """Candidate - baseline, judged against the margin."""

    def judged(
        self,
        case: Case,
        margin: Decimal | None,
        difference: Exact | None,
        best: Exact | None,
        worst: Exact | None,
        over: int,
    ) -> CheckResult:
        """Turn a difference and its ends into a result; a declared margin without any pair is missing evidence."""
        reason = f"{self.what}: candidate - {case.baseline_candidate} over {plural(over, 'task')}"
        if margin is None:
            return self.silent(CheckStatus.REPORTED, reason, observed=difference, denominator=over, unit=self.unit)
        if difference is None and worst is None:
            return self.silent(CheckStatus.REFUSED, f"{reason}: nothing to compare", fired=True, unit=self.unit)
        if self.higher_is_better:
            return self.at_least(
                -margin, observed=difference, best=best, worst=worst, reason=reason, denominator=over, unit=self.unit
            )
        return self.at_most(
            margin,
            observed=difference,
            best=best,
            worst=worst,
            worst_unbounded=worst is None,
            reason=reason,
            denominator=over,
            unit=self.unit,
        )


class PerTrialComparison(Comparison):
    """A figure every trial has: the mean over tasks of the differences of per-task means."""

    @abstractmethod
    def reading(self, trial: JudgedTrial) -> Exact | None:
        """The figure of one trial, None when unavailable."""

    def compare(self, case: Case, baseline: Pool, margin: Decimal | None) -> CheckResult:
        difference, over = paired_mean(case.pool.trials, baseline.trials, self.reading)
        best, worst = self.ends(case.pool, baseline)
        return self.judged(case, margin, difference, best, worst, over)

    def ends(self, candidate: Pool, baseline: Pool) -> tuple[Exact | None, Exact | None]:
        """(best, worst). An unread figure is 0 or has no bound: the candidate's at the best and at the worst end, the
        baseline's the other way round. None where an end has no bound.
        """
        mine, theirs = candidate.trials, baseline.trials
        best, _ = paired_mean(mine, theirs, self.reading, absent=0)
        worst, _ = paired_mean(mine, theirs, self.reading, absent_baseline=0)
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
        best, _ = paired_mean(mine, theirs, self.reading, absent=1, absent_baseline=0)
        worst, _ = paired_mean(mine, theirs, self.reading, absent=0, absent_baseline=1)
        return best, worst


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

    def compare(self, case: Case, baseline: Pool, margin: Decimal | None) -> CheckResult:
        mine, theirs = _cost_per_verified(case.pool), _cost_per_verified(baseline)
        my_low, my_high = _cost_ends(case.pool)
        their_low, their_high = _cost_ends(baseline)
        over = len({trial.trial.task_id for trial in case.pool.trials})
        return self.judged(
            case,
            margin,
            _difference(mine, theirs),
            _difference(my_low, their_high),
            _difference(my_high, their_low),
            over,
        )


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


def paired_mean(
    candidate: Iterable[JudgedTrial],
    baseline: Iterable[JudgedTrial],
    reading: Reading,
    *,
    absent: Exact | None = None,
    absent_baseline: Exact | None = None,
) -> tuple[Fraction | None, int]:
    """(mean over shared tasks of the difference of per-task means, number of those tasks); unread trials left out, or
    counted as `absent` / `absent_baseline` where given. Valid waits are left out.
    """
    mine = _task_means(candidate, reading, absent)
    theirs = _task_means(baseline, reading, absent_baseline)
    tasks = sorted(mine.keys() & theirs.keys())
    return ratio(sum((mine[task] - theirs[task] for task in tasks), Fraction(0)), len(tasks)), len(tasks)


def _task_means(trials: Iterable[JudgedTrial], reading: Reading, absent: Exact | None) -> dict[str, Fraction]:
    values: dict[str, list[Fraction]] = defaultdict(list)
    for trial in trials:
        if trial.waiting:
            continue
        found = reading(trial)
        value = absent if found is None else found
        if value is not None:
            values[trial.trial.task_id].append(Fraction(value))
    return {task: sum(read, Fraction(0)) / len(read) for task, read in values.items()}
