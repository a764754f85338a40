"""Whole nights in Airflow: what is decided, published and held, and how a DAG run shows it."""

import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.dags.nights import Nights

from evalbench import pipeline
from evalbench.settings import load_settings

STABLE, FAST = "inversion-stable-v1", "inversion-fast-v2"
CRASH, OUTAGE = "trap-crash-no-summary", "trap-judge-outage"
ALL_DONE = {"discover": "success", "gate": "success", "publish": "success", "enforce": "success"}
HELD = ALL_DONE | {"enforce": "failed"}
CRASH_MORNING = datetime(2026, 11, 28, 2, tzinfo=UTC)  # its data interval starts on the crashed run's 2026-11-27
MORNING_AFTER = datetime(2026, 11, 29, 6, 30, tzinfo=UTC)  # somebody triggers it the morning after the samples' day
NEXT_MORNING = datetime(2026, 11, 29, 2, tzinfo=UTC)  # its data interval starts on the samples' 2026-11-28


def verbs(tasks: Mapping[str, str]) -> dict[str, str]:
    """The states of the Airflow tasks that are not mapped."""
    return {name: state for name, state in tasks.items() if "[" not in name and name in ALL_DONE}


def mapped(tasks: Mapping[str, str]) -> dict[str, str]:
    """The states of mapped instances, by their name in the grid."""
    return {name: state for name, state in tasks.items() if "[" in name}


def test_a_night_without_objections_is_green(nights: Nights) -> None:
    """All PASS: every Airflow task succeeds at the first try; the mapped ones are named by their directory."""
    nights.bring(STABLE)
    night = nights.run()
    assert ("success", ALL_DONE) == (night.state, verbs(night.tasks))
    assert {f"score[{STABLE}]": "success", f"summarize[{STABLE}]": "success"} == mapped(night.tasks)
    assert {1} == set(night.tries.values())
    assert {"stable-v1": "PASS"} == night.decisions
    assert () == night.errors


def test_a_held_release_is_a_red_enforce_beside_a_green_publish(nights: Nights) -> None:
    """The tables are there; `enforce` alone fails, once, and names subject, date, decision and deciding check."""
    nights.bring(STABLE, FAST)
    night = nights.run()
    assert ("failed", HELD) == (night.state, verbs(night.tasks))
    assert {"stable-v1": "PASS", "fast-v2": "FAIL"} == night.decisions
    assert (
        "GateHeldError: 1 held: release-inversion/inversion/offline fast-v2 on 2026-11-28: FAIL by false_success"
        == night.error("enforce")
    )
    assert 1 == night.tries["enforce"]
    tables = {path.parent.parent.name for path in nights.lake.glob("trends/*/run_date=2026-11-28/part-0.parquet")}
    assert {"runs", "trials", "signals", "gate_checks", "decisions", "summaries"} <= tables


def test_the_dag_and_the_command_line_give_the_same_bytes(nights: Nights) -> None:
    """Airflow adds nothing and loses nothing: same lake, same report."""
    nights.bring(STABLE, FAST, OUTAGE)
    night = nights.run()
    of_airflow, lake = nights.files(), nights.lake.with_name("without-airflow")
    nights.set(lake=lake)
    report = pipeline.run(load_settings(os.environ))
    assert night.report == report
    shutil.rmtree(nights.lake)
    lake.rename(nights.lake)
    assert of_airflow == nights.files()


def test_a_range_decides_its_dates_and_no_others(nights: Nights) -> None:
    """since and until are inclusive; a directory outside is counted, not scored, and holds nothing."""
    nights.bring(STABLE, CRASH, OUTAGE)
    night = nights.run(since="2026-11-28", until="2026-11-28")
    assert {f"score[{STABLE}]", f"summarize[{STABLE}]"} == set(mapped(night.tasks))
    assert (1, 2, {}) == (
        night.accounting["scored"],
        night.accounting["out_of_range"],
        night.accounting["quarantined"],
    )
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    assert {"run_date=2026-11-28"} == {path.name for path in (nights.lake / "trends" / "decisions").iterdir()}


