"""Loads the plugins and the DAGs in a fresh Airflow process and prints, as JSON, what that process then holds."""

import json
import sys
from pathlib import Path

from airflow import plugins_manager
from airflow.dag_processing.dagbag import DagBag

plugins, errors = plugins_manager._get_plugins()
bag = DagBag(dag_folder=sys.argv[1])
folder = Path(sys.argv[2]).resolve()


def origin(name: str) -> Path | None:
    """The file a loaded module came from."""
    file = getattr(sys.modules[name], "__file__", None)
    return Path(file).resolve() if file else None


found = {name: path for name in list(sys.modules) if (path := origin(name)) and path.is_relative_to(folder)}
json.dump(
    {
        "plugins": sorted(str(plugin.name) for plugin in plugins),
        "sources": sorted(str(plugin.source) for plugin in plugins),
        "errors": errors,
        "dag_errors": bag.import_errors,
        "modules": {name: str(path.relative_to(folder)) for name, path in sorted(found.items())},
    },
    sys.stdout,
)
