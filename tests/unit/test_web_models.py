"""What the pages show: the report's numbers over the same lake, every absence with its reason, nothing invented."""

import csv
import hashlib
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.lakes import RECORD, ask, say_publishing, settings, write_run

from evalbench import pipeline
from evalbench.errors import PipelineError, UsageError
from evalbench.evaluators.matching import lcs_length, multiset_matched
from evalbench.gate.case import Subject
from evalbench.gate.decision import Verdict
from evalbench.lake.commits import StoredObject, read_commit, write_commit
from evalbench.ledger import ExpectedCall, ToolCall
from evalbench.signals import UNITS
from evalbench.sinks.parquet import partition_path
from evalbench.storage import LocalStorage
from evalbench.tables import table_named
from evalbench.web.charts import draw, kinds
from evalbench.web.csv_files import DOWNLOADS
from evalbench.web.inert import PARTED
from evalbench.web.links import Links
from evalbench.web.models.alignment import AlignedRow, Mark, align
from evalbench.web.models.board import board
from evalbench.web.models.candidate import candidate
from evalbench.web.models.contradictions import contradictions
from evalbench.web.models.filters import day_of, filters_of
from evalbench.web.models.parts import Filters, MissingError, SignalFigure, Standing
from evalbench.web.models.quality import quality
from evalbench.web.models.run import run_page
from evalbench.web.models.search import search
from evalbench.web.models.series import DefinitionChange, definition_changes
from evalbench.web.models.trial import NOT_KEPT, trial_page
from evalbench.web.note import as_markdown
from evalbench.web.pages import PAGES
from evalbench.web.palette import Theme
from evalbench.web.report import Scope
from evalbench.web.report import report as report_of
from evalbench.web.report_page import as_html
from evalbench.web.store import Store, View

NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
REAL = "49e5b728-f934-4e6b-9ced-70b5db228928"
HOSTILE = (
    "<script>alert(1)</script>", "'; DROP TABLE decisions; --", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}{% raw %}",
    "=HYPERLINK(1)", "a\u202eb", "100%/..?#&", "ünï😀",
)  # fmt: skip


def view_of(lake: Path, now: datetime = NOW) -> View:
    """The lake as the page sees it."""
    return Store(LocalStorage(str(lake)), lambda: now).view()


def same(expected: object, found: object) -> bool:
    """Equal as far as published columns hold it: nine decimals."""
    return bool(found == pytest.approx(expected, abs=1e-9))


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory, sample_runs: Path, root: Path) -> tuple[Path, Mapping[str, Any]]:
    """A lake of the shipped samples, and the report of the execution that made it, as JSON."""
    lake = tmp_path_factory.mktemp("samples") / "lake"
    report = pipeline.run(settings(sample_runs, lake, routing=root / "include" / "samples" / "routing.yaml"))
    return lake, json.loads(json.dumps(report))


@pytest.fixture(scope="module")
def view(samples: tuple[Path, Mapping[str, Any]]) -> View:
    """The samples as the page sees them."""
    return view_of(samples[0])


@pytest.fixture(scope="module")
def report(samples: tuple[Path, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Their report."""
    return samples[1]


def pairs(view: View, report: Mapping[str, Any]) -> Iterator[tuple[Standing, dict[str, Any]]]:
    """Each row of the board with its decision in the report."""
    decisions = {(d["product"], d["suite"], d["environment"], d["candidate"]): d for d in report["decisions"]}
    rows = board(view, Filters()).rows
    assert len(decisions) == len(rows)
    for row in rows:
        subject = row.subject
        yield row, decisions[subject.product, subject.suite, subject.environment, subject.candidate]


def subject_of(view: View, name: str) -> Subject:
    """The subject of a candidate."""
    (row,) = (row for row in board(view, Filters()).rows if row.subject.candidate == name)
    return row.subject


# -- board -----------------------------------------------------------------------------------------------------------


def test_the_board_says_what_the_report_says(view: View, report: Mapping[str, Any]) -> None:
    """Word, date, reason, scope, funnel, pass^k and flip of every subject."""
    for row, decision in pairs(view, report):
        assert decision["decision"] == row.verdict
        assert decision["date"] == row.day.isoformat()
        assert decision["provisional"] is row.provisional
        assert decision["decided_by"] == row.deciding.check
        assert decision["flip"] == row.flip
        assert decision["funnel"] == {name: getattr(row.funnel, name) for name in decision["funnel"]}
        assert decision["runs"] == list(row.runs)
        assert decision["policy"]["name"] == row.policy_name
        assert decision["policy"]["hash"] == row.policy_hash
        assert decision["attested"] == list(row.attested)
        assert decision["scope"]["tasks"] == row.tasks
        assert decision["scope"]["as_of"] == row.as_of.isoformat()
        assert list(decision["pass_hat_k"]) == [str(k) for k in row.pass_hat_k]
        for k, bracket in row.pass_hat_k.items():
            found = {name: getattr(bracket, name) for name in decision["pass_hat_k"][str(k)]}
            assert same(decision["pass_hat_k"][str(k)], found), k


def test_signals_are_the_reports(view: View, report: Mapping[str, Any]) -> None:
    """Value, count, interval, what was left out and what stands beside it."""
    for row, decision in pairs(view, report):
        assert list(decision["signals"]) == [figure.name for figure in row.signals]
        for figure in row.signals:
            said = decision["signals"][figure.name]
            assert same(said["value"], figure.value), figure
            assert same(said["numerator"], figure.numerator), figure
            assert said["denominator"] == figure.denominator
            assert said["left_out"] == figure.left_out
            assert sum(said["left_out"].values()) == figure.left_out_total
            assert same(said["ci95"], None if figure.ci95 is None else list(figure.ci95)), figure
            assert said["unit"] == figure.unit
            assert (said["value"] is None) == (figure.reason is not None)
            assert figure.covered <= figure.population


def test_what_decided_comes_as_a_sentence(view: View, report: Mapping[str, Any]) -> None:
    """The deciding check's own words, its next step and its trials; on PASS that every check holds."""
    for row, decision in pairs(view, report):
        check = next((c for c in decision["checks"] if c["name"] == decision["decided_by"]), None)
        if check is None:
            assert Verdict.PASS is row.verdict
            assert row.deciding.sentence.startswith("Every check holds at both ends")
            continue
        assert check["reason"] == row.deciding.sentence
        assert check["next_step"] == row.deciding.next_step
        assert check["proven"] is row.deciding.proven
        assert len(check["trials"]) == row.deciding.trials_total
        named = [(link.run_id, link.task_id, link.trial) for link in row.deciding.trials]
        assert [(t["run_id"], t["task_id"], t["trial"]) for t in check["trials"][:5]] == named


def test_the_board_counts_and_sorts(view: View) -> None:
    """One may ship, two failed, seven lack evidence; newest first, then the failed ones."""
    found = board(view, Filters())
    assert ["1 may ship", "2 failed", "7 lack evidence"] == [one.said for one in found.tallies]
    assert [date(2026, 11, 30), date(2026, 11, 28), date(2026, 11, 28), *[date(2026, 11, 27)] * 7] == [
        row.day for row in found.rows
    ]
    assert [Verdict.FAIL, Verdict.FAIL, Verdict.PASS] == [row.verdict for row in found.rows[:3]]
    assert (None, 0) == (found.nothing, found.older)
    assert [(2, 0), (4, 2)] == [(row.age_days, row.behind_days) for row in found.rows[:2]]


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({}, 10),
        ({"product": "tau-bench-airline"}, 1),
        ({"product": "release-inversion"}, 2),
        ({"suite": "inversion", "candidate": "fast-v2"}, 1),
        ({"environment": "production"}, 0),
        ({"model": "synthetic-stable-v1"}, 1),
        ({"date": "2026-11-28"}, 2),
        ({"date": "2026-11-29"}, 0),
        ({"decision": "PASS"}, 1),
        ({"decision": "PASS", "candidate": "fast-v2"}, 0),
        ({"product": "", "date": "", "decision": ""}, 10),
    ],
)
def test_filters_narrow_the_board(view: View, given: dict[str, str], rows: int) -> None:
    """Each one alone and together; an empty field of a form is no filter."""
    found = board(view, filters_of(given))
    assert rows == len(found.rows)
    assert (rows == 0) == (found.nothing is not None)
    assert 3 == len(found.options.products)


