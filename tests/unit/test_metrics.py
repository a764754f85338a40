"""Metrics of a run: pooled numerators and denominators, and the replayed runs' known numbers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from evalbench.comparators import harness_verdict
from evalbench.evaluators import EVALUATORS, evaluate_trial
from evalbench.general_score import general_score
from evalbench.ledger import Trial, Verdict, VerdictState
from evalbench.metrics import Metric, run_metrics
from evalbench.readers.evalbench import read_evalbench
from evalbench.readers.snapshot import ReadOptions, Snapshot

REPLAYED = {
    "49e5b728-f934-4e6b-9ced-70b5db228928": 22,
    "4feb5ba7-eb25-4a14-9a87-1e906bfb667c": 20,
    "5267e834-a74b-4172-90d4-4de66990f29a": 21,
    "63258d1c-1a4e-45c0-ba68-94fc5a0f6004": 21,
}
NOW = datetime(2026, 12, 2, tzinfo=UTC)


def trials_of(directory: Path) -> tuple[Trial, ...]:
    """The trials of one run directory, as the reader tells them."""
    files = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    snapshot = Snapshot(path=directory.name, files=files, newest_mtime=NOW)
    return read_evalbench(snapshot, ReadOptions(now=NOW)).trials


def harness(trials: Sequence[Trial]) -> list[Verdict]:
    """Every comparator row of some trials."""
    return [harness_verdict(row, trial) for trial in trials for row in trial.comparators]


@pytest.fixture(scope="module")
def replayed(sample_runs: Path) -> dict[str, tuple[Trial, ...]]:
    """The four real runs."""
    return {name: trials_of(sample_runs / name) for name in REPLAYED}


def a_verdict(name: str, value: str | None, scorer_type: str | None = None, source: str = "harness") -> Verdict:
    """One verdict; unavailable without a value."""
    return Verdict(
        name=name,
        source=source,
        version="1",
        value=None if value is None else Decimal(value),
        state=VerdictState.UNAVAILABLE if value is None else VerdictState.AVAILABLE,
        reason=f"{name}_failed" if value is None else None,
        scorer_type=scorer_type,
    )


def test_the_replayed_runs_have_the_known_goal_completion(replayed: dict[str, tuple[Trial, ...]]) -> None:
    """84 passed of 195 judged, 5 unavailable; per run 22, 20, 21, 21."""
    per_run = {name: run_metrics(harness(trials), {})["goal_completion"] for name, trials in replayed.items()}
    assert REPLAYED == {name: metric.passed for name, metric in per_run.items()}
    pooled = run_metrics([v for trials in replayed.values() for v in harness(trials)], {})["goal_completion"]
    assert (84, 195, 5) == (pooled.passed, pooled.denominator, pooled.unavailable)
    assert (Decimal(8400), {"judge_call_failed": 5}) == (pooled.numerator, pooled.unavailable_reasons)


def test_parity_reproduces_the_harness_row_by_row(replayed: dict[str, tuple[Trial, ...]]) -> None:
    """Mean 38.921 with 20 of 200 at 100, each value equal to EvalBench's own."""
    ours, theirs = [], []
    for trial in (trial for trials in replayed.values() for trial in trials):
        ours += [v.value for v in evaluate_trial(trial) if v.name == "evalbench_parity.jaccard"]
        theirs += [harness_verdict(r, trial).value for r in trial.comparators if r.comparator == "trajectory_matcher"]
    assert theirs == ours
    verdicts = [v for trials in replayed.values() for trial in trials for v in evaluate_trial(trial)]
    metric = run_metrics(verdicts, {})["evalbench_parity.jaccard"]
    assert (20, 200, 0) == (metric.passed, metric.denominator, metric.unavailable)
    assert metric.value is not None
    assert Decimal("38.921") == round(metric.value, 3)


def test_zero_latency_and_tokens_of_the_replayed_runs_are_unavailable(replayed: dict[str, tuple[Trial, ...]]) -> None:
    """They were recorded without statistics: no evidence is no zero."""
    metrics = run_metrics([v for trials in replayed.values() for v in harness(trials)], {})
    for name in ("end_to_end_latency", "tool_call_latency", "token_consumption"):
        assert (None, 0, {"no_telemetry": 200}) == (
            metrics[name].value,
            metrics[name].denominator,
            metrics[name].unavailable_reasons,
        )
    assert (200, None) == (metrics["turn_count"].denominator, metrics["turn_count"].passed)


