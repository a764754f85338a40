"""A release manager reads: from the board to the very trial, with filters, downloads and addresses to pass on."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.sync_api import Browser, Page, expect
from tests.lakes import RECORD, settings, write_run
from tests.page.addresses import FAST, REPLAYED, RUN, TRIAL
from tests.page.serving import MORNING, app_over, served, until_read
from tests.page.visiting import visiting

from evalbench import pipeline
from evalbench.settings import Settings
from evalbench.storage import LocalStorage, lake_of
from evalbench.web.app import create_app
from evalbench.web.links import Links
from evalbench.web.models.run import run_page
from evalbench.web.pages import shell
from evalbench.web.rendering import render
from evalbench.web.store import Store

COSTS = {"t1": 0.3, "t3": 0.1}
"""US dollars of the trials of a run that planned t2, too."""
TRAP = "/run?run_id=trap-judge-contradiction"
GIT = "https://git.example/{path}/{file}#L{row}"


def downloaded(page: Page, name: str) -> list[dict[str, str]]:
    """The rows of the CSV behind a download link."""
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name, exact=True).click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_board_says_what_may_ship_and_why_the_rest_is_held(browser: Browser, site: str) -> None:
    """Counts on top, held subjects first within a date, the deciding sentence, n/d beside every value, its age."""
    with visiting(browser, site) as visit:
        page = visit.open("/")
        expect(page.get_by_role("list", name="Decisions")).to_contain_text("1 may ship")
        rows = page.locator(".board tbody tr")
        fast = rows.filter(has=page.get_by_role("link", name="fast-v2", exact=True))
        expect(fast).to_contain_text("Failed")
        expect(fast).to_contain_text("1/5 declared completions failed at the destination: t4")
        expect(fast).to_contain_text(re.compile(r"0\.902\s*4\.51 / 5"))
        expect(fast).to_contain_text("2026-11-28, 3 days old")
        stable = rows.filter(has=page.get_by_role("link", name="stable-v1", exact=True))
        expect(stable).to_contain_text("May ship")
        assert ["Failed", "Failed", "May ship"] == [
            text.strip() for text in rows.locator(".decision").all_inner_texts()[:3]
        ]


def test_what_may_ship_is_one_click_away(browser: Browser, site: str) -> None:
    """The counts on top filter the board, keep the other filters, and lead back."""
    with visiting(browser, site) as visit:
        page = visit.open("/?product=release-inversion")
        rows, counts = page.locator(".board tbody tr"), page.get_by_role("list", name="Decisions")
        expect(page.locator("main")).to_contain_text("1 of 2 held: what failed, and what lacks evidence")
        counts.get_by_role("link", name="1 may ship").click()
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("stable-v1")
        page.get_by_role("button", name="Filter", exact=True).click()
        expect(rows).to_have_count(1)
        counts.get_by_role("link", name="1 may ship").click()
        expect(rows).to_have_count(2)
        assert page.url.endswith("/?product=release-inversion")


def test_what_is_not_known_says_why_and_is_never_zero(browser: Browser, site: str) -> None:
    """Replayed runs have no bill and no grades: the cells say so, and hold no number."""
    with visiting(browser, site) as visit:
        page = visit.open(f"/?{REPLAYED.partition('&')[0]}")
        cell = page.locator(".board tbody tr .signal").nth(3)
        expect(cell).to_contain_text("Not available")
        expect(cell).to_contain_text("no trial has a bill")
        expect(cell).not_to_contain_text("$0")


def test_what_was_not_counted_of_a_summary_is_not_zero(lake: Path) -> None:
    """A model wrote it, and neither its calls, its thinking nor a price is known: each is said, beside what is."""
    store = Store(LocalStorage(str(lake)), lambda: MORNING)
    page = run_page(store.view(), "inversion-fast-v2")
    store.close()
    told = replace(page.summary, state="generated", model="m", calls=None, tokens_in=1200, tokens_out=1)
    assert (None, None) == (told.tokens_thinking, told.cost_usd)
    said = render("run.html", **shell(Links(base=""), "run"), page=replace(page, summary=told))
    assert "m, calls not counted, 1,200 tokens in, 1 token out, tokens of thinking not counted, not priced." in said


def test_from_the_board_down_to_the_trial(browser: Browser, site: str) -> None:
    """Subject, deciding check, the trial behind it: each one click, and each page says where it is."""
    with visiting(browser, site) as visit:
        page = visit.open("/")
        page.get_by_role("link", name="fast-v2", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("fast-v2")
        page.get_by_role("link", name="inversion-fast-v2", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Run inversion-fast-v2")
        page.get_by_role("link", name="t4", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Trial t4")
        trail = page.get_by_role("list", name="Where this is").get_by_role("listitem")
        assert ["Board", "fast-v2", "inversion-fast-v2", "t4"] == trail.all_inner_texts()
        page.get_by_role("link", name="false_success", exact=True).click()
        expect(page.locator("#check-14, #check-13, #check-12").filter(has_text="decides")).to_be_in_viewport()


def test_the_trial_shows_what_was_expected_beside_what_was_called(browser: Browser, site: str) -> None:
    """The credit note that was never asked for: one call missing, another on top, and the receipt of the latter."""
    with visiting(browser, site) as visit:
        page = visit.open(TRIAL)
        rows = page.locator(".aligned tbody tr")
        said = [row.locator(".between").inner_text().split("\n")[1] for row in rows.all()]
        assert ["as expected", "as expected", "extra", "missing"] == said
        expect(rows.filter(has_text="approvals__open_request")).to_contain_text("never called")
        expect(page.get_by_role("region", name="Effects")).to_contain_text("billing:customers/C-3175/balance")
        expect(page.locator("#outcome + dl")).to_contain_text("trials.jsonl line 4")


@pytest.fixture(scope="module")
def framed(lake: Path) -> Iterator[str]:
    """The page in a frame as Airflow 3.3 makes one, which lets no window be opened from within."""
    used, around = Settings(lake=str(lake), clock=MORNING), FastAPI()
    sandbox = "allow-scripts allow-same-origin allow-forms allow-downloads"
    frame = f'<iframe title="Evaluations" sandbox="{sandbox}" src="/evalbench{TRIAL}"></iframe>'
    around.add_api_route("/", lambda: HTMLResponse(frame))
    site = create_app(lambda: Store(lake_of(used), used.now), source_url=lambda: GIT)
    around.mount("/evalbench", site)
    with served(around) as address:
        until_read(f"{address}/evalbench/")
        yield address


@pytest.mark.parametrize("frame", [True, False])
def test_a_place_opens_in_a_tab_of_its_own(browser: Browser, framed: str, frame: bool) -> None:
    """In Airflow's frame and outside of it: the very line, in a tab that has no way back, and the page stays."""
    context = browser.new_context()
    context.route("https://git.example/**", lambda route: route.fulfill(body="the file"))
    page = context.new_page()
    page.goto(framed if frame else f"{framed}/evalbench{TRIAL}")
    inside = page.frame_locator("iframe[title=Evaluations]") if frame else page
    place = inside.locator("#outcome + dl a")
    expect(place).to_have_text("inversion-fast-v2/trials.jsonl line 4")
    with context.expect_page() as opened:
        place.click()
    opened.value.wait_for_load_state()
    assert "https://git.example/inversion-fast-v2/trials.jsonl#L4" == opened.value.url
    assert opened.value.evaluate("window.opener") is None
    expect(inside.get_by_role("heading", level=1)).to_have_text("Trial t4")
    assert 2 == len(context.pages)
    context.close()


