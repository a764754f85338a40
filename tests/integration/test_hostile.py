"""Hostile input through the command line: it costs one directory at most, never a traceback, a hang or a lost row."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalbench.cli import main

CLOCK = "2026-12-02T06:00:00Z"
OUTSIDE_THE_PROMISE = ("_ops/", "index/", "commits/", "trends/run_states/", "trends/accounting/")
SECONDS = 120

RECORD: dict[str, Any] = {
    "task_id": "t1", "trial": 0, "status": "completed", "declared_complete": True,
    "outcome": {
        "state": "verified", "predicate": "order exists", "evidence": "row 1",
        "verifier": {"kind": "deterministic", "name": "probe"},
    },
    "progress": {"windows": [{"state": "active", "delta": True, "evidence": "row 1"}]},
    "tools": {"called": [{"name": "shop__order", "args": {}, "status": "success"}]},
    "effects": [{
        "id": "e1", "tool": "shop__order", "destination": "orders", "idempotency_key": "t1", "state": "verified",
        "evidence": "row 1",
    }],
    "cost": {"usd": 0.4, "state": "billed"},
}  # fmt: skip


def evalbench(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a process of its own, which must end by itself."""
    return subprocess.run(
        [Path(sys.executable).parent / "evalbench", *map(str, arguments)],
        env=os.environ | {"EVALBENCH_CLOCK": CLOCK} | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def run(runs: Path, lake: Path, *options: object, **env: str) -> dict[str, Any]:
    """The report of `evalbench run`; a decision of any kind, never a failed pipeline."""
    done = evalbench("run", runs, "--lake", lake, "--grace-hours", 0, "--json", *options, **env)
    assert done.returncode in (0, 3, 4), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def write_run(runs: Path, name: str, *records: dict[str, Any] | str, manifest: str = "") -> Path:
    """A run of these lines; without any, of one good trial."""
    folder = runs / name
    folder.mkdir(parents=True)
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records or (RECORD,)]
    (folder / "trials.jsonl").write_text("".join(f"{line}\n" for line in lines))
    said = f'run_id: "{name}"\ncandidate: "{name}"\nproduct: shop\ndataset: orders\n'
    time = "" if "run_time" in manifest else "run_time: 2026-11-28T09:00:00Z\n"
    plan = "" if "planned" in manifest else "planned: {tasks: [t1]}\n"
    (folder / "run.yaml").write_text(f"{said}{time}{plan}{manifest}")
    return folder


def promised(lake: Path) -> dict[str, bytes]:
    """The files whose bytes are promised; nothing half-written among them."""
    found = {path.relative_to(lake).as_posix(): path.read_bytes() for path in lake.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.startswith(OUTSIDE_THE_PROMISE)}


def closes(accounting: dict[str, Any]) -> bool:
    """Whether every listed entry ended somewhere."""
    parts = [accounting[name] for name in ("scored", "unchanged", "out_of_range", "in_progress")]
    parts += [*accounting["quarantined"].values(), *accounting["ignored"].values()]
    return accounting["listed"] == sum(parts)


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "evals.csv")


def _endless(folder: Path) -> None:
    (folder / "evals.csv").symlink_to("/dev/zero")


def _loop(folder: Path) -> None:
    (folder / "evals.csv").symlink_to("evals.csv")


def _folder_for_a_file(folder: Path) -> None:
    (folder / "trials.jsonl").unlink()
    (folder / "trials.jsonl").mkdir()


def _manifest(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "run.yaml").write_text(text) and None


def _records(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "trials.jsonl").write_text(text) and None


