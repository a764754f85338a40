"""What batches save: `python -m benchmarks.batches`.

The nightly DAG over one grown runs root, scheduled by a real Airflow (LocalExecutor on Postgres, as `make up` starts
it): with batches, and with one mapped Airflow task per run directory. Alternating, each time with a new Airflow and a
new lake; a wall is from Airflow's own start of the DAG run to its end. The exit code is 1 when a DAG run fails.
"""

import argparse
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from itertools import product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import psutil
from scripts.grow import REAL, grow
from scripts.stack import Stack, down, up
from scripts.stack_airflow import DAG_ID, Airflow
from scripts.stack_postgres import free_port
from scripts.stack_process import StackError

ROOT = Path(__file__).resolve().parent.parent
LAST_DATE = date(2026, 11, 30)
DAYS = 30
ENDED = {"success", "failed"}
PATIENCE = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """One DAG run. cpu: seconds that all of Airflow and its database used meanwhile. tasks: Airflow task instances.

    facts: objects in the lake, one per run scored.
    """

    state: str
    seconds: float
    cpu: float
    tasks: int
    facts: int


def measure(place: Path, runs: Path, max_mapped_tasks: int) -> Wall:
    """The scheduled DAG run of a new Airflow over a new lake."""
    settings = {
        "EVALBENCH_RUNS": str(runs),
        "EVALBENCH_LAKE": str(place / "lake"),
        "EVALBENCH_ROUTING": str(ROOT / "include" / "samples" / "routing.yaml"),
        "EVALBENCH_CLOCK": "2026-12-02T06:00:00Z",
        "EVALBENCH_FAIL_ON_HOLD": "never",  # a held release is no failure of the measurement
        "EVALBENCH_MAX_MAPPED_TASKS": str(max_mapped_tasks),
    }
    try:
        stack, _ = up(place / "stack", settings, free_port())
        used = cpu_of(stack)
        state, seconds, tasks = scheduled_run(stack.airflow)
        used = cpu_of(stack) - used
    except StackError as error:
        raise SystemExit(str(error)) from error
    finally:
        down(place / "stack")
    facts = sum(1 for _ in (place / "lake" / "facts").rglob("*.parquet"))
    return Wall(state=state, seconds=seconds, cpu=used, tasks=tasks, facts=facts)


def cpu_of(stack: Stack) -> float:
    """Seconds of CPU used so far by the stack's processes, by those they started and by those that have ended."""
    known = [process for service in stack.services if (process := service.process) is not None]
    known += [child for process in known for child in process.children(recursive=True)]
    used = 0.0
    for process in known:
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used


def scheduled_run(airflow: Airflow) -> tuple[str, float, int]:
    """Unpause the DAG, which schedules one run at once, and wait for its end: (state, seconds, Airflow tasks)."""
    token = airflow.token()
    airflow.api("PATCH", f"dags/{DAG_ID}", {"is_paused": False}, token=token)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = airflow.api("GET", f"dags/{DAG_ID}/dagRuns", token=token)["dag_runs"]
        if found and found[0]["state"] in ENDED:
            begun, ended = (datetime.fromisoformat(found[0][name]) for name in ("start_date", "end_date"))
            path = f"dags/{DAG_ID}/dagRuns/{found[0]['dag_run_id']}/taskInstances?limit=1"
            tasks = airflow.api("GET", path, token=token)["total_entries"]
            return found[0]["state"], (ended - begun).total_seconds(), tasks
        time.sleep(1)
    raise SystemExit(f"the DAG run did not end within {PATIENCE:.0f} s")


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="The DAG with batches against one mapped Airflow task per directory.")
    parser.add_argument("--directories", type=int, default=200, help="run directories (200)")
    parser.add_argument("--batches", type=int, default=16, help="batches at most (16)")
    parser.add_argument("--rounds", type=int, default=2, help="measurements of each (2)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the stack is stopped then, too
    modes = (given.batches, given.directories)
    walls: dict[int, list[Wall]] = {mode: [] for mode in modes}
    (ROOT / "var").mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="bench-", dir=ROOT / "var") as place:
        Path(place).chmod(0o755)  # Postgres may have to run as another user
        grown = grow(Path(place) / "runs", given.directories, DAYS, LAST_DATE, REAL)
        size = sum(file.stat().st_size for directory in grown for file in directory.iterdir())
        tell("runs root", f"{len(grown)} directories, {size / 1e6:.0f} MB; {os.cpu_count()} cores")
        for number, mode in product(range(given.rounds), modes):
            wall = measure(Path(place) / f"{number}-{mode}", Path(place) / "runs", mode)
            walls[mode].append(wall)
            cost = f"{wall.seconds:.1f} s, {wall.cpu:.0f} s of CPU"
            did = f"{wall.tasks} Airflow tasks, {wall.facts} runs scored, {wall.state}"
            tell(f"round {number + 1}", f"{mode} mapped: {cost}; {did}")
    batched, single = walls.values()
    times = fmean(wall.seconds for wall in single) / fmean(wall.seconds for wall in batched)
    cpu = fmean(wall.cpu for wall in single) / fmean(wall.cpu for wall in batched)
    what = f"one mapped Airflow task per directory / {given.batches} batches"
    tell("ratio", f"{times:.1f} in time, {cpu:.1f} in CPU ({what})")
    done = all((wall.state, wall.facts) == ("success", len(grown)) for wall in (*batched, *single))
    if not done:
        tell("FAULT", f"not every DAG run succeeded with {len(grown)} runs scored")
    return 0 if done else 1


def tell(what: str, text: str) -> None:
    """One line of the answer, at once."""
    print(f"{what:<10} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
