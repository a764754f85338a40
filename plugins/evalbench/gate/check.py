"""The base of every check: a name, a stage, a next step, and the rule from two ends to fired and proven."""

from abc import ABC, abstractmethod
from typing import ClassVar

from evalbench.gate.case import Case
from evalbench.gate.result import CheckResult, CheckStatus, Exact, TrialRef, as_float


class Check(ABC):
    """One rule. Its docstring is its summary; `evaluate` returns a result for every case and never raises."""

    name: ClassVar[str]
    stage: ClassVar[int]
    next_step: ClassVar[str]

    @abstractmethod
    def evaluate(self, case: Case) -> CheckResult:
        """Judge one case."""

    def at_least(
        self,
        limit: Exact,
        *,
        observed: Exact | None,
        best: Exact | None,
        worst: Exact | None,
        reason: str,
        numerator: Exact | None = None,
        denominator: Exact | None = None,
        unit: str = "share",
        trials: tuple[TrialRef, ...] = (),
        provable: bool = True,
    ) -> CheckResult:
        """A floor: fires when the worst end is below `limit`, proven when even the best end is.

        An end that is None has nothing to divide and breaches nothing; coverage speaks of empty denominators.
        """
        return self._bounded(
            fired=worst is not None and worst < limit,
            proven=provable and best is not None and best < limit,
            limit=limit,
            observed=observed,
            best=best,
            worst=worst,
            reason=reason,
            numerator=numerator,
            denominator=denominator,
            unit=unit,
            trials=trials,
        )

    def at_most(
        self,
        limit: Exact,
        *,
        observed: Exact | None,
        best: Exact | None,
        worst: Exact | None,
        reason: str,
        worst_unbounded: bool = False,
        best_unbounded: bool = False,
        numerator: Exact | None = None,
        denominator: Exact | None = None,
        unit: str = "share",
        trials: tuple[TrialRef, ...] = (),
    ) -> CheckResult:
        """A ceiling: fires when the worst end is above `limit` or unbounded, proven when even the best end is."""
        return self._bounded(
            fired=worst_unbounded or (worst is not None and worst > limit),
            proven=best_unbounded or (best is not None and best > limit),
            limit=limit,
            observed=observed,
            best=best,
            worst=None if worst_unbounded else worst,
            worst_unbounded=worst_unbounded,
            reason=reason,
            numerator=numerator,
            denominator=denominator,
            unit=unit,
            trials=trials,
        )

    def _bounded(
        self,
        *,
        fired: bool,
        proven: bool,
        limit: Exact,
        observed: Exact | None,
        best: Exact | None,
        worst: Exact | None,
        reason: str,
        numerator: Exact | None,
        denominator: Exact | None,
        unit: str,
        trials: tuple[TrialRef, ...],
        worst_unbounded: bool = False,
    ) -> CheckResult:
        return CheckResult(
            name=self.name,
            stage=self.stage,
            status=CheckStatus.EVALUATED,
            fired=fired,
            proven=proven,
            reason=reason,
            next_step=self.next_step,
            observed=as_float(observed),
            best=as_float(best),
            worst=as_float(worst),
            worst_unbounded=worst_unbounded,
            limit=as_float(limit),
            numerator=as_float(numerator),
            denominator=as_float(denominator),
            unit=unit,
            trials=trials,
        )

    def silent(
        self,
        status: CheckStatus,
        reason: str,
        *,
        fired: bool = False,
        observed: Exact | None = None,
        numerator: Exact | None = None,
        denominator: Exact | None = None,
        unit: str = "share",
        trials: tuple[TrialRef, ...] = (),
    ) -> CheckResult:
        """A result without ends: reported, not evaluated, not used, or refused. Never proven."""
        return CheckResult(
            name=self.name,
            stage=self.stage,
            status=status,
            fired=fired,
            proven=False,
            reason=reason,
            next_step=self.next_step,
            observed=as_float(observed),
            numerator=as_float(numerator),
            denominator=as_float(denominator),
            unit=unit,
            trials=trials,
        )
