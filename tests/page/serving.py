"""The page as a server of its own, for tests that need no Airflow."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import httpx
import uvicorn
from fastapi import FastAPI

from evalbench.settings import Settings
from evalbench.storage import lake_of
from evalbench.web.app import create_app
from evalbench.web.store import Store

MORNING = datetime(2026, 12, 1, 7, 30, tzinfo=UTC)
"""After the newest run of the lake with a history."""
STARTS_WITHIN_S = 20
READ_WITHIN_S = 60


def app_over(lake: Path, clock: datetime) -> FastAPI:
    """The page over a lake, with a clock that stands still."""
    settings = Settings(lake=str(lake), clock=clock)
    return create_app(lambda: Store(lake_of(settings), settings.now))


def until_read(address: str, ask: Callable[[str], httpx.Response] = httpx.get) -> str:
    """The page at an address, asked for until the lake is read."""
    deadline = time.monotonic() + READ_WITHIN_S
    while (answer := ask(address)).status_code == 503 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert 200 == answer.status_code, answer.text
    return answer.text


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an application on a free port of this machine; its address."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not server.started:
            assert thread.is_alive(), "the server ended before it was started"
            assert time.monotonic() < deadline, "the server didn't start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
