"""A running Airflow on this machine: Postgres, scheduler, dag-processor and UI, over the samples or your own runs.

`up` starts it and waits until it is healthy, `down` stops exactly what `up` started. Everything listens on 127.0.0.1
only; everything it keeps is in `var/stack`. `EVALBENCH_*` variables of the caller decide about runs, lake and the rest.
"""

import argparse
import fcntl
import json
import os
import secrets
import shlex
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.stack_airflow import (
    BIN,
    DAG_ID,
    LOGIN,
    ROOT,
    SERVICES,
    Airflow,
    airflow_environment,
    prepare,
    wait_until_ready,
)
from scripts.stack_postgres import free_port, start_postgres
from scripts.stack_process import Service, StackError, start, stop

HOME = ROOT / "var" / "stack"
POOLS = ROOT / "include" / "pools.json"
SAMPLES = ROOT / "include" / "samples"
SAMPLES_OVER = "2026-12-02T06:00:00Z"  # as in `make run`: no sample day is still open then
POOL = "evalbench"  # the one that POOLS brings
USUAL_PORT = 8080
OURS = ("AIRFLOW", "EVALBENCH_")
BOARD = "SELECT decision, candidate, suite, run_date, decided_by FROM decisions ORDER BY run_date, candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """What `up` started, as it is written down for `down`. `env`: the variables that differ from the caller's."""

    home: Path
    port: int
    env: Mapping[str, str]
    services: Sequence[Service]

    @property
    def airflow(self) -> Airflow:
        """The Airflow of this stack."""
        return Airflow(home=self.home / "airflow", port=self.port, env={**_foreign(os.environ), **self.env})

    @property
    def stopped(self) -> list[str]:
        """The names of the services that no longer run."""
        return [service.name for service in self.services if service.process is None]


def up(home: Path, settings: Mapping[str, str], port: int | None = None) -> tuple[Stack, bool]:
    """Start the stack, unless it runs, and wait until it is healthy: (the stack, whether it was running already).

    settings: the `EVALBENCH_*` variables of the pipeline. port: of the UI; without one 8080, or a free one where that
    is taken. Raises StackError, with nothing left running, when a part doesn't come up.
    """
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home):
        standing = read(home)
        if standing is not None and not standing.stopped:
            return standing, True
        if standing is not None:
            _stop(standing)
        return _start(home, settings, _ui_port(port)), False


def down(home: Path) -> list[str]:
    """Stop what `up` started in `home`, whatever of it still runs: the names of its services. The data stays."""
    if not (home / "stack.json").exists():
        return []
    with _alone(home):
        standing = read(home)
        if standing is None:
            return []
        _stop(standing)
        return [service.name for service in standing.services]


def read(home: Path) -> Stack | None:
    """The stack that was started in `home` and not stopped yet."""
    file = home / "stack.json"
    if not file.exists():
        return None
    kept = json.loads(file.read_text(encoding="utf-8"))
    services = [Service(**one) for one in kept["services"]]
    return Stack(home=home, port=kept["port"], env=kept["env"], services=services)


def pipeline_settings(caller: Mapping[str, str], lake: Path) -> dict[str, str]:
    """The pipeline's settings: the caller's; where those name no runs, the samples, as if their days were over."""
    given = {name: text for name, text in caller.items() if name.startswith("EVALBENCH_") and text}
    given.setdefault("EVALBENCH_POOL", POOL)
    if "EVALBENCH_RUNS" not in given:
        samples = {
            "EVALBENCH_RUNS": str(SAMPLES / "runs"),
            "EVALBENCH_LAKE": str(lake),
            "EVALBENCH_ROUTING": str(SAMPLES / "routing.yaml"),
            "EVALBENCH_GRACE_HOURS": "0",
            "EVALBENCH_TRANSCRIPT_DAYS": "30",
            "EVALBENCH_CLOCK": SAMPLES_OVER,
        }
        return samples | given
    if "EVALBENCH_LAKE" not in given:
        raise StackError(
            "EVALBENCH_RUNS is set and EVALBENCH_LAKE is not: name the folder your tables shall go to, too"
        )
    return given


