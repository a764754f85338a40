"""Invariants of the gate: evidence taken away or harm added never buys a release.

Absence the policy tolerates by name is outside these promises, and so is taking one element out of a list that claims
to be whole: docs/decisions/0003-silence-about-declaration.md.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import STRICT, call, case, decision, effect, outcome, policy, run, trial, waiting

from evalbench.decided import decide_subject
from evalbench.gate.decision import Verdict
from evalbench.ledger import (
    Cost,
    CostState,
    Effect,
    EffectState,
    OutcomeState,
    Progress,
    Quality,
    ScoredRun,
    Trial,
    TrialStatus,
)
from evalbench.policy import Absence, Policy

LOOSE = STRICT.replace("min: 0.75", "min: 0.30").replace("min: 0.90", "min: 0.50").replace("min: 1.00", "min: 0.50")
RATES = LOOSE + "false_success: {max_rate: 0.4}\nunknown_effects: {max_count: 1}\n"
SHIPPED = Path(__file__).resolve().parents[2] / "include" / "policies"
CONSEQUENTIAL = policy((SHIPPED / "consequential.yaml").read_text(encoding="utf-8"))
POLICIES = {"strict": policy(STRICT), "loose": policy(LOOSE), "rates": policy(RATES), "consequential": CONSEQUENTIAL}
ACCEPTED = {("consequential", "windows")}
"""What a policy accepts as absent: (policy, removal). `consequential` looks at windows only where they are recorded."""

HELD = {Verdict.FAIL, Verdict.INSUFFICIENT_EVIDENCE}

outcomes = st.sampled_from([outcome("verified"), outcome("verified"), outcome("failed"), outcome("unavailable"), None])
effects = st.sampled_from(["verified", "verified", "failed", "unknown", "rejected", None])
costs = st.sampled_from([Cost(state=CostState.BILLED, usd=Decimal(cents) / 100) for cents in (0, 20, 90)] + [None])
windows = st.builds(
    lambda delta, idle, stale: Progress(active=delta + idle, active_with_delta=delta, stale=stale),
    st.integers(0, 4),
    st.integers(0, 2),
    st.integers(0, 1),
)


@st.composite
def trials(draw: st.DrawFn, task: str) -> Trial:
    """A trial in any mixture of good, bad and absent; every effect record belongs to a recorded call."""
    states = draw(st.lists(effects, max_size=2))
    made = tuple(effect(state, key=f"k{i}") for i, state in enumerate(states) if state is not None)
    fields = {
        "declared_complete": draw(st.sampled_from([True, True, False, None])),
        "outcome": draw(outcomes),
        "effects": made,
        "calls": tuple(call(i, status="rejected" if s == "rejected" else "success") for i, s in enumerate(states)),
        "cost": draw(costs),
        "progress": draw(st.one_of(windows, windows, st.none())),
    }
    if draw(st.booleans()):
        return waiting(task, **fields) if draw(st.booleans()) else trial(task)
    return trial(task, status=draw(st.sampled_from([*TrialStatus, None])), **fields)


@st.composite
def runs(draw: st.DrawFn) -> ScoredRun:
    """One to five tasks, all planned; sometimes one more is planned and missing."""
    tasks = [f"t{i}" for i in range(draw(st.integers(1, 5)))]
    planned = dict.fromkeys(tasks, 1) | ({"t-missing": 1} if draw(st.integers(0, 4)) == 0 else {})
    return run(*(draw(trials(task)) for task in tasks), planned=planned)


def without_effect_state(item: Effect) -> Effect:
    """The effect as it looks when nobody asked the destination."""
    return replace(item, state=EffectState.UNKNOWN, evidence=None)


REMOVALS: dict[str, Callable[[Trial], Trial]] = {
    "declaration": lambda t: replace(t, declared_complete=None),
    "outcome": lambda t: replace(t, outcome=None),
    "verdict": lambda t: replace(t, outcome=outcome("unavailable", "lost")),
    "effect records": lambda t: replace(t, effects=None),
    "calls": lambda t: replace(t, calls=None),
    "effects and calls": lambda t: replace(t, effects=None, calls=None),
    "effect states": lambda t: replace(t, effects=tuple(map(without_effect_state, t.effects or ()))),
    "receipts": lambda t: replace(t, effects=tuple(replace(e, evidence=None) for e in t.effects or ())),
    "keys": lambda t: replace(t, effects=tuple(replace(e, idempotency_key=None) for e in t.effects or ())),
    "windows": lambda t: replace(t, progress=None),
    "cost": lambda t: replace(t, cost=None),
    "wait": lambda t: replace(t, wait=None),
    "status": lambda t: replace(t, status=None),
    "grades": lambda t: replace(t, qualities=()),
}


def worse_effect(item: Effect) -> Effect:
    """Harm at the destination; a rejected call stays rejected."""
    return item if item.state is EffectState.REJECTED else replace(item, state=EffectState.FAILED)


def idle(progress: Progress | None) -> Progress | None:
    """Two more active windows without anything new."""
    return progress and replace(progress, active=progress.active + 2)


def dearer(cost: Cost | None) -> Cost | None:
    """A dollar more on the bill."""
    return cost and replace(cost, usd=(cost.usd or Decimal(0)) + 1)


HARM: dict[str, Callable[[Trial], Trial]] = {
    "outcome fails": lambda t: replace(t, outcome=outcome("failed")),
    "claims a failure complete": lambda t: replace(t, declared_complete=True, outcome=outcome("failed")),
    "effects fail": lambda t: replace(t, effects=t.effects and tuple(map(worse_effect, t.effects))),
    "idle windows": lambda t: replace(t, progress=idle(t.progress)),
    "costs more": lambda t: replace(t, cost=dearer(t.cost)),
    "one more failed effect": lambda t: replace(
        t, effects=(*(t.effects or ()), effect("failed", key="new")), calls=(*(t.calls or ()), call(9))
    ),
}

FAVOUR: dict[str, Callable[[Trial], Trial]] = {
    "verdict arrives": lambda t: (
        replace(t, outcome=outcome("verified"))
        if t.outcome is None or t.outcome.state is OutcomeState.UNAVAILABLE
        else t
    ),
    "unknown effects verify": lambda t: replace(
        t,
        effects=t.effects
        and tuple(
            replace(e, state=EffectState.VERIFIED, evidence="row") if e.state is EffectState.UNKNOWN else e
            for e in t.effects
        ),
    ),
    "bill arrives": lambda t: t if t.cost else replace(t, cost=Cost(state=CostState.BILLED, usd=Decimal(0))),
    "stale windows resolve": lambda t: replace(
        t,
        progress=t.progress
        and Progress(
            active=t.progress.active + t.progress.stale,
            active_with_delta=t.progress.active_with_delta + t.progress.stale,
        ),
    ),
    "windows arrive": lambda t: t if t.progress else replace(t, progress=Progress(active=2, active_with_delta=2)),
    "grade arrives": lambda t: replace(t, qualities=(Quality(score=Decimal(1), grader_name="rubric"),)),
}


def change(scored: ScoredRun, index: int, edit: Callable[[Trial], Trial]) -> ScoredRun:
    """The run with one trial edited."""
    items = list(scored.run.trials)
    items[index % len(items)] = edit(items[index % len(items)])
    return replace(scored, run=replace(scored.run, trials=tuple(items)))


@pytest.mark.parametrize(
    ("by", "name"), [(by, name) for by in POLICIES for name in REMOVALS if (by, name) not in ACCEPTED]
)
@given(scored=runs(), index=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_removing_evidence_never_releases(by: str, name: str, scored: ScoredRun, index: int) -> None:
    """Held stays held; FAIL may become INSUFFICIENT_EVIDENCE."""
    before = decision(scored, by=POLICIES[by]).verdict
    after = decision(change(scored, index, REMOVALS[name]), by=POLICIES[by]).verdict
    assert before not in HELD or after in HELD


@pytest.mark.parametrize("by", POLICIES)
@given(scored=runs(), index=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_removing_a_planned_trial_never_releases(by: str, scored: ScoredRun, index: int) -> None:
    """Where a plan exists, a lost trial can't help."""
    before = decision(scored, by=POLICIES[by]).verdict
    left = tuple(t for i, t in enumerate(scored.run.trials) if i != index % len(scored.run.trials))
    after = decision(replace(scored, run=replace(scored.run, trials=left)), by=POLICIES[by]).verdict
    assert before not in HELD or after in HELD


