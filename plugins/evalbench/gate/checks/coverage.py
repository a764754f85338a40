"""Stage 1: is there enough evidence to judge at all? These fire, and are never proven: at the best end everything
missing is supplied in the candidate's favour.
"""

from abc import abstractmethod
from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from evalbench.evidence import states_a_state
from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.result import CheckResult, CheckStatus, Exact, TrialRef, missing_refs, ratio, trial_ref
from evalbench.judged import JudgedTrial
from evalbench.ledger import EffectState, OutcomeState, PlanSource, RunState


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
        worst_denominator: Exact | None = None,
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
        worst = ratio(numerator, denominator if worst_denominator is None else worst_denominator)
        return self.at_least(
            required,
            observed=observed,
            best=1 if worst is not None else None,
            worst=worst,
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


def _refs(case: Case, why: str, fits: Callable[[JudgedTrial], bool]) -> tuple[TrialRef, ...]:
    return tuple(trial_ref(trial, why, missing=True) for trial in case.pool.trials if fits(trial))


class Plan(Coverage):
    """Every run has a plan that says which trials are owed; without one a lost trial can't be seen."""

    name = "coverage.plan"
    next_step = "put the planned tasks into run.yaml, or keep the evalset beside the run"

    def evaluate(self, case: Case) -> CheckResult:
        runs = case.pool.runs
        observed = [run for run in runs if run.plan.source is PlanSource.OBSERVED]
        tolerated = case.policy.tolerates("plan", len(observed))
        required = Decimal(1) if case.policy.coverage.plan == "required" and not tolerated else None
        return self.covered(case, required, len(runs) - len(observed), len(runs), what="runs have a plan")


class DatasetVersion(Coverage):
    """All pooled runs speak of one dataset version; rates are never pooled across versions."""

    name = "coverage.dataset_version"
    next_step = "narrow the window, or rerun the older runs on the current dataset version"

    def evaluate(self, case: Case) -> CheckResult:
        versions = sorted({run.dataset_version or "(none)" for run in case.pool.runs})
        reason = f"{len(versions)} dataset version(s) in the window: {', '.join(versions)}"
        return self.at_least(
            1,
            observed=1 if len(versions) <= 1 else 0,
            best=1,
            worst=1 if len(versions) <= 1 else 0,
            reason=reason,
            numerator=len(versions),
            denominator=len(case.pool.runs),
            provable=False,
        )


class Ledger(Coverage):
    """Every planned trial has a record, every trial says whether it declared completion, every declared completion has
    an explicit outcome state, every effectful call an effect state. Silence always fires.
    """

    name = "coverage.ledger"
    next_step = "find why these trials left no record or said nothing, before reading any rate"

    def evaluate(self, case: Case) -> CheckResult:
        refs: list[TrialRef] = []
        if not case.policy.tolerates("records", case.pool.missing_count):
            refs.extend(missing_refs(case.pool.missing))
        missing = sum(item.count for item in case.pool.missing) if refs else 0
        undeclared = sum(1 for trial in case.pool.trials if trial.declared is None)
        declaration_owed = not case.policy.tolerates("declared", undeclared)
        silent = 0
        for trial in case.pool.trials:
            reasons = self._silences(case, trial, declaration_owed=declaration_owed)
            silent += bool(reasons)
            refs.extend(trial_ref(trial, why, missing=True) for why in reasons)
        abandoned = sorted(run.run_id for run in case.pool.runs if run.state is RunState.ABANDONED)
        owed = case.pool.planned
        spoken = owed - silent - missing
        result = self.covered(
            case, Decimal(1), spoken, owed, what="planned trials on record, none silent", trials=tuple(refs)
        )
        if not abandoned and owed:
            return result
        why = f"abandoned before it ended: {', '.join(abandoned)}" if abandoned else "no trial was planned or recorded"
        return self.at_least(
            1,
            observed=ratio(spoken, owed),
            best=1,
            worst=0,
            reason=f"{result.reason}; {why}",
            numerator=spoken,
            denominator=owed,
            trials=result.trials,
            provable=False,
        )

    @staticmethod
    def _silences(case: Case, trial: JudgedTrial, *, declaration_owed: bool) -> list[str]:
        reasons = []
        if trial.declared is None and declaration_owed:
            reasons.append("does not say whether it declared completion")
        if trial.declared is True and not trial.outcome_said:
            reasons.append("declared complete without an outcome state")
        if case.effects.silent and any(effect.silent for effect in trial.effects):
            reasons.append("effectful call without an effect record")
        if any(not effect.tolerated and not states_a_state(effect.effect) for effect in trial.effects):
            reasons.append("effect record without a state")
        if trial.opaque and case.effects.hidden:
            reasons.append("neither calls nor effects recorded")
        return reasons


class Completed(Coverage):
    """At least one trial completed."""

    name = "coverage.completed"
    next_step = "look at how the trials ended; nothing was completed"

    def evaluate(self, case: Case) -> CheckResult:
        done = case.quality.completed
        return self.at_least(
            1,
            observed=done,
            best=max(done, 1),
            worst=done,
            reason=f"{done}/{case.pool.planned} planned trials completed",
            numerator=done,
            denominator=case.pool.planned,
            unit="trials",
            provable=False,
        )


class Declared(Coverage):
    """At least one completion was declared: false success over nothing says nothing."""

    name = "coverage.declared"
    next_step = "have the harness record declared_complete, or let the policy count finished conversations"

    def evaluate(self, case: Case) -> CheckResult:
        declared = case.declarations.declared
        reason = f"{declared} declared completions among {len(case.pool.trials)} recorded trials"
        if declared == 0 and not case.policy.tolerates("declared", len(case.pool.trials)):
            return self.empty(reason)
        return self.silent(CheckStatus.REPORTED, reason, numerator=declared, denominator=len(case.pool.trials))


class Verdicts(Coverage):
    """Share of declared completions whose outcome was judged, verified or failed."""

    name = "coverage.verdicts"
    next_step = "repair the verifier, then judge these completions again"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.declarations
        tolerated = case.policy.tolerates("outcomes", counts.unavailable)
        trials = _refs(
            case,
            "declared complete, outcome unavailable",
            lambda t: t.declared is True and t.outcome.state is OutcomeState.UNAVAILABLE,
        )
        return self.covered(
            case,
            None if tolerated else case.policy.coverage.verdicts,
            counts.judged,
            counts.declared,
            what="declared completions judged",
            trials=trials,
        )


class EffectCoverage(Coverage):
    """Share of effects whose state at the destination is known."""

    name = "coverage.effects"
    next_step = "ask the destination what happened, and append the answer to the record"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.effects
        floor = case.policy.floors.effect_integrity
        accepted = counts.tolerated > 0 or case.policy.tolerates("effects", len(case.pool.trials))
        if counts.total == 0 and floor is not None and floor.required and not accepted:
            return self.empty("no effect was observed, and the policy requires effect integrity")
        known = counts.verified + counts.failed
        trials = _refs(
            case,
            "effect unknown",
            lambda t: any(e.state is EffectState.UNKNOWN and not e.tolerated for e in t.effects),
        )
        return self.covered(
            case, case.policy.coverage.effects, known, counts.total, what="effects have a known state", trials=trials
        )


class WriteEvidence(Coverage):
    """A piece of evidence every write effect must carry; rejected effects are not writes."""

    what: ClassVar[str]

    def evaluate(self, case: Case) -> CheckResult:
        return self.covered(case, self.required(case), self.carried(case), case.effects.total, what=self.what)

    @abstractmethod
    def required(self, case: Case) -> Decimal | None:
        """The share the policy requires."""

    @abstractmethod
    def carried(self, case: Case) -> int:
        """How many write effects carry it."""


class Receipts(WriteEvidence):
    """Every write effect carries evidence from its destination."""

    name = "coverage.receipts"
    next_step = "record the destination's receipt with each effect"
    what = "write effects carry a receipt"

    def required(self, case: Case) -> Decimal | None:
        return case.policy.coverage.receipts

    def carried(self, case: Case) -> int:
        return case.effects.with_receipt


class IdempotencyKeys(WriteEvidence):
    """Every write effect carries an idempotency key: without one a retry may do it twice."""

    name = "coverage.idempotency"
    next_step = "give every write an idempotency key and record it"
    what = "write effects carry an idempotency key"

    def required(self, case: Case) -> Decimal | None:
        return case.policy.coverage.idempotency

    def carried(self, case: Case) -> int:
        return case.effects.with_key


class ProgressCoverage(Coverage):
    """Windows of useful progress were recorded, where the policy requires them."""

    name = "coverage.progress"
    next_step = "repair the progress collector; windows are missing"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.progress
        floor = case.policy.floors.progress
        recorded = f"{counts.trials_with}/{len(case.pool.trials)} trials recorded windows, {counts.active} active"
        if floor is None or counts.active or case.policy.tolerates("progress", len(case.pool.trials)):
            return self.silent(
                CheckStatus.REPORTED, recorded, numerator=counts.trials_with, denominator=len(case.pool.trials)
            )
        if not floor.required:
            return self.silent(CheckStatus.REPORTED, recorded, numerator=0, denominator=len(case.pool.trials))
        return self.empty(recorded)


class CostCoverage(Coverage):
    """Share of trials whose cost is covered by a bill."""

    name = "coverage.cost"
    next_step = "get billing for these trials; an estimate is not a bill"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.cost
        total = counts.covered + counts.uncovered
        trials = _refs(case, "cost not covered", lambda t: t.cost_usd is None)
        tolerated = counts.uncovered > counts.uncovered_untolerated
        if case.policy.floors.budget is not None and not counts.covered_usd and not case.outcomes.verified:
            return self.empty("no outcome was verified and nothing spent, and the policy sets a budget")
        required = None if tolerated else case.policy.coverage.cost
        return self.covered(case, required, counts.covered, total, what="trials have covered cost", trials=trials)


class Grades(Coverage):
    """Share of completed trials whose named graders really ran."""

    name = "coverage.grades"
    next_step = "run the missing graders, or drop them from the policy"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.quality
        ungraded = counts.completed - counts.graded
        tolerated = case.policy.tolerates("grades", ungraded)
        required = None if tolerated else case.policy.coverage.grades
        trials = _refs(case, "completed, not graded", lambda t: t.completed and t.quality is None)
        return self.covered(
            case, required, counts.graded, counts.completed, what="completed trials graded", trials=trials
        )
