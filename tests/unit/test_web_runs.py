"""What the page says of runs and their trials, whether or not a decision counts them and facts are still there."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.lakes import RECORD, say_publishing, settings, write_run

from evalbench import pipeline
from evalbench.errors import PipelineError
from evalbench.gate.case import Subject
from evalbench.lake.index import segments
from evalbench.storage import LocalStorage
from evalbench.web.app import create_app
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.held_runs import HeldRuns
from evalbench.web.links import Links
from evalbench.web.models.candidate import candidate
from evalbench.web.models.contradictions import contradictions
from evalbench.web.models.parts import Filters
from evalbench.web.models.quality import RECENT, quality
from evalbench.web.models.run import run_page
from evalbench.web.models.search import search
from evalbench.web.models.series import DefinitionChange, definition_changes
from evalbench.web.models.trial import trial_page
from evalbench.web.pages import PAGES
from evalbench.web.report import Scope
from evalbench.web.report import report as report_of
from evalbench.web.report_page import as_html
from evalbench.web.store import Store, View

NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
AGENT = Subject(product="shop", suite="orders", environment="offline", candidate="agent-1")
GRADED = {"score": 0.95, "grader": {"kind": "model", "name": "g"}}
PRAISED_FAILURE: dict[str, Any] = {**json.loads(json.dumps(RECORD)), "quality": GRADED}
PRAISED_FAILURE["outcome"]["state"] = "failed"


def store_of(lake: Path, **given: Any) -> Store:
    """The lake as one server reads it."""
    return Store(LocalStorage(str(lake)), lambda: NOW, **given)


def view_of(lake: Path) -> View:
    """The lake as the page sees it."""
    return store_of(lake).view()


def written(
    runs: Path, name: str, day: int, records: Sequence[Mapping[str, Any]] = (RECORD,), hour: int = 9, **manifest: str
) -> Path:
    """A run of these trials at an hour of a day of November 2026, with more fields in its manifest."""
    run = write_run(runs, name, day)
    fields = [line for line in (run / "run.yaml").read_text().splitlines() if line.split(":")[0] not in manifest]
    fields += [f"{field}: {value}" for field, value in manifest.items()]
    (run / "run.yaml").write_text("\n".join(fields).replace("09:00:00", f"{hour:02}:00:00") + "\n")
    (run / "trials.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    return run


def shown(view: View, page: str, **given: object) -> str:
    """A page's HTML."""
    return PAGES[page](view, Links(base=""), {name: str(value) for name, value in given.items()})


# -- runs that no decision counts ------------------------------------------------------------------------------------


def lake_of_two_versions(folder: Path) -> Path:
    """A lake of two runs of a date with the same praised failure, each of another dataset version."""
    for number in (1, 2):
        version = f'"{number}"'
        written(folder / "runs", f"r{number}", 28, [PRAISED_FAILURE], 8 + number, dataset_version=version)
    pipeline.run(settings(folder / "runs", folder / "lake"))
    return folder / "lake"


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory) -> View:
    """Two runs of a date with the same praised failure, of two dataset versions: the earlier one isn't counted."""
    return view_of(lake_of_two_versions(tmp_path_factory.mktemp("versions")))


def test_a_trial_of_a_run_that_is_not_counted_is_what_its_own_page_says(two_versions: View) -> None:
    """Declared, graded, praised and not verified: the run's list knows it as the trial's page does."""
    for name in ("r1", "r2"):
        (row,) = run_page(two_versions, name).trials
        trial = trial_page(two_versions, name, "t1", 0)
        assert (True, "failed", 0.95, True) == (row.declared, row.outcome, row.quality, row.contradiction)
        assert (trial.declared, trial.outcome.judged, trial.quality, trial.contradiction) == (
            row.declared, row.outcome, row.quality, row.contradiction,
        )  # fmt: skip
        body = shown(two_versions, "run", run_id=name)
        assert "praised, not verified" in body
        assert "not graded" not in body


def test_contradictions_say_of_how_many_trials_nothing_is_asked(two_versions: View) -> None:
    """One trial is counted, another is of a run that isn't; filters narrow both."""
    found = contradictions(two_versions, Filters())
    assert (1, 1, 1) == (found.graded, found.total, found.uncounted)
    assert "Not asked about: 1 trial of runs that no decision of their date counts" in shown(
        two_versions, "contradictions"
    )
    assert 0 == contradictions(two_versions, Filters(candidate="agent-2")).uncounted
    assert 0 == contradictions(two_versions, Filters(day=date(2026, 11, 27))).uncounted


# -- the plan --------------------------------------------------------------------------------------------------------


