"""What becomes of a run directory over many nights: listed, read once, changed, moved, gone, voided, forgotten."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.integration.test_pipeline import OUTSIDE_THE_PROMISE, decisions, files, settings, tables, write_run

from evalbench import nightly, pipeline
from evalbench.errors import StorageError, UsageError
from evalbench.forgetting import forget
from evalbench.lake.index import read_index
from evalbench.settings import Settings
from evalbench.storage import LocalStorage

DAY, NEXT = date(2026, 11, 28), date(2026, 11, 29)
_opened: list[str] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))


sys.addaudithook(_hear)


@contextmanager
def opened_below(folder: Path) -> Iterator[list[str]]:
    """Files below a folder that this process opens in the block, relative to it."""
    found: list[str] = []
    start = len(_opened)
    yield found
    inside = [Path(name) for name in _opened[start:] if Path(name).is_relative_to(folder)]
    found += sorted(path.relative_to(folder).as_posix() for path in inside if not path.is_dir())


@pytest.fixture
def used(root: Path, tmp_path: Path) -> Settings:
    """Settings over a new runs root and a new lake."""
    (tmp_path / "runs").mkdir()
    return settings(tmp_path / "runs", tmp_path / "lake", root)


def sweep(used: Settings, plan_id: str, own: date | None = None) -> nightly.Publication:
    """A sweep as the DAG makes it."""
    for number, _ in enumerate(nightly.discover(used, plan_id, since=None, until=None, own=own)):
        list(nightly.score_batch(used, plan_id, number))
        list(nightly.summarize_batch(used, plan_id, number))
    nightly.gate(used, plan_id)
    return nightly.publish(used, plan_id)


def told(lake: Path, plan_id: str) -> list[tuple[str, str, str | None, str | None]]:
    """(path, state, reason, change) of an execution's run_states."""
    (path,) = lake.glob(f"trends/run_states/run_date=*/{plan_id}.parquet")
    rows = pq.read_table(path, partitioning=None).to_pylist()
    return [(row["path"], row["state"], row["reason"], row["change"]) for row in rows]


def read(lake: Path, table: str, day: date = DAY) -> list[dict[str, Any]]:
    """Rows of a date's partition; none without a file."""
    rows: list[dict[str, Any]] = []
    for path in sorted((lake / "trends" / table / f"run_date={day}").glob("*.parquet")):
        rows += pq.read_table(path, partitioning=None).to_pylist()
    return rows


# -- nothing new -------------------------------------------------------------------------------------------------


def test_a_quiet_night_opens_no_run_file_and_writes_nothing(used: Settings, tmp_path: Path, sample_runs: Path) -> None:
    """Finished, unfinished, unreadable and unrelated directories alike are known by their listing."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "good")
    write_run(runs, "copy", run_id="good")
    shutil.copytree(sample_runs / "trap-crash-no-summary", runs / "crash")
    (runs / "undated").mkdir()
    (runs / "undated" / "run.yaml").write_text("candidate: x\n")
    (runs / "notes").mkdir()
    (runs / "notes" / "readme.txt").write_text("no run")
    with opened_below(runs) as first:
        sweep(used, "first")
    before = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    with opened_below(runs) as quiet:
        published = sweep(used, "quiet")
    assert {"good/run.yaml", "good/trials.jsonl", "crash/configs.csv", "undated/run.yaml"} <= set(first)
    assert [] == quiet
    assert (0, (), {}) == (published.written, published.dates, published.decisions)
    after = {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    new = {path.relative_to(lake).as_posix() for path in after if after[path] != before.get(path)}
    assert {"_ops"} == {name.split("/")[0] for name in new if not name.startswith(OUTSIDE_THE_PROMISE[1:])}


def test_a_touched_directory_is_read_once_and_is_unchanged(used: Settings, tmp_path: Path) -> None:
    """Identity is the content: nothing is scored or written, and the new look is remembered."""
    folder = write_run(tmp_path / "runs", "a")
    sweep(used, "first")
    before = tables(tmp_path / "lake")
    os.utime(folder / "trials.jsonl", (1, 1))
    report: Any = pipeline.run(used)
    assert (0, 1) == (report["accounting"]["scored"], report["accounting"]["unchanged"])
    assert before == tables(tmp_path / "lake")
    with opened_below(tmp_path / "runs") as quiet:
        sweep(used, "quiet")
    assert [] == quiet


def test_content_set_back_in_time_is_seen(used: Settings, tmp_path: Path) -> None:
    """Same size, same time of modification, other content: the time of change gives it away."""
    folder = write_run(tmp_path / "runs", "a")
    sweep(used, "first")
    file = folder / "trials.jsonl"
    info, text = file.stat(), file.read_text()
    file.write_text(text.replace('"verified", "predicate"', '"failed",   "predicate"'))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert info.st_size == file.stat().st_size
    assert {("agent-1", "2026-11-28"): "FAIL"} == decisions(pipeline.run(used))


def test_an_unfinished_run_is_not_read_until_its_grace_is_over(root: Path, tmp_path: Path, sample_runs: Path) -> None:
    """Its age is known from the first look."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    shutil.copytree(sample_runs / "trap-crash-no-summary", runs / "crash")
    opened = []
    for number, clock in enumerate(("2026-11-27T20:00:00Z", "2026-11-27T23:00:00Z", "2026-12-02T06:00:00Z")):
        with opened_below(runs) as names:
            sweep(settings(runs, lake, root, clock=clock, grace_hours=24), f"night-{number}")
        opened.append(bool(names))
    assert [True, False, True] == opened
    states = [told(lake, f"night-{number}") for number in range(3)]
    assert ["in_progress", "in_progress", "scored"] == [state for ((_, state, _, _),) in states]


