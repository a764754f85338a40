"""Stage 4: absolute floors."""

from decimal import Decimal

from evalbench.decimals import digits
from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.ends import effect_integrity, useful_progress, verified_yield
from evalbench.gate.result import CheckResult, CheckStatus, Exact, TrialRef, missing_refs, ratio, trial_ref
from evalbench.gate.wording import owed_trials, plural, tolerated
from evalbench.ledger import EffectState, OutcomeState


class ForbiddenTools(Check):
    """No call to a tool the policy forbids; an attempt counts, even a rejected one."""

    name = "floor.forbidden_tools"
    stage = 4
    next_step = "find what led the agent to the forbidden tool"

    def evaluate(self, case: Case) -> CheckResult:
        if not case.policy.tools.forbidden:
            return self.silent(CheckStatus.NOT_EVALUATED, "the policy forbids no tool", unit="calls")
        made = sum(trial.forbidden_calls for trial in case.pool.trials)
        unseen = sum(1 for trial in case.pool.trials if trial.trial.calls is None) + case.pool.missing_count
        refs = [trial_ref(t, "called a forbidden tool", missing=False) for t in case.pool.trials if t.forbidden_calls]
        refs += [trial_ref(t, "calls not recorded", missing=True) for t in case.pool.trials if t.trial.calls is None]
        return self.at_most(
            0,
            observed=made,
            best=made,
            worst=made + unseen,
            reason=f"{plural(made, 'call')} to forbidden tools; {_unseen(case, unseen, 'recorded calls')}",
            numerator=made,
            denominator=sum(len(trial.trial.calls or ()) for trial in case.pool.trials),
            unit="calls",
            trials=tuple(refs),
        )


class ProgressFloor(Check):
    """Active windows with task-specific new evidence, as a share of active windows."""

    name = "floor.progress"
    stage = 4
    next_step = "compare similar trials, and look for loops without new evidence"

    def evaluate(self, case: Case) -> CheckResult:
        floor, counts = case.policy.floors.progress, case.progress
        if floor is None:
            return self.silent(CheckStatus.NOT_EVALUATED, "the policy sets no progress floor")
        nothing_recorded = counts.trials_with == 0
        if nothing_recorded and (not floor.required or case.policy.tolerates("progress", len(case.pool.trials))):
            return self.silent(CheckStatus.NOT_EVALUATED, "no windows were recorded, which this policy accepts")
        ends = useful_progress(counts)
        return self.at_least(
            floor.min,
            observed=ends.observed,
            best=ends.best,
            worst=ends.worst,
            reason=f"{counts.with_delta}/{counts.active} active windows with new evidence, {counts.stale} stale, "
            f"{_unseen(case, counts.trials_without, 'windows')}",
            numerator=counts.with_delta,
            denominator=counts.active,
            trials=self._trials(case),
        )

    @staticmethod
    def _trials(case: Case) -> tuple[TrialRef, ...]:
        refs = []
        for trial in case.pool.trials:
            progress = trial.trial.progress
            if progress is None:
                if case.progress.trials_without:
                    refs.append(trial_ref(trial, "no windows recorded", missing=True))
                continue
            idle = progress.active - progress.active_with_delta
            if idle:
                refs.append(trial_ref(trial, f"{idle} active windows without new evidence", missing=False))
            if progress.stale:
                refs.append(trial_ref(trial, f"{progress.stale} stale windows", missing=True))
        return tuple(refs)


class EffectIntegrity(Check):
    """Effects verified at the destination, as a share of verified, failed and unknown ones."""

    name = "floor.effect_integrity"
    stage = 4
    next_step = "look at the failed effects at their destination, and ask it about the unknown ones"

    def evaluate(self, case: Case) -> CheckResult:
        floor, counts = case.policy.floors.effect_integrity, case.effects
        if floor is None:
            return self.silent(CheckStatus.NOT_EVALUATED, "the policy sets no effect floor")
        ends = effect_integrity(counts)
        return self.at_least(
            floor.min,
            observed=ends.observed,
            best=ends.best,
            worst=ends.worst,
            reason=f"{counts.verified}/{counts.total} effects verified, {counts.failed} failed, "
            f"{counts.unknown} unknown, {counts.rejected} rejected on purpose{tolerated(case)}",
            numerator=counts.verified,
            denominator=counts.total,
            trials=self._trials(case),
        )

    @staticmethod
    def _trials(case: Case) -> tuple[TrialRef, ...]:
        refs = []
        for trial in case.pool.trials:
            states = {effect.state for effect in trial.effects if case.effects.hold(effect)}
            if EffectState.FAILED in states:
                refs.append(trial_ref(trial, "effect failed", missing=False))
            if EffectState.UNKNOWN in states:
                refs.append(trial_ref(trial, "effect unknown", missing=True))
        return tuple(refs)


