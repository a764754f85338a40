"""What a night costs on which nothing happened: `python -m benchmarks.quiet_night`.

The verbs of the DAG over a grown runs root into a new lake, then the same verbs the night after, then `evalbench run`
by hand, which decides everything again because it shows everything. The last two must open no run file and write no
object but those in which each execution tells of itself; the exit code is 1 when one does.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import Any

from scripts.grow import REAL, grow

ROOT = Path(__file__).resolve().parent.parent
AUDIT = Path(__file__).resolve().parent / "audit"
ROUTING = ROOT / "include" / "samples" / "routing.yaml"
DECIDED = {0, 3, 4}  # evalbench's exit codes for PASS, FAIL and INSUFFICIENT_EVIDENCE
LAST_DATE = date(2026, 11, 30)
DAYS = 30
TRIALS = 10
FIRST = (sys.executable, "-m", "benchmarks.night", "first", "2026-11-30")
QUIET = (sys.executable, "-m", "benchmarks.night", "quiet", "2026-12-01")
BY_HAND = (str(Path(sys.executable).parent / "evalbench"), "run", "--json")
OPERATIONS = ("_ops/", "trends/run_states/", "trends/accounting/")  # what every execution tells of itself

Objects = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What one command did. opened: run files. written: objects outside operations, written or removed."""

    wall: float
    cpu: float
    opened: frozenset[str]
    written: tuple[str, ...]
    accounting: Mapping[str, Any]

    def __str__(self) -> str:
        """In numbers."""
        did = f"{len(self.opened)} run files opened, {len(self.written)} objects written or removed"
        return f"{self.wall:.1f} s, {self.cpu:.1f} s of CPU; {did}"


def execute(command: Sequence[str], place: Path, clock: str) -> Execution:
    """Run a command over `place`, counting the run files that it and its workers open."""
    log = place / "opened"
    log.write_text("", encoding="utf-8")
    before, used, begun = objects(place / "lake"), cpu_of_children(), time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, env=environment(place, log, clock), capture_output=True, text=True, check=False
    )
    wall, cpu = time.perf_counter() - begun, cpu_of_children() - used
    if done.returncode not in DECIDED:
        raise SystemExit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stderr}")
    told = json.loads(done.stdout)
    after = objects(place / "lake")
    return Execution(
        wall=wall,
        cpu=cpu,
        opened=frozenset(log.read_text(encoding="utf-8").splitlines()),
        written=tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))),
        accounting=told.get("accounting", told),
    )


def environment(place: Path, log: Path, clock: str) -> dict[str, str]:
    """The caller's environment with settings of our own; every Python process in it keeps the audit log."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("EVALBENCH_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(AUDIT), kept.get("PYTHONPATH")))),
        "AUDIT_ROOT": str(place / "runs"),
        "AUDIT_LOG": str(log),
        "EVALBENCH_RUNS": str(place / "runs"),
        "EVALBENCH_LAKE": str(place / "lake"),
        "EVALBENCH_ROUTING": str(ROUTING),
        "EVALBENCH_CLOCK": clock,
    }


def objects(lake: Path) -> Objects:
    """The lake's objects outside operations: a name's identity, size and times change with every write."""
    files = {path.relative_to(lake).as_posix(): path.stat() for path in lake.rglob("*") if path.is_file()}
    kept = {name: info for name, info in files.items() if not name.startswith(OPERATIONS)}
    return {name: (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns) for name, info in kept.items()}


def cpu_of_children() -> float:
    """Seconds of CPU used by processes that were started here and have ended, and by theirs."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="The first night against a night on which nothing happened.")
    parser.add_argument("--directories", type=int, default=2000, help="run directories (2000)")
    count = parser.parse_args().directories
    with TemporaryDirectory(prefix="evalbench-quiet-") as made:
        place = Path(made).resolve()
        grown = grow(place / "runs", count, DAYS, LAST_DATE, REAL, trials=TRIALS)
        files = [file for directory in grown for file in directory.iterdir()]
        size = sum(file.stat().st_size for file in files)
        tell("runs root", f"{count} directories, {len(files)} files, {size / 1e6:.0f} MB, {DAYS} dates")
        first = execute(FIRST, place, "2026-12-01T02:00:00Z")
        tell("first night", str(first))
        quiet = execute(QUIET, place, "2026-12-02T02:00:00Z")
        tell("quiet night", str(quiet))
        by_hand = execute(BY_HAND, place, "2026-12-02T06:00:00Z")
        tell("by hand", str(by_hand))
    tell("ratio", f"{first.wall / quiet.wall:.1f} in time, {first.cpu / quiet.cpu:.1f} in CPU (first / quiet night)")
    found = [*faults(first, quiet, count, len(files)), *faults(first, by_hand, count, len(files))]
    for fault in sorted(set(found)):
        tell("FAULT", fault)
    return 1 if found else 0


def faults(first: Execution, later: Execution, directories: int, files: int) -> list[str]:
    """Why the measurement doesn't stand, or the later execution wasn't quiet."""
    found = []
    if (first.accounting["scored"], len(first.opened)) != (directories, files):
        found.append(f"first: {first.accounting['scored']} runs scored, {len(first.opened)} run files seen opened")
    if later.accounting["unchanged"] != directories:
        found.append(f"later: {later.accounting['unchanged']} runs unchanged")
    found += [f"later: opened {path}" for path in sorted(later.opened)[:3]]
    found += [f"later: wrote or removed {name}" for name in later.written[:3]]
    return found


def tell(what: str, text: str) -> None:
    """One line of the answer, at once."""
    print(f"{what:<12} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
