"""Grow a runs root of any size from real run directories: `python scripts/grow.py DEST --directories 2000`.

A grown directory is a copy of its source with a run id and a run date of its own, everywhere they occur, and as many
bytes. Its files are as old as its run. The same arguments give the same names and bytes, on any machine.

EvalBench directories (by default the four real samples) are cut to `--trials` scenarios in `evals.csv` and
`scores.csv`; `summary.csv` still speaks of the whole run, which no decision reads. For cheap runs that pass, grow from
trial records; one a day for thirty days is
`grow(dest, 30, 30, date(2026, 11, 30), [root / "include/samples/runs/inversion-stable-v1"])`. All their moments are
moved by whole days, so that a wait that was valid stays so; decide them with `include/samples/routing.yaml`.
"""

import argparse
import csv
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import yaml

SAMPLES = Path(__file__).resolve().parent.parent / "include" / "samples" / "runs"
REAL = [
    SAMPLES / "63258d1c-1a4e-45c0-ba68-94fc5a0f6004",
    SAMPLES / "49e5b728-f934-4e6b-9ced-70b5db228928",
    SAMPLES / "4feb5ba7-eb25-4a14-9a87-1e906bfb667c",
    SAMPLES / "5267e834-a74b-4172-90d4-4de66990f29a",
]
TRIAL_COLUMN = {"evals.csv": "eval_id", "scores.csv": "id"}
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d(?=[T ]\d\d:\d\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A directory to copy. run_time: as it is written there. candidate: of trial records, None in EvalBench files."""

    run_id: str
    run_time: str
    candidate: str | None
    files: Mapping[str, bytes]


def grow(
    dest: Path,
    directories: int,
    days: int,
    last_date: date,
    sources: Sequence[Path],
    *,
    trials: int | None = None,
    candidate: str | None = None,
) -> list[Path]:
    """Write run directories below `dest`, one date after the other over the `days` that end with `last_date`.

    Each date takes the sources in turn. trials: keep the first so many scenarios of EvalBench directories, None: all.
    candidate: another name for the candidate of trial records. Raises ValueError for a source that is no run and for
    numbers below 1, FileExistsError for a directory that is there already. Returns the directories by position.
    """
    if min(directories, days, len(sources)) < 1 or (trials is not None and trials < 1):
        raise ValueError("directories, days, sources and trials are at least 1")
    known = [read_source(path, trials) for path in sources]
    first = last_date - timedelta(days=days - 1)
    grown = []
    for position in range(directories):
        lap, day = divmod(position, days)
        source = known[(lap + day) % len(known)]
        grown.append(_write_copy(dest, source, position, first + timedelta(days=day), candidate))
    return grown


def read_source(path: Path, trials: int | None) -> Source:
    """A source with its files, EvalBench's cut to `trials` scenarios. Raises ValueError when it is no run."""
    files = {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()}
    if "configs.csv" in files:
        head = next(csv.DictReader(io.StringIO(files["configs.csv"].decode())))
        if trials is not None:
            files |= {name: first_scenarios(files[name], column, trials) for name, column in TRIAL_COLUMN.items()}
        return Source(run_id=head["job_id"], run_time=head["run_time"], candidate=None, files=files)
    run = yaml.safe_load(files.get("run.yaml", b"")) or {}
    try:
        return Source(run_id=run["run_id"], run_time=str(run["run_time"]), candidate=run["candidate"], files=files)
    except KeyError as missing:
        raise ValueError(f"{path}: no configs.csv, and no {missing} in a run.yaml; give a whole run") from missing


def first_scenarios(data: bytes, column: str, count: int) -> bytes:
    """The rows of a CSV file about its first `count` scenarios, byte for byte. `column` names the scenario."""
    lines = io.StringIO(data.decode(), newline="\n").readlines()
    rows = csv.reader(lines)
    where = next(rows).index(column)
    end = rows.line_num
    scenarios: set[str] = set()
    for row in rows:
        scenarios.add(row[where])
        if len(scenarios) > count:
            break
        end = rows.line_num
    return "".join(lines[:end]).encode()


def _write_copy(dest: Path, source: Source, position: int, day: date, candidate: str | None) -> Path:
    name = str(uuid5(NAMESPACE_OID, f"{source.run_id}/{candidate or ''}/{position}"))
    folder = dest / name
    folder.mkdir(parents=True)
    started = datetime.combine(day, datetime.fromisoformat(source.run_time).time(), tzinfo=UTC).timestamp()
    for file, data in source.files.items():
        path = folder / file
        path.write_bytes(_moved(source, data.decode().replace(source.run_id, name), day, candidate).encode())
        os.utime(path, (started, started))
    os.utime(folder, (started, started))
    return folder


def _moved(source: Source, text: str, day: date, candidate: str | None) -> str:
    """The text on another date: in trial records every moment, in EvalBench files only the run's own."""
    if source.candidate is None:
        return text.replace(source.run_time, f"{day}{source.run_time[10:]}")
    by = day - date.fromisoformat(source.run_time[:10])
    text = MOMENT.sub(lambda found: str(date.fromisoformat(found[0]) + by), text)
    if candidate is None:
        return text
    return re.sub(rf'\b(candidate"?: "?){re.escape(source.candidate)}\b', rf"\g<1>{candidate}", text)


def main() -> int:
    """Grow a root as the command line says and tell what it became."""
    parser = argparse.ArgumentParser(description="Grow a runs root from real run directories.")
    parser.add_argument("dest", type=Path, metavar="DEST", help="the runs root; made when it isn't there")
    parser.add_argument("--directories", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--days", type=int, default=30, help="over how many run dates (30)")
    parser.add_argument("--last-date", type=date.fromisoformat, default=date(2026, 11, 30), help="(2026-11-30)")
    parser.add_argument("--source", type=Path, nargs="+", default=REAL, help="what to copy (the four real samples)")
    parser.add_argument("--trials", type=int, default=10, help="scenarios kept of EvalBench directories (10)")
    parser.add_argument("--candidate", help="another candidate for trial records")
    given = parser.parse_args()
    count, days, last = given.directories, given.days, given.last_date
    try:
        grown = grow(given.dest, count, days, last, given.source, trials=given.trials, candidate=given.candidate)
    except (ValueError, OSError) as error:
        print(f"grow: {error}", file=sys.stderr)
        return 1
    size = sum(file.stat().st_size for folder in grown for file in folder.iterdir())
    print(f"{given.dest}: {len(grown)} run directories, {size / 1e6:.1f} MB, {days} dates up to {last}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