def test_filters_narrow_the_board_and_stand_in_its_address(browser: Browser, site: str) -> None:
    """What was chosen is in the query string, chosen again when the address is opened, and can be dropped."""
    with visiting(browser, site) as visit:
        page = visit.open("/")
        page.get_by_label("Product", exact=True).select_option("release-inversion")
        page.get_by_label("Date", exact=True).select_option("2026-11-24")
        page.get_by_role("button", name="Filter").click()
        assert "product=release-inversion" in page.url
        assert "date=2026-11-24" in page.url
        assert ["fast-v2", "stable-v1"] == sorted(page.locator(".subject").all_inner_texts())
        again = visit.open(page.url.removeprefix(site))
        expect(again.get_by_label("Date", exact=True)).to_have_value("2026-11-24")
        again.get_by_role("link", name="Show all", exact=True).click()
        assert page.locator(".subject").count() > 2


def test_everything_works_without_a_script(browser: Browser, site: str) -> None:
    """The same filters, the same way down, the same tables; only sorting and the switch of colours are missing."""
    with visiting(browser, site, java_script_enabled=False) as visit:
        page = visit.open("/")
        page.get_by_label("Product", exact=True).select_option("release-inversion")
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="fast-v2", exact=True).click()
        page.get_by_role("link", name="inversion-fast-v2", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Run inversion-fast-v2")
        assert 0 == page.locator("button.sort:visible, .theme:visible").count()


def test_a_table_is_sorted_by_its_header_with_the_absent_last(browser: Browser, site: str) -> None:
    """By number up and down, said to assistive technology, and what isn't available stays at the end both ways."""
    with visiting(browser, site) as visit:
        page = visit.open("/")
        head = page.locator(".board thead th").filter(has_text="Task quality")
        values = page.locator(".board tbody tr > td:nth-of-type(2)")
        for order, first in (("ascending", "0.818"), ("descending", "0.902")):
            head.get_by_role("button").click()
            assert order == head.get_attribute("aria-sort")
            assert values.nth(0).inner_text().startswith(first)
            assert values.last.inner_text().startswith("Not available")


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page over two runs of a date: one with a trial without a record, one with many of them."""
    folder = tmp_path_factory.mktemp("gaps")
    for name, planned in (("few", "{tasks: [t1, t2, t3], trials: 1}"), ("many", "{tasks: [t1], trials: 1200}")):
        manifest = write_run(folder / "runs", name, 1) / "run.yaml"
        manifest.write_text(manifest.read_text().replace("{tasks: [t1], trials: 1}", planned))
    records = [{**RECORD, "task_id": task, "cost": {"usd": usd, "state": "billed"}} for task, usd in COSTS.items()]
    (folder / "runs" / "few" / "trials.jsonl").write_text("\n".join(map(json.dumps, records)))
    pipeline.run(settings(folder / "runs", folder / "lake"))
    with served(app_over(folder / "lake", MORNING)) as address:
        until_read(address)
        yield address


def test_a_row_that_only_says_why_it_is_empty_can_be_sorted_by(browser: Browser, gaps: str) -> None:
    """A planned trial without a record is one wide cell: by every column the others are sorted, and it comes last."""
    with visiting(browser, gaps) as visit:
        page = visit.open("/run?run_id=few")
        table = page.get_by_role("region", name="Trials")
        tasks = table.locator("tbody tr th")
        assert 10 == table.locator("thead th").count()
        for head in table.locator("thead th").all()[1:]:
            for _ in ("up", "down"):
                head.get_by_role("button").click()
                assert "t2 (no record)" == tasks.last.inner_text()
        by_cost = table.locator("thead th").filter(has_text="Cost").get_by_role("button")
        for expected in (["t3", "t1", "t2 (no record)"], ["t1", "t3", "t2 (no record)"]):
            by_cost.click()
            assert expected == tasks.all_inner_texts()


def test_thousands_are_sorted_as_numbers(browser: Browser, gaps: str) -> None:
    """1,200 is more than 3, though it begins with a smaller digit."""
    with visiting(browser, gaps) as visit:
        page = visit.open("/candidate?product=shop&suite=orders&environment=offline&candidate=agent-1")
        table = page.get_by_role("region", name="Runs of the window")
        by_planned = table.locator("thead th").filter(has_text="Planned").get_by_role("button")
        for expected in (["few", "many"], ["many", "few"]):
            by_planned.click()
            assert expected == table.locator("tbody tr th").all_inner_texts()


def test_the_board_as_a_file_has_the_numbers_of_the_board(browser: Browser, site: str) -> None:
    """Numerators and denominators are columns of their own, what is absent is empty, and the reason stands beside."""
    with visiting(browser, site) as visit:
        rows = {row["candidate"]: row for row in downloaded(visit.open("/"), "CSV of the board")}
        assert "FAIL" == rows["fast-v2"]["decision"]
        assert ("4.51", "5") == tuple(rows["fast-v2"][f"task_quality_{part}"] for part in ("numerator", "denominator"))
        assert "" == rows["gemini_cli/synthetic-secrets"]["task_quality_value"]
        assert "no completed trial was graded" == rows["gemini_cli/synthetic-secrets"]["task_quality_not_available"]


@pytest.mark.parametrize(
    ("path", "name", "rows"),
    [
        (f"/candidate?{FAST}", "CSV of Signals on 2026-11-28", 5),
        (f"/candidate?{FAST}", "CSV of signals and costs on all dates", 14),
        (f"/candidate?{FAST}", "CSV of pass^k on all dates", 14),
        (f"/candidate?{FAST}", "CSV of Gate checks on 2026-11-28, in their order", 27),
        (f"/candidate?{FAST}", "CSV of Decisions of record", 22),
        (f"/candidate?{FAST}", "CSV of Runs of the window", 1),
        (RUN, "CSV of Trials", 5),
        (RUN, "CSV of Metrics", 18),
        (TRAP, "CSV of What misleads, or is missing", 7),
        (TRAP, "CSV of What summary.csv claims, and what its own scores say", 7),
        ("/contradictions", "CSV of the contradictions", 24),
        ("/quality", "CSV of Accounting", 2),
        ("/quality", "CSV of Quarantined: 1", 1),
        ("/search?q=T4", "CSV of Tasks: 2", 2),
    ],
)
def test_every_table_can_be_taken_along(browser: Browser, site: str, path: str, name: str, rows: int) -> None:
    """A download has the rows of the table it stands beside, or of all dates where it says so."""
    with visiting(browser, site) as visit:
        assert rows == len(downloaded(visit.open(path), name))


def test_a_run_or_task_is_found_by_a_part_of_its_name(browser: Browser, site: str) -> None:
    """The search in every header finds runs and trials, in any case of letters."""
    with visiting(browser, site) as visit:
        page = visit.open("/quality")
        page.get_by_role("searchbox").fill("FAST-V2")
        page.get_by_role("searchbox").press("Enter")
        page.get_by_role("link", name="inversion-fast-v2", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Run inversion-fast-v2")


def test_charts_are_drawn_and_said(browser: Browser, site: str) -> None:
    """Every chart of the candidate page is an image that loads, and its text says the newest value as n/d."""
    with visiting(browser, site) as visit:
        page = visit.open(f"/candidate?{FAST}")
        for image in page.locator("figure img.only-light").all():
            image.scroll_into_view_if_needed()
            expect(image).to_have_js_property("naturalWidth", 506)
        alt = page.locator("figure img.only-light").first.get_attribute("alt") or ""
        assert alt.startswith("Task quality over 14 dates: 0.902 (4.51 / 5) on 2026-11-28")


def test_definition_changes_stand_beside_the_charts(browser: Browser, site: str) -> None:
    """The day on which the policy became stricter is numbered in the charts and named in a list."""
    with visiting(browser, site) as visit:
        page = visit.open(f"/candidate?{FAST}")
        changes = page.get_by_role("list", name="Definition changes")
        expect(changes).to_contain_text("2026-11-21: policy")


def test_what_was_not_understood_is_told(browser: Browser, site: str) -> None:
    """Quarantined, in progress, excluded and ignored entries, each with what to do, and accounting that closes."""
    with visiting(browser, site) as visit:
        page = visit.open("/quality")
        expect(page.get_by_role("region", name=re.compile("^Quarantined"))).to_contain_text("inversion-fast-v2-copy")
        expect(page.get_by_role("region", name=re.compile("^In progress"))).to_contain_text("inversion-broken-manifest")
        expect(page.get_by_role("region", name=re.compile("^Excluded"))).to_contain_text("started with the wrong image")
        assert 0 == page.get_by_text("no: a pipeline error").count()


def test_an_address_keeps_its_date_and_says_that_a_newer_one_is_there(browser: Browser, site: str) -> None:
    """What is passed on today shows the same decision tomorrow, and leads to tomorrow's."""
    with visiting(browser, site) as visit:
        page = visit.open("/?product=release-inversion")
        page.get_by_role("link", name="fast-v2", exact=True).click()
        assert page.url.endswith("&date=2026-11-28")
        newer = page.get_by_role("link", name=re.compile("A newer decision"))
        expect(newer).to_have_count(0)
        visit.open(page.url.removeprefix(site).replace("2026-11-28", "2026-11-27"))
        newer.click()
        expect(page.get_by_role("heading", name="Decision on 2026-11-28")).to_be_attached()
