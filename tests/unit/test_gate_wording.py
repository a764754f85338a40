"""What a decision's sentences say: how many, of what, which trials, and why."""

from decimal import Decimal
from fractions import Fraction

import pytest
from tests.builders import STRICT, call, decision, effect, outcome, policy, run, trial, waiting

from evalbench.gate.result import Exact
from evalbench.gate.wording import after, difference, figure, listed
from evalbench.ledger import Cost, CostState, Plan, PlanSource, Quality, RunState, ScoredRun, Timing, Trial

OPEN_ENDED = {"state": RunState.ABANDONED, "plan": Plan(source=PlanSource.OBSERVED)}
LONG = "the ledger was closed for the night and nobody could be asked about it"

REASONS = [
    pytest.param(
        run(trial("t1"), trial("ticket-1", outcome=outcome("unavailable", "unnamed_predicate"))),
        "coverage.verdicts",
        "1/2 declared completions judged; 1 without: ticket-1 (unnamed_predicate)",
        id="the reason of a missing verdict",
    ),
    pytest.param(
        run(*(trial(f"t{n}", outcome=outcome("unavailable", "verifier_down")) for n in range(7))),
        "coverage.verdicts",
        "0/7 declared completions judged; 7 without: t0, t1, t2, t3, t4 and 2 more (verifier_down)",
        id="a reason they share, and how many more",
    ),
    pytest.param(
        run(trial("t1", outcome=outcome("failed", "not_booked")), trial("t2", outcome=outcome("unavailable", LONG))),
        "false_success",
        f"1/2 declared completions failed at the destination: t1 (not_booked); 1 unverified: t2 ({LONG[:59]}…)",
        id="a long reason is cut",
    ),
    pytest.param(
        run(trial("t1"), trial("t1", 1, outcome=outcome("failed"))),
        "false_success",
        "1/2 declared completions failed at the destination: t1#1; 0 unverified",
        id="the number of a repeated trial",
    ),
    pytest.param(
        run(
            trial("t1", declared_complete=None),
            trial("t2", outcome=None),
            trial("t3", effects=None, calls=(call(), call(1))),
            trial("t4", declared_complete=None, effects=None, calls=None),
            planned={"t1": 2, "t2": 1, "t3": 1, "t4": 1},
        ),
        "coverage.ledger",
        "0/5 planned trials on record and complete in what they say: 1 left no record, 2 say nothing of"
        " declared_complete, 1 declared complete without an outcome state, 1 made effectful calls without an effect"
        " record, 1 recorded neither calls nor effects",
        id="what the records are silent about, by kind",
    ),
    pytest.param(
        run(trial("t1")),
        "coverage.ledger",
        "1/1 planned trials on record and complete in what they say",
        id="nothing missing",
    ),
    pytest.param(
        run(trial("t1"), plan=Plan(source=PlanSource.OBSERVED)),
        "coverage.plan",
        "0/1 runs have a plan, so a lost trial can't be seen",
        id="no plan",
    ),
    pytest.param(run(trial("t1")), "coverage.plan", "1/1 runs have a plan", id="a plan"),
    pytest.param(
        run(trial("t1"), **OPEN_ENDED),
        "coverage.ledger",
        "1/1 planned or seen trials on record and complete in what they say: at least 1 unseen; abandoned before it"
        " ended: run-1",
        id="an abandoned run without a plan hides an unknown number",
    ),
    pytest.param(
        run(trial("t1"), **OPEN_ENDED),
        "unknown_effects",
        "0/1 effects unknown; at least 1 trial may hide more",
        id="and so do its effects",
    ),
    pytest.param(
        run(trial("t1", effects=(effect("unknown", reason="not_asked"),))),
        "unknown_effects",
        "1/1 effects unknown: t1 (not_asked)",
        id="the reason of an unknown effect",
    ),
]


@pytest.mark.parametrize(("scored", "name", "expected"), REASONS)
def test_a_check_says_how_many_and_which(scored: ScoredRun, name: str, expected: str) -> None:
    """Counts before names, names with their reasons, at most five of them."""
    result = decision(scored)
    assert expected == next(check.reason for check in result.checks if check.name == name)


