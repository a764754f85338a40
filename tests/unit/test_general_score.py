"""General Score: parity with EvalBench's weights, null where a component is missing."""

from decimal import Decimal

import pytest

from evalbench.general_score import WEIGHTS, general_score
from evalbench.ledger import Verdict, VerdictState


def row(name: str, value: str | None, scorer_type: str | None = None, source: str = "harness") -> Verdict:
    """One comparator row as a verdict."""
    return Verdict(
        name=name,
        source=source,
        version="1",
        value=None if value is None else Decimal(value),
        state=VerdictState.UNAVAILABLE if value is None else VerdictState.AVAILABLE,
        reason="judge_call_failed" if value is None else None,
        scorer_type=scorer_type,
    )


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (("100", "90", "95", "100"), "97.0"),
        (("100", "40", "70", "60"), "74.0"),
        (("0", "30", "90", "80"), "40.0"),
    ],
)
def test_the_published_vectors_hold_exactly(scores: tuple[str, ...], expected: str) -> None:
    """goal 0.4, trajectory 0.2, behavior 0.2, parameters 0.2."""
    rows = [row(name, score) for name, score in zip(WEIGHTS, scores, strict=True)]
    assert Decimal(expected) == general_score(rows).value


def test_each_component_is_the_mean_of_its_available_rows() -> None:
    """An unavailable row lowers coverage and nothing else."""
    rows = [row("goal_completion", value) for value in ("100", "0", "0", None)]
    rows += [row(name, "100") for name in ("trajectory_matcher", "behavioral_metrics", "parameter_analysis")]
    score = general_score(rows)
    assert Decimal("73.333333333") == score.value
    goal = score.components["goal_completion"]
    assert (3, 4, Decimal("33.333333333")) == (goal.available, goal.total, goal.mean)


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([], tuple(WEIGHTS)),
        (
            [row("goal_completion", "100"), row("trajectory_matcher", "50")],
            ("behavioral_metrics", "parameter_analysis"),
        ),
        (
            [*(row(name, "100") for name in list(WEIGHTS)[:3]), row("parameter_analysis", None)],
            ("parameter_analysis",),
        ),
    ],
)
def test_a_component_without_an_available_row_makes_the_score_null_and_is_named(
    rows: list[Verdict], missing: tuple[str, ...]
) -> None:
    """Nothing is imputed."""
    score = general_score(rows)
    assert (None, missing) == (score.value, score.missing)


def test_a_renamed_scorer_counts_only_where_none_has_the_plain_name() -> None:
    """`goal_final` stands in for goal_completion, and never dilutes it."""
    others = [row(name, "0") for name in list(WEIGHTS)[1:]]
    renamed = row("goal_final", "100", scorer_type="goal_completion")
    assert Decimal(40) == general_score([*others, renamed]).value
    assert Decimal(0) == general_score([*others, renamed, row("goal_completion", "0", "goal_completion")]).value


def test_evaluators_of_ours_never_enter_it() -> None:
    """It is the harness's score."""
    assert general_score([row(name, "100", source="evaluator") for name in WEIGHTS]).missing == tuple(WEIGHTS)