def _start(home: Path, settings: Mapping[str, str], port: int) -> Stack:
    logs = home / "log"
    logs.mkdir(exist_ok=True)
    started: list[Service] = []
    try:
        database, address = start_postgres(home / "postgres", _password(home), logs / "postgres.log")
        started.append(database)
        env = airflow_environment({**_foreign(os.environ), **settings}, home / "airflow", port, address)
        stack = Stack(home=home, port=port, env={n: t for n, t in env.items() if n.startswith(OURS)}, services=started)
        _write(stack)
        prepare(stack.airflow, POOLS)
        for name, arguments in SERVICES.items():
            command: list[str | Path] = [BIN / "airflow", *arguments]
            started.append(start(name, command, env=env, log=logs / f"{name}.log", cwd=ROOT))
            _write(stack)
        wait_until_ready(stack.airflow, started)
    except BaseException:
        for service in reversed(started):
            stop(service)
        (home / "stack.json").unlink(missing_ok=True)
        raise
    return stack


def _stop(stack: Stack) -> None:
    """Stop the services, the database last; then forget them."""
    for service in reversed(stack.services):
        stop(service)
    (stack.home / "stack.json").unlink()


def _write(stack: Stack) -> None:
    """Note what runs, for `down`, and the variables of its Airflow, for a shell."""
    kept = {"port": stack.port, "env": dict(stack.env), "services": [asdict(one) for one in stack.services]}
    lines = [f"export {name}={shlex.quote(text)}\n" for name, text in sorted(stack.env.items())]
    for name, text in (("stack.json", json.dumps(kept, indent=1)), ("env.sh", "".join(lines))):
        new = stack.home / f"{name}.new"
        new.touch(mode=0o600)  # both hold the database's password
        new.write_text(text, encoding="utf-8")
        new.replace(stack.home / name)


def _password(home: Path) -> str:
    """The database's password, made once."""
    file = home / "database_password"
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24), encoding="utf-8")
    return file.read_text(encoding="utf-8")


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One `up` or `down` at a time."""
    with (home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _foreign(env: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in env.items() if not name.startswith(OURS)}


def _ui_port(wanted: int | None) -> int:
    if _is_free(wanted or USUAL_PORT):
        return wanted or USUAL_PORT
    if wanted is not None:
        raise StackError(f"port {wanted} is taken: name another, make up PORT=…, or none for a free one")
    return free_port()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _shown(path: str | Path) -> str:
    """A path as it is typed in the repository."""
    return str(path).removeprefix(f"{ROOT}/")


def page(stack: Stack) -> str:
    """What a person needs to use the stack."""
    lake = _shown(stack.env["EVALBENCH_LAKE"])
    clock = stack.env.get("EVALBENCH_CLOCK")
    return "\n".join(
        (
            f"UI        {stack.airflow.url}   (this machine only)",
            f"Log in    {LOGIN}, password {stack.airflow.password}",
            f"Runs      {_shown(stack.env['EVALBENCH_RUNS'])}" + (f", as if it were {clock}" if clock else ""),
            f"Lake      {lake}",
            f"Logs      in the UI, of Airflow tasks; {_shown(stack.home / 'log')}, of the services",
            f"Next      open {DAG_ID} and trigger it; README.md, Beside a scheduler, goes through it",
            f"Page      {stack.airflow.url}/plugin/evalbench: Evaluations, once the DAG has run",
            f"Ask       .venv/bin/evalbench query --lake {lake} {shlex.quote(BOARD)}",
            f"Command   source {_shown(stack.home / 'env.sh')}; .venv/bin/airflow dags list",
            "Stop      make down   (the data stays until make clean)",
        )
    )


def main() -> int:
    """`up` or `down`, on the repository's own stack."""
    parser = argparse.ArgumentParser(prog="scripts.stack", description=__doc__)
    parser.add_argument("verb", choices=("up", "down"))
    parser.add_argument("--port", type=int, help=f"of the UI; {USUAL_PORT}, or a free one where that is taken")
    given = parser.parse_args()
    try:
        if given.verb == "down":
            print(f"stopped: {', '.join(down(HOME)) or 'nothing, since nothing was running'}")
            return 0
        print("Postgres and Airflow: half a minute to start", flush=True)
        stack, was_running = up(HOME, pipeline_settings(os.environ, HOME / "lake"), given.port)
    except StackError as error:
        print(f"make {given.verb}: {error}", file=sys.stderr)
        return 1
    if was_running:
        print("Running already, as it was started; make down first to start it with other settings or another port.")
    print(page(stack))
    return 0


if __name__ == "__main__":
    sys.exit(main())