def test_tasks_are_counted_where_trials_share_a_name() -> None:
    """Names that stand for several trials each are tasks, and said to be."""
    assert "a, b" == listed(["a", "b", "a"])
    result = decision(*(run(*_failing(7), run_id=f"r{n}", run_key=f"k{n}") for n in (1, 2)))
    reason = next(check.reason for check in result.checks if check.name == "false_success")
    assert "14/14 declared completions failed at the destination: t0, t1, t2, t3, t4 and 2 more tasks" in reason
    assert "said" == after("said", [])


def test_what_a_policy_tolerates_is_said_where_it_is_not_counted() -> None:
    """A share of nothing looks like a share of everything."""
    tolerant = policy(STRICT + "tolerate:\n  effects: {up_to: 2, reason: a sandbox}\n")
    silent = trial("t1", effects=(), calls=(call(), call(1)))
    reasons = {check.name: check.reason for check in decision(run(silent), by=tolerant).checks}
    assert "0/0 effects have a known state; 2 tolerated by the policy" == reasons["coverage.effects"]
    assert "0/0 effects unknown; 2 tolerated by the policy" == reasons["unknown_effects"]
    assert "0/0 write effects carry a receipt; 2 tolerated by the policy" == reasons["coverage.receipts"]


def _failing(count: int) -> list[Trial]:
    return [trial(f"t{n}", outcome=outcome("failed")) for n in range(count)]


FIGURES = [
    (Fraction(1, 3), "quality 0..1", "0.333", "difference +0.333"),
    (Fraction(-1, 16), "share", "-0.062", "difference -0.062"),
    (0, "share", "0", "difference 0"),
    (Fraction(1, 100_000), "share", "0.00001", "difference +0.00001"),
    (None, "share", "no figure", "difference unknown"),
    (Fraction(517, 1000), "USD", "$0.517", "difference +$0.517"),
    (Decimal(-2), "USD", "-$2.00", "difference -$2.00"),
    (Fraction(237, 2), "seconds", "118.5 seconds", "difference +118.5 seconds"),
    (1200, "tokens", "1200 tokens", "difference +1200 tokens"),
]


@pytest.mark.parametrize(("value", "unit", "said", "apart"), FIGURES)
def test_a_figure_is_said_in_its_unit(value: Exact | None, unit: str, said: str, apart: str) -> None:
    """Rounded for people, never to nothing what is something; a difference carries its sign."""
    assert (said, apart) == (figure(value, unit), difference(value, unit))


def test_a_comparison_says_both_figures_and_what_they_are_counted_over() -> None:
    """One task of two is graded and timed on both sides; a valid wait is owed nothing; one bill is missing."""
    timed = Timing(duration_s=10.0)
    bare = {"qualities": (), "timing": None}
    mine = run(trial("t1", timing=timed), trial("t2", **bare), waiting("t3"))
    graded = (Quality(score=Decimal("0.5"), grader_kind="deterministic", grader_name="rubric"),)
    theirs = run(
        trial("t1", timing=Timing(duration_s=12.5), qualities=graded),
        trial("t2", cost=None),
        waiting("t3", cost=Cost(state=CostState.BILLED, usd=Decimal("0.8"))),
        run_id="base",
        candidate="agent/0",
    )
    said = {check.name: check.reason for check in decision(mine, baseline=(theirs,)).checks}
    assert {
        "compare.quality": "task quality over 1 task: 0.8 (1/2 trials) against agent/0's 0.5 (1/2 trials),"
        " difference +0.3",
        "compare.latency": "latency over 1 task: 10 seconds (1/2 trials) against agent/0's 12.5 seconds (1/2 trials),"
        " difference -2.5 seconds",
        "compare.cost": "cost per verified outcome over 3 tasks: $0.60 ($1.20 over 2 verified outcomes) against"
        " agent/0's $0.60 ($1.20 over 2 verified outcomes, 1 trial without covered cost), difference $0.00",
        "floor.progress_regression": "useful progress over 3 shared tasks: 6/6 (1) against agent/0's 6/6 (1),"
        " difference 0",
    }.items() <= said.items()
