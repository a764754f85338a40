"""What an operator says beside policies: baseline and window by routing, who must have a run, which run is voided."""

import json
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.published import ask, mismatches

from evalbench import pipeline
from evalbench.cli import main
from evalbench.settings import Settings, load_settings

CLOCK = "2026-12-02T06:00:00Z"
FAST, STABLE = "inversion-fast-v2", "inversion-stable-v1"


@pytest.fixture
def runs(tmp_path: Path, sample_runs: Path) -> Path:
    """A runs root with the two candidates of the release inversion, both of 28 November."""
    for name in (FAST, STABLE):
        shutil.copytree(sample_runs / name, tmp_path / "runs" / name)
    return tmp_path / "runs"


@pytest.fixture
def policy(root: Path) -> Path:
    """The inversion's policy."""
    return root / "include" / "samples" / "inversion_policy.yaml"


def settings(tmp_path: Path, **fields: object) -> Settings:
    """Settings over the folders of a test."""
    given = {"runs": tmp_path / "runs", "lake": tmp_path / "lake", "clock": CLOCK, "grace_hours": 0} | fields
    return load_settings({}, {name: str(value) for name, value in given.items()})


def routed(tmp_path: Path, policy: Path, words: str) -> Path:
    """A routing file whose one route is the inversion's, with some more words in it."""
    path = tmp_path / "routing.yaml"
    route = f"product: release-inversion, suite: inversion, policy: {policy}, {words}"
    path.write_text(f"schema: 1\nroutes: [{{{route}}}]\n", encoding="utf-8")
    return path


def voiding(tmp_path: Path, *run_ids: str) -> Path:
    """An exclusions file that voids these runs."""
    path = tmp_path / "exclude.yaml"
    entries = "".join(f"  - {{run: {name}, reason: wrong image, owner: Jo, date: 2026-11-29}}\n" for name in run_ids)
    path.write_text(f"schema: 1\nexclude:\n{entries or '  []'}\n", encoding="utf-8")
    return path


