"""Stage 4, second half: floors against the baseline over the same tasks."""

from abc import abstractmethod
from typing import ClassVar

from evalbench.counts import EffectCounts, ProgressCounts
from evalbench.gate.baseline import no_baseline, shared_tasks
from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.ends import Ends, effect_integrity, useful_progress
from evalbench.gate.result import CheckResult, CheckStatus
from evalbench.gate.wording import plural
from evalbench.policy import RateFloor, Regression
from evalbench.pool import Pool, same_tasks


class RegressionFloor(Check):
    """A rate must not drop against the baseline over the tasks both have, valid waits left out.

    Best end: the candidate's best against the baseline's worst. Worst end: the other way round. A candidate that shares
    no task with its baseline, or owes the evidence and has none, can't show that it did not drop.
    """

    stage = 4
    what: ClassVar[str]

    @abstractmethod
    def ends(self, pool: Pool) -> Ends:
        """The rate's ends over a pool; all None where it has no rate."""

    @abstractmethod
    def floor(self, case: Case) -> RateFloor | None:
        """The policy's absolute floor of the same rate, which says whether the evidence is owed."""

    @abstractmethod
    def allowed(self, case: Case) -> Regression:
        """The largest drop the policy tolerates."""

    def evaluate(self, case: Case) -> CheckResult:
        if case.baseline is None:
            return self.silent(CheckStatus.NOT_EVALUATED, no_baseline(case))
        tasks = shared_tasks(case.pool, case.baseline)
        if not tasks:
            return self.silent(CheckStatus.REFUSED, "candidate and baseline share no task", fired=True)
        mine = self.ends(same_tasks(case.pool, tasks))
        theirs = self.ends(same_tasks(case.baseline, tasks))
        over = plural(len(tasks), "shared task")
        if theirs.worst is None or theirs.best is None:
            return self.silent(CheckStatus.NOT_EVALUATED, f"the baseline has no {self.what} on record over {over}")
        if mine.worst is None or mine.best is None:
            floor = self.floor(case)
            owed = floor is not None and floor.required
            return self.silent(CheckStatus.REFUSED, f"no {self.what} on record over {over}", fired=owed)
        observed = None
        if mine.observed is not None and theirs.observed is not None:
            observed = theirs.observed - mine.observed
        return self.at_most(
            self.allowed(case).max_drop,
            observed=observed,
            best=theirs.worst - mine.best,
            worst=theirs.best - mine.worst,
            reason=f"{self.what}: drop against {case.baseline_candidate} over {over}",
            denominator=len(tasks),
            unit="drop in share",
        )


class ProgressRegression(RegressionFloor):
    """Useful progress must not drop against the baseline."""

    name = "floor.progress_regression"
    next_step = "compare the same tasks side by side, and look for loops the baseline did not have"
    what = "useful progress"

    def ends(self, pool: Pool) -> Ends:
        counts = ProgressCounts.of(pool)
        if counts.trials_with == 0:
            return Ends(observed=None, best=None, worst=None)
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
            return Ends(observed=None, best=None, worst=None)
        return effect_integrity(counts)

    def floor(self, case: Case) -> RateFloor | None:
        return case.policy.floors.effect_integrity

    def allowed(self, case: Case) -> Regression:
        return case.policy.floors.effect_regression
