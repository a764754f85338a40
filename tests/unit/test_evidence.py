"""What claims about a destination are worth."""

from itertools import permutations

import pytest

from evalbench import evidence
from evalbench.ledger import Effect, EffectState, Outcome, OutcomeState, ToolCall

NAMED = {"predicate": "refund exists", "verifier_kind": "deterministic", "verifier_name": "ledger query"}
AT = {"destination": "crm/1", "evidence": "row 7"}


@pytest.mark.parametrize(
    ("expected", "reason", "claim"),
    [
        ("verified", None, {"state": "verified", **NAMED}),
        ("verified", None, {"state": " Verified ", **NAMED}),
        ("verified", None, {"state": "verified", **NAMED, "verifier_kind": "human"}),
        ("failed", None, {"state": "failed", **NAMED}),
        ("failed", "no row", {"state": "failed", **NAMED, "reason": "no row"}),
        ("unavailable", "down", {"state": "unavailable", **NAMED, "reason": "down"}),
        ("unavailable", "no_reason_stated", {"state": "unavailable"}),
        ("unavailable", "unnamed_predicate", {"state": "verified", **NAMED, "predicate": None}),
        ("unavailable", "unnamed_predicate", {"state": "verified", **NAMED, "predicate": " "}),
        ("unavailable", "unnamed_predicate", {"state": "failed", **NAMED, "verifier_name": None}),
        ("unavailable", "judge_is_not_destination", {"state": "verified", **NAMED, "verifier_kind": "model"}),
        ("unavailable", "unknown_verifier_kind", {"state": "verified", **NAMED, "verifier_kind": None}),
        ("unavailable", "unknown_verifier_kind", {"state": "verified", **NAMED, "verifier_kind": "oracle"}),
        ("unavailable", "unknown_state", {"state": "passed", **NAMED}),
        ("unavailable", "unknown_state", {"state": None, **NAMED}),
    ],
)
def test_outcome_needs_its_names(expected: str, reason: str | None, claim: dict[str, str | None]) -> None:
    """A verdict counts only with state, predicate, verifier and a kind that can ask the destination."""
    found = evidence.outcome(**claim)
    assert (expected, reason) == (found.state, found.reason)


def _outcome(state: str, reason: str | None = None) -> Outcome:
    return Outcome(state=OutcomeState(state), reason=reason)


@pytest.mark.parametrize(
    ("expected", "reason", "states"),
    [
        ("verified", None, ("unavailable", "verified")),
        ("failed", None, ("unavailable", "failed")),
        ("unavailable", None, ("unavailable", "unavailable")),
        ("verified", None, ("verified", "verified")),
        ("failed", "conflicting_outcome", ("verified", "failed")),
        ("failed", "conflicting_outcome", ("verified", "failed", "verified")),
        ("failed", "conflicting_outcome", ("failed", "verified", "failed", "unavailable")),
    ],
)
def test_outcomes_merge_in_any_order(expected: str, reason: str | None, states: tuple[str, ...]) -> None:
    """Unavailable is superseded, a failure is never washed away, whichever came first."""
    for order in permutations(states):
        merged = _outcome(order[0])
        for state in order[1:]:
            merged = evidence.merge_outcomes(merged, _outcome(state))
        assert (expected, reason) == (merged.state, merged.reason)


@pytest.mark.parametrize(
    ("expected", "reason", "claim"),
    [
        ("verified", None, {"state": "verified", **AT}),
        ("unknown", "no_destination_evidence", {"state": "verified", "destination": "crm/1"}),
        ("unknown", "no_destination_evidence", {"state": "verified", "evidence": "row 7"}),
        ("unknown", "no_destination_evidence", {"state": "verified", "destination": " ", "evidence": "row 7"}),
        ("unknown", "recorded_unknown", {"state": "unknown"}),
        ("unknown", "timeout", {"state": "unknown", "reason": "timeout"}),
        ("unknown", "unknown_state", {"state": "done", **AT}),
        ("unknown", "unknown_state", {"state": None, **AT}),
        ("failed", None, {"state": "failed"}),
        ("rejected", "over limit", {"state": "rejected", "reason": "over limit"}),
        ("rejected", None, {"state": "rejected", "found": False}),
        ("failed", "boundary_breached", {"state": "rejected", "found": True}),
    ],
)
def test_effect_needs_destination_evidence(expected: str, reason: str | None, claim: dict[str, object]) -> None:
    """Only what was seen at the destination is verified; a failure needs no proof; a found rejection is a breach."""
    found = evidence.effect(effect_id="e1", **claim)
    assert (expected, reason) == (found.state, found.reason)


