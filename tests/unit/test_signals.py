"""The five signals and the funnel: numerators, denominators, and what is left out."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.builders import DAY, STRICT, effect, outcome, policy, run, spoil, trial, waiting

from evalbench.gate.case import as_of
from evalbench.ledger import (
    Cost,
    CostState,
    Progress,
    Quality,
    ScoredRun,
    Trial,
    TrialStatus,
    Verdict,
    VerdictState,
    Wait,
)
from evalbench.policy import Policy
from evalbench.pool import pool_runs
from evalbench.signals import Signal, funnel, signals


def measured(*runs: ScoredRun, by: Policy | None = None) -> dict[str, Signal]:
    """Signal name → signal."""
    return {signal.name: signal for signal in signals(pool_runs(runs, by or policy(), as_of(DAY)))}


def fraction(signal: Signal) -> tuple[Decimal | None, int]:
    """(numerator, denominator)."""
    return signal.numerator, signal.denominator


def test_there_are_five_and_no_composite() -> None:
    """Fixed names in a fixed order."""
    expected = ["task_quality", "useful_progress", "effect_integrity", "cost_per_verified_outcome", "false_success"]
    assert expected == list(measured(run(trial())))


def test_quality_counts_completed_graded_trials_only() -> None:
    """A waiting, a crashed and an ungraded trial are left out, each by its reason."""
    crashed = trial("t3", status=TrialStatus.CRASHED)
    quality = measured(run(trial("t1"), waiting(), crashed, trial("t4", qualities=())))["task_quality"]
    assert (Decimal("0.8"), 1) == fraction(quality)
    assert {"waiting": 1, "status_crashed": 1, "ungraded": 1} == quality.left_out
    assert (1, 2) == (quality.beside["graded"], quality.beside["completed"])


def graders(*names_and_scores: tuple[str, str | None]) -> tuple[Quality, ...]:
    """Grades by several graders."""
    return tuple(
        Quality(score=None if score is None else Decimal(score), grader_kind="deterministic", grader_name=name)
        for name, score in names_and_scores
    )


TWO = STRICT + "quality: {graders: [{name: a, weight: 3}, {name: b}]}\n"


@pytest.mark.parametrize(
    ("by", "given", "expected", "left_out"),
    [
        pytest.param(TWO, (("a", "1"), ("b", "0")), Decimal("0.75"), {}, id="weighted mean of the named graders"),
        pytest.param(TWO, (("a", "1"), ("b", None)), None, {"grader_did_not_run": 1}, id="null unless all ran"),
        pytest.param(TWO, (("a", "1"),), None, {"grader_did_not_run": 1}, id="null when one is absent"),
        pytest.param(STRICT, (("a", "1"), ("b", "0")), None, {"graders_unnamed": 1}, id="several, none named"),
        pytest.param(STRICT, (("a", "1"),), Decimal(1), {}, id="the only grader"),
    ],
)
def test_which_graders_make_quality(
    by: str, given: tuple[tuple[str, str | None], ...], expected: Decimal | None, left_out: dict[str, int]
) -> None:
    """The policy names them; an average over whoever happened to run is nobody's quality."""
    quality = measured(run(trial(qualities=graders(*given))), by=policy(by))["task_quality"]
    assert (expected or 0, left_out) == (quality.numerator, quality.left_out)


def test_a_model_grade_without_calibration_is_shown_as_such() -> None:
    """Counted, and flagged."""
    grade = Quality(score=Decimal("0.9"), grader_kind="model", grader_name="rubric", model="m", rubric_version="1")
    assert 1 == measured(run(trial(qualities=(grade,))))["task_quality"].beside["uncalibrated"]


def test_progress_keeps_waiting_and_stale_windows_apart() -> None:
    """3/5 active; 2 waiting and 1 stale beside it."""
    progress = Progress(active=5, active_with_delta=3, waiting=2, stale=1)
    signal = measured(run(trial(progress=progress), trial("t2", progress=None)))["useful_progress"]
    assert (3, 5) == fraction(signal)
    assert {"waiting_windows": 2, "stale_windows": 1, "trials_without_windows": 1} == signal.left_out


