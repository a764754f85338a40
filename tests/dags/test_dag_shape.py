"""The DAG as Airflow parses it: what it is called, when it runs, what it asks for, and what parsing it costs."""

import copy
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evalbench.errors import AccountingError, GateHeldError, PipelineError, PolicyError, UsageError

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk import DAG

HEAVY = ("pandas", "pyarrow", "duckdb", "google", "scipy", "numpy")
PARSE = f"""
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("nightly", sys.argv[1])
module = module_from_spec(spec)
spec.loader.exec_module(module)
# `google` alone is an empty namespace that the interpreter itself makes at start: no file, no cost.
loaded = [name for name, found in sys.modules.items() if getattr(found, "__file__", None)]
print(sorted(name for name in loaded if name.partition(".")[0] in {HEAVY!r}))
print(sorted(name for name in loaded if name.partition(".")[0] == "evalbench"))
"""


@pytest.fixture(scope="module")
def nightly(dag_bag: "DagBag") -> "DAG":
    """The nightly DAG."""
    return dag_bag.dags["evalbench_nightly"]


def test_every_dag_file_imports(dag_bag: "DagBag") -> None:
    """A DAG file with an error would vanish from Airflow; there is one DAG, of the name that operators schedule."""
    assert {} == dag_bag.import_errors
    assert ["evalbench_nightly"] == list(dag_bag.dags)


def test_it_runs_at_two_over_the_day_that_ended(nightly: "DAG") -> None:
    """02:00 UTC every day with a data interval of its own, one DAG run at a time, nothing caught up by itself."""
    from airflow.serialization.encoders import coerce_to_core_timetable

    timetable = coerce_to_core_timetable(nightly.timetable)
    interval = timetable.infer_manual_data_interval(run_after=datetime.fromisoformat("2026-11-29T02:00:00+00:00"))
    assert ("2026-11-28T02:00:00+00:00", "2026-11-29T02:00:00+00:00") == (
        interval.start.isoformat(),
        interval.end.isoformat(),
    )
    assert (False, 1) == (nightly.catchup, nightly.max_active_runs)


def test_the_page_in_airflow_explains_it(nightly: "DAG") -> None:
    """Whoever finds a red DAG run at three in the morning reads first which red is a decision and which a fault."""
    assert nightly.doc_md is not None
    for words in ("discover", "gate", "publish", "enforce", "fail_on_hold", "backfill", "decision", "fault"):
        assert words in nightly.doc_md.lower(), words


WIRING = {
    # Airflow task: (what must precede it, when it runs, how often it is tried again)
    "discover": (set(), "all_success", 2),
    "run_directory.score": ({"discover"}, "all_success", 2),
    "run_directory.summarize": ({"discover", "run_directory.score"}, "all_success", 2),
    "gate": ({"discover", "run_directory.summarize"}, "all_done", 2),
    "publish": ({"gate"}, "all_success", 2),
    "enforce": ({"publish"}, "all_success", 0),
}


def test_the_wiring(nightly: "DAG") -> None:
    """discover → one score and summarize per run directory → gate whatever became of them → publish → enforce."""
    assert WIRING.keys() == {task.task_id for task in nightly.tasks}
    for name, (before, rule, retries) in WIRING.items():
        task = nightly.get_task(name)
        assert before == task.upstream_task_ids, name
        assert (rule, retries) == (task.trigger_rule.value, task.retries), name
    mapped = {task.task_id for task in nightly.tasks if task.get_closest_mapped_task_group() is not None}
    assert {"run_directory.score", "run_directory.summarize"} == mapped


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (PipelineError("lost"), False),
        (AccountingError("open"), False),
        (UsageError("since"), False),
        (PolicyError("floors"), False),
        (GateHeldError("held"), False),
        (OSError("disk"), True),
        (MemoryError(), True),
        (ConnectionError("reset"), True),
    ],
)
def test_only_what_may_mend_itself_is_tried_again(nightly: "DAG", error: Exception, retried: bool) -> None:
    """What the pipeline raises on purpose is the same on the second try; a lost disk or connection may not be."""
    from airflow.sdk import RetryAction

    for name in WIRING:
        policy: Any = nightly.get_task(name).retry_policy
        decided = policy.evaluate(error, 1, 3)
        assert retried is (decided.action is not RetryAction.FAIL), name


def test_retries_leave_time_for_what_is_down_to_come_back(nightly: "DAG") -> None:
    """Not at once, and not after the night."""
    assert timedelta(seconds=10) <= nightly.default_args["retry_delay"] <= timedelta(minutes=10)


def test_every_parameter_explains_itself(nightly: "DAG") -> None:
    """The form that Airflow draws has a title, a sentence and a type for each, and every default is a valid value."""
    names = {"since", "until", "candidates", "baseline", "policy", "summaries", "fail_on_hold"}
    assert names == set(nightly.params)
    for name in names:
        schema = nightly.params.get_param(name).schema
        assert schema["title"], name
        assert "type" in schema, name
        assert nightly.params.get_param(name).description, name
    nightly.params.validate()


def validated(nightly: "DAG", conf: dict[str, Any]) -> dict[str, Any]:
    """A DAG run's parameters as Airflow makes them from a configuration."""
    params = copy.deepcopy(nightly.params)
    params.update(conf)
    return params.validate()


GOOD = [
    {"since": "2026-11-27", "until": "2026-11-30"},
    {"since": None, "until": None},
    {"candidates": ["a", "b"], "baseline": "c"},
    {"policy": "include/policies/read_only.yaml"},
    {"summaries": "off"},
    {"summaries": "auto"},
    {"fail_on_hold": "never"},
]
BAD = [
    {"since": "yesterday"},
    {"since": 20261127},
    {"until": "2026-11-31"},
    {"until": "2026-11-30T02:00:00Z"},
    {"candidates": "fast-v2"},
    {"candidates": [1]},
    {"candidates": None},
    {"baseline": 7},
    {"policy": ["a.yaml"]},
    {"summaries": "poetry"},
    {"fail_on_hold": "sometimes"},
    {"fail_on_hold": True},
]


@pytest.mark.parametrize("conf", GOOD)
def test_what_an_operator_may_ask_for(nightly: "DAG", conf: dict[str, Any]) -> None:
    """Values the form offers, and a configuration given on the command line, are accepted."""
    assert conf.items() <= validated(nightly, conf).items()


@pytest.mark.parametrize("conf", BAD)
def test_what_is_refused_before_anything_runs(nightly: "DAG", conf: dict[str, Any]) -> None:
    """A parameter of the wrong kind never reaches an Airflow task."""
    from airflow.sdk.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError, match=next(iter(conf))):
        validated(nightly, conf)


def test_parsing_imports_nothing_heavy(root: Path, tmp_path: Path) -> None:
    """The scheduler parses the file every half minute: no engine, no cloud library, two small modules of ours."""
    told = subprocess.run(
        [sys.executable, "-c", PARSE, root / "dags" / "evalbench_nightly.py"],
        env=os.environ | {"AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    heavy, ours = told.stdout.splitlines()[-2:]
    assert "[]" == heavy
    assert "['evalbench', 'evalbench.errors', 'evalbench.settings']" == ours
