"""When `make run` may say that the pipeline completed."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ACCOUNTING = {
    "listed": 6,
    "scored": 2,
    "unchanged": 1,
    "out_of_range": 0,
    "in_progress": 1,
    "quarantined": {"unreadable": 1},
    "ignored": {"not_a_run": 1},
}


def decision(answer: str, *, provisional: bool = False) -> dict[str, Any]:
    return {
        "product": "p",
        "suite": "s",
        "environment": "offline",
        "candidate": "c",
        "date": "2026-11-28",
        "decision": answer,
        "provisional": provisional,
        "decided_by": None if answer == "PASS" else "false_success",
    }


@pytest.fixture(scope="module")
def nightly(root: Path) -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("nightly", root / "scripts" / "nightly.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("expected", "exit_code", "unfinished", "decisions", "accounting"),
    [
        (None, 0, [], [decision("PASS")], {}),
        (None, 0, [], [], {}),
        (None, 1, ["enforce"], [decision("PASS"), decision("FAIL")], {}),
        (None, 1, ["enforce"], [decision("INSUFFICIENT_EVIDENCE")], {}),
        ("although no release is held", 1, ["enforce"], [decision("PASS")], {}),
        ("although no release is held", 1, ["enforce"], [decision("FAIL", provisional=True)], {}),
        ("did not succeed: per_run.score", 1, ["enforce", "per_run.score"], [decision("FAIL")], {}),
        ("did not succeed: publish", 0, ["publish"], [decision("PASS")], {}),
        ("1 run directories are not accounted for", 1, ["enforce"], [decision("FAIL")], {"scored": 1}),
        ("1 run directories are not accounted for", 1, ["enforce"], [decision("FAIL")], {"scored": 3}),
        (
            "1 run directories are not accounted for",
            1,
            ["enforce"],
            [decision("FAIL")],
            {"quarantined": {"task_lost": 1}},
        ),
    ],
)
def test_only_a_hold_excuses_a_failed_dag_run(
    nightly: Any,
    expected: str | None,
    exit_code: int,
    unfinished: list[str],
    decisions: list[dict[str, Any]],
    accounting: dict[str, Any],
) -> None:
    """The pipeline completed when all are accounted for and nothing failed but `enforce`, which held a release."""
    said = nightly.problem(exit_code, unfinished, {"decisions": decisions, "accounting": ACCOUNTING | accounting})
    assert said is None if expected is None else expected in said


def test_a_run_without_a_report_did_not_complete(nightly: Any) -> None:
    """Nothing published is a failure, even when Airflow is content."""
    assert "left no report" in nightly.problem(0, [], None)


def test_the_callers_own_settings_do_not_reach_the_run(nightly: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's lake or Airflow must not be touched by a run over samples."""
    monkeypatch.setenv("EVALBENCH_BIGQUERY_DATASET", "project.real")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "sqlite:////elsewhere.db")
    given = nightly.environment()
    assert {"EVALBENCH_BIGQUERY_DATASET", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"}.isdisjoint(given)
    assert str(nightly.LAKE) == given["EVALBENCH_LAKE"]


def test_a_hold_is_told_in_a_line(nightly: Any) -> None:
    """How many decisions are held of how many, proven ones first, three by name."""
    decisions = [
        decision("INSUFFICIENT_EVIDENCE") | {"candidate": f"trap-{n}", "decided_by": "coverage.plan"} for n in (1, 2, 3)
    ]
    decisions += [decision("PASS"), decision("FAIL") | {"candidate": "fast-v2"}]
    assert (
        "enforce held 4 of 5 decisions, as these samples should: fast-v2 (false_success), trap-1 (coverage.plan),"
        " trap-2 (coverage.plan) and 1 more"
    ) == nightly.holds({"decisions": decisions})


def test_mapped_instances_are_counted(nightly: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each instance that ends is told with the state it moved to; the DAG run's id is found on the way."""
    monkeypatch.setattr(nightly, "LOG", tmp_path / "log")
    lines = ["Created dag run. x: manual__1, more\n"]
    for task, index, state in (("score", 0, "success"), ("score", 1, "failed"), ("gate", -1, "success")):
        lines += [
            f"Task instance state updated ... new_state={state}\n",
            f"[DAG TEST] end task task_id={task} map_index={index}\n",
        ]
    found: list[str] = []
    assert [("success", "score"), ("failed", "score"), ("success", "gate")] == list(nightly.ended_tasks(lines, found))
    assert ["manual__1"] == found
    assert "".join(lines) == (tmp_path / "log").read_text(encoding="utf-8")
