"""Downloads hold all there is, narrowed as the page is, and nothing in them is a formula wherever lines are split."""

import csv
import io
import json
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lakes import RECORD, settings, write_run

from evalbench import pipeline
from evalbench.lake.commits import commit_path
from evalbench.storage import LocalStorage
from evalbench.web.csv_files import DOWNLOADS, file_name
from evalbench.web.csv_text import csv_text
from evalbench.web.models.contradictions import contradictions
from evalbench.web.models.filters import filters_of
from evalbench.web.models.parts import Filters
from evalbench.web.models.quality import LISTS, quality
from evalbench.web.models.run import run_page
from evalbench.web.models.search import search
from evalbench.web.store import Store, View

SEPARATORS = (",", ";", "\t", "|")
HARMFUL = (
    "=1+1", "+1", "-1+1", "@SUM(1)", " =1+1", "\uff1d1+1", "\u200b=1", "\ufeff@x", "\x00=1", "\x7f-1", "\u202e+1",
)  # fmt: skip


def view_of(lake: Path) -> View:
    """The lake as the page sees it after its newest run."""
    return Store(LocalStorage(str(lake)), lambda: datetime(2026, 12, 2, 6, tzinfo=UTC)).view()


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a CSV file by their header."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def read(text: str, separator: str = ",") -> list[list[str]]:
    """The cells that a spreadsheet finds in a file when it splits lines at a separator."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


# -- cells -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HARMFUL)
def test_no_text_is_a_formula(text: str) -> None:
    """A spreadsheet shows an apostrophe and the text, whatever stood unseen before its sign."""
    assert [[f"'{text}"]] == read(csv_text((), [(text,)]))[1:]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (";'=cmd", ";=cmd"),
        ("a;'=cmd", "a;=cmd"),
        ("'\t'=cmd", "\t=cmd"),
        ("'\r\n'=1", "\r\n=1"),
        ("a\n'@x", "a\n@x"),
        ("a|' -1", "a| -1"),
        ("'=1;'+2", "=1;+2"),
        ("a;'\"=1", 'a;"=1'),
        ("'=1", "'=1"),
        ("a, =1; b - c", "a, =1; b - c"),
        ("", ""),
    ],
)
def test_no_part_of_a_text_is_a_formula_behind_a_separator(shown: str, text: str) -> None:
    """Each part that a spreadsheet of another locale would take for a cell has an apostrophe of its own."""
    assert [["x", shown, "y"]] == read(csv_text((), [("x", text, "y")]))[1:]


nasty = st.text(st.sampled_from(list("=+-@;|\t\r\n,\"' ax1\u200b\ufeff\uff1d\x00")), max_size=12) | st.text(max_size=8)


@given(texts=st.lists(nasty, min_size=1, max_size=4), separator=st.sampled_from(SEPARATORS))
def test_no_cell_begins_like_a_formula_wherever_lines_are_split(texts: list[str], separator: str) -> None:
    """By the separator of any locale, with quotes that count at the start of a cell or count nowhere."""
    text = csv_text((), [("first", *texts)])
    by_quotes = [cell for row in read(text.replace("\0", ""), separator) for cell in row]
    bare = text.replace("\r", "\n").replace("\n", separator).split(separator)
    for cell in [*by_quotes, *(bare if separator != "," else [])]:
        begins = cell.replace("\uff1d", "=").lstrip(' \t\r\n\0"\u200b\ufeff')[:1]
        assert begins not in tuple("=+-@"), cell


@given(nasty)
def test_every_text_survives(text: str) -> None:
    """But for apostrophes, what is read back is what was written, in one cell."""
    (row,) = read(csv_text((), [(text, "x")]))[1:]
    assert [text.replace("'", ""), "x"] == [row[0].replace("'", ""), row[1]]


def test_numbers_dates_and_absence_stay_what_they_are() -> None:
    """A negative number is a number and a text that looks like one isn't; nothing is an empty cell, not a zero."""
    values = (-0.5, -3, Decimal("-1.890"), "-0.5", True, date(2026, 11, 28), {"wait_overdue": 2}, ("a", "b"), None)
    expected = '-0.5,-3,-1.890,\'-0.5,true,2026-11-28,wait overdue 2,"a, b",\r\n'
    assert expected == csv_text((), [values]).removeprefix("\r\n")