def test_trials_beyond_the_plan_do_not_fill_its_gaps(tmp_path: Path) -> None:
    """Of three planned trials one is on record, whatever else is; the page, the candidate and the report say so."""
    records = [{**RECORD, "task_id": task} for task in ("t1", "x", "y")]
    written(tmp_path / "runs", "r1", 28, records, planned="{tasks: [t1, t2, t3], trials: 1}")
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    view = view_of(tmp_path / "lake")
    said = "1 of 3 planned trials on record, 2 missing, 2 beyond the plan"
    assert said in shown(view, "run", run_id="r1")
    assert said in as_html(report_of(view, Scope()))
    (run,) = candidate(view, AGENT).runs
    assert (3, 3, 2, 2) == (run.planned_trials, run.recorded_trials, run.missing_trials, run.unplanned_trials)
    assert "2 beyond the plan" in shown(view, "candidate", **asdict(AGENT))
    assert "<dt>planned or seen</dt>" in shown(view, "")


def test_a_whole_run_has_all_of_its_plan(two_versions: View) -> None:
    """Nothing is missing, and nothing is said of it."""
    assert "1 of 1 planned trial on record." in shown(two_versions, "run", run_id="r1")


# -- definitions -----------------------------------------------------------------------------------------------------


def test_a_change_across_a_date_without_verdicts_is_marked() -> None:
    """The version is held against that of the last date which had any."""
    same = dict.fromkeys(("policy_hash", "code_version", "dataset_version", "model", "baseline", "window_days"), "x")
    days = [date(2026, 11, day) for day in (1, 2, 3, 4)]
    measured = [
        {"run_date": day, "source": "grader", "name": "g", "version": version}
        for day, version in ((days[0], "1"), (days[2], "2"), (days[3], "2"))
    ]
    expected = (DefinitionChange(day=days[2], what="grader g", before="1", after="2"),)
    assert expected == definition_changes([{**same, "run_date": day} for day in days], measured)


# -- why a run isn't counted -----------------------------------------------------------------------------------------


def test_a_run_of_another_version_is_not_counted_for_that(two_versions: View) -> None:
    """The reason is said on the candidate's page and in the report."""
    counted = {run.run_id: run.not_counted for run in candidate(two_versions, AGENT).runs}
    assert {"r2": None, "r1": "another dataset version"} == counted
    assert "no: another dataset version" in shown(two_versions, "candidate", **asdict(AGENT))
    assert "not counted: another dataset version" in as_html(report_of(two_versions, Scope()))
    assert "another dataset version" in DOWNLOADS["runs"](two_versions, asdict(AGENT))


def test_a_run_that_came_after_the_decision_is_not_of_another_version(tmp_path: Path, root: Path) -> None:
    """A late run is there already, while the decision of a later date is shown as it was before."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    policy = tmp_path / "policy.yaml"
    policy.write_text((root / "include/policies/consequential.yaml").read_text() + "\nwindow: {days: 2}\n")
    used = settings(runs, lake, policy=policy)
    written(runs, "r1", 27)
    written(runs, "r2", 28)
    pipeline.run(used)
    ticks = [0.0]
    store = store_of(lake, ticks=lambda: ticks[0], patience=60)
    assert {None} == {run.not_counted for run in candidate(store.view(), AGENT).runs}
    written(runs, "r3", 27)
    pipeline.run(used)
    say_publishing(lake, date(2026, 11, 28))
    ticks[0] += 10
    view = store.view()
    assert (date(2026, 11, 28),) == view.as_of.shown_before
    counted = {run.run_id: run.not_counted for run in candidate(view, AGENT).runs}
    assert {"r1": None, "r2": None, "r3": "this decision doesn't count it"} == counted


# -- without facts ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two runs of two dataset versions whose facts are gone."""
    lake = lake_of_two_versions(tmp_path_factory.mktemp("gone"))
    shutil.rmtree(lake / "facts")
    return lake


def test_what_only_facts_tell_is_not_said_without_them(without_facts: Path) -> None:
    """Effects and calls aren't `not recorded`; of a run that isn't counted nothing is known that a policy makes."""
    view = view_of(without_facts)
    (counted,), (other,) = run_page(view, "r2").trials, run_page(view, "r1").trials
    assert (True, True, "failed", 0.95) == (counted.judged, counted.declared, counted.outcome, counted.quality)
    assert (False, None, None, None) == (other.judged, other.declared, other.outcome, other.quality)
    for name, cells in (("r2", 3), ("r1", 6)):
        body = shown(view, "run", run_id=name)
        assert cells == body.count("facts not available</span>")
        for untrue in ("not recorded", "not graded", "not judged"):
            assert untrue not in body


