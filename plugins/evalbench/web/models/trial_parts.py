"""The parts of a trial's page, each made from the trial as recorded, or as judged."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from evalbench.evaluators.base import Absent
from evalbench.evaluators.matching import ACCUMULATED_TOOLS, recorded_calls
from evalbench.judged import JudgedEffect, JudgedTrial, speaks_for
from evalbench.ledger import ExpectedCall, ScoredRun, ToolCall, Trial, Verdict
from evalbench.policy import Policy
from evalbench.web.models.alignment import MOST_PAIRS, AlignedRow, align, too_many
from evalbench.web.models.figures import number
from evalbench.web.models.places import Place, place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Expected and called tools.

    rows: side by side, all or the first of rows_total. expected, called: how many there are, None when there is no
    expectation or no call sequence, with the reason beside; then the other side's rows are marked `alone`.
    not_compared: why two lists that are known weren't compared; then all rows are `alone`. order_known: False where
    only distinct names were recorded, so that repeats and order are unsure. counts: mark → rows, and `forbidden`, of
    all rows. places: where the calls were read.
    """

    rows: tuple[AlignedRow, ...]
    rows_total: int
    expected: int | None
    expected_reason: str | None
    called: int | None
    called_reason: str | None
    not_compared: str | None
    order_known: bool
    counts: Mapping[str, int]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """A change at a destination. state: verified, failed, unknown or rejected (denied on purpose: the boundary worked).

    evidence: the destination's receipt. attempts: how many were reconciled into it. silent: no record, but a call of a
    tool that should have left an effect. tolerated: the policy accepts that it isn't known.
    """

    effect_id: str
    state: str
    tool: str | None
    destination: str | None
    reason: str | None
    evidence: str | None
    idempotency_key: str | None
    attempts: int
    silent: bool
    tolerated: bool
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeInfo:
    """The outcome as judged under the policy of the run's own date, and as the record states it.

    judged: verified, failed or unavailable; attested_by: whose word made a comparator the verifier, None where the
    record itself verifies. recorded: the record's own state, None when it has none. verifier: kind, name and version.
    """

    judged: str
    attested_by: str | None
    recorded: str | None
    predicate: str | None
    verifier: str | None
    reason: str | None
    evidence: str | None
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitInfo:
    """What the trial waits for. problem: `wait_invalid` or `wait_overdue` at the decision's as_of, None when valid."""

    owner: str | None
    decision: str | None
    due: datetime | None
    resume_state: str | None
    problem: str | None
    place: Place | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageInfo:
    """Cost in US dollars, tokens, calls and times; None where not recorded."""

    cost_usd: float | None
    cost_state: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    inference_calls: int | None
    tool_calls: int | None
    duration_s: float | None
    tool_duration_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """What an evaluator, a comparator of the harness or a grader says. value None: reason says why.

    source: evaluator, harness or grader. detail: what it rests on. logged: what judge or scorer wrote, secrets redacted
    and cut by the reader; None when nothing.
    """

    source: str
    name: str
    version: str | None
    value: float | None
    reason: str | None
    detail: str | None
    logged: str | None
    place: Place | None


def tools_of(trial: Trial, forbidden: Collection[str], most: int | None = None) -> Tools:
    """What was expected beside what was called. forbidden: names of tools. most: rows, None for all."""
    found = recorded_calls(trial)
    calls = None if isinstance(found, Absent) else found
    rows = align(trial.expected, calls, forbidden)
    counts = Counter(row.mark.value for row in rows)
    return Tools(
        rows=rows[:most],
        rows_total=len(rows),
        expected=None if trial.expected is None else len(trial.expected),
        expected_reason=None if trial.expected is not None else trial.expected_reason or "the task states none",
        called=None if calls is None else len(calls),
        called_reason=(found.detail or found.reason) if isinstance(found, Absent) else trial.calls_reason,
        not_compared=_not_compared(trial.expected, calls),
        order_known=trial.calls_source != ACCUMULATED_TOOLS,
        counts={**dict(sorted(counts.items())), "forbidden": sum(row.forbidden for row in rows)},
        places=tuple(dict.fromkeys(place for call in calls or () if (place := place_of(call.ref)) is not None)),
    )


def _not_compared(expected: Sequence[ExpectedCall] | None, calls: Sequence[ToolCall] | None) -> str | None:
    if expected is None or calls is None or not too_many(expected, calls):
        return None
    return f"too many to be compared call by call, which is done for up to {MOST_PAIRS:,} pairs"


def forbidden_tools(judged: JudgedTrial, policy: Policy) -> frozenset[str]:
    """Names of the called tools that the policy or the task forbids."""
    names = {call.name for call in judged.trial.calls or ()}
    return frozenset(
        name for name in names if policy.tools.is_forbidden(name) or name in (judged.trial.forbidden or ())
    )


def effects_of(judged: JudgedTrial) -> tuple[EffectRow, ...] | None:
    """Recorded effects, then silent ones; None when nothing speaks of effects."""
    if judged.trial.effects is None and not judged.effects:
        return None
    return tuple(_effect(effect) for effect in judged.effects)