def by_candidate(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report's decisions."""
    return {entry["candidate"]: entry for entry in report["decisions"]}


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the command."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, " ".join(captured.out.split()), captured.err


def exclusion(run_id: str) -> dict[str, str]:
    """An entry of `voiding` as it is shown."""
    return {"run_id": run_id, "reason": "wrong image", "owner": "Jo", "date": "2026-11-29"}


# -- a baseline by routing ---------------------------------------------------------------------------------------

DIFFERENCES = {
    "stable-v1": {
        "compare.quality": "task quality over 4 tasks: 0.89 (4/5 trials) against stable-v1's 0.818 (4/4 trials),"
        " difference +0.072",
        "compare.latency": "latency over 4 tasks: 65.5 seconds (4/5 trials) against stable-v1's 118.75 seconds"
        " (4/4 trials), difference -53.25 seconds",
        "compare.cost": "cost per verified outcome over 5 tasks: $0.63 ($1.89 over 3 verified outcomes) against"
        " stable-v1's $0.517 ($2.068 over 4 verified outcomes), difference +$0.113",
        "floor.progress_regression": "useful progress over 5 shared tasks: 15/16 (0.938) against stable-v1's 12/12 (1),"
        " difference -0.062",
        "floor.effect_regression": "effect integrity over 5 shared tasks: 4/5 (0.8) against stable-v1's 4/4 (1),"
        " difference -0.2",
    },
    "fast-v2": {
        "compare.quality": "task quality over 4 tasks: 0.818 (4/4 trials) against fast-v2's 0.89 (4/5 trials),"
        " difference -0.072",
        "compare.latency": "latency over 4 tasks: 118.75 seconds (4/4 trials) against fast-v2's 65.5 seconds"
        " (4/5 trials), difference +53.25 seconds",
        "compare.cost": "cost per verified outcome over 5 tasks: $0.517 ($2.068 over 4 verified outcomes) against"
        " fast-v2's $0.63 ($1.89 over 3 verified outcomes), difference -$0.113",
        "floor.progress_regression": "useful progress over 5 shared tasks: 12/12 (1) against fast-v2's 15/16 (0.938),"
        " difference +0.062",
        "floor.effect_regression": "effect integrity over 5 shared tasks: 4/4 (1) against fast-v2's 4/5 (0.8),"
        " difference +0.2",
    },
}
"""Baseline → what is said of the other candidate."""


@pytest.mark.parametrize("baseline", DIFFERENCES)
def test_both_figures_and_the_difference_are_said(tmp_path: Path, runs: Path, policy: Path, baseline: str) -> None:
    """In plain words, with what each side is counted over; the baseline itself is compared with nobody."""
    routing = routed(tmp_path, policy, f"baseline: {baseline}")
    found = by_candidate(pipeline.run(settings(tmp_path, runs=runs, routing=routing)))
    own, (other,) = found.pop(baseline), found.values()
    said = {check["name"]: check["reason"] for check in other["checks"]}
    assert DIFFERENCES[baseline] == {name: said[name] for name in DIFFERENCES[baseline]}
    assert (baseline, 1, None) == (other["baseline"], other["baseline_runs"], own["baseline"])


def test_no_difference_releases_what_a_veto_holds(tmp_path: Path, runs: Path, policy: Path) -> None:
    """The better-looking candidate is compared and held; the other one passes, dearer in time and tokens."""
    held = by_candidate(
        pipeline.run(settings(tmp_path, runs=runs, routing=routed(tmp_path, policy, "baseline: stable-v1")))
    )["fast-v2"]
    assert ("FAIL", "false_success") == (held["decision"], held["decided_by"])
    assert {"not_used"} == {check["status"] for check in held["checks"] if check["stage"] == 5}
    passed = by_candidate(
        pipeline.run(settings(tmp_path, runs=runs, routing=routed(tmp_path, policy, "baseline: fast-v2")))
    )["stable-v1"]
    assert "PASS" == passed["decision"]
    shown = {check["name"]: (check["status"], check["observed"]) for check in passed["checks"] if check["stage"] == 5}
    assert ("reported", 53.25) == shown["compare.latency"]


def test_people_read_the_differences(
    tmp_path: Path, runs: Path, policy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the terminal, beside the signals."""
    monkeypatch.setenv("EVALBENCH_CLOCK", CLOCK)
    routing = routed(tmp_path, policy, "baseline: stable-v1")
    _, out, _ = call(capsys, "run", runs, "--lake", tmp_path / "lake", "--routing", routing)
    assert f"Compared {DIFFERENCES['stable-v1']['compare.cost']}" in out


# -- a window by routing -----------------------------------------------------------------------------------------


def moved(runs: Path, name: str, copy: str, day: str) -> None:
    """A copy of a run under another id, on another date."""
    shutil.copytree(runs / name, runs / copy)
    for path in (runs / copy).iterdir():
        text = path.read_text(encoding="utf-8").replace(name, copy)
        path.write_text(text.replace('run_time: "2026-11-28', f'run_time: "{day}'), encoding="utf-8")


def test_a_routed_window_is_pooled_published_and_recomputed(tmp_path: Path, runs: Path, policy: Path) -> None:
    """Two runs of three days are one decision; the policy stays what it is, and SQL pools the same window."""
    moved(runs, STABLE, "earlier", "2026-11-26")
    routing = routed(tmp_path, policy, "window: {days: 3}")
    report: Any = pipeline.run(settings(tmp_path, runs=runs, routing=routing))
    of_day = {entry["candidate"]: entry for entry in report["decisions"] if entry["date"] == "2026-11-28"}
    assert (["earlier", STABLE], {"days": 3}) == (of_day["stable-v1"]["runs"], of_day["stable-v1"]["scope"]["window"])
    rows = ask(
        tmp_path / "lake",
        "SELECT d.window_from, d.window_days, p.window_days AS of_policy FROM decisions AS d INNER JOIN policies AS p"
        " ON p.run_date = d.run_date AND p.policy_hash = d.policy_hash WHERE d.run_date = DATE '2026-11-28'",
    )
    assert [(date(2026, 11, 26), 3, 1)] * 2 == [tuple(row.values()) for row in rows]
    assert [] == mismatches(tmp_path / "lake")


# -- who must have a run -----------------------------------------------------------------------------------------


def test_a_missed_date_is_decided_published_and_recomputed(tmp_path: Path, runs: Path, policy: Path) -> None:
    """The candidate that should have run is held on its date, with rows that say so; the others are decided as ever."""
    routing = routed(tmp_path, policy, "expected: [{candidate: next-v3, since: 2026-11-28}]")
    report: Any = pipeline.run(
        settings(tmp_path, runs=runs, routing=routing), since=date(2026, 11, 28), until=date(2026, 11, 28)
    )
    found = by_candidate(report)
    assert {"fast-v2": "FAIL", "stable-v1": "PASS", "next-v3": "INSUFFICIENT_EVIDENCE"} == {
        name: entry["decision"] for name, entry in found.items()
    }
    missed = found["next-v3"]
    assert ("coverage.no_run", [], 0) == (missed["decided_by"], missed["runs"], missed["scope"]["tasks"])
    assert {None} == {signal["value"] for signal in missed["signals"].values()}
    rows = ask(
        tmp_path / "lake",
        "SELECT d.decision, d.run_count, c.numerator, c.denominator FROM decisions AS d INNER JOIN gate_checks AS c"
        " ON c.run_date = d.run_date AND c.candidate = d.candidate AND c.check_name = d.decided_by"
        " WHERE d.candidate = 'next-v3' AND d.run_date = DATE '2026-11-28'",
    )
    assert [("INSUFFICIENT_EVIDENCE", 0, 0, 1)] == [tuple(row.values()) for row in rows]
    assert [] == mismatches(tmp_path / "lake")


# -- which run is voided -----------------------------------------------------------------------------------------


def test_a_voided_run_is_in_no_number_and_comes_back(tmp_path: Path, runs: Path, policy: Path) -> None:
    """Out of decisions, baselines and tables while it is voided; back without a run file being read."""
    routing = routed(tmp_path, policy, "baseline: stable-v1")
    before: Any = pipeline.run(settings(tmp_path, runs=runs, routing=routing))
    used = settings(tmp_path, runs=runs, routing=routing, exclude=voiding(tmp_path, STABLE))
    report: Any = pipeline.run(used)
    (held,) = report["decisions"]
    assert ("fast-v2", 0, [exclusion(STABLE)]) == (held["candidate"], held["baseline_runs"], held["excluded"])
    assert [exclusion(STABLE)] == report["excluded"]
    path = tmp_path / "lake/trends/decisions/run_date=2026-11-28/part-0.parquet"
    (row,) = pq.read_table(path, partitioning=None).to_pylist()
    assert [exclusion(STABLE)] == json.loads(row["excluded"])
    assert [{"run_id": FAST}] == ask(tmp_path / "lake", "SELECT DISTINCT run_id FROM trials")
    assert [] == mismatches(tmp_path / "lake")
    after: Any = pipeline.run(settings(tmp_path, runs=runs, routing=routing, exclude=voiding(tmp_path)))
    assert (0, 2) == (after["accounting"]["scored"], after["accounting"]["unchanged"])
    assert before["decisions"] == after["decisions"]


def test_a_scope_of_voided_runs_only_is_no_success(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is decided, nothing is permitted, the runs are named, and the exit code is not 0."""
    monkeypatch.setenv("EVALBENCH_CLOCK", CLOCK)
    exclude = voiding(tmp_path, STABLE, FAST)
    code, out, err = call(capsys, "run", runs, "--lake", tmp_path / "lake", "--exclude", exclude)
    assert (4, "") == (code, err)
    assert "Nothing was decided" in out
    for name in (STABLE, FAST):
        assert f"Excluded {name} is in no number: wrong image (Jo, 2026-11-29)" in out


def test_a_decision_for_people_names_what_it_leaves_out(
    tmp_path: Path, runs: Path, policy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with the decision; an id nobody knows is warned of on stderr, since the run that was meant still counts."""
    monkeypatch.setenv("EVALBENCH_CLOCK", CLOCK)
    routing = routed(tmp_path, policy, "baseline: stable-v1")
    exclude = voiding(tmp_path, STABLE, "inversion-fats-v2")
    arguments = (runs, "--lake", tmp_path / "lake", "--routing", routing, "--exclude", exclude)
    code, out, err = call(capsys, "run", *arguments)
    assert (3, 1) == (code, out.count(f"{STABLE} is in no number"))
    assert "evalbench: no run has the excluded run id inversion-fats-v2, so nothing is left out" in err
    code, out, err = call(capsys, "gate", *arguments[1:])
    assert (3, 1, "") == (code, out.count(f"{STABLE} is in no number"), err)