class VerifiedYield(Check):
    """Outcomes verified, as a share of planned trials that are not validly waiting: giving up silently must not pay."""

    name = "floor.verified_yield"
    stage = 4
    next_step = "look at the trials that ended without a verified outcome"

    def evaluate(self, case: Case) -> CheckResult:
        floor, counts = case.policy.floors.verified_yield, case.outcomes
        ends = verified_yield(counts)
        worst: Exact | None = ends.worst
        if counts.owed and case.policy.tolerates("outcomes", counts.unavailable):
            # Where every verdict is missing and that is tolerated, nothing is verified all the same.
            worst = ratio(counts.verified, counts.owed - counts.unavailable) or 0
        return self.at_least(
            floor.min,
            observed=ends.observed,
            best=ends.best,
            worst=worst,
            reason=f"{counts.verified}/{counts.owed} {owed_trials(case)} verified (valid waits left out), "
            f"{counts.unavailable} without a verdict, {counts.missing} without a record"
            + (", at least 1 unseen" if counts.open_ended else ""),
            numerator=counts.verified,
            denominator=counts.owed,
            trials=self._trials(case),
        )

    @staticmethod
    def _trials(case: Case) -> tuple[TrialRef, ...]:
        refs = []
        for trial in case.pool.trials:
            if trial.waiting or trial.verified:
                continue
            failed = trial.outcome.state is OutcomeState.FAILED
            why = "outcome failed" if failed else "outcome unavailable"
            stalled = f", stalled ({trial.wait_defect})" if trial.wait_defect is not None else ""
            refs.append(trial_ref(trial, why + stalled, missing=not failed))
        return (*refs, *missing_refs(case.pool.missing))


class BudgetFloor(Check):
    """Covered cost of all trials, failures and waits included, per verified outcome.

    Best end: missing cost is $0 and every unavailable or missing outcome verifies. Worst end: missing cost has no
    bound. Spend without any verified outcome breaches every budget.
    """

    name = "floor.budget"
    stage = 4
    next_step = "get any bills that are missing, then look at the cost of the trials that verified nothing"

    def evaluate(self, case: Case) -> CheckResult:
        budget, cost, outcomes = case.policy.floors.budget, case.cost, case.outcomes
        if budget is None:
            return self.silent(CheckStatus.NOT_EVALUATED, "the policy sets no budget", unit="USD")
        spend, verified, could_verify = cost.covered_usd, outcomes.verified, outcomes.could_verify
        open_ended = outcomes.open_ended
        return self.at_most(
            budget.max_usd_per_verified_outcome,
            observed=ratio(spend, verified),
            best=0 if open_ended else ratio(spend, could_verify),
            worst=ratio(spend, verified),
            worst_unbounded=cost.uncovered_untolerated > 0 or (verified == 0 and spend > 0),
            best_unbounded=could_verify == 0 and spend > 0 and not open_ended,
            reason=f"{_money(spend)} over {plural(verified, 'verified outcome')}, "
            f"{_unseen(case, cost.uncovered, 'covered cost')}"
            + (f", {_money(cost.estimated_usd)} estimated beside it" if cost.estimated else ""),
            numerator=spend,
            denominator=verified,
            unit="USD",
            trials=tuple(
                trial_ref(
                    t,
                    "cost not covered" if t.cost_usd is None else "spent without a verified outcome",
                    missing=t.cost_usd is None,
                )
                for t in case.pool.trials
                if t.cost_usd is None or not t.verified
            ),
        )


def _unseen(case: Case, count: int, what: str) -> str:
    """`2 trials without windows`; the trials an open-ended run may hide have no number."""
    least = "at least " if case.pool.open_ended else ""
    return f"{least}{plural(count, 'trial')} without {what}"


def _money(usd: Decimal) -> str:
    return f"${digits(usd)}"
