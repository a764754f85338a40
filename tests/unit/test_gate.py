"""The gate's promises, one spoiled thing at a time. Definitions: metrics of docs/glossary.md and the policies."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.builders import STRICT, call, decision, effect, fired, outcome, policy, run, spoil, trial, waiting

from evalbench import evidence
from evalbench.gate.decision import Decision, Verdict
from evalbench.gate.result import CheckResult
from evalbench.ledger import (
    Cost,
    CostState,
    Effect,
    Plan,
    PlanSource,
    Progress,
    Quality,
    RunState,
    ScoredRun,
    Timing,
    TrialStatus,
    VerdictState,
    Wait,
)
from evalbench.ledger import Verdict as Said

GOOD = run(trial("t1"), trial("t2"), trial("t3"), trial("t4"))


def check(result: Decision, name: str) -> CheckResult:
    """The one check of this name."""
    return next(item for item in result.checks if item.name == name)


def test_complete_favourable_evidence_passes() -> None:
    """Four verified trials with receipts, keys, windows and bills: PASS, nothing fired, no reason."""
    result = decision(GOOD)
    assert (Verdict.PASS, {}, None, None) == (result.verdict, fired(result), result.first_reason, result.decided_by)


def stateless_effect() -> Effect:
    """A complete effect record that doesn't say what became of it."""
    return evidence.effect(
        effect_id="e", state=None, tool="billing__pay", destination="ledger", idempotency_key="k", evidence="row 7"
    )


