"""The application itself: what it answers when all is well, when something is missing, when there is no lake."""

import asyncio
import gc
import re
import shutil
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Event, Semaphore

import pytest
from fastapi import Depends, HTTPException
from fastapi.testclient import TestClient
from playwright.sync_api import Browser
from tests.lakes import say_publishing, settings, write_run
from tests.page.addresses import FAST, PAGES, RUN, TRIAL
from tests.page.serving import MORNING, app_over, until_read

from evalbench import pipeline
from evalbench.errors import UsageError
from evalbench.settings import Settings
from evalbench.storage import LocalStorage, lake_of
from evalbench.web.app import create_app, draw_one
from evalbench.web.charts import kinds
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.security import CONTENT_SECURITY_POLICY
from evalbench.web.serving import THREADS, Site
from evalbench.web.store import FRESH_S, Store, View

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
        (f"/run?run_id={'x' * 3000}", 404, "x" * 3000),
        (f"/candidate?{FAST}&date=2026-01-01", 404, "nothing was decided on 2026-01-01"),
        ("/candidate?product=release-inversion", 400, "suite is missing in the address"),
        ("/?decision=MAYBE", 400, "&#39;MAYBE&#39; is none of PASS, FAIL, INSUFFICIENT_EVIDENCE"),
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


@pytest.mark.parametrize("name", [*PAGES])
def test_every_page_says_as_of_when_it_is(client: TestClient, name: str) -> None:
    """The state of the lake is named at the foot of each page that shows something of it."""
    answer = client.get(PAGES[name])
    error = name == "an error"
    assert (404 if error else 200) == answer.status_code
    assert error is not ("newest run 2026-11-30" in answer.text.partition("<footer>")[2])


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


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/?candidate=nobody", "No decision matches these filters. "),
        ("/?date=2026-11-28", ""),
        (
            "/contradictions?candidate=nobody",
            "No trial here has a quality that a decision counts, so none was praised. ",
        ),
        ("/contradictions?date=2026-11-28", ""),
        ("/search?q=run-28", "No run id and no task id contains “run-28”. "),
    ],
)
def test_nothing_is_not_said_of_a_date_that_is_left_out(two_dates: Path, path: str, said: str) -> None:
    """Where nothing was found on all dates, the one that may hold it is named; on itself, nothing else is said."""
    say_publishing(two_dates, date(2026, 11, 28))
    with TestClient(create_app(lambda: store_of(two_dates))) as client:
        until_read("/", client.get)
        page = client.get(path).text
    assert f'<p class="strong">{said}2026-11-28 is being published and not on this page yet.</p>' in page


def test_a_file_from_a_lake_that_is_not_shown_whole_says_so_in_its_name(two_dates: Path) -> None:
    """What stands above the page isn't in the file, and a file is passed on without the page."""
    names = []
    for writing in (False, True):
        say_publishing(two_dates, date(2026, 11, 28), writing=writing)
        with TestClient(create_app(lambda: store_of(two_dates))) as client:
            until_read("/", client.get)
            names.append(client.get("/download/board.csv").headers["Content-Disposition"].partition("=")[2])
    assert ['"evalbench-board.csv"', '"evalbench-board-incomplete.csv"'] == names


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


def test_a_lost_file_and_a_damaged_one_are_said_on_top_of_every_page(two_dates: Path) -> None:
    """What is missing and what to do, and not that it comes by itself."""
    next(two_dates.glob("trends/runs/run_date=2026-11-28/*.parquet")).unlink()
    damaged = min(two_dates.glob("trends/run_states/*/*.parquet"))
    damaged.write_bytes(b"no parquet")
    with TestClient(create_app(lambda: store_of(two_dates))) as client:
        until_read("/", client.get)
        for path in EVERY_PAGE:
            top = client.get(path).text.partition("<h1>")[0]
            assert "its files are not those of its record (a file is lost or damaged): run the pipeline again." in top
            assert "being published" not in top, path
            assert "publishing was interrupted" not in top, path
            assert f"{damaged.name}: this file about an execution of the pipeline can&#39;t be read" in top, path


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


def test_an_address_that_ends_in_nonsense_breaks_no_script(site: str, browser: Browser) -> None:
    """What stands behind its # may be anything, and not even decodable."""
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{site}/#%E0%A4%A")
    page.evaluate("() => { window.location.hash = '#%'; }")
    page.wait_for_function("() => window.location.hash === '#%'")
    page.reload()
    page.close()
    assert [] == errors


