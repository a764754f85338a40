"""The nightly DAG as people meet it on a running Airflow: DAG runs asked for through the API and the command line."""

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import psutil
from scripts.stack_airflow import DAG_ID, Airflow

CLOCK = "2026-12-02T06:00:00Z"
OPERATIONAL = ("trends/run_states", "trends/accounting", "_ops")  # they speak of the pipeline, not of the runs
OVER = {"success", "failed"}
PATIENCE = 900.0


@dataclass(frozen=True, slots=True)
class Place:
    """A runs root and a lake of one test, behind the two paths that the running Airflow was told."""

    runs: Path
    lake: Path

    def digests(self, *left_out: str) -> dict[str, str]:
        """The content of every file of the lake that is promised to be reproducible, by its name."""
        files = sorted(path for path in self.lake.rglob("*") if path.is_file())
        names = {path.relative_to(self.lake).as_posix(): path for path in files}
        return {
            name: hashlib.sha256(path.read_bytes()).hexdigest()
            for name, path in names.items()
            if not name.startswith((*OPERATIONAL, *left_out)) and not name.endswith(".lock")
        }


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The running Airflow, asked about the nightly DAG."""

    airflow: Airflow
    token: str

    def ask(self, path: str, method: str = "GET", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The API's answer about the DAG."""
        return self.airflow.api(method, f"dags/{DAG_ID}{path}", body, token=self.token)

    def unpause(self) -> None:
        """Let the DAG run, and its schedule."""
        self.ask("", "PATCH", {"is_paused": False})

    def runs(self) -> list[dict[str, Any]]:
        """Every DAG run."""
        found: list[dict[str, Any]] = self.ask("/dagRuns?limit=500")["dag_runs"]
        return found

    def scheduled(self) -> dict[str, Any]:
        """The DAG run that the schedule made, once it is over."""
        self._until("a scheduled DAG run", lambda: any(run["run_type"] == "scheduled" for run in self.runs()))
        (run,) = [run for run in self.runs() if run["run_type"] == "scheduled"]
        return self.finished(run["dag_run_id"])

    def trigger(self, **conf: Any) -> dict[str, Any]:
        """A manual DAG run, as the UI starts one without a logical date; returned when it is over."""
        return self.finished(self.begin(**conf)["dag_run_id"])

    def begin(self, **conf: Any) -> dict[str, Any]:
        """A manual DAG run, just asked for."""
        return self.ask("/dagRuns", "POST", {"logical_date": None, "conf": conf})

    def finished(self, run_id: str) -> dict[str, Any]:
        """A DAG run once it is over."""
        self._until(f"the end of {run_id}", lambda: self.ask(f"/dagRuns/{run_id}")["state"] in OVER)
        return self.ask(f"/dagRuns/{run_id}")

    def backfill(self, first: date, last: date, *options: str) -> list[dict[str, Any]]:
        """`airflow backfill create` over run dates, both inclusive, four at a time; its DAG runs, all over."""
        span = ("--from-date", f"{first}T00:00:00", "--to-date", f"{last}T23:59:00")
        done = self.airflow.command("backfill", "create", "--dag-id", DAG_ID, *span, "--max-active-runs", "4", *options)
        assert 0 == done.returncode, done.stdout + done.stderr
        newest = max(self._backfills(), key=lambda one: int(one["id"]))
        self._until("the end of the backfill", lambda: self._backfill(newest["id"])["completed_at"] is not None)
        found = [run for run in self.runs() if run["run_type"] == "backfill" and _within(run, first, last)]
        return sorted(found, key=lambda run: str(run["data_interval_start"]))

    def tasks(self, run: Mapping[str, Any]) -> dict[str, str]:
        """State of each Airflow task of a DAG run by its name; mapped instances as `name[index]`."""
        found = self.ask(f"/dagRuns/{run['dag_run_id']}/taskInstances?limit=200")["task_instances"]
        return {_label(one): str(one["state"]) for one in found}

    def log(self, run: Mapping[str, Any], task: str, index: int = -1, attempt: int = 1) -> str:
        """What an Airflow task logged, as the UI shows it."""
        path = f"/dagRuns/{run['dag_run_id']}/taskInstances/{task}/logs/{attempt}?map_index={index}&full_content=true"
        return "\n".join(str(line) for line in self.ask(path)["content"])

    def red(self, run: Mapping[str, Any]) -> str:
        """The end of the log of each Airflow task that failed: what a failing test should tell."""
        found = self.ask(f"/dagRuns/{run['dag_run_id']}/taskInstances?limit=200&state=failed")["task_instances"]
        logs = {_label(one): self.log(run, one["task_id"], one["map_index"], one["try_number"]) for one in found}
        return "\n".join(f"{name}:\n{text[-4000:]}" for name, text in logs.items())

    def worker(self, run: Mapping[str, Any], task: str, index: int) -> psutil.Process:
        """The process that runs an Airflow task, once it does: Airflow names it by the task instance."""
        path = f"/dagRuns/{run['dag_run_id']}/taskInstances/{task}/{index}"
        running: list[psutil.Process] = []

        def found() -> bool:
            with suppress(HTTPError):  # 404 until the task is mapped
                title = f"airflow worker -- {self.ask(path)['id']}"
                running.extend(one for one in psutil.process_iter() if title in " ".join(command_of(one)))
            return bool(running)

        self._until(f"process of {task}[{index}]", found, every=0.05)
        return running[0]

    def settle(self) -> None:
        """End whatever a test left running, so that the next one's place is its own."""
        for backfill in self._backfills():
            if backfill["completed_at"] is None:
                self.airflow.api("PUT", f"backfills/{backfill['id']}/cancel", token=self.token)
        for run in self.runs():
            if run["state"] not in OVER:
                self.ask(f"/dagRuns/{run['dag_run_id']}", "PATCH", {"state": "failed"})

    def _backfills(self) -> list[dict[str, Any]]:
        path = f"backfills?dag_id={DAG_ID}&limit=500"
        found: list[dict[str, Any]] = self.airflow.api("GET", path, token=self.token)["backfills"]
        return found

    def _backfill(self, number: int) -> dict[str, Any]:
        return self.airflow.api("GET", f"backfills/{number}", token=self.token)

    def _until(self, what: str, over: Callable[[], bool], every: float = 0.5) -> None:
        deadline = time.monotonic() + PATIENCE
        while not over():
            assert time.monotonic() < deadline, f"no {what} within {PATIENCE:.0f} s: {self.runs()}"
            time.sleep(every)


def command_of(process: psutil.Process) -> list[str]:
    """The command line of a process, empty when it is gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _label(instance: Mapping[str, Any]) -> str:
    index = int(instance["map_index"])
    return str(instance["task_id"]) + (f"[{index}]" if index >= 0 else "")


def _within(run: Mapping[str, Any], first: date, last: date) -> bool:
    return str(first) <= str(run["data_interval_start"])[:10] <= str(last)
