"""The page's copy of the lake: the same rows, whole dates only, soon up to date, and honest where it can't be."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from tests.lakes import say_publishing, settings, write_run

from evalbench import pipeline
from evalbench.errors import PipelineError, UsageError
from evalbench.forgetting import forget
from evalbench.lake.commits import commit_path, read_commits
from evalbench.sinks.decision_log import append_decisions
from evalbench.sinks.duckdb import query
from evalbench.storage import LocalStorage, Storage
from evalbench.web.models.board import board
from evalbench.web.models.parts import Filters
from evalbench.web.models.run import run_page
from evalbench.web.store import FRESH_S, PATIENCE_S, Store, View
from evalbench.web.tables import GATE_EVIDENCE, GROWING, TRIALS, WHOLE

NOW = datetime(2026, 12, 2, 6, tzinfo=UTC)
DAY = date(2026, 11, 28)


class Ticks:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The seconds."""
        return self.now

    def pass_on(self) -> None:
        """Let a look grow too old."""
        self.now += FRESH_S


@pytest.fixture
def ticks() -> Ticks:
    """A clock of the test's."""
    return Ticks()


@pytest.fixture
def stores() -> Iterator[list[Store]]:
    """Stores that end with the test."""
    opened: list[Store] = []
    yield opened
    for store in opened:
        store.close()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two dates with a run each."""
    folder = tmp_path / "runs"
    write_run(folder, "first", 27)
    write_run(folder, "second", DAY.day)
    return folder


def published(runs: Path) -> Path:
    """The lake beside these runs, up to date with them."""
    lake = runs.parent / "lake"
    pipeline.run(settings(runs, lake))
    return lake


def opened(stores: list[Store], lake: Path | Storage, ticks: Ticks, patience: float = PATIENCE_S) -> Store:
    """A store over a lake."""
    place = LocalStorage(str(lake)) if isinstance(lake, Path) else lake
    stores.append(Store(place, lambda: NOW, ticks, patience))
    return stores[-1]


def grown_after_a_look(runs: Path, stores: list[Store], ticks: Ticks, day: int = DAY.day) -> tuple[Path, Store]:
    """A lake that was looked at, and has one run more since; and the store that looked."""
    lake = published(runs)
    store = opened(stores, lake, ticks)
    store.view()
    write_run(runs, "third", day)
    published(runs)
    return lake, store


class Disturbed(LocalStorage):
    """A lake on a disk or share that fails, or answers late, when a test says so.

    failing: raised instead of an answer. go_on: what an answer waits for, at most a minute; asked: is set when somebody
    waits.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.failing: Exception | None = None
        self.go_on, self.asked = Event(), Event()
        self.go_on.set()

    def digests(self, prefix: str) -> dict[str, str]:
        """As ever, unless disturbed."""
        self.asked.set()
        assert self.go_on.wait(60)
        if self.failing is not None:
            raise self.failing
        return super().digests(prefix)


def run_ids(view: View) -> list[str]:
    """The runs a view shows."""
    return [row["run_id"] for row in view.rows("SELECT run_id FROM runs ORDER BY run_id")]


def test_the_same_rows_as_the_tables(
    sample_runs: Path, tmp_path: Path, root: Path, stores: list[Store], ticks: Ticks
) -> None:
    """What is held of a table, and what is derived from it, is what SQL over the lake answers."""
    routing = root / "include" / "samples" / "routing.yaml"
    pipeline.run(settings(sample_runs, tmp_path / "lake", routing=routing))
    lake = LocalStorage(str(tmp_path / "lake"))
    view = opened(stores, lake, ticks).view()
    judged = "run_date, product, suite, environment, candidate, policy_hash, policy_name, run_id, task_id, trial,"
    judged += " status, declared, outcome, waiting, quality, covered_usd"
    asked = {name: (f"SELECT * FROM {name}", "* EXCLUDE source_path" if name in GROWING else "*") for name in WHOLE}
    asked |= {name: (f"SELECT * FROM {name}", "* EXCLUDE source_path") for name in GROWING}
    asked["trials"] = (f"SELECT {', '.join(TRIALS)} FROM trials", "*")
    asked["gate_evidence"] = (f"SELECT {', '.join(GATE_EVIDENCE)} FROM gate_evidence", "*")
    asked["judged"] = (f"SELECT {judged} FROM judged_trials WHERE trial_date = run_date", "*")
    asked["silent_judges"] = ("SELECT * FROM judge_failures", "*")
    for name, (sql, held) in asked.items():
        expected = query(lake, f"{sql} ORDER BY ALL", partial(read_commits, lake)).to_pylist()
        assert expected, name
        assert expected == view.rows(f"SELECT {held} FROM {name} ORDER BY ALL"), name