def test_files_of_what_facts_hold_are_missing_without_them(without_facts: Path) -> None:
    """Not empty: a header alone would say that there are no metrics, claims, findings or defects."""
    with TestClient(create_app(lambda: store_of(without_facts))) as client:
        for name in ("metrics", "claims", "findings", "defects"):
            answer = client.get(f"/download/{name}.csv?run_id=r2")
            assert 404 == answer.status_code
            assert "these facts are gone" in answer.text
        trials = client.get("/download/trials.csv?run_id=r2")
        assert 200 == trials.status_code
        assert "these facts are gone" in trials.text


def test_facts_that_vanish_and_come_back_do_so_on_the_page(tmp_path: Path) -> None:
    """Though what they say is kept: while they are gone nothing that is made from them is shown."""
    written(tmp_path / "runs", "r1", 28)
    lake = tmp_path / "lake"
    pipeline.run(settings(tmp_path / "runs", lake))
    view = view_of(lake)
    before = run_page(view, "r1")
    assert before.facts_reason is None
    assert before.metrics
    (lake / "facts").rename(tmp_path / "aside")
    gone = run_page(view, "r1")
    assert "these facts are gone" in (gone.facts_reason or "")
    assert ((), {}, ()) == (gone.metrics, gone.health, gone.findings)
    (tmp_path / "aside").rename(lake / "facts")
    assert before == run_page(view, "r1")


def test_a_run_without_defects_is_not_praised_for_it(two_versions: View) -> None:
    """The reader found none; what else misleads in it is somebody else's to say."""
    body = shown(two_versions, "run", run_id="r1")
    assert "None: the reader found none." in body
    assert "taken at its word" not in body


# -- search, late entries, readings ----------------------------------------------------------------------------------


def test_the_newest_trial_of_a_task_is_the_one_that_ran_last(tmp_path: Path) -> None:
    """By when its run was, not by its name; runs are listed so, too. A trial without a record is no newer than one."""
    runs = tmp_path / "runs"
    written(runs, "r9", 28, hour=9)
    written(runs, "r1", 28, hour=18, planned="{tasks: [t1], trials: 2}")
    pipeline.run(settings(runs, tmp_path / "lake"))
    found = search(view_of(tmp_path / "lake"), "t1")
    assert [("r1", 0)] == [(hit.link.run_id, hit.link.trial) for hit in found.tasks]
    assert ["r1", "r9"] == [hit.run_id for hit in search(view_of(tmp_path / "lake"), "r").runs]


def test_late_entries_are_those_of_recent_executions_alone(tmp_path: Path) -> None:
    """A DAG run that is cleared keeps its name: what it said long ago isn't recent for that."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    start = datetime(2026, 12, 1, 6, tzinfo=UTC)

    def execute(plan_id: str, after: int) -> None:
        used = settings(runs, lake, clock=(start + timedelta(days=after)).isoformat())
        plan = pipeline.discover(used, plan_id=plan_id)
        for entry in plan.to_score:
            pipeline.score(used, plan, entry.run_key)
        pipeline.publish(used, pipeline.decide(used, plan))

    write_run(runs, "first", 1)
    execute("scheduled__2026-12-01", 0)
    write_run(runs, "late", 1)
    execute("cleared", 1)
    assert ["late"] == [entry.path for entry in quality(view_of(lake), Filters()).late]
    for night in range(2, RECENT + 1):
        execute(f"night-{night}", night)
    execute("cleared", RECENT + 1)
    found = quality(view_of(lake), Filters())
    assert ("cleared", RECENT + 2) == (found.executions[0].plan_id, found.executions_total)
    assert () == found.late


def test_of_two_readings_of_the_same_files_the_one_that_stands_is_shown(tmp_path: Path) -> None:
    """As the index says, which is read again only when it has other segments; where it says of none, none is taken."""
    write_run(tmp_path / "runs", "r1", 1)
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    lake = LocalStorage(str(tmp_path / "lake"))
    (facts,) = lake.paths("facts")
    row = view_of(tmp_path / "lake").rows("SELECT run_key, content, reader_version FROM runs")[0]
    start = f"facts/{row['run_key']}/{row['content']}.{row['reader_version']}-"
    assert facts.startswith(start)
    held = HeldRuns(lake)
    for other in ("0", "~"):
        lake.create(f"{start}{other}.parquet", b"another reading")
        assert facts == held.key(**row)
    (segment,) = segments(lake)
    (tmp_path / "lake" / segment).write_bytes(b"damaged, and not looked at again")
    assert facts == held.key(**row)
    lake.delete(segment)
    with pytest.raises(PipelineError, match="3 readings of the same files are kept, and the index says of none"):
        held.key(**row)
