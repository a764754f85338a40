"""The page as Airflow's processes meet it: what it costs, how it ends, whose connections it uses, where it leads.

Each case is a real Airflow process with its own home.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LOADED = """
import json, sys
import airflow.configuration, airflow.plugins_manager as plugins
from airflow.listeners.listener import get_listener_manager
before = set(sys.modules)
plugins.ensure_plugins_loaded()
plugins.integrate_macros_plugins()
plugins.integrate_listener_plugins(get_listener_manager())
for asked in (
    plugins.get_operator_extra_links, plugins.get_timetables_plugins, plugins.get_partition_mapper_plugins,
    plugins.get_windows_plugins, plugins.get_deadline_references_plugins, plugins.get_flask_plugins,
    plugins._get_ui_plugins,
):
    asked()
names = [plugin.name for plugin in plugins._get_plugins()[0]]
added = {name.partition(".")[0] for name in set(sys.modules) - before}
heavy = {"fastapi", "starlette", "jinja2", "duckdb", "altair", "vl_convert", "pyarrow", "pandas"} & added
print(json.dumps([names, sorted(heavy), sorted(name for name in sys.modules if name.startswith("evalbench."))]))
"""

WITHOUT = """
import json, logging, sys
from fastapi import FastAPI
from fastapi.testclient import TestClient
from airflow.api_fastapi.app import init_plugins
from airflow import plugins_manager
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append([record.levelname, record.getMessage(), str(record.exc_info and record.exc_info[1])])
logging.getLogger("evalbench.plugin").addHandler(Keep())
sys.modules["{missing}"] = None
app = FastAPI()
init_plugins(app)
views = [view["name"] for view in plugins_manager._get_ui_plugins()[0]]
print(json.dumps([plugins_manager.get_fastapi_plugins()[0], views, records]))
"""

ENDED = """
import json, os, threading, time
from datetime import UTC, datetime
from fastapi import FastAPI
from fastapi.testclient import TestClient
from airflow.api_fastapi.app import lifespan
from evalbench.storage import LocalStorage
from evalbench.web.app import create_app
from evalbench.web.store import Store

def threads():
    return sorted({thread.name.rpartition("_")[0] for thread in threading.enumerate() if "evalbench" in thread.name})

app = FastAPI(lifespan=lifespan)
lake = LocalStorage(os.environ["AIRFLOW_HOME"])
app.mount("/evalbench", create_app(lambda: Store(lake, lambda: datetime(2026, 12, 1, tzinfo=UTC))))
with TestClient(app) as client:
    status = client.get("/evalbench/").status_code
    during = threads()
deadline = time.monotonic() + 30
while threads() and time.monotonic() < deadline:
    time.sleep(0.05)
print(json.dumps([status, during, threads()]))
"""

CONNECTED = """
import json, os
from evalbench.airflow_connections import google_access
from evalbench.errors import UsageError
try:
    print(json.dumps(type(google_access("our_cloud", "api-server").credentials()).__name__))
except UsageError as error:
    print(json.dumps(str(error)))
"""


def told(code: str, **env: str) -> Any:
    """What a new Python prints as JSON."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=ours | env, capture_output=True, text=True, check=False, timeout=120
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_an_airflow_process_pays_for_the_page_only_when_it_is_asked(tmp_path: Path) -> None:
    """Scheduler, DAG processor, workers and triggerer load all plugins with everything but applications: that adds
    neither web framework, templates, charts nor engine to what Airflow itself imports, and of ours one module.
    """
    assert [["evalbench"], [], ["evalbench.plugin"]] == told(
        LOADED, AIRFLOW_HOME=str(tmp_path), AIRFLOW__CORE__LOAD_EXAMPLES="False"
    )


@pytest.mark.parametrize("missing", ["altair", "duckdb", "evalbench.web.mounted"])
def test_airflow_starts_where_the_page_cant(tmp_path: Path, missing: str) -> None:
    """Something that the page is made with isn't installed beside the api-server: Airflow's UI comes up without the
    page, and the log says what is missing and what to do.
    """
    apps, views, ((level, said, error),) = told(WITHOUT.format(missing=missing), AIRFLOW_HOME=str(tmp_path))
    assert ([], ["Evaluations"], "ERROR") == (apps, views, level)
    assert "Install evalbench with everything it requires" in said
    assert missing in error


def test_the_page_ends_with_airflow(tmp_path: Path) -> None:
    """Airflow's server lets what is mounted into it end in its own order: no thread of the page is left then."""
    status, during, after = told(ENDED, AIRFLOW_HOME=str(tmp_path))
    assert (200, ["evalbench-lake", "evalbench-page"], []) == (status, during, after)


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        ({"conn_type": "google_cloud_platform", "extra": {"is_anonymous": True}}, "AnonymousCredentials"),
        (
            None,
            "(AirflowNotFoundException); see that it exists on this api-server, as a Google connection with a whole",
        ),
        (
            {"conn_type": "google_cloud_platform", "extra": {"keyfile_dict": "a secret that is no key"}},
            "EVALBENCH_GOOGLE_CONNECTION: the Airflow connection 'our_cloud' can't be used (AirflowException);",
        ),
    ],
    ids=["good", "missing", "broken"],
)
def test_the_lakes_connection_is_airflows(tmp_path: Path, connection: dict[str, object] | None, said: str) -> None:
    """What it holds is used; an error names the setting and the connection, and nothing of what it holds."""
    given = {} if connection is None else {"AIRFLOW_CONN_OUR_CLOUD": json.dumps(connection)}
    answer = told(CONNECTED, AIRFLOW_HOME=str(tmp_path), **given)
    assert said in answer
    assert "a secret" not in answer


@pytest.mark.parametrize(
    ("base_url", "href"),
    [
        ("http://localhost:8080", "/evalbench/"),
        ("https://example.org/team/airflow/", "/team/airflow/evalbench/"),
        ("", "/evalbench/"),
    ],
)
def test_the_navigation_leads_to_where_airflow_is(tmp_path: Path, base_url: str, href: str) -> None:
    """Airflow may live below a path of its host; the entry follows its own address."""
    code = (
        "import json; from evalbench.plugin import EvalbenchPlugin as P; print(json.dumps(P.external_views[0]['href']))"
    )
    assert href == told(code, AIRFLOW_HOME=str(tmp_path), AIRFLOW__API__BASE_URL=base_url)


def test_the_dag_links_to_the_page(root: Path, tmp_path: Path) -> None:
    """Its documentation in Airflow leads to where the plugin's entry in the navigation does."""
    code = f"""
import json
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(dag_folder={str(root / "dags" / "evalbench_nightly.py")!r})
print(json.dumps(bag.dags["evalbench_nightly"].doc_md))
"""
    doc = told(code, AIRFLOW_HOME=str(tmp_path), AIRFLOW__API__BASE_URL="https://example.org/team/airflow")
    assert "[Evaluations](/team/airflow/plugin/evalbench)" in doc
