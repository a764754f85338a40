"""Stage 2: a completion that was declared and isn't there."""

from fractions import Fraction

from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.result import CheckResult, TrialRef, missing_refs, ratio, trial_ref
from evalbench.gate.wording import after
from evalbench.ledger import OutcomeState


class FalseSuccess(Check):
    """Declared complete and the outcome failed, as a share of all declared completions.

    Best end: unavailable outcomes verify, and a trial of unknown declaration declared completion unless its outcome
    failed. Worst end: unavailable outcomes fail, and it declared completion unless its outcome verified.
    """

    name = "false_success"
    stage = 2
    next_step = "look at the completion predicate, not at the style of the answer"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.declarations
        tolerated = case.policy.tolerates("outcomes", counts.unavailable)
        unverified = 0 if tolerated else counts.unavailable
        unknown_harm = counts.unknown_failed + counts.unknown_unavailable
        limit = case.policy.false_success.max_rate
        best = ratio(counts.failed, counts.declared + counts.unknown_verified + counts.unknown_unavailable)
        worst = ratio(counts.failed + unverified + unknown_harm, counts.declared + unknown_harm)
        if case.pool.open_ended:
            # Any number of trials may be missing: enough of them take the rate as near to 1, or to 0, as one likes.
            best, worst = (Fraction(0) if limit else best), Fraction(1)
        return self.at_most(
            limit,
            observed=ratio(counts.failed, counts.declared),
            best=best,
            worst=worst,
            reason=self._said(case),
            numerator=counts.failed,
            denominator=counts.declared,
            trials=self._trials(case, tolerated=tolerated),
        )

    @staticmethod
    def _said(case: Case) -> str:
        counts = case.declarations
        failed = f"{counts.failed}/{counts.declared} declared completions failed at the destination"
        unverified = f"{counts.unavailable} unverified"
        unknown = f"; {counts.unknown} of unknown declaration" if counts.unknown else ""
        said = (_naming(failed, case, OutcomeState.FAILED), _naming(unverified, case, OutcomeState.UNAVAILABLE))
        return f"{'; '.join(said)}{unknown}"

    @staticmethod
    def _trials(case: Case, *, tolerated: bool) -> tuple[TrialRef, ...]:
        refs = [
            trial_ref(t, "declared complete, outcome failed", missing=False)
            for t in case.pool.trials
            if t.false_success
        ]
        for trial in case.pool.trials:
            unavailable = trial.outcome.state is OutcomeState.UNAVAILABLE
            if trial.declared is True and unavailable and not tolerated:
                refs.append(trial_ref(trial, "declared complete, outcome unavailable", missing=True))
            elif trial.declared is None and not trial.verified and case.declarations.unknown:
                refs.append(trial_ref(trial, "declaration unknown, outcome not verified", missing=True))
        if not case.policy.tolerates("records", case.pool.missing_count):
            refs.extend(missing_refs(case.pool.missing))
        return tuple(refs)


def _naming(said: str, case: Case, state: OutcomeState) -> str:
    """What is said of declared completions in this state, with their trials and reasons."""
    trials = (trial for trial in case.pool.trials if trial.declared is True and trial.outcome.state is state)
    return after(said, ((trial, trial.outcome.reason) for trial in trials))
