"""Data quality says `nothing` of what the lake tells whole, and of anything else that it isn't known."""

import csv
import io
import shutil
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient
from tests.lakes import say_publishing, settings, write_run

from evalbench import pipeline
from evalbench.storage import LocalStorage
from evalbench.web.app import create_app
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.links import Links
from evalbench.web.models.board import board
from evalbench.web.models.filters import filters_of
from evalbench.web.models.parts import Filters, MissingError
from evalbench.web.models.quality import LISTS, quality
from evalbench.web.pages import PAGES
from evalbench.web.report import Scope, report
from evalbench.web.store import Store, View

NOW = datetime(2026, 12, 4, 6, tzinfo=UTC)
FIRST, SECOND = "2026-12-02", "2026-12-03"
LAST_ONE = "the last one that looked at every date"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two pipeline runs. By the second one there are two quarantined directories and a late one, and an
    entry that is no run; nothing is lost or in progress.
    """
    folder = tmp_path_factory.mktemp("quality")
    runs, lake = folder / "runs", folder / "lake"
    write_run(runs, "first", 1)
    pipeline.run(settings(runs, lake, clock=f"{FIRST}T06:00:00Z"))
    write_run(runs, "late", 1)
    write_run(runs, "twin", 2, run_id="first")
    (write_run(runs, "torn", 2) / "run.yaml").write_bytes(b"run_id: [")
    (runs / "note.txt").write_text("no run")
    pipeline.run(settings(runs, lake, clock=f"{SECOND}T06:00:00Z"))
    return lake


@pytest.fixture
def lake(published: Path, tmp_path: Path) -> Path:
    """A lake of the test's own."""
    return Path(shutil.copytree(published, tmp_path / "lake"))


def store_of(lake: Path) -> Store:
    """The lake as one server reads it."""
    return Store(LocalStorage(str(lake)), lambda: NOW)


def view_of(lake: Path) -> View:
    """The lake as the page sees it."""
    return store_of(lake).view()


def shown(view: View, **given: str) -> str:
    """The page's HTML, its apostrophes as letters."""
    return unescape(PAGES["quality"](view, Links(base=""), given))


def file_of(lake: Path, table: str, day: str) -> Path:
    """What a pipeline run wrote of a table."""
    (found,) = lake.glob(f"trends/{table}/run_date={day}/*.parquet")
    return found


def lose(file: Path, how: str) -> None:
    """Damage a file, or delete it."""
    if how == "damaged":
        file.write_bytes(b"no parquet")
    else:
        file.unlink()


def rows_of(view: View, name: str) -> list[dict[str, str]]:
    """The rows of a list's file."""
    return list(csv.DictReader(io.StringIO(DOWNLOADS["entries"](view, {"list": name}), newline="")))


def test_what_is_told_whole_is_said(lake: Path) -> None:
    """Every list with its entries and its file; of what was counted and isn't there, that there is nothing."""
    view = view_of(lake)
    found = quality(view, Filters())
    assert ((), True) == (found.not_known, found.told_last)
    assert [2, 0, 0, 0, 1, 1] == [found.entry_totals[name] for name in LISTS]
    assert [found.entry_totals[name] for name in LISTS] == [len(rows_of(view, name)) for name in LISTS]
    page = shown(view)
    assert f"{LAST_ONE}. Nothing is lost on the way or in progress or excluded by the operator." in page
    assert "isn't known" not in page


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("whole", "2 directories of the runs root are in no number: quarantined 2."),
        ("deleted", "Whether directories of the runs root are in no number isn't known."),
    ],
)
def test_the_board_says_what_no_number_counts(lake: Path, how: str, said: str) -> None:
    """Otherwise a candidate whose only run was quarantined is missing there without a word."""
    if how != "whole":
        lose(file_of(lake, "run_states", SECOND), how)
    view = view_of(lake)
    assert said == board(view, Filters()).kept_out == report(view, Scope()).kept_out
    assert f"{said} <a" in unescape(PAGES[""](view, Links(base=""), {}))


