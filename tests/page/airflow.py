"""A real api-server of Airflow over a lake, with users of its own; no scheduler."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.stack_airflow import BIN, DIRECT, ROOT, airflow_environment, passwords_file
from scripts.stack_postgres import free_port
from scripts.stack_process import Service, last_lines, start, stop

USERS = {"admin": "admin", "reader": "viewer", "stranger": ""}
"""Name → role; without a role a user may log in and see nothing."""
STARTED_WITHIN_S = 240.0
"""All of it together: a test may take 300 s."""
ANSWERED_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """address: of the UI. passwords: by user."""

    address: str
    passwords: Mapping[str, str]

    def token(self, user: str) -> str:
        """A token of Airflow's API for a user."""
        login = json.dumps({"username": user, "password": self.passwords[user]}).encode()
        request = urllib.request.Request(  # noqa: S310 - our own address
            f"{self.address}/auth/token", login, {"Content-Type": "application/json"}
        )
        with DIRECT.open(request, timeout=ANSWERED_WITHIN_S) as answer:
            return str(json.loads(answer.read())["access_token"])

    def status(self, path: str, user: str | None = None) -> int:
        """How the server answers a user, or nobody."""
        headers = {} if user is None else {"Authorization": f"Bearer {self.token(user)}"}
        request = urllib.request.Request(self.address + path, headers=headers)  # noqa: S310 - our own address
        try:
            with DIRECT.open(request, timeout=ANSWERED_WITHIN_S) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refusal:
            return refusal.code


@contextmanager
def api_server(home: Path, lake: Path, clock: str) -> Iterator[Server]:
    """Start Airflow's api-server with our plugin, wait until the page has read its lake, and stop the server."""
    port, deadline = free_port(), time.monotonic() + STARTED_WITHIN_S
    settings = {"EVALBENCH_LAKE": str(lake), "EVALBENCH_CLOCK": clock}
    env = airflow_environment({**os.environ, **settings}, home, port, f"sqlite:///{home}/airflow.db")
    env["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS"] = ",".join(f"{name}:{role}" for name, role in USERS.items())
    migrated = start("migrate", [BIN / "airflow", "db", "migrate"], env=env, log=home / "migrate.log", cwd=ROOT)
    try:
        _wait(lambda: migrated.process is None, migrated, deadline)
    finally:
        stop(migrated)
    server = start("api-server", [BIN / "airflow", "api-server"], env=env, log=home / "api-server.log", cwd=ROOT)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(lambda: _answers(f"{address}/api/v2/version"), server, deadline)
        passwords = json.loads(passwords_file(home).read_text(encoding="utf-8"))
        started = Server(address=address, passwords=passwords)
        _wait(lambda: started.status("/evalbench/", "admin") == 200, server, deadline)
        yield started
    finally:
        stop(server)


def _answers(address: str) -> bool:
    try:
        with DIRECT.open(address, timeout=ANSWERED_WITHIN_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait(over: Callable[[], bool], service: Service, deadline: float) -> None:
    while not over():
        told = f"its log closes with:\n{last_lines(Path(service.log))}"
        assert time.monotonic() < deadline, f"{service.name} is not there after {STARTED_WITHIN_S:.0f} s; {told}"
        assert service.process is not None or over(), f"{service.name} ended; {told}"
        time.sleep(0.1)
