"""The local stack's processes: started in sessions of their own, recognised later, stopped with all they started."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PATIENCE = 30.0  # seconds from asking a service to stop to killing it
SAME_START = 1.0  # seconds by which two readings of one process's start may differ
SAME_BOOT = 30.0  # likewise of the machine's, which move with its clock
TOLD_LINES = 20


class StackError(Exception):
    """The stack can't be started or stopped; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process that was started: its number and its start, in seconds since the machine's, tell it from all others.

    booted: the machine's own start, by its clock.
    """

    name: str
    pid: int
    started: float
    booted: float
    log: str

    @property
    def process(self) -> psutil.Process | None:
        """The process while it runs; None once it has ended, also when another has its number now."""
        try:
            process = psutil.Process(self.pid)
            same = abs(_started(process) - self.started) <= SAME_START
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def start(name: str, command: Sequence[str | Path], *, env: Mapping[str, str], log: Path, cwd: Path) -> Service:
    """Start a service in a session of its own, so that no Ctrl-C meant for us reaches it; its output goes to `log`."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    started = _started(psutil.Process(process.pid))
    return Service(name=name, pid=process.pid, started=started, booted=psutil.boot_time(), log=str(log))


def stop(service: Service, patience: float = PATIENCE) -> None:
    """Stop a service and whatever of its session is left: SIGINT, which Airflow and Postgres obey, then SIGKILL."""
    process = service.process
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT)
    _wait(lambda: service.process is None, patience)
    for left in _session(service):
        with suppress(psutil.NoSuchProcess):
            left.kill()
    _wait(lambda: not _session(service), patience)


def last_lines(log: Path) -> str:
    """The end of a log, for the error that sends a reader there."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"    {line}" for line in lines[-TOLD_LINES:])


def _session(service: Service) -> list[psutil.Process]:
    """What still runs of a service's session, orphans too.

    No new session gets a number that is in use, so the number is ours, unless another process has it as its own or the
    machine was restarted.
    """
    restarted = abs(psutil.boot_time() - service.booted) > SAME_BOOT
    if service.process is None and (restarted or _runs(service.pid)):
        return []
    return [one for one in psutil.process_iter() if _session_of(one.pid) == service.pid and _runs(one.pid)]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _wait(over: Callable[[], bool], patience: float) -> None:
    """Return when it is over, or patience is."""
    deadline = time.monotonic() + patience
    while not over() and time.monotonic() < deadline:
        time.sleep(0.05)


def _started(process: psutil.Process) -> float:
    """Since the machine's start: a clock that is set meanwhile moves both readings alike."""
    return process.create_time() - psutil.boot_time()
