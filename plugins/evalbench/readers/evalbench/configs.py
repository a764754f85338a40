"""configs.csv: what was run, with what, for whom. Environment values and database configs stop here."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalbench.readers.cells import parse_cell
from evalbench.readers.csv_table import Table
from evalbench.readers.evalbench.defect_log import DefectLog
from evalbench.readers.evalbench.redaction import Redactor, redactor_for

_EXPERIMENT = "experiment_config."
_SCORERS = "scorers."
_PRIVATE = ("model_config.env.", "db_configs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """The named values this project uses, redacted; None where the file is silent.

    scorers: configured name → its settings as nested text. An empty setting leaves no row in the file, so this is a
    lower bound. filters: settings that make the run smaller than its dataset.
    """

    product: str | None = None
    requester: str | None = None
    dataset: str | None = None
    dataset_format: str | None = None
    generator: str | None = None
    generator_class: str | None = None
    agent_version: str | None = None
    model: str | None = None
    eval_group: str | None = None
    num_trials: int | None = None
    scorers: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)
    redactor: Redactor = field(default_factory=Redactor)


def read_configs(table: Table, log: DefectLog) -> RunConfig:
    """The run's configuration. A missing file or column gives an empty one."""
    stated = _values(table, log)
    redactor = redactor_for((key, _decoded(key, value)) for key, value in stated.items())
    public = {key: value for key, value in stated.items() if not _is_private(key)}
    values = {key: redactor.text(value) for key, value in public.items()}
    dataset = _first(values, "dataset_config", "dataset_config.prompts_file")
    return RunConfig(
        product=_first(values, "product_name", "poduct_name"),
        requester=_requester(values),
        dataset=posixpath.basename(dataset.replace("\\", "/")) or None if dataset else None,
        dataset_format=_first(values, "dataset_format"),
        generator=values.get("model_config.generator") or None,
        generator_class=values.get("model_config.generator_class") or None,
        agent_version=values.get("model_config.agent_version") or None,
        model=values.get("model_config.model") or values.get("model_config.vertex_model") or None,
        eval_group=_first(values, "eval_group"),
        num_trials=_count(_first(values, "num_trials")),
        scorers=_scorers(values),
        filters=_filters(values),
        redactor=redactor,
    )


def _values(table: Table, log: DefectLog) -> dict[str, str]:
    values: dict[str, str] = {}
    for row in table.rows:
        key, value = row.text("config"), row.text("value")
        if key in values and values[key] != value:
            log.add("repeated_config", "a setting has two values; the smaller text is used", table.ref(row, "config"))
            value = min(values[key], value)
        values[key] = value
    return values


def _is_private(key: str) -> bool:
    return f"{key}.".startswith(_PRIVATE)


def _decoded(key: str, value: str) -> object:
    """Database configs and environments hold their secrets inside a list's or dict's text."""
    if not value.lstrip().startswith(("[", "{")):
        return value
    cell = parse_cell(value)
    return value if cell.reason else cell.value


def _first(values: Mapping[str, str], *names: str) -> str | None:
    """The first of these experiment settings that says something; some releases nest the experiment once more."""
    for name in names:
        for prefix in (_EXPERIMENT, _EXPERIMENT * 2):
            if values.get(prefix + name):
                return values[prefix + name]
    return None


def _requester(values: Mapping[str, str]) -> str | None:
    return next((values[key] for key in sorted(values) if "guitar_requester" in key and values[key]), None)


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and 0 < len(text) < 7 else None


def _filters(values: Mapping[str, str]) -> dict[str, str]:
    names = ("scenarios", "scenario_pattern", "query_types", "databases", "dialects")
    return {name: found for name in names if (found := _first(values, name))}


def _scorers(values: Mapping[str, str]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for key in sorted(values):
        rest = key.removeprefix(_EXPERIMENT).removeprefix(_EXPERIMENT)
        if not rest.startswith(_SCORERS) or rest == key:
            continue
        name, *path = rest.removeprefix(_SCORERS).split(".")
        settings = found.setdefault(name, {})
        if len(path) == 1:
            settings.setdefault(path[0], values[key])
        elif path:
            settings.setdefault(path[0], {".".join(path[1:]): values[key]})
    return found
