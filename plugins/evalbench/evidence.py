"""What a claim about a destination is worth: the rules by which outcomes and effects get their state.

The point is monotonicity. Taking evidence away or adding harm never makes a state look better:

- a pass without everything that names it (predicate, verifier, kind; destination, evidence) is no pass;
- a failed effect needs nothing to stay failed; a failed outcome that names no predicate or verifier is unavailable, and
  holds a release all the same;
- two records of the same thing are merged so that failed beats verified beats unavailable (unknown), in any order;
- only a further attempt under the same idempotency key may follow a failed attempt with a verified one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from evalbench.ledger import Effect, EffectState, EvidenceRef, Outcome, OutcomeState, ToolCall, Wait

UNNAMED_PREDICATE = "unnamed_predicate"
JUDGE_IS_NOT_DESTINATION = "judge_is_not_destination"
UNKNOWN_VERIFIER_KIND = "unknown_verifier_kind"
UNKNOWN_STATE = "unknown_state"
NO_REASON_STATED = "no_reason_stated"
NO_OUTCOME_RECORDED = "no_outcome_recorded"
NO_DESTINATION_EVIDENCE = "no_destination_evidence"
RECORDED_UNKNOWN = "recorded_unknown"
BOUNDARY_BREACHED = "boundary_breached"
CONFLICTING_OUTCOME = "conflicting_outcome"
CONFLICTING_EFFECT = "conflicting_effect"

DESTINATION_VERIFIERS = frozenset({"deterministic", "human"})

_OUTCOME_RANK = {OutcomeState.UNAVAILABLE: 0, OutcomeState.VERIFIED: 1, OutcomeState.FAILED: 2}
_WORST_FIRST = (EffectState.FAILED, EffectState.VERIFIED, EffectState.UNKNOWN, EffectState.REJECTED)
_State = TypeVar("_State", bound=StrEnum)


def outcome(
    *,
    state: str | None,
    predicate: str | None = None,
    verifier_kind: str | None = None,
    verifier_name: str | None = None,
    verifier_version: str | None = None,
    reason: str | None = None,
    evidence: str | None = None,
    ref: EvidenceRef | None = None,
) -> Outcome:
    """An outcome as claimed, at its worth: `verified` and `failed` need a predicate and a named, non-model verifier.

    Unavailable otherwise, with the reason: `unnamed_predicate`, `judge_is_not_destination`, `unknown_verifier_kind`
    (a verifier that hides its kind may be a model), `unknown_state`, or the record's own.
    """
    said = _state(OutcomeState, state)
    worth, why = _outcome_worth(said, _word(predicate), _word(verifier_kind), _word(verifier_name))
    return Outcome(
        state=worth,
        predicate=predicate,
        verifier_kind=verifier_kind,
        verifier_name=verifier_name,
        verifier_version=verifier_version,
        reason=why or reason or (NO_REASON_STATED if worth is OutcomeState.UNAVAILABLE else None),
        evidence=evidence,
        ref=ref,
    )


def _outcome_worth(
    said: OutcomeState | None, predicate: str | None, kind: str | None, name: str | None
) -> tuple[OutcomeState, str | None]:
    if said is None:
        return OutcomeState.UNAVAILABLE, UNKNOWN_STATE
    if said is OutcomeState.UNAVAILABLE:
        return said, None
    if kind == "model":
        return OutcomeState.UNAVAILABLE, JUDGE_IS_NOT_DESTINATION
    if predicate is None or name is None:
        return OutcomeState.UNAVAILABLE, UNNAMED_PREDICATE
    if kind not in DESTINATION_VERIFIERS:
        return OutcomeState.UNAVAILABLE, UNKNOWN_VERIFIER_KIND
    return said, None


def merge_outcomes(earlier: Outcome, later: Outcome) -> Outcome:
    """Two verdicts on the same trial as one: failed beats verified beats unavailable beats one that states nothing;
    the later among equals.

    Verified against failed gives failed with reason `conflicting_outcome`.
    """
    better, worse = sorted((earlier, later), key=lambda item: (_OUTCOME_RANK[item.state], states_a_state(item)))
    if worse.state is OutcomeState.FAILED and better.state is OutcomeState.VERIFIED:
        return replace(worse, reason=CONFLICTING_OUTCOME)
    if worse.state is OutcomeState.FAILED and better.reason == CONFLICTING_OUTCOME:
        return replace(worse, reason=CONFLICTING_OUTCOME)
    return worse


def states_a_state(item: Outcome | Effect) -> bool:
    """Whether the source stated one of the known states, if only `unavailable` or `unknown`; else it was silent."""
    return item.reason != UNKNOWN_STATE


def effect(
    *,
    effect_id: str,
    state: str | None,
    tool: str | None = None,
    destination: str | None = None,
    idempotency_key: str | None = None,
    reason: str | None = None,
    evidence: str | None = None,
    found: bool | None = None,
    ref: EvidenceRef | None = None,
) -> Effect:
    """An effect as claimed, at its worth.

    `verified` needs destination and evidence, else `unknown: no_destination_evidence`. `rejected` whose effect was
    `found` at the destination is `failed: boundary_breached`. A missing or unknown word is `unknown: unknown_state`.
    """
    said = _state(EffectState, state)
    worth, why = said or EffectState.UNKNOWN, reason
    if said is None:
        why = UNKNOWN_STATE
    elif said is EffectState.VERIFIED and not (_word(destination) and _word(evidence)):
        worth, why = EffectState.UNKNOWN, NO_DESTINATION_EVIDENCE
    elif said is EffectState.REJECTED and found:
        worth, why = EffectState.FAILED, BOUNDARY_BREACHED
    elif said is EffectState.UNKNOWN:
        why = reason or RECORDED_UNKNOWN
    return Effect(
        effect_id=effect_id,
        state=worth,
        tool=tool,
        destination=destination,
        idempotency_key=idempotency_key,
        reason=why,
        evidence=evidence,
        ref=ref,
    )


def reconcile(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Effect records of one trial, in the order they were recorded → one effect per idempotency key, sorted by id.

    Records with the same effect id speak of one attempt; without a key an attempt is its own effect, unless another
    record of that id has a key. Attempts sharing a key are one effect at its last reconciled state: the last attempt
    known to be verified or failed decides, unknown and rejected ones are superseded by it. Records that say both of
    one attempt leave it failed (`conflicting_effect`), and anything rejected that turns up verified is
    failed (`boundary_breached`), whatever else follows.
    """
    records = tuple(effects)
    keys: dict[str, set[str]] = {}
    for record in records:
        if record.idempotency_key is not None:
            keys.setdefault(record.effect_id, set()).add(record.idempotency_key)
    groups: dict[tuple[str, str], list[Effect]] = {}
    for record in records:
        groups.setdefault(_identity(record, keys), []).append(record)
    return tuple(
        sorted((_one_effect(group) for group in groups.values()), key=lambda e: (e.effect_id, e.idempotency_key or ""))
    )


