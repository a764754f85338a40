"""What may not be in the repository, and which files must agree with each other."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

BIGQUERY_LOCK = "tests/cloud/requirements-bigquery.lock"
LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-build.lock",
    "requirements-image.lock",
    BIGQUERY_LOCK,
)
PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[a-z0-9,-]+\])?==(?P<version>[^ ;]+)( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
PYTHON_FOLDERS = {"plugins", "dags", "tests", "scripts", "benchmarks", "deploy"}

# Written in pieces, so that this file passes its own test.
REGISTRIES = [
    r"pypi\.(?:org|python)",
    r"python" + r"hosted\.org",
    r"registry\.npm" + r"js",
    r"deb\." + r"debian",
    r"proxy\.go" + r"lang",
    r"crates\." + r"io",
    r"index" + r"-url[= ]+\S*:",
    r"find" + r"-links",
]
MACHINE_PATHS = [
    r"(?<![\w.])/" + folder + r"/" for folder in ("work", "root", "tmp/eb", "opt/pypi", r"home/(?!airflow)\w+")
]


def committed(root: Path) -> list[Path]:
    """The files git knows or would take up."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git is on the PATH
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    )
    names = listing.stdout.split("\0")
    return [path for name in names if name and (path := root / name).is_file() and not path.is_symlink()]


def written_here(root: Path) -> list[Path]:
    """The committed files people of this project wrote: recorded run directories are kept as they were found."""
    recorded = root / "include" / "samples" / "runs"
    return [path for path in committed(root) if not path.is_relative_to(recorded)]


def lock(root: Path, name: str) -> dict[str, set[str]]:
    """The versions a lock pins, by package; a package may have one per Python version."""
    pins: dict[str, set[str]] = {}
    for line in (root / name).read_text(encoding="utf-8").splitlines():
        if pin := PIN.fullmatch(line):
            pins.setdefault(canonicalize_name(pin["name"]), set()).add(pin["version"])
    return pins


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    """pyproject.toml, read."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("pattern", REGISTRIES + MACHINE_PATHS)
def test_no_file_names_a_registry_or_a_path_of_one_machine(root: Path, pattern: str) -> None:
    """Where packages come from, and where a clone lies, is each machine's own business."""
    forbidden = re.compile(pattern)
    found = [
        f"{path.relative_to(root)}:{number}"
        for path in written_here(root)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert [] == found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_pins_and_hashes_and_nothing_else(root: Path, name: str) -> None:
    """Every line is an exact pin or a hash of it, so that an install is the same anywhere, and no line is an option."""
    lines = (root / name).read_text(encoding="utf-8").splitlines()
    assert [] == [line for line in lines if not PIN.fullmatch(line) and not HASH.fullmatch(line)]
    unhashed = [
        line
        for line, after in zip(lines, [*lines[1:], ""], strict=True)
        if PIN.fullmatch(line) and not HASH.fullmatch(after)
    ]
    assert [] == unhashed


@pytest.mark.parametrize("smaller", ["requirements.lock", "requirements-build.lock"])
def test_the_locks_agree(root: Path, smaller: str) -> None:
    """What is tested is what is deployed: the development lock holds the same versions as the other two."""
    tested = lock(root, "requirements-dev.lock")
    assert {} == {name: pins for name, pins in lock(root, smaller).items() if tested.get(name) != pins}


def test_the_image_differs_only_in_what_it_has_more(root: Path) -> None:
    """What the image shares with the development environment, it has in the same versions."""
    tested = lock(root, "requirements-dev.lock")
    assert {} == {
        name: pins for name, pins in lock(root, "requirements-image.lock").items() if tested.get(name, pins) != pins
    }


def test_the_lock_satisfies_the_declared_dependencies(root: Path, project: dict[str, Any]) -> None:
    """A dependency changed in pyproject.toml without `make lock` is caught here."""
    locked = lock(root, "requirements.lock")
    wanted = [Requirement(text) for text in project["project"]["dependencies"]]
    assert [] == [
        str(want)
        for want in wanted
        if not all(Version(pin) in want.specifier for pin in locked.get(canonicalize_name(want.name), {"0"}))
    ]


def test_the_lock_of_the_bigquery_emulator_is_what_is_declared(root: Path, project: dict[str, Any]) -> None:
    """It runs with exactly these versions: its DuckDB finds the extensions of no other."""
    locked = lock(root, BIGQUERY_LOCK)
    wanted = [Requirement(text) for text in project["dependency-groups"]["bigquery"]]
    assert {want.name: str(want.specifier) for want in wanted} == {
        want.name: f"=={version}" for want in wanted for version in locked[canonicalize_name(want.name)]
    }


def test_the_build_backend_is_the_locked_one(root: Path, project: dict[str, Any]) -> None:
    """The wheel is built without isolation, by the backend that the lock names."""
    (backend,) = (Requirement(text) for text in project["build-system"]["requires"])
    assert {f"=={version}" for version in lock(root, "requirements-build.lock")["hatchling"]} == {
        str(backend.specifier)
    }


def test_the_image_has_the_locked_airflow(root: Path) -> None:
    """The container's base and the lock name one Airflow version."""
    image = re.search(r"apache/airflow:slim-(\S+)-python3\.11$", (root / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert image is not None
    assert lock(root, "requirements.lock")["apache-airflow"] == {image[1]}


def test_no_module_has_a_name_of_the_standard_library(root: Path) -> None:
    """A file Airflow ever ran under its bare name would replace the standard library's module."""
    modules = [path for path in committed(root) if path.is_relative_to(root / "plugins") and path.suffix == ".py"]
    assert modules
    names = {path.relative_to(root).as_posix(): path.stem for path in modules if path.stem != "__init__"}
    assert {} == {path: name for path, name in names.items() if name in sys.stdlib_module_names}


def test_python_lives_in_the_folders_for_it(root: Path) -> None:
    """`include/` is data only; nothing executable lies beside it."""
    python = [path.relative_to(root) for path in committed(root) if path.suffix == ".py"]
    assert [] == [str(path) for path in python if path.parts[0] not in PYTHON_FOLDERS]