def test_a_look_counts_for_seconds(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """A lake is asked again when the last look is too old; a view in use stays what it was, and so does its name."""
    store = opened(stores, published(runs), ticks)
    before = store.view()
    write_run(runs, "third", DAY.day)
    published(runs)
    assert ["first", "second"] == run_ids(store.view())
    ticks.pass_on()
    after = store.view()
    assert ["first", "second", "third"] == run_ids(after)
    assert ["first", "second"] == run_ids(before)
    assert before.version != after.version


def test_a_lake_that_looks_the_same_is_not_read_again(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """The rows stay the same object."""
    store = opened(stores, published(runs), ticks)
    before = store.view()
    ticks.pass_on()
    after = store.view()
    assert before.snapshot is after.snapshot
    assert before.version == after.version


def test_what_did_not_change_is_taken_over(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """A date that was read once isn't read again, though its files can't be read any more."""
    lake = published(runs)
    store = opened(stores, lake, ticks)
    store.view()
    for path in lake.glob("trends/*/run_date=2026-11-27/part-0.parquet"):
        path.write_bytes(b"no parquet")
    write_run(runs, "third", DAY.day)
    pipeline.run(settings(runs, lake), since=DAY, until=DAY)
    ticks.pass_on()
    assert ["first", "second", "third"] == run_ids(store.view())


def test_a_date_being_published_stays_as_it_was(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Old rows until the commit record is right again, and the page is told which date is shown as it was."""
    lake, store = grown_after_a_look(runs, stores, ticks)
    say_publishing(lake, DAY)
    ticks.pass_on()
    view = store.view()
    assert ["first", "second"] == run_ids(view)
    assert ((DAY,), ()) == (view.as_of.shown_before, view.as_of.left_out)
    assert "2026-11-28 is being published: shown as it was before" == view.as_of.outdated
    say_publishing(lake, DAY, writing=False)
    ticks.pass_on()
    view = store.view()
    assert ["first", "second", "third"] == run_ids(view)
    assert ((), ()) == (view.as_of.shown_before, view.as_of.left_out)


def test_a_date_never_seen_whole_is_left_out(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Whoever looks first while a date is being published sees the others, and that this one is missing: it isn't said
    to be shown as it was, since nothing of it is shown. When it is whole it is there.
    """
    lake = published(runs)
    say_publishing(lake, DAY)
    store = opened(stores, lake, ticks)
    for _ in range(2):
        view = store.view()
        assert ["first"] == run_ids(view)
        assert ((), (DAY,)) == (view.as_of.shown_before, view.as_of.left_out)
        assert "2026-11-28 is being published and not on this page yet" == view.as_of.missing()
        ticks.pass_on()
    say_publishing(lake, DAY, writing=False)
    view = store.view()
    assert ["first", "second"] == run_ids(view)
    assert ("", "", True, "None.") == (
        view.as_of.missing(), view.as_of.outdated, view.as_of.whole, view.as_of.nothing("None.")
    )  # fmt: skip


def test_dates_shown_as_before_and_dates_left_out_are_told_apart(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """One that was whole once and one that never was, both being published at the same time."""
    lake, store = grown_after_a_look(runs, stores, ticks, day=29)
    say_publishing(lake, DAY)
    say_publishing(lake, date(2026, 11, 29))
    ticks.pass_on()
    view = store.view()
    assert ["first", "second"] == run_ids(view)
    assert ((DAY,), (date(2026, 11, 29),)) == (view.as_of.shown_before, view.as_of.left_out)


def test_many_dates_at_once_are_a_sentence(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """More than one is spoken of as such; of very many the first are named."""
    as_of = opened(stores, published(runs), ticks).view().as_of
    days = tuple(date(2026, 11, day) for day in range(1, 13))
    two = replace(as_of, left_out=days[:2], shown_before=days[:2])
    assert "2026-11-01, 2026-11-02 are being published and not in this report" == two.missing("in this report")
    assert "2026-11-01, 2026-11-02 are being published: shown as they were before" == two.outdated
    assert "2026-11-10 and 2 more are being published and not on" in replace(as_of, left_out=days).missing()


def test_where_something_may_be_hidden(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """On a date that is left out; anywhere, where every date with a run is."""
    lake = published(runs)
    say_publishing(lake, DAY)
    as_of = opened(stores, lake, ticks).view().as_of
    assert [True, False, False] == [as_of.hides(day) for day in (DAY, date(2026, 11, 27), None)]
    told = "2026-11-28 is being published and not on this page yet."
    assert [told, "None.", f"None. {told}"] == [as_of.nothing("None.", day) for day in (DAY, date(2026, 11, 27), None)]
    assert not as_of.whole
    say_publishing(lake, date(2026, 11, 27))
    assert opened(stores, lake, ticks).view().as_of.hides(None)
    assert not opened(stores, lake.parent, ticks).view().as_of.hides(None)


def test_files_that_are_not_the_committed_ones_are_not_shown(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """One foreign file of a date costs the date, until it is the committed one again; the record needs no change."""
    lake = published(runs)
    (file,) = lake.glob(f"trends/signals/run_date={DAY}/*.parquet")
    committed = file.read_bytes()
    shutil.copy(next(lake.glob("trends/signals/run_date=2026-11-27/*.parquet")), file)
    store = opened(stores, lake, ticks)
    view = store.view()
    assert ["first"] == run_ids(view)
    assert (DAY,) == view.as_of.left_out
    file.write_bytes(committed)
    ticks.pass_on()
    view = store.view()
    assert ["first", "second"] == run_ids(view)
    assert () == view.as_of.left_out


def test_no_view_holds_half_a_date(tmp_path: Path, stores: list[Store]) -> None:
    """While runs keep arriving on one date, every view has as many runs as trials, summaries and pooled runs of it."""
    folder, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(folder, "run-0", DAY.day)
    published(folder)

    def publish_ten() -> None:
        for number in range(1, 11):
            write_run(folder, f"run-{number}", DAY.day)
            pipeline.run(settings(folder, lake))

    asked = """
        SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM trials) AS trials,
            (SELECT count(*) FROM summaries) AS summaries, (SELECT count(*) FROM judged) AS judged,
            (SELECT sum(run_count)::BIGINT FROM decisions) AS pooled
    """
    ticks = Ticks()
    store = opened(stores, lake, ticks)
    seen = []
    with ThreadPoolExecutor(1) as pool:
        publisher = pool.submit(publish_ten)
        while not publisher.done():
            ticks.pass_on()
            seen.append(store.view().rows(asked)[0])
        publisher.result()
    ticks.pass_on()
    seen.append(store.view().rows(asked)[0])
    assert [dict.fromkeys(found, found["runs"]) for found in seen] == seen
    assert 11 == seen[-1]["runs"]
    assert len({found["runs"] for found in seen}) > 2, "the views never saw the date change"


def test_a_date_that_lost_its_runs_is_gone(runs: Path, tmp_path: Path, stores: list[Store], ticks: Ticks) -> None:
    """A run the operator voids leaves every table."""
    lake = published(runs)
    store = opened(stores, lake, ticks)
    store.view()
    exclusions = tmp_path / "exclude.yaml"
    exclusions.write_text("schema: 1\nexclude: [{run: second, reason: wrong image, owner: Jo, date: 2026-11-29}]\n")
    pipeline.run(settings(runs, lake, exclude=exclusions))
    ticks.pass_on()
    view = store.view()
    assert ["first"] == run_ids(view)
    assert [] == view.rows("SELECT * FROM trials WHERE run_date = ?", [DAY])
    assert [] == view.rows("SELECT * FROM judged WHERE run_date = ?", [DAY])


def test_a_forgotten_run_leaves_the_page(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Also where the log of decisions named it."""
    lake = published(runs)
    store = opened(stores, lake, ticks)
    assert [1] == [len(store.view().rows("SELECT * FROM decision_log WHERE contains(runs, 'second')"))]
    shutil.rmtree(runs / "second")
    forget(settings(runs, lake), "second")
    ticks.pass_on()
    view = store.view()
    assert ["first"] == run_ids(view)
    assert [] == view.rows("SELECT * FROM decision_log WHERE contains(runs, 'second')")
    assert [] == view.rows("SELECT * FROM run_states WHERE run_id = 'second'")


def test_no_lake_is_an_error_that_says_so(tmp_path: Path, stores: list[Store], ticks: Ticks) -> None:
    """And some seconds later it is looked for again."""
    store = opened(stores, tmp_path / "lake", ticks)
    with pytest.raises(UsageError, match="no lake here; run the pipeline first"):
        store.view()
    write_run(tmp_path / "runs", "first", 27)
    published(tmp_path / "runs")
    ticks.pass_on()
    assert ["first"] == run_ids(store.view())


def test_an_empty_lake_has_no_rows(tmp_path: Path, stores: list[Store], ticks: Ticks) -> None:
    """A lake before its first night is no error."""
    (tmp_path / "lake").mkdir()
    view = opened(stores, tmp_path / "lake", ticks).view()
    assert [] == run_ids(view)
    assert None is view.as_of.newest_run


def test_a_lake_that_is_lost_is_told_beside_what_was_known(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """The last rows stay, with why and since when; when the lake is back, all is well."""
    lake = published(runs)
    store = opened(stores, lake, ticks)
    store.view()
    lake.rename(lake.parent / "elsewhere")
    ticks.pass_on()
    view = store.view()
    assert ["first", "second"] == run_ids(view)
    assert "no lake here" in (view.as_of.problem or "")
    (lake.parent / "elsewhere").rename(lake)
    ticks.pass_on()
    assert None is store.view().as_of.problem


def test_a_lake_that_was_emptied_is_not_an_empty_one(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """A volume that isn't mounted is an empty folder: the last rows stay, with what happened, until the files are back.
    Who sees it first can't know, and is told that nothing is there.
    """
    lake = published(runs)
    store = opened(stores, lake, ticks)
    before = store.view()
    lake.rename(lake.parent / "elsewhere")
    lake.mkdir()
    for _ in range(2):
        ticks.pass_on()
        view = store.view()
        assert ["first", "second"] == run_ids(view)
        assert "the lake is empty now, it had 2 dates; bring its files back" in (view.as_of.problem or "")
        assert before.as_of.newest_run == view.as_of.newest_run
    assert None is opened(stores, lake, ticks).view().as_of.problem
    lake.rmdir()
    (lake.parent / "elsewhere").rename(lake)
    ticks.pass_on()
    view = store.view()
    assert (["first", "second"], None) == (run_ids(view), view.as_of.problem)


LOST = "its files are not those of its record (a file is lost or damaged): run the pipeline again"


def test_a_lost_file_is_called_so_and_a_run_of_the_pipeline_brings_it_back(
    runs: Path, stores: list[Store], ticks: Ticks
) -> None:
    """Nobody publishes a date whose record stays as it is while a file of it is gone: it is said what is the matter and
    what to do, also by whoever looks once, and doing it helps.
    """
    lake = published(runs)
    next(lake.glob(f"trends/runs/run_date={DAY}/*.parquet")).unlink()
    store = opened(stores, lake, ticks)
    view = store.view()
    assert ["first"] == run_ids(view)
    assert f"2026-11-28 is not on this page yet, as {LOST}" == view.as_of.missing()
    assert (True, False) == (view.as_of.hides(DAY), view.as_of.awaits)
    published(runs)
    ticks.pass_on()
    view = store.view()
    assert (["first", "second"], "") == (run_ids(view), view.as_of.missing())


def test_a_date_that_stays_unsettled_costs_no_rows_and_nothing_made_of_them(
    runs: Path, stores: list[Store], ticks: Ticks
) -> None:
    """Its files are looked at again each time, since they may be mended. Until then everything else stays the same
    object, with what was made of it, and as of the same time.
    """
    lake = published(runs)
    write_run(runs, "third", 29)
    published(runs)
    (file,) = lake.glob(f"trends/runs/run_date={DAY}/*.parquet")
    whole = file.read_bytes()
    file.unlink()
    say_publishing(lake, date(2026, 11, 29))
    store = opened(stores, lake, ticks)
    before = store.view()
    made = before.once("made", object)
    for _ in range(3):
        ticks.pass_on()
        view = store.view()
        assert before.snapshot is view.snapshot
        assert made is view.once("made", object)
        assert before.as_of == view.as_of
    file.write_bytes(whole)
    ticks.pass_on()
    view = store.view()
    assert ["first", "second"] == run_ids(view)
    assert "2026-11-29 is being published and not on this page yet" == view.as_of.missing()


def test_rows_stay_while_a_date_begins_to_be_published(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Only what is said of it changes: nothing is read again, and the rows keep their name and time."""
    lake = published(runs)
    store = opened(stores, lake, ticks)
    before = store.view()
    say_publishing(lake, DAY)
    ticks.pass_on()
    view = store.view()
    assert before.snapshot.database is view.snapshot.database
    assert (before.version, before.as_of.read_at) == (view.version, view.as_of.read_at)
    assert (DAY,) == view.as_of.shown_before


def test_a_file_lost_under_rows_that_are_shown(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """They are shown as they were before, with why, beside another date that is being published."""
    lake, store = grown_after_a_look(runs, stores, ticks)
    next(lake.glob(f"trends/runs/run_date={DAY}/*.parquet")).unlink()
    say_publishing(lake, date(2026, 11, 27))
    ticks.pass_on()
    as_of = store.view().as_of
    first = "2026-11-27 is being published: shown as it was before"
    assert f"{first}; 2026-11-28 is shown as it was before, as {LOST}" == as_of.outdated
    assert "" == as_of.missing()


def test_a_fault_nobody_foresaw_costs_no_page(
    runs: Path, stores: list[Store], ticks: Ticks, caplog: pytest.LogCaptureFixture
) -> None:
    """The last rows stay, with the kind of fault and where to look; its trace is in the log, once while it lasts."""
    lake = Disturbed(published(runs))
    store = opened(stores, lake, ticks)
    store.view()
    lake.failing = ZeroDivisionError("a secret detail")
    for _ in range(3):
        ticks.pass_on()
        view = store.view()
        assert ["first", "second"] == run_ids(view)
        assert "unexpected error (ZeroDivisionError); see the api-server's log" == view.as_of.problem
    assert [ZeroDivisionError] == [record.exc_info[0] for record in caplog.records if record.exc_info]
    lake.failing = None
    ticks.pass_on()
    assert None is store.view().as_of.problem


def test_a_fault_in_the_first_look_is_raised_and_the_next_look_is_a_new_one(
    runs: Path, stores: list[Store], ticks: Ticks
) -> None:
    """Nothing is known, so nothing is shown; nor is a lake that fails read for every request. Mended, it is shown."""
    lake = Disturbed(published(runs))
    lake.failing = ZeroDivisionError("as in a library")
    store = opened(stores, lake, ticks)
    for asked in (True, False):
        lake.asked.clear()
        with pytest.raises(ZeroDivisionError):
            store.view()
        assert asked == lake.asked.is_set()
    lake.failing = None
    ticks.pass_on()
    assert ["first", "second"] == run_ids(store.view())


def test_a_slow_look_is_waited_for_once_and_not_by_everybody(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Who asks when a look has taken longer than its time is answered at once, from what is known, and told since when
    the lake is being looked at; once the look is over, answers have the new rows.
    """
    lake = Disturbed(published(runs))
    store = opened(stores, lake, ticks, patience=3600)
    before = store.view()
    assert None is before.as_of.looking_since
    write_run(runs, "third", DAY.day)
    published(runs)
    ticks.pass_on()
    lake.go_on.clear()
    lake.asked.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(store.view)
        assert lake.asked.wait(60)
        ticks.now += 3600
        second = pool.submit(store.view).result(60)
        lake.go_on.set()
        first.result(60)
    assert ["first", "second"] == run_ids(second)
    assert (NOW, None) == (second.as_of.looking_since, second.as_of.problem)
    deadline = time.monotonic() + 60
    while (after := store.view()).as_of.looking_since is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ["first", "second", "third"] == run_ids(after)


def test_rows_have_the_same_name_in_every_process_and_no_other_rows_have_it(
    runs: Path, stores: list[Store], ticks: Ticks
) -> None:
    """What a browser keeps under the name is never shown for other rows, though the clock stands still: after a restart
    the same lake has the same name, and one more run gives another, in whatever order they were read.
    """
    lake = published(runs)
    store = opened(stores, lake, ticks)
    before = store.view().version
    assert before == opened(stores, lake, ticks).view().version
    write_run(runs, "third", DAY.day)
    published(runs)
    ticks.pass_on()
    after = store.view().version
    assert before != after
    assert after == opened(stores, lake, ticks).view().version
    say_publishing(lake, DAY)
    ticks.pass_on()
    assert after == store.view().version
    assert after != opened(stores, lake, ticks).view().version


def test_a_damaged_entry_of_the_log_is_told_as_the_log_tells_it(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """No record vouches for it, and made anew it would be another decision: so it is to be restored, or given up."""
    lake = LocalStorage(str(published(runs)))
    damaged = next(Path(str(lake)).glob(f"trends/decision_log/run_date={DAY}/*.parquet"))
    (row,) = query(
        lake, f"SELECT * FROM decision_log WHERE run_date = '{DAY}'", partial(read_commits, lake)
    ).to_pylist()
    damaged.write_bytes(b"no parquet")
    with pytest.raises(PipelineError) as of_the_log:
        append_decisions(lake, DAY, [{**row, "log_id": "another"}])
    with pytest.raises(PipelineError) as of_the_page:
        opened(stores, lake, ticks).view()
    assert damaged.name in str(of_the_log.value)
    assert str(of_the_log.value) == str(of_the_page.value)


@pytest.mark.parametrize("table", ["run_states", "accounting"])
def test_a_damaged_file_about_an_execution_is_left_out_and_told(
    runs: Path, stores: list[Store], ticks: Ticks, table: str
) -> None:
    """No decision rests on it, so everything else is shown, by a new server, too; restored, it is there again."""
    lake = published(runs)
    damaged = min(lake.glob(f"trends/{table}/*/*.parquet"))
    whole = damaged.read_bytes()
    asked = f"SELECT source_path FROM {table}"
    expected = opened(stores, lake, ticks).view()
    damaged.write_bytes(b"x" * len(whole))
    store = opened(stores, lake, ticks)
    before = store.view()
    assert [1] == [len(board(before, Filters()).rows)]
    assert [] == [row for row in before.rows(asked) if row["source_path"].endswith(damaged.name)]
    (said,) = before.as_of.unreadable
    assert damaged.name in said
    assert "can't be read (ArrowInvalid); restore it, or delete it and lose its rows" in said
    assert said == before.as_of.unread
    assert f"{said}; and 2 more such files" == replace(before.as_of, unreadable=(said,) * 3).unread
    ticks.pass_on()
    assert before.snapshot is store.view().snapshot
    damaged.write_bytes(whole)
    ticks.pass_on()
    view = store.view()
    assert expected.rows(f"{asked} ORDER BY ALL") == view.rows(f"{asked} ORDER BY ALL")
    assert (expected.version, "") == (view.version, view.as_of.unread)
    assert before.version != view.version


def test_views_leave_no_trace(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Reading writes nothing, not even verdicts that aren't stored yet."""
    lake = published(runs)
    shutil.rmtree(lake / "verdicts")
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*")}
    view = opened(stores, lake, ticks).view()
    board(view, Filters())
    assert 18 == len(run_page(view, "first").metrics)
    assert before == {path: path.stat().st_mtime_ns for path in lake.rglob("*")}


def test_a_record_that_is_no_date_is_passed_over(runs: Path, stores: list[Store], ticks: Ticks) -> None:
    """Somebody's file beside the commit records is nobody's date."""
    lake = published(runs)
    shutil.copy(lake / commit_path(DAY), lake / "commits" / "copy.json")
    assert ["first", "second"] == run_ids(opened(stores, lake, ticks).view())
