"""The counts behind every signal and every check: one small record per kind of evidence, each from a pool of trials.

What separates the two ends of a check is missing evidence that the policy doesn't tolerate by name.
"""

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal

from evalbench.judged import JudgedEffect, JudgedTrial
from evalbench.ledger import EffectState, OutcomeState
from evalbench.policy import Absence, Policy
from evalbench.pool import Pool


def _untolerated(policy: Policy, absence: Absence, count: int) -> int:
    return 0 if policy.tolerates(absence, count) else count


def _unseen(pool: Pool) -> int:
    """Planned trials without a record that the policy doesn't accept; an open-ended run hides at least one more."""
    return _untolerated(pool.policy, "records", pool.missing_count) + pool.open_ended


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Outcomes of trials that are not validly waiting; `owed` = planned - validly waiting."""

    owed: int
    verified: int
    failed: int
    unavailable: int
    missing: int
    open_ended: bool

    @classmethod
    def of(cls, pool: Pool) -> "OutcomeCounts":
        """Count a pool's outcomes."""
        states = [trial.outcome.state for trial in pool.trials if not trial.waiting]
        return cls(
            owed=pool.planned - pool.waiting_count,
            verified=states.count(OutcomeState.VERIFIED),
            failed=states.count(OutcomeState.FAILED),
            unavailable=states.count(OutcomeState.UNAVAILABLE),
            missing=pool.missing_count,
            open_ended=pool.open_ended,
        )

    @property
    def could_verify(self) -> int:
        """Verified at the best end: every unavailable and missing outcome turns out well."""
        return self.verified + self.unavailable + self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationCounts:
    """Declared completions by outcome, and trials whose declaration is unknown by outcome.

    A missing trial is one whose declaration and outcome are both unknown.
    """

    failed: int
    verified: int
    unavailable: int
    unknown_failed: int
    unknown_verified: int
    unknown_unavailable: int

    @classmethod
    def of(cls, pool: Pool) -> "DeclarationCounts":
        """Count a pool's declarations; unknown ones the policy tolerates count as not declared."""
        declared = [t.outcome.state for t in pool.trials if t.declared is True]
        unknown = [t.outcome.state for t in pool.trials if t.declared is None]
        if pool.policy.tolerates("declared", len(unknown)):
            unknown = []
        return cls(
            failed=declared.count(OutcomeState.FAILED),
            verified=declared.count(OutcomeState.VERIFIED),
            unavailable=declared.count(OutcomeState.UNAVAILABLE),
            unknown_failed=unknown.count(OutcomeState.FAILED),
            unknown_verified=unknown.count(OutcomeState.VERIFIED),
            unknown_unavailable=unknown.count(OutcomeState.UNAVAILABLE) + _unseen(pool),
        )

    @property
    def declared(self) -> int:
        """Known declared completions."""
        return self.failed + self.verified + self.unavailable

    @property
    def judged(self) -> int:
        """Declared completions whose outcome was judged."""
        return self.failed + self.verified

    @property
    def unknown(self) -> int:
        """Trials whose declaration is unknown, missing ones included."""
        return self.unknown_failed + self.unknown_verified + self.unknown_unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectCounts:
    """Effects by state. `unknown` holds explicit and silent ones; `hidden` trials may hold any number of effects.

    `unlisted` trials recorded effects but not their calls, so that a silent call can't be seen; only where a tool is
    effectful unless the policy says otherwise.
    """

    verified: int
    failed: int
    unknown: int
    silent: int
    rejected: int
    tolerated: int
    hidden: int
    unlisted: int

    @classmethod
    def of(cls, pool: Pool) -> "EffectCounts":
        """Count a pool's effects; silence the policy tolerates by name is counted as tolerated only."""
        effects = [effect for trial in pool.trials for effect in trial.effects]
        silent = sum(1 for effect in effects if effect.silent)
        opaque = sum(1 for trial in pool.trials if trial.opaque)
        silence_tolerated = pool.policy.tolerates("effects", silent + opaque)
        unlisted = sum(1 for trial in pool.trials if trial.trial.calls is None and not trial.opaque)
        calls_owed = pool.policy.tools.unmatched == "effectful"
        counted = [effect for effect in effects if _counts(effect, silence_tolerated=silence_tolerated)]
        states = [effect.state for effect in counted]
        return cls(
            verified=states.count(EffectState.VERIFIED),
            failed=states.count(EffectState.FAILED),
            unknown=states.count(EffectState.UNKNOWN),
            silent=0 if silence_tolerated else silent,
            rejected=states.count(EffectState.REJECTED),
            tolerated=len(effects) - len(counted) + (opaque if silence_tolerated else 0),
            hidden=(0 if silence_tolerated else opaque) + _unseen(pool),
            unlisted=_untolerated(pool.policy, "effects", unlisted) if calls_owed else 0,
        )

    @property
    def total(self) -> int:
        """Verified + failed + unknown: the denominator of effect integrity."""
        return self.verified + self.failed + self.unknown

    def hold(self, effect: JudgedEffect) -> bool:
        """Whether an effect of this pool is among those counted by state: what the policy accepts is not."""
        return _counts(effect, silence_tolerated=self.silent == 0)


