"""Invariants of evidence and records: nothing looks better for missing evidence, added harm, or another order."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from evalbench import evidence
from evalbench.ledger import Effect, EffectState, Outcome, OutcomeState
from evalbench.readers.redact import redact_json, redact_text
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.trial_records import RecordLedger, read_trial_records

NOW = datetime(2027, 1, 1, tzinfo=UTC)

words = st.sampled_from([None, "", "x"])
claims = st.fixed_dictionaries(
    {
        "state": st.sampled_from([None, "verified", "failed", "unavailable", "odd"]),
        "predicate": words,
        "verifier_name": words,
        "verifier_kind": st.sampled_from([None, "deterministic", "human", "model", "odd"]),
    }
)
outcomes = st.sampled_from(list(OutcomeState)).map(lambda state: Outcome(state=state))
effects = st.builds(
    lambda state, number, key, proof, found: evidence.effect(
        effect_id=f"e{number}",
        state=state,
        idempotency_key=key,
        destination="d" if proof else None,
        evidence="x" if proof else None,
        found=found,
    ),
    st.sampled_from(list(EffectState)),
    st.integers(0, 3),
    st.sampled_from([None, "k1", "k2"]),
    st.booleans(),
    st.booleans(),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "task_id", "trial", "run_id", "started_at", "status", "declared_complete", "outcome", "quality", "progress",
    "effects", "tools", "cost", "wait", "usage", "timing", "environment", "transcript",
)  # fmt: skip


def _read(data: bytes) -> RecordLedger:
    return read_trial_records(Snapshot(path="r", files={"trials.jsonl": data}, newest_mtime=NOW), ReadOptions(now=NOW))


@given(claims, st.sampled_from(["predicate", "verifier_name", "verifier_kind"]))
def test_taking_a_name_away_never_verifies(claim: dict[str, str | None], field: str) -> None:
    """Whatever a claim loses, an outcome that wasn't verified doesn't become so."""
    before, after = evidence.outcome(**claim), evidence.outcome(**{**claim, field: None})
    assert before.state is OutcomeState.VERIFIED or after.state is not OutcomeState.VERIFIED


@given(st.lists(outcomes, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_outcomes_merge_to_one_state_in_any_order(found: list[Outcome], random: Random) -> None:
    """Merging is commutative and associative in state and reason, and one failure among them stays."""
    shuffled = list(found)
    random.shuffle(shuffled)
    merged = []
    for order in (found, shuffled):
        one = order[0]
        for other in order[1:]:
            one = evidence.merge_outcomes(one, other)
        merged.append((one.state, one.reason))
    assert merged[0] == merged[1]
    assert (merged[0][0] is OutcomeState.FAILED) == any(item.state is OutcomeState.FAILED for item in found)


def _looks(found: tuple[Effect, ...]) -> tuple[int, int]:
    """(verified, not verified but counted)."""
    verified = sum(item.state is EffectState.VERIFIED for item in found)
    return verified, sum(item.state in (EffectState.FAILED, EffectState.UNKNOWN) for item in found)


@given(st.lists(effects, max_size=6))
def test_reconciled_effects_are_stable(found: list[Effect]) -> None:
    """One effect per key and per keyless id, every attempt counted, sorted, and nothing is verified from nowhere."""
    merged = evidence.reconcile(found)
    assert sorted(merged, key=lambda e: (e.effect_id, e.idempotency_key or "")) == list(merged)
    keys = [effect.idempotency_key for effect in merged if effect.idempotency_key]
    assert len(keys) == len(set(keys))
    assert {effect.idempotency_key for effect in found if effect.idempotency_key} == set(keys)
    assert sum(item.state is EffectState.VERIFIED for item in merged) <= sum(
        item.state is EffectState.VERIFIED for item in found
    )


@given(st.lists(effects, max_size=6), effects)
def test_one_more_failure_never_improves(found: list[Effect], harm: Effect) -> None:
    """A failed record at the end leaves its effect failed, and adds no verified one."""
    failed = replace(harm, state=EffectState.FAILED, reason=None, evidence=None)
    before, after = evidence.reconcile(found), evidence.reconcile([*found, failed])
    assert _looks(after)[0] <= _looks(before)[0]
    assert _looks(after)[1] >= 1


@given(st.lists(effects, max_size=6), st.data())
def test_evidence_taken_away_verifies_nothing(found: list[Effect], data: st.DataObject) -> None:
    """An effect record without its evidence is unknown: no more is verified than before."""
    if not found:
        return
    index = data.draw(st.integers(0, len(found) - 1))
    if found[index].state is not EffectState.VERIFIED:
        return
    poorer = [*found[:index], replace(found[index], state=EffectState.UNKNOWN, evidence=None), *found[index + 1 :]]
    assert _looks(evidence.reconcile(poorer))[0] <= _looks(evidence.reconcile(found))[0]


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    """No file makes the reader raise, and twice read is the same."""
    assert _read(data) == _read(data)


@given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=6))
def test_any_json_is_read(record: dict[str, object]) -> None:
    """Wrong types anywhere cost fields, never the run: the line around it is always there."""
    line = json.dumps({"task_id": "a", **record})
    ledger = _read(f'{line}\n{{"task_id": "sentinel", "trial": 77}}\n'.encode("utf-8", "surrogatepass"))
    assert ("sentinel", 77) in {(trial.task_id, trial.trial) for trial in ledger.trials}
    assert len(ledger.trials) + (not ledger.complete) == 2 or record.get("task_id") == "sentinel"
    json.dumps(repr(ledger)).encode()


lines = st.builds(
    lambda task, trial, state: {
        "task_id": task,
        **({} if trial is None else {"trial": trial}),
        "outcome": {"state": state, "predicate": "p", "verifier": {"kind": "human", "name": "v"}},
        "effects": [{"id": "e", "state": state, "destination": "d", "evidence": "x"}],
    },
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from(["verified", "failed", "unavailable", "rejected"]),
)


@given(st.lists(lines, max_size=6), st.randoms(use_true_random=False))
def test_order_of_lines_never_matters(found: list[dict[str, object]], random: Random) -> None:
    """Shuffled lines give the same trials with the same states."""
    shuffled = list(found)
    random.shuffle(shuffled)
    states = []
    for order in (found, shuffled):
        ledger = _read("".join(f"{json.dumps(line)}\n" for line in order).encode())
        states.append(
            [
                (t.task_id, t.trial, t.outcome and t.outcome.state, [(e.effect_id, e.state) for e in t.effects or ()])
                for t in ledger.trials
            ]
        )
    assert states[0] == states[1]


@given(json_values)
def test_redaction_settles(value: object) -> None:
    """Redacting what is redacted changes nothing; a planted secret is gone."""
    once = redact_json(value)
    assert json.dumps(once) == json.dumps(redact_json(once))
    assert "hunter2" not in json.dumps(redact_json({"password": "hunter2", "other": value}))


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_secret_is_found_in_any_text(before: str, after: str) -> None:
    """Whatever stands around it, a key of a known shape doesn't come through."""
    assert "AKIAIOSFODNN7EXAMPLE" not in redact_text(f"{before} AKIAIOSFODNN7EXAMPLE {after}")