def test_effects_leave_out_what_was_rejected_on_purpose() -> None:
    """1 verified of verified + failed + unknown; the rejected one is shown, in no denominator."""
    states = ("verified", "failed", "unknown", "rejected")
    effects = tuple(effect(state, key=f"k{i}") for i, state in enumerate(states))
    signal = measured(run(trial(effects=effects)))["effect_integrity"]
    assert (1, 3) == fraction(signal)
    assert {"rejected": 1} == signal.left_out


def test_cost_counts_failures_and_waits_but_only_bills() -> None:
    """0.40 + 0.40 over one verified outcome; the estimate stands beside, never added."""
    estimated = trial("t3", outcome=outcome("failed"), cost=Cost(state=CostState.ESTIMATED, usd=Decimal(9)))
    signal = measured(run(trial("t1"), waiting(), estimated))["cost_per_verified_outcome"]
    assert (Decimal("0.80"), 1) == fraction(signal)
    assert ({"cost_not_covered": 1}, 9.0) == (signal.left_out, signal.beside["estimated_usd"])


def test_no_bill_at_all_is_no_zero() -> None:
    """A cost of nothing known is null, not $0 per verified outcome."""
    assert None is measured(run(trial(cost=None)))["cost_per_verified_outcome"].value


def test_a_policy_may_take_estimates_as_its_basis_and_says_so() -> None:
    """cost_basis: estimated."""
    basis = policy(STRICT + "cost_basis: estimated\n")
    estimated = trial(cost=Cost(state=CostState.ESTIMATED, usd=Decimal("0.5")))
    signal = measured(run(estimated), by=basis)["cost_per_verified_outcome"]
    assert (Decimal("0.5"), "estimated") == (signal.numerator, signal.beside["basis"])


def test_false_success_is_over_declared_completions() -> None:
    """One of two declared failed; an unavailable one is declared and unverified; an admitted failure is in neither."""
    admitted = trial("t4", declared_complete=False, outcome=outcome("failed"))
    trials = (
        trial("t1"),
        trial("t2", outcome=outcome("failed")),
        trial("t3", outcome=outcome("unavailable")),
        admitted,
    )
    signal = measured(run(*trials))["false_success"]
    assert ((1, 3), 1) == (fraction(signal), signal.beside["unverified"])


@pytest.mark.parametrize(
    ("trials", "clustered"),
    [
        pytest.param((trial("t1"), trial("t2")), False, id="one trial per task: Wilson"),
        pytest.param(
            (trial("t1", 0), trial("t1", 1), trial("t2", outcome=outcome("failed"))), True, id="repeats: clustered"
        ),
    ],
)
def test_intervals_cluster_by_task_where_a_task_repeats(trials: tuple[Trial, ...], clustered: bool) -> None:
    """Two tasks without an event: Wilson's upper end is 0.6576; with repeats the t interval is cut to [0, 1]."""
    interval = measured(run(*trials))["false_success"].ci95
    assert interval == ((0.0, 1.0) if clustered else (0.0, pytest.approx(0.6576, abs=1e-4)))


def test_a_count_of_zero_says_what_it_proves_and_what_would_be_needed() -> None:
    """0/2 over distinct tasks bounds the rate at 0.7764; 59 would prove 5 %. With a failure neither is said."""
    beside = measured(run(trial("t1"), trial("t2")))["false_success"].beside
    assert (pytest.approx(0.7764, abs=1e-4), {"5%": 59, "2%": 149, "1%": 299}) == (
        beside["zero_events_upper95"],
        beside["tasks_needed_for"],
    )
    failed = measured(run(trial("t1"), trial("t2", outcome=outcome("failed"))))["false_success"].beside
    assert (None, None) == (failed["zero_events_upper95"], failed["tasks_needed_for"])


def test_the_funnel_tells_giving_up_from_silence() -> None:
    """planned 7: one verified, one waiting, one crashed, one gave up, one silent, one running, one without a record."""
    undecided = {"outcome": outcome("unavailable"), "effects": (), "calls": ()}
    trials = (
        trial("t1"),
        waiting("t2"),
        trial("t3", status=TrialStatus.CRASHED, declared_complete=False, **undecided),
        trial("t4", declared_complete=False, **undecided),
        trial("t5", declared_complete=None, **undecided),
        trial("t6", status=TrialStatus.RUNNING, declared_complete=None, **undecided),
    )
    scored = run(*trials, planned={f"t{i}": 1 for i in range(1, 8)})
    counts = funnel(pool_runs([scored], policy(), as_of(DAY)))
    assert (7, 6, 5, 1, 1, 1) == (
        counts.planned,
        counts.started,
        counts.ended,
        counts.declared,
        counts.judged,
        counts.verified,
    )
    assert (1, 1, 1, 1) == (counts.waiting, counts.crashed, counts.gave_up, counts.declaration_unknown)


