"""The application itself: what it answers when all is well, when something is missing, when there is no lake."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fastapi import Depends, HTTPException
from fastapi.testclient import TestClient
from tests.page.addresses import FAST, PAGES, REPLAYED, RUN, TRIAL
from tests.page.serving import MORNING, app_over

from evalbench.errors import UsageError
from evalbench.settings import Settings
from evalbench.storage import lake_of
from evalbench.web.app import create_app
from evalbench.web.security import CONTENT_SECURITY_POLICY
from evalbench.web.store import Store

CHART = f"/chart/task_quality.svg?{FAST}&date=2026-11-28"


@pytest.fixture(scope="module")
def client(lake: Path) -> Iterator[TestClient]:
    """Asks the page over the lake with a history."""
    with TestClient(app_over(lake, MORNING)) as asking:
        while asking.get("/").status_code == 503:
            pass
        yield asking


def store_of(lake: Path) -> Store:
    """A store over a lake, with the tests' clock."""
    settings = Settings(lake=str(lake), clock=MORNING)
    return Store(lake_of(settings), settings.now)


@pytest.mark.parametrize("path", [*PAGES.values(), CHART, "/download/board.csv", "/static/page.css", "/nowhere"])
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    """Pages, drawings, files and errors alike: nothing foreign runs, no type is guessed, no address leaks."""
    headers = client.get(path).headers
    assert CONTENT_SECURITY_POLICY == headers["content-security-policy"]
    assert "nosniff" == headers["x-content-type-options"]
    assert "same-origin" == headers["referrer-policy"]
    assert headers["cache-control"].startswith("private")


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nowhere", 404, "There is no page nowhere."),
        ("/static/secrets.env", 404, "no such file"),
        ("/static/..%2Fapp.py", 404, "There is no page"),
        ("/run?run_id=nobody", 404, "nobody"),
        ("/run", 400, "run_id is missing in the address"),
        (f"/run?run_id={'x' * 3000}", 400, "more than 2,000 letters"),
        (f"/candidate?{FAST}&date=2026-01-01", 404, "nothing was decided on 2026-01-01"),
        ("/candidate?product=release-inversion", 400, "suite is missing in the address"),
        ("/?date=yesterday", 400, "&#39;yesterday&#39; is no date"),
        (TRIAL.replace("trial=0", "trial=%C2%B2"), 400, "is no number of a trial"),
        (f"/chart/nothing.svg?{FAST}", 404, "no such chart; there are task_quality"),
        ("/download/nothing.csv", 404, "no such download; there are board"),
        ("/download/entries.csv?list=secrets", 400, "is none of quarantined"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_a_page(client: TestClient, path: str, status: int, said: str) -> None:
    """An error is a page with the way back to the board, and says what was wrong with the address."""
    answer = client.get(path)
    assert status == answer.status_code
    assert said in answer.text
    assert "To the board" in answer.text


def test_every_page_says_as_of_when_it_is(client: TestClient) -> None:
    """The state of the lake is named at the foot of each page."""
    for path in (*PAGES.values(), f"/candidate?{REPLAYED}", RUN):
        answer = client.get(path)
        assert answer.status_code == 404 or "newest run 2026-11-30" in answer.text, path


def test_a_drawing_may_be_kept_while_its_rows_stand(client: TestClient) -> None:
    """Its address on the page names the rows; asked for by another name, it is drawn anew each time."""
    page = client.get(f"/candidate?{FAST}").text
    address = page.partition('class="only-light" loading="lazy" width="506" height="208" src="')[2].partition('"')[0]
    kept = client.get(address.replace("&amp;", "&"))
    assert "image/svg+xml" == kept.headers["content-type"].partition(";")[0]
    assert "max-age" in kept.headers["cache-control"]
    assert "private, no-store" == client.get(CHART).headers["cache-control"]
    assert kept.text == client.get(CHART).text


def test_a_file_of_the_page_is_kept_and_named_by_its_content(client: TestClient) -> None:
    """A new version of the page has other addresses for its files, so that no old one is used with it."""
    page = client.get("/").text
    address = page.partition('<link rel="stylesheet" href="')[2].partition('"')[0]
    assert "/static/page.css?v=" in address
    assert "max-age" in client.get(address).headers["cache-control"]


def test_a_lake_that_is_not_there_is_a_page_that_says_so(tmp_path: Path) -> None:
    """503, with the lake's name and what to do; once it is there, the same server shows it."""
    lake = tmp_path / "lake"
    with TestClient(create_app(lambda: store_of(lake))) as client:
        answer = client.get("/")
        assert 503 == answer.status_code
        assert "The lake can&#39;t be read" in answer.text or "The lake can't be read" in answer.text
        assert "EVALBENCH_LAKE" in answer.text
        (lake / "commits").mkdir(parents=True)
        assert 200 == client.get("/").status_code


def test_settings_that_are_wrong_are_said_on_the_page(tmp_path: Path) -> None:
    """Airflow's server starts with a variable that can't be used; the page then says which one, until it is mended."""
    wrong = [True]

    def open_store() -> Store:
        if wrong:
            raise UsageError("EVALBENCH_LAKE: 'https://x' can't be used")
        return store_of(tmp_path)

    with TestClient(create_app(open_store)) as client:
        assert "EVALBENCH_LAKE" in client.get("/").text
        wrong.clear()
        assert 200 == client.get("/").status_code


def test_an_empty_lake_says_what_to_do(tmp_path: Path) -> None:
    """No decision yet is not an error: every page opens and says that there is nothing."""
    with TestClient(create_app(lambda: store_of(tmp_path))) as client:
        for path in ("/", "/contradictions", "/quality", "/search?q=x"):
            answer = client.get(path)
            assert 200 == answer.status_code
            assert 'class="empty"' in answer.text


def test_while_the_lake_is_read_for_the_first_time_the_page_says_so(tmp_path: Path) -> None:
    """A large lake takes a while: 503 with a page that asks again by itself, then the board."""
    go_on = Event()

    def open_slowly() -> Store:
        assert go_on.wait(30)
        return store_of(tmp_path)

    with TestClient(create_app(open_slowly)) as client:
        answer = client.get("/")
        assert 503 == answer.status_code
        assert "Reading the lake" in answer.text
        assert answer.headers["refresh"]
        go_on.set()
        assert any(client.get("/").status_code == 200 for _ in range(50))


def test_a_fault_of_the_page_shows_no_trace(tmp_path: Path) -> None:
    """500, with the policy, and nothing of the code in it: the server's log has the rest."""

    def open_nothing() -> Store:
        raise ZeroDivisionError("a secret detail")

    with TestClient(create_app(open_nothing), raise_server_exceptions=False) as client:
        answer = client.get("/")
        assert 500 == answer.status_code
        assert "a secret detail" not in answer.text
        assert CONTENT_SECURITY_POLICY == answer.headers["content-security-policy"]


@pytest.mark.parametrize("status", [401, 403])
def test_who_is_refused_is_told_why_and_given_nothing_else(lake: Path, status: int) -> None:
    """The guard stands before every address; its page needs no other file, which would be refused, too."""

    def refuse() -> None:
        raise HTTPException(status)

    with TestClient(create_app(lambda: store_of(lake), [Depends(refuse)])) as client:
        for path in ("/", RUN, CHART, "/download/board.csv", "/static/page.css", "/nowhere"):
            answer = client.get(path)
            assert status == answer.status_code
            assert "static/" not in answer.text
            assert "fast-v2" not in answer.text


def test_nothing_can_be_written(client: TestClient) -> None:
    """The page answers GET alone."""
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert 405 == client.request(method, "/").status_code


def test_below_another_path_every_address_is_below_it(lake: Path) -> None:
    """Mounted somewhere, also behind a proxy's prefix, links, files and forms stay there."""
    with TestClient(app_over(lake, MORNING), root_path="/airflow/evalbench") as client:
        while (answer := client.get("/")).status_code == 503:
            pass
        found = [
            part.partition('"')[0] for name in ("href", "src", "action") for part in answer.text.split(f' {name}="')[1:]
        ]
        assert found
        assert all(address.startswith(("/airflow/evalbench/", "#")) for address in found)


def told(code: str, **env: str) -> Any:
    """What a new Python prints as JSON."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("AIRFLOW")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=ours | env, capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_an_airflow_process_pays_for_the_page_only_when_it_is_asked(tmp_path: Path) -> None:
    """Importing the plugin adds neither web framework, templates, charts nor engine to what Airflow itself imports."""
    code = """
import json, sys
import airflow.plugins_manager, airflow.configuration
before = set(sys.modules)
from evalbench.plugin import EvalbenchPlugin
EvalbenchPlugin().external_views
added = {name.partition(".")[0] for name in set(sys.modules) - before}
heavy = {"fastapi", "starlette", "jinja2", "duckdb", "altair", "vl_convert", "pyarrow", "pandas"} & added
print(json.dumps([sorted(heavy), sorted(name for name in sys.modules if name.startswith("evalbench."))]))
"""
    assert [[], ["evalbench.plugin"]] == told(code, AIRFLOW_HOME=str(tmp_path))


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


def test_the_lake_is_only_read(lake: Path, tmp_path: Path) -> None:
    """Every page and download over a lake whose files can't be written: all open, and nothing was added."""
    copy = tmp_path / "lake"
    shutil.copytree(lake, copy)
    before = {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
    with TestClient(app_over(copy, MORNING)) as client:
        while client.get("/").status_code == 503:
            pass
        for path in (*PAGES.values(), CHART, "/download/board.csv"):
            assert client.get(path).status_code in (200, 404)
    assert before == {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
