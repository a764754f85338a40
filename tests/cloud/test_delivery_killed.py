"""Publishers that die at each request that lasts, and what earlier ones left: who comes next delivers the same."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from google.cloud.storage import Bucket
from tests.cloud.delivering import DAY, Place, dies, log, put, tell
from tests.cloud.emulators import BigQuery

from evalbench.delivery import Delivery
from evalbench.errors import PipelineError
from evalbench.storage import LocalStorage
from evalbench.tables import TABLES, VIEWS

NEXT_DAY = date(2026, 11, 28)
LOADED = 6
"""Requests until three tables are staged: a staging table and a job for each."""


@pytest.fixture
def scored(place: Place, request: pytest.FixtureRequest) -> Place:
    """A lake of one night that no other test has."""
    night(place.storage, request.node.name)
    return place


def night(lake: LocalStorage, name: str) -> None:
    """One date of one kind of table each: replaced, logged, operational."""
    put(lake, 3, mark=name)
    log(lake, "first", runs=name)
    tell(lake, name)


def next_night(lake: LocalStorage) -> None:
    """That date with other rows, and another one."""
    put(lake, 2, mark="b")
    put(lake, 1, day=NEXT_DAY)
    log(lake, "first", runs="[]")
    log(lake, "second", day=NEXT_DAY)
    tell(lake, "next night")


def test_killed_at_every_request_in_turn_it_ends_the_same(tmp_path: Path, bigquery: BigQuery, dataset: str) -> None:
    """Dataset, tables, staging, loads, script, views: each process does one lasting thing and dies.

    So every state that a process can leave is found by the next one, which neither repeats nor skips what comes then.
    In the next night every other one dies before it is answered: what it asked for may still be going on.
    """
    place = Place(lake=str(tmp_path / "lake"), dataset=dataset, url=bigquery.url)
    night(place.storage, "night")
    dataset_and_tables, script, first_views = 1 + len(TABLES) + len(["_published"]), 1, 2
    for _ in range(dataset_and_tables + LOADED + script + first_views):
        assert dies(place, 1, answered=True)
    assert Delivery() == place.deliver()
    assert place.here() == place.there()
    assert [(DAY, 1)] == place.ask("SELECT run_date, seq FROM `{d}._published`")
    assert len(VIEWS) == sum(table.table_type == "VIEW" for table in place.client.list_tables(dataset))

    next_night(place.storage)
    deaths = 0
    while dies(place, 1, answered=deaths % 2 == 1):
        deaths += 1
    assert LOADED + script <= deaths
    assert place.here() == place.there()
    assert [(DAY, 2), (NEXT_DAY, 2)] == place.ask("SELECT run_date, seq FROM `{d}._published` ORDER BY 1")
    assert Delivery() == place.deliver()
    place.client.delete_dataset(dataset, delete_contents=True)


def test_killed_while_it_cleans_up(scored: Place) -> None:
    """All is delivered by then: what is left of staging expires, and nobody looks at it."""
    assert dies(scored, LOADED + 2, answered=True)
    assert 2 == len(scored.staging())
    assert Delivery() == scored.deliver()
    assert scored.here() == scored.there()


# -- what earlier ones left ----------------------------------------------------------------------------------------


def test_what_is_staged_already_is_not_loaded_again(scored: Place) -> None:
    """A publisher that was killed before its script leaves staging tables; the next one swaps them in."""
    assert dies(scored, LOADED, answered=True)
    assert 3 == len(scored.staging())
    assert Delivery(dates=(DAY,), loads=0, scripts=1, rows=5) == scored.deliver()
    assert (scored.here(), []) == (scored.there(), scored.staging())


def test_a_script_that_outlives_its_publisher_is_not_run_again(scored: Place) -> None:
    """Killed with the script on its way, a publisher is done; the next one waits for that, and makes no job."""
    assert dies(scored, LOADED + 1, answered=False)
    assert Delivery() == scored.deliver()
    assert scored.here() == scored.there()


def test_staging_that_expired_or_was_emptied_is_loaded_again(scored: Place) -> None:
    """The job under that id is done and nothing of it is left, or not all: there is an attempt under the next id."""
    assert dies(scored, LOADED, answered=True)
    _, log_entries, trials = sorted(scored.staging())
    scored.client.delete_table(f"{scored.dataset}.{trials}")
    scored.ask(f"DELETE FROM `{{d}}.{log_entries}` WHERE run_date > '2026-01-01'")
    before = scored.jobs()
    assert Delivery(dates=(DAY,), loads=2, scripts=1, rows=5) == scored.deliver()
    assert scored.here() == scored.there()
    loads = [job for job in scored.jobs() if job not in before and "_load_" in job]
    assert ["decision_log", "trials"] == [job.split("_load_")[1].rsplit("_", 3)[0] for job in loads]
    assert all(job.endswith("_1_1") and job.removesuffix("_1") in before for job in loads)


def test_a_failed_load_is_tried_again_under_the_next_id(scored: Place, bucket: Bucket) -> None:
    """An object was damaged for a moment: the job failed, and its id is taken for good."""
    lake, place = scored.storage, replace(scored, lake=f"gs://{bucket.name}")
    before = place.jobs()
    for path in lake.paths():
        bucket.blob(path).upload_from_string(lake.read(path))
    trials = bucket.blob(next(iter(lake.paths("trends/trials"))))
    whole = trials.download_as_bytes()
    trials.upload_from_string(b"x" * len(whole))
    with pytest.raises(PipelineError, match=r"job evalbench_\w+_load_trials_\w+_1: BigQuery refused it \(invalid: "):
        place.deliver()
    assert not sum(place.there()["trials"].values())
    trials.upload_from_string(whole)
    assert 1 == place.deliver().scripts
    assert scored.here() == place.there()
    assert 1 == len([job for job in place.jobs() if job not in before and job.endswith("_1_1")])
