"""What is deployed is pinned, names only what exists, and says the same everywhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from tests.image import Stage, Step, context, stages

from evalbench import __version__
from evalbench.cli.app import app
from evalbench.settings import PREFIX, Settings

BIN = Path(sys.executable).parent
YAML_STYLE = "{extends: default, rules: {line-length: {max: 140}, braces: {max-spaces-inside: 0}}}"
# Read by the DAG file when it is parsed, and by compose.yaml about itself.
BESIDE_SETTINGS = {"EVALBENCH_POOL", "EVALBENCH_IMAGE", "EVALBENCH_UID"}
SERVICES = {"init", "api-server", "scheduler", "dag-processor", "worker"}


def said(*command: str | Path) -> str:
    """What a checker has to say of a file; the empty text when it is content."""
    done = subprocess.run([BIN / command[0], *command[1:]], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def deployed(root: Path, *endings: str) -> list[Path]:
    """The files of deploy/ by the end of their names."""
    return sorted(path for path in (root / "deploy").rglob("*") if path.name.endswith(endings))


@pytest.fixture(scope="module")
def dockerfile(root: Path) -> list[Stage]:
    """The Dockerfile's stages."""
    return stages((root / "Dockerfile").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def compose(root: Path) -> dict[str, Any]:
    """deploy/compose.yaml, its variables as they are written."""
    document: dict[str, Any] = yaml.safe_load((root / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def document(root: Path) -> str:
    """docs/deploy.md."""
    return (root / "docs" / "deploy.md").read_text(encoding="utf-8")


# -- what others' checkers say -----------------------------------------------------------------------------------


def test_hadolint_is_content_with_the_dockerfile(root: Path) -> None:
    """With its strictest threshold."""
    assert said("hadolint", "--failure-threshold", "style", root / "Dockerfile") == ""


def test_compose_is_what_composes_own_schema_allows(root: Path) -> None:
    """A misspelt key would be ignored or refused on the server."""
    file = root / "deploy" / "compose.yaml"
    assert said("check-jsonschema", "--builtin-schema", "vendor.compose-spec", file) == ""


def test_the_yaml_is_tidy_and_has_no_key_twice(root: Path) -> None:
    """Of two equal keys the first would be lost silently."""
    assert said("yamllint", "--strict", "--config-data", YAML_STYLE, *deployed(root, ".yaml")) == ""


def test_shellcheck_is_content_with_the_scripts(root: Path) -> None:
    """Each of them stops at the first failure, and at a variable that isn't set."""
    scripts = deployed(root, ".sh")
    assert said("shellcheck", *scripts) == ""
    assert [] == [script.name for script in scripts if "set -euo pipefail" not in script.read_text(encoding="utf-8")]


def test_the_documents_commands_are_shell(document: str, tmp_path: Path) -> None:
    """Every block of docs/deploy.md can be pasted: shellcheck finds no error in it."""
    blocks = re.findall(r"```sh\n(.*?)```", document, re.DOTALL)
    file = tmp_path / "blocks.sh"
    file.write_text("#!/usr/bin/env bash\nset -e\n" + "".join(f"(\n{block})\n" for block in blocks), encoding="utf-8")
    assert len(blocks) >= 6
    assert said("shellcheck", "--severity", "warning", "--exclude", "SC2034", file) == ""


# -- the image ---------------------------------------------------------------------------------------------------


def runs(stage: Stage) -> Iterator[str]:
    """The commands of a stage, one by one."""
    for step in stage.steps:
        if step.word == "RUN":
            yield from (command.strip() for command in step.rest.split("&&"))


def test_every_stage_begins_with_one_named_version(dockerfile: list[Stage]) -> None:
    """Not with whatever is newest on the day of the build, and not with two different ones."""
    (image,) = {stage.image for stage in dockerfile}
    assert re.fullmatch(r"apache/airflow:slim-\d+\.\d+\.\d+-python3\.\d+", image)


def test_no_step_is_done_as_root_and_the_user_is_a_number(dockerfile: list[Stage]) -> None:
    """A number, since Kubernetes can't tell from a name that it isn't root."""
    users = [step.rest for stage in dockerfile for step in stage.steps if step.word == "USER"]
    owners = [step.flag("chown") for stage in dockerfile for step in stage.steps if step.word == "COPY"]
    assert {"50000"} == set(users)
    assert {"50000:0"} == set(owners)
    assert Step(word="USER", rest="50000") in dockerfile[-1].steps


def test_whatever_is_installed_is_hashed_or_our_own_wheel(dockerfile: list[Stage]) -> None:
    """And nothing brings in a package that the lock doesn't name."""
    installs = [command for stage in dockerfile for command in runs(stage) if "pip install" in command]
    assert 3 == len(installs)
    for command in installs:
        assert "--no-deps" in command
        assert command.endswith("*.whl") or {"--require-hashes", "--only-binary"} <= set(command.split())
    assert [] == [command for stage in dockerfile for command in runs(stage) if re.search(r"curl|wget|apt", command)]


def test_the_builder_is_given_what_is_copied_and_little_else(root: Path, dockerfile: list[Stage]) -> None:
    """No secret, sample, test, cache or history reaches it; each COPY finds its source."""
    sent = context(root, (root / ".dockerignore").read_text(encoding="utf-8"))
    copied = {
        source
        for stage in dockerfile
        for step in stage.steps
        if step.word == "COPY" and step.flag("from") is None
        for source in step.words[:-1]
    }
    assert copied == {name.split("/")[0] for name in sent}
    assert [] == [name for name in sent if name.endswith((".pyc", ".env")) or "samples" in name]
    assert "include/pools.json" in sent
    assert sum((root / name).stat().st_size for name in sent) < 5_000_000


def test_what_a_dockerignore_means(tmp_path: Path) -> None:
    """The last pattern that fits decides; one that fits a folder fits what is in it."""
    for name in ("a/x.py", "a/b/x.pyc", "a/b/c/y.py", "b/x.py", "x.py", "ab/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert ["a/x.py", "x.py"] == context(tmp_path, "*\n!a\na/b\n!*.py\n# !b\n**/*.pyc\n")


def test_the_images_lock_has_every_pin_of_the_products(root: Path) -> None:
    """What the tests ran against is what a container holds; the providers are beside it, Celery below 5.7."""

    def pins(name: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in (root / name).read_text(encoding="utf-8").splitlines():
            if "==" in line:
                want = Requirement(line.removesuffix("\\"))
                found.setdefault(want.name, set()).add(str(want.specifier).removeprefix("=="))
        return found

    image, product = pins("requirements-image.lock"), pins("requirements.lock")
    assert {} == {name: versions for name, versions in product.items() if image.get(name) != versions}
    assert {"celery", "redis", "psycopg2-binary", "asyncpg", "kubernetes", "flask-appbuilder"} <= set(image)
    (celery,) = image["celery"]
    assert (5, 7) > tuple(map(int, celery.split(".")[:2]))


# -- one server --------------------------------------------------------------------------------------------------


def variables(root: Path) -> dict[str, str]:
    """compose.yaml's variables: what stands behind the name, `:?…`, `:-…` or nothing, wherever it says most."""
    found: dict[str, str] = {}
    text = (root / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    for name, behind in re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", text):
        found[name] = behind or found.get(name, "")
    return found


def test_a_missing_secret_is_named_and_none_is_committed(root: Path) -> None:
    """What compose.yaml can't do without has a line in .env.example, empty where it is a secret; all else a default."""
    example = (root / "deploy" / ".env.example").read_text(encoding="utf-8")
    lines = dict(line.split("=", 1) for line in example.splitlines() if re.match(r"[A-Z_]+=", line))
    required = {name for name, behind in variables(root).items() if behind.startswith(":?")}
    assert set(lines) == required
    assert {"EVALBENCH_IMAGE": f"evalbench:{__version__}"} == {name: text for name, text in lines.items() if text}
    optional = {name for name, behind in variables(root).items() if behind.startswith(":-")}
    assert set(re.findall(r"^#([A-Z_]+)=", example, re.MULTILINE)) <= optional
    assert required | optional == set(variables(root))


def test_only_the_ui_has_a_port_and_only_on_this_machine(compose: dict[str, Any]) -> None:
    """Database and broker are for the containers alone."""
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert ["api-server"] == list(ports)
    assert all(port.startswith("127.0.0.1:") for port in ports["api-server"])


def test_what_runs_is_watched_started_again_and_bounded(compose: dict[str, Any]) -> None:
    """`init` ends by itself; all others have a health check. Airflow's have no right that they don't need."""
    services = compose["services"]
    assert {"init"} == {name for name, service in services.items() if "healthcheck" not in service}
    assert {"init": "no"} == {n: s["restart"] for n, s in services.items() if s["restart"] != "unless-stopped"}
    assert all(service["deploy"]["resources"]["limits"]["memory"] for service in services.values())
    ours = {name: service for name, service in services.items() if "EVALBENCH_IMAGE" in service["image"]}
    assert set(ours) == SERVICES
    assert all(service["cap_drop"] == ["ALL"] for service in ours.values())
    assert all(service["user"].endswith(":0") for service in ours.values())
    assert all(not service["image"].endswith("latest") and ":" in service["image"] for service in services.values())


def test_every_variable_of_airflow_is_an_option_airflow_has(root: Path, compose: dict[str, Any]) -> None:
    """A misspelt one would be ignored. Celery's section is its provider's, and not looked at here."""
    airflow = find_spec("airflow")
    assert airflow is not None
    assert airflow.origin is not None
    text = (Path(airflow.origin).parent / "config_templates" / "config.yml").read_text(encoding="utf-8")
    known = {
        f"{section}.{option}".lower() for section, found in yaml.safe_load(text).items() for option in found["options"]
    }
    helm = yaml.safe_load((root / "deploy" / "helm" / "values.yaml").read_text(encoding="utf-8"))
    used = {f"{section}.{option}" for section, options in helm["config"].items() for option in options}
    names = {name for service in compose["services"].values() for name in service.get("environment", {})}
    (final,) = (stage for stage in stages((root / "Dockerfile").read_text(encoding="utf-8")) if stage.name is None)
    names |= {word.partition("=")[0] for step in final.steps if step.word == "ENV" for word in step.words}
    used |= {".".join(name.split("__")[1:]).lower() for name in names if name.startswith("AIRFLOW__")}
    assert "core.executor" in used
    assert set() == {option for option in used if not option.startswith("celery.")} - known


# -- names that must be the same everywhere ----------------------------------------------------------------------


def test_every_setting_named_is_one(root: Path, document: str) -> None:
    """In compose, values, job, examples and the document."""
    texts = [path.read_text(encoding="utf-8") for path in deployed(root, ".yaml", ".example", ".sh")]
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+", "\n".join([*texts, document])))
    assert {"EVALBENCH_RUNS", "EVALBENCH_BIGQUERY_DATASET"} <= named
    assert set() == named - {PREFIX + field.name.upper() for field in fields(Settings)} - BESIDE_SETTINGS


def test_every_tag_is_this_version(root: Path, document: str) -> None:
    """Where an image is named, it is the one that this checkout builds."""
    texts = [path.read_text(encoding="utf-8") for path in deployed(root, ".yaml", ".example")]
    found = re.findall(r"(?:evalbench:|defaultAirflowTag: \")(\d+\.\d+\.\d+)", "\n".join([*texts, document]))
    assert len(found) >= 4
    assert {__version__} == set(found)


def test_the_cloud_run_job_is_a_command_that_there_is(root: Path, document: str) -> None:
    """Its words, in the file and in the document's one-liner, are taken by the command line as they stand."""
    job = yaml.safe_load((root / "deploy" / "cloudrun" / "job.yaml").read_text(encoding="utf-8"))
    task = job["spec"]["template"]["spec"]["template"]["spec"]
    (container,) = task["containers"]
    liner = re.search(r'--command (\w+) --args "([^"]+)"', document)
    assert liner is not None
    command: Any = typer.main.get_command(app)
    for name, (verb, *words) in ((container["command"][0], container["args"]), (liner[1], liner[2].split(","))):
        assert "evalbench" == name
        given = command.commands[verb].make_context(verb, [*words]).params
        assert str(given["runs"]).startswith("gs://")
        assert str(given["lake"]).startswith("gs://")
    assert 0 == task["maxRetries"]  # a held release would be held again


def test_the_secrets_of_the_chart_are_those_that_are_made(root: Path, document: str) -> None:
    """Each secret that values.yaml names, with the key the chart looks for, is made by the document's commands."""
    values = (root / "deploy" / "helm" / "values.yaml").read_text(encoding="utf-8")
    wanted = set(re.findall(r"Name: (evalbench-[\w-]+) +# key: ([\w-]+)", values))
    made = set(re.findall(r"^secret (evalbench-[\w-]+) --from-literal=([\w-]+)=", document, re.MULTILINE))
    assert len(wanted) >= 6
    assert wanted == made
