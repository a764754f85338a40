"""The pipeline over real directories: what it decides, and that repeating it changes nothing."""

import json
import os
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalbench import pipeline
from evalbench.errors import GateHeldError, PipelineError, PolicyError, UsageError
from evalbench.lake.plans import read_plan
from evalbench.lake.reports import read_report
from evalbench.settings import Settings, load_settings
from evalbench.storage import LocalStorage
from evalbench.summaries.offline import OFFLINE_VERSION

AFTER = "2026-12-02T06:00:00Z"
OUTSIDE_THE_PROMISE = ("_ops/", "trends/run_states/", "trends/accounting/")
A_LAKES_OWN = ("index/", "commits/", "trends/decision_log/")
"""What depends on when a lake learnt of its runs, and in how many nights; never rewritten without need."""
REPLAYED = "custom/tau-bench gpt-4o tool-calling (replayed)"
UNCOUNTED = (*OUTSIDE_THE_PROMISE, "commits/")
"""A commit record counts how often its partitions were written."""


def settings(runs: Path, lake: Path, root: Path, **fields: object) -> Settings:
    """Settings over these folders, with the samples' routing and a clock past their dates."""
    routing = root / "include" / "samples" / "routing.yaml"
    given = {"runs": runs, "lake": lake, "routing": routing, "grace_hours": 0, "clock": AFTER} | fields
    return load_settings({}, {name: str(value) if isinstance(value, Path) else value for name, value in given.items()})


def files(lake: Path, but: tuple[str, ...] = OUTSIDE_THE_PROMISE) -> dict[str, bytes]:
    """Files of a lake, those below the folders `but` left out."""
    found = {path.relative_to(lake).as_posix(): path.read_bytes() for path in sorted(lake.rglob("*")) if path.is_file()}
    return {name: data for name, data in found.items() if not name.startswith(but or ("\0",))}


def tables(lake: Path) -> dict[str, bytes]:
    """What any two lakes over the same runs have in common."""
    return files(lake, (*OUTSIDE_THE_PROMISE, *A_LAKES_OWN))


def decisions(report: dict[str, Any]) -> dict[tuple[str, str], str]:
    """(candidate, date) → decision."""
    return {(entry["candidate"], entry["date"]): entry["decision"] for entry in report["decisions"]}


def write_run(runs: Path, name: str, *, day: str = "2026-11-28", verified: bool = True, **manifest: str) -> Path:
    """A run of one good trial (or one false success) as trial records."""
    folder = runs / name
    folder.mkdir(parents=True, exist_ok=True)
    said = {
        "run_id": name,
        "candidate": "agent-1",
        "product": "shop",
        "dataset": "orders",
        "run_time": f"{day} 09:00:00",
    }
    lines = [f'{key}: "{value}"' for key, value in (said | manifest).items()]
    (folder / "run.yaml").write_text("\n".join([*lines, "planned: {tasks: [t1], trials: 1}"]) + "\n")
    record = {
        "task_id": "t1", "trial": 0, "status": "completed", "declared_complete": True,
        "outcome": {
            "state": "verified" if verified else "failed", "predicate": "order exists", "evidence": "row 1",
            "verifier": {"kind": "deterministic", "name": "probe"},
        },
        "effects": [{
            "id": "e1", "tool": "shop__order", "destination": "db", "idempotency_key": "k", "state": "verified",
            "evidence": "row 1",
        }],
        "tools": {"called": [{"name": "shop__order", "status": "success"}]},
        "cost": {"usd": 0.1, "state": "billed"},
    }  # fmt: skip
    (folder / "trials.jsonl").write_text(json.dumps(record) + "\n")
    return folder