def test_a_range_opens_what_lies_outside_it_once(used: Settings, tmp_path: Path) -> None:
    """To be dated, never to be scored; a range that holds it later goes straight to scoring."""
    runs = tmp_path / "runs"
    write_run(runs, "inside", day="2026-11-28")
    write_run(runs, "outside", day="2026-11-20")
    with opened_below(runs) as first:
        report: Any = pipeline.run(used, since=DAY, until=DAY)
    assert (1, 1) == (report["accounting"]["scored"], report["accounting"]["out_of_range"])
    assert any(name.startswith("outside/") for name in first)
    with opened_below(runs) as again:
        pipeline.run(used, since=DAY, until=DAY)
    assert [] == again
    earlier = date(2026, 11, 20)
    report = pipeline.run(used, since=earlier, until=earlier)
    assert (1, 1) == (report["accounting"]["scored"], report["accounting"]["out_of_range"])


# -- something new -----------------------------------------------------------------------------------------------


def test_new_late_changed_moved_and_deleted_are_told(used: Settings, tmp_path: Path) -> None:
    """Once each, in run_states; tables follow, except for a deletion, which takes back no evidence."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    sweep(used, "n1")
    write_run(runs, "b", candidate="agent-2")
    sweep(used, "n2")
    write_run(runs, "b", candidate="agent-2", verified=False)
    sweep(used, "n3")
    write_run(runs, "b", candidate="agent-2", day="2026-11-29")
    sweep(used, "n4")
    assert ["agent-1"] == [row["candidate"] for row in read(lake, "decisions")]
    before = tables(lake)
    shutil.rmtree(runs / "b")
    sweep(used, "n5")
    sweep(used, "n6")
    assert [
        [("a", "scored", None, "new")], [("b", "scored", None, "late")], [("b", "scored", None, "changed")],
        [("b", "scored", None, "moved")], [("b", "deleted", None, None)], [],
    ] == [told(lake, f"n{number}") for number in range(1, 7)]  # fmt: skip
    assert before == tables(lake)
    assert ["agent-2"] == [row["candidate"] for row in read(lake, "decisions", NEXT)]
    write_run(runs, "b", candidate="agent-2", day="2026-11-29")
    report: Any = pipeline.run(used)
    assert (0, 2) == (report["accounting"]["scored"], report["accounting"]["unchanged"])


def test_a_renamed_directory_counts_once_and_is_no_duplicate(used: Settings, tmp_path: Path) -> None:
    """Where it was is gone, where it is has its content."""
    runs = tmp_path / "runs"
    write_run(runs, "old", run_id="x")
    pipeline.run(used)
    (runs / "old").rename(runs / "zz-new")
    report: Any = pipeline.run(used)
    assert {} == report["accounting"]["quarantined"]
    assert ["x"] == [run["run_id"] for run in report["runs"]]
    assert [["x"]] == [entry["runs"] for entry in report["decisions"]]


def test_a_lost_run_holds_its_subject_until_it_comes_back(used: Settings, tmp_path: Path) -> None:
    """A PASS over the runs that came back would hide the one that didn't; `evalbench gate` knows of it too."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    write_run(runs, "b")
    write_run(runs, "c", candidate="agent-2")
    plan = pipeline.discover(used, plan_id="night")
    for entry in plan.to_score:
        if entry.path != "b":
            pipeline.score(used, plan, entry.run_key)
    published = pipeline.publish(used, pipeline.decide(used, plan))
    expected = {("agent-1", "2026-11-28"): "INSUFFICIENT_EVIDENCE", ("agent-2", "2026-11-28"): "PASS"}
    assert expected == decisions(published.report)
    report: Any = pipeline.decide_standing(used)
    assert expected == decisions(report)
    assert "coverage.lost_runs" == report["decisions"][0]["decided_by"]
    assert ("b", "quarantined", "task_lost", None) in told(lake, "night")
    assert {("agent-1", "2026-11-28"): "PASS", ("agent-2", "2026-11-28"): "PASS"} == decisions(pipeline.run(used))


