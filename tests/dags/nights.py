"""Whole DAG runs in the private Airflow: real run directories in, the states of all Airflow tasks out."""

import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG

AFTER_THE_SAMPLES = "2026-12-02T06:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a DAG run left. tasks, tries: by Airflow task, mapped ones as `task[label]`. errors: in order, by task.

    report: the JSON document in the lake, None when nothing was published. events: what the asset was told. told: what
    each Airflow task logged, in order.
    """

    run_id: str
    state: str
    run_type: str
    tasks: Mapping[str, str]
    tries: Mapping[str, int]
    errors: tuple[tuple[str, BaseException], ...]
    report: Mapping[str, Any] | None
    events: tuple[Mapping[str, Any], ...]
    told: Mapping[str, list[str]]

    def error(self, task: str) -> str:
        """`Type: message` of a task's last error."""
        last = [error for name, error in self.errors if name == task][-1]
        return f"{type(last).__name__}: {last}"

    @property
    def decisions(self) -> dict[str, str]:
        """Candidate → decision, as published."""
        assert self.report is not None
        return {entry["candidate"]: entry["decision"] for entry in self.report["decisions"]}

    @property
    def accounting(self) -> dict[str, Any]:
        """The accounting, as published."""
        assert self.report is not None
        return dict(self.report["accounting"])


class Lines(logging.Handler):
    """Keeps what our loggers are told, by Airflow task."""

    def __init__(self) -> None:
        """Nothing yet."""
        super().__init__()
        self.kept: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        from airflow.sdk import get_current_context

        instance = get_current_context()["ti"]
        self.kept.setdefault(name_of(instance), []).append(record.getMessage())


