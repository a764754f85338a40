"""Stage 1, second: is everything that was planned on record, and does it say what it must?"""

from collections import Counter
from decimal import Decimal

from evalbench.evidence import states_a_state
from evalbench.gate.baseline import task_definitions
from evalbench.gate.case import Case
from evalbench.gate.coverage import Coverage
from evalbench.gate.result import CheckResult, CheckStatus, TrialRef, missing_refs, ratio, trial_ref
from evalbench.gate.wording import listed, owed_trials, plural
from evalbench.judged import JudgedTrial
from evalbench.ledger import PlanSource, RunState


class Plan(Coverage):
    """Every run has a plan that says which trials are owed; without one a lost trial can't be seen."""

    name = "coverage.plan"
    next_step = "put the planned tasks into run.yaml, or keep the evalset beside the run"

    def evaluate(self, case: Case) -> CheckResult:
        runs = case.pool.runs
        observed = [run for run in runs if run.plan.source is PlanSource.OBSERVED]
        tolerated = case.policy.tolerates("plan", len(observed))
        required = Decimal(1) if case.policy.coverage.plan == "required" and not tolerated else None
        unseen = ", so a lost trial can't be seen" if observed else ""
        return self.covered(case, required, len(runs) - len(observed), len(runs), what=f"runs have a plan{unseen}")


class DatasetVersion(Coverage):
    """Runs of the decided day speak of one dataset version. Rates are pooled over the newest run's version only; runs
    of earlier days on another one are left out and shown.
    """

    name = "coverage.dataset_version"
    next_step = "rerun the candidate on one dataset version, or give the versions suites of their own"

    def evaluate(self, case: Case) -> CheckResult:
        others = case.other_versions
        if not case.pool.runs:
            return self.silent(CheckStatus.REPORTED, "no run, so no dataset version", numerator=0, denominator=0)
        versions = sorted({run.dataset_version or "(none)" for run in (*case.pool.runs, *others)})
        pooled, found = len(case.pool.runs), len(case.pool.runs) + len(others)
        same_day = sum(1 for run in others if run.run_date == case.on)
        said = f"{plural(len(versions), 'dataset version')} in the window ({', '.join(versions)})"
        changed = sorted(task for task, definitions in task_definitions(case.pool).items() if len(definitions) > 1)
        redefined = f"; with more than one definition under one id: {listed(changed)}" if changed else ""
        return self.at_least(
            1,
            observed=ratio(pooled, found),
            best=1,
            worst=0 if same_day else 1,
            reason=f"{pooled}/{found} runs pooled: {said}, {same_day} left out on the decided day{redefined}",
            numerator=pooled,
            denominator=found,
            provable=False,
        )


NO_DECLARATION = "does not say whether it declared completion"
NO_OUTCOME = "declared complete without an outcome state"
NO_EFFECT = "effectful call without an effect record"
NO_STATE = "effect record without a state"
NO_CALLS = "effects recorded without the calls that made them"
NOTHING_DONE = "neither calls nor effects recorded"

SILENCES = {
    NO_DECLARATION: "say nothing of declared_complete",
    NO_OUTCOME: "declared complete without an outcome state",
    NO_EFFECT: "made effectful calls without an effect record",
    NO_STATE: "have an effect record without a state",
    NO_CALLS: "recorded effects without the calls that made them",
    NOTHING_DONE: "recorded neither calls nor effects",
}
"""What a trial is silent about, and how that is said of several."""


class Ledger(Coverage):
    """Every planned trial has a record, every trial says whether it declared completion, every declared completion has
    an explicit outcome state, every effectful call an effect state. Silence always fires.
    """

    name = "coverage.ledger"
    next_step = (
        "complete what these records leave out (for calls that only read, name the tools in the policy's read_only);"
        " tolerate by name only what can't be recorded"
    )

    def evaluate(self, case: Case) -> CheckResult:
        refs: list[TrialRef] = []
        if not case.policy.tolerates("records", case.pool.missing_count):
            refs.extend(missing_refs(case.pool.missing))
        missing = case.pool.missing_count if refs else 0
        undeclared = sum(1 for trial in case.pool.trials if trial.declared is None)
        declaration_owed = not case.policy.tolerates("declared", undeclared)
        silent = 0
        kinds: Counter[str] = Counter()
        for trial in case.pool.trials:
            reasons = self._silences(case, trial, declaration_owed=declaration_owed)
            silent += bool(reasons)
            kinds.update(reasons)
            refs.extend(trial_ref(trial, why, missing=True) for why in reasons)
        abandoned = sorted(run.run_id for run in case.pool.runs if run.state is RunState.ABANDONED)
        # What the policy tolerates is not owed here, so that it isn't counted as being on record either.
        owed = case.pool.planned - (case.pool.missing_count - missing)
        spoken = owed - silent - missing
        result = self.covered(case, Decimal(1), spoken, owed, what=self._said(case, kinds, missing), trials=tuple(refs))
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
    def _said(case: Case, kinds: Counter[str], missing: int) -> str:
        unseen = "at least 1 unseen" if case.pool.open_ended else ""
        left = f"{missing} left no record" if missing else ""
        silences = (f"{kinds[kind]} {said}" for kind, said in SILENCES.items() if kinds[kind])
        what = ", ".join(part for part in (left, *silences, unseen) if part)
        return f"{owed_trials(case)} on record and complete in what they say" + (f": {what}" if what else "")

    @staticmethod
    def _silences(case: Case, trial: JudgedTrial, *, declaration_owed: bool) -> list[str]:
        reasons = []
        if trial.declared is None and declaration_owed:
            reasons.append(NO_DECLARATION)
        if trial.declared is True and not trial.outcome_said:
            reasons.append(NO_OUTCOME)
        if case.effects.silent and any(effect.silent for effect in trial.effects):
            reasons.append(NO_EFFECT)
        if any(not effect.tolerated and not states_a_state(effect.effect) for effect in trial.effects):
            reasons.append(NO_STATE)
        if case.effects.unlisted and trial.trial.calls is None and not trial.opaque:
            reasons.append(NO_CALLS)
        if trial.opaque and case.effects.hidden:
            reasons.append(NOTHING_DONE)
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
        recorded = plural(len(case.pool.trials), "recorded trial")
        reason = f"{plural(declared, 'declared completion')} among {recorded}"
        if declared == 0 and not case.policy.tolerates("declared", len(case.pool.trials)):
            return self.empty(reason)
        return self.silent(CheckStatus.REPORTED, reason, numerator=declared, denominator=len(case.pool.trials))
