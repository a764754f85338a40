"""The plan: which scenarios the dataset names, where its file is at hand."""

import fnmatch
import posixpath
from collections import Counter
from collections.abc import Mapping

from evalbench.ledger import MOST_PLANNED_TRIALS, EvidenceRef, Plan, PlannedTask, PlanSource
from evalbench.readers.cells import parse_cell, parse_json
from evalbench.readers.evalbench.configs import RunConfig
from evalbench.readers.evalbench.defect_log import DefectLog

_EVALSET = ".evalset.json"
_ONE_WRAPPER_TASK = "dataset-quality-format"


def read_plan(files: Mapping[str, bytes], config: RunConfig, log: DefectLog) -> Plan | None:
    """The plan of the evalset that the run's dataset names, else of the only one there. None when nothing tells."""
    name = _evalset(files, config.dataset, log)
    if name is None or config.dataset_format == _ONE_WRAPPER_TASK:
        return None
    items = _items(files[name])
    if items is None:
        said = "holds no list of scenarios with ids; the plan is unknown"
        log.add("evalset_unreadable", said, EvidenceRef(file=name))
        return None
    trials: Counter[str] = Counter()
    for item in items:
        if _runs(item, config.filters):
            trials[_id(item)] += _trials(item, config.num_trials)
    if trials.total() > MOST_PLANNED_TRIALS:
        said = f"plans {trials.total()} trials, more than {MOST_PLANNED_TRIALS}; the plan is unknown"
        log.add("plan_too_large", said, EvidenceRef(file=name))
        return None
    tasks = tuple(PlannedTask(task_id=task_id, trials=trials[task_id]) for task_id in sorted(trials))
    return Plan(source=PlanSource.EVALSET, tasks=tasks)


def _evalset(files: Mapping[str, bytes], dataset: str | None, log: DefectLog) -> str | None:
    named = sorted(name for name in files if dataset and posixpath.basename(name) == dataset)
    found = named or sorted(name for name in files if name.endswith(_EVALSET))
    if len(found) > 1:
        said = f"{len(found)} files could be the evalset; the plan is unknown"
        log.add("evalset_ambiguous", said, EvidenceRef(file=found[0]))
        return None
    return found[0] if found else None


def _items(data: bytes) -> list[dict[str, object]] | None:
    """Scenarios of an agent evalset, or prompts of an NL2SQL one, when each has an id."""
    content = parse_json(data.decode("utf-8-sig", "replace")).value
    items = content.get("scenarios") if isinstance(content, dict) else content
    if not isinstance(items, list) or not all(isinstance(item, dict) and _id(item) for item in items):
        return None
    return items


def _id(item: Mapping[str, object]) -> str:
    """The id as the harness writes it into its results: a number by its text."""
    stated = item.get("id")
    return str(stated) if isinstance(stated, str | int | float) and not isinstance(stated, bool) else ""


def _runs(item: Mapping[str, object], filters: Mapping[str, str]) -> bool:
    """Whether the run's own settings leave the item in, as the harness decides it."""
    task_id = _id(item)
    if (only := _listed(filters.get("scenarios"))) and task_id not in only:
        return False
    if (pattern := filters.get("scenario_pattern")) and not fnmatch.fnmatchcase(task_id, pattern):
        return False
    if "nl_prompt" not in item:
        return True
    kinds, databases, dialects = (_listed(filters.get(name)) for name in ("query_types", "databases", "dialects"))
    stated = item.get("dialects")
    spoken = {str(dialect) for dialect in stated} if isinstance(stated, list) else set()
    return (
        (not kinds or str(item.get("query_type", "dql")).lower() in kinds)
        and (not databases or str(item.get("database", "")) in databases)
        and (not dialects or not spoken or bool(spoken & dialects))
    )


def _listed(text: str | None) -> set[str]:
    """A list setting, as a Python list's text or separated by commas."""
    if not text:
        return set()
    cell = parse_cell(text)
    if cell.reason is None and isinstance(cell.value, list):
        return {str(item) for item in cell.value}
    return {part.strip() for part in text.split(",") if part.strip()}


def _trials(item: Mapping[str, object], num_trials: int | None) -> int:
    """The harness repeats read-only queries alone; agent scenarios and writing queries run once."""
    repeated = "nl_prompt" in item and str(item.get("query_type", "dql")).lower() == "dql"
    return (num_trials or 1) if repeated else 1