@pytest.fixture(scope="module")
def samples(root: Path, sample_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """(a lake made from the samples, its report); to be read only."""
    lake = tmp_path_factory.mktemp("samples") / "lake"
    return lake, pipeline.run(settings(sample_runs, lake, root))


@pytest.fixture
def lake(samples: tuple[Path, Any], tmp_path: Path) -> Path:
    """A copy of the samples' lake to work on."""
    return Path(shutil.copytree(samples[0], tmp_path / "lake"))


# -- what it decides ---------------------------------------------------------------------------------------------


def test_the_release_inversion(samples: tuple[Path, Any]) -> None:
    """The better-looking candidate is held, by the one thing that is proven against it."""
    found = {entry["candidate"]: entry for entry in samples[1]["decisions"]}
    stable, fast = found["stable-v1"], found["fast-v2"]
    assert ("PASS", None, []) == (
        stable["decision"], stable["decided_by"], [c["name"] for c in stable["checks"] if c["fired"]],
    )  # fmt: skip
    assert ("FAIL", "false_success") == (fast["decision"], fast["decided_by"])
    assert ["false_success"] == [check["name"] for check in fast["checks"] if check["proven"]]
    assert {1, 2, 3, 4} == {check["stage"] for check in fast["checks"] if check["fired"]}
    table = {
        "task_quality": ((0.818, 4), (0.902, 5)),
        "useful_progress": ((1.0, 14), (15 / 16, 16)),
        "effect_integrity": ((1.0, 5), (0.8, 5)),
        "cost_per_verified_outcome": ((0.517, 4), (0.63, 3)),
        "false_success": ((0.0, 4), (0.2, 5)),
    }
    for name, expected in table.items():
        signals = (stable["signals"][name], fast["signals"][name])
        assert expected == tuple((signal["value"], signal["denominator"]) for signal in signals), name
    assert (0, 1) == (stable["signals"]["false_success"]["unverified"], fast["signals"]["false_success"]["unverified"])


def test_the_replayed_runs(samples: tuple[Path, Any]) -> None:
    """Four real directories are one decision over one suite; counts by comparator as the raw rows give them."""
    (replayed,) = [entry for entry in samples[1]["decisions"] if entry["candidate"] == REPLAYED]
    assert ("tau_airline", "FAIL", 4) == (replayed["suite"], replayed["decision"], len(replayed["runs"]))
    brackets = replayed["pass_hat_k"]
    assert [0.42, 0.2733, 0.22, 0.2] == [round(brackets[k]["lower"], 4) for k in "1234"]
    assert [0.445, 0.2867, 0.225, 0.2] == [round(brackets[k]["upper"], 4) for k in "1234"]
    runs = {run["run_id"]: run for run in samples[1]["runs"] if run["candidate"] == REPLAYED}
    goals = {run_id[:8]: run["metrics"]["goal_completion"] for run_id, run in runs.items()}
    assert {"63258d1c": 21, "49e5b728": 22, "4feb5ba7": 20, "5267e834": 21} == {
        k: m["passed"] for k, m in goals.items()
    }
    assert (195, 5) == (sum(m["denominator"] for m in goals.values()), sum(m["unavailable"] for m in goals.values()))
    trajectory = [run["metrics"]["trajectory_matcher"] for run in runs.values()]
    assert round(sum(m["numerator"] for m in trajectory) / sum(m["denominator"] for m in trajectory), 3) == 38.921
    for run in runs.values():
        missing = {"value": None, "missing": ["behavioral_metrics", "parameter_analysis"]}
        assert missing.items() <= run["general_score"].items()


def test_a_judge_is_no_destination_check_by_default(lake: Path, root: Path, sample_runs: Path) -> None:
    """Without the operator's attestation the same facts are not enough."""
    default = settings(sample_runs, lake, root, policy=root / "include" / "policies" / "consequential.yaml")
    report = pipeline.decide_standing(default, candidates=[REPLAYED])
    assert {(REPLAYED, "2026-11-30"): "INSUFFICIENT_EVIDENCE"} == decisions(report)


def test_the_accounting_of_the_samples(samples: tuple[Path, Any]) -> None:
    """Every directory is a run or is named as none; an unfinished one past its grace is scored."""
    assert {
        "listed": 15, "scored": 13, "unchanged": 0, "out_of_range": 0, "in_progress": 0, "quarantined": {},
        "ignored": {"not_a_directory": 1, "not_a_run_directory": 1},
    } == samples[1]["accounting"]  # fmt: skip
    states = {run["run_id"]: run["state"] for run in samples[1]["runs"]}
    assert "abandoned" == states["trap-crash-no-summary"]


# -- repeating it ------------------------------------------------------------------------------------------------


def test_twice_changes_no_byte_and_rescores_nothing(lake: Path, root: Path, sample_runs: Path) -> None:
    """The second night over the same directories leaves every promised file, and its time, alone."""
    before, times = files(lake), {path: path.stat().st_mtime_ns for path in lake.rglob("*") if path.is_file()}
    report = pipeline.run(settings(sample_runs, lake, root))
    assert before == files(lake)
    assert (0, 13) == (report["accounting"]["scored"], report["accounting"]["unchanged"])  # type: ignore[index]
    promised = {lake / name for name in before}
    assert {path: times[path] for path in promised} == {path: path.stat().st_mtime_ns for path in promised}


def test_unchanged_runs_are_reported_and_decided_alike(
    samples: tuple[Path, Any], lake: Path, root: Path, sample_runs: Path
) -> None:
    """All standing decisions are printed, changed or not."""
    report = pipeline.run(settings(sample_runs, lake, root))
    assert samples[1]["decisions"] == report["decisions"]
    assert samples[1]["runs"] == report["runs"]


def test_neither_order_nor_jobs_nor_time_matter(
    samples: tuple[Path, Any], root: Path, sample_runs: Path, tmp_path: Path
) -> None:
    """Directories written in another order, read two at a time, on another day, give the same bytes."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    runs.mkdir()
    for entry in sorted(sample_runs.iterdir(), reverse=True):
        if entry.is_dir():
            shutil.copytree(entry, runs / entry.name)
    pipeline.run(settings(runs, lake, root, clock="2027-01-05T00:00:00Z"), jobs=2)
    assert tables(samples[0]) == tables(lake)


def test_night_by_night_equals_all_at_once(
    samples: tuple[Path, Any], root: Path, sample_runs: Path, tmp_path: Path
) -> None:
    """Ranges in any order end in the lake that one sweep makes."""
    for day in ("2026-11-30", "2026-11-27", "2026-11-28"):
        on = date.fromisoformat(day)
        pipeline.run(settings(sample_runs, tmp_path / "lake", root), since=on, until=on)
    assert tables(samples[0]) == tables(tmp_path / "lake")


@pytest.mark.parametrize("part", ["trends", "facts", "verdicts", "summaries"])
def test_what_is_deleted_comes_back_byte_for_byte(lake: Path, root: Path, sample_runs: Path, part: str) -> None:
    """Any part of the lake can be lost and is made again from the run directories."""
    before = files(lake, UNCOUNTED)
    shutil.rmtree(lake / part)
    pipeline.run(settings(sample_runs, lake, root))
    assert before == files(lake, UNCOUNTED)


def test_one_deleted_partition_comes_back_byte_for_byte(lake: Path, root: Path, sample_runs: Path) -> None:
    """Only what is missing is written."""
    before = files(lake, UNCOUNTED)
    gone = "trends/decisions/run_date=2026-11-28/part-0.parquet"
    (lake / gone).unlink()
    plan = pipeline.discover(settings(sample_runs, lake, root))
    published = pipeline.publish(
        settings(sample_runs, lake, root), pipeline.decide(settings(sample_runs, lake, root), plan)
    )
    assert ((date(2026, 11, 28),), (gone,)) == (published.dates, published.partitions.written)
    assert before == files(lake, UNCOUNTED)


def test_summaries_stand_beside_every_run(samples: tuple[Path, Any]) -> None:
    """One row per run, labelled by its writer, made from numbers whose hash it carries."""
    for day, runs in {"2026-11-27": 7, "2026-11-28": 2, "2026-11-30": 4}.items():
        path = samples[0] / f"trends/summaries/run_date={day}/part-0.parquet"
        rows = pq.read_table(path, partitioning=None).to_pylist()
        assert runs == len(rows)
        for row in rows:
            assert ("offline", None, None) == (row["state"], row["summary_model"], row["prompt_version"])
            assert row["text"].startswith("Offline summary")
            assert (samples[0] / "summaries" / row["digest_hash"] / f"offline-{OFFLINE_VERSION}.json").is_file()


def test_every_verb_can_run_in_a_process_of_its_own(
    samples: tuple[Path, Any], root: Path, sample_runs: Path, tmp_path: Path
) -> None:
    """With nothing handed on but the plan's name, the lake ends as one call leaves it."""
    used = settings(sample_runs, tmp_path, root)
    plan_id = pipeline.discover(used, plan_id="scheduled__2026-12-01").plan_id
    lake = LocalStorage(str(tmp_path))
    for entry in read_plan(lake, plan_id).to_score:
        pipeline.score(used, read_plan(lake, plan_id), entry.run_key)
        ((_, written),) = pipeline.summarize(used, read_plan(lake, plan_id), [entry.run_key])
        assert written is not None
        assert "offline" == written.state
    pipeline.publish(used, pipeline.decide(used, read_plan(lake, plan_id)))
    assert tables(samples[0]) == tables(tmp_path)
    report = read_report(lake, plan_id)
    assert {**samples[1], "summaries": None} == {**report, "summaries": None}
    assert {"offline": 13} == report["summaries"]["states"]  # type: ignore[index]


def test_planted_secrets_reach_nothing(samples: tuple[Path, Any]) -> None:
    """Neither lake nor report holds a credential of the run directories, in any column."""
    lake, report = samples
    assert "PLANTED" not in json.dumps(report)
    tables = 0
    for name, data in files(lake, but=()).items():
        assert b"PLANTED" not in data, name
        if name.endswith(".parquet"):
            tables += 1
            assert "PLANTED" not in str(pq.read_table(lake / name, partitioning=None).to_pylist()), name
    assert tables > 50


def test_decisions_need_no_run_directory(samples: tuple[Path, Any], lake: Path, root: Path, tmp_path: Path) -> None:
    """From facts alone, without verdicts even: the same decisions, and nothing is written."""
    shutil.rmtree(lake / "verdicts")
    before = files(lake, but=())
    report = pipeline.decide_standing(settings(tmp_path / "gone", lake, root))
    assert samples[1]["decisions"] == report["decisions"]
    assert None is report["accounting"]
    assert before == files(lake, but=())


# -- scope -------------------------------------------------------------------------------------------------------


def test_a_range_scores_its_dates_and_no_others(root: Path, sample_runs: Path, tmp_path: Path) -> None:
    """Both ends are inclusive; what lies outside is counted and left alone."""
    report: Any = pipeline.run(
        settings(sample_runs, tmp_path, root), since=date(2026, 11, 28), until=date(2026, 11, 29)
    )
    assert (2, 11) == (report["accounting"]["scored"], report["accounting"]["out_of_range"])
    assert {"2026-11-28"} == {run["run_date"] for run in report["runs"]}
    assert 2 == sum(1 for name in files(tmp_path) if name.startswith("facts/"))


def test_dates_in_the_wrong_order_are_refused(root: Path, sample_runs: Path, tmp_path: Path) -> None:
    """An empty range is a mistake, not a green night."""
    for verb in (pipeline.run, pipeline.decide_standing):
        with pytest.raises(UsageError, match="after until"):
            verb(settings(sample_runs, tmp_path, root), since=date(2026, 11, 29), until=date(2026, 11, 28))


def test_a_candidate_filter_shows_and_publishes_no_less(lake: Path, root: Path, sample_runs: Path) -> None:
    """The report is about the candidate; the tables stay whole."""
    before = files(lake)
    report: Any = pipeline.run(settings(sample_runs, lake, root), candidates=["stable-v1"])
    assert {("stable-v1", "2026-11-28"): "PASS"} == decisions(report)
    assert ["inversion-stable-v1"] == [run["run_id"] for run in report["runs"]]
    assert before == files(lake)


def test_a_candidate_nobody_ran_is_refused(lake: Path, root: Path, sample_runs: Path) -> None:
    """A misspelt name must not look like a release without objections."""
    with pytest.raises(UsageError, match=r"stable-v9.*no run in scope"):
        pipeline.decide_standing(settings(sample_runs, lake, root), candidates=["stable-v1", "stable-v9"])


def test_a_window_pools_days_and_republishes_its_followers(root: Path, tmp_path: Path) -> None:
    """A run that arrives late changes the decisions of later dates whose window holds it."""
    runs, lake, policy = tmp_path / "runs", tmp_path / "lake", tmp_path / "policy.yaml"
    text = (root / "include" / "policies" / "consequential.yaml").read_text()
    policy.write_text(text.replace("schema: 1", "schema: 1\nwindow: {days: 3}"))
    used = settings(runs, lake, root, policy=policy)
    write_run(runs, "late", day="2026-11-28")
    pipeline.run(used)
    write_run(runs, "early", day="2026-11-26", verified=False)
    report: Any = pipeline.run(used, since=date(2026, 11, 26), until=date(2026, 11, 26))
    assert {("agent-1", "2026-11-26"): "FAIL"} == decisions(report)
    rows = pq.read_table(lake / "trends/decisions/run_date=2026-11-28/part-0.parquet", partitioning=None).to_pylist()
    assert [("FAIL", '["early","late"]')] == [(row["decision"], row["runs"].replace(" ", "")) for row in rows]


# -- what goes wrong ---------------------------------------------------------------------------------------------


def test_a_changed_directory_is_known_by_its_latest_content(root: Path, tmp_path: Path) -> None:
    """The old facts stay in the lake and decide nothing; a date without runs has no partitions left."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    used = settings(runs, lake, root)
    write_run(runs, "a", day="2026-11-27")
    assert {("agent-1", "2026-11-27"): "PASS"} == decisions(pipeline.run(used))
    write_run(runs, "a", day="2026-11-28", verified=False)
    assert {("agent-1", "2026-11-28"): "FAIL"} == decisions(pipeline.run(used))
    assert 2 == sum(1 for name in files(lake) if name.startswith("facts/"))
    assert {"run_date=2026-11-28"} == {
        path.name for path in (lake / "trends" / "decisions").iterdir() if any(path.iterdir())
    }


def test_of_two_directories_with_one_run_id_the_first_stands(root: Path, tmp_path: Path) -> None:
    """First by (run_time, path), whichever arrived first; the other is quarantined and named."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    used = settings(runs, lake, root)
    write_run(runs, "copy", day="2026-11-28", run_id="x", verified=False)
    assert {("agent-1", "2026-11-28"): "FAIL"} == decisions(pipeline.run(used))
    write_run(runs, "original", day="2026-11-27", run_id="x")
    for _ in range(2):
        report: Any = pipeline.run(used)
        assert {("agent-1", "2026-11-27"): "PASS"} == decisions(report)
        assert {"duplicate_run_id": 1} == report["accounting"]["quarantined"]
    at_once = tmp_path / "at-once"
    pipeline.run(settings(runs, at_once, root))
    assert tables(at_once) == tables(lake)


def test_an_unfinished_run_waits_out_its_grace(root: Path, tmp_path: Path, sample_runs: Path) -> None:
    """In progress until it is old enough, then abandoned, and from then on unchanged."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    shutil.copytree(sample_runs / "trap-crash-no-summary", runs / "crash")
    states = []
    for clock in ("2026-11-27T20:00:00Z", AFTER, AFTER):
        report: Any = pipeline.run(settings(runs, lake, root, clock=clock, grace_hours=24))
        states.append([name for name in ("in_progress", "scored", "unchanged") if report["accounting"][name]])
    assert [["in_progress"], ["scored"], ["unchanged"]] == states


def test_a_directory_that_changes_after_it_was_listed_is_scored_as_it_is_read(root: Path, tmp_path: Path) -> None:
    """Its bytes are taken once, and remembered as they looked then: the next night has nothing to read again."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    used = settings(runs, lake, root)
    plan = pipeline.discover(used)
    write_run(runs, "a", verified=False)
    pipeline.score(used, plan, plan.entries[0].run_key)
    report = pipeline.publish(used, pipeline.decide(used, plan)).report
    assert {("agent-1", "2026-11-28"): "FAIL"} == decisions(report)
    assert () == pipeline.discover(used).to_score


def test_a_lost_run_is_quarantined_and_fails_the_pipeline_after_the_others(root: Path, tmp_path: Path) -> None:
    """A result that never came back is told by name; every other directory is published first."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "a")
    write_run(runs, "b", candidate="agent-2")
    used = settings(runs, lake, root)
    plan = pipeline.discover(used, plan_id="manual__2026-12-01T02:00:00+00:00")
    pipeline.score(used, plan, plan.entries[0].run_key)
    gate = pipeline.decide(used, read_plan(LocalStorage(str(lake)), plan.plan_id))
    pipeline.publish(used, gate)
    assert {"task_lost": 1} == gate.accounting.quarantined
    report = read_report(LocalStorage(str(lake)), plan.plan_id)
    assert {
        ("agent-1", "2026-11-28"): "PASS",
        ("agent-2", "2026-11-28"): "INSUFFICIENT_EVIDENCE",
    } == decisions(report)
    with pytest.raises(PipelineError, match="task_lost"):
        pipeline.enforce(used, report, backfill=True)


def test_an_empty_root_is_green_only_in_an_empty_lake(root: Path, tmp_path: Path) -> None:
    """Zero runs on the first night are zero runs; later they are a wrong path."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    runs.mkdir()
    used = settings(runs, lake, root)
    assert {} == decisions(pipeline.run(used))
    folder = write_run(runs, "a")
    assert {("agent-1", "2026-11-28"): "PASS"} == decisions(pipeline.run(used))
    shutil.rmtree(folder)
    (runs / "notes.txt").write_text("not a run")
    with pytest.raises(PipelineError, match="check the runs path"):
        pipeline.run(used)
    shutil.rmtree(runs)
    with pytest.raises(PipelineError, match="no such runs folder"):
        pipeline.run(used)


def test_hostile_names_and_text_cost_one_directory_at_most(root: Path, tmp_path: Path) -> None:
    """Names that are no text, lone surrogates, special files and a lake inside the root: all accounted for."""
    runs = tmp_path / "runs"
    write_run(runs, "good")
    (write_run(runs, "named") / os.fsdecode(b"\xff\xfe.csv")).write_text("x")
    hostile = write_run(runs, "hostile", candidate="agent-2") / "trials.jsonl"
    hostile.write_text(hostile.read_text().replace('"order exists"', '"order \\ud800 exists"'))
    (runs / os.fsdecode(b"\xff")).mkdir()
    (runs / "empty").mkdir()
    os.mkfifo(runs / "pipe")
    for _ in range(2):
        report: Any = pipeline.run(settings(runs, runs / "lake", root))
        assert {("agent-1", "2026-11-28"), ("agent-2", "2026-11-28")} == set(decisions(report))
    assert {"empty_directory": 2, "name_not_utf8": 1, "not_a_directory": 1} == report["accounting"]["ignored"]
    assert {} == report["accounting"]["quarantined"]


def test_a_lake_that_is_no_folder_is_told(root: Path, sample_runs: Path, tmp_path: Path) -> None:
    """One line, no traceback."""
    (tmp_path / "lake").write_text("")
    with pytest.raises(PipelineError, match="can't be written"):
        pipeline.run(settings(sample_runs, tmp_path / "lake", root))
    with pytest.raises(UsageError, match="no such lake"):
        pipeline.decide_standing(settings(sample_runs, tmp_path / "lake", root))


def test_facts_that_are_gone_are_no_silent_gap(lake: Path, root: Path, tmp_path: Path) -> None:
    """A decision over what is left would look like one over everything."""
    next((lake / "facts").rglob("*.parquet")).unlink()
    with pytest.raises(PipelineError, match="these facts are gone"):
        pipeline.decide_standing(settings(tmp_path / "gone", lake, root))


def test_a_policy_that_cannot_be_used_stops_before_anything_is_written(root: Path, tmp_path: Path) -> None:
    """The operator's mistake is told at once."""
    runs = tmp_path / "runs"
    write_run(runs, "a")
    (tmp_path / "routing.yaml").write_text("schema: 1\nroutes: [{policy: nowhere.yaml}]\n")
    with pytest.raises(PolicyError, match=r"nowhere.yaml.*consequential"):
        pipeline.run(settings(runs, tmp_path / "lake", root, routing=tmp_path / "routing.yaml"))
    assert not (tmp_path / "lake").exists()


def test_summaries_can_be_switched_off(root: Path, tmp_path: Path) -> None:
    """No text is written; the row says why."""
    write_run(tmp_path / "runs", "a")
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", root, summaries="off"))
    path = tmp_path / "lake/trends/summaries/run_date=2026-11-28/part-0.parquet"
    (row,) = pq.read_table(path, partitioning=None).to_pylist()
    assert ("none", "summaries_off", None) == (row["state"], row["reason"], row["text"])
    assert not (tmp_path / "lake" / "summaries").exists()


# -- enforce -----------------------------------------------------------------------------------------------------


def test_enforce_names_subject_and_deciding_check(samples: tuple[Path, Any], root: Path, sample_runs: Path) -> None:
    """Every held, settled decision is named; what passes is not."""
    with pytest.raises(GateHeldError) as caught:
        pipeline.enforce(settings(sample_runs, samples[0], root), samples[1])
    assert "release-inversion/inversion/offline fast-v2 on 2026-11-28: FAIL by false_success" in str(caught.value)
    assert "stable-v1" not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "backfill", "held"),
    [
        ("auto", False, True),
        ("auto", True, False),
        ("always", False, True),
        ("always", True, True),
        ("never", False, False),
        ("never", True, False),
    ],
)
def test_when_a_hold_fails_the_caller(
    samples: tuple[Path, Any], root: Path, sample_runs: Path, mode: str, backfill: bool, held: bool
) -> None:
    """auto: red on scheduled and manual, green on backfills."""
    used = settings(sample_runs, samples[0], root, fail_on_hold=mode)
    raised = False
    try:
        pipeline.enforce(used, samples[1], backfill=backfill)
    except GateHeldError:
        raised = True
    assert held is raised


