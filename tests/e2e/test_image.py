"""The image, as far as it can be shown without a container engine: its Dockerfile, step by step, in folders of its own.

Each stage is a folder instead of a file system, with a bare virtual environment where the base image has Airflow's.
Every COPY and RUN is done as it is written, with the paths of the image put below that folder. One thing is replaced:
the base image's `pip` is uv's, with the same arguments, since it has the packages at hand.
What the base image brings besides Python (its entrypoint, its user, its system libraries) is not shown here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.image import Stage, context, stages

from evalbench import __version__

BIN = Path(sys.executable).parent
PLACES = r"(?<![\w.])/(?=(?:tmp|opt/airflow)(?:[/\s]|$))"  # where the Dockerfile works
# No cache means no download saved: the one argument uv doesn't get.
PIP = f"""#!/bin/sh
for argument; do shift; [ "$argument" = --no-cache-dir ] || set -- "$@" "$argument"; done
exec {BIN / "uv"} pip "$@"
"""
HELD = 3  # the exit code of a release that is held
CLOCK = "2026-12-02T06:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A stage that was built: the folder that is its `/`, and the variables it sets."""

    top: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.top / "home" / "airflow" / ".local" / "bin" / "python"

    def place(self, text: str) -> str:
        """A text of the Dockerfile or of deploy/, with the image's paths where they are here."""
        return re.sub(PLACES, f"{self.top}/", text)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """What a process in the container sees: nothing of Airflow's, Python's or ours from outside."""
        ours = ("AIRFLOW", "EVALBENCH", "PYTHON", "VIRTUAL_ENV")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        airflow = self.python.parent
        path = f"{self.top / 'usr' / 'bin'}:{airflow}:{kept['PATH']}"
        container = {
            "PATH": path,
            "VIRTUAL_ENV": str(airflow.parent),
            "AIRFLOW_HOME": str(self.top / "opt" / "airflow"),
        }
        return kept | container | self.env | dict(more)

    def run(
        self, command: list[str], more: Mapping[str, str] | None = None, *, outside: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """One process in the container; its exit code and output are the caller's. outside: over paths here."""
        return subprocess.run(
            command if outside else [self.place(word) for word in command],
            cwd=self.top,
            env=self.environment(more or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )


def build(stage: Stage, top: Path, sent: Path, others: Mapping[str, Built]) -> Built:
    """Do the steps of a stage below `top`. `sent`: what the builder was given; `others`: stages built before."""
    built = Built(top=top)
    subprocess.run([BIN / "uv", "venv", "--quiet", "--python", sys.executable, built.python.parent.parent], check=True)
    pip = built.python.with_name("pip")
    pip.write_text(PIP, encoding="utf-8")
    pip.chmod(0o755)
    for step in stage.steps:
        if step.word == "COPY":
            source = others[origin].top if (origin := step.flag("from")) else sent
            *files, target = step.words
            for file in files:
                copy(source / file.lstrip("/"), Path(built.place(target)), into=target.endswith("/"))
        elif step.word == "RUN":
            done = built.run(["/bin/sh", "-c", step.rest])
            assert done.returncode == 0, f"RUN {step.rest}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        elif step.word == "ENV":
            for pair in step.words:
                name, _, text = pair.partition("=")
                built.env[name] = text
    return built


def copy(source: Path, target: Path, *, into: bool) -> None:
    """A file into a folder or under a name; a folder's content into a folder."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target = target / source.name if into else target
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Built]:
    """The final stage, built from what .dockerignore lets through. Removed afterwards: it has all of Airflow."""
    place = tmp_path_factory.mktemp("image")
    for name in context(root, (root / ".dockerignore").read_text(encoding="utf-8")):
        copy(root / name, place / "context" / name, into=False)
    built: dict[str, Built] = {}
    for number, stage in enumerate(stages((root / "Dockerfile").read_text(encoding="utf-8"))):
        name = stage.name or str(number)
        built[name] = build(stage, place / name, place / "context", built)
    yield built[name]
    shutil.rmtree(place)


def test_what_is_installed_is_the_lock_and_the_wheel(image: Built, root: Path) -> None:
    """Each package in the version the lock names for this Python, evalbench beside them, and nothing else."""
    lines = (root / "requirements-image.lock").read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line.removesuffix("\\")) for line in lines if "==" in line]
    locked = {
        canonicalize_name(want.name): str(want.specifier).removeprefix("==")
        for want in wanted
        if want.marker is None or want.marker.evaluate()
    }
    (packages,) = (image.python.parent.parent / "lib").glob("python3.*/site-packages")
    found = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions(path=[str(packages)])}
    assert locked | {canonicalize_name("evalbench"): __version__} == found


def test_it_does_a_night_as_the_cloud_run_job_does(image: Built, root: Path, sample_runs: Path, tmp_path: Path) -> None:
    """The job's own command over the samples, from the wheel's own policies: decided, and held by its exit code."""
    job = yaml.safe_load((root / "deploy" / "cloudrun" / "job.yaml").read_text(encoding="utf-8"))
    (container,) = job["spec"]["template"]["spec"]["template"]["spec"]["containers"]
    folders = {"gs://BUCKET/runs": str(sample_runs), "gs://BUCKET/lake": str(tmp_path / "lake")}
    command = [folders.get(word, word) for word in (*container["command"], *container["args"])]
    routing = root / "include" / "samples" / "routing.yaml"
    done = image.run([*command, "--routing", str(routing), "--json"], {"EVALBENCH_CLOCK": CLOCK}, outside=True)
    assert HELD == done.returncode, done.stderr[-2000:]
    decisions = {one["candidate"]: one["decision"] for one in json.loads(done.stdout)["decisions"]}
    assert ("PASS", "FAIL") == (decisions["stable-v1"], decisions["fast-v2"])
    told = image.run(["python", "-c", "from evalbench.settings import include_dir; print(include_dir())"])
    assert told.stdout.strip() == str(next(image.python.parent.parent.glob("lib/*/site-packages/evalbench/_include")))


def test_it_serves_every_executor_and_the_database(image: Built) -> None:
    """What Celery, Kubernetes, users with passwords and Postgres need is there and can be imported together."""
    modules = [
        "airflow.providers.celery.executors.celery_executor",
        "airflow.providers.cncf.kubernetes.executors.kubernetes_executor",
        "airflow.providers.fab.auth_manager.fab_auth_manager",
        "airflow.providers.google.cloud.log.gcs_task_handler",
        "asyncpg",
        "psycopg2",
        "redis",
    ]
    done = image.run(["python", "-c", f"import {', '.join(modules)}, celery; print(celery.__version__)"])
    assert done.returncode == 0, done.stderr[-2000:]
    major, minor = map(int, done.stdout.split()[-1].split(".")[:2])
    assert (5, 7) > (major, minor)  # 5.7.0 breaks Airflow's Celery provider


@pytest.fixture(scope="module")
def airflow(image: Built, root: Path) -> dict[str, str]:
    """Variables of an Airflow that deploy/compose.yaml's `init` made ready, on a database in a file."""
    services = yaml.safe_load((root / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    env = {
        "AIRFLOW__CORE__AUTH_MANAGER": services["init"]["environment"]["AIRFLOW__CORE__AUTH_MANAGER"],
        "ADMIN_PASSWORD": "longenough",
        "EVALBENCH_POOL": "evalbench",
    }
    for _ in range(2):  # it runs at each start
        command = [word.replace("$$", "$") for word in services["init"]["command"]]
        done = image.run(command, env)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return env


def asked(image: Built, airflow: Mapping[str, str], *arguments: str) -> Any:
    """The JSON that an `airflow` command answers with, on its last line."""
    done = image.run(["airflow", *arguments, "--output", "json"], airflow)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_its_airflow_has_the_dags_and_one_plugin(image: Built, airflow: Mapping[str, str]) -> None:
    """From /opt/airflow/dags and the installed package. A DAG file that can't be imported has no DAG."""
    dags = {dag["dag_id"]: dag["fileloc"] for dag in asked(image, airflow, "dags", "list", "--local")}
    folder = image.top / "opt" / "airflow" / "dags"
    assert {
        "evalbench_nightly": str(folder / "evalbench_nightly.py"),
        "evalbench_consumer_example": str(folder / "evalbench_consumer_example.py"),
    } == dags
    assert ["evalbench"] == [plugin["name"] for plugin in asked(image, airflow, "plugins")]


def test_its_airflow_has_the_pool_and_the_user(image: Built, airflow: Mapping[str, str]) -> None:
    """What `init` promises, made once though it ran twice."""
    assert {"default_pool", "evalbench"} == {pool["pool"] for pool in asked(image, airflow, "pools", "list")}
    assert ["admin"] == [user["username"] for user in asked(image, airflow, "users", "list")]
