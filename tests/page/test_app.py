"""The application itself: what it answers when all is well, when something is missing, when there is no lake."""

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from threading import Event

import pytest
from fastapi import Depends, HTTPException
from fastapi.testclient import TestClient
from tests.lakes import say_publishing, settings, write_run
from tests.page.addresses import FAST, PAGES, REPLAYED, RUN, TRIAL
from tests.page.serving import MORNING, app_over, until_read

from evalbench import pipeline
from evalbench.errors import UsageError
from evalbench.settings import Settings
from evalbench.storage import LocalStorage, lake_of
from evalbench.web.app import create_app
from evalbench.web.security import CONTENT_SECURITY_POLICY
from evalbench.web.store import FRESH_S, Store

CHART = f"/chart/task_quality.svg?{FAST}&date=2026-11-28"


@pytest.fixture(scope="module")
def client(lake: Path) -> Iterator[TestClient]:
    """Asks the page over the lake with a history."""
    with TestClient(app_over(lake, MORNING)) as asking:
        until_read("/", asking.get)
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


@pytest.fixture
def two_dates(tmp_path: Path) -> Path:
    """A lake of one subject that was decided on two dates."""
    for day in (27, 28):
        write_run(tmp_path / "runs", f"run-{day}", day)
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    return tmp_path / "lake"


AGENT = "product=shop&suite=orders&environment=offline&candidate=agent-1"
EVERY_PAGE = (
    "/", f"/candidate?{AGENT}", "/run?run_id=run-27", "/trial?run_id=run-27&task_id=t1&trial=0", "/contradictions",
    "/quality", "/search?q=run",
)  # fmt: skip


def test_a_date_that_is_left_out_is_said_on_top_of_every_page(two_dates: Path) -> None:
    """Before anything that is shown: without the date, an older decision looks like the newest one."""
    say_publishing(two_dates, date(2026, 11, 28))
    said = "2026-11-28 is being published and not on this page yet."
    with TestClient(create_app(lambda: store_of(two_dates))) as client:
        until_read("/", client.get)
        for path in EVERY_PAGE:
            answer = client.get(path)
            assert 200 == answer.status_code
            assert said in answer.text.partition("<h1>")[0], path
            assert "shown as it was" not in answer.text
        chosen = client.get("/?date=2026-11-28").text
        assert f'<p class="strong">{said}</p>' in chosen
        assert "No decision matches these filters." in client.get("/?date=2026-11-26").text
        for path in (
            f"/candidate?{AGENT}&date=2026-11-28",
            "/run?run_id=run-28",
            f"/chart/costs.svg?{AGENT}&date=2026-11-28",
        ):
            answer = client.get(path)
            assert (404, True) == (answer.status_code, said in answer.text), path


def test_a_lake_of_which_nothing_can_be_shown_is_not_called_empty(two_dates: Path) -> None:
    """Its only dates are being published: the board says so, not that no run was."""
    for day in (27, 28):
        say_publishing(two_dates, date(2026, 11, day))
    with TestClient(create_app(lambda: store_of(two_dates))) as client:
        page = until_read("/", client.get)
    assert '<p class="strong">2026-11-27, 2026-11-28 are being published and not on this page yet.</p>' in page
    assert "no run has been published" not in page


def test_what_is_not_of_now_is_said_on_top_of_every_page(two_dates: Path) -> None:
    """A date shown as it was before, and a lake that can't be read any more."""
    passed = [0.0]

    def open_store() -> Store:
        return Store(LocalStorage(str(two_dates)), lambda: MORNING, lambda: passed[0], patience=60)

    def tops() -> Iterator[tuple[str, str]]:
        passed[0] += FRESH_S
        yield from ((path, client.get(path).text.partition("<h1>")[0]) for path in EVERY_PAGE)

    with TestClient(create_app(open_store)) as client:
        until_read("/", client.get)
        say_publishing(two_dates, date(2026, 11, 28))
        for path, top in tops():
            assert "2026-11-28 is being published: shown as it was before." in top, path
            assert "not on this page" not in top
        next(two_dates.glob("trends/decision_log/*/*.parquet")).write_bytes(b"no parquet")
        for path, top in tops():
            assert "<b>What is shown is as of 2026-12-01 07:30 UTC.</b> Since then the lake can't be read: " in top, (
                path
            )


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
        until_read("/", client.get)


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
        page = until_read("/", client.get)
        found = [part.partition('"')[0] for name in ("href", "src", "action") for part in page.split(f' {name}="')[1:]]
        assert found
        assert all(address.startswith(("/airflow/evalbench/", "#")) for address in found)


def test_the_lake_is_only_read(lake: Path, tmp_path: Path) -> None:
    """Every page and download over a lake whose files can't be written: all open, and nothing was added."""
    copy = tmp_path / "lake"
    shutil.copytree(lake, copy)
    before = {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
    with TestClient(app_over(copy, MORNING)) as client:
        until_read("/", client.get)
        for path in (*PAGES.values(), CHART, "/download/board.csv"):
            assert client.get(path).status_code in (200, 404)
    assert before == {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