def test_only_missing_evidence_holds_too(nights: Nights) -> None:
    """INSUFFICIENT_EVIDENCE is no pass: an abandoned run and a silent judge turn the DAG run red."""
    nights.bring(CRASH, OUTAGE)
    night = nights.run()
    assert ("failed", HELD) == (night.state, verbs(night.tasks))
    assert {"INSUFFICIENT_EVIDENCE"} == set(night.decisions.values())
    assert night.error("enforce").startswith("GateHeldError: 2 held: ")


@pytest.mark.parametrize(("names", "state"), [([STABLE], "success"), ([STABLE, FAST], "failed")])
def test_the_same_night_again_scores_nothing_and_changes_no_byte(nights: Nights, names: list[str], state: str) -> None:
    """Nothing new: nothing is mapped, yet gate, publish and enforce run, and the night's own date is decided again."""
    nights.bring(*names)
    first, before = nights.run(run_after=MORNING_AFTER), nights.files()
    times = {name: (nights.lake / name).stat().st_mtime_ns for name in before}
    second = nights.run(run_after=MORNING_AFTER)
    assert {} == mapped(second.tasks)
    assert verbs(first.tasks) == verbs(second.tasks)
    assert (0, len(names)) == (second.accounting["scored"], second.accounting["unchanged"])
    assert first.decisions == second.decisions
    assert (state, state) == (first.state, second.state)
    assert before == nights.files()
    assert times == {name: (nights.lake / name).stat().st_mtime_ns for name in before}


def test_a_later_night_does_not_hold_again_what_stands(nights: Nights) -> None:
    """A release held on an earlier day keeps no later night red: nothing about it is decided again."""
    nights.bring(STABLE, FAST)
    assert "failed" == nights.run(run_after=MORNING_AFTER).state
    before = nights.files()
    night = nights.run(run_after=MORNING_AFTER + timedelta(days=1))
    assert ("success", {}) == (night.state, night.decisions)
    assert before == nights.files()


def test_the_last_line_of_each_log_counts_what_was_done(nights: Nights) -> None:
    """Whoever reads one line of an Airflow task reads the numbers; a batch is told from the others by its label."""
    nights.bring(STABLE, FAST)
    (nights.runs / "broken").mkdir()
    (nights.runs / "broken" / "trials.jsonl").write_text("not a record\n")
    nights.set(max_mapped_tasks=2, fail_on_hold="never")
    night = nights.run()
    written = night.events[0]["counts"]["written"]
    assert {
        "discover": "2 batches of runs to score, in Airflow pool default_pool",
        f"score[{STABLE}]": f"{STABLE}: 1 scored",
        "score[batch 1: 2 runs]": "batch 1: 2 runs: 1 scored, 1 quarantined",
        f"summarize[{STABLE}]": f"{STABLE}: summaries: 1 offline; 0 calls",
        "summarize[batch 1: 2 runs]": "batch 1: 2 runs: summaries: 1 offline, 1 without facts; 0 calls",
        "gate": "2 decisions: 1 FAIL, 1 PASS",
        "publish": (
            f"1 dates republished ({written} written, 0 unchanged, 0 removed, 2 logged, 2 runs);"
            " decided: 1 FAIL, 1 PASS"
        ),
        "enforce": (
            "1 held, not enforced (fail_on_hold=never):"
            " release-inversion/inversion/offline fast-v2 on 2026-11-28: FAIL by false_success"
        ),
    } == {name: lines[-1] for name, lines in night.told.items()}


def test_a_voided_run_holds_nothing_and_is_not_forgotten(nights: Nights, tmp_path: Path) -> None:
    """An exclusions file, of the installation or of one DAG run: decided anew without reading a run file, and shown."""
    nights.bring(STABLE, FAST)
    assert "failed" == nights.run(run_after=MORNING_AFTER).state
    exclude = tmp_path / "exclude.yaml"
    exclude.write_text(
        "schema: 1\nexclude:\n  - {run: inversion-fast-v2, reason: wrong image, owner: Jo, date: 2026-11-29}\n"
    )
    night = nights.run(run_after=MORNING_AFTER, exclude=str(exclude))
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    assert (0, 2) == (night.accounting["scored"], night.accounting["unchanged"])
    assert night.report is not None
    assert ["inversion-fast-v2"] == [voided["run_id"] for voided in night.report["excluded"]]
    again = nights.run(run_after=MORNING_AFTER)
    assert ("failed", {"stable-v1": "PASS", "fast-v2": "FAIL"}) == (again.state, again.decisions)


