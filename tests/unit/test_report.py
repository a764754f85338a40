"""The JSON document: the keys that scripts rely on, numbers unrounded, nothing that JSON can't hold."""

import json
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from tests.builders import DAY, case, effect, outcome, run, trial, waiting

from evalbench.accounting import Accounting
from evalbench.decided import decide_subject
from evalbench.ledger import ComparatorRow, ScoredRun
from evalbench.report import decision_document, document, run_document
from evalbench.scoring import score_run

DECISION_KEYS = {
    "candidate", "product", "suite", "environment", "date", "decision", "provisional", "first_reason", "decided_by",
    "scope", "checks", "signals", "funnel", "pass_hat_k", "flip", "runs",
}  # fmt: skip
CHECK_KEYS = {
    "name", "stage", "fired", "proven", "observed", "best", "worst", "limit", "numerator", "denominator", "next_step",
    "trials",
}  # fmt: skip
SIGNALS = ["task_quality", "useful_progress", "effect_integrity", "cost_per_verified_outcome", "false_success"]
FUNNEL_KEYS = {"planned", "started", "ended", "declared", "judged", "verified", "waiting", "crashed", "gave_up"}
SCOPE_KEYS = {"product", "dataset", "dataset_version", "environment", "workflow", "tasks", "window", "as_of"}


def decided(**fields: object) -> dict[str, object]:
    """The document of a decision over a run of three trials, one of them waiting, one changed."""
    trials = (trial("t1"), trial("t2", **fields), waiting("t3"))
    return decision_document(decide_subject(case(run(*trials))), DAY + timedelta(days=1))


def scored() -> ScoredRun:
    """A run with comparator rows of every kind."""
    rows = (
        ComparatorRow(comparator="goal_completion", score=Decimal(100), log="PASS"),
        ComparatorRow(comparator="trajectory_matcher", score=Decimal("66.7"), log="x"),
    )
    return score_run(replace(run(trial("t1", comparators=rows)).run))


def test_a_decision_has_every_key() -> None:
    """More keys are welcome; these stay."""
    found = decided()
    assert set() == DECISION_KEYS - found.keys()
    assert set() == SCOPE_KEYS - found["scope"].keys()  # type: ignore[attr-defined]
    assert set() == FUNNEL_KEYS - found["funnel"].keys()  # type: ignore[attr-defined]
    assert SIGNALS == list(found["signals"])  # type: ignore[call-overload]
    for check in found["checks"]:  # type: ignore[attr-defined]
        assert set() == CHECK_KEYS - check.keys()
        assert check["stage"] in {1, 2, 3, 4, 5}
    for signal in found["signals"].values():  # type: ignore[attr-defined]
        assert set() == {"value", "numerator", "denominator", "left_out", "ci95"} - signal.keys()


def test_numbers_are_unrounded_json_numbers() -> None:
    """Exact decimals become the nearest number, whole ones whole."""
    signals = json.loads(json.dumps(decided(), allow_nan=False))["signals"]
    assert 0.8 == signals["task_quality"]["value"]
    assert 1.2 == signals["cost_per_verified_outcome"]["numerator"]
    assert 0 == signals["false_success"]["unverified"]


def test_trials_behind_a_check_are_named() -> None:
    """Each is run, task and trial number."""
    found = decided(outcome=outcome("failed"), effects=(effect("unknown"),))
    (check,) = [item for item in found["checks"] if item["name"] == "false_success"]  # type: ignore[attr-defined]
    assert {"run_id": "run-1", "task_id": "t2", "trial": 0}.items() <= check["trials"][0].items()
    assert "FAIL" == found["decision"]
    assert "false_success" == found["decided_by"]


def test_an_unbounded_end_is_null_and_says_so() -> None:
    """JSON has no infinity; a missing bill has no upper end."""
    found = decided(cost=None)
    (budget,) = [item for item in found["checks"] if item["name"] == "floor.budget"]  # type: ignore[attr-defined]
    assert (None, True) == (budget["worst"], budget["worst_unbounded"])


def test_a_day_is_provisional_until_it_is_over() -> None:
    """By the clock of the one who asks, in UTC dates."""
    subject = decide_subject(case(run(trial("t1"))))
    ages = {-1: True, 0: True, 1: False, 2: False}
    for age, provisional in ages.items():
        assert provisional is decision_document(subject, DAY + timedelta(days=age))["provisional"]


def test_a_run_has_metrics_and_general_score() -> None:
    """numerator, denominator, value and unavailable stand for each metric; what General Score misses is named."""
    found = run_document(scored(), "suite", {"trajectory_matcher": Decimal(60)})
    metric = found["metrics"]["trajectory_matcher"]  # type: ignore[index]
    assert (66.7, 66.7, 1, 1, 0, {}) == tuple(
        metric[name] for name in ("value", "numerator", "denominator", "passed", "unavailable", "unavailable_reasons")
    )
    assert 0 == run_document(scored())["metrics"]["trajectory_matcher"]["passed"]  # type: ignore[index]
    assert None is found["general_score"]["value"]  # type: ignore[index]
    assert ["behavioral_metrics", "parameter_analysis"] == found["general_score"]["missing"]  # type: ignore[index]
    assert {"run_id", "candidate", "run_date", "state", "format", "trials"} <= found.keys()


def test_the_whole_document_is_json() -> None:
    """Decisions, runs and accounting; null accounting where nothing was listed."""
    accounting = Accounting(listed=1, scored=1, unchanged=0, out_of_range=0, in_progress=0)
    whole = document([decided()], [run_document(scored())], accounting)
    assert whole == json.loads(json.dumps(whole, allow_nan=False))
    assert {
        "listed": 1, "scored": 1, "unchanged": 0, "out_of_range": 0, "in_progress": 0, "quarantined": {}, "ignored": {},
    } == whole["accounting"]  # fmt: skip
    assert None is document([], [], None)["accounting"]
    assert date.fromisoformat(str(decided()["date"])) == DAY
