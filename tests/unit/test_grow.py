"""Grown run directories: what the benchmarks and the scheduler's tests run on."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from scripts.grow import REAL, grow

from evalbench.ledger import Run
from evalbench.metrics import Metric, run_metrics
from evalbench.pipeline import run as run_pipeline
from evalbench.readers.registry import read_directory
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.scoring import score_run
from evalbench.settings import Settings

CLOCK = datetime(2027, 6, 1, tzinfo=UTC)
LAST = date(2026, 11, 30)


def files_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(directory.iterdir())}


def read(directory: Path) -> Run:
    result = read_directory(
        Snapshot(path=directory.name, files=files_of(directory), newest_mtime=CLOCK), ReadOptions(now=CLOCK)
    )
    assert isinstance(result, Run)
    return result


def metrics(run: Run) -> dict[str, Metric]:
    return run_metrics(score_run(run).verdicts, {})


@pytest.fixture
def inversion(sample_runs: Path) -> Path:
    """A small run of trial records that passes."""
    return sample_runs / "inversion-stable-v1"


@pytest.mark.parametrize("source", REAL, ids=lambda path: path.name[:8])
def test_a_grown_directory_reads_like_its_source(source: Path, tmp_path: Path) -> None:
    """Run id, directory and date are its own; every trial, score and claim is the source's, in as many bytes."""
    copy = grow(tmp_path, 1, 1, date(2026, 11, 3), [source])[0]
    before, after = read(source), read(copy)
    assert copy.name == after.run_id != before.run_id
    assert UUID(after.run_id).version == 5
    assert datetime.combine(date(2026, 11, 3), before.run_time.timetz()) == after.run_time
    own = {name: getattr(before, name) for name in ("run_id", "run_key", "path", "content", "run_time")}
    assert before == replace(after, **own)
    assert metrics(before) == metrics(after)
    assert {name: len(data) for name, data in files_of(source).items()} == {
        name: len(data) for name, data in files_of(copy).items()
    }
    assert not [name for name, data in files_of(copy).items() if before.run_id.encode() in data]


def test_a_cut_directory_holds_the_first_scenarios_whole(tmp_path: Path) -> None:
    """The first four trials of the source, each with all its scores; nothing of the others."""
    copy = read(grow(tmp_path, 1, 1, LAST, REAL[:1], trials=4)[0])
    assert read(REAL[0]).trials[:4] == copy.trials
    assert ((), ()) == (copy.defects, copy.unattached)


def test_positions_go_round_the_dates_and_each_date_round_the_sources(tmp_path: Path) -> None:
    """Three dates, four sources, twelve directories: every date has every source once, and files as old as its run."""
    grown = grow(tmp_path, 12, 3, LAST, REAL, trials=1)
    runs = [read(directory) for directory in grown]
    days = [LAST - timedelta(days=2), LAST - timedelta(days=1), LAST]
    assert days * 4 == [run.run_date for run in runs]
    assert {(day, f"tau_airline_t{trial}.evalset.json"): 1 for day in days for trial in range(4)} == Counter(
        (run.run_date, run.dataset) for run in runs
    )
    assert [run.run_time.timestamp() // 1 for run in runs] == [
        (directory / "evals.csv").stat().st_mtime // 1 for directory in grown
    ]


def test_growing_again_gives_the_same_names_and_bytes(tmp_path: Path) -> None:
    """The position decides the id: no clock, no chance."""
    first = grow(tmp_path / "a", 5, 2, LAST, REAL, trials=2)
    again = grow(tmp_path / "b", 5, 2, LAST, REAL, trials=2)
    assert len({path.name for path in first}) == 5
    assert [(path.name, files_of(path)) for path in first] == [(path.name, files_of(path)) for path in again]


def test_grown_trial_records_pass_on_every_date_as_their_source_does(
    inversion: Path, tmp_path: Path, sample_runs: Path
) -> None:
    """One run a day, by the samples' routing: each PASS, before and after the source's date, whoever the candidate."""
    grow(tmp_path / "runs", 3, 3, date(2027, 1, 31), [inversion])
    grow(tmp_path / "runs", 2, 2, date(2026, 5, 1), [inversion], candidate="night-build")
    settings = Settings(
        runs=str(tmp_path / "runs"),
        lake=str(tmp_path / "lake"),
        routing=str(sample_runs.parent / "routing.yaml"),
        clock=CLOCK,
    )
    decisions = run_pipeline(settings)["decisions"]
    assert isinstance(decisions, list)
    assert [
        ("2026-04-30", "night-build", "PASS"),
        ("2026-05-01", "night-build", "PASS"),
        ("2027-01-29", "stable-v1", "PASS"),
        ("2027-01-30", "stable-v1", "PASS"),
        ("2027-01-31", "stable-v1", "PASS"),
    ] == sorted((one["date"], one["candidate"], one["decision"]) for one in decisions)


def test_what_cannot_be_grown_is_refused(inversion: Path, sample_runs: Path, tmp_path: Path) -> None:
    """A folder that is no run, a number below one, and a directory that is there already: nothing is overwritten."""
    with pytest.raises(ValueError, match=r"notes: no configs\.csv, and no 'run_id' in a run\.yaml"):
        grow(tmp_path, 1, 1, LAST, [sample_runs / "notes"])
    with pytest.raises(ValueError, match="at least 1"):
        grow(tmp_path, 1, 0, LAST, [inversion])
    there = grow(tmp_path, 1, 1, LAST, [inversion])[0]
    kept = files_of(there)
    with pytest.raises(FileExistsError, match=there.name):
        grow(tmp_path, 1, 1, date(2026, 1, 1), [inversion])
    assert kept == files_of(there)


def test_the_command_says_what_it_grew_or_why_not(root: Path, tmp_path: Path) -> None:
    """One line with number, size and dates; a second time the reason, and exit code 1."""
    command = [sys.executable, "scripts/grow.py", str(tmp_path / "runs"), "--directories", "4", "--days", "2"]
    first = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    again = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert f"{tmp_path}/runs: 4 run directories, 0.7 MB, 2 dates up to 2026-11-30\n" == first.stdout
    assert (1, "") == (again.returncode, again.stdout)
    assert again.stderr.startswith("grow: [Errno 17] File exists")
    assert 4 == len(list((tmp_path / "runs").iterdir()))