def _counts(effect: JudgedEffect, *, silence_tolerated: bool) -> bool:
    return not effect.tolerated and not (effect.silent and silence_tolerated)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressCounts:
    """Observation windows. `trials_without` may hold any number of windows; none do where the policy looks only at
    what was recorded.
    """

    active: int
    with_delta: int
    waiting: int
    stale: int
    trials_without: int
    trials_with: int

    @classmethod
    def of(cls, pool: Pool) -> "ProgressCounts":
        """Count a pool's windows."""
        recorded = [trial.trial.progress for trial in pool.trials if trial.trial.progress is not None]
        without = len(pool.trials) - len(recorded)
        floor = pool.policy.floors.progress
        accepted = pool.policy.tolerates("progress", without) or floor is None or not floor.required
        return cls(
            active=sum(progress.active for progress in recorded),
            with_delta=sum(progress.active_with_delta for progress in recorded),
            waiting=sum(progress.waiting for progress in recorded),
            stale=sum(progress.stale for progress in recorded),
            trials_without=0 if accepted else without + _unseen(pool),
            trials_with=len(recorded),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCounts:
    """Covered spend over all trials, failures and waits included."""

    covered_usd: Decimal
    covered: int
    uncovered: int
    uncovered_untolerated: int
    estimated_usd: Decimal
    estimated: int

    @classmethod
    def of(cls, pool: Pool) -> "CostCounts":
        """Count a pool's money; a missing trial is an uncovered one."""
        costs = [trial.cost_usd for trial in pool.trials if trial.cost_usd is not None]
        estimates = [trial.estimated_usd for trial in pool.trials if trial.estimated_usd is not None]
        uncovered = len(pool.trials) - len(costs) + pool.missing_count + pool.open_ended
        return cls(
            covered_usd=sum(costs, Decimal(0)),
            covered=len(costs),
            uncovered=uncovered,
            uncovered_untolerated=_untolerated(pool.policy, "cost", uncovered),
            estimated_usd=sum(estimates, Decimal(0)),
            estimated=len(estimates),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCounts:
    """Quality over completed trials. `uncalibrated` grades come from a model without prompt, rubric or calibration."""

    total: Decimal
    graded: int
    completed: int
    uncalibrated: int
    left_out: dict[str, int]

    @classmethod
    def of(cls, pool: Pool) -> "QualityCounts":
        """Count a pool's grades."""
        completed = [trial for trial in pool.trials if trial.completed]
        graded = [trial for trial in completed if trial.quality is not None]
        left_out = Counter(reason for trial in pool.trials if (reason := _not_graded(trial)) is not None)
        return cls(
            total=sum((trial.quality for trial in graded if trial.quality is not None), Decimal(0)),
            graded=len(graded),
            completed=len(completed),
            uncalibrated=sum(1 for t in graded if not all(q.calibrated for q in t.trial.qualities)),
            left_out=dict(sorted(left_out.items())),
        )


def _not_graded(trial: JudgedTrial) -> str | None:
    """Why a trial is not in the quality denominator, None when it is."""
    if trial.waiting:
        return "waiting"
    if trial.wait_defect is not None:
        return "stalled"
    if not trial.completed:
        return f"status_{trial.trial.status.value}" if trial.trial.status is not None else "status_unavailable"
    return None if trial.quality is not None else trial.quality_reason