WRONG = json.dumps({name: [{"a": [1]}] for name in RECORD} | {"task_id": "t1"})
CALM = 'run_id: "x"\ncandidate: "x"\nrun_time: 2026-11-28T09:00:00Z\n'
ATTACKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a pipe nobody writes to": ("scored", _fifo),
    "a link to an endless device": ("quarantined", _endless),
    "a link to itself": ("quarantined", _loop),
    "a folder named like a file": ("scored", _folder_for_a_file),
    "the last day of the calendar": ("quarantined", _manifest("run_time: 9999-12-31T23:59:59Z\n")),
    "the first day of the calendar": ("quarantined", _manifest("run_time: 0001-01-01T00:00:00Z\n")),
    "half a surrogate pair": (
        "scored",
        _manifest(CALM + r'product: "\ud800"' + "\nlabels: {" + r'"\udfff": "\ud800"}'),
    ),
    "a plan of ten billion trials": (
        "scored",
        _manifest(f"{CALM}planned: {{tasks: [{', '.join(f't{n}' for n in range(2000))}], trials: 100000}}\n"),
    ),
    "aliases that multiply": ("scored", _manifest("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n")),
    "a tag that calls": ("scored", _manifest("run_id: !!python/object/apply:os.getcwd []\n" + CALM.split("\n", 1)[1])),
    "nesting without end": ("quarantined", _records("[" * 100_000 + "\n")),
    "numbers without end": ("scored", _records(json.dumps(RECORD).replace("0.4", "1e999999999") + "\n")),
    "wrong types everywhere": ("scored", _records(WRONG)),
    "nothing but NUL": ("quarantined", _records("\0" * 1000)),
    "rows beyond memory": ("quarantined", _records("1\n" * 500_001)),
}


def test_every_attack_costs_its_own_directory_at_most(tmp_path: Path) -> None:
    """One bad directory beside good ones: it ends in a state, the good ones pass, the sum closes, twice is once."""
    runs, lake = tmp_path / "runs", tmp_path / "lake"
    write_run(runs, "good")
    for name, (_, spoil) in ATTACKS.items():
        spoil(write_run(runs, name))
    (runs / "ring").symlink_to(".")
    os.mkfifo(runs / "pipe")
    report = run(runs, lake)
    states = {"scored": len(report["runs"]), "quarantined": sum(report["accounting"]["quarantined"].values())}
    wanted = [state for state, _ in ATTACKS.values()]
    assert {"scored": 1 + wanted.count("scored"), "quarantined": wanted.count("quarantined")} == states
    assert {"link_inside_root": 1, "not_a_directory": 1} == report["accounting"]["ignored"]
    assert closes(report["accounting"])
    passed = [each["candidate"] for each in report["decisions"] if each["decision"] == "PASS"]
    assert ["a pipe nobody writes to", "good"] == passed  # a pipe holds no evidence, so it takes none away
    before = promised(lake)
    again = run(runs, lake)
    assert closes(again["accounting"])
    assert before == promised(lake)


@pytest.mark.parametrize("name", list(ATTACKS))
def test_doctor_and_score_answer_or_say_why_not(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person who asks about a hostile directory gets an answer or one line, and the exit code says which."""
    folder = write_run(tmp_path, "x")
    ATTACKS[name][1](folder)
    for verb in ("doctor", "score"):
        code = main([verb, str(folder), "--json"])
        said = capsys.readouterr()
        assert code in (0, 2), said.err
        assert isinstance(json.loads(said.out), dict)
        assert said.err.count("\n") <= 1


def test_a_lake_is_never_taken_for_runs(tmp_path: Path) -> None:
    """Whether it is the runs root itself or lies in it or in a run: nothing of it is scored, decisions stay."""
    for place in ("runs", "runs/lake", "runs/good/lake"):
        runs = tmp_path / place.replace("/", "-") / "runs"
        write_run(runs, "good")
        lake = runs.parent / place
        first, second = run(runs, lake), run(runs, lake)
        assert ["good"] == [each["run_id"] for each in second["runs"]]
        assert first["decisions"] == second["decisions"]
        assert closes(second["accounting"])
        assert {} == second["accounting"]["quarantined"]


def test_two_at_once_into_one_lake_give_the_bytes_of_one(tmp_path: Path) -> None:
    """Neither sees the other's half-written files, neither loses a run."""
    runs = tmp_path / "runs"
    for number in range(8):
        write_run(runs, f"run-{number}", manifest=f"run_time: 2026-11-{20 + number}T09:00:00Z\n")
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    run(runs, alone)
    command = [Path(sys.executable).parent / "evalbench", "run", runs, "--lake", shared, "--grace-hours", "0"]
    both = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"EVALBENCH_CLOCK": CLOCK})
        for _ in range(2)
    ]
    assert {0} == {process.wait(SECONDS) for process in both}
    assert promised(alone) == promised(shared)


