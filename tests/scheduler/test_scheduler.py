"""The nightly DAG on a running Airflow: schedule, hand, backfill, reprocessing, another policy, a killed worker."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import psutil
import pytest
from scripts.grow import REAL, grow
from scripts.stack import up
from tests.scheduler.nights import CLOCK, Place, Scheduler
from tests.scheduler.opened import opened_files

pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.skipif(sys.platform != "linux", reason="which files are opened is asked of Linux's inotify"),
]

SAMPLES = Path(__file__).resolve().parents[2] / "include" / "samples"
PASSES, HELD = SAMPLES / "runs" / "inversion-stable-v1", SAMPLES / "runs" / "inversion-fast-v2"
LAST = date(2026, 10, 30)
DAYS = 16
FIRST = LAST - timedelta(days=DAYS - 1)
HELD_DAYS = 3
STRICTER_DAYS = 6
STRICTER = LAST - timedelta(days=STRICTER_DAYS - 1)
BATCH = 16
ROUTING = SAMPLES / "routing.yaml"
POLICY = SAMPLES / "inversion_policy.yaml"
DECISIONS = "SELECT run_date, candidate, decision, decided_by FROM decisions ORDER BY ALL"
LOGGED = "SELECT run_date, candidate, decision, count(*) AS n FROM decision_log GROUP BY ALL ORDER BY ALL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """A backfill: its DAG runs, the run files opened meanwhile, and the lake after it."""

    runs: list[dict[str, Any]]
    opened: list[str]
    files: dict[str, str]
    decisions: list[tuple[Any, ...]]
    logged: list[tuple[Any, ...]]


def evalbench(*arguments: str | Path) -> str:
    """What the command says on standard output; it may hold a release."""
    settings = {"EVALBENCH_CLOCK": CLOCK, "EVALBENCH_GRACE_HOURS": "0", "EVALBENCH_ROUTING": str(ROUTING)}
    command = [Path(sys.executable).parent / "evalbench", *arguments]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 3, 4}, done.stderr
    return done.stdout


def ask(lake: Path, sql: str) -> list[tuple[Any, ...]]:
    """What `evalbench query` answers, row by row."""
    return [tuple(row.values()) for row in json.loads(evalbench("query", "--lake", lake, "--format", "json", sql))]


def night(place: Place, *sources: Path) -> None:
    """Grow one run per source on the last day."""
    for source in sources:
        grow(place.runs, 1, 1, LAST, [source])


@pytest.fixture(scope="module")
def scheduled(
    scheduler: Scheduler, use: Callable[[Place], None], new_place: Callable[[], Place]
) -> tuple[dict[str, Any], Place]:
    """What the schedule did when the DAG was switched on, over one run that passes and one that is held."""
    place = new_place()
    night(place, PASSES, HELD)
    use(place)
    scheduler.unpause()
    return scheduler.scheduled(), place


@pytest.fixture
def place(scheduled: object, use: Callable[[Place], None], new_place: Callable[[], Place]) -> Place:
    """An empty runs root and lake; the DAG is switched on and its schedule done for today."""
    made = new_place()
    use(made)
    return made


def test_the_stack_is_started_once_and_answers_this_machine_and_its_user_only(scheduler: Scheduler) -> None:
    """A second `make up` finds it running; every port is on 127.0.0.1; the API wants a token."""
    stack, was_running = up(scheduler.airflow.home.parent, {})
    assert (True, scheduler.airflow.port, []) == (was_running, stack.port, stack.stopped)
    ours = {service.pid for service in stack.services}
    listening = [one for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.pid]
    assert {"127.0.0.1"} == {one.laddr.ip for one in listening if os.getsid(one.pid) in ours}
    with pytest.raises(HTTPError, match="403"):
        scheduler.airflow.api("GET", "dags", token="guessed")


def test_the_schedule_has_a_real_interval_and_a_held_release_turns_it_red(
    scheduler: Scheduler, scheduled: tuple[dict[str, Any], Place]
) -> None:
    """Switched on, the DAG runs at once for the day that ended at 02:00 UTC; only `enforce` is red, and says why."""
    run, place = scheduled
    assert "scheduled" == run["run_type"]
    start, end = str(run["data_interval_start"]), str(run["data_interval_end"])
    assert ("02:00:00", "02:00:00") == (start[11:19], end[11:19])
    assert timedelta(days=1) == date.fromisoformat(end[:10]) - date.fromisoformat(start[:10])
    states = scheduler.tasks(run)
    assert ("failed", "success", "failed") == (run["state"], states["publish"], states["enforce"]), scheduler.red(run)
    said = scheduler.log(run, "enforce")
    assert "fast-v2" in said
    assert "false_success" in said
    assert "stable-v1" not in said
    assert [("fast-v2", "FAIL"), ("stable-v1", "PASS")] == [row[1:3] for row in ask(place.lake, DECISIONS)]


def test_a_night_with_nothing_new_reads_no_run_file_and_writes_nothing(scheduler: Scheduler, place: Place) -> None:
    """A manual DAG run without dates takes up what is new, red as the schedule; the next one finds nothing to do."""
    night(place, PASSES, HELD)
    first = scheduler.trigger()
    assert ("failed", None, None) == (first["state"], first["logical_date"], first["data_interval_start"])
    before = place.digests()
    with opened_files(place.runs) as opened:
        second = scheduler.trigger()
    assert ("success", []) == (second["state"], opened)
    assert before == place.digests()


def test_a_manual_run_with_dates_decides_exactly_these(scheduler: Scheduler, place: Place) -> None:
    """Runs of other dates stay undecided, and `fail_on_hold: never` keeps the DAG run green though one is held."""
    grow(place.runs, 4, 4, LAST, [HELD])
    since, until = LAST - timedelta(days=2), LAST - timedelta(days=1)
    run = scheduler.trigger(since=str(since), until=str(until), fail_on_hold="never")
    assert "success" == run["state"], scheduler.red(run)
    assert [(str(since), "FAIL"), (str(until), "FAIL")] == [(row[0], row[2]) for row in ask(place.lake, DECISIONS)]


def test_a_backfill_is_red_when_asked_to_hold(scheduler: Scheduler, place: Place) -> None:
    """`fail_on_hold: always` reaches a backfill through its configuration."""
    day = LAST + timedelta(days=1)  # the long backfill must find no DAG run of its days
    grow(place.runs, 1, 1, day, [HELD])
    (run,) = scheduler.backfill(day, day, "--dag-run-conf", json.dumps({"fail_on_hold": "always"}))
    assert ("failed", "failed") == (run["state"], scheduler.tasks(run)["enforce"])


@pytest.fixture(scope="module")
def period(scheduled: object, new_place: Callable[[], Place]) -> Place:
    """A run that passes on each day, and one that is held on the last three."""
    place = new_place()
    grow(place.runs, DAYS, DAYS, LAST, [PASSES])
    grow(place.runs, HELD_DAYS, HELD_DAYS, LAST, [HELD])
    return place


def passed_over(scheduler: Scheduler, place: Place, since: date, *options: str) -> Pass:
    """One backfill from a day to the last."""
    with opened_files(place.runs) as opened:
        runs = scheduler.backfill(since, LAST, *options)
    return Pass(
        runs=runs,
        opened=opened,
        files=place.digests(),
        decisions=ask(place.lake, DECISIONS),
        logged=ask(place.lake, LOGGED),
    )


@pytest.fixture(scope="module")
def first(scheduler: Scheduler, period: Place, use: Callable[[Place], None]) -> Pass:
    """All days, backfilled."""
    use(period)
    return passed_over(scheduler, period, FIRST)


@pytest.fixture(scope="module")
def again(scheduler: Scheduler, period: Place, first: Pass, use: Callable[[Place], None]) -> Pass:
    """All days, reprocessed."""
    use(period)
    return passed_over(scheduler, period, FIRST, "--reprocess-behavior", "completed")


@pytest.fixture(scope="module")
def stricter(
    scheduler: Scheduler,
    period: Place,
    again: Pass,
    use: Callable[[Place], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Pass:
    """The last days, reprocessed under a policy whose budget no candidate keeps."""
    policy = tmp_path_factory.mktemp("policy") / "stricter.yaml"
    text = POLICY.read_text(encoding="utf-8")
    assert "max_usd_per_verified_outcome: 0.60" in text
    policy.write_text(text.replace("max_usd_per_verified_outcome: 0.60", "max_usd_per_verified_outcome: 0.01"))
    use(period)
    conf = json.dumps({"policy": str(policy)})
    return passed_over(scheduler, period, STRICTER, "--reprocess-behavior", "completed", "--dag-run-conf", conf)


def below(prefix: str, files: Mapping[str, str]) -> dict[str, str]:
    """Those files of a lake whose name starts so."""
    return {name: digest for name, digest in files.items() if name.startswith(prefix)}


def most_at_once(runs: list[dict[str, Any]]) -> int:
    """How many of these DAG runs ran at the same time."""
    moments = [(str(run["start_date"]), 1) for run in runs] + [(str(run["end_date"]), -1) for run in runs]
    running = [0]
    for _, change in sorted(moments):
        running.append(running[-1] + change)
    return max(running)


def test_a_backfill_decides_each_day_and_is_green_though_releases_are_held(
    scheduler: Scheduler, first: Pass, period: Place
) -> None:
    """A DAG run for each, four at a time, each for its own date; no row of any is lost."""
    assert [str(FIRST + timedelta(days=day)) for day in range(DAYS)] == [
        str(run["data_interval_start"])[:10] for run in first.runs
    ]
    assert [] == [scheduler.red(run) for run in first.runs if run["state"] != "success"]
    assert 4 == most_at_once(first.runs)
    assert {"stable-v1": DAYS, "fast-v2": HELD_DAYS} == {
        name: sum(1 for row in first.decisions if row[1] == name) for name in ("stable-v1", "fast-v2")
    }
    assert {("stable-v1", "PASS", None), ("fast-v2", "FAIL", "false_success")} == {row[1:] for row in first.decisions}
    assert {path.name for path in period.runs.iterdir()} == {name.split("/")[0] for name in first.opened}


def test_a_worker_killed_within_a_batch_costs_a_retry_and_nothing_else(
    scheduler: Scheduler, place: Place, new_place: Callable[[], Place]
) -> None:
    """The process dies by SIGKILL, part of its batch stored; after Airflow's retry the lake is an undisturbed one's."""
    grown = grow(place.runs, BATCH, 1, LAST, REAL)
    run = scheduler.begin(fail_on_hold="never")
    worker = scheduler.worker(run, "run_directory.score", 0)
    while not (stored := len(list(place.lake.glob("facts/*/*.parquet")))):
        time.sleep(0.01)
    worker.suspend()
    assert 1 <= stored < len(grown)
    worker.kill()
    ended = scheduler.finished(run["dag_run_id"])
    assert "success" == ended["state"], scheduler.red(ended)
    undisturbed = new_place().lake
    evalbench("run", place.runs, "--lake", undisturbed)
    assert Place(place.runs, undisturbed).digests("index/") == place.digests("index/")


def test_reprocessing_gives_the_same_bytes_and_reads_no_run_file(first: Pass, again: Pass) -> None:
    """Facts, verdicts, every trend partition and the log of decisions; the DAG runs were done anew, not skipped."""
    assert len(first.runs) == len(again.runs)
    assert {(run["state"], run["dag_run_id"]) for run in first.runs} == {
        (run["state"], run["dag_run_id"]) for run in again.runs
    }
    assert all(new["start_date"] > old["end_date"] for old, new in zip(first.runs, again.runs, strict=True))
    assert [] == again.opened
    assert first.files == again.files


def test_another_policy_changes_decisions_without_reading_a_run_file(again: Pass, stricter: Pass) -> None:
    """Only what the new limit concerns, on the backfill's days; facts stay; the log keeps both answers of a day."""
    assert [] == stricter.opened
    assert below("facts/", again.files) == below("facts/", stricter.files)
    before, after = (set(one.decisions) for one in (again, stricter))
    days = [str(STRICTER + timedelta(days=day)) for day in range(STRICTER_DAYS)]
    assert {(day, "stable-v1", "FAIL", "floor.budget") for day in days} == after - before
    assert {(day, "stable-v1", "PASS", None) for day in days} == before - after
    held = days[-HELD_DAYS:]
    was, now = (set(one.logged) for one in (again, stricter))
    assert {(day, "stable-v1", "FAIL", 1) for day in days} | {(day, "fast-v2", "FAIL", 2) for day in held} == now - was
    assert {(day, "fast-v2", "FAIL", 1) for day in held} == was - now
    assert below("trends/decision_log/", again.files).items() <= stricter.files.items()
