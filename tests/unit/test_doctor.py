"""The doctor: what is wrong in a run directory, and where its summary.csv misleads."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evalbench.doctor import diagnose, document
from evalbench.readers.registry import read_directory
from evalbench.readers.snapshot import NotARun, ReadOptions, Snapshot
from evalbench.scoring import score_run

NOW = datetime(2026, 12, 2, tzinfo=UTC)


def diagnosis(directory: Path, **options: bool) -> dict[str, Any]:
    """The doctor's document about a real directory, read without a grace period."""
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    snapshot = Snapshot(path=directory.name, files=files, newest_mtime=NOW)
    read = read_directory(snapshot, ReadOptions(now=NOW, grace=timedelta(0), **options))
    found = document(diagnose(snapshot, read if isinstance(read, NotARun) else score_run(read)))
    return dict(json.loads(json.dumps(found, allow_nan=False)))


def counts(found: dict[str, Any], kind: str) -> dict[tuple[str, str | None], int]:
    """(code, subject) → count of the findings of one kind."""
    return {(f["code"], f["subject"]): f["count"] for f in found["findings"] if f["kind"] == kind}


def claims(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The reviewed rows of summary.csv by metric."""
    return {claim["metric"]: claim for claim in found["summary"]}


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        (
            "trap-judge-outage",
            {
                ("judge_call_failed", "goal_completion"): 1,
                ("judge_no_log", "goal_completion"): 1,
                ("judge_call_failed", "behavioral_metrics"): 1,
                ("judge_no_log", "behavioral_metrics"): 1,
                ("judge_call_failed", "parameter_analysis"): 1,
                ("judge_no_log", "parameter_analysis"): 1,
                ("judge_call_failed", "binary_rubric_scorer"): 1,
                ("judge_no_log", "binary_rubric_scorer"): 1,
            },
        ),
        (
            "trap-judge-contradiction",
            {
                ("judge_contradiction", "goal_completion"): 3,
                ("judge_contradiction", "binary_rubric_scorer"): 1,
                ("no_rubric", "binary_rubric_scorer"): 1,
            },
        ),
        ("trap-misspelt-product", {}),
        (
            "49e5b728-f934-4e6b-9ced-70b5db228928",
            {
                ("judge_call_failed", "goal_completion"): 1,
                ("no_telemetry", "end_to_end_latency"): 50,
                ("no_telemetry", "token_consumption"): 50,
                ("no_telemetry", "tool_call_latency"): 50,
            },
        ),
    ],
)
def test_judge_failures_are_counted_by_metric_and_reason(
    sample_runs: Path, directory: str, expected: dict[tuple[str, str | None], int]
) -> None:
    """Every score row that holds no verdict is counted under its metric and its reason; healthy rows are not."""
    assert expected == counts(diagnosis(sample_runs / directory), "verdicts")


def test_a_judge_failure_is_located(sample_runs: Path) -> None:
    """A finding about score rows names the file and the record."""
    found = diagnosis(sample_runs / "trap-judge-contradiction")
    places = [f["where"] for f in found["findings"] if f["code"] == "no_rubric"]
    assert [("scores.csv", True)] == [(place["file"], place["row"] > 0) for place in places[0]]


@pytest.mark.parametrize(
    ("directory", "metric", "claimed", "passed", "judged", "unavailable", "misleading"),
    [
        ("trap-judge-outage", "goal_completion", (100, 1, 4), 1, 2, 2, ["metric_score", "total_results_count"]),
        (
            "trap-judge-contradiction",
            "goal_completion",
            (100, 4, 4),
            1,
            1,
            3,
            ["total_results_count", "correct_results_count"],
        ),
        ("trap-misspelt-product", "goal_completion", (100, 1, 2), 1, 2, 0, ["metric_score"]),
        ("trap-secrets", "trajectory_matcher", (100, 2, 2), 2, 2, 0, []),
        ("49e5b728-f934-4e6b-9ced-70b5db228928", "trajectory_matcher", (100, 4, 50), 4, 50, 0, ["metric_score"]),
        (
            "49e5b728-f934-4e6b-9ced-70b5db228928",
            "goal_completion",
            (100, 22, 50),
            22,
            49,
            1,
            ["metric_score", "total_results_count"],
        ),
    ],
)
def test_a_scored_metric_is_shown_as_claimed_and_as_recomputed(
    sample_runs: Path,
    directory: str,
    metric: str,
    claimed: tuple[float, float, float],
    passed: int,
    judged: int,
    unavailable: int,
    misleading: list[str],
) -> None:
    """metric_score is the target and total counts rows nobody judged; a row that can be believed misleads nowhere."""
    claim = claims(diagnosis(sample_runs / directory))[metric]
    assert claimed == tuple(claim["claimed"].values())
    found = claim["recomputed"]
    assert (passed, judged, unavailable) == (found["passed"], found["denominator"], found["unavailable"])
    assert misleading == claim["misleading"]


def test_a_mean_is_no_share(sample_runs: Path) -> None:
    """turn_count's row holds mean and sum: the mean is right, reading the sum as a count is not."""
    claim = claims(diagnosis(sample_runs / "49e5b728-f934-4e6b-9ced-70b5db228928"))["turn_count"]
    assert ["correct_results_count"] == claim["misleading"]
    assert claim["claimed"]["metric_score"] == pytest.approx(claim["recomputed"]["value"])


def test_zeros_without_telemetry_are_no_measurement(sample_runs: Path) -> None:
    """A latency of 0.0 that rests on no evidence misleads, and its recomputed value is null."""
    claim = claims(diagnosis(sample_runs / "49e5b728-f934-4e6b-9ced-70b5db228928"))["end_to_end_latency"]
    assert "metric_score" in claim["misleading"]
    assert (0, None) == (claim["claimed"]["metric_score"], claim["recomputed"]["value"])


def test_what_the_summary_leaves_out_is_named(sample_runs: Path) -> None:
    """behavioral_metrics and parameter_analysis never reach summary.csv; the doctor shows what the scores hold."""
    found = claims(diagnosis(sample_runs / "trap-judge-outage"))
    assert {"behavioral_metrics": 90.0, "parameter_analysis": 100.0} == {
        name: claim["recomputed"]["value"] for name, claim in found.items() if claim["misleading"] == ["absent"]
    }


def test_executable_says_nothing_of_an_agent(sample_runs: Path) -> None:
    """The row `executable` of an agent run misleads in every column and nothing stands behind it."""
    claim = claims(diagnosis(sample_runs / "trap-judge-outage"))["executable"]
    assert (3, None) == (len(claim["misleading"]), claim["recomputed"])


def test_a_metric_that_never_varies_is_reported(sample_runs: Path) -> None:
    """A metric with the same value for every trial is named, from five rows up: fewer are no surprise."""
    said = [
        [f["message"] for f in diagnosis(sample_runs / name)["findings"] if f["code"].endswith("_never_varied")]
        for name in ("inversion-fast-v2", "trap-judge-contradiction")
    ]
    assert [1, 0] == [len(messages) for messages in said]
    assert "tools_avoided (5 rows)" in said[0][0]


def test_health_is_told_per_metric(sample_runs: Path) -> None:
    """Share at the best value, variance, and agreement with the outcomes the records verified."""
    health = diagnosis(sample_runs / "inversion-fast-v2")["health"]["tool_selection.set_f1"]
    assert (5, 0, 4) == (health["n"], health["unavailable"], health["judged"])
    assert health["at_maximum"] / health["n"] == health["share_at_maximum"]
    assert health["agreeing"] / health["judged"] == health["agreement"]


def test_a_harness_alone_verifies_no_outcome(sample_runs: Path) -> None:
    """A directory without records says so once, names the calls a policy must sort, and what is not declared."""
    found = diagnosis(sample_runs / "49e5b728-f934-4e6b-9ced-70b5db228928")
    assert {("no_outcome_recorded", None): 50} == counts(found, "outcomes")
    assert {("calls_without_effects", None): 44} == counts(found, "effects")
    assert {("not_declared", None): 50} == counts(found, "declarations")
    messages = {f["code"]: f["message"] for f in found["findings"]}
    assert "a policy must attest a comparator, or trials.jsonl must record it" in messages["no_outcome_recorded"]
    assert "airline__get_reservation_details (94)" in messages["calls_without_effects"]
    assert "50 of them finished their conversation" in messages["not_declared"]


WAIT = {"owner": "ops", "decision": "refund", "due": "2026-12-01T12:00:00Z", "resume_state": "s"}


def test_open_evidence_is_counted_by_reason(tmp_path: Path) -> None:
    """Outcomes and effects nobody can account for, declarations not made, waits that are none: by reason, located."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.yaml").write_text("run_time: 2026-11-30T09:00:00Z\nproduct: [p]\n", encoding="utf-8")
    records: list[dict[str, Any]] = [
        {"task_id": "t1", "declared_complete": True, "outcome": {"state": "verified"}},
        {"task_id": "t2", "outcome": {"state": "unavailable", "reason": "verifier_down"}},
        {"task_id": "t3", "effects": [{"id": "e", "state": "unknown", "reason": "not_asked"}]},
        {"task_id": "t4", "status": "waiting", "declared_complete": False, "wait": WAIT | {"owner": None}},
        {
            "task_id": "t5",
            "status": "waiting",
            "declared_complete": False,
            "wait": WAIT | {"due": "2026-11-30T12:00:00Z"},
        },
        {"task_id": "t6", "status": "waiting", "declared_complete": False, "wait": WAIT},
    ]
    (run / "trials.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    found = diagnosis(run)
    assert "manifest" == found["findings"][0]["kind"]
    assert {("unnamed_predicate", None): 1, ("verifier_down", None): 1, ("no_outcome_recorded", None): 4} == counts(
        found, "outcomes"
    )
    assert {("not_asked", None): 1} == counts(found, "effects")
    assert {("not_declared", None): 2} == counts(found, "declarations")
    assert {("wait_invalid", None): 1, ("wait_overdue", None): 1} == counts(found, "waits")
    places = {f["code"]: f["where"] for f in found["findings"]}
    assert [("trials.jsonl", 5)] == [(place["file"], place["row"]) for place in places["wait_overdue"]]


def test_a_missing_run_time_names_the_manifest_that_hides_it(tmp_path: Path) -> None:
    """A run.yaml that can't be read, or whose run time can't, is named with its place."""
    (tmp_path / "trials.jsonl").write_text('{"task_id": "t"}\n', encoding="utf-8")
    for text, words in (
        ("candidate: [x\n", "run.yaml: line 2, column 1: expected"),
        ("run_time: soon\n", "run.yaml: run_time: "),
    ):
        (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
        found = diagnosis(tmp_path)["findings"]
        assert ["no_run_time"] == [f["code"] for f in found]
        assert words in found[0]["message"]


def test_an_unfinished_run_is_read_as_far_as_it_got(sample_runs: Path) -> None:
    """Without summary.csv the directory is not complete; its torn row is located, its whole trials are counted."""
    found = diagnosis(sample_runs / "trap-crash-no-summary")
    assert 2 == found["trials"]
    assert {("not_complete", None): 1} == counts(found, "state")
    assert ("torn_row", None) in counts(found, "defect")
    assert [] == found["summary"]


def test_secrets_are_located_and_never_shown(sample_runs: Path) -> None:
    """The document says in which files and fields secrets stand; no planted value is in it."""
    found = diagnosis(sample_runs / "trap-secrets")
    assert {"configs.csv", "evals.csv", "scores.csv"} == {subject for _, subject in counts(found, "secrets")}
    fields = {place["field"] for f in found["findings"] if f["subject"] == "configs.csv" for place in f["where"]}
    assert any(field.startswith("model_config.env.") for field in fields)
    assert "PLANTED" not in json.dumps(found)


@pytest.mark.parametrize("directory", ["trap-judge-outage", "inversion-fast-v2"])
def test_no_secret_is_seen_where_none_is(sample_runs: Path, directory: str) -> None:
    """Ordinary directories raise no false alarm."""
    assert {} == counts(diagnosis(sample_runs / directory), "secrets")


def test_missing_trials_are_counted_against_the_plan(tmp_path: Path) -> None:
    """A planned trial without a record is a finding that names its task."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.yaml").write_text(
        "run_id: r\ncandidate: c\nproduct: p\ndataset: d\nrun_time: 2026-11-30T00:00:00Z\n"
        "planned: {tasks: [t1, t2], trials: 2}\n",
        encoding="utf-8",
    )
    lines = [{"task_id": "t1", "trial": trial, "status": "completed"} for trial in (0, 1)]
    (run / "trials.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = diagnosis(run)
    assert {("missing_trials", None): 2} == counts(found, "plan")
    assert [True] == ["t2" in f["message"] for f in found["findings"] if f["code"] == "missing_trials"]


def test_expectations_of_no_call_are_counted(sample_runs: Path) -> None:
    """Empty expected trajectories count as an expectation of no call, and the doctor says how many there are."""
    found = diagnosis(sample_runs / "49e5b728-f934-4e6b-9ced-70b5db228928")
    assert {("empty_expectation", None): 7} == counts(found, "expectations")


def test_empty_expectations_are_counted_when_they_are_not_declared_too(sample_runs: Path) -> None:
    """Where the operator takes them for no expectation the doctor still says how many there are."""
    options = {"empty_trajectory_expects_no_call": False}
    found = diagnosis(sample_runs / "49e5b728-f934-4e6b-9ced-70b5db228928", **options)
    assert {("empty_not_declared", None): 7} == counts(found, "expectations")


def test_a_directory_that_is_no_run_says_why(tmp_path: Path) -> None:
    """A folder without any known file has a state and a reason, and nothing else."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "README.md").write_text("prose\n", encoding="utf-8")
    found = diagnosis(notes)
    assert ("ignored", None, []) == (found["state"], found["trials"], found["summary"])
    assert {("not_a_run_directory", None): 1} == counts(found, "state")


def test_the_order_of_score_rows_does_not_matter(sample_runs: Path, tmp_path: Path) -> None:
    """Reversing scores.csv changes places, never a count, a claim or a recomputed number."""
    source = sample_runs / "trap-misspelt-product"
    turned = tmp_path / source.name
    turned.mkdir()
    for path in source.iterdir():
        (turned / path.name).write_bytes(path.read_bytes())
    with (source / "scores.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    with (turned / "scores.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *reversed(rows)])
    one, other = diagnosis(source), diagnosis(turned)
    assert one["summary"] == other["summary"]
    assert [(f["code"], f["count"]) for f in one["findings"]] == [(f["code"], f["count"]) for f in other["findings"]]
