"""What every test relies on. Free of Airflow: the tests of DAGs and plugin set their own home, see tests/dags."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# A developer's own settings must not decide what a test sees.
for name in [name for name in os.environ if name.startswith("EVALBENCH_")]:
    del os.environ[name]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # it costs every Airflow process seconds

# The same examples on every machine, and no deadline: a slow machine is no failure.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


LONGEST = (
    "tests/scheduler/test_scheduler.py",
    "tests/cloud/test_gcs_publishers.py",
    "tests/cloud/test_delivery_killed.py",
    "tests/cloud/test_delivery.py",
    "tests/cloud/test_delivery_races.py",
    "tests/dags/test_cloud.py",
)
"""Files to begin with: what takes minutes and is begun last leaves the other processes idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; everything else in its order."""
    rank = {ROOT / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def sample_runs(root: Path) -> Path:
    """The runs root that ships with the project."""
    return root / "include" / "samples" / "runs"