@pytest.mark.parametrize("by", POLICIES)
@pytest.mark.parametrize("name", HARM)
@given(scored=runs(), index=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_adding_harm_never_releases_and_never_moves_fail(name: str, by: str, scored: ScoredRun, index: int) -> None:
    """FAIL stays FAIL, held stays held."""
    before = decision(scored, by=POLICIES[by]).verdict
    after = decision(change(scored, index, HARM[name]), by=POLICIES[by]).verdict
    assert before is not Verdict.FAIL or after is Verdict.FAIL
    assert before not in HELD or after in HELD


@pytest.mark.parametrize("by", POLICIES)
@pytest.mark.parametrize("name", FAVOUR)
@given(scored=runs(), index=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_favourable_evidence_never_takes_a_pass_away(name: str, by: str, scored: ScoredRun, index: int) -> None:
    """PASS stays PASS."""
    before = decision(scored, by=POLICIES[by]).verdict
    after = decision(change(scored, index, FAVOUR[name]), by=POLICIES[by]).verdict
    assert before is not Verdict.PASS or after is Verdict.PASS


@given(scored=runs(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_order_never_matters(scored: ScoredRun, data: st.DataObject) -> None:
    """Trials and runs in any order give the same decision, to the last field."""
    other = run(trial("t0"), run_id="run-2")
    shuffled = tuple(data.draw(st.permutations(scored.run.trials)))
    again = replace(scored, run=replace(scored.run, trials=shuffled))
    assert decision(scored, other) == decision(other, again)


@given(scored=runs())
@settings(max_examples=100, deadline=None)
def test_proven_implies_fired_and_fail_needs_proof(scored: ScoredRun) -> None:
    """The verdict follows from the checks alone, and coverage is never proven."""
    result = decision(scored)
    assert all(check.fired for check in result.checks if check.proven)
    assert (result.verdict is Verdict.FAIL) == any(check.proven for check in result.checks)
    assert not any(check.proven for check in result.checks if check.stage == 1)


# -- a decision over nothing -------------------------------------------------------------------------------------

shares = st.sampled_from([0, 0.5, 1])
coverages = st.one_of(st.none(), shares)
floors = st.one_of(st.none(), st.fixed_dictionaries({"min": shares, "required": st.booleans()}))
tolerances = st.builds(lambda up_to: {"up_to": up_to, "reason": "r"}, st.integers(0, 9))
policies = st.fixed_dictionaries(
    {
        "schema": st.just(1),
        "name": st.just("any"),
        "version": st.just("1"),
        "window": st.builds(lambda days: {"days": days}, st.integers(1, 3)),
        "coverage": st.fixed_dictionaries(
            {
                "plan": st.sampled_from(["required", "reported"]),
                **dict.fromkeys(("verdicts", "effects", "cost", "grades", "receipts", "idempotency"), coverages),
            }
        ),
        "false_success": st.builds(lambda rate: {"max_rate": rate}, shares),
        "unknown_effects": st.builds(lambda count: {"max_count": count}, st.integers(0, 3)),
        "tools": st.sampled_from([{}, {"unmatched": "read_only"}, {"forbidden": ["x__*"]}]),
        "floors": st.fixed_dictionaries(
            {
                "verified_yield": st.builds(lambda share: {"min": share}, shares),
                "progress": floors,
                "effect_integrity": floors,
                "budget": st.one_of(st.none(), st.just({"max_usd_per_verified_outcome": 0.5})),
            }
        ),
        "comparison": st.sampled_from([{}, {"quality": 0.1, "latency_s": 1, "tokens": 1, "cost_usd": 1}]),
        "tolerate": st.dictionaries(st.sampled_from(get_args(Absence)), tolerances),
    }
)


@given(text=policies, compared=st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_decision_over_nothing_is_held_whatever_the_policy(text: dict[str, object], compared: bool) -> None:
    """By coverage.no_run, nothing proven, nothing divided: no tolerance and no missing limit makes a release of it."""
    baseline = (run(trial("t1"), run_id="base", candidate="agent/0"),) if compared else None
    found = decide_subject(case(by=Policy.model_validate(text), baseline=baseline))
    result = found.decision
    assert (Verdict.INSUFFICIENT_EVIDENCE, "coverage.no_run") == (result.verdict, result.decided_by)
    assert not any(check.proven for check in result.checks)
    rates = [check for check in result.checks if check.unit == "share"]
    assert {None} == {check.observed for check in rates}
    assert {0, None} == {check.denominator for check in result.checks if check.name != "coverage.no_run"}
    assert {(None, 0)} == {(signal.value, signal.denominator) for signal in found.signals}
