"""What a delivery refuses to touch, and what it makes of jobs it may not see."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from google.api_core.exceptions import Forbidden
from google.cloud import bigquery as google
from tests.cloud.delivering import DAY, Place, put
from tests.lakes import write_run

from evalbench import pipeline
from evalbench.errors import StorageError, UsageError
from evalbench.lake.identity import lake_id
from evalbench.storage import LocalStorage
from evalbench.tables import TABLES

STRAY = "trends/trials/run_date=2026-11-27/copy.parquet"


def test_another_lake_does_not_replace_this_ones_rows(place: Place, tmp_path: Path) -> None:
    """A dataset follows one lake: a second one, of a shell where the variable was set, is told so and sends nothing."""
    put(place.storage, 3)
    place.deliver()
    other = replace(place, lake=str(tmp_path / "laptop"))
    put(other.storage, 1)
    with pytest.raises(UsageError, match=r"follows another lake \(.*name another dataset"):
        other.deliver()
    assert place.here() == place.there()


def test_a_copied_lake_is_the_same_lake(place: Place, tmp_path: Path) -> None:
    """Moved to another disk or into a bucket, it keeps its name, and its dataset."""
    put(place.storage, 1)
    name = lake_id(place.storage)
    copy = LocalStorage(str(tmp_path / "copy"))
    for path in place.storage.paths():
        copy.create(path, place.storage.read(path))
    assert name == lake_id(copy) != lake_id(LocalStorage(str(tmp_path / "new")))


def test_a_dataset_is_made_only_where_somebody_says(place: Place) -> None:
    """It can't be moved afterwards, and the default of BigQuery is one country."""
    nowhere = replace(place, dataset=f"{place.dataset}_nowhere", location=None)
    with pytest.raises(UsageError, match="EVALBENCH_BIGQUERY_LOCATION to where it is to be made"):
        nowhere.deliver()
    assert [] == [one for one in place.client.list_datasets() if one.dataset_id.endswith("_nowhere")]


def test_a_night_on_the_command_line_looks_at_the_dataset_first(place: Place, tmp_path: Path) -> None:
    """A misspelt name costs no night: nothing is scored yet when it is told."""
    write_run(tmp_path / "runs", "a", 27)
    nowhere = replace(place, dataset=f"{place.dataset}_nowhere", location=None)
    with pytest.raises(UsageError, match="isn't there"):
        pipeline.run(replace(nowhere.settings, runs=str(tmp_path / "runs")))
    assert [] == place.storage.paths("facts")


def test_a_file_beside_a_partition_keeps_no_date_back(place: Place) -> None:
    """Whoever put it there, the date is delivered as it was committed."""
    put(place.storage, 2)
    place.storage.create(STRAY, b"no part of any publish")
    assert ((DAY,), ()) == ((done := place.deliver()).dates, done.left)
    assert 2 == sum(place.there()["trials"].values())


def test_views_tell_what_their_columns_are(place: Place) -> None:
    """BI tools are pointed at views, so the data dictionary stands there, too."""
    said = {field.name: field.description for field in place.client.get_table(f"{place.dataset}.trend_daily").schema}
    (trials,) = (table for table in TABLES if table.name == "trials")
    assert {column.name: column.description for column in trials.columns if column.name == "candidate"} == {
        "candidate": said["candidate"]
    }


def hidden(monkeypatch: pytest.MonkeyPatch, which: Callable[[str], bool]) -> None:
    """Jobs of another identity: they take their ids, and this one may not look at them."""
    get = google.Client.get_job

    def refused(client: google.Client, job: object, **more: object) -> object:
        # A job that isn't done yet looks after itself by handing itself over.
        if which(str(getattr(job, "job_id", job))):
            raise Forbidden("no", errors=[{"reason": "accessDenied", "message": "Permission bigquery.jobs.get denied"}])
        return get(client, job, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(google.Client, "get_job", refused)


def test_another_identitys_jobs_do_not_stop_a_publish(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What became of them can't be known, so the next id is taken; the number within the transaction decides."""
    put(place.storage, 1)
    place.deliver()
    put(place.storage, 2)
    hidden(monkeypatch, lambda job_id: job_id.endswith("_2"))
    assert 1 == place.deliver().scripts
    assert place.here() == place.there()


def test_a_first_publish_beside_another_identitys_waits(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no number yet that one of both would be refused by: it is a failure that passes."""
    put(place.storage, 1)
    hidden(monkeypatch, lambda job_id: "_swap_" in job_id)
    with pytest.raises(StorageError, match="another identity's; let all who deliver"):
        place.deliver()
    assert not sum(place.there()["trials"].values())