def test_a_lake_that_is_not_there_is_a_page_that_says_so(tmp_path: Path) -> None:
    """503, with the lake's name and what to do, as before a first night; the page asks again until it is there."""
    lake = tmp_path / "lake"
    with TestClient(create_app(lambda: store_of(lake))) as client:
        answer = client.get("/")
        assert (503, True) == (answer.status_code, int(answer.headers["Refresh"]) < 10)
        assert "<h1>Nothing is decided yet</h1>" in re.sub("<span.*?</span>", "", answer.text)
        assert f"{lake}: no lake here; run the pipeline first, or set EVALBENCH_LAKE to its lake." in answer.text
        (lake / "commits").mkdir(parents=True)
        deadline = time.monotonic() + 60
        while client.get("/").status_code == 503 and time.monotonic() < deadline:
            time.sleep(0.2)
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


def test_while_the_lake_is_read_for_the_first_time_every_answer_says_so(tmp_path: Path) -> None:
    """A large lake takes a while: 503 with a page that says since when and asks again by itself, also for a chart or a
    file; it isn't called a lake that can't be read. Then the board.
    """
    go_on = Event()

    def open_slowly() -> Store:
        assert go_on.wait(60)
        return store_of(tmp_path)

    with TestClient(create_app(open_slowly)) as client:
        for path in ("/", CHART, "/download/board.csv"):
            answer = client.get(path)
            assert 503 == answer.status_code
            assert "Reading the lake" in answer.text
            assert re.search(r"since this server started, \d+ s so far\.", answer.text)
            assert "can&#39;t be read" not in answer.text
            assert answer.headers["refresh"]
        go_on.set()
        until_read("/", client.get)


class SlowFacts(LocalStorage):
    """A lake whose facts aren't listed before a test says so, at most after a minute. asked: set per listing."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.go_on, self.asked = Event(), Semaphore(0)

    def paths(self, prefix: str = "") -> list[str]:
        """As ever, once it goes on."""
        if prefix.startswith("facts"):
            self.asked.release()
            assert self.go_on.wait(60)
        return super().paths(prefix)


def test_reads_that_hang_cost_no_page_from_memory_and_few_threads(two_dates: Path) -> None:
    """However many ask for runs and trials of a bucket that doesn't answer: each is told so after its time, no more
    than a few threads hang, and board, charts and tables are there as ever; once the bucket answers, so do runs.
    """
    lake = SlowFacts(two_dates)
    trial = "run_id=run-27&task_id=t1&trial=0"
    reading = (
        "/run?run_id=run-27",
        f"/trial?{trial}",
        "/download/trials.csv?run_id=run-27",
        f"/download/tools.csv?{trial}",
    )
    app = create_app(lambda: Store(lake, lambda: MORNING), read_within_s=0.5)
    with TestClient(app) as client, ThreadPoolExecutor(3 * THREADS) as visitors:
        until_read("/", client.get)
        answers = list(visitors.map(client.get, reading * 3))
        assert [503] * 12 == [answer.status_code for answer in answers]
        assert all("the lake didn&#39;t answer within 0.5 s; try again" in answer.text for answer in answers)
        assert [True] * THREADS + [False] == [lake.asked.acquire(timeout=0) for _ in range(THREADS + 1)]
        for path in (
            "/",
            f"/candidate?{AGENT}",
            "/quality",
            "/search?q=run",
            f"/chart/costs.svg?{AGENT}",
            "/download/board.csv",
        ):
            assert 200 == client.get(path).status_code, path
        lake.go_on.set()
        for path in reading:
            until_read(path, client.get)


def test_rows_that_nobody_sees_any_more_are_let_go(tmp_path: Path) -> None:
    """After each night only the newest state of the lake is in memory, not the first one as well."""
    passed = [0.0]
    opened: list[Store] = []

    def open_store() -> Store:
        opened.append(Store(LocalStorage(str(tmp_path / "lake")), lambda: MORNING, lambda: passed[0], patience=60))
        return opened[0]

    held = []
    write_run(tmp_path / "runs", "run-0", 27)
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    with TestClient(create_app(open_store)) as client:
        until_read("/", client.get)
        for number in range(1, 4):
            held.append(weakref.ref(opened[0].view().snapshot.database))
            write_run(tmp_path / "runs", f"run-{number}", 27)
            pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
            passed[0] += FRESH_S
            assert f"run-{number}" in client.get("/search?q=run-").text
        deadline = time.monotonic() + 60
        while any(database() is not None for database in held) and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.05)
    assert [None] * 3 == [database() for database in held]


def test_what_is_done_once_the_lake_is_read_keeps_nobody_waiting(two_dates: Path) -> None:
    """Pages are answered while it goes on, and also after it failed."""
    go_on, begun = Event(), Event()

    def prepare(_: View) -> None:
        begun.set()
        assert go_on.wait(60)
        raise ZeroDivisionError

    async def views() -> list[str]:
        site = Site(lambda: store_of(two_dates), prepare)
        try:
            seen = [(await site.view()).version]
            assert await asyncio.to_thread(begun.wait, 60)
            seen.append(await site.run((await site.view()).as_of.missing))
            go_on.set()
            seen.append((await site.view()).version)
        finally:
            go_on.set()
            site.close()
        return seen

    with ThreadPoolExecutor(1) as apart:  # the browser of other tests has a loop in this thread
        first, missing, last = apart.submit(asyncio.run, views()).result(120)
    assert "" == missing
    assert first == last


def test_a_chart_is_drawn_of_whatever_lake_is_read(two_dates: Path, tmp_path: Path) -> None:
    """Of its first subject, so that a visitor's first chart isn't a process's first; of an empty lake none."""
    (tmp_path / "empty").mkdir()
    assert "<svg" in (draw_one(store_of(two_dates).view()) or "")
    assert None is draw_one(store_of(tmp_path / "empty").view())


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


