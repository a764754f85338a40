"""Score every run directory, decide what may ship, publish the trend tables.

`discover` lists the runs root and plans; each run directory is scored and summarized by mapped Airflow tasks of its
own (`run_directory`); `gate` accounts for everything that was planned and decides; `publish` replaces the trend
partitions; `enforce` fails when a release is held (see the parameter `fail_on_hold`), so a red `enforce` beside a green
`publish` is a decision, and anything else that is red is a fault of the pipeline.

Backfills decide the UTC date of their data interval's start. Other DAG runs decide the dates given as parameters, or
all; a scheduled one enforces the decisions from its own date on, so that a release held last week doesn't keep tonight
red.
"""

# Wiring only: every Airflow task is one call into `evalbench.nightly`, imported when it runs, not when this is parsed.
# XCom carries batch numbers and labels; plan, results, facts and report are in the lake under the DAG run's id.

import logging
import os
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from types import ModuleType
from typing import Any, TypedDict

from airflow.sdk import (
    CronDataIntervalTimetable,
    ExceptionRetryPolicy,
    Param,
    RetryAction,
    RetryRule,
    TriggerRule,
    dag,
    get_current_context,
    task,
    task_group,
)

from evalbench.errors import EvalbenchError, PipelineError
from evalbench.settings import Settings, load_settings

log = logging.getLogger("evalbench.nightly")

DATE: dict[str, Any] = {"type": ["null", "string"], "format": "date"}
TEXT: dict[str, Any] = {"type": ["null", "string"]}
PARAMS = {
    "since": Param(None, **DATE, title="Since", description="First run date to decide, UTC. Empty: no bound."),
    "until": Param(None, **DATE, title="Until", description="Last run date to decide, UTC. Empty: no bound."),
    "candidates": Param(
        [],
        type="array",
        items={"type": "string"},
        title="Candidates",
        description="Which candidates the report shows and enforce holds. Empty: all.",
    ),
    "baseline": Param(None, **TEXT, title="Baseline", description="Compare with this candidate, not routing's."),
    "policy": Param(None, **TEXT, title="Policy file", description="One policy for every subject, not routing's."),
    "summaries": Param(
        None,
        **TEXT,
        enum=[None, "auto", "offline", "off"],
        title="Summaries",
        description="Who writes the run summaries. Empty: as EVALBENCH_SUMMARIES says.",
    ),
    "fail_on_hold": Param(
        None,
        **TEXT,
        enum=[None, "auto", "always", "never"],
        title="Fail on hold",
        description="When a held release turns the DAG run red. auto: always, except in backfills.",
    ),
}
SETTINGS_FROM_PARAMS = ("policy", "summaries", "fail_on_hold")


class Batch(TypedDict):
    """What one mapped instance works on: a position in the plan's batches, and its name in the grid."""

    number: int
    label: str


@dag(
    dag_id="evalbench_nightly",
    schedule=CronDataIntervalTimetable("0 2 * * *", timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    params=PARAMS,
    default_args={
        "owner": "evalbench",
        "retries": 2,
        "retry_delay": timedelta(seconds=30),
        # What the pipeline raises on purpose is not mended by trying again; a lost disk or worker may be.
        "retry_policy": ExceptionRetryPolicy(rules=[RetryRule(exception=EvalbenchError, action=RetryAction.FAIL)]),
    },
    tags=["evalbench"],
    doc_md=__doc__,
)
def evalbench_nightly() -> None:  # noqa: C901 - eight Airflow tasks of a line or two; the wiring itself is straight
    """Wire the verbs together."""

    @task
    def discover() -> list[Batch]:
        labels = _nightly().discover(_settings(), _dag_run_id(), **_dates())
        log.info("%d batches of runs to score", len(labels))
        return [Batch(number=number, label=label) for number, label in enumerate(labels)]

    @task(map_index_template="{{ label }}")
    def score(batch: Batch) -> None:
        _label(batch)
        for state in _nightly().score_batch(_settings(), _dag_run_id(), batch["number"]):
            log.info("%s: %s %s", state.path, state.disposition, state.message)

    @task(map_index_template="{{ label }}")
    def summarize(batch: Batch) -> None:
        _label(batch)
        for path, state in _nightly().summarize_batch(_settings(), _dag_run_id(), batch["number"]):
            log.info("%s: summary %s", path, state)

    @task_group
    def run_directory(batch: Batch) -> None:
        score(batch) >> summarize(batch)

    @task(trigger_rule=TriggerRule.ALL_DONE)
    def gate(batches: list[Batch] | None) -> None:
        # Runs whatever became of the fan-out and trusts no silence: the stored plan says what should have arrived.
        if batches is None:
            raise PipelineError("discover left no plan, so nothing may be decided; look at discover's log")
        report = _nightly().gate(_settings(), _dag_run_id(), **_choice())
        log.info("accounting: %s", report["accounting"])
        for entry in report["decisions"]:
            by = f" by {entry['decided_by']}" if entry["decided_by"] else ""
            log.info("%(date)s %(product)s/%(suite)s %(candidate)s: %(decision)s%(by)s", {**entry, "by": by})

    @task
    def publish() -> None:
        published = _nightly().publish(_settings(), _dag_run_id(), **_choice())
        log.info("%d partitions written, %d as they were", len(published.written), len(published.unchanged))

    @task(retries=0)
    def enforce() -> None:
        run_type = get_current_context()["dag_run"].run_type
        since = _interval_date() if run_type == "scheduled" else None
        log.info("%s", _nightly().enforce(_settings(), _dag_run_id(), backfill=run_type == "backfill", since=since))

    batches = discover()
    run_directory.expand(batch=batches) >> gate(batches) >> publish() >> enforce()  # type: ignore[arg-type]


def _nightly() -> ModuleType:
    """The pipeline, imported when an Airflow task runs: parsing this file must stay cheap."""
    return import_module("evalbench.nightly")


def _settings() -> Settings:
    """The operator's settings, and what this DAG run's parameters say instead."""
    params = get_current_context()["params"]
    return load_settings(os.environ, {name: params[name] for name in SETTINGS_FROM_PARAMS})


def _label(batch: Batch) -> None:
    """Name this mapped instance in the grid; first thing, so that a failure has its name too."""
    get_current_context()["label"] = batch["label"]  # type: ignore[typeddict-unknown-key]


def _dates() -> dict[str, date | None]:
    """The dates in range: a backfill's own, else the parameters', each None where there is no bound."""
    context = get_current_context()
    if context["dag_run"].run_type == "backfill" and (day := _interval_date()) is not None:
        return {"since": day, "until": day}
    given = {name: context["params"][name] for name in ("since", "until")}
    return {name: date.fromisoformat(text) if text else None for name, text in given.items()}


def _interval_date() -> date | None:
    """UTC date on which the data interval starts: a plain date, where Airflow's own is of a subclass."""
    start = get_current_context().get("data_interval_start")
    return None if start is None else datetime.fromtimestamp(start.timestamp(), UTC).date()


def _choice() -> dict[str, Any]:
    params = get_current_context()["params"]
    return {"candidates": tuple(params["candidates"]), "baseline": params["baseline"]}


def _dag_run_id() -> str:
    return str(get_current_context()["run_id"])


evalbench_nightly()