def test_the_replayed_runs_have_no_general_score(replayed: dict[str, tuple[Trial, ...]]) -> None:
    """Two components never ran, and are named."""
    score = general_score(v for trials in replayed.values() for v in harness(trials))
    assert (None, ("behavioral_metrics", "parameter_analysis")) == (score.value, score.missing)


def test_a_metric_is_a_sum_a_count_and_what_was_left_out() -> None:
    """value = numerator / denominator over available rows; nothing unavailable enters either."""
    rows = [a_verdict("goal_completion", value) for value in ("100", "66.7", "0", None)]
    assert run_metrics(rows, {}) == {
        "goal_completion": Metric(
            value=Decimal("166.7") / 3,
            numerator=Decimal("166.7"),
            denominator=3,
            passed=1,
            unavailable=1,
            unavailable_reasons={"goal_completion_failed": 1},
        )
    }


def test_a_metric_over_nothing_is_null() -> None:
    """Every row unavailable: no value, and nothing passed."""
    metric = run_metrics([a_verdict("goal_completion", None)], {})["goal_completion"]
    assert (None, Decimal(0), 0, 0, 1) == (
        metric.value,
        metric.numerator,
        metric.denominator,
        metric.passed,
        metric.unavailable,
    )


@pytest.mark.parametrize(
    ("verdict", "thresholds", "passed"),
    [
        (a_verdict("goal_completion", "66.7"), {}, 0),
        (a_verdict("goal_completion", "66.7"), {"goal_completion": Decimal(60)}, 1),
        (a_verdict("goal_completion", "100"), {}, 1),
        (a_verdict("tool_order.graded", "1", source="evaluator"), {}, 1),
        (a_verdict("tool_order.graded", "0.999999999", source="evaluator"), {}, 0),
        (a_verdict("tool_order.graded", "0.8", source="evaluator"), {"tool_order.graded": Decimal("0.8")}, 1),
        (a_verdict("evalbench_parity.jaccard", "99", source="evaluator"), {}, 0),
        (a_verdict("evalbench_parity.jaccard", "100", source="evaluator"), {}, 1),
        (a_verdict("turn_count", "8", "turn_count"), {}, None),
        (a_verdict("turn_count", "8", "turn_count"), {"turn_count": Decimal(5)}, 1),
    ],
)
def test_the_threshold_is_the_policys_else_the_best_possible_value(
    verdict: Verdict, thresholds: dict[str, Decimal], passed: int | None
) -> None:
    """Comparators pass at 100, evaluators at their top, counts and latencies not at all."""
    assert passed == run_metrics([verdict], thresholds)[verdict.name].passed


def test_the_criteria_of_a_rubric_are_one_metric() -> None:
    """`…_0` to `…_n` are pooled under the scorer's own or given name."""
    rows = [
        a_verdict("binary_rubric_scorer_0", "100", "binary_rubric_scorer"),
        a_verdict("binary_rubric_scorer_11", "0", "binary_rubric_scorer"),
        a_verdict("safety_rubric_0", "100", "binary_rubric_scorer"),
        a_verdict("top_3", "100"),
    ]
    found = {name: (metric.passed, metric.denominator) for name, metric in run_metrics(rows, {}).items()}
    assert found == {"binary_rubric_scorer": (1, 2), "safety_rubric": (1, 1), "top_3": (1, 1)}


def test_the_order_of_verdicts_never_matters() -> None:
    """Names and reasons come sorted."""
    rows = [a_verdict(name, value) for name in ("b", "a") for value in ("100", None, "50")]
    assert list(run_metrics(rows, {}).items()) == list(run_metrics(rows[::-1], {}).items())
    assert list(run_metrics(rows, {})) == ["a", "b"]


def test_every_evaluator_value_becomes_a_metric() -> None:
    """None is dropped because it was unavailable."""
    metrics = run_metrics(evaluate_trial(Trial(task_id="t", trial=0)), {})
    assert sorted(name for e in EVALUATORS for name in e.verdict_names()) == list(metrics)
    assert {1} == {metric.unavailable for metric in metrics.values()}