def test_tallies_count_what_a_decision_chosen_leaves_out(view: View) -> None:
    """They are the way back, and what may ship is one of how many."""
    found = board(view, filters_of({"decision": "PASS", "product": "release-inversion"}))
    assert (["stable-v1"], ["1 may ship", "1 failed", "0 lack evidence"]) == (
        [row.subject.candidate for row in found.rows], [one.said for one in found.tallies]
    )  # fmt: skip


def test_a_date_that_is_none_is_an_error() -> None:
    """Nobody's typing error becomes another question."""
    assert date(2026, 11, 28) == day_of("2026-11-28")
    with pytest.raises(UsageError, match=r"'28\.11\.' is no date"):
        filters_of({"date": "28.11."})


def test_options_follow_the_filters(view: View) -> None:
    """Candidates of the chosen product only; products and dates always all."""
    options = board(view, Filters(product="release-inversion")).options
    assert ("fast-v2", "stable-v1") == options.candidates
    assert 3 == len(options.products)
    assert (date(2026, 11, 30), date(2026, 11, 28), date(2026, 11, 27)) == options.days


def test_subjects_nobody_runs_any_more_stand_apart(tmp_path: Path) -> None:
    """Not decided for a month before the newest run: counted, and shown when asked for."""
    runs = tmp_path / "runs"
    write_run(runs, "old", 1, "agent-1")
    folder = write_run(runs, "new", 1, "agent-2")
    manifest = folder / "run.yaml"
    manifest.write_text(manifest.read_text().replace("2026-11-01", "2026-12-02"))
    pipeline.run(settings(runs, tmp_path / "lake"))
    view = view_of(tmp_path / "lake")
    found = board(view, Filters())
    assert ["agent-2"] == [row.subject.candidate for row in found.rows]
    assert 1 == found.older
    assert found.rows[0].provisional
    every = board(view, Filters(older=True))
    assert ["agent-2", "agent-1"] == [row.subject.candidate for row in every.rows]
    assert 0 == every.older


def test_an_empty_lake_says_why_it_is_empty(tmp_path: Path) -> None:
    """A page with a sentence, for each page that may be empty."""
    (tmp_path / "lake").mkdir()
    view = view_of(tmp_path / "lake")
    assert "no run has been published" in (board(view, Filters()).nothing or "")
    assert "No trial here has a quality" in (contradictions(view, Filters()).nothing or "")
    assert "No pipeline run has told anything" in (quality(view, Filters()).nothing or "")
    assert (0, 0) == (search(view, "x").runs_total, search(view, "x").tasks_total)
    with pytest.raises(MissingError, match="nothing was decided of such a candidate"):
        candidate(view, Subject(product="p", suite="s", environment="offline", candidate="c"))


def figure(row: Standing, name: str) -> SignalFigure:
    """A signal by name."""
    (found,) = (figure for figure in row.signals if figure.name == name)
    return found


def test_nothing_known_is_no_zero(view: View) -> None:
    """The real runs were never billed: no cost, and the reason; their graders never ran."""
    (row,) = board(view, Filters(product="tau-bench-airline")).rows
    cost = figure(row, "cost_per_verified_outcome")
    assert (None, None, 84) == (cost.value, cost.numerator, cost.denominator)
    assert "no trial has a bill" == cost.reason
    assert (0, 200) == (cost.covered, cost.population)
    assert (None, "no completed trial was graded") == (
        figure(row, "task_quality").value,
        figure(row, "task_quality").reason,
    )


# -- candidate -------------------------------------------------------------------------------------------------------


def test_checks_are_the_reports(view: View, report: Mapping[str, Any]) -> None:
    """All of them in their order, with both ends, counts, words and trials."""
    for row, decision in pairs(view, report):
        found = candidate(view, row.subject)
        assert row == found.standing
        assert [check["name"] for check in decision["checks"]] == [check.name for check in found.checks]
        for said, check in zip(decision["checks"], found.checks, strict=True):
            for name in ("stage", "status", "fired", "proven", "worst_unbounded", "unit", "reason", "next_step"):
                assert said[name] == getattr(check, name), check
            for name in ("observed", "best", "worst", "limit", "numerator", "denominator"):
                assert same(said[name], getattr(check, name)), check
            assert len(said["trials"]) == check.evidence_total
            trials = [
                {
                    "run_id": shown.link.run_id, "task_id": shown.link.task_id, "trial": shown.link.trial,
                    "why": shown.why, "missing": shown.missing,
                }
                for shown in check.evidence
            ]  # fmt: skip
            assert said["trials"][:200] == trials


def test_a_candidate_links_the_runs_of_its_window(view: View) -> None:
    """The four real runs, newest first, all of them pooled."""
    found = candidate(view, subject_of(view, "custom/tau-bench gpt-4o tool-calling (replayed)"))
    assert set(found.standing.runs) == {run.run_id for run in found.runs}
    assert all(run.pooled for run in found.runs)
    assert [run.run_time for run in found.runs] == sorted((run.run_time for run in found.runs), reverse=True)


def nights(tmp_path: Path, policies: Mapping[int, str], **fields: object) -> View:
    """A candidate decided on one date after the other, each under a policy of its own text. fields: of the settings."""
    runs, routing = tmp_path / "runs", tmp_path / "routing.yaml"
    routing.write_text("schema: 1\nroutes: [{product: shop, suite: '*', policy: policy.yaml}]\n")
    for day, policy in policies.items():
        (tmp_path / "policy.yaml").write_text(f"schema: 1\nname: shop\nversion: '{day}'\n{policy}")
        write_run(runs, f"run-{day}", day)
        only = date(2026, 11, day)
        pipeline.run(settings(runs, tmp_path / "lake", routing=routing, **fields), since=only, until=only)
    return view_of(tmp_path / "lake")


EASY = "floors: {verified_yield: {min: 0.5}}\n"
HARD = "floors: {verified_yield: {min: 0.5}, budget: {max_usd_per_verified_outcome: 0.01}}\n"


def test_a_change_says_what_was_and_what_is(tmp_path: Path) -> None:
    """The word before, its date, and that another policy decided."""
    view = nights(tmp_path, {1: EASY, 2: EASY, 3: HARD})
    (row,) = board(view, Filters()).rows
    assert (date(2026, 11, 2), Verdict.PASS, True) == (row.change.before_day, row.change.before, row.change.changed)
    assert "On 2026-11-02 it was PASS; now it is FAIL by floor.budget; another policy." == row.change.sentence
    assert [Verdict.PASS, Verdict.PASS, Verdict.FAIL] == [mark.decision for mark in row.marks]
    assert [1, 2, 3] == [mark.day.day for mark in row.marks]
    assert [0.1] * 3 == [point.value for point in row.sparks["cost_per_verified_outcome"]]
    (before,) = board(view, Filters(day=date(2026, 11, 2))).rows
    assert "Unchanged from 2026-11-01: PASS; another policy." == before.change.sentence
    assert "The first decision of this subject." == board(view, Filters(day=date(2026, 11, 1))).rows[0].change.sentence


