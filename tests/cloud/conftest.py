"""The emulators, one of each per process of the tests, and a place of its own in them for every test."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from google.cloud.storage import Bucket
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
    """Cloud Storage in the place of Google's; nothing else of this machine says how to reach Google."""
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GCLOUD_", "CLOUDSDK_"))]:
        monkeypatch.delenv(name)
    for name, value in started_gcs.environment().items():
        monkeypatch.setenv(name, value)
    return started_gcs


@pytest.fixture
def bigquery(gcs: Gcs, started_bigquery: BigQuery, monkeypatch: pytest.MonkeyPatch) -> BigQuery:
    """BigQuery in the place of Google's, beside Cloud Storage."""
    for name, value in started_bigquery.environment().items():
        monkeypatch.setenv(name, value)
    return started_bigquery


@pytest.fixture
def bucket(gcs: Gcs) -> Bucket:
    """A new, empty bucket."""
    return gcs.bucket(f"bucket-{uuid4().hex[:12]}")


@pytest.fixture
def dataset(bigquery: BigQuery) -> str:
    """The name of a dataset that isn't there: `project.dataset`."""
    return f"{bigquery.project}.d{uuid4().hex[:12]}"
