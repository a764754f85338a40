"""The page of a trial: nothing is called missing that was done, and every figure leads to where it was read."""

import csv
import io
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from markupsafe import Markup, escape
from tests.lakes import RECORD, settings, write_run

from evalbench import pipeline
from evalbench.errors import UsageError
from evalbench.settings import Settings, load_settings
from evalbench.storage import LocalStorage
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.links import Links, source_url_of
from evalbench.web.models.parts import MissingError
from evalbench.web.models.places import Place
from evalbench.web.models.run import run_page
from evalbench.web.models.trial import trial_page
from evalbench.web.pages import OF_A_TRIAL, PAGES
from evalbench.web.rendering import environment, pretty_json
from evalbench.web.store import Store, View

NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
TRIAL = {"run_id": "run-1", "task_id": "t1", "trial": "0"}


def view_of(folder: Path, record: Mapping[str, object], **fields: object) -> View:
    """The page's view of a lake with one run of one trial, as recorded. fields: settings it is made with."""
    directory = write_run(folder / "runs", "run-1", 28)
    task_id = str(record.get("task_id", "t1"))
    manifest = (directory / "run.yaml").read_text().replace("[t1]", f"[{json.dumps(task_id)}]")
    (directory / "run.yaml").write_text(manifest)
    (directory / "trials.jsonl").write_text(json.dumps({**RECORD, **record}) + "\n")
    pipeline.run(settings(folder / "runs", folder / "lake", **fields))
    return Store(LocalStorage(str(folder / "lake")), lambda: NOW).view()


def with_tools(expected: Sequence[str], called: Sequence[str]) -> dict[str, object]:
    """A record with these expected and made calls."""
    return {
        "tools": {
            "expected": [{"name": name} for name in expected],
            "called": [{"name": name, "status": "success"} for name in called],
        }
    }


def tools_file(view: View) -> list[dict[str, str]]:
    """The rows of tools.csv."""
    return list(csv.DictReader(io.StringIO(DOWNLOADS["tools"](view, TRIAL), newline="")))


# -- expected beside called --------------------------------------------------------------------------------------


def test_a_late_call_is_not_missing(tmp_path: Path) -> None:
    """A call behind hundreds of others counts as what it is; the page shows the first rows, the file has all."""
    view = view_of(tmp_path, with_tools(["shop__order"], ["shop__look"] * 300 + ["shop__order"]))
    tools = trial_page(view, "run-1", "t1", 0, OF_A_TRIAL).tools
    assert {"extra": 300, "forbidden": 0, "matched": 1} == tools.counts
    assert (300, 301, None) == (len(tools.rows), tools.rows_total, tools.not_compared)
    said = PAGES["trial"](view, Links(base=""), TRIAL)
    assert "1 expected, 301 called; 1 as expected; 300 extra." in said
    assert "300 of 301 rows shown; the CSV has all." in said
    assert "missing</span>" not in said
    rows = tools_file(view)
    assert (301, "matched", "301") == (len(rows), rows[-1]["comparison"], rows[-1]["called_number"])


def test_lists_too_long_to_be_compared_say_so(tmp_path: Path) -> None:
    """Neither missing nor extra is claimed of what nobody compared; every call and expectation is in the file."""
    view = view_of(tmp_path, with_tools(["shop__order"] * 301, ["shop__look"] * 299 + ["shop__order"]))
    tools = trial_page(view, "run-1", "t1", 0).tools
    assert {"alone": 601, "forbidden": 0} == tools.counts
    assert "too many to be compared call by call" in (tools.not_compared or "")
    said = PAGES["trial"](view, Links(base=""), TRIAL)
    assert "Not compared: too many to be compared call by call" in said
    for claim in ("never called", "not expected", "missing</span>", "extra</span>"):
        assert claim not in said
    assert ["alone"] * 601 == [row["comparison"] for row in tools_file(view)]


def test_long_lists_are_compared_as_far_as_their_product_goes(tmp_path: Path) -> None:
    """One long list beside a short one is whole, whatever its length."""
    view = view_of(tmp_path, with_tools(["shop__order"] * 4, ["shop__look"] * 2000 + ["shop__order"] * 3))
    assert {"extra": 2000, "forbidden": 0, "matched": 3, "missing": 1} == (
        trial_page(view, "run-1", "t1", 0).tools.counts
    )


# -- what isn't known has no file ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "table", "why", "said"),
    [
        (
            {"effects": None, "tools": {"called": []}},
            "effects",
            "t1 of run-1: its effects are not available: the record says nothing of",
            "Not available: the record says nothing of effects.",
        ),
        ({"tools": None}, "tools", "t1 of run-1: its calls are not available: ", "The calls are not available: "),
    ],
)
def test_what_nothing_speaks_of_has_no_file(
    tmp_path: Path, record: dict[str, object], table: str, why: str, said: str
) -> None:
    """A file without rows would say that there was none: the answer is the reason, and the page has no link."""
    view = view_of(tmp_path, record)
    with pytest.raises(MissingError, match=why):
        DOWNLOADS[table](view, TRIAL)
    page = PAGES["trial"](view, Links(base=""), TRIAL)
    assert said in page
    assert f"download/{table}.csv" not in page