def test_a_run_that_cannot_be_read_any_more_holds_its_subject(used: Settings, tmp_path: Path) -> None:
    """Its old facts still count, and don't speak for what is there now."""
    runs = tmp_path / "runs"
    folder = write_run(runs, "a")
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.run(used))
    (folder / "run.yaml").write_text("run_time: [\n")
    (folder / "trials.jsonl").write_text("garbage\n")
    for _ in range(2):
        report: Any = pipeline.run(used)
        assert {("agent-1", "2026-11-28"): "INSUFFICIENT_EVIDENCE"} == decisions(report)
        assert "coverage.lost_runs" == report["decisions"][0]["decided_by"]
    write_run(runs, "a")
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.run(used))


def test_a_changed_run_that_is_lost_holds_though_only_its_records_name_it(used: Settings, tmp_path: Path) -> None:
    """Whose it is stands in the facts it gave before; deleting it doesn't lift the hold, voiding it does."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    (runs / "b").mkdir()
    named = json.loads((runs / "a" / "trials.jsonl").read_text()) | {"candidate": "agent-1", "run_id": "b"}
    (runs / "b" / "trials.jsonl").write_text(json.dumps(named) + "\n")
    (runs / "b" / "run.yaml").write_text(
        "product: shop\ndataset: orders\nrun_time: 2026-11-28 10:00:00\nplanned: {tasks: [t1], trials: 1}\n"
    )
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.run(used))
    (runs / "b" / "trials.jsonl").write_text(json.dumps(named | {"declared_complete": False}) + "\n")
    plan = pipeline.discover(used, plan_id="night")
    held = {("agent-1", "2026-11-28"): "INSUFFICIENT_EVIDENCE"}
    assert held == decisions(pipeline.publish(used, pipeline.decide(used, plan)).report)
    shutil.rmtree(runs / "b")
    assert held == decisions(pipeline.run(used))
    exclude = tmp_path / "exclude.yaml"
    exclude.write_text("schema: 1\nexclude: [{run: b, reason: r, owner: ann, date: 2026-11-29}]\n")
    voided = settings(runs, lake, Path(used.routing or "").parent.parent.parent, exclude=exclude)
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.run(voided))


def test_clearing_an_old_night_takes_nothing_back(used: Settings, tmp_path: Path) -> None:
    """What it lost was scored by a later one; deciding it again sees that."""
    write_run(tmp_path / "runs", "a")
    first = pipeline.discover(used, plan_id="first")
    pipeline.publish(used, pipeline.decide(used, first))
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.run(used))
    again = pipeline.publish(used, pipeline.decide(used, first))
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(again.report)
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.decide_standing(used))


# -- which dates an execution decides ----------------------------------------------------------------------------


def test_a_sweep_decides_what_changed_and_its_own_date(used: Settings, tmp_path: Path) -> None:
    """A hold of last week doesn't keep tonight red, and clearing a red night doesn't turn it green."""
    runs = tmp_path / "runs"
    write_run(runs, "old", day="2026-11-20", verified=False)
    write_run(runs, "new", day="2026-11-28", verified=False)
    assert {"FAIL": 2} == sweep(used, "n1", own=DAY).decisions
    assert {"FAIL": 1} == sweep(used, "n2", own=DAY).decisions
    assert {} == sweep(used, "n3", own=NEXT).decisions
    assert {"FAIL": 2} == sweep(used, "n1", own=DAY).decisions


def test_a_quiet_sweep_for_one_candidate_decides_nothing_and_is_no_mistake(used: Settings, tmp_path: Path) -> None:
    """Where nothing is decided no name can be checked; where something is, a misspelt one is told."""
    write_run(tmp_path / "runs", "a")
    sweep(used, "n1")
    plan = pipeline.discover(used, plan_id="n2")
    quiet = pipeline.publish(used, pipeline.decide(used, plan, candidates=["agent-9"]))
    assert {} == decisions(quiet.report)
    write_run(tmp_path / "runs", "b")
    plan = pipeline.discover(used, plan_id="n3")
    pipeline.score(used, plan, plan.to_score[0].run_key)
    with pytest.raises(UsageError, match="agent-9 has no run in scope"):
        pipeline.decide(used, plan, candidates=["agent-9"])


def test_a_policy_change_reads_no_run_file_and_keeps_both_decisions(used: Settings, root: Path, tmp_path: Path) -> None:
    """decisions follow the policy in force; the log holds what was decided first, and after."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    sweep(used, "n1")
    stricter = settings(runs, lake, root, policy=root / "include" / "samples" / "inversion_policy.yaml")
    with opened_below(runs) as names:
        published = sweep(stricter, "n2")
    assert [] == names
    assert (DAY,) == published.dates
    (row,) = read(lake, "decisions")
    log = sorted(read(lake, "decision_log"), key=lambda entry: entry["supersedes"] is not None)
    assert 2 == len({entry["policy_hash"] for entry in log}) == len(log)
    assert [None, log[0]["log_id"]] == [entry["supersedes"] for entry in log]
    assert row["policy_hash"] == log[1]["policy_hash"]


