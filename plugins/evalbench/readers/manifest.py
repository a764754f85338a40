"""run.yaml: what the operator says of a run, and the plan its coverage is measured against."""

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from evalbench.ledger import MOST_PLANNED_TRIALS, Defect, EvidenceRef, Plan, PlannedTask, PlanSource
from evalbench.readers.json_text import JsonError, JsonNumber, parse_json, without_surrogates
from evalbench.readers.moments import to_utc
from evalbench.readers.record_types import UNKNOWN_ENVIRONMENT, environment_named
from evalbench.readers.redact import redact_json, redact_text
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.yaml_text import YamlError, parse_yaml

FILE = "run.yaml"

_TEXTS = ("run_id", "candidate", "baseline", "product", "dataset", "dataset_version", "requester", "model", "workflow")
_FIELDS = frozenset({*_TEXTS, "run_time", "environment", "planned", "labels"})
_ABSENT = frozenset({"", "~", "null", "Null", "NULL"})
_DIGITS = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What run.yaml says; None where it is silent. Not readable: defects hold `manifest_invalid`, all else is empty.

    run_time: aware UTC. environment: offline, production, or unknown for any other word. plan: None when none is named
    or it can't be reached.
    """

    readable: bool = True
    run_id: str | None = None
    candidate: str | None = None
    baseline: str | None = None
    product: str | None = None
    dataset: str | None = None
    dataset_version: str | None = None
    requester: str | None = None
    model: str | None = None
    workflow: str | None = None
    run_time: datetime | None = None
    environment: str | None = None
    plan: Plan | None = None
    labels: dict[str, str] = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()


def looks_like_manifest(names: Collection[str]) -> bool:
    """Whether a directory with these files has a run manifest."""
    return FILE in names


def read_manifest(snapshot: Snapshot, options: ReadOptions) -> Manifest | None:
    """The snapshot's manifest, None without one. Never raises: what can't be used is a defect and is left out."""
    if FILE not in snapshot.files:
        return None
    try:
        value = _mapping(snapshot)
    except YamlError as error:
        message = redact_text(f"{FILE}: {error}; nothing in it is used.")
        return Manifest(readable=False, defects=(_defect("manifest_invalid", message),))
    defects = [
        _defect("unknown_field", f"{FILE}: the field {redact_text(name)[:200]!r} is not in the format and is ignored.")
        for name in sorted(value.keys() - _FIELDS)
    ]
    texts = {name: _text(value, name, defects) for name in _TEXTS}
    return Manifest(
        run_id=texts["run_id"],
        candidate=texts["candidate"],
        baseline=texts["baseline"],
        product=texts["product"],
        dataset=texts["dataset"],
        dataset_version=texts["dataset_version"],
        requester=texts["requester"],
        model=texts["model"],
        workflow=texts["workflow"],
        run_time=_run_time(value, options.timezone, defects),
        environment=_environment(value, defects),
        plan=_plan(value, snapshot, defects),
        labels=_labels(value, defects),
        defects=tuple(defects),
    )


def external_evalset(snapshot: Snapshot) -> str | None:
    """Path, relative to the run directory, of the evalset the manifest's plan names and the snapshot lacks.

    None when there is nothing to add, or when the path would leave the runs root.
    """
    try:
        planned = _mapping(snapshot).get("planned") if FILE in snapshot.files else None
    except YamlError:
        return None
    path = planned.get("evalset") if isinstance(planned, dict) else None
    name = _inside_root(snapshot, path) if isinstance(path, str) else None
    return None if name is None or name in snapshot.files else name


def _mapping(snapshot: Snapshot) -> dict[str, object]:
    value = parse_yaml(snapshot.files[FILE])
    if not isinstance(value, dict):
        raise YamlError("expected a mapping of fields")
    return cast("dict[str, object]", value)


def _text(value: Mapping[str, object], name: str, defects: list[Defect]) -> str | None:
    said = value.get(name)
    if said is None or (isinstance(said, str) and said.strip() in _ABSENT):
        return None
    if not isinstance(said, str):
        defects.append(_invalid(name, "expected a text"))
        return None
    return said if name == "run_id" else redact_text(said)


def _run_time(value: Mapping[str, object], timezone: str, defects: list[Defect]) -> datetime | None:
    text = _text(value, "run_time", defects)
    if text is None:
        return None
    moment = to_utc(text, timezone)
    if moment is None:
        defects.append(_invalid("run_time", "expected an ISO 8601 time"))
    return moment


def _environment(value: Mapping[str, object], defects: list[Defect]) -> str | None:
    text = _text(value, "environment", defects)
    if text is None:
        return None
    environment = environment_named(text)
    if environment == UNKNOWN_ENVIRONMENT:
        defects.append(_invalid("environment", "expected offline or production; it is recorded as unknown"))
    return environment


def _labels(value: Mapping[str, object], defects: list[Defect]) -> dict[str, str]:
    labels = value.get("labels")
    if labels is None or labels in ("", "~", "null"):
        return {}
    if not isinstance(labels, dict) or not all(isinstance(text, str) for text in labels.values()):
        defects.append(_invalid("labels", "expected texts by name"))
        return {}
    return dict(sorted(cast("dict[str, str]", redact_json(labels)).items()))


def _plan(value: Mapping[str, object], snapshot: Snapshot, defects: list[Defect]) -> Plan | None:
    """The planned tasks, each as often as `trials` says. An empty plan is none: nothing missing could be seen by it."""
    planned = value.get("planned")
    if planned is None or planned in ("", "~", "null"):
        return None
    if not isinstance(planned, dict):
        defects.append(_invalid("planned", "expected tasks or evalset, and trials"))
        return None
    trials = _trials(planned, defects)
    tasks = _listed(planned, defects) if "tasks" in planned else _evalset(planned, snapshot, defects)
    if trials is None or not tasks:
        return None
    if len(tasks) * trials > MOST_PLANNED_TRIALS:
        message = f"expected at most {MOST_PLANNED_TRIALS} trials in all, not {len(tasks) * trials}"
        defects.append(_invalid("planned", message))
        return None
    return Plan(source=PlanSource.MANIFEST, tasks=tuple(PlannedTask(task_id=task, trials=trials) for task in tasks))


def _trials(planned: Mapping[str, object], defects: list[Defect]) -> int | None:
    said = planned.get("trials", "1")
    if isinstance(said, str) and _DIGITS.fullmatch(said) and 1 <= int(said) <= MOST_PLANNED_TRIALS:
        return int(said)
    defects.append(_invalid("planned.trials", f"expected a whole number from 1 to {MOST_PLANNED_TRIALS}"))
    return None


def _listed(planned: Mapping[str, object], defects: list[Defect]) -> tuple[str, ...]:
    tasks = planned["tasks"]
    if isinstance(tasks, list) and tasks and all(isinstance(task, str) and task for task in tasks):
        return tuple(sorted(tasks))
    defects.append(_invalid("planned.tasks", "expected a list of task ids"))
    return ()


def _evalset(planned: Mapping[str, object], snapshot: Snapshot, defects: list[Defect]) -> tuple[str, ...]:
    path = planned.get("evalset")
    if not isinstance(path, str) or not path:
        defects.append(_invalid("planned", "names neither tasks nor an evalset"))
        return ()
    name = _inside_root(snapshot, path)
    if name is None:
        defects.append(_invalid("planned.evalset", f"{redact_text(path)!r} is not a path inside the runs root"))
        return ()
    if name not in snapshot.files:
        message = f"{FILE}: planned.evalset: {redact_text(name)!r} can't be read; coverage has no plan from it."
        defects.append(_defect("evalset_unreachable", message, "planned.evalset"))
        return ()
    tasks = evalset_tasks(snapshot.files[name])
    if not tasks:
        defects.append(_invalid("planned.evalset", f"{redact_text(name)!r} lists no scenarios with ids"))
    return tasks


def evalset_tasks(data: bytes) -> tuple[str, ...]:
    """Sorted scenario ids of an evalset, numbers by their text; empty when it isn't one or any scenario lacks an id."""
    try:
        value = parse_json(data.decode("utf-8-sig", "replace"))
    except JsonError:
        return ()
    scenarios = value.get("scenarios") if isinstance(value, dict) else value
    if not isinstance(scenarios, list):
        return ()
    ids = [_scenario_id(scenario) for scenario in scenarios]
    known = [task for task in ids if task]
    return tuple(sorted(known)) if len(known) == len(ids) else ()


def _scenario_id(scenario: object) -> str | None:
    value = scenario.get("id") if isinstance(scenario, dict) else None
    if isinstance(value, JsonNumber):
        return value.text
    return without_surrogates(value) if isinstance(value, str) else None


def _inside_root(snapshot: Snapshot, path: str) -> str | None:
    """`path` normalised relative to the run directory; None when absolute, a URL, or outside the runs root."""
    if path.startswith("/") or "://" in path or "\0" in path:
        return None
    target = posixpath.normpath(posixpath.join(snapshot.path, path))
    if target == ".." or target.startswith("../") or posixpath.isabs(target):
        return None
    return posixpath.relpath(target, snapshot.path or ".")


def _invalid(field_name: str, message: str) -> Defect:
    return _defect("invalid_manifest_field", f"{FILE}: {field_name}: {message}; it is left out.", field_name)


def _defect(code: str, message: str, field_name: str | None = None) -> Defect:
    return Defect(code=code, message=message, ref=EvidenceRef(file=FILE, field=field_name))
