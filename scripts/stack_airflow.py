"""Airflow of the local stack: its settings, its services, and how to ask it something."""

import json
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.stack_process import Service, StackError, last_lines

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DAG_ID = "evalbench_nightly"
LOGIN = "admin"
PATIENCE = 180.0
ANSWER_WITHIN = 30.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy between this machine and itself
# Without --skip-serve-logs the scheduler opens a port to every network; the logs are read from their folder.
SERVICES: Mapping[str, Sequence[str]] = {
    "api-server": ("api-server",),
    "dag-processor": ("dag-processor",),
    "scheduler": ("scheduler", "--skip-serve-logs"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Airflow:
    """An Airflow on this machine: the environment of its processes and the address of its API."""

    home: Path
    port: int
    env: Mapping[str, str]

    @property
    def url(self) -> str:
        """Where the UI is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def password(self) -> str:
        """The generated password of the one user."""
        known: dict[str, str] = json.loads(passwords_file(self.home).read_text(encoding="utf-8"))
        return known[LOGIN]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One `airflow` command against this Airflow; its exit code and output are the caller's to judge."""
        return subprocess.run(
            [BIN / "airflow", *arguments], cwd=ROOT, env=dict(self.env), capture_output=True, text=True, check=False
        )

    def token(self) -> str:
        """A token for the API, as the user."""
        login = {"username": LOGIN, "password": self.password}
        return str(_ask(f"{self.url}/auth/token", "POST", login, {})["access_token"])

    def api(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, token: str) -> dict[str, Any]:
        """The JSON answer of `/api/v2/<path>`, empty where there is none. urllib's HTTPError when the API refuses."""
        return _ask(f"{self.url}/api/v2/{path}", method, body, {"Authorization": f"Bearer {token}"})


def passwords_file(home: Path) -> Path:
    """Where Airflow writes the password that it makes up."""
    return home / "passwords.json"


def airflow_environment(caller: Mapping[str, str], home: Path, port: int, database: str) -> dict[str, str]:
    """The caller's environment with the Airflow settings of this stack. Its own AIRFLOW variables are left out."""
    kept = {name: text for name, text in caller.items() if not name.startswith("AIRFLOW")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # it costs every Airflow command seconds
    url = f"http://127.0.0.1:{port}"
    return kept | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "8",  # the default of 32 workers takes 5.6 GB
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{LOGIN}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords_file(home)),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": _kept_secret(home / "jwt_secret"),
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__LOGGING__COLORED_CONSOLE_LOG": "False",
        "NO_PROXY": "127.0.0.1",
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",  # else the supervisor often waits 5 s for an ended task
    }


def prepare(airflow: Airflow, pools: Path) -> None:
    """Bring the database up to this Airflow's version and import the pools."""
    for arguments in (("db", "migrate"), ("pools", "import", str(pools))):
        done = airflow.command(*arguments)
        if done.returncode != 0:
            raise StackError(f"airflow {' '.join(arguments)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def wait_until_ready(airflow: Airflow, services: Sequence[Service]) -> None:
    """Return when every part is healthy and the DAG is known; StackError when one ends or it takes too long."""
    _wait("a healthy scheduler and dag-processor", lambda: _healthy(airflow), services)
    token = airflow.token()
    _wait(f"the DAG {DAG_ID}", lambda: _knows_dag(airflow, token), services)


def _wait(what: str, there: Callable[[], bool], services: Sequence[Service]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not there():
        for service in services:
            if service.process is None:
                raise StackError(f"{service.name} ended; its log {service.log} closes with:\n{_tail(service)}")
        if time.monotonic() > deadline:
            logs = ", ".join(service.log for service in services)
            raise StackError(f"no {what} after {PATIENCE:.0f} s; look at {logs}")
        time.sleep(0.3)


def _healthy(airflow: Airflow) -> bool:
    try:
        health = _ask(f"{airflow.url}/api/v2/monitor/health", "GET", None, {})
    except OSError:
        return False
    parts = ("metadatabase", "scheduler", "dag_processor")
    return all((health.get(part) or {}).get("status") == "healthy" for part in parts)


def _knows_dag(airflow: Airflow, token: str) -> bool:
    """Whether the DAG was parsed. StackError when Airflow could not import a DAG file."""
    broken = airflow.api("GET", "importErrors", token=token)["import_errors"]
    if broken:
        told = "\n".join(f"{one['filename']}:\n{one['stack_trace']}" for one in broken)
        raise StackError(f"Airflow can't import these DAG files:\n{told}")
    try:
        airflow.api("GET", f"dags/{DAG_ID}", token=token)
    except urllib.error.HTTPError as refusal:
        if refusal.code != 404:
            raise
        return False
    return True


def _ask(url: str, method: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object that answers one request; an empty one for no answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the address is our own, http on this machine
        url, data, {"Content-Type": "application/json", **headers}, method=method
    )
    with DIRECT.open(request, timeout=ANSWER_WITHIN) as answer:
        document: dict[str, Any] = json.loads(answer.read() or b"{}")
        return document


def _kept_secret(path: Path) -> str:
    """A secret of 64 bytes, made once and readable by its owner only."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _tail(service: Service) -> str:
    return last_lines(Path(service.log))