def test_effects_that_were_none_have_a_file_without_rows(tmp_path: Path) -> None:
    """The record says so: that is known."""
    view = view_of(tmp_path, {"effects": [], "tools": {"called": []}})
    assert 1 == len(DOWNLOADS["effects"](view, TRIAL).splitlines())
    assert 1 == len(DOWNLOADS["tools"](view, TRIAL).splitlines())


def test_what_was_expected_has_the_reason_beside_calls_that_are_not_available(tmp_path: Path) -> None:
    """An empty cell under what was called says nothing by itself; where calls are known there is no reason."""
    view = view_of(tmp_path / "unknown", {"tools": {"expected": [{"name": "shop__order"}]}})
    (row,) = tools_file(view)
    assert ("alone", "shop__order", "") == (row["comparison"], row["expected_tool"], row["called_tool"])
    assert trial_page(view, "run-1", "t1", 0).tools.called_reason == row["not_available"]
    (known,) = tools_file(view_of(tmp_path / "known", with_tools(["shop__order"], [])))
    assert ("missing", "") == (known["comparison"], known["not_available"])


# -- what was said -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ('{"amount": 10, "amount": 1000000}', '{"amount": 10, "amount": 1000000}'),
        ('{"amount": 1e999}', '{"amount": 1e999}'),
        ("0.12345678901234567890123", "0.12345678901234567890123"),
        ('{"a":1,"b":[2]}', '{"a": 1, "b": [2]}'),
    ],
)
def test_an_answer_of_a_tool_is_shown_as_it_was_recorded(tmp_path: Path, answer: str, shown: str) -> None:
    """Nothing but blanks is added to it, also where it is JSON that gives a key twice, or any number."""
    said = [{"role": "tool", "name": "shop__order", "content": answer}]
    view = view_of(tmp_path, {"transcript": said}, transcript_days=30)
    assert f"<pre>{escape(shown)}</pre>" in PAGES["trial"](view, Links(base=""), TRIAL)


# -- addresses ---------------------------------------------------------------------------------------------------


def test_a_task_of_any_length_has_its_page(tmp_path: Path) -> None:
    """What the reader took as an id, the page's own links lead to."""
    task_id = "t" * 5000
    view = view_of(tmp_path, {"task_id": task_id})
    run = PAGES["run"](view, Links(base=""), TRIAL)
    assert f"task_id={task_id}&amp;trial=0" in run
    assert f"<h1>Trial {task_id}</h1>" in PAGES["trial"](view, Links(base=""), TRIAL | {"task_id": task_id})


# -- to file and row ---------------------------------------------------------------------------------------------

GIT = "https://git.example/runs/blob/main/{path}/{file}#L{row}"
LINE = Place(file="trials.jsonl", row=4, field="outcome", unit="line")


def addresses(text: str) -> list[str]:
    """What links that leave the page lead to; each must open apart from it and tell nothing of it."""
    found = re.findall(r'<a href="(http[^"]*)"([^>]*)>', text)
    assert {' target="_blank" rel="noopener noreferrer"'} >= {rest for _, rest in found}
    return [address for address, _ in found]


def without_links(text: str) -> str:
    """The page without links to files."""
    return re.sub(r'<a href="http[^>]*>(.*?)</a>', r"\1", text)


def test_every_place_of_a_trial_is_a_link(tmp_path: Path) -> None:
    """Outcome, record, wait, calls, effects and verdicts: the text as without links, an address to file and row."""
    record = {
        "quality": {"score": 0.9, "grader": {"kind": "model", "name": "g"}},
        "wait": {"owner": "jo"},
        "tools": {"called": [{"name": "shop__order"}], "expected": [{"name": "shop__order"}]},
    }
    view = view_of(tmp_path, record)
    page = trial_page(view, "run-1", "t1", 0)
    assert page.wait is not None
    assert page.effects
    places = [
        page.outcome.place,
        page.place,
        page.wait.place,
        *page.tools.places,
        *(effect.place for effect in page.effects),
        *(verdict.place for verdict in page.verdicts if verdict.place is not None),
    ]
    assert 5 + len(page.verdicts) == len(places)
    said = PAGES["trial"](view, Links(base="", source_url=GIT), TRIAL)
    assert ["https://git.example/runs/blob/main/run-1/trials.jsonl#L1"] * len(places) == addresses(said)
    plain = PAGES["trial"](view, Links(base=""), TRIAL)
    assert plain == without_links(said)
    waits = plain[plain.index("<h3>Waits</h3>") :].partition("</section>")[0]
    assert "<dt>Read in</dt><dd><code>run-1/trials.jsonl</code> line 1" in waits