def test_an_empty_runs_root_is_a_green_night(nights: Nights) -> None:
    """Zero runs are zero runs where none are expected, and the gate says so."""
    night = nights.run()
    assert ("success", ALL_DONE) == (night.state, verbs(night.tasks))
    assert (0, {}) == (night.accounting["listed"], night.decisions)


def test_more_directories_than_mapped_tasks_are_batched(nights: Nights) -> None:
    """Three directories in two instances, a shared one named by its size, give the lake that three instances give."""
    nights.bring(STABLE, FAST, OUTAGE)
    nights.set(max_mapped_tasks=2)
    night = nights.run()
    assert {f"score[{OUTAGE}]", "score[batch 1: 2 runs]"} == {n for n in mapped(night.tasks) if n.startswith("score")}
    batched = nights.files()
    shutil.rmtree(nights.lake)
    nights.set(max_mapped_tasks=64)
    assert night.decisions == nights.run().decisions
    assert batched == nights.files()


# -- who triggered it --------------------------------------------------------------------------------------------


def test_a_backfill_decides_the_date_its_interval_starts_on_and_stays_green(nights: Nights) -> None:
    """The past is recomputed, not enforced: that date and no other, whatever since and until say, and no red."""
    nights.bring(STABLE, FAST, CRASH)
    night = nights.run(run_type="backfill", at=NEXT_MORNING, since="2026-11-27", until="2026-11-27")
    assert ("backfill", "success", ALL_DONE) == (night.run_type, night.state, verbs(night.tasks))
    assert {"stable-v1": "PASS", "fast-v2": "FAIL"} == night.decisions
    assert (2, 1) == (night.accounting["scored"], night.accounting["out_of_range"])


def test_a_backfill_of_a_date_without_runs_is_green(nights: Nights) -> None:
    """Nothing to decide, nothing published, all accounted for."""
    nights.bring(STABLE)
    night = nights.run(run_type="backfill", at=datetime(2026, 11, 30, 2, tzinfo=UTC))
    assert ("success", {}, 1) == (night.state, night.decisions, night.accounting["out_of_range"])


@pytest.mark.parametrize(
    ("run_type", "at"),
    [
        pytest.param("scheduled", NEXT_MORNING, id="scheduled"),
        pytest.param("manual", NEXT_MORNING, id="manual with a logical date"),
        pytest.param("manual", None, id="manual without"),
    ],
)
def test_nights_without_dates_sweep_all_of_them(nights: Nights, run_type: str, at: datetime | None) -> None:
    """Every new directory of any date is scored, decided and enforced; the crashed run is of the day before."""
    nights.bring(STABLE, CRASH)
    night = nights.run(run_type=run_type, at=at)
    assert (run_type, "failed") == (night.run_type, night.state)
    assert (2, 0) == (night.accounting["scored"], night.accounting["out_of_range"])
    assert 2 == len(night.decisions)
    assert night.error("enforce").startswith("GateHeldError: 1 held: ")


def test_two_scheduled_nights(nights: Nights) -> None:
    """The night of the crashed run is red, the next one, with a run of its own, is not red for it again."""
    nights.bring(CRASH)
    assert "failed" == nights.run(run_type="scheduled", at=CRASH_MORNING).state
    nights.bring(STABLE)
    night = nights.run(run_type="scheduled", at=NEXT_MORNING)
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    assert (1, 1) == (night.accounting["scored"], night.accounting["unchanged"])


