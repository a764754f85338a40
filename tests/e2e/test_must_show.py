"""What the project promises, shown as a user would see it: the installed command over the shipped samples."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

CLOCK = "2026-12-02T06:00:00Z"
REPLAYED = {  # run id: goal_completion passed, judged, unavailable
    "63258d1c-1a4e-45c0-ba68-94fc5a0f6004": (21, 49, 1),
    "49e5b728-f934-4e6b-9ced-70b5db228928": (22, 49, 1),
    "4feb5ba7-eb25-4a14-9a87-1e906bfb667c": (20, 49, 1),
    "5267e834-a74b-4172-90d4-4de66990f29a": (21, 48, 2),
}
OUTSIDE_THE_PROMISE = ("_ops/", "index/", "commits/", "trends/run_states/", "trends/accounting/")
SECRET = "PLANTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One call of the command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """stdout, which is one JSON document."""
        return json.loads(self.out)


def evalbench(*arguments: object) -> Said:
    """The installed command, in a process of its own, on a morning after the samples' dates."""
    done = subprocess.run(
        [Path(sys.executable).parent / "evalbench", *map(str, arguments)],
        env=os.environ | {"EVALBENCH_CLOCK": CLOCK, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return Said(code=done.returncode, out=done.stdout, err=done.stderr)


def files(lake: Path) -> dict[str, bytes]:
    """The files of a lake whose bytes are promised."""
    found = {path.relative_to(lake).as_posix(): path for path in sorted(lake.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(OUTSIDE_THE_PROMISE)}


def decisions(said: Said) -> dict[str, Any]:
    """A document's decisions by candidate."""
    return {decision["candidate"]: decision for decision in said.document["decisions"]}


@pytest.fixture(scope="module")
def sample_routing(root: Path) -> Path:
    """The samples' routing."""
    return root / "include" / "samples" / "routing.yaml"


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, sample_runs: Path, sample_routing: Path) -> tuple[Path, Said]:
    """(lake, what was said) of `evalbench run include/samples/runs --routing … --json`; to be read only."""
    lake = tmp_path_factory.mktemp("night") / "lake"
    return lake, evalbench("run", sample_runs, "--routing", sample_routing, "--lake", lake, "--json")


@pytest.fixture
def lake(night: tuple[Path, Said], tmp_path: Path) -> Path:
    """A copy of that lake."""
    return Path(shutil.copytree(night[0], tmp_path / "lake"))


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory, sample_runs: Path, root: Path) -> tuple[Path, Said]:
    """(lake, what was said) over the four replayed directories alone, under the shipped routing and their policy."""
    place = tmp_path_factory.mktemp("replayed")
    for name in REPLAYED:
        shutil.copytree(sample_runs / name, place / "runs" / name)
    policy = root / "include" / "samples" / "tau_bench_policy.yaml"
    return place / "lake", evalbench("run", place / "runs", "--policy", policy, "--lake", place / "lake", "--json")


# -- the release inversion ---------------------------------------------------------------------------------------

INVERSION = {
    # candidate: decision, quality, progress, effects, cost per verified, per run, false success, unverified
    "stable-v1": ("PASS", "0.818 (4/4)", "14/14", "5/5", "$0.52", "$0.41", "0/4", 0),
    "fast-v2": ("FAIL", "0.902 (5/5)", "15/16", "4/5", "$0.63", "$0.38", "1/5", 1),
}


@pytest.mark.parametrize("candidate", INVERSION)
def test_the_release_inversion_to_the_digit(night: tuple[Path, Said], candidate: str) -> None:
    """The published table, from the JSON document alone."""
    found = decisions(night[1])[candidate]
    signals = found["signals"]
    quality, cost = signals["task_quality"], signals["cost_per_verified_outcome"]
    completed = found["funnel"]["ended"] - found["funnel"]["waiting"]

    def count(name: str) -> str:
        return f"{signals[name]['numerator']:g}/{signals[name]['denominator']}"

    assert INVERSION[candidate] == (
        found["decision"],
        f"{quality['value']:.3f} ({quality['denominator']}/{completed})",
        count("useful_progress"),
        count("effect_integrity"),
        f"${cost['value']:.2f}",
        f"${cost['numerator'] / found['funnel']['planned']:.2f}",
        count("false_success"),
        signals["false_success"]["unverified"],
    )


def test_the_better_looking_candidate_is_held_by_what_is_proven(night: tuple[Path, Said]) -> None:
    """fast-v2: every stage before the comparison fired, only false success is proven, and it alone decides."""
    fast = decisions(night[1])["fast-v2"]
    fired = [check for check in fast["checks"] if check["fired"]]
    assert ["coverage", "false_success", "unknown_effects", "floor"] == [
        kind for kind, _ in itertools.groupby(check["name"].partition(".")[0] for check in fired)
    ]
    assert ["false_success"] == [check["name"] for check in fired if check["proven"]]
    assert ("coverage.verdicts", "false_success") == (fast["first_reason"], fast["decided_by"])
    assert [{"run_id": "inversion-fast-v2", "task_id": "t4", "trial": 0}] == [
        {key: trial[key] for key in ("run_id", "task_id", "trial")}
        for check in fired
        if check["proven"]
        for trial in check["trials"]
        if not trial["missing"]
    ]
    budget = next(check for check in fired if check["name"] == "floor.budget")
    assert (0.4725, 0.63, 0.6, False) == (budget["best"], budget["worst"], budget["limit"], budget["proven"])
    assert "t4" in fast["flip"]
    assert [] == [check["name"] for check in decisions(night[1])["stable-v1"]["checks"] if check["fired"]]


def test_the_exit_code_says_the_worst(
    night: tuple[Path, Said], replayed: tuple[Path, Said], sample_routing: Path
) -> None:
    """3 for any FAIL, 4 for missing evidence alone, 0 for PASS; stdout stays one document, stderr stays empty."""
    lake = night[0]
    traps = ("--until", "2026-11-27")
    stable = ("--candidate", "stable-v1")
    assert (3, "") == (night[1].code, night[1].err)
    assert (3, "") == (replayed[1].code, replayed[1].err)
    assert 0 == evalbench("gate", "--lake", lake, "--routing", sample_routing, *stable, "--json").code
    assert 4 == evalbench("gate", "--lake", lake, "--routing", sample_routing, *traps, "--json").code


# -- the replayed runs -------------------------------------------------------------------------------------------


def test_the_replayed_runs_by_comparator(replayed: tuple[Path, Said]) -> None:
    """84 passed of 195 judged, 5 unavailable; per run 21, 22, 20, 21; trajectories 38.921 with 20 of 200 at 100."""
    runs = {run["run_id"]: run["metrics"] for run in replayed[1].document["runs"]}
    goals = {
        run_id: (goal["passed"], goal["denominator"], goal["unavailable"])
        for run_id, metrics in runs.items()
        for goal in [metrics["goal_completion"]]
    }
    assert REPLAYED == goals
    assert (84, 195, 5) == tuple(sum(column) for column in zip(*goals.values(), strict=True))
    trajectories = [metrics["trajectory_matcher"] for metrics in runs.values()]
    rows = sum(metric["denominator"] for metric in trajectories)
    assert "38.921" == f"{sum(metric['numerator'] for metric in trajectories) / rows:.3f}"
    assert (20, 200) == (sum(metric["passed"] for metric in trajectories), rows)


def test_the_replayed_runs_under_their_policy(replayed: tuple[Path, Said]) -> None:
    """One subject over four runs: FAIL, false success proven, on a word that is shown; pass^1..4 at both ends."""
    (found,) = replayed[1].document["decisions"]
    assert ("FAIL", "false_success", "tau_airline", 4) == (
        found["decision"],
        found["decided_by"],
        found["suite"],
        len(found["runs"]),
    )
    assert "false_success" in {check["name"] for check in found["checks"] if check["proven"]}
    assert ["goal_completion"] == [text.partition(":")[0] for text in found["attested"]]
    lower, upper = ([f"{found['pass_hat_k'][k][end]:.4f}" for k in ("1", "2", "3", "4")] for end in ("lower", "upper"))
    assert (["0.4200", "0.2733", "0.2200", "0.2000"], ["0.4450", "0.2867", "0.2250", "0.2000"]) == (lower, upper)


def test_the_replayed_runs_under_the_default_policy(replayed: tuple[Path, Said]) -> None:
    """A judge is no destination check: nothing is proven, nothing attested, exit code 4."""
    said = evalbench("gate", "--lake", replayed[0], "--json")
    (found,) = said.document["decisions"]
    assert (4, "INSUFFICIENT_EVIDENCE", []) == (said.code, found["decision"], found["attested"])
    assert [] == [check["name"] for check in found["checks"] if check["proven"]]


def test_no_general_score_without_its_components(replayed: tuple[Path, Said]) -> None:
    """Null, and the two that are missing by name: in the document and on the page of `score`."""
    expected = {"value": None, "missing": ["behavioral_metrics", "parameter_analysis"]}
    for run in replayed[1].document["runs"]:
        assert expected == {name: run["general_score"][name] for name in expected}
    page = evalbench("score", replayed[0].parent / "runs" / next(iter(REPLAYED)))
    assert 0 == page.code
    assert "no row of behavioral_metrics, parameter_analysis" in " ".join(page.out.split())


# -- the same bytes ----------------------------------------------------------------------------------------------


def test_running_twice_changes_no_byte_and_rescores_nothing(
    night: tuple[Path, Said], lake: Path, sample_runs: Path, sample_routing: Path
) -> None:
    """The same answer and exit code; every run unchanged; no promised file written, let alone changed."""
    before = files(lake)
    times = {name: (lake / name).stat().st_mtime_ns for name in before}
    said = evalbench("run", sample_runs, "--routing", sample_routing, "--lake", lake, "--json")
    first, second = night[1].document, said.document
    assert (night[1].code, first["decisions"], first["runs"]) == (said.code, second["decisions"], second["runs"])
    assert (13, 0) == (first["accounting"]["scored"], first["accounting"]["unchanged"])
    assert (0, 13) == (second["accounting"]["scored"], second["accounting"]["unchanged"])
    assert before == files(lake)
    assert times == {name: (lake / name).stat().st_mtime_ns for name in before}


def test_neither_the_order_nor_the_age_of_directories_matters(
    night: tuple[Path, Said], sample_runs: Path, sample_routing: Path, tmp_path: Path
) -> None:
    """Copied in another order, with other times, scored two at a time: the same document, the same bytes."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    runs.mkdir()
    names = sorted((path.name for path in sample_runs.iterdir()), key=lambda name: (name[::-1], name))
    for age, name in enumerate(names):
        source = sample_runs / name
        copied = shutil.copytree(source, runs / name) if source.is_dir() else Path(shutil.copy(source, runs / name))
        inside = copied.iterdir() if source.is_dir() else ()
        for path in (*inside, copied):
            os.utime(path, (1_700_000_000 - age * 86_400, 1_700_000_000 - age * 86_400))
    said = evalbench("run", runs, "--routing", sample_routing, "--lake", lake, "--jobs", 2, "--json")
    assert (night[1].code, night[1].out) == (said.code, said.out)
    assert files(night[0]) == files(lake)


def test_deleted_partitions_come_back_byte_for_byte(lake: Path, sample_runs: Path, sample_routing: Path) -> None:
    """One date of every table is gone; what comes back is what was there, and nothing else is touched."""
    before = files(lake)
    gone = [name for name in before if re.fullmatch(r"trends/\w+/run_date=2026-11-28/part-0\.parquet", name)]
    assert 14 == len(gone)
    for name in gone:
        (lake / name).unlink()
    kept = {name: (lake / name).stat().st_mtime_ns for name in before if name not in gone}
    evalbench("run", sample_runs, "--routing", sample_routing, "--lake", lake, "--json")
    assert before == files(lake)
    assert kept == {name: (lake / name).stat().st_mtime_ns for name in kept}


# -- secrets -----------------------------------------------------------------------------------------------------


def test_the_planted_secrets_are_in_the_input(sample_runs: Path) -> None:
    """Else the next tests would show nothing."""
    text = b"".join(path.read_bytes() for path in (sample_runs / "trap-secrets").iterdir()).decode()
    assert 10 < text.count(SECRET)


def test_the_planted_secrets_are_nowhere_in_the_lake(night: tuple[Path, Said]) -> None:
    """Neither in raw bytes nor in any column or metadata of any Parquet file, `_ops` included."""
    tables = 0
    for path in sorted(night[0].rglob("*")):
        if path.is_dir():
            continue
        assert SECRET.encode() not in path.read_bytes(), path
        if path.suffix == ".parquet":
            tables += 1
            table = pq.read_table(path, partitioning=None)
            assert SECRET not in str(table.to_pylist()), path
            assert SECRET not in str(table.schema), path
    assert 60 < tables


def test_the_planted_secrets_are_nowhere_in_the_output(
    night: tuple[Path, Said], sample_runs: Path, sample_routing: Path, tmp_path: Path
) -> None:
    """Whatever verb is asked, for people or as JSON, about the run or about the tables."""
    trap, lake = sample_runs / "trap-secrets", night[0]
    gate = ("gate", "--lake", lake, "--routing", sample_routing)
    asked = [night[1]]
    asked += [evalbench(*verb) for verb in (("doctor", trap), ("doctor", trap, "--json"), ("score", trap, "--json"))]
    asked += [evalbench(*gate), evalbench("run", sample_runs, "--lake", tmp_path / "lake")]
    tables = sorted(path.name for path in (lake / "trends").iterdir())
    everything = [f"SELECT * FROM {table}" for table in tables]
    asked += [evalbench("query", "--lake", lake, "--format", "json", sql) for sql in everything]
    for said in asked:
        assert said.out
        assert SECRET not in said.out + said.err


# -- two commands ------------------------------------------------------------------------------------------------


def test_make_run_ends_by_itself_and_says_what_enforce_held(root: Path, tmp_path: Path) -> None:
    """The DAG in Airflow over the samples: exit code 0, and the page names decisions, accounting, tables and queries.

    `make run` is set-up and this script; here it runs in a copy, so that the working tree's `var/` stays as it is.
    """
    for name in ("dags", "plugins", "scripts"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "include").symlink_to(root / "include")
    done = subprocess.run(
        [sys.executable, tmp_path / "scripts" / "nightly.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "The pipeline completed; enforce held 9 of 10 decisions" in said
    assert "fast-v2 (false_success)" in said[said.index("enforce held") :]
    assert "stable-v1" not in said[said.index("enforce held") :]
    for words in (
        "FAIL fast-v2",
        "PASS stable-v1",
        "Accounting",
        "15 listed = 13 scored",
        "evalbench query",
        "var/lake",
    ):
        assert words in said
    assert (tmp_path / "var" / "lake" / "trends" / "decisions").is_dir()
    assert SECRET not in (tmp_path / "var" / "nightly.log").read_text("utf-8") + done.stdout + done.stderr


def test_the_worked_numbers_are_exact(night: tuple[Path, Said]) -> None:
    """Sums are decimals: what the document says divides to what it says, without a float's tail."""
    for decision in night[1].document["decisions"]:
        for name, signal in decision["signals"].items():
            if signal["denominator"] and signal["value"] is not None:
                exact = Fraction(str(signal["numerator"])) / Fraction(str(signal["denominator"]))
                assert float(exact) == pytest.approx(signal["value"], rel=1e-12), name