@dataclass(slots=True, kw_only=True)
class Witness:
    """Listens to Airflow as a plugin would (which Airflow task failed with what, retried ones included), and to what
    the DAGs log."""

    failures: list[tuple[str, BaseException]] = field(default_factory=list)
    lines: Lines = field(default_factory=Lines)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the block runs."""
        from airflow.listeners import hookimpl
        from airflow.sdk.listener import get_listener_manager

        failures = self.failures

        class Listener:
            @hookimpl
            def on_task_instance_failed(self, previous_state: Any, task_instance: Any, error: BaseException) -> None:
                del previous_state
                failures.append((name_of(task_instance), error))

        listener, logger = Listener(), logging.getLogger("evalbench")
        get_listener_manager().add_listener(listener)
        logger.addHandler(self.lines)
        try:
            yield
        finally:
            logger.removeHandler(self.lines)
            get_listener_manager().pm.unregister(listener)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """A runs root, a lake, and the file with the DAG that works on them."""

    dag_file: Path
    samples: Path
    runs: Path
    lake: Path
    patch: pytest.MonkeyPatch

    def bring(self, *names: str) -> None:
        """Copy sample run directories into the runs root."""
        for name in names:
            shutil.copytree(self.samples / name, self.runs / name)

    def set(self, **settings: object) -> None:
        """Set `EVALBENCH_*` variables for the DAG runs to come."""
        for name, value in settings.items():
            self.patch.setenv(f"EVALBENCH_{name.upper()}", str(value))

    def run(
        self,
        *,
        run_type: str = "manual",
        at: datetime | None = None,
        run_after: datetime | None = None,
        marked: str | None = None,
        **conf: object,
    ) -> Night:
        """One DAG run to its end.

        at: its logical date, None as for a run somebody triggered. run_after: when it was triggered, None for now.
        marked: Airflow tasks that are marked a success instead of running. conf: its parameters.
        """
        from airflow.models import dagrun
        from airflow.utils.types import DagRunType

        create = dagrun.get_or_create_dagrun

        def create_as_told(*, session: Any, **given: Any) -> "DagRun":
            """`dag.test` makes manual runs only; the scheduler's and the backfills' differ by this one column."""
            made = create(session=session, **given)
            made.run_type = DagRunType(run_type)
            session.commit()
            return made

        return self._night(
            create_as_told, logical_date=at, run_after=run_after, mark_success_pattern=marked, run_conf=conf
        )

    def rerun(self, night: Night, *cleared: str, downstream: bool = True) -> Night:
        """A DAG run again, after somebody cleared Airflow tasks of it: with everything downstream, or they alone."""
        from airflow.models.dagrun import DagRun
        from airflow.models.taskinstance import clear_task_instances
        from airflow.serialization.definitions.dag import SerializedDAG
        from airflow.utils.state import DagRunState

        names = set(cleared)
        if downstream:
            tasks = parse(self.dag_file).task_dict
            names |= {after for name in cleared for after in tasks[name].get_flat_relative_ids(upstream=False)}

        def clear(*, session: Any, dag: Any, **given: Any) -> "DagRun":
            """The DAG run that is there, with the Airflow tasks cleared as the button does it."""
            del given
            found = session.query(DagRun).filter(DagRun.run_id == night.run_id).one()
            found.dag = dag
            instances = [one for one in found.get_task_instances(session=session) if one.task_id in names]
            clear_task_instances(instances, session, dag_run_state=DagRunState.QUEUED)
            found.state = DagRunState.RUNNING
            session.commit()
            return found

        with self.patch.context() as patched:
            # `dag.test` clears every DAG run at its logical date first.
            patched.setattr(SerializedDAG, "clear_dags", lambda **_: 0)
            return self._night(clear)

    def consume(self, *nights: Night) -> Night:
        """A DAG run of the example consumer, started by what these nights told the asset."""
        from airflow.models import dagrun
        from airflow.models.asset import AssetEvent
        from airflow.utils.types import DagRunType

        create = dagrun.get_or_create_dagrun
        sources = [night.run_id for night in nights]

        def create_for_events(*, session: Any, **given: Any) -> "DagRun":
            """What the scheduler makes when the asset was told."""
            made = create(session=session, **given)
            made.run_type = DagRunType.ASSET_TRIGGERED
            events = session.query(AssetEvent).filter(AssetEvent.source_run_id.in_(sources)).order_by(AssetEvent.id)
            made.consumed_asset_events.extend(events)
            session.commit()
            return made

        return self._night(create_for_events, dag_file=self.dag_file.with_name("evalbench_consumer_example.py"))

    def _night(self, dag_run: "Callable[..., DagRun]", *, dag_file: Path | None = None, **given: Any) -> Night:
        """Drive the DAG run that `dag_run` makes or finds to its end, by Airflow's own loop."""
        from airflow.models import dagrun

        witness = Witness()
        with self.patch.context() as patched, witness.listening():
            patched.setattr(dagrun, "get_or_create_dagrun", dag_run)
            # Airflow's loop sleeps a second wherever its last pass only changed states.
            patched.setattr(time, "sleep", lambda seconds, sleep=time.sleep: sleep(min(seconds, 0.01)))
            ended = parse(dag_file or self.dag_file).test(**{"logical_date": None, **given})
        instances = ended.get_task_instances()
        return Night(
            run_id=str(ended.run_id),
            state=str(ended.state),
            run_type=str(ended.run_type),
            tasks={name_of(instance): str(instance.state) for instance in instances},
            tries={name_of(instance): instance.try_number for instance in instances},
            errors=tuple(witness.failures),
            report=self._report(str(ended.run_id)),
            events=events_of(str(ended.run_id)),
            told=witness.lines.kept,
        )

    @contextmanager
    def own_process(self, task_id: str) -> Iterator[None]:
        """While the block runs, this Airflow task has a process and a supervisor of its own, as a worker gives it."""
        from airflow.executors.workloads import BundleInfo
        from airflow.sdk.execution_time import supervisor

        in_process = supervisor.run_task_in_process

        def supervised(ti: Any, task: Any) -> Any:
            if task.task_id != task_id:
                return in_process(ti, task)
            process = supervisor.ActivitySubprocess.start(
                what=ti,
                dag_rel_path=self.dag_file.name,
                bundle_info=BundleInfo(name="dags-folder"),
                client=supervisor.InProcessTestSupervisor._api_client(task.dag),
            )
            process.wait()
            return SimpleNamespace(ti=SimpleNamespace(state=process.final_state, task=task), msg=None)

        with self.patch.context() as patched:
            patched.setattr(supervisor, "run_task_in_process", supervised)
            yield

    @contextmanager
    def breaking(
        self, verb: str, error: BaseException, *, batch: int | None = None, times: int | None = None
    ) -> Iterator[None]:
        """While the block runs, a verb (of one batch, so many times) ends as if its process had met this."""
        nightly = import_module("evalbench.nightly")
        original, left = getattr(nightly, verb), count(times or sys.maxsize, -1)

        def broken(settings: Any, plan_id: str, *given: Any, **named: Any) -> Any:
            if (batch is None or batch in given) and next(left) > 0:
                raise error
            return original(settings, plan_id, *given, **named)

        with self.patch.context() as patched:
            patched.setattr(nightly, verb, broken)
            yield

    def files(self) -> dict[str, bytes]:
        """The lake's files whose bytes are promised."""
        outside = ("_ops/", "index/", "commits/", "trends/run_states/", "trends/accounting/")
        found = {path.relative_to(self.lake).as_posix(): path for path in self.lake.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in sorted(found.items()) if not name.startswith(outside)}

    def _report(self, run_id: str) -> Mapping[str, Any] | None:
        from evalbench.lake.plans import plan_id_of
        from evalbench.lake.reports import report_path

        path = self.lake / report_path(plan_id_of(run_id))
        return json.loads(path.read_bytes()) if path.is_file() else None


def events_of(run_id: str) -> tuple[Mapping[str, Any], ...]:
    """What a DAG run told the assets it publishes, in that order."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(AssetEvent).filter(AssetEvent.source_run_id == run_id).order_by(AssetEvent.id)
        return tuple(dict(event.extra) for event in found)


def name_of(instance: Any) -> str:
    """An Airflow task instance as people see it: without its group, mapped ones with their label."""
    name = str(instance.task_id).rpartition(".")[2]
    if instance.map_index < 0:
        return name
    return f"{name}[{instance.rendered_map_index or instance.map_index}]"


def parse(dag_file: Path) -> "DAG":
    """The DAG, parsed anew, with retries that don't wait.

    Anew for each DAG run, as Airflow does: a run's parameters stay in the DAG object it ran on.
    """
    from airflow.dag_processing.dagbag import DagBag

    (dag,) = DagBag(dag_folder=dag_file).dags.values()
    for task in dag.tasks:
        task.retry_delay = timedelta(0)
        task.retry_exponential_backoff = 0
    return dag