def test_a_stated_absence_outlives_a_record_that_states_nothing() -> None:
    """`unavailable: timeout` said once stays said, whichever record came first."""
    stated, empty = evidence.outcome(state="unavailable", reason="timeout"), evidence.outcome(state=None)
    for merged in (evidence.merge_outcomes(stated, empty), evidence.merge_outcomes(empty, stated)):
        assert ("timeout", True) == (merged.reason, evidence.states_a_state(merged))
    assert False is evidence.states_a_state(empty)


def _effect(state: str, effect_id: str, key: str | None = "k") -> Effect:
    proof = AT if state == "verified" else {}
    return evidence.effect(effect_id=effect_id, state=state, idempotency_key=key, **proof)


@pytest.mark.parametrize(
    ("expected", "reason", "attempts", "states"),
    [
        ("verified", None, 1, ("verified",)),
        ("verified", None, 2, ("unknown", "verified")),
        ("verified", None, 2, ("verified", "unknown")),
        ("verified", None, 2, ("failed", "verified")),
        ("failed", None, 2, ("verified", "failed")),
        ("failed", None, 3, ("verified", "failed", "unknown")),
        ("unknown", "recorded_unknown", 2, ("rejected", "unknown")),
        ("rejected", None, 2, ("rejected", "rejected")),
        ("failed", "boundary_breached", 2, ("rejected", "verified")),
        ("failed", "boundary_breached", 3, ("verified", "rejected", "verified")),
    ],
)
def test_attempts_with_one_key_are_one_effect(
    expected: str, reason: str | None, attempts: int, states: tuple[str, ...]
) -> None:
    """The last attempt that the destination answered decides; a rejected one that turns up is a breach."""
    (found,) = evidence.reconcile(_effect(state, f"e{index}") for index, state in enumerate(states))
    assert (expected, reason, attempts) == (found.state, found.reason, found.attempts)


@pytest.mark.parametrize("key", ["k", None])
@pytest.mark.parametrize(
    ("expected", "reason", "states"),
    [
        ("verified", None, ("unknown", "verified")),
        ("failed", "conflicting_effect", ("failed", "verified")),
        ("failed", "conflicting_effect", ("failed", "unknown", "verified")),
        ("failed", "boundary_breached", ("rejected", "verified")),
        ("failed", "boundary_breached", ("rejected", "verified", "failed")),
        ("failed", None, ("rejected", "failed", "unknown")),
    ],
)
def test_records_of_one_attempt_merge_in_any_order(
    key: str | None, expected: str, reason: str | None, states: tuple[str, ...]
) -> None:
    """What is said twice of the same attempt is one attempt, and its failure sticks."""
    for order in permutations(states):
        (found,) = evidence.reconcile(_effect(state, "e1", key) for state in order)
        assert (expected, reason, 1) == (found.state, found.reason, found.attempts)


def test_a_record_without_key_belongs_to_the_keyed_attempt_of_its_id() -> None:
    """A later verification need not repeat the key; what it doesn't say is kept from the attempt."""
    first = evidence.effect(effect_id="e1", state="unknown", tool="crm__refund", idempotency_key="k")
    later = evidence.effect(effect_id="e1", state="verified", **AT)
    (found,) = evidence.reconcile((first, later))
    assert (EffectState.VERIFIED, "k", "crm__refund") == (found.state, found.idempotency_key, found.tool)


def test_different_effects_stay_apart() -> None:
    """Without a common key or id nothing is merged, and the result is sorted by id."""
    found = evidence.reconcile(
        (_effect("verified", "b", "k2"), _effect("unknown", "a", None), _effect("failed", "c", "k1"))
    )
    assert [("a", "unknown"), ("b", "verified"), ("c", "failed")] == [(e.effect_id, e.state) for e in found]


@pytest.mark.parametrize(
    ("expected", "statuses"),
    [
        ("failed", ("rejected",)),
        ("failed", ("rejected", "rejected")),
        ("verified", ("rejected", "success")),
        ("verified", ("rejected", None)),
        ("verified", ()),
    ],
)
def test_an_effect_of_rejected_calls_is_a_breach(expected: str, statuses: tuple[str | None, ...]) -> None:
    """If every call of the tool was rejected, its verified effect came past the boundary."""
    calls = [ToolCall(index=i, raw_name="t", name="t", status=status) for i, status in enumerate(statuses)]
    (found,) = evidence.hold_boundary((evidence.effect(effect_id="e", state="verified", tool="t", **AT),), calls)
    assert expected == found.state
