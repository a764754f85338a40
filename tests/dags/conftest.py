"""A private Airflow for the tests of the DAG, in place before anything imports Airflow.

Airflow reads its home when it is first imported, so the environment is set while tests are collected, once per test
process; the database is made by the fixture, when a test first needs it.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.dags.nights import AFTER_THE_SAMPLES, Nights

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag

ROOT = Path(__file__).resolve().parents[2]

if "airflow" in sys.modules:
    message = "Airflow was imported before its home was set: import it inside tests and fixtures, not at module level"
    raise RuntimeError(message)
HOME = tempfile.mkdtemp(prefix="evalbench-airflow-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
os.environ.update(
    {
        "AIRFLOW_HOME": HOME,
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    }
)
os.environ.pop("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", None)


@pytest.fixture(scope="session")
def airflow_db() -> None:
    """Airflow's metadata database, migrated, with the repository's DAGs known as a bundle: `dag.test()` works."""
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture(scope="session")
def dag_bag(airflow_db: None) -> "DagBag":
    """The repository's DAGs as Airflow parses them."""
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(dag_folder=ROOT / "dags")


@pytest.fixture
def nights(airflow_db: None, root: Path, sample_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """The nightly DAG over an empty runs root and a new lake; the samples' routing, a clock past their dates."""
    runs = tmp_path / "runs"
    runs.mkdir()
    made = Nights(
        dag_file=root / "dags" / "evalbench_nightly.py",
        samples=sample_runs,
        runs=runs,
        lake=tmp_path / "lake",
        patch=monkeypatch,
    )
    routing = root / "include" / "samples" / "routing.yaml"
    made.set(runs=runs, lake=made.lake, routing=routing, clock=AFTER_THE_SAMPLES, grace_hours=0)
    return made
