"""Stage 4, second half: floors against the baseline over the same tasks."""

from abc import abstractmethod
from typing import ClassVar

from evalbench.counts import EffectCounts, ProgressCounts
from evalbench.gate.baseline import baseline_gaps, shared_tasks, uncompared
from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.ends import Ends, effect_integrity, useful_progress
from evalbench.gate.result import CheckResult, CheckStatus
from evalbench.gate.wording import difference, figure, plural
from evalbench.policy import RateFloor, Regression
from evalbench.pool import Pool, same_tasks

NO_RATE = Ends(observed=None, best=None, worst=None, numerator=0, denominator=0)


class RegressionFloor(Check):
    """A rate must not drop against the baseline over the tasks both have, valid waits left out.

    Best end: the candidate's best against the baseline's worst. Worst end: the other way round. A candidate that shares
    no task with its baseline, or owes the evidence and has none, can't show that it did not drop.
    """

    stage = 4
    what: ClassVar[str]

    @abstractmethod
    def ends(self, pool: Pool) -> Ends:
        """The rate's ends over a pool, NO_RATE where it has none."""

    @abstractmethod
    def floor(self, case: Case) -> RateFloor | None:
        """The policy's absolute floor of the same rate, which says whether the evidence is owed."""

    @abstractmethod
    def allowed(self, case: Case) -> Regression:
        """The largest drop the policy tolerates."""

    def evaluate(self, case: Case) -> CheckResult:
        if case.baseline is None or not case.pool.runs:
            return self.silent(CheckStatus.NOT_EVALUATED, uncompared(case))
        tasks = shared_tasks(case.pool, case.baseline)
        if not tasks:
            why = f"candidate and baseline share no task{baseline_gaps(case)}"
            return self.silent(CheckStatus.REFUSED, why, fired=True)
        mine = self.ends(same_tasks(case.pool, tasks))
        theirs = self.ends(same_tasks(case.baseline, tasks))
        over = plural(len(tasks), "shared task")
        if theirs.worst is None or theirs.best is None:
            why = f"the baseline has no {self.what} on record over {over}{baseline_gaps(case)}"
            return self.silent(CheckStatus.NOT_EVALUATED, why)
        if mine.worst is None or mine.best is None:
            floor = self.floor(case)
            owed = floor is not None and floor.required
            return self.silent(CheckStatus.REFUSED, f"no {self.what} on record over {over}", fired=owed)
        gained = None
        if mine.observed is not None and theirs.observed is not None:
            gained = mine.observed - theirs.observed
        return self.at_most(
            self.allowed(case).max_drop,
            observed=-gained if gained is not None else None,
            best=theirs.worst - mine.best,
            worst=theirs.best - mine.worst,
            reason=f"{self.what} over {over}: {_said(mine)} against {case.baseline_candidate}'s {_said(theirs)},"
            f" {difference(gained, 'share')}{baseline_gaps(case)}",
            denominator=len(tasks),
            unit="drop in share",
        )


def _said(ends: Ends) -> str:
    """`15/16 (0.938)`."""
    return f"{ends.numerator}/{ends.denominator} ({figure(ends.observed, 'share')})"


class ProgressRegression(RegressionFloor):
    """Useful progress must not drop against the baseline."""

    name = "floor.progress_regression"
    next_step = "compare the same tasks side by side, and look for loops the baseline did not have"
    what = "useful progress"

    def ends(self, pool: Pool) -> Ends:
        counts = ProgressCounts.of(pool)
        if counts.trials_with == 0:
            return NO_RATE
        return useful_progress(counts)

    def floor(self, case: Case) -> RateFloor | None:
        return case.policy.floors.progress

    def allowed(self, case: Case) -> Regression:
        return case.policy.floors.progress_regression


class EffectRegression(RegressionFloor):
    """Effect integrity must not drop against the baseline."""

    name = "floor.effect_regression"
    next_step = "look at the effects that verify for the baseline and not for the candidate"
    what = "effect integrity"

    def ends(self, pool: Pool) -> Ends:
        counts = EffectCounts.of(pool)
        if counts.total == 0:
            return NO_RATE
        return effect_integrity(counts)

    def floor(self, case: Case) -> RateFloor | None:
        return case.policy.floors.effect_integrity

    def allowed(self, case: Case) -> Regression:
        return case.policy.floors.effect_regression
