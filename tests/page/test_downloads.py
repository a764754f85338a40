"""Where a page shows the first of many, it says so, and the file beside it holds them all."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.lakes import RECORD, settings
from tests.page.serving import app_over, until_read

from evalbench import pipeline

CLOCK = datetime(2026, 12, 4, 7, 30, tzinfo=UTC)
DATES, PIPELINE_RUNS, NOTES, PRAISED, SILENT, FLAWED = 401, 21, 501, 1001, 501, 51
"""More than pages show of dates, pipeline runs, entries, contradictions and trials, and judges; FLAWED: defects of each
of four kinds, as many as a reader tells.
"""
DAILY = "product=shop&suite=orders&environment=offline&candidate=daily"
CROWDED = DAILY.replace("daily", "crowded")
DOWNLOAD = re.compile(r'<a class="download[^"]*" href="([^"]+)" download>CSV<span class="unseen"> of ([^<]+)</span>')


def write(runs: Path, name: str, candidate: str, day: date, records: list[dict[str, Any]]) -> None:
    """A run of these records."""
    (runs / name).mkdir(parents=True)
    (runs / name / "run.yaml").write_text(
        f"run_id: {name}\ncandidate: {candidate}\nproduct: shop\ndataset: orders\nrun_time: {day} 09:00:00\n"
    )
    (runs / name / "trials.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def crowd() -> list[dict[str, Any]]:
    """Praised trials that failed; trials each with a silent grader of its own; records that can't be taken as such."""
    failed = json.loads(json.dumps(RECORD["outcome"])) | {"state": "failed"}
    praised = {"outcome": failed, "quality": {"score": 0.9, "grader": {"kind": "model", "name": "praise"}}}
    records: list[dict[str, Any]] = [
        {**RECORD, **praised, "task_id": f"praised-{number:04}"} for number in range(PRAISED)
    ]
    for number in range(SILENT):
        silent = {"quality": {"grader": {"kind": "model", "name": f"grader-{number}"}}}
        records.append({**RECORD, **silent, "task_id": f"silent-{number:04}"})
    for number in range(FLAWED):
        records.append({**RECORD, "task_id": f"dozing-{number:04}", "status": "dozing"})
        records.append({**RECORD, "task_id": f"shapeless-{number:04}", "cost": {"usd": "much"}})
        records.append({**RECORD, "task_id": number})
        records.append({**RECORD, "task_id": f"silent-{number:04}", "cost": {"usd": 9, "state": "billed"}})
    return records


@pytest.fixture(scope="module")
def crowded_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with more of everything than any page shows."""
    folder = tmp_path_factory.mktemp("crowded")
    runs, lake = folder / "runs", folder / "lake"
    runs.mkdir()
    for hour in range(PIPELINE_RUNS - 1):
        pipeline.run(settings(runs, lake, clock=f"2026-12-03T{hour:02}:00:00Z"))
    for number in range(NOTES):
        (runs / f"note-{number}.txt").write_text("no run")
    for number in range(DATES):
        write(runs, f"day-{number}", "daily", date(2025, 10, 1) + timedelta(days=number), [dict(RECORD)])
    write(runs, "crowd", "crowded", date(2026, 11, 15), crowd())
    pipeline.run(settings(runs, lake, clock="2026-12-03T23:00:00Z"))
    return lake


@pytest.fixture(scope="module")
def client(crowded_lake: Path) -> Iterator[TestClient]:
    """Asks the page over that lake."""
    with TestClient(app_over(crowded_lake, CLOCK)) as asking:
        until_read("/", asking.get)
        yield asking


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def file(client: TestClient, page: str, of: str) -> list[dict[str, str]]:
    """The rows of the file that a page links beside a table."""
    links = {unescape(name): unescape(address) for address, name in DOWNLOAD.findall(page)}
    answer = client.get(links[of])
    assert 200 == answer.status_code
    return rows_of(answer.text)


@pytest.mark.parametrize(
    ("path", "said", "of", "rows"),
    [
        ("/contradictions", "500 of 1,001 shown; the CSV has all", "the contradictions", PRAISED),
        ("/run?run_id=crowd", "1,000 of 1,655 shown; the CSV has all", "Trials", PRAISED + SILENT + 3 * FLAWED),
        ("/run?run_id=crowd", "200 of 204 shown; the CSV has all", "Defects in its files", 4 * FLAWED),
        ("/quality", "20 of 21 shown; the CSV has all", "Accounting", PIPELINE_RUNS),
        ("/quality", "500 of 501 shown; the CSV has all", "Ignored: 501", NOTES),
        ("/quality", "500 of 501 shown; the CSV has all", "Judges without a verdict: 501", SILENT),
        ("/search?q=praised", "50 of 1,001 shown; the CSV has all", "Tasks: 1,001", PRAISED),
        ("/search?q=day-", "50 of 401 shown; the CSV has all", "Runs: 401", DATES),
        (f"/candidate?{DAILY}", "400 of 401 dates shown; the CSV has all", "signals and costs on all dates", DATES),
        (f"/candidate?{DAILY}", "400 of 401 dates shown; the CSV has all", "pass^k on all dates", DATES),
        (f"/candidate?{DAILY}", "200 of 401 shown; the CSV has all", "Decisions of record", DATES),
    ],
)
def test_what_a_page_leaves_out_is_in_its_file(client: TestClient, path: str, said: str, of: str, rows: int) -> None:
    """The page says how many of how many it shows, and the file that it links has every row."""
    page = client.get(path).text
    assert f">{said}.<" in page
    assert rows == len(file(client, page, of))


def test_every_trial_behind_a_check_is_in_the_file(client: TestClient) -> None:
    """Two hundred of each check stand on the page; the file names them all, each once, by check."""
    page = client.get(f"/candidate?{CROWDED}").text
    assert ">200 of 1,001 trials shown; the CSV below the checks has all.<" in page
    behind = [
        row["task_id"] for row in file(client, page, "the trials behind the checks") if row["check"] == "false_success"
    ]
    assert PRAISED == len(set(behind)) == len(behind)


def test_files_are_narrowed_as_their_page_is(client: TestClient) -> None:
    """A filter of the page is in the address of each of its files, but for what is of no subject."""
    page = client.get("/quality?candidate=crowded&date=2026-11-15").text
    links = {unescape(of): unescape(address) for address, of in DOWNLOAD.findall(page)}
    assert {"Accounting", "Ignored: 501", "Judges without a verdict: 501"} == set(links)
    assert "/download/accounting.csv" == links.pop("Accounting")
    assert all("candidate=crowded" in link and "date=2026-11-15" in link for link in links.values())
    other = client.get("/quality?candidate=daily").text
    assert "None: no judge was asked in vain." in other
    assert 0 == len(rows_of(client.get("/download/judge_failures.csv?candidate=daily").text))
    day = client.get("/contradictions?date=2026-11-14").text
    assert "shown; the CSV has all" not in day
    assert PRAISED == len(file(client, client.get("/contradictions?candidate=crowded").text, "the contradictions"))


def test_data_quality_offers_only_filters_that_narrow_it(client: TestClient) -> None:
    """No model, and the page says what the others do; one that an address brings along is said to do nothing."""
    page = client.get("/quality").text
    assert 'name="model"' not in page
    assert 'name="candidate"' in page
    assert "Filters narrow the lists and the judges" in page
    assert "a model in the address narrows nothing" not in page
    assert "a model in the address narrows nothing" in client.get("/quality?model=x").text
    assert 'name="model"' in client.get("/contradictions").text