def test_a_run_that_comes_late_is_decided_and_held_when_it_comes(nights: Nights) -> None:
    """Its date was published long ago; the night that finds it says what it means."""
    nights.bring(STABLE)
    assert "success" == nights.run(run_type="scheduled", at=NEXT_MORNING).state
    nights.bring(CRASH)
    night = nights.run(run_type="scheduled", at=NEXT_MORNING + timedelta(days=1))
    assert ("failed", ["INSUFFICIENT_EVIDENCE"]) == (night.state, list(night.decisions.values()))


@pytest.mark.parametrize(
    ("run_type", "given", "own"),
    [
        pytest.param("scheduled", {"at": NEXT_MORNING}, True, id="scheduled: the start of its data interval"),
        pytest.param("scheduled", {"at": NEXT_MORNING + timedelta(days=1)}, False, id="scheduled: not the day before"),
        pytest.param("manual", {"run_after": MORNING_AFTER}, True, id="manual: the day before it was triggered"),
        pytest.param("manual", {"run_after": MORNING_AFTER + timedelta(days=1)}, False, id="manual: not two days"),
    ],
)
def test_a_nights_own_date_is_decided_although_nothing_changed(
    nights: Nights, run_type: str, given: dict[str, Any], own: bool
) -> None:
    """The day that ended last is always answered for; earlier days only when something about them changed."""
    nights.bring(FAST)
    nights.run()
    night = nights.run(run_type=run_type, **given)
    assert ({"fast-v2": "FAIL"} if own else {}) == night.decisions
    assert ("failed" if own else "success") == night.state


@pytest.mark.parametrize(
    ("setting", "param", "run_type", "state"),
    [
        ("always", None, "backfill", "failed"),
        ("never", None, "manual", "success"),
        ("auto", "never", "manual", "success"),
        ("never", "always", "manual", "failed"),
        ("never", "auto", "manual", "failed"),
        ("auto", "always", "backfill", "failed"),
    ],
)
def test_when_a_hold_is_red(nights: Nights, setting: str, param: str | None, run_type: str, state: str) -> None:
    """The setting says it for the installation, the parameter for one DAG run; the decision is the same either way."""
    nights.bring(FAST)
    nights.set(fail_on_hold=setting)
    night = nights.run(run_type=run_type, at=NEXT_MORNING, fail_on_hold=param)
    assert (state, {"fast-v2": "FAIL"}) == (night.state, night.decisions)


def test_a_day_that_is_not_over_holds_nothing_yet(nights: Nights) -> None:
    """Provisional at the time of the night: shown, not enforced."""
    nights.bring(FAST)
    nights.set(clock="2026-11-28T22:00:00Z")
    night = nights.run()
    assert ("success", {"fast-v2": "FAIL"}) == (night.state, night.decisions)


# -- what it is asked for ----------------------------------------------------------------------------------------


def test_a_candidate_asked_for_is_the_only_one_enforced(nights: Nights) -> None:
    """The report and the hold are about the candidate; the tables stay whole."""
    nights.bring(STABLE, FAST)
    night = nights.run(candidates=["stable-v1"])
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    whole = nights.files()
    shutil.rmtree(nights.lake)
    nights.run()
    assert whole == nights.files()


def test_a_policy_and_a_baseline_of_one_night(nights: Nights) -> None:
    """Both hold for this DAG run instead of what routing says, and the decisions say so."""
    nights.bring(STABLE, FAST)
    policy = nights.lake.with_name("strict.yaml")
    policy.write_text('schema: 1\nname: mine\nversion: "7"\nfloors: {verified_yield: {min: 0.5}}\n')
    night = nights.run(policy=str(policy), baseline="stable-v1")
    assert night.report is not None
    found = {entry["candidate"]: entry for entry in night.report["decisions"]}
    assert {"mine"} == {entry["policy"]["name"] for entry in found.values()}
    assert (None, "stable-v1") == (found["stable-v1"]["baseline"], found["fast-v2"]["baseline"])


def test_a_night_without_summaries(nights: Nights) -> None:
    """`off` writes no text, and decides the same."""
    nights.bring(STABLE)
    night = nights.run(summaries="off")
    assert ("success", {"stable-v1": "PASS"}) == (night.state, night.decisions)
    assert not (nights.lake / "summaries").exists()
