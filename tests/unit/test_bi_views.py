"""The views that dashboards read: columns for charts, of what the tables say and of nothing else."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.builders import DAY, STRICT, effect, outcome, policy, run, trial, waiting
from tests.published import NO_ROUTES, VERSIONS, ask, publish, publish_partition

from evalbench.ledger import Quality, RunState, TrialStatus
from evalbench.storage import LocalStorage
from evalbench.trends import EntryState, operational_rows

SUBJECT = "run_date, product, suite, environment, candidate, policy_hash"
GOOD, BAD, NONE = (outcome(state) for state in ("verified", "failed", "unavailable"))


def grade(score: str) -> tuple[Quality, ...]:
    """A person's grade."""
    return (Quality(score=Decimal(score), grader_kind="human", grader_name="style"),)


SILENT = (Quality(score=None, grader_kind="model", grader_name="judge", reason="no_answer"),)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two candidates under two policies: one in order, one with a bit of everything."""
    mixed = [
        *(trial("t1", number, outcome=state) for number, state in enumerate([GOOD, GOOD, BAD, NONE])),
        *(trial("t2", number, outcome=GOOD, qualities=grade("0.4")) for number in range(4)),
        trial("t3", outcome=BAD, effects=(effect("unknown"), effect("failed", key="k2")), cost=None),
        trial("t4", outcome=NONE, status=TrialStatus.CRASHED, declared_complete=False, qualities=SILENT),
        waiting("t5"),
    ]
    runs = [
        run(*mixed, planned={"t1": 4, "t2": 4, "t3": 3, "t4": 1, "t5": 1}, run_id="mixed", run_key="mixed"),
        run(trial("t1"), trial("t2"), run_id="good", run_key="good", candidate="agent/2"),
        run(run_id="lost", run_key="lost", candidate="agent/3", state=RunState.ABANDONED, planned={"t1": 2}),
    ]
    publish(tmp_path, runs, [policy(), policy(STRICT.replace("name: strict", "name: other"))])
    return tmp_path


def test_pass_hat_is_found_again_from_the_trials(lake: Path) -> None:
    """For k of 1, 2, 4 and 8 as in `decisions`: missing trials and verdicts open the bracket, waits are left out."""
    expected = {
        (str(row["candidate"]), row["policy_hash"], int(k)): (bracket["lower"], bracket["upper"], bracket["tasks"])
        for row in ask(lake, f"SELECT {SUBJECT}, pass_hat_k FROM decisions")
        for k, bracket in json.loads(str(row["pass_hat_k"])).items()
        if int(k) in {1, 2, 4, 8}
    }
    found = {
        (row["candidate"], row["policy_hash"], row["k"]): (row["pass_hat_lower"], row["pass_hat_upper"], row["tasks"])
        for row in ask(lake, "SELECT * FROM pass_hat_daily")
    }
    assert {1, 2, 4} == {k for _, _, k in found}
    assert expected.keys() == found.keys()
    assert expected == {key: pytest.approx(value, abs=1e-9) for key, value in found.items()}


SIDES = {
    "task_quality": ("quality_sum", "graded", "quality_left_out"),
    "useful_progress": ("useful_windows", "active_windows", "progress_left_out"),
    "effect_integrity": ("effects_verified", "effects", "effects_left_out"),
    "cost_per_verified_outcome": ("covered_usd", "verified_outcomes", "trials_not_covered"),
    "false_success": ("false_successes", "declared_completions", "declarations_left_out"),
}


@pytest.mark.parametrize("signal", SIDES)
def test_a_decision_has_its_signals_as_columns(lake: Path, signal: str) -> None:
    """Numerator, denominator and what was left out, as in `signals`; null stays null."""
    of = "candidate, policy_hash"
    signals = ask(lake, f"SELECT {of}, numerator, denominator, left_out_total FROM signals WHERE signal = '{signal}'")
    wide = ask(lake, f"SELECT {of}, {', '.join(SIDES[signal])} FROM decision_daily")
    assert 6 == len(wide)
    assert in_order(signals) == in_order(wide)


def in_order(rows: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """The values of rows, ordered by the first two columns."""
    return sorted((tuple(row.values()) for row in rows), key=lambda values: (str(values[0]), str(values[1])))


def test_a_decision_says_what_is_uncertain(lake: Path) -> None:
    """Unknown effects and completions without a verdict stand beside the signals they would change."""
    (row,) = ask(
        lake,
        "SELECT effects_unknown, completions_unverified, held, planned, waiting, crashed FROM decision_daily"
        " WHERE candidate = 'agent/1' AND policy_name = 'strict'",
    )
    assert {
        "effects_unknown": 1,
        "completions_unverified": 1,
        "held": True,
        "planned": 13,
        "waiting": 1,
        "crashed": 1,
    } == row


def test_every_check_of_every_decision_is_there_and_one_decides(lake: Path) -> None:
    """What decided is marked once where the release is held, and nowhere else."""
    counts = "SELECT COUNT(*) AS n FROM"
    assert ask(lake, f"{counts} gate_checks") == ask(lake, f"{counts} check_daily")
    assert [] == ask(lake, "SELECT check_name FROM check_daily WHERE stage_name IS NULL")
    rows = ask(
        lake,
        "SELECT candidate, decision, SUM(CASE WHEN decides AND fired THEN 1 ELSE 0 END) AS deciding,"
        " SUM(CASE WHEN decides THEN 1 ELSE 0 END) AS marked FROM check_daily WHERE policy_name = 'strict'"
        " GROUP BY ALL ORDER BY ALL",
    )
    assert [("agent/1", "FAIL", 1, 1), ("agent/2", "PASS", 0, 0), ("agent/3", "INSUFFICIENT_EVIDENCE", 1, 1)] == [
        tuple(row.values()) for row in rows
    ]


def test_verdicts_are_summed_over_those_that_are_one(lake: Path) -> None:
    """Asked, judged and the sum: an unavailable one is in neither side of the average."""
    rows = ask(lake, "SELECT * FROM verdict_daily")
    assert rows
    assert [] == ask(lake, "SELECT name FROM verdict_daily WHERE asked <> judged + without_verdict")
    (style,) = [row for row in rows if row["name"] == "style" and row["candidate"] == "agent/1"]
    assert (4, 4, 0, Decimal("1.6")) == tuple(
        style[name] for name in ("asked", "judged", "without_verdict", "value_sum")
    )
    (judge,) = [row for row in rows if row["name"] == "judge"]
    assert (1, 0, 1, None) == tuple(judge[name] for name in ("asked", "judged", "without_verdict", "value_sum"))


def test_executions_close_or_say_by_how_much_they_do_not(tmp_path: Path) -> None:
    """One row per execution and date; what is in no number is listed with its reason."""
    closes: dict[tuple[str, str | None], int] = {
        ("listed", None): 6,
        ("scored", None): 1,
        ("unchanged", None): 2,
        ("quarantined", "unreadable"): 2,
    }
    closes |= {("ignored", "no_run_files"): 1}
    entries = [
        EntryState(path="a", state="scored"),
        EntryState(path="b", state="quarantined", reason="unreadable", detail="b: no record"),
    ]
    lacks: dict[tuple[str, str | None], int] = {("listed", None): 3, ("in_progress", None): 1}
    for day, plan, counts in [(DAY, "night-1", closes), (date(2026, 3, 3), "night-2", lacks)]:
        found = entries if plan == "night-1" else []
        rows = operational_rows(day, plan, found, counts, NO_ROUTES, VERSIONS)
        publish_partition(LocalStorage(str(tmp_path)), day, rows)
    executions = ask(
        tmp_path,
        "SELECT plan_id, not_accounted_for, listed, scored, unchanged, quarantined, ignored, in_progress"
        " FROM executions ORDER BY plan_id",
    )
    assert [("night-1", 0, 6, 1, 2, 2, 1, 0), ("night-2", 2, 3, 0, 0, 0, 0, 1)] == [
        tuple(row.values()) for row in executions
    ]
    assert [("night-1", "b", "quarantined", "unreadable", "b: no record")] == [
        tuple(row.values()) for row in ask(tmp_path, "SELECT plan_id, path, state, reason, detail FROM not_scored")
    ]