def test_a_decision_is_put_on_record_when_its_day_is_over(root: Path, tmp_path: Path) -> None:
    """Until then it is provisional and may change; the night after, nothing but the clock has changed."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    early = settings(runs, lake, root, clock="2026-11-28T22:00:00Z")
    assert 0 == sweep(early, "evening").logged
    before = tables(lake)
    night = sweep(settings(runs, lake, root, clock="2026-11-29T02:00:00Z"), "night")
    assert (1, {"PASS": 1}, ()) == (night.logged, night.decisions, night.dates)
    assert before == tables(lake)
    assert 0 == sweep(settings(runs, lake, root, clock="2026-11-29T03:00:00Z"), "again").logged


def test_an_expected_run_that_is_missing_is_a_decision(root: Path, tmp_path: Path) -> None:
    """From its hour on, on each date since; when it arrives the decision is about it."""
    runs, lake, routing = tmp_path / "runs", tmp_path / "lake", tmp_path / "routing.yaml"
    routing.write_text(
        "schema: 1\nroutes:\n  - product: shop\n    suite: orders\n"
        "    expected: [{candidate: agent-1, since: 2026-11-28, hour: 26}]\n"
    )
    runs.mkdir()
    at = {"routing": routing}
    assert {} == decisions(pipeline.run(settings(runs, lake, root, clock="2026-11-29T01:59:00Z", **at)))
    report: Any = pipeline.run(settings(runs, lake, root, clock="2026-11-29T02:00:00Z", **at))
    assert {("agent-1", "2026-11-28"): "INSUFFICIENT_EVIDENCE"} == decisions(report)
    assert "coverage.no_run" == report["decisions"][0]["first_reason"]
    assert ["agent-1"] == [row["candidate"] for row in read(lake, "decisions")]
    write_run(runs, "a")
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(
        pipeline.run(settings(runs, lake, root, clock="2026-11-29T03:00:00Z", **at))
    )


# -- taken out ---------------------------------------------------------------------------------------------------


def test_a_voided_run_is_kept_and_shown_and_in_no_number(root: Path, tmp_path: Path) -> None:
    """Its facts stay, its rows go; decision, report and run_states say who voided it and why. And back again."""
    runs, lake, exclude = tmp_path / "runs", tmp_path / "lake", tmp_path / "exclude.yaml"
    write_run(runs, "good")
    write_run(runs, "bad", verified=False)
    used = settings(runs, lake, root)
    sweep(used, "n1")
    counted = tables(lake)
    exclude.write_text(
        "schema: 1\nexclude:\n  - {run: bad, reason: the key expired, owner: ann, date: 2026-11-29}\n"
        "  - {run: nobody, reason: gone, owner: ann, date: 2026-11-29}\n"
    )
    with opened_below(runs) as names:
        report: Any = pipeline.run(settings(runs, lake, root, exclude=exclude))
    voided = {"run_id": "bad", "reason": "the key expired", "owner": "ann", "date": "2026-11-29"}
    assert [] == names
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(report)
    assert ([voided], [voided], ["nobody"], ["good"]) == (
        report["excluded"], report["decisions"][0]["excluded"], report["idle_exclusions"],
        [run["run_id"] for run in report["runs"]],
    )  # fmt: skip
    for table in ("runs", "trials", "calls", "verdicts", "effects", "summaries"):
        assert {"good"} == {row["run_id"] for row in read(lake, table)}, table
    assert [voided] == json.loads(read(lake, "decisions")[0]["excluded"])
    last = max((lake / "trends" / "run_states").rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    ((name, state, reason, detail),) = [
        (row["path"], row["state"], row["reason"], row["detail"]) for row in pq.read_table(last).to_pylist()
    ]
    assert ("bad", "unchanged", "excluded", "the key expired (ann, 2026-11-29)") == (name, state, reason, detail)
    sweep(used, "n3")
    assert counted == tables(lake)


def test_a_forgotten_run_is_in_no_derived_object(used: Settings, tmp_path: Path) -> None:
    """Facts, verdicts, summaries, tables, log, index and past executions: neither its name nor what it said."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "keep-me")
    write_run(runs, "purge-me", verified=False)
    pipeline.run(used)
    write_run(runs, "purge-me", verified=True)
    pipeline.run(used)
    done = forget(used, "purge-me")
    assert ("purge-me", 1, (DAY,)) == (done.run_id, done.directories, done.dates)
    key = next(entry.run_key for entry in read_index(LocalStorage(str(lake))).values() if entry.forgotten)
    write_run(runs, "purge-me", verified=False)
    for name, data in files(lake, but=()).items():
        rows = str(pq.read_table(lake / name, partitioning=None).to_pylist()) if name.endswith(".parquet") else ""
        assert b"purge-me" not in data, name
        assert "purge-me" not in rows, name
        assert key not in name
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.decide_standing(used))
    with opened_below(runs) as names:
        report: Any = pipeline.run(used)
    assert ([], {"forgotten": 1}) == (names, report["accounting"]["ignored"])
    with pytest.raises(UsageError, match="knows no such run"):
        forget(used, "purge-me")