WAITS = [
    pytest.param({}, True, id="owner, decision, due and resume state"),
    pytest.param({"owner": None}, False, id="no owner"),
    pytest.param({"decision": None}, False, id="no decision"),
    pytest.param({"due": None}, False, id="no due date"),
    pytest.param({"resume_state": None}, False, id="no resume state"),
    pytest.param({"due": datetime(2026, 3, 3, tzinfo=UTC)}, True, id="due exactly at the interval's end"),
    pytest.param({"due": datetime(2026, 3, 2, 23, 59, tzinfo=UTC)}, False, id="overdue"),
]


@pytest.mark.parametrize(("changes", "valid"), WAITS)
def test_a_wait_is_valid_only_when_complete_and_not_overdue(changes: dict[str, Any], valid: bool) -> None:
    """`as_of` is 00:00 UTC of the next day; an invalid wait is a stalled trial."""
    fields = {"owner": "ops", "decision": "d", "due": datetime(2026, 3, 4, tzinfo=UTC), "resume_state": "s"} | changes
    counts = funnel(pool_runs([run(waiting(wait=Wait(**fields)))], policy(), as_of(DAY)))
    assert valid == (counts.waiting == 1)


ATTESTED = (
    STRICT
    + """
outcome:
  attestations:
    - {comparator: goal, match: {product: billing, generator_class: "probe.*"}, predicate: rows equal, reason: r,
       attested_by: a}
"""
)


def harness_row(value: str | None) -> Verdict:
    """A harness verdict on t1, unavailable when value is None."""
    return Verdict(
        name="goal",
        source="harness",
        version="1",
        value=None if value is None else Decimal(value),
        state=VerdictState.UNAVAILABLE if value is None else VerdictState.AVAILABLE,
        reason="judge_call_failed" if value is None else None,
        task_id="t1",
        trial=0,
    )


@pytest.mark.parametrize(
    ("generator_class", "value", "expected"),
    [
        pytest.param("probe.Agent", "100", (1, 0, 0), id="at the threshold: verified"),
        pytest.param("probe.Agent", "66.7", (0, 1, 0), id="below it: failed"),
        pytest.param("probe.Agent", None, (0, 0, 1), id="a silent judge: unavailable, not failed"),
        pytest.param("other.Agent", "100", (0, 0, 1), id="a run the attestation does not match"),
        pytest.param(None, "100", (0, 0, 1), id="a run of unknown class"),
    ],
)
def test_a_comparator_is_an_outcome_only_where_attested(
    generator_class: str | None, value: str | None, expected: tuple[int, int, int]
) -> None:
    """(verified, false success, unverified) of one declared trial without an outcome of its own."""
    scored = run(trial(outcome=None), generator_class=generator_class)
    scored = type(scored)(run=scored.run, verdicts=(harness_row(value),))
    pool = pool_runs([scored], policy(ATTESTED), as_of(DAY))
    signal = {s.name: s for s in signals(pool)}["false_success"]
    assert expected == (funnel(pool).verified, signal.numerator, signal.beside["unverified"])


def test_rates_pool_over_runs_and_are_never_averaged() -> None:
    """1/1 and 0/3 make 1/4, not 0.5."""
    bad = run(*(trial(f"t{i}", effects=(effect("failed"),)) for i in (2, 3, 4)), run_id="b")
    assert (1, 4) == fraction(measured(run(trial("t1")), bad)["effect_integrity"])


def test_spoiling_one_trial_touches_only_its_signals() -> None:
    """A failed effect leaves quality, progress and false success as they were."""
    good, bad = run(trial("t1"), trial("t2")), spoil(run(trial("t1"), trial("t2")), 1, effects=(effect("failed"),))
    before, after = measured(good), measured(bad)
    assert {"effect_integrity"} == {name for name in before if fraction(before[name]) != fraction(after[name])}