def test_a_candidate_over_time(tmp_path: Path) -> None:
    """Series end with the newest date whichever is looked at; what changed the figures' meaning stands at its date."""
    view = nights(tmp_path, {1: EASY, 2: EASY, 3: HARD})
    subject = board(view, Filters()).rows[0].subject
    newest, before = candidate(view, subject), candidate(view, subject, date(2026, 11, 2))
    assert (3, 2) == (newest.standing.day.day, before.standing.day.day)
    assert newest.marks == before.marks
    assert [3, 2, 1] == [day.day for day in newest.days]
    assert [(0.1, 1, 0, 1)] * 3 == [
        (cost.covered_usd, cost.covered_trials, cost.uncovered_trials, cost.verified) for cost in newest.costs
    ]
    assert [1.0] * 3 == [point.brackets[1].lower for point in newest.pass_hat_k]
    assert [(2, "policy"), (3, "policy")] == [(change.day.day, change.what) for change in newest.changes]
    assert (newest.changes[1].before or "").startswith("shop 2 (")
    with pytest.raises(MissingError, match="nothing was decided on 2026-11-04; the last decision is of 2026-11-03"):
        candidate(view, subject, date(2026, 11, 4))


def test_a_revised_decision_names_what_made_the_difference(tmp_path: Path) -> None:
    """Decided again under another policy: both are on record, newest first, and the board says that it was revised."""
    nights(tmp_path, {1: EASY})
    view = nights(tmp_path, {1: HARD})
    subject = board(view, Filters()).rows[0].subject
    found = candidate(view, subject)
    assert 2 == found.log_total
    assert {(Verdict.FAIL, True, ("policy",)), (Verdict.PASS, False, ())} == {
        (entry.verdict, entry.current, entry.because) for entry in found.log
    }
    assert (Verdict.PASS, 2) == (found.standing.change.revised, found.standing.change.revisions)


DAY_1_NOON = "2026-11-01T12:00:00Z"


def shown_and_told(view: View) -> Iterator[str]:
    """The only subject's board, candidate page, report and note."""
    subject = board(view, Filters()).rows[0].subject
    yield PAGES[""](view, Links(base=""), {})
    yield PAGES["candidate"](view, Links(base=""), asdict(subject))
    yield as_html(report_of(view, Scope()))
    yield as_markdown(report_of(view, Scope()))


def test_a_decision_of_a_day_that_is_not_over_is_provisional(tmp_path: Path) -> None:
    """Page, report and note say so, and that alone: nothing is of record."""
    nights(tmp_path, {1: EASY}, clock=DAY_1_NOON)
    view = view_of(tmp_path / "lake", datetime(2026, 11, 1, 13, tzinfo=UTC))
    (row,) = board(view, Filters()).rows
    assert row.provisional
    assert "provisional: the day isn't over" == row.not_of_record
    assert () == candidate(view, row.subject).log
    for said in shown_and_told(view):
        assert "provisional: the day isn" in said.lower()
        assert "not of record" not in said.lower()


def test_a_decision_made_before_its_day_was_over_is_not_of_record(tmp_path: Path) -> None:
    """However long ago; page, report and note say so until the date is decided again."""
    view = nights(tmp_path, {1: EASY}, clock=DAY_1_NOON)
    (row,) = board(view, Filters()).rows
    assert row.provisional
    assert "not of record: decided before its day was over" == row.not_of_record
    assert row == candidate(view, row.subject).standing
    assert all("not of record: decided before its day was over" in said.lower() for said in shown_and_told(view))
    again = nights(tmp_path, {1: EASY})
    assert None is board(again, Filters()).rows[0].not_of_record
    assert not board(again, Filters()).rows[0].provisional
    assert not any("not of record" in said.lower() for said in shown_and_told(again))


def test_another_decision_on_record_does_not_speak_for_this_one(tmp_path: Path) -> None:
    """Decided again with a clock that stood within the day: the entry of the date is of another decision."""
    nights(tmp_path, {1: EASY})
    view = nights(tmp_path, {1: HARD}, clock=DAY_1_NOON)
    (row,) = board(view, Filters()).rows
    assert Verdict.FAIL is row.verdict
    assert "not of record: decided before its day was over" == row.not_of_record
    assert [(Verdict.PASS, False)] == [(entry.verdict, entry.current) for entry in candidate(view, row.subject).log]


def test_a_decision_that_came_back_stands_by_its_first_entry(tmp_path: Path) -> None:
    """Under one policy, another, and the first again: of record, and one entry stands, which is told to stand again."""
    for policy in (EASY, HARD, EASY):
        view = nights(tmp_path, {1: policy})
    (row,) = board(view, Filters()).rows
    assert (Verdict.PASS, None) == (row.verdict, row.not_of_record)
    expected = {(Verdict.PASS, True, True), (Verdict.FAIL, False, False)}
    assert expected == {(entry.verdict, entry.current, entry.again) for entry in candidate(view, row.subject).log}
    assert "that one stands again" in PAGES["candidate"](view, Links(base=""), asdict(row.subject))


def test_limits_are_those_of_the_policy_of_each_date(tmp_path: Path) -> None:
    """By signal and date; a date whose policy sets none has none."""
    budget = "floors: {verified_yield: {min: 0.5}, budget: {max_usd_per_verified_outcome: %s}}\n"
    view = nights(tmp_path, {1: budget % 0.5, 2: budget % 0.5, 3: EASY, 4: budget % 0.2})
    limits = candidate(view, board(view, Filters()).rows[0].subject).limits
    assert {1: 0.5, 2: 0.5, 4: 0.2} == {day.day: limit for day, limit in limits["cost_per_verified_outcome"].items()}
    assert {} == limits["useful_progress"]


def emptied(lake: Path, table: str, day: date) -> None:
    """Publish a date without the rows of one table, as no pipeline does."""
    path = partition_path(table_named(table), day)
    rows = pq.read_table(lake / path)
    pq.write_table(rows.slice(0, 0), lake / path)
    data, storage = (lake / path).read_bytes(), LocalStorage(str(lake))
    commit = read_commit(storage, day)
    assert commit is not None
    stored = StoredObject(size=len(data), sha256=hashlib.sha256(data).hexdigest())
    write_commit(storage, replace(commit, objects={**commit.objects, path: stored}))


def test_a_date_without_signals_shifts_no_other(tmp_path: Path) -> None:
    """Each figure stands beside its own date; a date that has none says so."""
    nights(tmp_path, {1: EASY, 2: EASY, 3: EASY})
    emptied(tmp_path / "lake", "signals", date(2026, 11, 1))
    view = view_of(tmp_path / "lake")
    subject = board(view, Filters()).rows[0].subject
    first, *others = candidate(view, subject).dates
    assert (date(2026, 11, 1), None, None) == (first.mark.day, first.cost, first.signals["false_success"])
    for row in others:
        assert row.cost is not None
        assert row.mark.day == row.cost.day
        assert {row.mark.day} == {point and point.day for point in row.signals.values()}
    assert 6 == PAGES["candidate"](view, Links(base=""), asdict(subject)).count("not published")