@pytest.mark.parametrize("how", ["damaged", "deleted"])
def test_what_nobody_can_tell_is_not_called_nothing(lake: Path, how: str) -> None:
    """Without the rows of the last pipeline run, of which its accounting counts some: neither on the page, whatever is
    chosen, nor as a file of a header alone. What it counts none of is none.
    """
    lose(file_of(lake, "run_states", SECOND), how)
    view = view_of(lake)
    found = quality(view, Filters())
    assert ["quarantined", "excluded", "ignored", "late"] == list(found.not_known)
    for given in ({}, {"candidate": "agent-1"}, {"candidate": "nobody"}):
        page = shown(view, **given)
        assert (
            "What is quarantined or late or excluded by the operator or ignored isn't known, or not all of it:" in page
        )
        assert "othing is lost on the way or in progress." in page.replace("Of what is chosen nothing", "Nothing")
    for name in LISTS:
        if name not in found.not_known:
            assert [] == rows_of(view, name)
            continue
        with pytest.raises(MissingError, match=rf"What is {name} isn't known, or not all of it"):
            rows_of(view, name)
    with TestClient(create_app(lambda: store_of(lake))) as client:
        answer = client.get("/download/entries.csv?list=quarantined")
        assert (404, True) == (answer.status_code, "What is quarantined isn&#39;t known" in answer.text)


def test_a_list_that_lacks_entries_says_so(lake: Path) -> None:
    """What is there of it is shown, as at least so much, and its file isn't linked; it isn't called all of them."""
    file = file_of(lake, "run_states", SECOND)
    rows = pq.read_table(file)
    twin = rows["path"].to_pylist().index("twin")
    pq.write_table(rows.slice(0, twin), file)
    view = view_of(lake)
    assert "quarantined" in quality(view, Filters()).not_known
    page = shown(view)
    assert "Quarantined: at least 1<" in page
    assert "list=quarantined" not in page
    with pytest.raises(MissingError):
        rows_of(view, "quarantined")


def test_a_late_entry_may_be_told_by_an_older_pipeline_run(lake: Path) -> None:
    """Without its file nothing is said to be late or not; what the last one found is all there."""
    lose(file_of(lake, "run_states", FIRST), "deleted")
    view = view_of(lake)
    assert ("late",) == quality(view, Filters()).not_known
    assert "Late: at least 1<" in shown(view)
    assert 2 == len(rows_of(view, "quarantined"))


@pytest.mark.parametrize("how", ["damaged", "deleted"])
def test_an_older_pipeline_run_is_not_called_the_last(lake: Path, how: str) -> None:
    """Where the newest one's accounting can't be read, what an older one found isn't of now."""
    lose(file_of(lake, "accounting", SECOND), how)
    view = view_of(lake)
    found = quality(view, Filters())
    assert (False, date(2026, 12, 2), ("late",)) == (found.told_last, found.executions[0].day, found.not_known)
    page = shown(view)
    assert LAST_ONE not in page
    assert "the newest one on this page that looked at every date; there may be a later one." in page


def test_an_older_accounting_that_is_deleted_hides_no_newer_one(lake: Path) -> None:
    """The last one is the last one."""
    lose(file_of(lake, "accounting", FIRST), "deleted")
    assert LAST_ONE in shown(view_of(lake))


@pytest.mark.parametrize("how", ["damaged", "deleted"])
def test_without_any_accounting_pipeline_runs_are_not_denied(lake: Path, how: str) -> None:
    """They were; what they told isn't known."""
    for day in (FIRST, SECOND):
        lose(file_of(lake, "accounting", day), how)
    view = view_of(lake)
    page = shown(view)
    assert "Which pipeline runs there were isn't known: their accounting is lost or damaged." in page
    assert "No pipeline run has told" not in page
    with pytest.raises(MissingError):
        rows_of(view, "ignored")


def test_nothing_is_claimed_of_dates_that_are_left_out(lake: Path) -> None:
    """No judge was asked in vain as far as dates are shown, and the rest is named; nor is any pipeline run the last."""
    view = view_of(lake)
    none = "None: no judge was asked in vain."
    assert f">{none}<" in shown(view)
    say_publishing(lake, date(2026, 11, 1))
    view = view_of(lake)
    left_out = "2026-11-01 is being published and not on this page yet."
    assert f">{left_out}<" in shown(view)
    assert none not in shown(view, date="2026-11-01")
    assert f">{none}<" in shown(view, date="2026-11-02")
    assert not quality(view, filters_of({})).told_last
