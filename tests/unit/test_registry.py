"""A directory's bytes → its run, or why there is none: formats, states, and how the sources are put together."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalbench.ledger import PlanSource, Run, RunState, TrialStatus
from evalbench.readers.assemble import READER_VERSION
from evalbench.readers.registry import FORMATS, read_directory, recognise
from evalbench.readers.snapshot import NotARun, ReadOptions, Snapshot

SAMPLES = Path(__file__).parents[2] / "include" / "samples" / "runs"
NOW = datetime(2026, 12, 2, tzinfo=UTC)
OLD = datetime(2026, 11, 28, tzinfo=UTC)
RECORD = {"task_id": "a", "ended_at": "2026-11-28T09:00:00Z"}
CONFIGS = (
    "job_id,run_time,config,value\n"
    "j1,2026-11-28 10:00:00,experiment_config.product_name,shop\n"
    "j1,2026-11-28 10:00:00,experiment_config.dataset_config,sets/nightly.evalset.json\n"
    "j1,2026-11-28 10:00:00,model_config.generator,gemini_cli\n"
)
EVALS_HEADER = "eval_id,job_id,returncode,conversation_history,generated_error,scenario\n"
SUMMARY = "metric_name,metric_score,correct_results_count,total_results_count,job_id,run_time\nexecutable,1,1,1,j1,x\n"


def _history(*names: str) -> str:
    agent = json.dumps({"tool_calls": [{"tool_name": name, "parameters": {}, "status": "success"} for name in names]})
    return '"' + json.dumps([{"user": "u", "agent": agent}]).replace('"', '""') + '"'


def _harness(**more: str) -> dict[str, str]:
    evals = f"{EVALS_HEADER}a,j1,0,{_history('crm__find')},,\n"
    return {"configs.csv": CONFIGS, "evals.csv": evals, "summary.csv": SUMMARY, **more}


def _records(*records: dict[str, object]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _read(
    files: dict[str, str], *, mtime: datetime = OLD, grace: timedelta = timedelta(hours=24), path: str = "team/r1"
) -> Run | NotARun:
    snapshot = Snapshot(path=path, files={n: t.encode() for n, t in files.items()}, newest_mtime=mtime)
    return read_directory(snapshot, ReadOptions(now=NOW, grace=grace))


def _run(files: dict[str, str], **more: datetime) -> Run:
    found = _read(files, **more)
    assert isinstance(found, Run), found
    return found


@pytest.mark.parametrize(
    ("expected", "names"),
    [
        ("evalbench", {"configs.csv"}),
        ("evalbench", {"setup_execution.log"}),
        ("evalbench", {"evals.csv", "trials.jsonl", "run.yaml"}),
        ("trial_records", {"trials.jsonl", "run.yaml"}),
        ("manifest", {"run.yaml", "notes.txt"}),
        (None, {"notes.txt", "old/trials.jsonl"}),
        (None, set()),
    ],
)
def test_formats_are_told_by_content(expected: str | None, names: set[str]) -> None:
    """The files in it, not its name, say what a directory is."""
    assert expected == recognise(names)


def test_format_names_are_unique() -> None:
    """Each format is registered once."""
    assert len(FORMATS) == len({known.name for known in FORMATS})


@pytest.mark.parametrize(
    ("disposition", "reason", "files"),
    [
        ("ignored", "empty_directory", {}),
        ("ignored", "not_a_run_directory", {"notes.txt": "x"}),
        ("quarantined", "no_run_time", {"trials.jsonl": _records({"task_id": "a"})}),
        ("quarantined", "no_run_time", {"setup_execution.log": "boom"}),
        ("quarantined", "no_run_time", {"run.yaml": "planned: {tasks: [a]}\n"}),
        ("quarantined", "no_run_time", {"trials.jsonl": ""}),
        (
            "quarantined",
            "no_run_time",
            {"trials.jsonl": _records(RECORD), "run.yaml": "run_time: 9999-12-31T23:59:59Z\n"},
        ),
        ("quarantined", "no_run_time", {"trials.jsonl": _records(RECORD), "run.yaml": "run_time: 0001-01-01\n"}),
        ("quarantined", "no_run_time", {"run.yaml": "run_time: 2200-01-01\n"}),
        ("quarantined", "unreadable", {"trials.jsonl": "{\n{\n"}),
        ("quarantined", "manifest_invalid", {"run.yaml": "a: [\n"}),
        ("quarantined", "manifest_invalid", {"run.yaml": "a: [\n", "setup_execution.log": "boom"}),
    ],
)
def test_directories_that_are_no_run(disposition: str, reason: str, files: dict[str, str]) -> None:
    """Past their grace they are accounted for with a reason, and never dated by their files."""
    found = _read(files)
    assert isinstance(found, NotARun)
    assert (disposition, reason) == (found.disposition, found.reason)


@pytest.mark.parametrize(
    ("expected", "files", "mtime"),
    [
        ("complete", _harness(), NOW),
        ("complete", {"trials.jsonl": _records(RECORD)}, NOW),
        ("in_progress", {"trials.jsonl": _records(RECORD) + '{"task'}, NOW),
        ("abandoned", {"trials.jsonl": _records(RECORD) + '{"task'}, OLD),
        ("abandoned", {"trials.jsonl": "{\n" + _records(RECORD)}, OLD),
        ("abandoned", {"configs.csv": CONFIGS}, NOW),
        ("in_progress", {"configs.csv": CONFIGS.replace("2026-11-28 10", "2026-12-01 10")}, OLD),
        ("in_progress", {"setup_execution.log": "x"}, NOW),
        ("abandoned", _harness(**{"trials.jsonl": "{\n"}), NOW),
        ("abandoned", {"run.yaml": "run_time: 2026-11-28\nplanned: {tasks: [a]}\n"}, NOW),
        ("in_progress", {"run.yaml": "run_time: 2026-12-01 12:00:00\n"}, OLD),
        ("abandoned", {"run.yaml": "run_time: 2027-12-01 12:00:00\n"}, OLD),
        ("in_progress", {"run.yaml": "run_time: 2027-12-01 12:00:00\n"}, NOW),
        ("in_progress", {"run.yaml": "[", "trials.jsonl": ""}, NOW),
    ],
)
def test_how_far_a_run_got(expected: str, files: dict[str, str], mtime: datetime) -> None:
    """Complete needs every source's word; else the configured run time tells the age, or the newest file where that
    is to come."""
    found = _read(files, mtime=mtime)
    assert expected == (found.state if isinstance(found, Run) else found.disposition)


def test_no_grace_leaves_nothing_in_progress() -> None:
    """With a grace of zero an unfinished run of this very moment is abandoned."""
    found = _read({"trials.jsonl": _records(RECORD) + "{"}, mtime=NOW, grace=timedelta(0))
    assert isinstance(found, Run)
    assert (RunState.ABANDONED, 1) == (found.state, len(found.trials))


def test_an_unfinished_run_says_what_it_knows() -> None:
    """In progress still names the run and its time."""
    found = _read({"configs.csv": CONFIGS.replace("2026-11-28", "2026-12-01")})
    assert isinstance(found, NotARun)
    assert ("evalbench", "j1", datetime(2026, 12, 1, 10, tzinfo=UTC)) == (found.format, found.run_id, found.run_time)


def test_a_harness_run_alone() -> None:
    """Candidate, product and dataset come from the harness; the plan is what was observed."""
    run = _run(_harness())
    assert ("j1", "gemini_cli/unknown", "shop", "nightly.evalset.json", False, "offline", READER_VERSION) == (
        run.run_id, run.candidate, run.product, run.dataset, run.dataset_named, run.environment, run.reader_version,
    )  # fmt: skip
    assert (PlanSource.OBSERVED, 1, "team/r1") == (run.plan.source, run.plan.trials, run.path)


def test_records_alone() -> None:
    """What nobody says is unknown and offline; the run is dated by its latest end and named by its directory."""
    run = _run({"trials.jsonl": _records(RECORD, {"task_id": "b"})})
    assert ("r1", "unknown/unknown", "unknown", None, "offline", datetime(2026, 11, 28, 9, tzinfo=UTC)) == (
        run.run_id, run.candidate, run.product, run.dataset, run.environment, run.run_time,
    )  # fmt: skip


def test_the_manifest_speaks_first() -> None:
    """What run.yaml says of the run holds against harness and records, and a difference is reported."""
    manifest = (
        "run_id: m1\ncandidate: c1\nproduct: p\ndataset: d\nrun_time: 2026-11-20 01:00:00\nenvironment: production\n"
        "planned: {tasks: [a, b], trials: 2}\n"
    )
    record = {**RECORD, "run_id": "r9", "candidate": "c9", "environment": "offline"}
    run = _run({"run.yaml": manifest, "trials.jsonl": _records(record), **_harness()})
    assert ("m1", "c1", "p", "d", True, "production", datetime(2026, 11, 20, 1, tzinfo=UTC)) == (
        run.run_id, run.candidate, run.product, run.dataset, run.dataset_named, run.environment, run.run_time,
    )  # fmt: skip
    assert (PlanSource.MANIFEST, 4) == (run.plan.source, run.plan.trials)
    assert 3 == [defect.code for defect in run.defects].count("records_contradict_run")


def test_a_broken_manifest_beside_results_is_a_defect() -> None:
    """The results are still read."""
    run = _run({"run.yaml": "a: [\n", **_harness()})
    assert ["manifest_invalid"] == [defect.code for defect in run.defects]


def test_records_join_the_harness() -> None:
    """On task and trial: the record wins where both speak, the harness fills what it leaves out."""
    record = {"task_id": "a", "status": "completed", "declared_complete": True, "tools": {"called": ["crm__find"]}}
    run = _run(_harness(**{"trials.jsonl": _records(record, {"task_id": "b"})}))
    assert ["a", "b"] == [trial.task_id for trial in run.trials]
    joined = run.trials[0]
    assert (TrialStatus.COMPLETED, True, True, "record") == (
        joined.status, joined.declared_complete, joined.finished_conversation, joined.calls_source,
    )  # fmt: skip
    assert () == run.defects


def test_a_silent_record_leaves_the_harness_its_word() -> None:
    """A record that only adds an outcome takes nothing away."""
    outcome = {"state": "failed", "predicate": "p", "verifier": {"kind": "human", "name": "v"}}
    alone, joined = (
        _run(_harness(**more)).trials[0]
        for more in ({}, {"trials.jsonl": _records({"task_id": "a", "outcome": outcome})})
    )
    assert joined.outcome is not None
    assert "failed" == joined.outcome.state
    for field in ("status", "calls", "calls_source", "finished_conversation", "expected", "comparators", "task_key"):
        assert getattr(alone, field) == getattr(joined, field)


@pytest.mark.parametrize(
    ("field", "record"), [("status", {"status": "crashed"}), ("tools.called", {"tools": {"called": ["crm__drop"]}})]
)
def test_a_record_that_contradicts_the_harness_is_reported(field: str, record: dict[str, object]) -> None:
    """The record is used, and the contradiction is a located defect."""
    run = _run(_harness(**{"trials.jsonl": _records({"task_id": "a", **record})}))
    (defect,) = run.defects
    assert ("record_contradicts_harness", "a", field) == (defect.code, defect.task_id, defect.ref and defect.ref.field)


@pytest.mark.parametrize(
    ("code", "files"),
    [
        ("unreadable_line", {"trials.jsonl": "{\n" * 1000 + _records(RECORD)}),
        ("wrong_field_count", _harness(**{"scores.csv": "comparator,id,score\n" + "x\n" * 1000})),
    ],
)
def test_many_defects_become_a_count(code: str, files: dict[str, str]) -> None:
    """A thousand bad lines, of either format, are fifty defects and one that counts all the rest."""
    found = [defect.message for defect in _run(files).defects if defect.code == code]
    assert (51, "950 more of this kind are not listed.") == (len(found), found[-1])


def test_the_samples_are_read() -> None:
    """The shipped directories: the inversion's two runs by their manifests, the replayed runs of fifty trials each."""
    options = ReadOptions(now=datetime(2027, 1, 1, tzinfo=UTC))
    runs = {}
    for directory in sorted(path for path in SAMPLES.iterdir() if path.is_dir()):
        files = {path.name: path.read_bytes() for path in directory.iterdir()}
        found = read_directory(Snapshot(path=directory.name, files=files, newest_mtime=OLD), options)
        if isinstance(found, Run):
            runs[directory.name] = found
    for name, candidate in (("inversion-stable-v1", "stable-v1"), ("inversion-fast-v2", "fast-v2")):
        run = runs[name]
        assert (candidate, PlanSource.MANIFEST, 5, 5) == (
            run.candidate,
            run.plan.source,
            run.plan.trials,
            len(run.trials),
        )
        assert () == run.defects
    replayed = [run for run in runs.values() if run.product == "tau-bench-airline"]
    assert [50, 50, 50, 50] == [len(run.trials) for run in replayed]


@pytest.mark.parametrize("name", ["trials.jsonl", "evals.csv"])
def test_a_file_of_too_many_records_is_read_in_no_part(name: str) -> None:
    """Half a million tiny records fill any memory, and the one left out may be the one that failed."""
    found = _read({name: "id\n" + "1\n" * 500_001, "run.yaml": "run_time: 2026-11-28\n"})
    assert isinstance(found, NotARun)
    assert ("quarantined", "too_large") == (found.disposition, found.reason)
    assert f"{name} has more than 500000 records" in found.message
