"""Whole DAG runs in the private Airflow: real run directories in, the states of all Airflow tasks out."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG

AFTER_THE_SAMPLES = "2026-12-02T06:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a DAG run left. tasks, tries: by Airflow task, mapped ones as `task[label]`. errors: in order, by task.

    report: the JSON document in the lake, None when nothing was published.
    """

    state: str
    run_type: str
    tasks: Mapping[str, str]
    tries: Mapping[str, int]
    errors: tuple[tuple[str, BaseException], ...]
    report: Mapping[str, Any] | None

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


@dataclass(slots=True, kw_only=True)
class Failures:
    """Listens to Airflow as a plugin would: which Airflow task failed with what, retried ones included."""

    seen: list[tuple[str, BaseException]] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the block runs."""
        from airflow.listeners import hookimpl
        from airflow.sdk.listener import get_listener_manager

        seen = self.seen

        class Listener:
            @hookimpl
            def on_task_instance_failed(self, previous_state: Any, task_instance: Any, error: BaseException) -> None:
                del previous_state
                seen.append((name_of(task_instance), error))

        listener = Listener()
        get_listener_manager().add_listener(listener)
        try:
            yield
        finally:
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

    def run(self, *, run_type: str = "manual", at: datetime | None = None, **conf: object) -> Night:
        """One DAG run to its end. at: its logical date, None as for a run somebody triggered. conf: its parameters."""
        from airflow.models import dagrun
        from airflow.utils.types import DagRunType

        create = dagrun.get_or_create_dagrun

        def create_as_told(*, session: Any, **given: Any) -> "DagRun":
            """`dag.test` makes manual runs only; the scheduler's and the backfills' differ by this one column."""
            made = create(session=session, **given)
            made.run_type = DagRunType(run_type)
            session.commit()
            return made

        failures = Failures()
        with self.patch.context() as patched, failures.listening():
            patched.setattr(dagrun, "get_or_create_dagrun", create_as_told)
            ended = parse(self.dag_file).test(logical_date=at, run_conf=dict(conf))
        instances = ended.get_task_instances()
        return Night(
            state=str(ended.state),
            run_type=str(ended.run_type),
            tasks={name_of(instance): str(instance.state) for instance in instances},
            tries={name_of(instance): instance.try_number for instance in instances},
            errors=tuple(failures.seen),
            report=self._report(str(ended.run_id)),
        )

    def files(self) -> dict[str, bytes]:
        """The lake's files whose bytes are promised."""
        outside = ("_ops/", "trends/run_states/", "trends/accounting/")
        found = {path.relative_to(self.lake).as_posix(): path for path in self.lake.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in sorted(found.items()) if not name.startswith(outside)}

    def _report(self, run_id: str) -> Mapping[str, Any] | None:
        from evalbench.lake.plans import plan_id_of
        from evalbench.lake.reports import report_path

        path = self.lake / report_path(plan_id_of(run_id))
        return json.loads(path.read_bytes()) if path.is_file() else None


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
    return dag
