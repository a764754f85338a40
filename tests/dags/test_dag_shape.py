"""The DAGs as Airflow parses them: what they are called, when they run, what they ask for, and what parsing costs."""

import copy
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evalbench.errors import AccountingError, GateHeldError, PipelineError, PolicyError, StorageError, UsageError

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


@pytest.fixture(scope="module")
def consumer(dag_bag: "DagBag") -> "DAG":
    """The example of a DAG that waits for the trend tables."""
    return dag_bag.dags["evalbench_consumer_example"]


def test_every_dag_file_imports(dag_bag: "DagBag") -> None:
    """A DAG file with an error would vanish from Airflow; the DAGs have the names that operators schedule."""
    assert {} == dag_bag.import_errors
    assert ["evalbench_consumer_example", "evalbench_nightly"] == sorted(dag_bag.dags)


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
    "discover": (set(), "all_success", 3),
    "run_directory.score": ({"discover"}, "all_success", 3),
    "run_directory.summarize": ({"discover", "run_directory.score"}, "all_success", 3),
    "gate": ({"discover", "run_directory.summarize"}, "all_done", 3),
    "publish": ({"gate"}, "all_success", 3),
    "enforce": ({"publish"}, "all_done", 0),
}


def test_the_wiring(nightly: "DAG") -> None:
    """discover → one score and summarize per batch → gate whatever became of them → publish → enforce in any case."""
    assert WIRING.keys() == {task.task_id for task in nightly.tasks}
    for name, (before, rule, retries) in WIRING.items():
        task = nightly.get_task(name)
        assert before == task.upstream_task_ids, name
        assert (rule, retries) == (task.trigger_rule.value, task.retries), name
    mapped = {task.task_id for task in nightly.tasks if task.get_closest_mapped_task_group() is not None}
    assert {"run_directory.score", "run_directory.summarize"} == mapped


def test_every_airflow_task_has_a_page(nightly: "DAG") -> None:
    """What it does, what a red one means and what to do, in one paragraph: Markdown would take a second, indented one
    for code."""
    for name in WIRING:
        page = nightly.get_task(name).doc_md
        assert page is not None, name
        assert "**Red" in page, name
        assert "**Do:**" in page, name
        assert "\n\n" not in page, name


def test_nothing_hangs_for_ever(nightly: "DAG") -> None:
    """Each Airflow task has a time limit, which fits into the night's, which ends before the next night starts."""
    assert nightly.dagrun_timeout is not None
    assert nightly.dagrun_timeout < timedelta(hours=24)
    for name in WIRING:
        limit = nightly.get_task(name).execution_timeout
        assert limit is not None, name
        assert timedelta(minutes=5) <= limit < nightly.dagrun_timeout, name


def pools(dag: "DAG") -> dict[str, str]:
    """Airflow task → pool."""
    return {task.task_id: task.pool for task in dag.tasks}


def test_only_the_fan_out_has_a_pool(root: Path, airflow_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """EVALBENCH_POOL names it. The others run wherever it is missing, and Airflow's page of the DAG shows a warning."""
    from airflow.dag_processing.dagbag import DagBag

    file = root / "dags" / "evalbench_nightly.py"
    default = pools(DagBag(dag_folder=file).dags["evalbench_nightly"])
    assert dict.fromkeys(WIRING, "default_pool") == default
    monkeypatch.setenv("EVALBENCH_POOL", "evals")
    bag = DagBag(dag_folder=file, known_pools={"default_pool"})
    fan_out = {"run_directory.score": "evals", "run_directory.summarize": "evals"}
    assert default | fan_out == pools(bag.dags["evalbench_nightly"])
    assert ["Dag 'evalbench_nightly' references non-existent pools: ['evals']"] == [
        warning.message for warning in bag.dag_warnings
    ]


def test_who_owns_it_and_under_what_it_is_found(nightly: "DAG", consumer: "DAG") -> None:
    """Both are evalbench's, and the example says that it is one."""
    assert ({"evalbench"}, {"evalbench", "example"}) == (nightly.tags, consumer.tags)
    assert ("evalbench", "evalbench") == (nightly.owner, consumer.owner)


def test_published_tables_are_an_asset(nightly: "DAG", consumer: "DAG") -> None:
    """publish tells it, and nothing else does; the example waits for it, and for nobody until it is unpaused."""
    from airflow.sdk import Asset

    asset = Asset("evalbench_trends")
    outlets = {task.task_id: task.outlets for task in nightly.tasks if task.outlets}
    assert {"publish": [asset]} == outlets
    assert [asset] == list(consumer.timetable.asset_condition.objects)
    assert True is consumer.is_paused_upon_creation
    assert None is nightly.is_paused_upon_creation


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (PipelineError("lost"), False),
        (AccountingError("open"), False),
        (UsageError("since"), False),
        (PolicyError("floors"), False),
        (GateHeldError("held"), False),
        (StorageError("no space"), True),
        (OSError("disk"), True),
        (MemoryError(), True),
        (ConnectionError("reset"), True),
    ],
)
def test_only_what_may_mend_itself_is_tried_again(nightly: "DAG", error: Exception, retried: bool) -> None:
    """What the pipeline says no to is the same on the second try; a lost disk, memory or connection may not be."""
    from airflow.sdk import RetryAction

    for name in WIRING:
        policy: Any = nightly.get_task(name).retry_policy
        decided = policy.evaluate(error, 1, 3)
        assert retried is (decided.action is not RetryAction.FAIL), name


def test_retries_leave_time_for_what_is_down_to_come_back(nightly: "DAG") -> None:
    """Not at once, and not after the night; each time longer than before."""
    assert timedelta(seconds=10) <= nightly.default_args["retry_delay"] <= timedelta(minutes=10)
    assert nightly.default_args["retry_exponential_backoff"] > 1


def test_every_parameter_explains_itself(nightly: "DAG") -> None:
    """The form that Airflow draws has a title, a sentence and a type for each, and every default is a valid value."""
    names = {"since", "until", "candidates", "baseline", "policy", "exclude", "summaries", "fail_on_hold"}
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
    {"policy": "include/policies/read_only.yaml", "exclude": "exclude.yaml"},
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
    {"exclude": ["run-1"]},
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


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("evalbench_nightly", ["evalbench", "evalbench.errors", "evalbench.settings"]),
        ("evalbench_consumer_example", []),
    ],
)
def test_parsing_imports_nothing_heavy(root: Path, tmp_path: Path, name: str, ours: list[str]) -> None:
    """Airflow parses the files every half minute: no engine, no cloud library, two small modules of ours at most."""
    told = subprocess.run(
        [sys.executable, "-c", PARSE, root / "dags" / f"{name}.py"],
        env=os.environ | {"AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert ["[]", str(ours)] == told.stdout.splitlines()[-2:]
