"""The page where people meet it: in the navigation of a real Airflow, for its users, over the sample lake."""

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect
from scripts.stack_airflow import DIRECT
from tests.lakes import AFTER
from tests.page.addresses import FAST
from tests.page.airflow import Server, api_server
from tests.page.visiting import Visit, visiting

from evalbench import pipeline
from evalbench.settings import Settings
from evalbench.web.pages import PAGES

PATHS = (
    *(f"/{page}" for page in PAGES), f"/candidate?{FAST}", f"/chart/costs.svg?{FAST}", "/download/board.csv",
    "/static/page.css", "/nowhere", "/docs", "/openapi.json",
)  # fmt: skip
"""Every kind of address that the page answers, and some that it doesn't."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Iterator[Server]:
    """Airflow's api-server over a lake made from the samples."""
    lake, samples = tmp_path_factory.mktemp("samples") / "lake", root / "include" / "samples"
    settings = {"runs": str(samples / "runs"), "routing": str(samples / "routing.yaml"), "lake": str(lake)}
    pipeline.run(Settings(**settings, grace_hours=0))  # type: ignore[arg-type]
    with api_server(tmp_path_factory.mktemp("airflow"), lake, AFTER) as started:
        yield started


def signed_in(visit: Visit, server: Server, user: str) -> Page:
    """Airflow's home page, after the login page."""
    page = visit.open("/")
    page.locator("input[name=username]").fill(user)
    page.locator("input[name=password]").fill(server.passwords[user])
    page.locator("button[type=submit]").click()
    return page


def evaluations(page: Page) -> FrameLocator:
    """The page within Airflow's."""
    return page.frame_locator("iframe[title=Evaluations]")


@pytest.mark.parametrize("path", PATHS)
def test_nobody_is_let_in_without_a_login(server: Server, path: str) -> None:
    """401 for every kind of address below the mount, the page's own files and unknown ones included."""
    assert 401 == server.status(f"/evalbench{path}")


@pytest.mark.parametrize("path", PATHS)
def test_who_may_not_read_the_dag_is_refused(server: Server, path: str) -> None:
    """403 for a user of Airflow without any role."""
    assert 403 == server.status(f"/evalbench{path}", "stranger")


def test_who_may_read_the_dag_may_read_the_page(server: Server) -> None:
    """A viewer's token opens it; what isn't there is 404 for them."""
    assert 200 == server.status("/evalbench/quality", "reader")
    assert 404 == server.status("/evalbench/nowhere", "reader")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/", "/quality", "/download/board.csv", "/static/page.css"])
def test_nothing_can_be_written(server: Server, method: str, path: str) -> None:
    """405 for every other method than reading, for an administrator, too."""
    headers = {"Authorization": f"Bearer {server.token('admin')}"}
    request = urllib.request.Request(  # noqa: S310 - our own address
        f"{server.address}/evalbench{path}", b"", headers, method=method
    )
    with pytest.raises(urllib.error.HTTPError, match="405"):
        DIRECT.open(request, timeout=30)


def test_who_is_refused_learns_whom_to_ask(browser: Browser, server: Server) -> None:
    """The page names the right that is missing, and who can give it."""
    with visiting(browser, server.address, expected=(401, 403)) as visit:
        page = signed_in(visit, server, "stranger")
        page.wait_for_url(f"{server.address}/")
        visit.open("/evalbench/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Not allowed")
        expect(page.get_by_role("paragraph")).to_contain_text("may read the DAG evalbench_nightly")
        expect(page.get_by_role("paragraph")).to_contain_text("Ask whoever administers Airflow's users")


def test_from_airflows_navigation_down_to_the_trial(browser: Browser, server: Server) -> None:
    """Login, one click in the navigation, board, candidate, run, trial; every step is in Airflow's own address."""
    with visiting(browser, server.address, expected=(401,)) as visit:
        page = signed_in(visit, server, "reader")
        page.get_by_role("link", name="Evaluations").click()
        inside = evaluations(page)
        expect(inside.get_by_role("heading", level=1)).to_have_text("Release board")
        inside.get_by_role("link", name="fast-v2", exact=True).click()
        expect(inside.get_by_role("heading", level=1)).to_have_text("fast-v2")
        expect(page).to_have_url(re.compile(r"/plugin/evalbench/evalbench/candidate\?.*candidate=fast-v2"))
        inside.get_by_role("link", name="inversion-fast-v2", exact=True).click()
        expect(inside.get_by_role("heading", level=1)).to_have_text("Run inversion-fast-v2")
        expect(page).to_have_url(re.compile(r"/plugin/evalbench/evalbench/run\?run_id=inversion-fast-v2"))
        inside.get_by_role("link", name="t4", exact=True).click()
        expect(inside.get_by_role("heading", level=1)).to_have_text("Trial t4")
        expect(page).to_have_url(re.compile(r"/plugin/evalbench/evalbench/trial\?"))


def test_an_address_can_be_passed_on(browser: Browser, server: Server) -> None:
    """What stands in the browser's address bar opens the same page, inside of Airflow and on its own."""
    with visiting(browser, server.address, expected=(401,)) as visit:
        page = signed_in(visit, server, "admin")
        expect(page.get_by_role("link", name="Evaluations")).to_be_visible()
        visit.open(f"/plugin/evalbench/evalbench/candidate?{FAST}")
        expect(evaluations(page).get_by_role("heading", level=1)).to_have_text("fast-v2")
        visit.open(f"/evalbench/candidate?{FAST}")
        expect(page.get_by_role("heading", level=1)).to_have_text("fast-v2")


def test_filters_downloads_and_colours_work_inside_of_airflow(browser: Browser, server: Server) -> None:
    """Its frame lets forms be sent, scripts run and files be saved."""
    with visiting(browser, server.address, expected=(401,)) as visit:
        page = signed_in(visit, server, "reader")
        page.get_by_role("link", name="Evaluations").click()
        inside = evaluations(page)
        inside.get_by_label("Product", exact=True).select_option("release-inversion")
        inside.get_by_role("button", name="Filter").click()
        expect(inside.locator(".subject")).to_have_text(["fast-v2", "stable-v1"])
        with page.expect_download() as waiting:
            inside.get_by_role("link", name="CSV of the board").click()
        assert "evalbench-board.csv" == waiting.value.suggested_filename
        inside.get_by_role("button", name="Show in dark colours").click()
        expect(inside.locator("html")).to_have_attribute("data-theme", "dark")
