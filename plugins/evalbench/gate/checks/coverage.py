"""Stage 1, third: how much of the evidence that a decision needs is there?"""

from abc import abstractmethod
from collections.abc import Callable
from decimal import Decimal
from typing import ClassVar

from evalbench.gate.case import Case
from evalbench.gate.coverage import Coverage
from evalbench.gate.result import CheckResult, CheckStatus, TrialRef, trial_ref
from evalbench.gate.wording import after, plural, tolerated, with_unknown_effects
from evalbench.judged import JudgedEffect, JudgedTrial
from evalbench.ledger import Effect, EffectState, OutcomeState


def _refs(case: Case, why: str, fits: Callable[[JudgedTrial], bool]) -> tuple[TrialRef, ...]:
    return tuple(trial_ref(trial, why, missing=True) for trial in case.pool.trials if fits(trial))


class Verdicts(Coverage):
    """Share of declared completions whose outcome was judged, verified or failed."""

    name = "coverage.verdicts"
    next_step = "name predicate and verifier, repair the verifier or attest a comparator, then judge these again"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.declarations
        tolerated = case.policy.tolerates("outcomes", counts.unavailable)
        unjudged = [t for t in case.pool.trials if t.declared is True and t.outcome.state is OutcomeState.UNAVAILABLE]
        without = after(f"; {len(unjudged)} without", ((trial, trial.outcome.reason) for trial in unjudged))
        trials = tuple(trial_ref(t, "declared complete, outcome unavailable", missing=True) for t in unjudged)
        return self.covered(
            case,
            None if tolerated else case.policy.coverage.verdicts,
            counts.judged,
            counts.declared,
            what=f"declared completions judged{without if unjudged else ''}",
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
        unknown = tuple(with_unknown_effects(case))
        trials = tuple(trial_ref(trial, "effect unknown", missing=True) for trial, _ in unknown)
        without = after(f"; {counts.unknown} without", unknown) if counts.unknown else ""
        what = f"effects have a known state{without}{tolerated(case)}"
        return self.covered(case, case.policy.coverage.effects, known, counts.total, what=what, trials=trials)


class WriteEvidence(Coverage):
    """A piece of evidence every write effect must carry; rejected effects are not writes."""

    what: ClassVar[str]

    def evaluate(self, case: Case) -> CheckResult:
        bare = [trial for trial in case.pool.trials if any(self._lacks(case, effect) for effect in trial.effects)]
        lacking = sum(self._lacks(case, effect) for trial in bare for effect in trial.effects)
        total = case.effects.total
        without = after(f"; {lacking} without", ((trial, None) for trial in bare)) if bare else ""
        trials = tuple(trial_ref(trial, f"not all {self.what}", missing=True) for trial in bare)
        what = f"{self.what}{without}{tolerated(case)}"
        return self.covered(case, self.required(case), total - lacking, total, what=what, trials=trials)

    def _lacks(self, case: Case, judged: JudgedEffect) -> bool:
        write = case.effects.hold(judged) and judged.state is not EffectState.REJECTED
        return write and not self.carries(judged.effect)

    @abstractmethod
    def required(self, case: Case) -> Decimal | None:
        """The share the policy requires."""

    @abstractmethod
    def carries(self, effect: Effect) -> bool:
        """Whether an effect carries it."""


class Receipts(WriteEvidence):
    """Every write effect carries evidence from its destination."""

    name = "coverage.receipts"
    next_step = "record the destination's receipt with each effect"
    what = "write effects carry a receipt"

    def required(self, case: Case) -> Decimal | None:
        return case.policy.coverage.receipts

    def carries(self, effect: Effect) -> bool:
        return bool(effect.evidence)


class IdempotencyKeys(WriteEvidence):
    """Every write effect carries an idempotency key: without one a retry may do it twice."""

    name = "coverage.idempotency"
    next_step = "give every write an idempotency key and record it"
    what = "write effects carry an idempotency key"

    def required(self, case: Case) -> Decimal | None:
        return case.policy.coverage.idempotency

    def carries(self, effect: Effect) -> bool:
        return bool(effect.idempotency_key)


class ProgressCoverage(Coverage):
    """Windows of useful progress were recorded, where the policy requires them."""

    name = "coverage.progress"
    next_step = "repair the progress collector; windows are missing"

    def evaluate(self, case: Case) -> CheckResult:
        counts = case.progress
        floor = case.policy.floors.progress
        active = plural(counts.active, "active window")
        recorded = f"{counts.trials_with}/{len(case.pool.trials)} trials recorded windows, {active}"
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
        unseen = ", at least 1 unseen" if case.pool.open_ended else ""
        what = f"trials have a bill{unseen}" if case.policy.cost_basis == "billed" else f"trials have a cost{unseen}"
        return self.covered(case, required, counts.covered, total, what=what, trials=trials)


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