def hold_boundary(effects: Sequence[Effect], calls: Iterable[ToolCall]) -> tuple[Effect, ...]:
    """`effects` against the calls that made them: verified though each of those was rejected = breached."""
    statuses: dict[str, set[str | None]] = {}
    for call in calls:
        statuses.setdefault(call.name, set()).add(call.status)
    return tuple(
        replace(item, state=EffectState.FAILED, reason=BOUNDARY_BREACHED)
        if item.state is EffectState.VERIFIED and item.tool is not None and statuses.get(item.tool) == {"rejected"}
        else item
        for item in effects
    )


def wait_defect(wait: Wait | None, *, declared: bool | None, outcome: Outcome | None, as_of: datetime) -> str | None:
    """Why a waiting trial doesn't validly wait at `as_of` (aware UTC), None when it does: `wait_invalid`,
    `wait_overdue`. One that declared completion or verified its outcome waits for nothing.
    """
    verified = outcome is not None and outcome.state is OutcomeState.VERIFIED
    return "wait_invalid" if wait is None or declared is True or verified else wait.defect_at(as_of)


def _identity(record: Effect, keys: Mapping[str, set[str]]) -> tuple[str, str]:
    if record.idempotency_key is not None:
        return "key", record.idempotency_key
    named = sorted(keys.get(record.effect_id, ()))
    return ("key", named[0]) if len(named) == 1 else ("id", record.effect_id)


def _one_effect(records: Sequence[Effect]) -> Effect:
    attempts: dict[str, list[Effect]] = {}
    for record in records:
        attempts.setdefault(record.effect_id, []).append(record)
    decided = [_one_attempt(attempt) for attempt in attempts.values()]
    found = {item.state for item in decided}
    last = _last_reconciled(decided)
    breached = any(item.reason == BOUNDARY_BREACHED for item in decided)
    if breached or {EffectState.REJECTED, EffectState.VERIFIED} <= found:
        last = replace(last, state=EffectState.FAILED, reason=BOUNDARY_BREACHED)
    return replace(
        last,
        tool=last.tool or _first(item.tool for item in records),
        destination=last.destination or _first(item.destination for item in records),
        idempotency_key=_first(item.idempotency_key for item in records),
        attempts=len(decided),
    )


def _one_attempt(records: Sequence[Effect]) -> Effect:
    """Order doesn't matter here: failed, then verified, then unknown, then rejected."""
    by_state = {record.state: record for record in records}
    worst = next(by_state[state] for state in _WORST_FIRST if state in by_state)
    verified = EffectState.VERIFIED in by_state
    breached = any(record.reason == BOUNDARY_BREACHED for record in records)
    if breached or (verified and EffectState.REJECTED in by_state):
        return replace(worst, state=EffectState.FAILED, reason=BOUNDARY_BREACHED)
    if verified and worst.state is EffectState.FAILED:
        return replace(worst, reason=CONFLICTING_EFFECT)
    return worst


def _last_reconciled(attempts: Sequence[Effect]) -> Effect:
    for wanted in ({EffectState.VERIFIED, EffectState.FAILED}, {EffectState.UNKNOWN}):
        for attempt in reversed(attempts):
            if attempt.state in wanted:
                return attempt
    return attempts[-1]


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value is not None), None)


def _word(text: str | None) -> str | None:
    return (text.strip() or None) if text is not None else None


def _state(states: type[_State], word: str | None) -> _State | None:
    try:
        return states((word or "").strip().lower())
    except ValueError:
        return None
