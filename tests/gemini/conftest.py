"""The server as a process, one per test module, and the ways to it."""

import os
from collections.abc import Iterator

import pytest
from tests.gemini.asking import Pauses, access_by_account, access_by_key
from tests.gemini.serving import GeminiServer, gemini_server

from evalbench.summaries.access import Access


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GeminiServer]:
    """A running server."""
    with gemini_server(tmp_path_factory.mktemp("gemini")) as server:
        yield server


@pytest.fixture
def server(started: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> GeminiServer:
    """The server, as new, in the place of Google; nothing else of this machine says how to reach Google."""
    started.reset()
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GEMINI_", "GCLOUD_", "CLOUDSDK_"))]:
        monkeypatch.delenv(name)
    for name, url in started.environment().items():
        monkeypatch.setenv(name, url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return started


@pytest.fixture
def by_key(server: GeminiServer) -> Access:
    """Access to Google AI Studio."""
    return access_by_key()


@pytest.fixture
def by_account(server: GeminiServer, monkeypatch: pytest.MonkeyPatch) -> Access:
    """Access to Vertex AI, with Application Default Credentials that are a service account's key file."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(server.service_account))
    return access_by_account()


@pytest.fixture
def pauses() -> Pauses:
    """Pauses of one test."""
    return Pauses()
