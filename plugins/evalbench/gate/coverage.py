"""What every coverage check is: a share of evidence that must be there. It fires, and is never proven: at the best end
everything missing is supplied in the candidate's favour.
"""

from decimal import Decimal

from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.result import CheckResult, CheckStatus, Exact, TrialRef, ratio


class Coverage(Check):
    """A share of evidence that must be there."""

    stage = 1

    def covered(
        self,
        case: Case,
        required: Decimal | None,
        numerator: Exact,
        denominator: Exact,
        *,
        what: str,
        trials: tuple[TrialRef, ...] = (),
    ) -> CheckResult:
        """numerator / denominator against the required share; null requirement = reported, never firing."""
        observed = ratio(numerator, denominator)
        reason = f"{numerator}/{denominator} {what}"
        if required is None:
            return self.silent(
                CheckStatus.REPORTED,
                reason,
                observed=observed,
                numerator=numerator,
                denominator=denominator,
                trials=trials,
            )
        return self.at_least(
            required,
            observed=observed,
            best=None if observed is None else 1,
            worst=observed,
            reason=reason,
            numerator=numerator,
            denominator=denominator,
            trials=trials,
            provable=False,
        )

    def empty(self, reason: str) -> CheckResult:
        """An empty denominator of a signal the policy requires."""
        return self.at_least(
            1, observed=None, best=1, worst=0, reason=reason, numerator=0, denominator=0, provable=False
        )
