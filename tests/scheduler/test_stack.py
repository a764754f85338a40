"""Starting and stopping the local stack's parts, without Airflow."""

import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg2
import pytest
from scripts.stack import SAMPLES_OVER, down, pipeline_settings, read, up
from scripts.stack_airflow import airflow_environment
from scripts.stack_postgres import free_port, start_postgres
from scripts.stack_process import Service, StackError, start, stop
from tests.scheduler.nights import command_of

# A service that starts a child, tells its number and takes its time; `deaf` ones ignore SIGINT.
PARENT = """
import signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
print(child.pid, flush=True)
time.sleep(60)
"""


def service(tmp_path: Path, manner: str) -> tuple[Service, psutil.Process]:
    """A running service and the child it started."""
    log = tmp_path / "service.log"
    begun = start("service", [sys.executable, "-c", PARENT, manner], env={}, log=log, cwd=tmp_path)
    while not log.read_text().endswith("\n"):
        time.sleep(0.05)
    return begun, psutil.Process(int(log.read_text()))


def kill(begun: Service) -> None:
    """End a service's own process only, as a lack of memory would."""
    leader = psutil.Process(begun.pid)
    leader.kill()
    psutil.wait_procs([leader], timeout=10)


def lives(process: psutil.Process) -> bool:
    """Whether it still runs: a dead orphan may wait a while for the machine's first process to notice."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("manner", ["obedient", "deaf"])
def test_stopping_a_service_ends_its_children_too(tmp_path: Path, manner: str) -> None:
    """Whether it obeys SIGINT or has to be killed, and though its children know nothing of it."""
    begun, child = service(tmp_path, manner)
    assert begun.process is not None
    stop(begun, patience=1)
    assert begun.process is None
    assert not lives(child)


def test_the_orphans_of_a_killed_service_are_stopped(tmp_path: Path) -> None:
    """A service that died by itself is stopped like a running one."""
    begun, child = service(tmp_path, "obedient")
    kill(begun)
    assert lives(child)
    stop(begun, patience=1)
    assert not lives(child)


def test_a_process_that_has_the_number_of_an_ended_one_is_left_alone(tmp_path: Path) -> None:
    """Numbers are used again, after a restart of the machine at the latest: the start tells them apart."""
    begun, child = service(tmp_path, "obedient")
    earlier = replace(begun, started=begun.started - 3600)
    try:
        assert earlier.process is None
        stop(earlier, patience=1)
        assert begun.process is not None
        assert lives(child)
    finally:
        stop(begun, patience=1)


def test_a_session_of_before_a_restart_of_the_machine_is_nobodys(tmp_path: Path) -> None:
    """Its number may stand for another's session by now, whose first process has ended."""
    begun, child = service(tmp_path, "obedient")
    kill(begun)
    stop(replace(begun, booted=begun.booted - 3600), patience=1)
    try:
        assert lives(child)
    finally:
        stop(begun, patience=1)


def test_postgres_keeps_its_data_and_wants_the_password(tmp_path: Path) -> None:
    """Stopped and started again, on another port; nobody gets in from this machine without the password."""
    log = tmp_path / "postgres.log"
    for statement in ("CREATE TABLE kept AS SELECT 1 AS one", "SELECT one FROM kept"):
        server, address = start_postgres(tmp_path / "postgres", "its own", log)
        try:
            plain = address.replace("+psycopg2", "").replace("its own", "its%20own")
            with psycopg2.connect(plain) as connection, connection.cursor() as cursor:
                cursor.execute(statement)
            connection.close()
            with pytest.raises(psycopg2.OperationalError, match="password"):
                psycopg2.connect(plain.replace("its%20own", "guessed"))
        finally:
            stop(server)
        assert server.process is None


def test_a_start_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
    """Here Airflow's home can't be made, when Postgres runs already."""
    (tmp_path / "airflow").write_text("in the way")
    with pytest.raises(OSError, match="airflow"):
        up(tmp_path, {}, free_port())
    assert [] == [one for one in psutil.process_iter() if str(tmp_path) in " ".join(command_of(one))]
    assert read(tmp_path) is None
    assert [] == down(tmp_path)


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(tmp_path: Path) -> None:
    """Somebody who names a port has a reason; without one a free port is taken."""
    server, address = start_postgres(tmp_path / "postgres", "secret", tmp_path / "postgres.log")
    try:
        with pytest.raises(StackError, match="is taken"):
            up(tmp_path / "stack", {}, int(address.rsplit(":", 1)[1].split("/")[0]))
    finally:
        stop(server)


def test_the_callers_variables_win_and_own_runs_bring_no_setting_of_the_samples(tmp_path: Path) -> None:
    """The samples have a clock and a routing; somebody's own runs are judged by the real clock and the shipped one."""
    over_samples = pipeline_settings({"EVALBENCH_SUMMARIES": "off", "HOME": "x", "EVALBENCH_LAKE": "own"}, tmp_path)
    assert (SAMPLES_OVER, "off", "own") == tuple(
        over_samples[f"EVALBENCH_{name}"] for name in ("CLOCK", "SUMMARIES", "LAKE")
    )
    own = {"EVALBENCH_RUNS": "runs", "EVALBENCH_LAKE": "lake"}
    assert own | {"EVALBENCH_POOL": "evalbench"} == pipeline_settings({**own, "EVALBENCH_POLICY": ""}, tmp_path)
    with pytest.raises(StackError, match="EVALBENCH_LAKE"):
        pipeline_settings({"EVALBENCH_RUNS": "runs"}, tmp_path)


def test_settings_of_another_airflow_do_not_reach_the_stack(tmp_path: Path) -> None:
    """A shell that is set up for a deployment's Airflow starts this one all the same."""
    caller = {"AIRFLOW_HOME": "elsewhere", "AIRFLOW__CORE__AUTH_MANAGER": "elsewhere", "PATH": "p"}
    made = airflow_environment(caller, tmp_path, 1, "postgresql+psycopg2://")
    assert "elsewhere" not in made.values()
    assert "p" == made["PATH"]
    assert 64 == len(made["AIRFLOW__API_AUTH__JWT_SECRET"])
    assert made == airflow_environment(caller, tmp_path, 1, "postgresql+psycopg2://")
