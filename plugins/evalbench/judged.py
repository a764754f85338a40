"""A policy applied to trials: what was declared, what the outcome is worth, which effects count, what was paid.

Nothing here aggregates. Three-valued on purpose: None in `declared` means the source is silent, and silence is later
taken at both ends (`gate/ends.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from evalbench import evidence
from evalbench.decimals import nine_places
from evalbench.ledger import (
    CostState,
    Effect,
    EffectState,
    Outcome,
    OutcomeState,
    Run,
    ScoredRun,
    Trial,
    TrialStatus,
    Verdict,
    VerdictState,
)
from evalbench.policy import Attestation, Policy, matches_any


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEffect:
    """An effect that counts. silent: the call was made and nothing says what became of it at the destination."""

    effect: Effect
    silent: bool = False
    tolerated: bool = False

    @property
    def state(self) -> EffectState:
        """State at the destination."""
        return self.effect.state


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTrial:
    """One trial under one policy at one `as_of`.

    outcome_said: the source stated an outcome state, if only `unavailable`; an outcome without one says nothing.
    opaque: neither calls nor effects were recorded, so any number of effects may hide here.
    wait_defect: `wait_invalid` or `wait_overdue`.
    quality is None with quality_reason where the named graders did not all run.
    """

    run: Run
    trial: Trial
    declared: bool | None
    outcome: Outcome
    outcome_said: bool
    waiting: bool
    wait_defect: str | None
    effects: tuple[JudgedEffect, ...]
    opaque: bool
    forbidden_calls: int
    quality: Decimal | None
    quality_reason: str | None
    cost_usd: Decimal | None
    estimated_usd: Decimal | None

    @property
    def key(self) -> tuple[str, str, int]:
        """(run_id, task_id, trial)."""
        return (self.run.run_id, self.trial.task_id, self.trial.trial)

    @property
    def false_success(self) -> bool:
        """Declared complete, and the outcome failed."""
        return self.declared is True and self.outcome.state is OutcomeState.FAILED

    @property
    def verified(self) -> bool:
        """The outcome was verified at the destination."""
        return self.outcome.state is OutcomeState.VERIFIED

    @property
    def completed(self) -> bool:
        """The trial ran to its end as its record says."""
        return self.trial.status is TrialStatus.COMPLETED

    @property
    def ended(self) -> bool:
        """Not running."""
        return self.trial.status is not TrialStatus.RUNNING

    @property
    def crashed(self) -> bool:
        """The trial ended in a crash."""
        return self.trial.status is TrialStatus.CRASHED


def judge_run(scored: ScoredRun, policy: Policy, as_of: datetime) -> tuple[JudgedTrial, ...]:
    """Every trial of a run under `policy`, in the run's order. `as_of` (aware UTC) decides whether waits are valid."""
    attestations = tuple(a for a in policy.outcome.attestations if speaks_for(a, scored.run))
    rows: dict[tuple[str, int], dict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    for verdict in scored.verdicts:
        if verdict.source == "harness" and verdict.task_id is not None and verdict.trial is not None:
            rows[verdict.task_id, verdict.trial][verdict.name].append(verdict)
    return tuple(
        _judge(scored.run, trial, policy, as_of, attestations, rows.get((trial.task_id, trial.trial), {}))
        for trial in scored.run.trials
    )


def _judge(
    run: Run,
    trial: Trial,
    policy: Policy,
    as_of: datetime,
    attestations: tuple[Attestation, ...],
    rows: Mapping[str, list[Verdict]],
) -> JudgedTrial:
    declared = _declared(trial, policy)
    outcome, said = _outcome(trial, attestations, rows)
    waiting, wait_defect = _wait(trial, declared, outcome, as_of)
    effects, opaque = _effects(trial, policy)
    quality, quality_reason = _quality(trial, policy)
    billed, estimated = _cost(trial)
    return JudgedTrial(
        run=run,
        trial=trial,
        declared=declared,
        outcome=outcome,
        outcome_said=said,
        waiting=waiting,
        wait_defect=wait_defect,
        effects=effects,
        opaque=opaque,
        forbidden_calls=_forbidden_calls(trial, policy),
        quality=quality,
        quality_reason=quality_reason,
        cost_usd=billed if policy.cost_basis == "billed" else billed if billed is not None else estimated,
        estimated_usd=estimated,
    )


def _declared(trial: Trial, policy: Policy) -> bool | None:
    """The record's own word, else (where the policy says so) a conversation that finished."""
    if trial.declared_complete is not None or not policy.declared.finished_conversation:
        return trial.declared_complete
    return trial.finished_conversation


def speaks_for(attestation: Attestation, run: Run) -> bool:
    """Whether an attestation matches a run."""
    return matches_any(run.product, (attestation.match.product,)) and matches_any(
        run.generator_class or "", (attestation.match.generator_class,)
    )


def _outcome(
    trial: Trial, attestations: tuple[Attestation, ...], rows: Mapping[str, list[Verdict]]
) -> tuple[Outcome, bool]:
    """The record's outcome joined with every attested comparator's; (outcome, was it said)."""
    found = [trial.outcome] if trial.outcome is not None else []
    attested = [
        _attested(attestation, verdict)
        for attestation in attestations
        for verdict in rows.get(attestation.comparator, [])
    ]
    merged: Outcome | None = None
    for outcome in (*found, *attested):
        merged = outcome if merged is None else evidence.merge_outcomes(merged, outcome)
    if merged is None:
        missing = "comparator_row_missing" if attestations else evidence.NO_OUTCOME_RECORDED
        return Outcome(state=OutcomeState.UNAVAILABLE, reason=missing, ref=trial.ref), False
    return merged, evidence.states_a_state(merged)


def _attested(attestation: Attestation, verdict: Verdict) -> Outcome:
    if verdict.state is VerdictState.UNAVAILABLE or verdict.value is None:
        state, reason = OutcomeState.UNAVAILABLE, verdict.reason
    elif verdict.value >= attestation.pass_threshold:
        state, reason = OutcomeState.VERIFIED, None
    else:
        state, reason = OutcomeState.FAILED, "below_pass_threshold"
    return Outcome(
        state=state,
        predicate=attestation.predicate,
        verifier_kind="deterministic",
        verifier_name=attestation.comparator,
        verifier_version=verdict.version,
        reason=reason,
        ref=verdict.ref,
    )


def _wait(trial: Trial, declared: bool | None, outcome: Outcome, as_of: datetime) -> tuple[bool, str | None]:
    """(validly waiting, defect)."""
    if trial.status is not TrialStatus.WAITING:
        return False, None
    defect = evidence.wait_defect(trial.wait, declared=declared, outcome=outcome, as_of=as_of)
    return defect is None, defect


def _effects(trial: Trial, policy: Policy) -> tuple[tuple[JudgedEffect, ...], bool]:
    """Recorded effects, and one silent effect per effectful call that no effect record accounts for."""
    recorded = trial.effects or ()
    effects = [JudgedEffect(effect=effect, tolerated=_tolerated(effect, policy)) for effect in recorded]
    if trial.calls is None:
        return tuple(effects), trial.effects is None
    unaccounted: Counter[str] = Counter()
    for effect in recorded:
        if effect.tool is not None:
            unaccounted[effect.tool] += effect.attempts
    for call in trial.calls:
        if not policy.tools.is_effectful(call.name):
            continue
        if unaccounted[call.name] > 0:
            unaccounted[call.name] -= 1
            continue
        rejected = call.status == "rejected"
        state, reason = (
            (EffectState.REJECTED, "call_rejected") if rejected else (EffectState.UNKNOWN, "no_effect_record")
        )
        silent = Effect(effect_id=f"call-{call.index}", tool=call.name, state=state, reason=reason, ref=call.ref)
        effects.append(JudgedEffect(effect=silent, silent=not rejected))
    return tuple(effects), False


def _tolerated(effect: Effect, policy: Policy) -> bool:
    """An unknown effect of a read-only tool, under a policy that accepts those."""
    return (
        policy.unknown_effects.tolerate_read_only_tools
        and effect.state is EffectState.UNKNOWN
        and effect.tool is not None
        and not policy.tools.is_effectful(effect.tool)
    )


def _forbidden_calls(trial: Trial, policy: Policy) -> int:
    return sum(1 for call in trial.calls or () if policy.tools.is_forbidden(call.name))


def _quality(trial: Trial, policy: Policy) -> tuple[Decimal | None, str | None]:
    """Weighted mean of the graders the policy names, or the trial's only grader."""
    if not policy.quality.graders:
        if len(trial.qualities) > 1:
            return None, "graders_unnamed"
        only = trial.qualities[0] if trial.qualities else None
        if only is None:
            return None, "ungraded"
        return only.score, None if only.score is not None else only.reason or "grader_did_not_run"
    scores = {quality.grader_name: quality.score for quality in trial.qualities}
    total = Decimal(0)
    for grader in policy.quality.graders:
        score = scores.get(grader.name)
        if score is None:
            return None, "grader_did_not_run"
        total += grader.weight * score
    weights = sum((grader.weight for grader in policy.quality.graders), Decimal(0))
    return nine_places(total / weights), None


def _cost(trial: Trial) -> tuple[Decimal | None, Decimal | None]:
    """(billed, estimated): never added to each other."""
    cost = trial.cost
    if cost is None or cost.usd is None:
        return None, None
    if cost.state is CostState.BILLED:
        return cost.usd, None
    return (None, cost.usd) if cost.state is CostState.ESTIMATED else (None, None)
