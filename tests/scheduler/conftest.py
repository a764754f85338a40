"""One running Airflow for these tests, started as `make up` starts it, and stopped whatever becomes of them.

It is told two paths, which are links: each test points them at a runs root and a lake of its own.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripts.stack import POOL, down, up
from scripts.stack_postgres import free_port
from tests.scheduler.nights import CLOCK, Place, Scheduler


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the two links."""
    return tmp_path_factory.mktemp("links")


@pytest.fixture(scope="module")
def scheduler(root: Path, links: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    """A running Airflow that knows the nightly DAG, which is still paused."""
    home = tmp_path_factory.mktemp("stack")
    settings = {
        "EVALBENCH_RUNS": str(links / "runs"),
        "EVALBENCH_LAKE": str(links / "lake"),
        "EVALBENCH_ROUTING": str(root / "include" / "samples" / "routing.yaml"),
        "EVALBENCH_GRACE_HOURS": "0",
        "EVALBENCH_CLOCK": CLOCK,
        "EVALBENCH_MAX_MAPPED_TASKS": "1",
        "EVALBENCH_POOL": POOL,
    }
    try:
        stack, _ = up(home, settings, free_port())
        yield Scheduler(stack.airflow, stack.airflow.token())
    finally:
        down(home)


@pytest.fixture(scope="module")
def use(scheduler: Scheduler, links: Path) -> Callable[[Place], None]:
    """Point the running Airflow at a place; what an earlier test left running ends first."""

    def point(place: Place) -> None:
        scheduler.settle()
        for name in ("runs", "lake"):
            new = links / f"{name}.new"
            new.symlink_to(getattr(place, name), target_is_directory=True)
            new.replace(links / name)

    return point


@pytest.fixture(scope="module")
def new_place(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Place]:
    """An empty runs root and an empty lake."""

    def make() -> Place:
        return Place(tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("lake"))

    return make
