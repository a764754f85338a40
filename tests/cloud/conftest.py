"""The emulators, one of each per process of the tests, and a place of its own in them for every test."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from google.cloud.storage import Bucket
from tests.cloud.delivering import Place
from tests.cloud.emulators import BigQuery, Gcs, fake_gcs, local_bigquery
from tests.cloud.install import MISSING, installed


@pytest.fixture(scope="session")
def started_gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gcs]:
    """A running Cloud Storage."""
    with fake_gcs(tmp_path_factory.mktemp("gcs")) as server:
        yield server


@pytest.fixture(scope="session")
def started_bigquery(started_gcs: Gcs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigQuery]:
    """A running BigQuery that loads from that Cloud Storage."""
    if not installed():
        pytest.fail(MISSING, pytrace=False)
    with local_bigquery(tmp_path_factory.mktemp("bigquery"), started_gcs) as server:
        yield server


@pytest.fixture
def gcs(started_gcs: Gcs, monkeypatch: pytest.MonkeyPatch) -> Gcs:
    """Cloud Storage in the place of Google's."""
    started_gcs.use(monkeypatch)
    return started_gcs


@pytest.fixture
def bigquery(gcs: Gcs, started_bigquery: BigQuery, monkeypatch: pytest.MonkeyPatch) -> BigQuery:
    """BigQuery in the place of Google's, beside Cloud Storage."""
    for name, value in started_bigquery.environment().items():
        monkeypatch.setenv(name, value)
    return started_bigquery


@pytest.fixture(scope="session")
def delivered(started_bigquery: BigQuery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A lake without rows, and a dataset with its tables and views: making them takes the emulator ten seconds."""
    lake = tmp_path_factory.mktemp("delivered")
    place = Place(lake=str(lake), dataset=f"{started_bigquery.project}.delivered", url=started_bigquery.url)
    place.deliver()
    yield place
    place.client.delete_dataset(place.dataset, delete_contents=True)


@pytest.fixture
def place(tmp_path: Path, bigquery: BigQuery, delivered: Place) -> Iterator[Place]:
    """An empty lake, a copy of the one that the dataset follows, and tables without rows."""
    del bigquery
    place = replace(delivered, lake=str(tmp_path / "lake"))
    shutil.copytree(delivered.lake, place.lake)
    yield place
    place.clear()


@pytest.fixture
def bucket(gcs: Gcs) -> Bucket:
    """A new, empty bucket."""
    return gcs.bucket(f"bucket-{uuid4().hex[:12]}")


@pytest.fixture
def dataset(bigquery: BigQuery) -> str:
    """The name of a dataset that isn't there: `project.dataset`."""
    return f"{bigquery.project}.d{uuid4().hex[:12]}"