def test_half_a_character_is_replaced() -> None:
    """No file can hold one; the rest of the text is there."""
    assert "a\ufffdb" == csv_text((), [("a\ud800b",)]).strip()


# -- as much as there is ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three praised failures of one candidate, in two runs of two models; entries that are no runs, torn or doubled."""
    folder = tmp_path_factory.mktemp("downloads")
    runs, lake = folder / "runs", folder / "lake"
    praised = json.loads(json.dumps(RECORD)) | {"quality": {"score": 0.9, "grader": {"kind": "model", "name": "g"}}}
    praised["outcome"]["state"] = "failed"
    silent = json.loads(json.dumps(RECORD)) | {"task_id": "t9", "quality": {"grader": {"kind": "model", "name": "h"}}}
    for name, day, tasks in (("first", 1, ("t1", "t2")), ("second", 2, ("t3",))):
        run = write_run(runs, name, day)
        (run / "run.yaml").write_text((run / "run.yaml").read_text() + f"model: m-{day}\n")
        records = [praised | {"task_id": task} for task in tasks]
        (run / "trials.jsonl").write_text("\n".join(json.dumps(record) for record in [*records, silent]))
    for name in ("note.txt", "other.txt"):
        (runs / name).write_text("no run")
    pipeline.run(settings(runs, lake))
    write_run(runs, "late", 1)
    write_run(runs, "twin", 2, run_id="first")
    write_run(runs, "usurper", 3, "agent-2", run_id="second")
    (write_run(runs, "torn", 2) / "run.yaml").write_bytes(b"run_id: [")
    pipeline.run(settings(runs, lake, clock="2026-12-03T06:00:00Z"))
    return lake


@pytest.fixture(scope="module")
def view(lake: Path) -> View:
    """That lake as the page sees it."""
    return view_of(lake)


def test_models_hold_all_or_the_first_of_it(view: View) -> None:
    """What is left out is in the total; a download has as many rows as the total says."""
    some = contradictions(view, Filters(), 2)
    assert (2, 3) == (len(some.rows), some.total)
    assert some.rows == contradictions(view, Filters()).rows[:2]
    assert some.total == len(rows_of(DOWNLOADS["contradictions"](view, {})))
    told = quality(view, Filters(), rows=1, executions=1)
    assert (1, 2) == (len(told.executions), told.executions_total)
    assert told.executions_total == len(rows_of(DOWNLOADS["accounting"](view, {})))
    assert (1, 2) == (len(told.judge_failures), told.judge_failures_total)
    assert told.judge_failures_total == len(rows_of(DOWNLOADS["judge_failures"](view, {})))
    for name in LISTS:
        assert min(1, told.entry_totals[name]) == len(getattr(told, name))
        assert told.entry_totals[name] == len(rows_of(DOWNLOADS["entries"](view, {"list": name})))
    assert (2, 3, 2) == tuple(told.entry_totals[name] for name in ("ignored", "quarantined", "late"))
    hits = search(view, "t", 1)
    assert (1, 1, 2, 4) == (len(hits.runs), len(hits.tasks), hits.runs_total, hits.tasks_total)
    assert hits.runs_total == len(rows_of(DOWNLOADS["found_runs"](view, {"q": "t"})))
    assert hits.tasks_total == len(rows_of(DOWNLOADS["found_tasks"](view, {"q": "t"})))
    page = run_page(view, "first", trials=1, defects=0)
    assert (1, 3, ()) == (len(page.trials), page.trials_total, page.defects)
    assert page.trials_total == len(rows_of(DOWNLOADS["trials"](view, {"run_id": "first"})))


