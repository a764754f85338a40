"""Stage 3: an effect nobody can account for."""

from evalbench.gate.case import Case
from evalbench.gate.check import Check
from evalbench.gate.result import CheckResult, TrialRef, missing_refs, trial_ref
from evalbench.gate.wording import after, plural, tolerated, with_unknown_effects
from evalbench.ledger import EffectState


class UnknownEffects(Check):
    """Number of effects whose state at the destination is unknown; a silent effectful call is one.

    Best end: every unknown one verifies. Worst end: they are what they are, and a trial that recorded neither calls
    nor effects hides at least one.
    """

    name = "unknown_effects"
    stage = 3
    next_step = "ask the destination, or reconcile the idempotency key, before any retry"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.effects
        return self.at_most(
            case.policy.unknown_effects.max_count,
            observed=counts.unknown,
            best=0,
            worst=counts.unknown + counts.hidden,
            reason=self._said(case),
            numerator=counts.unknown,
            denominator=counts.total,
            unit="effects",
            trials=self._trials(case),
        )

    @staticmethod
    def _said(case: Case) -> str:
        counts = case.effects
        silent = f", {counts.silent} of them calls without an effect record" if counts.silent else ""
        unknown = after(f"{counts.unknown}/{counts.total} effects unknown{silent}", with_unknown_effects(case))
        least = "at least " if case.pool.open_ended else ""
        hidden = f"; {least}{plural(counts.hidden, 'trial')} may hide more" if counts.hidden else ""
        return f"{unknown}{hidden}{tolerated(case)}"

    @staticmethod
    def _trials(case: Case) -> tuple[TrialRef, ...]:
        counts = case.effects
        refs = []
        for trial in case.pool.trials:
            if any(effect.state is EffectState.UNKNOWN and counts.hold(effect) for effect in trial.effects):
                refs.append(trial_ref(trial, "effect unknown", missing=True))
            elif trial.opaque and counts.hidden:
                refs.append(trial_ref(trial, "neither calls nor effects recorded", missing=True))
        if not case.policy.tolerates("records", case.pool.missing_count):
            refs.extend(missing_refs(case.pool.missing))
        return tuple(refs)
