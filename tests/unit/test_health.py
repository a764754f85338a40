"""Health of evaluators and judges."""

from decimal import Decimal

import pytest

from evalbench.health import evaluator_health, pooled_health
from evalbench.ledger import Verdict, VerdictState


def rows(name: str, values: list[str | None], scorer_type: str | None = None, source: str = "harness") -> list[Verdict]:
    """One verdict per task t0, t1, …"""
    return [
        Verdict(
            name=name,
            source=source,
            version="1",
            value=None if value is None else Decimal(value),
            state=VerdictState.UNAVAILABLE if value is None else VerdictState.AVAILABLE,
            reason="judge_no_log" if value is None else None,
            scorer_type=scorer_type,
            task_id=f"t{number}",
            trial=0,
        )
        for number, value in enumerate(values)
    ]


OUTCOMES = {("t0", 0): True, ("t1", 0): True, ("t2", 0): False, ("t3", 0): None}


def test_a_metric_that_never_varies_is_reported() -> None:
    """It finds `parameter_analysis`: always 100, whatever the outcomes say."""
    found = evaluator_health(rows("parameter_analysis", ["100", "100", "100", None]), OUTCOMES)["parameter_analysis"]
    assert (3, 1, True, 1.0, 0.0) == (
        found.n,
        found.unavailable,
        found.never_varied,
        found.share_at_maximum,
        found.variance,
    )
    assert (3, 2, pytest.approx(2 / 3)) == (found.judged, found.agreeing, found.agreement)


def test_share_variance_and_agreement_of_a_metric_that_speaks() -> None:
    """Population variance; best-or-not against verified-or-failed, unavailable outcomes left out."""
    found = evaluator_health(rows("goal_completion", ["100", "0", "0", "100"]), OUTCOMES)["goal_completion"]
    assert (4, 2, 0.5, 2500.0, False) == (
        found.n,
        found.at_maximum,
        found.share_at_maximum,
        found.variance,
        found.never_varied,
    )
    assert (3, 2) == (found.judged, found.agreeing)


@pytest.mark.parametrize(("values", "n", "never_varied"), [([], 0, False), (["100"], 1, False), (["0", "0"], 2, True)])
def test_never_varied_needs_two_rows(values: list[str], n: int, never_varied: bool) -> None:
    """One row can't vary; over none everything is null."""
    found = evaluator_health([*rows("goal_completion", [*values, None])], {})["goal_completion"]
    assert (n, never_varied) == (found.n, found.never_varied)
    assert (found.variance is None) == (found.share_at_maximum is None) == (n == 0)
    assert (0, None) == (found.judged, found.agreement)


def test_counts_and_latencies_have_no_maximum_and_no_agreement() -> None:
    """More turns are neither better nor worse."""
    found = evaluator_health(rows("turn_count", ["8", "5"], "turn_count"), OUTCOMES)["turn_count"]
    assert (None, None, 0, None, 2.25) == (
        found.at_maximum,
        found.share_at_maximum,
        found.judged,
        found.agreement,
        found.variance,
    )


def test_an_evaluators_maximum_is_its_top_value() -> None:
    """1 for most, 100 for EvalBench parity."""
    found = evaluator_health(
        [
            *rows("tool_order.graded", ["1", "0.5"], source="evaluator"),
            *rows("evalbench_parity.jaccard", ["100", "1"], source="evaluator"),
        ],
        {},
    )
    assert (1, 1) == (found["tool_order.graded"].at_maximum, found["evalbench_parity.jaccard"].at_maximum)


def test_runs_pool_row_by_row() -> None:
    """The same task in two runs keeps its two outcomes; order doesn't matter."""
    pairs = list(zip(rows("goal_completion", ["100", "0"]) * 2, [True, True, False, False], strict=True))
    found = pooled_health(pairs)["goal_completion"]
    assert (4, 2) == (found.judged, found.agreeing)
    assert found == pooled_health(pairs[::-1])["goal_completion"]


def test_rows_that_name_no_task_count_without_an_outcome() -> None:
    """Consistency rows belong to no single trial."""
    unattached = Verdict(
        name="llm_consistency", source="harness", version="1", value=Decimal(100), state=VerdictState.AVAILABLE
    )
    found = evaluator_health([unattached], OUTCOMES)["llm_consistency"]
    assert (1, 0) == (found.n, found.judged)
