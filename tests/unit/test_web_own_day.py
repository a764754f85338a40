"""What is said of a run that is in no table: what the last pipeline run made of it."""

import shutil
from pathlib import Path

import pytest
from tests.lakes import AFTER, settings, write_run

from evalbench import pipeline
from evalbench.storage import LocalStorage
from evalbench.web.models.own_day import own_day
from evalbench.web.models.parts import MissingError
from evalbench.web.store import Store


def said(lake: Path) -> str:
    """What the page says of the voided run."""
    view = Store(LocalStorage(str(lake)), lambda: settings(lake, lake, clock=AFTER).now()).view()
    with pytest.raises(MissingError) as raised:
        own_day(view, "void")
    return str(raised.value)


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """A lake of two executions on one day, the later one of a name that sorts before the other's; each voids a run for
    a reason of its own.
    """
    runs, exclusions = tmp_path / "runs", tmp_path / "exclude.yaml"
    write_run(runs, "good", 1)
    write_run(runs, "void", 1)
    for plan_id, hour, reason in (("cli-9", 2, "wrong image"), ("cli-1", 9, "wrong key")):
        exclusions.write_text(f"schema: 1\nexclude: [{{run: void, reason: {reason}, owner: Jo, date: 2026-11-29}}]\n")
        used = settings(runs, tmp_path / "lake", exclude=exclusions, clock=f"2026-12-01T{hour:02}:00:00Z")
        plan = pipeline.discover(used, plan_id=plan_id)
        for entry in plan.to_score:
            pipeline.score(used, plan, entry.run_key)
        pipeline.publish(used, pipeline.decide(used, plan))
    return tmp_path / "lake"


def test_the_last_pipeline_run_is_the_one_that_ran_last(twice: Path) -> None:
    """By its clock, not by its name."""
    assert "the last pipeline run that speaks of it says" in said(twice)
    assert "wrong key" in said(twice)


def test_a_run_that_was_spoken_of_is_known_without_accounting(twice: Path) -> None:
    """Where the files that tell the order are lost, the run is still not called unknown."""
    shutil.rmtree(twice / "trends" / "accounting")
    assert "void: this run is in no table; the last pipeline run that speaks of it says" in said(twice)