@pytest.mark.parametrize(
    ("given", "quarantined", "late", "judges"),
    [
        ({}, ["torn", "twin", "usurper"], ["late", "twin"], 2),
        ({"candidate": "agent-1"}, ["torn", "twin"], ["late", "twin"], 2),
        ({"candidate": "agent-2"}, ["torn", "usurper"], [], 0),
        ({"date": "2026-11-01"}, ["torn"], ["late"], 1),
        ({"date": "2026-11-03"}, ["torn", "usurper"], [], 0),
        ({"date": "2026-11-02"}, ["torn", "twin"], ["twin"], 1),
        ({"date": "2026-11-02", "product": "shop"}, ["torn", "twin"], ["twin"], 1),
        ({"model": "m-1"}, ["torn", "twin", "usurper"], ["late", "twin"], 2),
        ({"environment": "production"}, ["torn"], [], 0),
    ],
)
def test_data_quality_is_narrowed_by_what_its_filters_offer(
    view: View, given: dict[str, str], quarantined: list[str], late: list[str], judges: int
) -> None:
    """Lists and judges to a subject and a date, on the page as in the files; what couldn't be read that far stays."""
    page = quality(view, filters_of(given))
    assert quarantined == [entry.path for entry in page.quarantined]
    assert late == [entry.path for entry in page.late]
    assert judges == page.judge_failures_total == len(rows_of(DOWNLOADS["judge_failures"](view, given)))
    for name, paths in (("quarantined", quarantined), ("late", late)):
        file = rows_of(DOWNLOADS["entries"](view, {**given, "list": name}))
        assert paths == [row["path"] for row in file]
    assert 2 == page.executions_total == len(rows_of(DOWNLOADS["accounting"](view, given)))


@pytest.mark.parametrize(
    ("name", "table", "given"),
    [
        ("evalbench-board.csv", "board", {}),
        ("evalbench-decision-log.csv", "decision_log", {"candidate": "../x"}),
        ("evalbench-checks-2026-11-01.csv", "checks", {"date": "2026-11-01"}),
        ("evalbench-entries-in-progress.csv", "entries", {"list": "in_progress"}),
        ("evalbench-entries.csv", "entries", {"list": 'x"; y'}),
    ],
)
def test_a_file_is_named_by_our_own_words(name: str, table: str, given: dict[str, str]) -> None:
    """Its table, its list, its date, and whether the lake was shown whole: nothing that an address made up."""
    assert name == file_name(table, given, whole=True)
    assert name.replace(".csv", "-incomplete.csv") == file_name(table, given, whole=False)


def test_a_candidate_has_every_date_in_its_files(view: View) -> None:
    """Signals and costs as columns, one row per date; what is absent has an empty cell and a reason beside it."""
    given = {"product": "shop", "suite": "orders", "environment": "offline", "candidate": "agent-1"}
    first, second = rows_of(DOWNLOADS["trend"](view, given))
    assert ("2026-11-01", "2026-11-02") == (first["date"], second["date"])
    assert ("0.9", "0.9", "1", "quality 0..1") == tuple(
        second[f"task_quality_{part}"] for part in ("value", "numerator", "denominator", "unit")
    )
    assert ("", "no active window was recorded") == (
        first["useful_progress_value"],
        first["useful_progress_not_available"],
    )
    assert "0.2" == second["cost_covered_usd"]
    brackets = rows_of(DOWNLOADS["pass_hat_k"](view, given))
    assert ["2026-11-01", "2026-11-02"] == sorted({row["date"] for row in brackets})
    on_day = rows_of(DOWNLOADS["signals"](view, {**given, "date": "2026-11-01"}))
    assert [("2026-11-01", "task_quality")] == [(row["date"], row["signal"]) for row in on_day[:1]]
    behind = rows_of(DOWNLOADS["evidence"](view, {**given, "date": "2026-11-02"}))
    missing = {row["task_id"]: row["evidence_missing"] for row in behind if row["check"] == "false_success"}
    assert {"t3": "false", "t1": "true"} == missing


def test_a_run_published_without_a_text_has_a_page(lake: Path, tmp_path: Path) -> None:
    """That there is no summary is said in its place."""
    copy = _without(lake, tmp_path / "lake", "summaries", date(2026, 11, 1))
    summary = run_page(view_of(copy), "first").summary
    assert ("none", None, "none was published with this run") == (summary.state, summary.text, summary.reason)


def _without(lake: Path, copy: Path, table: str, day: date) -> Path:
    """A copy of a lake whose publisher wrote no file of a table on a date."""
    shutil.copytree(lake, copy)
    record = copy / commit_path(day)
    commit: dict[str, Any] = json.loads(record.read_text())
    path = f"trends/{table}/run_date={day}/part-0.parquet"
    del commit["objects"][path]
    (copy / path).unlink()
    record.write_text(json.dumps(commit))
    return copy