def test_killed_anywhere_it_is_made_whole_by_the_next_run(tmp_path: Path) -> None:
    """SIGKILL after any number of files: the same command goes on, and the bytes are those of one quiet run."""
    runs, quiet, killed = tmp_path / "runs", tmp_path / "quiet", tmp_path / "killed"
    for number in range(4):
        write_run(runs, f"run-{number}")
    run(runs, quiet)
    whole = promised(quiet)
    script = (
        "import os, sys; from evalbench.storage import LocalStorage; from evalbench.cli import main\n"
        "left = [int(sys.argv.pop(1))]; sync = os.fsync\n"
        "def fsync(handle):\n"
        "    left[0] -= 1\n"
        "    if left[0] < 0: os.kill(os.getpid(), 9)\n"
        "    sync(handle)\n"
        "os.fsync = fsync; sys.exit(main())\n"
    )
    for files in (3, 12, 25, 40):
        shutil.rmtree(killed, ignore_errors=True)
        command = [sys.executable, "-c", script, str(files), "run", runs, "--lake", killed, "--grace-hours", "0"]
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
        assert -9 == done.returncode, (files, done.stderr)
        run(runs, killed)
        found = promised(killed)
        assert whole == {name: data for name, data in found.items() if "/.tmp-" not in name}


@pytest.mark.parametrize("env", [{"LC_ALL": "C"}, {"TZ": "Pacific/Kiritimati"}, {"PYTHONHASHSEED": "7"}])
def test_the_place_changes_no_byte(env: dict[str, str], tmp_path: Path) -> None:
    """Locale, time zone and hash seed of the process are nothing to the lake."""
    runs = tmp_path / "runs"
    write_run(runs, "größe 😀", RECORD | {"task_id": "tâche"})
    write_run(runs, "naive", manifest="run_time: 2026-11-28 23:30:00\n")
    here, there = tmp_path / "here", tmp_path / "there"
    assert run(runs, here) == run(runs, there, **env)
    assert promised(here) == promised(there)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "huge"])
def test_an_operator_file_is_a_small_regular_file(kind: str, tmp_path: Path) -> None:
    """Anything else could keep the caller waiting: it is refused in one line, as a usage error."""
    runs, policy = tmp_path / "runs", tmp_path / "policy.yaml"
    write_run(runs, "good")
    match kind:
        case "pipe":
            os.mkfifo(policy)
        case "device":
            policy.symlink_to("/dev/zero")
        case "folder":
            policy.mkdir()
        case _:
            policy.write_text("#" * 1_000_001)
    for option in ("--policy", "--routing"):
        done = evalbench("run", runs, "--lake", tmp_path / "lake", option, policy)
        assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
        assert "expected a regular file" in done.stderr


@pytest.mark.parametrize(
    "gone",
    [
        ("outcome",), ("outcome", "state"), ("outcome", "predicate"), ("outcome", "verifier"), ("effects",),
        ("declared_complete",), ("status",), ("progress",), ("cost",), ("tools",), ("trial",),
    ],
)  # fmt: skip
def test_evidence_taken_away_never_releases(gone: tuple[str, ...], tmp_path: Path) -> None:
    """A false success held by the gate stays held, whatever of its record is deleted."""
    bad = json.loads(json.dumps(RECORD | {"outcome": RECORD["outcome"] | {"state": "failed"}}))
    part = bad
    for key in gone[:-1]:
        part = part[key]
    del part[gone[-1]]
    write_run(tmp_path / "runs", "bad", bad, RECORD | {"task_id": "t2"}, manifest="planned: {tasks: [t1, t2]}\n")
    report = run(tmp_path / "runs", tmp_path / "lake")
    assert {"FAIL", "INSUFFICIENT_EVIDENCE"} >= {each["decision"] for each in report["decisions"]} != set()


def test_a_date_no_calendar_holds_is_one_line(tmp_path: Path) -> None:
    """SQL can make times that no format here can show."""
    write_run(tmp_path / "runs", "good")
    run(tmp_path / "runs", tmp_path / "lake")
    for form in ("table", "csv", "json"):
        done = evalbench("query", "--lake", tmp_path / "lake", "--format", form, "SELECT 'infinity'::TIMESTAMP AS t")
        assert 2 == done.returncode
        assert "cast it to VARCHAR" in done.stderr