def test_every_place_of_a_run_is_a_link(sample_runs: Path, tmp_path: Path) -> None:
    """Findings, claims and defects of a run that has all three, as many as there are places."""
    name = "trap-repr-oddities"
    shutil.copytree(sample_runs / name, tmp_path / "runs" / name)
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    view = Store(LocalStorage(str(tmp_path / "lake")), lambda: NOW).view()
    page = run_page(view, name)
    kinds = (
        [place for finding in page.findings for place in finding.places],
        [claim.place for claim in page.claims if claim.place is not None],
        [defect.place for defect in page.defects if defect.place is not None],
    )
    assert all(kinds)
    links = Links(base="", source_url=GIT)
    expected = [links.source(page.path, place) for places in kinds for place in places]
    assert expected == addresses(PAGES["run"](view, links, {"run_id": name}))


@pytest.mark.parametrize(
    ("expected", "directory", "place"),
    [
        ("https://git.example/r/trials.jsonl#L4", "r", LINE),
        ("https://git.example/r/summary.csv#L1", "r", Place(file="summary.csv", row=None, field=None, unit="record")),
        ("https://git.example/%22%3E%3Cb%3E%3Fa%26b%23c%2F%7Brow%7D/trials.jsonl#L4", '"><b>?a&b#c/{row}', LINE),
        ("https://git.example/%E6%96%87%20%25/trials.jsonl#L4", "文 %", LINE),
    ],
)
def test_whatever_a_directory_is_called_the_address_stays_its_own(expected: str, directory: str, place: Place) -> None:
    """Names are percent-encoded, and are no templates themselves."""
    assert expected == Links(base="", source_url="https://git.example/{path}/{file}#L{row}").source(directory, place)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (None, {}),
        (None, {"runs": "/data/runs"}),
        ("https://git.example/r/trials.jsonl", {"runs": "gs://b/c", "source_url": "https://git.example/{path}/{file}"}),
        (
            "https://console.cloud.google.com/storage/browser/_details/bucket/nights/a%20%7Brow%7D/r/trials.jsonl",
            {"runs": "gs://bucket/nights/a {row}/"},
        ),
        ("https://console.cloud.google.com/storage/browser/_details/bucket/r/trials.jsonl", {"runs": "gs://bucket"}),
    ],
)
def test_files_in_a_bucket_have_their_page_in_the_console(expected: str | None, given: dict[str, str]) -> None:
    """The operator's own address wins; files in a folder of some machine have none."""
    source_url = source_url_of(load_settings({f"EVALBENCH_{name.upper()}": value for name, value in given.items()}))
    assert expected == Links(base="", source_url=source_url).source("r", LINE)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("https://git.example/{run}/{file}", "{run} is no placeholder; there are {path}, {file} and {row}"),
        ("https://git.example/{path.__class__}", "{path.__class__} is no placeholder"),
        ("https://git.example/{}", "{} is no placeholder"),
        ("https://git.example/{path", "{path is no placeholder"),
        ("javascript:alert(1)//{path}", "begins with http:// or https://"),
        ("ftp://git.example/{path}", "begins with http:// or https://"),
        ("//git.example/{path}", "begins with http:// or https://"),
        ("https://{path}/{file}", "and a server"),
        ("https://git.example{path}/", "and a server"),
        ("https://jo:pa55@git.example/{path}", "and a server"),
        ("https://git.example/a b", "without spaces"),
    ],
)
def test_an_address_that_leads_elsewhere_is_refused_by_name(value: str, hint: str) -> None:
    """Other schemes, other placeholders, and a server that a run's name could choose."""
    with pytest.raises(UsageError, match="EVALBENCH_SOURCE_URL") as caught:
        load_settings({"EVALBENCH_SOURCE_URL": value})
    assert hint in str(caught.value)


def test_an_address_is_taken_as_it_was_given() -> None:
    """With a port, without a placeholder, with a query."""
    for address in ("http://git.example:8080/?p={path}&f={file}#{row}", "https://git.example", GIT):
        assert Settings(source_url=address) == load_settings({"EVALBENCH_SOURCE_URL": f" {address} "})


def test_a_text_of_megabytes_is_shown_by_its_beginning() -> None:
    """With how much is left out; one that fits is whole, and drawings and styles of the page's own are never cut."""
    shown = environment().from_string("{{ text }}")
    assert "é" * 20_000 == shown.render(text="é" * 20_000)
    assert "é" * 20_000 + "… (1,001 letters more)" == shown.render(text="é" * 21_001)
    assert "[" * 20_000 + "… (1 letter more)" == shown.render(text=pretty_json("[" * 20_001))
    assert 30_000 == len(shown.render(text=Markup("a" * 30_000)))  # noqa: S704
