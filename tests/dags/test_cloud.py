"""The nightly DAG in the cloud: runs and lake in Cloud Storage, the tables in BigQuery, by one Airflow connection."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from google.auth.credentials import AnonymousCredentials
from tests.cloud.emulators import BigQuery, Gcs, fake_gcs, local_bigquery
from tests.dags.nights import Nights
from tests.lakes import write_run

from evalbench import pipeline
from evalbench.lake.commits import read_commits
from evalbench.settings import GoogleAccess, Settings, load_settings
from evalbench.sinks.duckdb import query
from evalbench.storage import LocalStorage, Storage, open_storage
from evalbench.tables import TABLES, VIEWS

OWN = ("_ops/", "trends/run_states/", "trends/accounting/")
"""About executions: another one for each."""
LONGEST_AGO = "run_date >= DATE '1970-01-01'"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gcs, BigQuery]]:
    """Both emulators."""
    place = tmp_path_factory.mktemp("cloud")
    try:
        with fake_gcs(place) as gcs, local_bigquery(place, gcs) as bigquery:
            yield gcs, bigquery
    except RuntimeError as error:
        pytest.fail(str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """What the nights work on. dataset: `project.dataset`."""

    gcs: Gcs
    bigquery: BigQuery
    bucket: str
    dataset: str

    @property
    def lake(self) -> Storage:
        """The lake."""
        access = GoogleAccess(credentials=AnonymousCredentials)
        return open_storage(f"gs://{self.bucket}/lake", Settings(google=access))

    def bring(self, directory: Path) -> None:
        """Copy a run directory into the runs root."""
        bucket = self.gcs.client().bucket(self.bucket)
        for file in sorted(path for path in directory.iterdir() if path.is_file()):
            bucket.blob(f"runs/{directory.name}/{file.name}").upload_from_filename(str(file))

    def generations(self) -> dict[str, int]:
        """Every object of the lake but those about executions, by when it was written."""
        found = self.gcs.client().list_blobs(self.bucket, prefix="lake/")
        paths = {blob.name.removeprefix("lake/"): blob.generation for blob in found}
        return {path: generation for path, generation in paths.items() if not path.startswith(OWN)}

    def jobs(self) -> int:
        """How many jobs BigQuery was given."""
        return len(list(self.bigquery.client().list_jobs()))

    def differing(self) -> list[str]:
        """Tables and views whose rows in BigQuery are not those of the lake."""
        names = [*(f"{table.name} WHERE {LONGEST_AGO}" for table in TABLES), *(view.name for view in VIEWS)]
        with TemporaryDirectory() as folder:
            copy = LocalStorage(folder)
            for path, data in self.lake.read_many([*self.lake.paths("trends"), *self.lake.paths("commits")]).items():
                copy.create(path, data)
            return [name for name in names if self._there(name) != _here(copy, name)]

    def _there(self, name: str) -> list[str]:
        rows = self.bigquery.client().query_and_wait(f"SELECT * FROM {self.dataset}.{name}")
        return sorted(repr(sorted(_plain(dict(row.items())).items())) for row in rows)


def _here(lake: LocalStorage, name: str) -> list[str]:
    rows = query(lake, f"SELECT * FROM {name}", partial(read_commits, lake)).to_pylist()
    return sorted(repr(sorted(_plain(row).items())) for row in rows)


def _plain(row: dict[str, Any]) -> dict[str, str]:
    """Engines differ in the type of a number, not in its value, which is told to nine decimals."""
    return {
        name: f"{float(cell):.9f}" if hasattr(cell, "__float__") and not isinstance(cell, bool) else str(cell)
        for name, cell in row.items()
    }


@pytest.fixture
def cloud(nights: Nights, started: tuple[Gcs, BigQuery]) -> Cloud:
    """A bucket with the samples as runs root, an Airflow connection, and no dataset yet."""
    gcs, bigquery = started
    gcs.use(nights.patch)
    for name, value in bigquery.environment().items():
        nights.patch.setenv(name, value)
    made = Cloud(
        gcs=gcs,
        bigquery=bigquery,
        bucket=gcs.bucket(f"evals-{uuid4().hex[:12]}").name,
        dataset=f"{bigquery.project}.evals_{uuid4().hex[:12]}",
    )
    connection = {"conn_type": "google_cloud_platform", "extra": {"is_anonymous": True, "project": bigquery.project}}
    nights.patch.setenv("AIRFLOW_CONN_OUR_CLOUD", json.dumps(connection))
    nights.set(
        runs=f"gs://{made.bucket}/runs",
        lake=f"gs://{made.bucket}/lake",
        google_connection="our_cloud",
        bigquery_dataset=made.dataset,
        bigquery_location="US",
    )
    return made


def test_from_a_bucket_to_bigquery(nights: Nights, cloud: Cloud, tmp_path: Path) -> None:
    """Row for row what the lake holds, which is byte for byte what a lake on a disk holds; a second night gives no job
    and changes no object; a dataset that was deleted is made good by the next night.
    """
    for directory in sorted(path for path in nights.samples.iterdir() if path.is_dir()):
        cloud.bring(directory)
    first = nights.run()
    assert {"success"} == {state for task, state in first.tasks.items() if task != "enforce"}, first.errors
    assert "GateHeldError" in first.error("enforce")
    assert [] == cloud.differing()
    assert _tables(local(nights, tmp_path)) == _tables(cloud.lake)

    jobs, objects = cloud.jobs(), cloud.generations()
    second = nights.run()
    assert "success" == second.tasks["publish"]
    assert (jobs, objects) == (cloud.jobs(), cloud.generations())
    assert "BigQuery: 0 dates replaced (0 load jobs, 0 scripts, 0 rows, 0 dates left)" in second.told["publish"]

    cloud.bigquery.client().delete_dataset(cloud.dataset, delete_contents=True)
    nights.run()
    assert [] == cloud.differing()


def test_bigquery_is_switched_on_after_ten_nights(nights: Nights, cloud: Cloud, tmp_path: Path) -> None:
    """All nights before are delivered by the first one after it."""
    nights.set(bigquery_dataset="")
    for day in range(15, 25):
        cloud.bring(write_run(tmp_path / "new", f"run-{day}", day))
        pipeline.run(load_settings(os.environ))
    assert 0 == len([found for found in cloud.bigquery.client().list_datasets() if found.dataset_id in cloud.dataset])
    nights.set(bigquery_dataset=cloud.dataset)
    night = nights.run()
    (told,) = [line for line in night.told["publish"] if line.startswith("BigQuery")]
    loads, scripts = map(int, re.findall(r"(\d+) (?:load jobs|scripts)", told))
    assert (True, 1) == (0 < loads <= len(TABLES), scripts)
    assert [] == cloud.differing()


def test_a_connection_that_is_not_there_is_named(nights: Nights, cloud: Cloud) -> None:
    """`discover` says which setting, and what the connection must hold."""
    del cloud
    nights.set(google_connection="nobody")
    night = nights.run()
    assert "EVALBENCH_GOOGLE_CONNECTION: the Airflow connection 'nobody' can't be used" in night.error("discover")


def local(nights: Nights, tmp_path: Path) -> Storage:
    """The same runs through a lake on a disk."""
    lake = tmp_path / "local"
    given = {"runs": str(nights.samples), "lake": str(lake)}
    pipeline.run(replace(load_settings(os.environ, given), bigquery_dataset=None))
    return LocalStorage(str(lake))


def _tables(lake: Storage) -> dict[str, str]:
    """Files of the replaced tables, by content."""
    own = (*OWN, "trends/decision_log/")
    return {path: digest for path, digest in lake.digests("trends").items() if not path.startswith(own)}