@pytest.mark.parametrize(
    "path", ["/", RUN, CHART, "/download/board.csv", "/static/page.css", "/nowhere", "/run?run_id=nobody"]
)
def test_who_asks_for_the_head_is_told_the_same(client: TestClient, path: str) -> None:
    """Monitors ask with HEAD: the status and the type are those of the page itself."""
    whole, head = client.get(path), client.head(path)
    assert whole.status_code == head.status_code
    assert whole.headers["content-type"] == head.headers["content-type"]


def test_nothing_can_be_written(client: TestClient) -> None:
    """The page answers GET and HEAD alone."""
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert 405 == client.request(method, "/").status_code


def test_below_another_path_every_address_is_below_it(lake: Path) -> None:
    """Mounted somewhere, also behind a proxy's prefix, links, files and forms stay there."""
    with TestClient(app_over(lake, MORNING), root_path="/airflow/evalbench") as client:
        page = until_read("/", client.get)
        found = [part.partition('"')[0] for name in ("href", "src", "action") for part in page.split(f' {name}="')[1:]]
        assert found
        assert all(address.startswith(("/airflow/evalbench/", "#")) for address in found)


class ReadOnly(LocalStorage):
    """A lake with the right to read alone, also for a superuser."""

    def create(self, path: str, data: bytes) -> bool:
        """Refused."""
        raise PermissionError(path)

    def write_atomic(self, path: str, data: bytes) -> bool:
        """Refused."""
        raise PermissionError(path)

    def delete(self, path: str) -> bool:
        """Refused."""
        raise PermissionError(path)


def test_the_lake_is_only_read(lake: Path, tmp_path: Path) -> None:
    """Every page, chart and download over a lake that can't be written, without stored verdicts: all open, and nothing
    was added or changed.
    """
    copy = tmp_path / "lake"
    shutil.copytree(lake, copy)
    shutil.rmtree(copy / "verdicts")
    before = {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
    pages = [path for name, path in PAGES.items() if name != "an error"]
    charts = [f"/chart/{kind}.svg?{FAST}" for kind in kinds()]
    everything = f"{FAST}&run_id=inversion-fast-v2&task_id=t4&trial=0&list=quarantined&q=t4"
    downloads = [f"/download/{table}.csv?{everything}" for table in DOWNLOADS]
    with TestClient(create_app(lambda: Store(ReadOnly(str(copy)), lambda: MORNING))) as client:
        until_read("/", client.get)
        for path in (*pages, *charts, *downloads):
            assert 200 == client.get(path).status_code, path
    assert before == {path: path.stat().st_mtime_ns for path in sorted(copy.rglob("*"))}
