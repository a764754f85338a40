"""Airflow executes every file under its plugins folder under the file's bare name; this project must not let it.

Each case is a real Airflow process with its own home.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).with_name("probe.py")


def load(home: Path, dags: Path, plugins: Path) -> dict[str, Any]:
    """What an Airflow process holds after it loaded these plugins and DAGs."""
    told = home / "told.json"
    environment = os.environ | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(plugins),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    with told.open("w", encoding="utf-8") as out:
        subprocess.run([sys.executable, PROBE, dags, plugins], env=environment, stdout=out, check=True, timeout=120)
    text = told.read_text(encoding="utf-8")
    seen: dict[str, Any] = json.loads(text[text.index('{"plugins"') :])
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, root: Path) -> dict[str, Any]:
    """The repository's own plugins and DAGs, loaded."""
    return load(tmp_path_factory.mktemp("airflow"), root / "dags", root / "plugins")


def test_exactly_one_plugin_is_registered_and_it_is_ours(seen: dict[str, Any]) -> None:
    """The entry point registers the plugin; the folder registers nothing beside it; neither reports an error."""
    assert ["evalbench"] == seen["plugins"]
    assert {} == seen["errors"]
    assert all(source.startswith("evalbench==") for source in seen["sources"])


def test_the_dags_import_without_error(seen: dict[str, Any]) -> None:
    """A DAG file that can't be imported would vanish from Airflow silently."""
    assert {} == seen["dag_errors"]


def test_no_module_of_the_plugins_folder_runs_under_its_bare_name(seen: dict[str, Any]) -> None:
    """Everything loaded from the folder is `evalbench` or inside it: no bare stem, no `plugins.evalbench`."""
    assert [] == [name for name in seen["modules"] if name.partition(".")[0] != "evalbench"]
    assert "evalbench/plugin.py" == seen["modules"]["evalbench.plugin"]


def test_no_file_of_the_plugins_folder_is_loaded_twice(seen: dict[str, Any]) -> None:
    """One file, one module: a second copy would have its own classes, and `isinstance` would lie."""
    assert [] == [path for path, times in Counter(seen["modules"].values()).items() if times > 1]


def test_a_folder_without_the_ignore_file_does_run_modules_under_bare_names(tmp_path: Path) -> None:
    """The trap is real and the probe sees it: the day Airflow stops doing this, the ignore file can go."""
    (tmp_path / "dags").mkdir()
    package = tmp_path / "plugins" / "pack"
    package.mkdir(parents=True)
    (package / "stray_module.py").write_text("", encoding="utf-8")
    assert "pack/stray_module.py" == load(tmp_path, tmp_path / "dags", tmp_path / "plugins")["modules"]["stray_module"]