def _effect(judged: JudgedEffect) -> EffectRow:
    effect = judged.effect
    return EffectRow(
        effect_id=effect.effect_id,
        state=effect.state.value,
        tool=effect.tool,
        destination=effect.destination,
        reason=effect.reason,
        evidence=effect.evidence,
        idempotency_key=effect.idempotency_key,
        attempts=effect.attempts,
        silent=judged.silent,
        tolerated=judged.tolerated,
        place=place_of(effect.ref),
    )


def outcome_of(judged: JudgedTrial, policy: Policy) -> OutcomeInfo:
    """The outcome, and on whose word it rests."""
    outcome, recorded = judged.outcome, judged.trial.outcome
    verifier = (outcome.verifier_kind, outcome.verifier_name, outcome.verifier_version)
    return OutcomeInfo(
        judged=outcome.state.value,
        attested_by=_attested_by(judged, policy),
        recorded=recorded.state.value if recorded is not None else None,
        predicate=outcome.predicate,
        verifier=" ".join(part for part in verifier if part) or None,
        reason=outcome.reason,
        evidence=outcome.evidence,
        place=place_of(outcome.ref),
    )


def _attested_by(judged: JudgedTrial, policy: Policy) -> str | None:
    for attestation in policy.outcome.attestations:
        verifies = (attestation.comparator, attestation.predicate) == (
            judged.outcome.verifier_name,
            judged.outcome.predicate,
        )
        if verifies and speaks_for(attestation, judged.run):
            return f"{attestation.comparator}: {attestation.reason} (attested by {attestation.attested_by})"
    return None


def wait_of(judged: JudgedTrial) -> WaitInfo | None:
    """What the trial waits for."""
    wait = judged.trial.wait
    if wait is None:
        return None
    return WaitInfo(
        owner=wait.owner,
        decision=wait.decision,
        due=wait.due,
        resume_state=wait.resume_state,
        problem=judged.wait_defect,
        place=place_of(wait.ref),
    )


def progress_of(trial: Trial) -> Mapping[str, int] | None:
    """Observation windows."""
    progress = trial.progress
    if progress is None:
        return None
    return {
        "active": progress.active,
        "with_delta": progress.active_with_delta,
        "waiting": progress.waiting,
        "stale": progress.stale,
    }


def usage_of(trial: Trial) -> UsageInfo:
    """What the trial took."""
    cost, usage, timing = trial.cost, trial.usage, trial.timing
    return UsageInfo(
        cost_usd=number(cost.usd) if cost is not None else None,
        cost_state=cost.state.value if cost is not None else None,
        input_tokens=usage.input_tokens if usage is not None else None,
        output_tokens=usage.output_tokens if usage is not None else None,
        cached_tokens=usage.cached_tokens if usage is not None else None,
        reasoning_tokens=usage.reasoning_tokens if usage is not None else None,
        inference_calls=usage.inference_calls if usage is not None else None,
        tool_calls=usage.tool_calls if usage is not None else None,
        duration_s=timing.duration_s if timing is not None else None,
        tool_duration_s=timing.tool_duration_s if timing is not None else None,
    )


def verdict_rows(scored: ScoredRun, trial: Trial) -> tuple[VerdictRow, ...]:
    """What the harness's comparators, the record's graders and our evaluators say, in this order."""
    return (*_comparators(scored, trial), *_graders(trial), *_evaluators(scored, trial))


def _comparators(scored: ScoredRun, trial: Trial) -> Iterator[VerdictRow]:
    """What judge or scorer wrote stands in the row of the harness's scores, at the same place."""
    logs = {row.ref: "\n".join(part for part in (row.error, row.log) if part) for row in trial.comparators}
    return (_verdict(verdict, logs.get(verdict.ref) or None) for verdict in _of_trial(scored, trial, "harness"))


def _evaluators(scored: ScoredRun, trial: Trial) -> Iterator[VerdictRow]:
    return (_verdict(verdict, None) for verdict in _of_trial(scored, trial, "evaluator"))


def _of_trial(scored: ScoredRun, trial: Trial, source: str) -> Iterator[Verdict]:
    key = (trial.task_id, trial.trial, source)
    return (verdict for verdict in scored.verdicts if (verdict.task_id, verdict.trial, verdict.source) == key)


def _verdict(verdict: Verdict, logged: str | None) -> VerdictRow:
    return VerdictRow(
        source=verdict.source,
        name=verdict.name,
        version=verdict.version,
        value=number(verdict.value),
        reason=verdict.reason,
        detail=verdict.detail,
        logged=logged,
        place=place_of(verdict.ref),
    )


def _graders(trial: Trial) -> Iterator[VerdictRow]:
    for quality in trial.qualities:
        known = [quality.grader_kind, quality.model, quality.rubric_version and f"rubric {quality.rubric_version}"]
        said = [part for part in known if part] + ([] if quality.calibrated else ["not calibrated"])
        yield VerdictRow(
            source="grader",
            name=quality.grader_name or "without a name",
            version=quality.grader_version,
            value=number(quality.score),
            reason=quality.reason,
            detail=", ".join(said) or None,
            logged=None,
            place=place_of(quality.ref),
        )