def test_a_newest_date_without_signals_shifts_no_other(tmp_path: Path) -> None:
    """Its cells on the board say so, each under its heading; the candidate's page, its charts and its file open, with
    the units of the dates before.
    """
    nights(tmp_path, {1: EASY, 2: EASY})
    emptied(tmp_path / "lake", "signals", date(2026, 11, 2))
    view = view_of(tmp_path / "lake")
    (row,) = board(view, Filters()).rows
    assert () == row.signals
    page = PAGES[""](view, Links(base=""), {})
    assert page.count('<th scope="col"') == 1 + page.partition("<tbody")[2].count('<td role="cell"')
    assert 5 == page.count("not published")
    assert 6 == PAGES["candidate"](view, Links(base=""), asdict(row.subject)).count("not published")
    found = candidate(view, row.subject)
    for kind in kinds():
        assert "<svg" in draw(kind, found, Theme.LIGHT)
    trend = list(csv.DictReader(io.StringIO(DOWNLOADS["trend"](view, asdict(row.subject)), newline="")))
    assert [("USD", ""), ("USD", "not published")] == [
        (line["cost_per_verified_outcome_unit"], line["cost_per_verified_outcome_not_available"]) for line in trend
    ]


def test_units_of_signals_are_the_published_ones(view: View) -> None:
    """Where nothing was published they are known by the signal's name."""
    for row in board(view, Filters()).rows:
        assert {figure.name: figure.unit for figure in row.signals} == UNITS


def test_a_decision_whose_check_is_missing_is_not_called_permitted(tmp_path: Path) -> None:
    """Board, candidate, report and note name the check and say that its row isn't there, and what to do; doing it
    mends it.
    """
    view = nights(tmp_path, {1: HARD})
    (before,) = board(view, Filters()).rows
    day, lake = date(2026, 11, 1), tmp_path / "lake"
    emptied(lake, "gate_checks", day)
    path = partition_path(table_named("gate_checks"), day)
    view = view_of(lake)
    (row,) = board(view, Filters()).rows
    said = (
        "Decided by floor.budget; why isn't known, as the lake has no row of that check."
        f" Delete {path} there and run the pipeline again."
    )
    assert (Verdict.FAIL, said, None) == (row.verdict, row.deciding.sentence, row.deciding.check)
    assert said in DOWNLOADS["board"](view, {})
    for text in shown_and_told(view):
        assert "permitted" not in text
        assert "floor.budget" in text
    (lake / path).unlink()
    assert (before.deciding,) == tuple(again.deciding for again in board(nights(tmp_path, {1: HARD}), Filters()).rows)


@pytest.mark.parametrize("table", ["decisions", "policies"])
def test_a_run_whose_date_lacks_its_decision_says_what_to_do(tmp_path: Path, table: str) -> None:
    """The file that should hold it is named, and doing what the message says mends it."""
    nights(tmp_path, {1: EASY})
    day, lake = date(2026, 11, 1), tmp_path / "lake"
    emptied(lake, table, day)
    path = partition_path(table_named(table), day)
    with pytest.raises(PipelineError, match=f"{path}: 0 rows .* delete the file and run the pipeline again"):
        run_page(view_of(lake), "run-1")
    (lake / path).unlink()
    assert "run-1" == run_page(nights(tmp_path, {1: EASY}), "run-1").run_id


def test_a_changed_dataset_and_model_are_marked(tmp_path: Path) -> None:
    """Where a run names another version, figures before and after mean different things."""
    runs = tmp_path / "runs"
    for day in (1, 2):
        manifest = write_run(runs, f"run-{day}", day) / "run.yaml"
        manifest.write_text(manifest.read_text() + f'dataset_version: "v{day}"\nmodel: m-{day}\n')
    pipeline.run(settings(runs, tmp_path / "lake"))
    view = view_of(tmp_path / "lake")
    found = candidate(view, board(view, Filters()).rows[0].subject)
    expected = [("dataset version", "v1", "v2"), ("model", "m-1", "m-2")]
    assert expected == [(change.what, change.before, change.after) for change in found.changes]
    assert "Unchanged from 2026-11-01: PASS; another dataset version, another model." == found.standing.change.sentence
    assert {"m-1", "m-2"} == set(board(view, Filters()).options.models)


def test_another_version_of_an_evaluator_is_marked(view: View) -> None:
    """By its name, from which version to which; a date without verdicts says nothing."""
    same_decision = dict.fromkeys(("policy_hash", "code_version", "dataset_version", "model", "baseline"), "x")
    decisions = [{**same_decision, "window_days": 1, "run_date": date(2026, 11, day)} for day in (1, 2, 3)]
    measured = [
        {"run_date": date(2026, 11, 1), "source": "evaluator", "name": "tool_order", "version": "1"},
        {"run_date": date(2026, 11, 2), "source": "evaluator", "name": "tool_order", "version": "2"},
        {"run_date": date(2026, 11, 2), "source": "harness", "name": "goal_completion", "version": "1"},
    ]
    expected = (
        DefinitionChange(day=date(2026, 11, 2), what="comparator goal_completion", before=None, after="1"),
        DefinitionChange(day=date(2026, 11, 2), what="evaluator tool_order", before="1", after="2"),
    )
    assert expected == definition_changes(decisions, measured)
    held = view.rows("SELECT DISTINCT source FROM measured_with ORDER BY source")
    assert ["evaluator", "grader", "harness"] == [row["source"] for row in held]


def test_a_voided_run_is_named_with_its_reason(tmp_path: Path) -> None:
    """On the candidate's page; a link to it says where it went."""
    runs, exclusions = tmp_path / "runs", tmp_path / "exclude.yaml"
    write_run(runs, "good", 1)
    write_run(runs, "void", 1)
    exclusions.write_text("schema: 1\nexclude: [{run: void, reason: wrong image, owner: Jo, date: 2026-11-29}]\n")
    pipeline.run(settings(runs, tmp_path / "lake", exclude=exclusions))
    view = view_of(tmp_path / "lake")
    found = candidate(view, board(view, Filters()).rows[0].subject)
    (excluded,) = found.standing.excluded
    assert ("void", "wrong image", "Jo", date(2026, 11, 29)) == (
        excluded.run_id, excluded.reason, excluded.owner, excluded.day,
    )  # fmt: skip
    assert ["good"] == [run.run_id for run in found.runs]
    assert ["void"] == [entry.run_id for entry in quality(view, Filters()).excluded]
    with pytest.raises(MissingError, match=r"void: .* excluded: wrong image"):
        run_page(view, "void")


# -- run -------------------------------------------------------------------------------------------------------------


def test_metrics_are_the_reports(view: View, report: Mapping[str, Any]) -> None:
    """Of every run: value, count, passed, unavailable by reason, and the General Score with what it misses."""
    for said in report["runs"]:
        page = run_page(view, said["run_id"])
        assert said["metrics"].keys() == {metric.name for metric in page.metrics}
        for metric in page.metrics:
            numbers = said["metrics"][metric.name]
            assert same(numbers["value"], metric.value)
            assert same(numbers["numerator"], metric.numerator)
            for name in ("denominator", "passed", "unavailable", "unavailable_reasons"):
                assert numbers[name] == getattr(metric, name), metric
        assert page.general_score is not None
        assert same(said["general_score"]["value"], page.general_score.value)
        assert said["general_score"]["missing"] == list(page.general_score.missing)
        assert (said["state"], said["format"], said["suite"]) == (page.state, page.format, page.subject.suite)
        assert (said["trials"], said["planned"]) == (page.recorded_trials, page.planned_trials)
        assert said["defects"] == sum(page.defect_codes.values()) == len(page.defects)