def test_a_day_that_is_not_over_holds_nothing(samples: tuple[Path, Any], root: Path, sample_runs: Path) -> None:
    """Provisional by the clock of enforce, not by that of the report."""
    used = settings(sample_runs, samples[0], root, clock="2026-11-27T23:59:59Z")
    assert "9 of 10 decisions hold" in pipeline.enforce(used, samples[1])
    with pytest.raises(GateHeldError):
        pipeline.enforce(settings(sample_runs, samples[0], root, clock="2026-11-28T00:00:00Z"), samples[1])


def test_enforce_says_what_there_was_to_hold(samples: tuple[Path, Any], root: Path, sample_runs: Path) -> None:
    """Never "nothing is held" over a hold: not enforced, days not over, nothing decided and all PASS are told apart."""
    never = settings(sample_runs, samples[0], root, fail_on_hold="never")
    report = samples[1]
    passed = {**report, "decisions": [entry for entry in report["decisions"] if entry["decision"] == "PASS"]}
    assert "9 held, not enforced (fail_on_hold=never)" in pipeline.enforce(never, report)
    yesterday = settings(sample_runs, samples[0], root, clock="2026-11-27T12:00:00Z")
    assert "about a day that is not over" in pipeline.enforce(yesterday, report)
    assert "no release is held: 1 decisions, all PASS" == pipeline.enforce(never, passed)
    assert "nothing was decided" in pipeline.enforce(never, {**report, "decisions": []})
