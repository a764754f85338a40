"""Run the nightly DAG once, in a real local Airflow, over the sample runs; then show what it decided.

Everything it writes lands in `var/`: Airflow's home, the lake, the full log. Exit code 0 when the pipeline completed,
also when `enforce` then held a release, since the samples contain releases that must be held; anything else is 1.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from evalbench.cli.render import accounting_lines
from evalbench.cli.terminal import emit_page

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
VAR = ROOT / "var"
LAKE = VAR / "lake"
REPORTS = LAKE / "_ops" / "reports"
LOG = VAR / "nightly.log"
DAG_ID = "evalbench_nightly"
ROUTING = "include/samples/routing.yaml"
DATES = {"since": "2026-11-27", "until": "2026-11-30"}  # the samples' own
AFTER_THE_DATES = "2026-12-02T06:00:00Z"  # so that no sample day is still open, whatever today is
DECIDED = {0, 3, 4}  # evalbench's exit codes for PASS, FAIL and INSUFFICIENT_EVIDENCE
SHOWN_WHOLE = ("stable-v1", "fast-v2")  # the case this project exists for
HELD_NAMED = 3
BOARD = "SELECT decision, candidate, suite, run_date, decided_by FROM decisions ORDER BY run_date, candidate"
QUERIES = (
    "SELECT candidate, signal, numerator, denominator FROM signals ORDER BY ALL",
    "SELECT candidate, task_id, verified, failed FROM worst_tasks WHERE failed > 0 AND task_rank <= 3 ORDER BY ALL",
)

CREATED = re.compile(r"Created dag run\..*?: (?P<run_id>manual__[^,\s]+),")
ENDED = re.compile(r"\[DAG TEST\] end task task_id=(?P<task>\S+) map_index=(?P<index>-?\d+)")
MOVED = re.compile(r"Task instance state updated .*\bnew_state=(?P<state>\w+)")


def environment() -> dict[str, str]:
    """The caller's environment with its own Airflow and evalbench settings replaced by this run's."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("AIRFLOW", "EVALBENCH_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # it costs every Airflow command seconds
    return kept | {
        "AIRFLOW_HOME": str(VAR / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__LOGGING__COLORED_CONSOLE_LOG": "False",
        "EVALBENCH_RUNS": str(ROOT / "include" / "samples" / "runs"),
        "EVALBENCH_LAKE": str(LAKE),
        "EVALBENCH_ROUTING": str(ROOT / ROUTING),
        "EVALBENCH_GRACE_HOURS": "0",
        "EVALBENCH_TRANSCRIPT_DAYS": "30",
        "EVALBENCH_CLOCK": AFTER_THE_DATES,
    }


def airflow(*arguments: str) -> subprocess.Popen[str]:
    """One Airflow command, standard output and error as one stream of lines."""
    return subprocess.Popen(
        [BIN / "airflow", *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def follow(process: subprocess.Popen[str]) -> tuple[int, str | None]:
    """Append the command's lines to the log and print the Airflow tasks as they finish: (exit code, DAG run id)."""
    run_ids: list[str] = []
    for (state, task), instances in groupby(ended_tasks(process.stdout or (), run_ids)):
        count = sum(1 for _ in instances)
        print(f"  {state:<8} {task}" + (f" ({count} times)" if count > 1 else ""), flush=True)
    return process.wait(), run_ids[-1] if run_ids else None


def ended_tasks(lines: Iterable[str], run_ids: list[str]) -> Iterator[tuple[str, str]]:
    """(state, Airflow task) of each task instance that ends, in that order. The DAG run's id goes into `run_ids`."""
    state = "?"
    with LOG.open("a", encoding="utf-8") as log:
        for line in lines:
            log.write(line)
            if created := CREATED.search(line):
                run_ids.append(created["run_id"])
            elif moved := MOVED.search(line):
                state = moved["state"]
            elif ended := ENDED.search(line):
                yield state, ended["task"]


def unfinished_tasks(run_id: str) -> list[str]:
    """The Airflow tasks of a DAG run that neither succeeded nor were skipped, as Airflow's own command tells it."""
    arguments = ("tasks", "states-for-dag-run", DAG_ID, run_id, "--output", "json")
    told = subprocess.run(
        [BIN / "airflow", *arguments], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    rows = json.loads(told.stdout[told.stdout.index("[{") :])
    return sorted({row["task_id"] for row in rows if row["state"] not in {"success", "skipped"}})


def held(report: Mapping[str, Any]) -> list[str]:
    """The releases a report holds, proven ones first: `fast-v2 (false_success)`."""
    found = [one for one in report["decisions"] if one["decision"] != "PASS" and not one["provisional"]]
    found.sort(key=lambda one: (one["decision"] != "FAIL", one["candidate"] not in SHOWN_WHOLE))
    return [f"{one['candidate']} ({one['decided_by']})" for one in found]


def holds(report: Mapping[str, Any]) -> str:
    """`enforce held 9 of 10 decisions, as these samples should: fast-v2 (false_success), … and 6 more`."""
    names = held(report)
    more = f" and {len(names) - HELD_NAMED} more" if len(names) > HELD_NAMED else ""
    named = ", ".join(names[:HELD_NAMED]) + more
    return f"enforce held {len(names)} of {len(report['decisions'])} decisions, as these samples should: {named}"


def unaccounted(accounting: Mapping[str, Any]) -> int:
    """Run directories listed without ending up in a state, or lost on the way to one."""
    quarantined: Mapping[str, int] = accounting["quarantined"]
    ended: int = sum(accounting[state] for state in ("scored", "unchanged", "out_of_range", "in_progress"))
    ended += sum(quarantined.values()) + sum(accounting["ignored"].values())
    listed: int = accounting["listed"]
    return abs(listed - ended) + quarantined.get("task_lost", 0)


def problem(exit_code: int, unfinished: Iterable[str], report: Mapping[str, Any] | None) -> str | None:
    """Why the pipeline did not complete, or None when it did: `enforce` may fail, but only to hold a release."""
    if report is None:
        return "the DAG run left no report, so nothing was published"
    if lost := unaccounted(report["accounting"]):
        return f"{lost} run directories are not accounted for"
    if others := [task for task in unfinished if task != "enforce"]:
        return f"these Airflow tasks did not succeed: {', '.join(others)}"
    if exit_code != 0 and not held(report):
        return "the DAG run failed although no release is held"
    return None


def reports() -> dict[Path, int]:
    """The reports in the lake and when each was last written."""
    return {path: path.stat().st_mtime_ns for path in REPORTS.glob("*.json")}


def evalbench(*arguments: str, clock: bool = False) -> int:
    """Show a command as it can be typed, run it, and return its exit code. clock: it depends on what time it is."""
    prefix = f"EVALBENCH_CLOCK={AFTER_THE_DATES} " if clock else ""
    print(f"\n$ {prefix}.venv/bin/evalbench {shlex.join(arguments)}", flush=True)
    return subprocess.run([BIN / "evalbench", *arguments], cwd=ROOT, env=environment(), check=False).returncode


def may_ship(report: Mapping[str, Any]) -> int:
    """Say first what a reader wants to know: what may ship. 0, as every part of the page that could be shown."""
    passed = [f"{one['candidate']} ({one['suite']})" for one in report["decisions"] if one["decision"] == "PASS"]
    print(f"\nMay ship: {', '.join(passed) or 'nothing'}. Held: {len(held(report))} of {len(report['decisions'])}.")
    return 0


def show(report: Mapping[str, Any]) -> bool:
    """Print the decisions, the accounting, where the tables are and how to ask them; whether all could be shown."""
    lake = str(LAKE.relative_to(ROOT))
    whole = [part for name in SHOWN_WHOLE for part in ("--candidate", name)]
    codes = (
        evalbench("query", "--lake", lake, BOARD),
        may_ship(report),
        evalbench("gate", "--lake", lake, "--routing", ROUTING, *whole, clock=True),
    )
    print()
    emit_page(*accounting_lines(report))
    print("\nMore to ask the tables:")
    for sql in QUERIES:
        print(f"  .venv/bin/evalbench query --lake {lake} {shlex.quote(sql)}")
    print(f"To look at, and to pass on:\n  .venv/bin/evalbench report --lake {lake} -o report.html")
    print("  make up      (Airflow with the page Evaluations; README.md, Beside a scheduler)")
    print("These were the samples, as if it were 2026-12-02 06:00 UTC, when every sample day is over. Your own runs:")
    print("  .venv/bin/evalbench run RUNS --lake LAKE      (README.md, Point it at your runs)")
    print(f"Full log: {LOG.relative_to(ROOT)}")
    return all(code in DECIDED for code in codes)


def main() -> int:
    """Migrate Airflow's database, run the DAG, print what it decided."""
    VAR.mkdir(exist_ok=True)
    LOG.write_text("", encoding="utf-8")
    print("Airflow: preparing its database", flush=True)
    exit_code, _ = follow(airflow("db", "migrate"))
    if exit_code != 0:
        print(f"airflow db migrate failed, see {LOG.relative_to(ROOT)}")
        return 1
    before = reports()
    print(f"Airflow: {DAG_ID}, run dates {DATES['since']} to {DATES['until']}", flush=True)
    exit_code, run_id = follow(airflow("dags", "test", DAG_ID, "--conf", json.dumps(DATES)))
    if run_id is None:
        print(f"Airflow started no DAG run, see {LOG.relative_to(ROOT)}")
        return 1
    written = [path for path, when in reports().items() if before.get(path) != when]
    report = json.loads(written[0].read_text(encoding="utf-8")) if len(written) == 1 else None
    shown = report is None or show(report)
    if reason := problem(exit_code, unfinished_tasks(run_id), report):
        print(f"\nThe pipeline failed: {reason}. See {LOG.relative_to(ROOT)}")
        return 1
    if not shown:
        print("\nThe pipeline completed, but its decisions could not be read back from the lake.")
        return 1
    kept = "" if report is None or exit_code == 0 else f"; {holds(report)}"
    print(f"\nThe pipeline completed{kept}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