def test_trials_of_a_run_as_they_were_judged(view: View, report: Mapping[str, Any]) -> None:
    """The real run's outcomes rest on an attested comparator: as many verified as the metric passed."""
    page = run_page(view, REAL)
    (said,) = (run for run in report["runs"] if run["run_id"] == REAL)
    outcomes = [trial.outcome for trial in page.trials]
    assert (50, 50) == (len(page.trials), page.trials_total)
    assert said["metrics"]["goal_completion"]["passed"] == outcomes.count("verified")
    assert said["metrics"]["goal_completion"]["unavailable"] == outcomes.count("unavailable")
    assert {"judge_call_failed", "below_pass_threshold", None} == {trial.outcome_reason for trial in page.trials}


def test_trials_of_the_worked_example(view: View) -> None:
    """Effects by state, cost, quality, and the two that were praised without being verified."""
    page = run_page(view, "inversion-fast-v2")
    found = {trial.link.label: trial for trial in page.trials}
    assert {"unknown": 1} == found["t5"].effects
    assert (0.435, "billed") == (found["t5"].cost_usd, found["t5"].cost_state)
    assert ["t4", "t5"] == [name for name, trial in found.items() if trial.contradiction]
    assert [Verdict.FAIL] == [decision.verdict for decision in page.decisions]
    assert "release-desk" == page.identity["Requested by"]


def test_a_planned_trial_without_a_record_is_in_the_list(tmp_path: Path) -> None:
    """With nothing but its name."""
    folder = write_run(tmp_path / "runs", "run-1", 1)
    manifest = folder / "run.yaml"
    manifest.write_text(manifest.read_text().replace("tasks: [t1]", "tasks: [t1, t2]"))
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    page = run_page(view_of(tmp_path / "lake"), "run-1")
    recorded, missing = page.trials
    assert (True, "verified") == (recorded.recorded, recorded.outcome)
    assert ("t2 (no record)", False, None) == (missing.link.label, missing.recorded, missing.outcome)
    assert (2, 1, 1) == (page.planned_trials, page.recorded_trials, page.missing_trials)


def test_summary_csv_is_held_against_the_scores(view: View) -> None:
    """The outage: the summary claims what no judge said, and the page says which columns mislead and why."""
    page = run_page(view, "trap-judge-outage")
    claims = {claim.metric: claim for claim in page.claims}
    goal = claims["goal_completion"]
    assert goal.misleading
    assert "rows hold no verdict" in goal.why
    assert (2, 2) == (goal.denominator, goal.unavailable)
    assert {"judge_call_failed", "judge_no_log"} <= {finding.code for finding in page.findings}


def test_health_says_what_a_metric_is_worth(view: View) -> None:
    """The real run: the attested comparator agrees with itself, the matcher with 29 of 49 outcomes; no evidence, no
    number; in the worked example two metrics never vary."""
    health = run_page(view, REAL).health
    assert (49, 49, 1) == (
        health["goal_completion"].judged,
        health["goal_completion"].agreeing,
        health["goal_completion"].unavailable,
    )
    assert (49, 29, 4) == (
        health["trajectory_matcher"].judged,
        health["trajectory_matcher"].agreeing,
        health["trajectory_matcher"].at_maximum,
    )
    assert (0, 50, None) == (
        health["tools_avoided"].n,
        health["tools_avoided"].unavailable,
        health["tools_avoided"].variance,
    )
    example = run_page(view, "inversion-fast-v2").health
    assert ["arguments.equal_share", "tools_avoided"] == [name for name, row in example.items() if row.never_varied]


def test_a_run_without_facts_shows_what_tables_hold(tmp_path: Path) -> None:
    """And says what is missing, and why; its trials have no page."""
    write_run(tmp_path / "runs", "run-1", 1)
    lake = tmp_path / "lake"
    pipeline.run(settings(tmp_path / "runs", lake))
    shutil.rmtree(lake / "facts")
    view = view_of(lake)
    page = run_page(view, "run-1")
    assert "these facts are gone" in (page.facts_reason or "")
    assert ((), (), None) == (page.metrics, page.claims, page.general_score)
    (trial,) = page.trials
    assert ("verified", None, None) == (trial.outcome, trial.effects, trial.calls)
    with pytest.raises(MissingError, match="these facts are gone"):
        trial_page(view, "run-1", "t1", 0)


def test_an_unknown_run_is_missing(view: View) -> None:
    """In a sentence that names it."""
    with pytest.raises(MissingError, match="nobody: this lake has no such run"):
        run_page(view, "nobody")


# -- trial -----------------------------------------------------------------------------------------------------------


def test_every_trial_has_a_page(view: View) -> None:
    """With the outcome and quality of the list it was found in, and every call in one row."""
    for row in view.rows("SELECT * FROM judged ORDER BY run_id, task_id, trial"):
        page = trial_page(view, row["run_id"], row["task_id"], row["trial"])
        assert (row["outcome"], row["waiting"], row["declared"]) == (page.outcome.judged, page.waiting, page.declared)
        assert row["quality"] == page.quality or same(float(row["quality"]), page.quality)
        assert (page.quality is None) == (page.quality_reason is not None)
        if page.tools.called is not None:
            assert page.tools.called == sum(line.called is not None for line in page.tools.rows)


def test_a_trial_nobody_can_verify(view: View) -> None:
    """The unknown effect, the verifier that didn't answer, where both were read, and the checks that name it."""
    page = trial_page(view, "inversion-fast-v2", "t5", 0)
    assert ("unavailable", "verifier_unreachable", None) == (
        page.outcome.judged,
        page.outcome.reason,
        page.outcome.attested_by,
    )
    assert page.contradiction
    assert page.effects is not None
    assert [("billing:subscriptions/S-9034", "unknown", "destination_unreachable", False)] == [
        (effect.destination, effect.state, effect.reason, effect.silent) for effect in page.effects
    ]
    assert page.place is not None
    assert ("trials.jsonl", 5, "line") == (page.place.file, page.place.row, page.place.unit)
    fired = {named.check for named in page.named_by if named.fired}
    assert {"false_success", "unknown_effects", "coverage.verdicts"} <= fired
    assert {"active": 4, "with_delta": 3, "waiting": 0, "stale": 0} == page.progress
    assert (None, NOT_KEPT) == (page.transcript, page.transcript_reason)
    grader = next(row for row in page.verdicts if row.source == "grader")
    assert ("reply_rubric", 0.9) == (grader.name, grader.value)


def test_a_real_trial_shows_on_whose_word_it_rests(view: View) -> None:
    """The attestation, what the judge wrote, the calls beside what was expected, and the task's other trials."""
    page = trial_page(view, REAL, "tau-airline-00", 0)
    assert "attested by evalbench maintainers" in (page.outcome.attested_by or "")
    assert ("failed", None) == (page.outcome.judged, page.outcome.recorded)
    assert any(row.logged for row in page.verdicts if row.source == "harness")
    assert ["harness", "evaluator"] == list(dict.fromkeys(row.source for row in page.verdicts))
    assert page.place is not None
    assert ("evals.csv", "record") == (page.place.file, page.place.unit)


def test_a_kept_transcript_is_shown(tmp_path: Path, sample_runs: Path, root: Path) -> None:
    """What was said, as it was kept."""
    (tmp_path / "runs").mkdir()
    shutil.copytree(sample_runs / REAL, tmp_path / "runs" / REAL)
    routing = root / "include" / "samples" / "routing.yaml"
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", routing=routing, transcript_days=30))
    page = trial_page(view_of(tmp_path / "lake"), REAL, "tau-airline-00", 0)
    assert page.transcript is not None
    assert page.transcript.messages
    assert None is page.transcript_reason