SPOILED = [
    # what is spoiled in trial t4, what fires (name → proven), the verdict
    pytest.param(
        {"outcome": outcome("failed")},
        {"false_success": True},
        Verdict.FAIL,
        id="a declared completion that failed is proven false success, whatever the rest",
    ),
    pytest.param(
        {"outcome": outcome("unavailable", "verifier_down")},
        {"coverage.verdicts": False, "false_success": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="an unavailable outcome may hide a false success",
    ),
    pytest.param(
        {"outcome": None},
        {"coverage.ledger": False, "coverage.verdicts": False, "false_success": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="a declared completion that says nothing of its outcome is silence",
    ),
    pytest.param(
        {"outcome": evidence.outcome(state=None, predicate="p", verifier_kind="human", verifier_name="v")},
        {"coverage.ledger": False, "coverage.verdicts": False, "false_success": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="an outcome record without a state is silence, too",
    ),
    pytest.param(
        {"declared_complete": None},
        {"coverage.ledger": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="silence about declaration fires, though its outcome verified",
    ),
    pytest.param(
        {"declared_complete": None, "outcome": outcome("failed")},
        {"coverage.ledger": False, "false_success": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="a failed outcome of unknown declaration may be a false success",
    ),
    pytest.param(
        {"declared_complete": False, "outcome": outcome("failed")},
        {},
        Verdict.PASS,
        id="an admitted failure is no false success, and the yield floor holds at 3/4",
    ),
    pytest.param(
        {"effects": (effect("unknown"),)},
        {
            "coverage.effects": False,
            "coverage.receipts": False,
            "unknown_effects": False,
            "floor.effect_integrity": False,
        },
        Verdict.INSUFFICIENT_EVIDENCE,
        id="an unknown effect is never proven harm",
    ),
    pytest.param(
        {"effects": (stateless_effect(),)},
        {
            "coverage.ledger": False,
            "coverage.effects": False,
            "unknown_effects": False,
            "floor.effect_integrity": False,
        },
        Verdict.INSUFFICIENT_EVIDENCE,
        id="an effect record without a state is silence and an unknown effect",
    ),
    pytest.param(
        {"effects": (effect("failed"),)},
        {"floor.effect_integrity": True},
        Verdict.FAIL,
        id="a failed effect breaches a floor of 1.00 at both ends",
    ),
    pytest.param(
        {"effects": ()},
        {
            "coverage.ledger": False,
            "coverage.effects": False,
            "coverage.receipts": False,
            "coverage.idempotency": False,
            "unknown_effects": False,
            "floor.effect_integrity": False,
        },
        Verdict.INSUFFICIENT_EVIDENCE,
        id="an effectful call without an effect record is silent, and an unknown effect",
    ),
    pytest.param(
        {"effects": None, "calls": None},
        {"coverage.ledger": False, "unknown_effects": False, "floor.effect_integrity": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="a trial that recorded neither calls nor effects may hide any number of effects",
    ),
    pytest.param(
        {"calls": None},
        {"coverage.ledger": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="effects without the calls that made them: a silent call can't be seen",
    ),
    pytest.param(
        {
            "effects": (effect(), effect("rejected", key="k2", evidence=None)),
            "calls": (call(), call(1, status="rejected")),
        },
        {},
        Verdict.PASS,
        id="a call rejected on purpose is in no denominator and needs no receipt",
    ),
    pytest.param(
        {"calls": (call(), call(1, "crm__get_account"))},
        {},
        Verdict.PASS,
        id="a read-only call needs no effect record",
    ),
    pytest.param(
        {"effects": (effect(key=None),)},
        {"coverage.idempotency": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="a write without an idempotency key",
    ),
    pytest.param(
        {"progress": Progress(active=12, active_with_delta=0)},
        {"floor.progress": True},
        Verdict.FAIL,
        id="9 of 21 active windows with new evidence breaches 0.90 at both ends",
    ),
    pytest.param(
        {"progress": Progress(active=3, active_with_delta=3, stale=2)},
        {"floor.progress": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="stale windows count at the worst end only: 12/14 is below 0.90",
    ),
    pytest.param(
        {"progress": None},
        {"floor.progress": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="a trial without windows where windows are required",
    ),
    pytest.param(
        {"cost": None},
        {"coverage.cost": False, "floor.budget": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="a missing bill has no bound",
    ),
    pytest.param(
        {"cost": Cost(state=CostState.ESTIMATED, usd=Decimal("0.01"))},
        {"coverage.cost": False, "floor.budget": False},
        Verdict.INSUFFICIENT_EVIDENCE,
        id="an estimate is no bill",
    ),
    pytest.param(
        {"cost": Cost(state=CostState.BILLED, usd=Decimal("1.30"))},
        {"floor.budget": True},
        Verdict.FAIL,
        id="2.50 over 4 verified outcomes breaches 0.60 at both ends",
    ),
    pytest.param(
        {"qualities": ()},
        {},
        Verdict.PASS,
        id="ungraded is reported, not fired",
    ),
]


@pytest.mark.parametrize(("changes", "expected", "verdict"), SPOILED)
def test_one_spoiled_trial(changes: dict[str, Any], expected: dict[str, bool], verdict: Verdict) -> None:
    """Exactly these checks fire, proven or not, and the verdict follows from them."""
    result = decision(spoil(GOOD, 3, **changes))
    assert expected == fired(result)
    assert verdict == result.verdict


def test_first_reason_is_the_first_fired_and_decided_by_the_first_proven() -> None:
    """Missing evidence speaks first, proven harm decides."""
    result = decision(spoil(spoil(GOOD, 2, outcome=outcome("unavailable")), 3, outcome=outcome("failed")))
    assert ("coverage.verdicts", "false_success") == (result.first_reason, result.decided_by)


def test_a_missing_planned_trial_is_never_proven_and_never_passes() -> None:
    """A planned trial without a record fires the ledger; every rate opens up at its worst end."""
    result = decision(run(trial("t1"), trial("t2"), planned={"t1": 1, "t2": 1, "t3": 1}))
    assert Verdict.INSUFFICIENT_EVIDENCE == result.verdict
    assert {"coverage.ledger", "false_success", "unknown_effects", "floor.verified_yield"} <= fired(result).keys()
    assert not any(fired(result).values())


def test_an_unplanned_trial_counts() -> None:
    """A plan can't hide harm: a trial beyond it is owed, and its false success is proven."""
    result = decision(run(trial("t1"), trial("t2", outcome=outcome("failed")), planned={"t1": 1}))
    assert (2, True) == (check(result, "floor.verified_yield").denominator, fired(result)["false_success"])


def test_giving_up_silently_does_not_buy_a_pass() -> None:
    """Two of five trials end undeclared and unverified: the yield of 3/5 breaches 0.75."""
    lazy = {"declared_complete": False, "outcome": outcome("failed"), "effects": (), "calls": ()}
    result = decision(run(trial("t1"), trial("t2"), trial("t3"), trial("t4", **lazy), trial("t5", **lazy)))
    assert {"floor.verified_yield": True, "floor.budget": True} == fired(result)


def test_a_valid_wait_is_owed_nothing_and_an_overdue_one_is() -> None:
    """A valid wait leaves the yield's denominator; once its due date has passed it is a stalled trial."""
    overdue = Wait(owner="o", decision="d", due=datetime(2026, 3, 2, 23, tzinfo=UTC), resume_state="s")
    assert 4 == check(decision(run(*GOOD.run.trials, waiting())), "floor.verified_yield").denominator
    assert 5 == check(decision(run(*GOOD.run.trials, waiting(wait=overdue))), "floor.verified_yield").denominator


def test_spend_without_a_verified_outcome_breaches_any_budget() -> None:
    """Proven when no outcome could become verified, not before."""
    failed = {"declared_complete": False, "outcome": outcome("failed")}
    proven = decision(run(trial("t1", **failed)))
    open_ = decision(run(trial("t1", declared_complete=False, outcome=outcome("unavailable"))))
    assert (True, True) == (check(proven, "floor.budget").proven, check(proven, "floor.budget").worst_unbounded)
    assert (True, False) == (check(open_, "floor.budget").fired, check(open_, "floor.budget").proven)


def test_an_end_without_a_bound_is_no_number() -> None:
    """A missing bill: worst is None and said to be unbounded, in the result that tables and JSON are made of."""
    budget = check(decision(spoil(GOOD, 3, cost=None)), "floor.budget")
    assert (True, True, None) == (budget.fired, budget.worst_unbounded, budget.worst)


def test_an_observed_plan_fires_under_a_policy_that_requires_one() -> None:
    """Without a plan a lost trial can't be seen: unproven."""
    observed = replace(GOOD, run=replace(GOOD.run, plan=replace(GOOD.run.plan, source=PlanSource.OBSERVED)))
    assert {"coverage.plan": False} == fired(decision(observed))


def test_an_abandoned_run_without_a_plan_holds() -> None:
    """Nobody knows how many trials are missing: the ledger fires, and nothing favourable is concluded."""
    plan = Plan(source=PlanSource.OBSERVED)
    abandoned = replace(GOOD, run=replace(GOOD.run, state=RunState.ABANDONED, plan=plan))
    result = decision(abandoned)
    assert Verdict.INSUFFICIENT_EVIDENCE == result.verdict
    assert False is fired(result)["coverage.ledger"]


def test_no_trial_at_all_is_no_pass() -> None:
    """Zero of zero is not a success."""
    assert Verdict.INSUFFICIENT_EVIDENCE == decision(run()).verdict


def test_two_dataset_versions_are_never_pooled() -> None:
    """The newest run's version is judged, harm on the other is not its own; on one day two versions hold it."""
    bad = {"dataset_version": "1", "run_time": datetime(2026, 3, 2, 8, tzinfo=UTC)}
    old = run(trial("t1", outcome=outcome("failed")), run_id="old", **bad)
    new = run(trial("t1"), run_id="new", dataset_version="2")
    result = decision(old, new)
    assert ({"coverage.dataset_version": False}, ("new",)) == (fired(result), result.runs)
    earlier = replace(old, run=replace(old.run, run_time=datetime(2026, 3, 1, 8, tzinfo=UTC)))
    assert {} == fired(decision(earlier, new))


def test_a_tolerated_absence_is_accepted_up_to_its_count() -> None:
    """Named, counted, and no further."""
    tolerant = policy(STRICT + "tolerate:\n  effects: {up_to: 1, reason: read-only sandbox}\n")
    silent = {"effects": None, "calls": (call(),)}
    one = spoil(GOOD, 3, **silent)
    assert Verdict.PASS == decision(one, by=tolerant).verdict
    assert Verdict.INSUFFICIENT_EVIDENCE == decision(spoil(one, 2, **silent), by=tolerant).verdict


def test_evidence_the_policy_accepts_stands_behind_no_check() -> None:
    """A check over effects names the trials of the effects it counts, and no other."""
    silent = spoil(GOOD, 3, effects=None, calls=(call(),))
    tolerant = policy(STRICT + "tolerate:\n  effects: {up_to: 1, reason: read-only sandbox}\n")
    for by, named in ((policy(STRICT), 1), (tolerant, 0)):
        made = decision(silent, by=by)
        checks = [check(made, name) for name in ("coverage.effects", "unknown_effects", "floor.effect_integrity")]
        assert [named, named, named] == [len(found.trials) for found in checks]


def test_a_tolerated_absence_of_effects_covers_a_pool_without_any_call() -> None:
    """No effect was observed, and the policy accepts that by name; without the name it fires."""
    nothing = run(*(trial(t, effects=(), calls=()) for t in ("t1", "t2")))
    tolerant = policy(STRICT + "tolerate:\n  effects: {up_to: 2, reason: the agent only answers}\n")
    assert {} == fired(decision(nothing, by=tolerant))
    assert {"coverage.effects": False} == fired(decision(nothing))


def test_a_budget_over_nothing_spent_and_nothing_verified_fires() -> None:
    """0 over 0 holds no budget: an empty denominator of a required signal is missing evidence."""
    lax = policy(STRICT.replace("verified_yield: {min: 0.75}", "verified_yield: {min: 0}"))
    free = {"cost": Cost(state=CostState.BILLED, usd=Decimal(0)), "outcome": outcome("failed")}
    assert {"coverage.cost": False, "false_success": True} == fired(decision(run(trial(**free)), by=lax))


@pytest.mark.parametrize(
    ("state", "proven"),
    [
        pytest.param(RunState.COMPLETE, True, id="1 of 4 is above 0.1"),
        pytest.param(RunState.ABANDONED, False, id="unless any number of trials may be missing"),
    ],
)
def test_a_rate_of_false_success_is_unproven_while_trials_may_be_missing(state: RunState, proven: bool) -> None:
    """A run abandoned without a plan hides an unknown number of trials; enough verified ones dilute any rate."""
    lenient = policy(STRICT + "false_success: {max_rate: 0.1}\n")
    spoiled = spoil(GOOD, 3, outcome=outcome("failed"))
    hidden = replace(spoiled, run=replace(spoiled.run, state=state, plan=Plan(source=PlanSource.OBSERVED)))
    assert proven is fired(decision(hidden, by=lenient))["false_success"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"due": None}, "outcome unavailable, stalled (wait_invalid)", id="no due date"),
        pytest.param(
            {"due": datetime(2026, 3, 2, tzinfo=UTC)}, "outcome unavailable, stalled (wait_overdue)", id="overdue"
        ),
    ],
)
def test_a_stalled_trial_is_shown_with_its_defect(changes: dict[str, Any], expected: str) -> None:
    """Whoever reads the yield sees why a waiting trial is owed after all."""
    wait = Wait(owner="o", decision="d", resume_state="s", **changes)
    result = decision(run(*GOOD.run.trials, waiting("t5", wait=wait)))
    assert [("t5", expected)] == [(ref.task_id, ref.why) for ref in check(result, "floor.verified_yield").trials]


@pytest.mark.parametrize(
    ("generator_class", "expected"),
    [
        pytest.param("probe.Agent", ["goal: r (attested by a)"], id="a run it speaks for"),
        pytest.param("other.Agent", [], id="a run it doesn't speak for"),
    ],
)
def test_an_attestation_shows_beside_the_records_own_outcome(generator_class: str, expected: list[str]) -> None:
    """A promoted comparator is named in the decision wherever it may decide, whoever spoke besides."""
    by = policy(
        STRICT + "outcome: {attestations: [{comparator: goal, match: {product: '*', generator_class: 'probe.*'},"
        " predicate: rows equal, reason: r, attested_by: a}]}\n"
    )
    row = Said(
        name="goal",
        source="harness",
        version="1",
        value=Decimal(0),
        state=VerdictState.AVAILABLE,
        task_id="t1",
        trial=0,
    )
    scored = ScoredRun(run=run(trial("t1"), generator_class=generator_class).run, verdicts=(row,))
    assert expected == list(decision(scored, by=by).attested)


def test_missing_receipts_and_keys_name_their_trials() -> None:
    """The trials behind a check are there for these two as well; a rejected effect owes neither."""
    bare = (effect("verified", key=None, evidence=None), effect("rejected", key=None, evidence=None))
    result = decision(spoil(GOOD, 3, effects=bare, calls=(call(), call(1, status="rejected"))))
    for name in ("coverage.receipts", "coverage.idempotency"):
        found = check(result, name)
        assert (3, 4, ["t4"]) == (found.numerator, found.denominator, [ref.task_id for ref in found.trials])


def test_a_task_whose_definition_changed_is_named() -> None:
    """One id, two definitions in the window: pooled, and said."""
    first, second = run(trial("t1", task_key="a"), run_id="x"), run(trial("t1", task_key="b"), run_id="y")
    assert (
        "more than one definition under one id: t1" in check(decision(first, second), "coverage.dataset_version").reason
    )


def test_tolerating_every_missing_verdict_verifies_nothing() -> None:
    """A tolerance accepts an absence; it is no outcome: 0 verified of 2 stays below the yield, unproven."""
    tolerant = policy(STRICT + "tolerate:\n  outcomes: {up_to: 9, reason: the verifier is down}\n")
    unknown = {"outcome": outcome("unavailable", "down")}
    result = decision(run(trial("t1", **unknown), trial("t2", **unknown)), by=tolerant)
    assert False is fired(result)["floor.verified_yield"]


def test_a_tolerated_missing_trial_is_not_counted_as_on_record() -> None:
    """1/1 on record where 1 of 2 planned is missing and tolerated, never 2/2."""
    tolerant = policy(STRICT + "tolerate:\n  records: {up_to: 1, reason: a machine was lost}\n")
    ledger = check(decision(run(trial("t1"), planned={"t1": 1, "t2": 1}), by=tolerant), "coverage.ledger")
    assert (False, 1, 1) == (ledger.fired, ledger.numerator, ledger.denominator)


def test_a_floor_over_what_was_recorded_accepts_trials_without_windows() -> None:
    """`required: false`: windows count where they are recorded, and their absence is the policy's to accept."""
    recorded = policy(STRICT.replace("progress: {min: 0.90}", "progress: {min: 0.90, required: false}"))
    none, one = spoil(GOOD, 3, progress=None), spoil(GOOD, 3, progress=Progress(active=30, active_with_delta=3))
    assert {} == fired(decision(none, by=recorded))
    assert {"floor.progress": True} == fired(decision(one, by=recorded))


def test_a_forbidden_tool_is_a_floor_even_when_the_call_was_rejected() -> None:
    """Attempted counts."""
    strict = policy(STRICT.replace("unmatched: effectful}", 'unmatched: effectful, forbidden: ["admin__*"]}'))
    attempted = {"calls": (call(), call(1, "admin__drop", status="rejected"))}
    assert {"floor.forbidden_tools": True} == fired(decision(spoil(GOOD, 3, **attempted), by=strict))


def test_regressions_compare_the_same_tasks_only() -> None:
    """t4 fails for the candidate and never ran for the baseline: no regression over the shared tasks."""
    lax = policy(STRICT.replace("effect_integrity: {min: 1.00}", "effect_integrity: {min: 0.50}"))
    candidate = spoil(GOOD, 3, effects=(effect("failed"),))
    baseline = run(trial("t1"), trial("t2"), run_id="base", candidate="agent/0")
    assert {} == fired(decision(candidate, by=lax, baseline=(baseline,)))
    baseline = run(*GOOD.run.trials, run_id="base", candidate="agent/0")
    assert {"floor.effect_regression": True} == fired(decision(candidate, by=lax, baseline=(baseline,)))


def test_a_regression_that_cannot_be_seen_holds() -> None:
    """Renamed tasks, or evidence the policy requires and the candidate lacks, are no way around the baseline."""
    baseline = run(trial("other"), run_id="base", candidate="agent/0")
    assert {"floor.progress_regression": False, "floor.effect_regression": False} == fired(
        decision(run(trial("t1")), baseline=(baseline,))
    )
    baseline = run(trial("t1"), run_id="base", candidate="agent/0")
    without = decision(run(trial("t1", progress=None)), baseline=(baseline,))
    assert False is fired(without)["floor.progress_regression"]


def test_without_a_baseline_nothing_is_compared() -> None:
    """not_evaluated, with the reason."""
    statuses = {c.name: c.status.value for c in decision(GOOD).checks if c.stage == 5 or "regression" in c.name}
    assert {"not_evaluated"} == set(statuses.values())


MARGIN = STRICT + "comparison: {quality: 0.05}\n"


def graded(score: str, version: str = "1") -> tuple[Quality, ...]:
    """One deterministic grade."""
    quality = Quality(score=Decimal(score), grader_kind="deterministic", grader_name="rubric", grader_version=version)
    return (quality,)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        pytest.param("0.80", {}, id="equal"),
        pytest.param("0.75", {}, id="at the margin"),
        pytest.param("0.74", {"compare.quality": True}, id="beyond the margin"),
    ],
)
def test_a_declared_margin_decides(score: str, expected: dict[str, bool]) -> None:
    """Quality may fall by the declared margin and no further."""
    trials = [trial(t, qualities=graded("0.8")) for t in ("t1", "t2")]
    worse = [trial(t, qualities=graded(score)) for t in ("t1", "t2")]
    baseline = run(*trials, run_id="base", candidate="agent/0")
    assert expected == fired(decision(run(*worse), by=policy(MARGIN), baseline=(baseline,)))


def test_a_comparison_is_refused_when_graders_differ() -> None:
    """Named in the reason; with a declared margin that is missing evidence, not a pass."""
    baseline = run(trial("t1", qualities=graded("0.8", "2")), run_id="base", candidate="agent/0")
    result = decision(run(trial("t1", qualities=graded("0.8", "1"))), by=policy(MARGIN), baseline=(baseline,))
    assert {"compare.quality": False} == fired(result)
    assert "graders or rubric versions differ" in check(result, "compare.quality").reason


UNBILLED = "coverage: {grades: null, cost: null}\n"
MARGINS = (
    STRICT.replace("coverage: {grades: null}\n", UNBILLED).replace(
        "  budget: {max_usd_per_verified_outcome: 0.60}\n", ""
    )
    + "comparison: {cost_usd: 0.05, latency_s: 1}\n"
)


def billed(usd: str) -> Cost:
    """A bill."""
    return Cost(state=CostState.BILLED, usd=Decimal(usd))


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        pytest.param({"cost": billed("0.60")}, {}, {"compare.cost": True}, id="dearer, both bills complete"),
        pytest.param({"cost": billed("0.60")}, {"cost": None}, {"compare.cost": False}, id="their bill is missing"),
        pytest.param({"cost": None}, {}, {"compare.cost": False}, id="my bill is missing"),
        pytest.param({"timing": Timing(duration_s=5.0)}, {}, {"compare.latency": True}, id="slower, both timed"),
        pytest.param(
            {"timing": Timing(duration_s=5.0)}, {"timing": None}, {"compare.latency": False}, id="their time is missing"
        ),
        pytest.param({"timing": None}, {}, {"compare.latency": False}, id="my time is missing"),
        pytest.param(
            {}, {"timing": None}, {}, id="their time is missing, and no time of theirs could make me too slow"
        ),
    ],
)
def test_what_is_missing_on_either_side_proves_nothing(
    mine: dict[str, Any], theirs: dict[str, Any], expected: dict[str, bool]
) -> None:
    """Fired comparison → proven. A missing bill or time of the baseline favours the candidate at the best end."""
    fields = {"timing": Timing(duration_s=1.0)}
    candidate = run(*(trial(t, **(fields | mine)) for t in ("t1", "t2")))
    first, second = trial("t1", **fields), trial("t2", **(fields | theirs))
    baseline = run(first, second, run_id="base", candidate="agent/0")
    assert expected == fired(decision(candidate, by=policy(MARGINS), baseline=(baseline,)))


def test_comparison_is_not_used_once_an_earlier_stage_fired() -> None:
    """Shown, not used: no quality changes a veto."""
    baseline = run(*GOOD.run.trials, run_id="base", candidate="agent/0")
    result = decision(spoil(GOOD, 3, outcome=outcome("failed")), by=policy(MARGIN), baseline=(baseline,))
    assert {"not_used"} == {c.status.value for c in result.checks if c.stage == 5}


def test_flip_names_the_trials_that_matter() -> None:
    """Missing evidence can't help t4; PASS needs both."""
    relaxed = policy(STRICT.replace("min: 0.75", "min: 0.25").replace("0.60", "1.60"))
    spoiled = spoil(spoil(GOOD, 2, outcome=outcome("unavailable")), 3, outcome=outcome("failed"))
    result = decision(spoiled, by=relaxed)
    assert (
        "If the missing evidence (t3) turns out well: still FAIL, by false_success (t4). "
        "PASS needs false_success to pass (t4), and the evidence that coverage.verdicts waits for (t3)." == result.flip
    )


def test_crashed_and_running_trials_are_not_completed() -> None:
    """A subject whose trials all crashed completed nothing."""
    crashed = {"status": TrialStatus.CRASHED, "declared_complete": False}
    assert False is fired(decision(run(trial("t1", **crashed))))["coverage.completed"]
