"""Install local-bigquery into `.cache/bigquery`, an environment of its own: it needs a newer Python than the product's.

`make test` runs this. Without such a Python it says so and ends well: only the tests that need BigQuery then fail.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / ".cache" / "bigquery"
PYTHON = PLACE / "bin" / "python"
PROGRAM = PLACE / "bin" / "local-bigquery"
HOME = PLACE / "home"
"""Where it looks for DuckDB's extensions instead of the user's home."""
STAMP = PLACE / "installed"
LOCK = Path(__file__).with_name("requirements-bigquery.lock")

SERIES = ("3.13", "3.14")
MISSING = (
    "local-bigquery is not installed: it needs Python 3.13 or 3.14 beside the project's own, found on the PATH, among"
    " pyenv's versions or among uv's (`.venv/bin/uv python install 3.13` gets one), and then `make test`; until then"
    " the tests that need BigQuery fail and all others run"
)
USABLE = """
import sys, sysconfig
fits = sys.implementation.name == "cpython" and "{}.{}".format(*sys.version_info) in sys.argv[1:]
sys.exit(not fits or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
"""
"""Whether wheels fit it: true of no PyPy and of no build without the global lock."""
EXTENSIONS = """
import pathlib, sysconfig, duckdb
files = sorted(pathlib.Path(sysconfig.get_path("purelib")).glob("duckdb_extension_*/extensions/*/*.duckdb_extension"))
for file in files:
    duckdb.execute(f"FORCE INSTALL '{file}'")
    duckdb.execute(f"LOAD {file.stem}")
"""


def installed() -> bool:
    """Whether it is there, whole."""
    return STAMP.is_file()


def find_python(environment: Mapping[str, str], uv: Path) -> str | None:
    """A Python that local-bigquery runs on: named by nobody, so looked for; None when there is none."""
    return next((python for python in _candidates(environment, uv) if _runs(python, USABLE, *SERIES)), None)


def install(python: str, uv: Path) -> None:
    """Make the environment anew: exactly what the lock says, DuckDB's extensions from the same lock's wheels."""
    _do(str(uv), "venv", "--quiet", "--clear", "--python", python, str(PLACE))
    _do(str(uv), "pip", "sync", "--quiet", "--python", str(PYTHON), "--require-hashes", str(LOCK))
    HOME.mkdir()
    _do(str(PYTHON), "-c", EXTENSIONS, environment=os.environ | {"HOME": str(HOME)})
    STAMP.touch()


def _candidates(environment: Mapping[str, str], uv: Path) -> Iterator[str]:
    """Every program that may be one: the first of a name on the PATH is often a shim that fails, so all of them."""
    folders = [Path(folder) for folder in environment.get("PATH", "").split(os.pathsep) if folder]
    for series in SERIES:
        yield from (str(folder / f"python{series}") for folder in folders)
    yield from (str(folder / "python3") for folder in folders)
    for series in SERIES:
        for root in _pyenv_roots(environment):
            yield from (str(path) for path in sorted(root.glob(f"versions/{series}*/bin/python"), reverse=True))
    for series in SERIES:
        yield _said(environment, str(uv), "python", "find", "--managed-python", "--no-python-downloads", series)


def _pyenv_roots(environment: Mapping[str, str]) -> list[Path]:
    pyenv = shutil.which("pyenv", path=environment.get("PATH", ""))
    named = [environment.get("PYENV_ROOT", ""), _said(environment, pyenv, "root") if pyenv else ""]
    return [*(Path(root) for root in named if root), Path(environment.get("HOME", "/")) / ".pyenv"]


def _said(environment: Mapping[str, str], *command: str) -> str:
    """What a command printed, nothing when it failed."""
    try:
        done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _runs(python: str, *code: str) -> bool:
    """Whether this program is there and ends well."""
    if not Path(python).is_file():
        return False
    try:
        return subprocess.run([python, "-c", *code], capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _do(*command: str, environment: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr, env=environment)


def main() -> None:
    """Install it where there is a Python for it; say what is missing where there is none."""
    uv = Path(sys.executable).with_name("uv")
    python = find_python(os.environ, uv)
    if python is None:
        print(MISSING, file=sys.stderr)  # noqa: T201 - make's user reads it
        return
    install(python, uv)


if __name__ == "__main__":
    main()