def test_a_trial_that_is_not_on_record_is_missing(view: View) -> None:
    """In a sentence that says what is."""
    with pytest.raises(MissingError, match="no trial 7 of task t5 is on record"):
        trial_page(view, "inversion-fast-v2", "t5", 7)


def test_a_forbidden_tool_is_marked_by_policy_and_by_task(tmp_path: Path) -> None:
    """Whoever forbids it; the call is extra where nobody expected it."""
    record = json.loads(json.dumps(RECORD))
    record["tools"] = {
        "called": [{"name": "shop__order"}, {"name": "shop__wipe"}, {"name": "shop__peek"}],
        "expected": [{"name": "shop__order"}],
        "forbidden": ["shop__peek"],
    }
    folder = write_run(tmp_path / "runs", "run-1", 1)
    (folder / "trials.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "policy.yaml").write_text(f"schema: 1\nname: p\nversion: '1'\n{EASY}tools: {{forbidden: ['*wipe']}}\n")
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", policy=tmp_path / "policy.yaml"))
    page = trial_page(view_of(tmp_path / "lake"), "run-1", "t1", 0)
    expected = [("shop__order", "matched", False), ("shop__wipe", "extra", True), ("shop__peek", "extra", True)]
    assert expected == [(row.called and row.called.name, row.mark, row.forbidden) for row in page.tools.rows]
    assert {"extra": 2, "matched": 1, "forbidden": 2} == page.tools.counts
    assert 2 == page.forbidden_calls
    assert page.effects is not None
    assert [("e1", False), ("call-1", True), ("call-2", True)] == [(e.effect_id, e.silent) for e in page.effects]


# -- expected beside called ------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c"])
arguments = st.sampled_from([None, "{}", '{"x":1}'])
expectations = st.lists(
    st.builds(lambda name, args: ExpectedCall(raw_name=name, name=name, args_json=args), names, arguments), max_size=8
)
calls = st.lists(
    st.builds(lambda name, args: ToolCall(index=0, raw_name=name, name=name, args_json=args), names, arguments),
    max_size=8,
)


def marks(rows: tuple[AlignedRow, ...]) -> list[tuple[str, int | None, int | None]]:
    """(mark, expected at, called at) of each row."""
    return [(row.mark.value, row.expected_at, row.called_at) for row in rows]


@given(expected=expectations, called=calls)
def test_every_call_is_in_one_row(expected: list[ExpectedCall], called: list[ToolCall]) -> None:
    """On both sides; calls in their order, and each row holds what its positions say."""
    rows = align(expected, called)
    assert list(range(len(called))) == [row.called_at for row in rows if row.called_at is not None]
    assert list(range(len(expected))) == sorted(row.expected_at for row in rows if row.expected_at is not None)
    for row in rows:
        assert row.called is (None if row.called_at is None else called[row.called_at])
        assert row.expected is (None if row.expected_at is None else expected[row.expected_at])
        assert (row.mark is Mark.MISSING) == (row.called is None)
        assert (row.mark is Mark.EXTRA) == (row.expected is None)


@given(expected=expectations, called=calls)
def test_marks_agree_with_the_evaluators(expected: list[ExpectedCall], called: list[ToolCall]) -> None:
    """As many matched as tool_order counts in order; matched and reordered at most what tool_selection pairs, and
    exactly that many where expectations are alike; none missing whose tool was called for nothing else."""
    found = [row.mark for row in align(expected, called)]
    paired = found.count(Mark.MATCHED) + found.count(Mark.REORDERED)
    assert lcs_length(called, expected) == found.count(Mark.MATCHED)
    assert multiset_matched(called, expected) >= paired
    if len({wanted.args_json is None for wanted in expected}) < 2:
        assert multiset_matched(called, expected) == paired
    missing = {row.expected.name for row in align(expected, called) if row.mark is Mark.MISSING and row.expected}
    extra = {row.called.name for row in align(expected, called) if row.mark is Mark.EXTRA and row.called}
    assert not missing & extra


@given(expected=expectations, called=calls)
def test_without_the_other_side_nothing_is_said(expected: list[ExpectedCall], called: list[ToolCall]) -> None:
    """No expectation: no call is extra. No call sequence: nothing is missing."""
    assert [("alone", None, at) for at in range(len(called))] == marks(align(None, called))
    assert [("alone", at, None) for at in range(len(expected))] == marks(align(expected, None))


def test_a_missing_call_stands_where_it_was_expected() -> None:
    """Between its neighbours; one that came too late is reordered, one with other arguments differs."""
    wanted = [ExpectedCall(raw_name=name, name=name, args_json=None) for name in "abcd"]
    made = [ToolCall(index=at, raw_name=name, name=name, args_json="{}") for at, name in enumerate("dacx")]
    expected = [
        ("reordered", 3, 0), ("matched", 0, 1), ("missing", 1, None), ("matched", 2, 2), ("extra", None, 3),
    ]  # fmt: skip
    assert expected == marks(align(wanted, made))
    other = [ExpectedCall(raw_name="x", name="x", args_json='{"n":1}')]
    assert [("differs", 0, 3)] == [mark for mark in marks(align(other, made)) if mark[0] == "differs"]


# -- contradictions, data quality, search ----------------------------------------------------------------------------


def test_contradictions_are_the_views(view: View, samples: tuple[Path, Mapping[str, Any]]) -> None:
    """Row for row; failed before unavailable; with how many were graded and praised."""
    found = contradictions(view, Filters())
    expected = ask(samples[0], "SELECT run_id, task_id, trial, outcome FROM contradictions ORDER BY outcome, task_id")
    shown = [
        {
            "run_id": row.link.run_id, "task_id": row.link.task_id, "trial": row.link.trial, "outcome": row.outcome,
        }
        for row in found.rows
    ]  # fmt: skip
    assert expected == shown
    assert (2, 1, 1) == (found.total, found.failed, found.unavailable)
    assert (9, 9) == (found.graded, found.praised)
    none = contradictions(view, Filters(candidate="stable-v1"))
    assert 0 == none.total
    assert "All of 4 praised trials are verified" in (none.nothing or "")
    assert 2 == contradictions(view, Filters(model="synthetic-fast-v2")).total
    assert "No trial here has a quality" in (contradictions(view, Filters(day=date(2026, 11, 27))).nothing or "")


def test_the_accounting_is_the_reports(view: View, report: Mapping[str, Any]) -> None:
    """The sum closes, and ignored entries are told with what to do about them."""
    found = quality(view, Filters())
    (execution,) = found.executions
    for name, count in report["accounting"].items():
        assert count == getattr(execution, name), name
    assert execution.closes
    assert not execution.ranged
    assert ["notes", "trends_cache.csv"] == [entry.path for entry in found.ignored]
    assert 2 == found.entry_totals["ignored"]
    assert found.judge_failures_total == len(found.judge_failures) == len(view.rows("SELECT * FROM silent_judges"))
    tau = quality(view, Filters(product="tau-bench-airline"))
    assert {"tau-bench-airline"} == {failure.subject.product for failure in tau.judge_failures}
    assert 2 == tau.entry_totals["ignored"]


def test_entries_by_what_became_of_them(tmp_path: Path) -> None:
    """A torn run is quarantined with its reason, a second directory of one run id too, a late one is told as late."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "first", 1)
    pipeline.run(settings(runs, lake))
    write_run(runs, "late", 1)
    write_run(runs, "twin", 2, run_id="first")
    (write_run(runs, "torn", 2) / "run.yaml").write_bytes(b"run_id: [")
    pipeline.run(settings(runs, lake, clock="2026-12-03T06:00:00Z"))
    found = quality(view_of(lake), Filters())
    assert {"twin": "duplicate_run_id"}.items() <= {entry.path: entry.reason for entry in found.quarantined}.items()
    assert ["late"] == [entry.path for entry in found.late]
    assert [date(2026, 12, 3), date(2026, 12, 2)] == [execution.day for execution in found.executions]
    assert found.executions[0].plan_id == found.told_by
    assert all(execution.closes for execution in found.executions)


def test_the_newest_look_at_everything_tells_how_things_stand(tmp_path: Path) -> None:
    """On one day, under clocks that pass or stand still: what was mended since is mended here; a range tells nothing
    of what it didn't look at."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "good", 1)
    write_run(runs, "other", 3)
    torn = write_run(runs, "torn", 2) / "run.yaml"
    mended = torn.read_bytes()
    torn.write_bytes(b"run_id: [")

    def execute(plan_id: str, hour: int, own: date | None = None) -> None:
        used = settings(runs, lake, clock=f"2026-12-03T{hour:02}:00:00Z")
        plan = pipeline.discover(used, plan_id=plan_id, since=own, until=own)
        for entry in plan.to_score:
            pipeline.score(used, plan, entry.run_key)
        pipeline.publish(used, pipeline.decide(used, plan))

    def told() -> tuple[str | None, list[str]]:
        found = quality(view_of(lake), Filters())
        return found.told_by, [entry.path for entry in found.quarantined]

    execute("scheduled__2026-12-02T02", 2)
    assert ("scheduled__2026-12-02T02", ["torn"]) == told()
    torn.write_bytes(mended)
    execute("manual__2026-12-03T09", 9)
    assert ("manual__2026-12-03T09", []) == told()
    torn.write_bytes(b"run_id: [")
    execute("manual__2026-12-03T10", 9)
    assert ("manual__2026-12-03T10", ["torn"]) == told()
    execute("backfill__2026-11-01T02", 11, date(2026, 11, 1))
    assert ("manual__2026-12-03T10", ["torn"]) == told()
    assert [11, 9, 9, 2] == [
        execution.executed_at and execution.executed_at.hour
        for execution in quality(view_of(lake), Filters()).executions
    ]


def test_a_trial_is_taken_along_as_files(view: View) -> None:
    """Its tools side by side, its effects with their receipts and its verdicts, each row with the trial it is of."""
    trial = {"run_id": "inversion-fast-v2", "task_id": "t4", "trial": "0"}
    tools, effects, verdicts = (
        list(csv.DictReader(io.StringIO(DOWNLOADS[name](view, trial), newline="")))
        for name in ("tools", "effects", "verdicts")
    )
    assert [
        ("matched", "1", "crm__lookup_customer", "1", "crm__lookup_customer", "success"),
        ("matched", "2", "billing__search_invoices", "2", "billing__search_invoices", "success"),
        ("extra", "", "", "3", "billing__adjust_balance", "success"),
        ("missing", "3", "approvals__open_request", "", "", ""),
    ] == [
        tuple(
            row[name]
            for name in ("comparison", "expected_number", "expected_tool", "called_number", "called_tool", "status")
        )
        for row in tools
    ]
    assert [("verified", "billing:customers/C-3175/balance")] == [(row["state"], row["destination"]) for row in effects]
    assert "trials.jsonl line 4" == next(row["place"] for row in verdicts if row["name"] == "reply_rubric")
    assert all(trial.items() <= row.items() for row in (*tools, *effects, *verdicts))


def test_an_id_copied_from_a_note_is_found(view: View) -> None:
    """A note parts what GitHub would take for a link, with a mark that nobody sees."""
    (task,) = search(view, f"tau-airline-{PARTED}33").tasks
    assert ("tau-airline-33", 0) == (task.link.task_id, search(view, f"nobody{PARTED}33").tasks_total)


def test_search_finds_runs_and_tasks(view: View) -> None:
    """By a part of their name in any case, newest first, with how many there are."""
    found = search(view, "  TAU-airline ")
    assert (50, 50, 0) == (len(found.tasks), found.tasks_total, found.runs_total)
    assert all(4 == task.trials for task in found.tasks)
    assert "tau-airline" in found.tasks[0].link.task_id
    first, every = search(view, "t", 5), search(view, "t")
    assert (5, 72, 5, 9) == (len(first.tasks), first.tasks_total, len(first.runs), first.runs_total)
    assert (first.tasks, first.runs) == (every.tasks[:5], every.runs[:5])
    for days in ([run.run_date for run in every.runs], [task.run_date for task in every.tasks]):
        assert len(set(days)) > 1
        assert days == sorted(days, reverse=True)
    assert ["trap-judge-contradiction", "trap-judge-outage"] == [run.run_id for run in search(view, "JUDGE").runs]
    assert () == search(view, "   ").runs
    assert 0 == search(view, "%").tasks_total
    assert 0 == search(view, "_____________").runs_total


def test_hostile_names_pass_through_unchanged(tmp_path: Path) -> None:
    """As candidate, product, run, task and evidence: board, candidate, run, trial and search keep every letter."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for number, name in enumerate(HOSTILE):
        folder = write_run(runs, f"run-{number}", 1)
        manifest = {
            "run_id": f"{name}-run", "candidate": name, "product": name, "dataset": name,
            "run_time": "2026-11-01 09:00:00", "planned": {"tasks": [name], "trials": 1}, "labels": {name: name},
        }  # fmt: skip
        (folder / "run.yaml").write_text(json.dumps(manifest, ensure_ascii=False))
        record = json.loads(json.dumps(RECORD)) | {"task_id": name}
        record["outcome"]["evidence"] = name
        (folder / "trials.jsonl").write_text(json.dumps(record) + "\n")
    pipeline.run(settings(runs, lake))
    view = view_of(lake)
    assert sorted(HOSTILE) == sorted(row.subject.candidate for row in board(view, Filters()).rows)
    for name in HOSTILE:
        (row,) = board(view, filters_of({"candidate": name, "product": name})).rows
        subject = candidate(view, row.subject).subject
        assert (name, name, name) == (subject.candidate, subject.product, subject.suite)
        assert {name: name} == run_page(view, f"{name}-run").labels
        page = trial_page(view, f"{name}-run", name, 0)
        assert (name, name) == (page.link.task_id, page.outcome.evidence)
        assert [name] == [task.link.task_id for task in search(view, name).tasks]


# -- clocks and records ----------------------------------------------------------------------------------------------


def dated(folder: Path, day: str) -> None:
    """Give a run of `write_run` another date."""
    manifest = folder / "run.yaml"
    manifest.write_text(re.sub("run_time: .*", f'run_time: "{day} 09:00:00"', manifest.read_text()))


@pytest.mark.parametrize("now", [datetime(2026, 11, 29, 6, tzinfo=UTC), datetime(2027, 1, 15, 6, tzinfo=UTC)])
def test_a_run_from_a_wrong_clock_hides_nobody(tmp_path: Path, now: datetime) -> None:
    """Nothing becomes old by a run dated in the future, on the board, the candidate's page or in the report; that one
    stands first, by its date, and is marked everywhere: it isn't of today.
    """
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "r1", 28)
    dated(write_run(runs, "r2", 28, "wrong-clock"), "2027-11-28")
    pipeline.run(settings(runs, lake, clock=now.isoformat()))
    view = view_of(lake, now)
    found, days = board(view, Filters()), (date(2027, 11, 28) - now.date()).days
    assert [("wrong-clock", -days, 0), ("agent-1", (now.date() - date(2026, 11, 28)).days, 0)] == [
        (row.subject.candidate, row.age_days, row.behind_days) for row in found.rows
    ]
    said = f"dated in the future: in {days} days"
    assert ([said, None], 0) == ([row.not_of_record for row in found.rows], found.older)
    page = PAGES[""](view, Links(base=""), {})
    assert f"2027-11-28, in {days} days" in page
    assert "before the newest run" not in page
    report = report_of(view, Scope())
    assert (["wrong-clock", "agent-1"], 0) == ([one.subject.candidate for one in report.pages], report.older)
    shown = (page, PAGES["candidate"](view, Links(base=""), asdict(found.rows[0].subject)), as_html(report))
    for text in (*shown, as_markdown(report)):
        assert said in text.lower()


def test_only_wrong_clocks_leave_nobody_out(tmp_path: Path) -> None:
    """Where every run is dated in the future, none is old."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    dated(write_run(runs, "r1", 28), "2027-11-28")
    dated(write_run(runs, "r2", 28, "agent-2"), "2028-11-28")
    pipeline.run(settings(runs, lake))
    found = board(view_of(lake), Filters())
    assert (["agent-2", "agent-1"], 0) == ([row.subject.candidate for row in found.rows], found.older)


def shown_of_a_day(view: View) -> Iterator[str]:
    """What says a decision's word, of the only subject with one run and trial."""
    (subject,) = {row.subject for row in board(view, Filters()).rows}
    given = asdict(subject)
    yield from shown_and_told(view)
    yield PAGES["run"](view, Links(base=""), {"run_id": "run-1"})
    yield PAGES["trial"](view, Links(base=""), {"run_id": "run-1", "task_id": "t1", "trial": "0"})
    for name in ("board", "signals", "trend"):
        yield DOWNLOADS[name](view, given)


@pytest.mark.parametrize(
    ("clock", "said"),
    [(DAY_1_NOON, "not of record: decided before its day was over"), ("2026-11-02T06:00:00Z", None)],
)
def test_whatever_says_a_decision_says_that_it_is_not_of_record(tmp_path: Path, clock: str, said: str | None) -> None:
    """Board, candidate with its dates, report, note, run, trial and files; nothing says so of one that is of record."""
    view = nights(tmp_path, {1: HARD}, clock=clock)
    (named,) = trial_page(view, "run-1", "t1", 0).named_by
    (pooled,) = run_page(view, "run-1").decisions
    found = candidate(view, pooled.subject)
    assert (said, said, said) == (named.not_of_record, pooled.not_of_record, found.standing.not_of_record)
    assert [said] == [mark.not_of_record for mark in found.marks]
    expected = 0 if said is None else 1
    assert [expected] * 9 == [min(1, text.lower().count("not of record")) for text in shown_of_a_day(view)]
    page = PAGES["candidate"](view, Links(base=""), asdict(pooled.subject))
    assert 2 * expected == page.lower().count("not of record")


def test_a_provisional_day_is_provisional_on_every_page(tmp_path: Path) -> None:
    """At noon of the day: of the run, of the trial and of the date in the table, not of the date before."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for day in (1, 2):
        write_run(runs, f"run-{day}", day)
    noon = datetime(2026, 11, 2, 12, tzinfo=UTC)
    pipeline.run(settings(runs, lake, clock=noon.isoformat()))
    view = view_of(lake, noon)
    said = "provisional: the day isn't over"
    assert [None, said] == [run_page(view, f"run-{day}").decisions[0].not_of_record for day in (1, 2)]
    found = candidate(view, board(view, Filters()).rows[0].subject)
    assert [None, said] == [mark.not_of_record for mark in found.marks]


def test_tallies_count_what_is_provisional(tmp_path: Path) -> None:
    """Of three that may ship one's day isn't over, on the board, in the report and the note."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for day, name in ((1, "agent-1"), (1, "agent-2"), (2, "agent-3")):
        write_run(runs, name, day, name)
    noon = datetime(2026, 11, 2, 12, tzinfo=UTC)
    pipeline.run(settings(runs, lake, clock=noon.isoformat()))
    view = view_of(lake, noon)
    expected = ["3 may ship (1 provisional)", "0 failed", "0 lack evidence"]
    assert expected == [one.said for one in board(view, Filters()).tallies]
    assert expected[1] == board(view, Filters(candidate="agent-1")).tallies[1].said
    report = report_of(view, Scope())
    assert expected == [one.said for one in report.tallies]
    assert f"## Release decisions: {', '.join(expected)}" == as_markdown(report).splitlines()[0]
    for page in (PAGES[""](view, Links(base=""), {}), as_html(report)):
        assert expected[0] in page


def test_a_decision_later_than_the_newest_run_is_not_behind_it(tmp_path: Path) -> None:
    """A candidate that was expected and didn't run is decided without a run: nothing is behind."""
    routing = tmp_path / "routing.yaml"
    expected = "{candidate: agent-1, environment: offline, hour: 12, since: 2026-11-28}"
    routing.write_text(
        f"schema: 1\nroutes: [{{product: shop, suite: orders, policy: consequential, expected: [{expected}]}}]\n"
    )
    write_run(tmp_path / "runs", "r1", 28)
    clock = datetime(2026, 12, 1, 2, tzinfo=UTC)
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", routing=routing, clock=clock.isoformat()))
    view = view_of(tmp_path / "lake", clock)
    (row,) = board(view, Filters()).rows
    assert (date(2026, 11, 30), 0) == (row.day, row.behind_days)
    assert not any("before the newest run" in text for text in shown_and_told(view))


def test_what_stands_of_a_date_that_is_left_out_is_not_known(tmp_path: Path) -> None:
    """Its entry of the log is neither said to stand nor not to, and what came before a decision isn't made up."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    for day in (1, 2, 3):
        write_run(runs, f"run-{day}", day)
    pipeline.run(settings(runs, lake))
    say_publishing(lake, date(2026, 11, 2))
    view = view_of(lake)
    subject = board(view, Filters()).rows[0].subject
    found = candidate(view, subject)
    assert [(3, True), (2, None), (1, True)] == [(entry.day.day, entry.current) for entry in found.log]
    assert 1 == PAGES["candidate"](view, Links(base=""), asdict(subject)).count("not known now")
    said = "Unchanged from 2026-11-01: PASS. Nothing is shown of what was decided between: 2026-11-02."
    assert said == found.standing.change.sentence
    assert "The first decision of this subject." == candidate(view, subject, date(2026, 11, 1)).standing.change.sentence
    say_publishing(lake, date(2026, 11, 1))
    first = candidate(view_of(lake), subject).standing.change
    assert (None, False) == (first.before, first.changed)
    assert (
        "Whether it is the first decision of this subject isn't known now: nothing of 2026-11-01, 2026-11-02 is shown."
    ) == first.sentence


def test_what_is_counted_is_said_of_one_and_of_none(tmp_path: Path) -> None:
    """One older subject was decided before; where no judge was asked, none is said to have answered."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "old", 1, "agent-1")
    dated(write_run(runs, "new", 1, "agent-2"), "2026-12-02")
    pipeline.run(settings(runs, lake))
    view = view_of(lake)
    said = "No subject was decided in the last 30 days before the newest run; 1 was before."
    assert said == board(view, Filters(candidate="agent-1")).nothing
    assert [] == list(quality(view, Filters()).judge_failures)
    assert "None: no judge was asked in vain." in PAGES["quality"](view, Links(base=""), {})