def test_forgetting_can_be_repeated_after_an_interruption(
    used: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was purged by then, the second attempt purges the rest."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "keep-me")
    write_run(runs, "purge-me")
    pipeline.run(used)

    def full(*_: object) -> bool:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", full)
        with pytest.raises(OSError, match="no space"):
            forget(used, "purge-me")
    forget(used, "purge-me")
    assert all(b"purge-me" not in data for data in files(lake, but=()).values())
    assert 1 == sum(1 for name in files(lake) if name.startswith("facts/"))


def test_forgetting_under_other_rules_is_refused(used: Settings, root: Path, tmp_path: Path) -> None:
    """The dates it publishes again must not be decided otherwise on the way; nothing is purged."""
    write_run(tmp_path / "runs", "a")
    pipeline.run(used)
    before = files(tmp_path / "lake", but=())
    other = settings(tmp_path / "runs", tmp_path / "lake", root, policy=root / "include/samples/inversion_policy.yaml")
    with pytest.raises(UsageError, match="2026-11-28 was published under other rules"):
        forget(other, "a")
    assert before == files(tmp_path / "lake", but=())


# -- damage ------------------------------------------------------------------------------------------------------


def test_a_date_without_record_and_runs_is_emptied(used: Settings, tmp_path: Path) -> None:
    """Partitions that nothing vouches for any more don't stay, whatever was deleted by hand."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "keep")
    write_run(runs, "moving", candidate="agent-2", day="2026-11-27")
    pipeline.run(used)
    write_run(runs, "moving", candidate="agent-2", day="2026-11-26")
    (lake / "commits" / "2026-11-27.json").unlink()
    pipeline.run(used)
    assert [] == read(lake, "decisions", date(2026, 11, 27))
    assert ["agent-2"] == [row["candidate"] for row in read(lake, "decisions", date(2026, 11, 26))]


def test_what_becomes_of_a_directory_after_it_was_listed(used: Settings, tmp_path: Path) -> None:
    """A link that took its place is not followed; a root that is gone is a fault of the storage, worth another try."""
    runs = tmp_path / "runs"
    folder = write_run(runs, "a")
    plan = pipeline.discover(used)
    folder.rename(tmp_path / "outside")
    folder.symlink_to(tmp_path / "outside")
    state = pipeline.score(used, plan, plan.entries[0].run_key)
    assert ("quarantined", "link_outside_root") == (state.disposition, state.reason)
    runs.rename(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="the runs folder is gone"):
        pipeline.score(used, plan, plan.entries[0].run_key)
