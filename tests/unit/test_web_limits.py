"""However much a run directory holds of one thing, its page shows little of it and says so; its files hold all."""

import csv
import io
import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest
from tests.lakes import RECORD, settings, write_run

from evalbench import pipeline
from evalbench.storage import LocalStorage
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.links import Links
from evalbench.web.models.run import run_page
from evalbench.web.pages import MOST_FACTS, MOST_SIBLINGS, PAGES
from evalbench.web.store import Store, View

NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
SAMPLE = "trap-judge-outage"
MANY = 2 * MOST_FACTS


def view_of(folder: Path) -> View:
    """The page's view of a lake of the runs in a folder."""
    pipeline.run(settings(folder / "runs", folder / "lake"))
    return Store(LocalStorage(str(folder / "lake")), lambda: NOW).view()


def shown(view: View, page: str, given: Mapping[str, str]) -> str:
    """A page's HTML, its apostrophes as letters."""
    return unescape(PAGES[page](view, Links(base=""), given))


def rows_of(view: View, table: str, given: Mapping[str, str]) -> int:
    """How many rows a file has."""
    return len(list(csv.DictReader(io.StringIO(DOWNLOADS[table](view, given), newline=""))))


def section(page: str, name: str) -> str:
    """The part of a page that a heading with this id begins."""
    return page.partition(f' id="{name}"')[2].partition("</section>")[0]


@pytest.fixture(scope="module")
def many_comparators(tmp_path_factory: pytest.TempPathFactory, sample_runs: Path) -> View:
    """A run each of whose trials has two rows of every one of many comparators, as its summary.csv claims."""
    folder = tmp_path_factory.mktemp("comparators")
    run = folder / "runs" / SAMPLE
    shutil.copytree(sample_runs / SAMPLE, run)
    names = [f"comparator-{number}" for number in range(MANY)]
    with (run / "scores.csv").open("a", newline="") as scores:
        for name in names:
            for task in ("outage-01", "outage-02"):
                csv.writer(scores).writerow([name, "", "", "unknown", "[]", "", "skipped", task, SAMPLE, "1.0"])
    with (run / "summary.csv").open("a", newline="") as summary:
        for name in names:
            csv.writer(summary).writerow([name, "1.0", "9.0", "4", SAMPLE, "2026-11-27 01:00:00.000000"])
    return view_of(folder)


@pytest.mark.parametrize("table", ["metrics", "claims", "findings"])
def test_a_run_of_very_many_comparators_has_a_page_of_few(many_comparators: View, table: str) -> None:
    """The first of its metrics, claims and findings, each metric with its health; the file has every one."""
    given = {"run_id": SAMPLE}
    total = rows_of(many_comparators, table, given)
    assert total > MANY
    found = section(shown(many_comparators, "run", given), table)
    assert f">{MOST_FACTS} of {total} shown; the CSV has all.<" in found
    assert MOST_FACTS == found.count('<tr><th scope="row"')
    assert '<td colspan="3"></td>' not in found


def test_health_stands_with_its_metric(many_comparators: View) -> None:
    """By name, also of those that the page leaves out."""
    page = run_page(many_comparators, SAMPLE, facts=1)
    assert (1, 1, 1) == (len(page.metrics), len(page.claims), len(page.findings))
    of_last = page.health[f"comparator-{MANY - 1}"]
    assert (0, 2, None) == (of_last.n, of_last.unavailable, of_last.variance)


def test_a_trial_of_very_many_verdicts_has_a_page_of_few(many_comparators: View) -> None:
    """Its file has them all."""
    given = {"run_id": SAMPLE, "task_id": "outage-01", "trial": "0"}
    total = rows_of(many_comparators, "verdicts", given)
    assert total > MANY
    found = section(shown(many_comparators, "trial", given), "verdicts")
    assert f">{MOST_FACTS} of {total} shown; the CSV has all.<" in found
    assert MOST_FACTS == found.count('<tr><th scope="row"')


def test_a_trial_of_very_many_effects_and_siblings_has_a_page_of_few(tmp_path: Path) -> None:
    """The first of both; the file of effects has them all, and that of the run's trials has every sibling."""
    run = write_run(tmp_path / "runs", "run-1", 28)
    (effect,) = json.loads(json.dumps(RECORD))["effects"]
    effects = [{**effect, "id": f"e{number}", "idempotency_key": f"k{number}"} for number in range(MANY)]
    records = [{**RECORD, "effects": effects}, *({**RECORD, "trial": number} for number in range(1, MOST_SIBLINGS + 3))]
    (run / "trials.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    view = view_of(tmp_path)
    given = {"run_id": "run-1", "task_id": "t1", "trial": "0"}
    page = shown(view, "trial", given)
    assert f">{MOST_FACTS} of {MANY} shown; the CSV has all.<" in section(page, "effects")
    assert MOST_FACTS == section(page, "effects").count('<tr><th scope="row"')
    assert MANY == rows_of(view, "effects", given)
    said = f">{MOST_SIBLINGS} of {MOST_SIBLINGS + 2} other trials of the task shown; the run's CSV of trials has all.<"
    assert said in page
    assert MOST_SIBLINGS + 3 == rows_of(view, "trials", given)


def test_what_fits_is_whole(tmp_path: Path) -> None:
    """Nothing is said to be left out of a small run or trial."""
    write_run(tmp_path / "runs", "run-1", 28)
    view = view_of(tmp_path)
    for name in ("run", "trial"):
        assert "has all." not in shown(view, name, {"run_id": "run-1", "task_id": "t1", "trial": "0"})
