"""How long a summary's prompt is, beside the reference way: `python -m benchmarks.prompt_size`.

The reference way puts the head of `evals.csv` and of `scores.csv` into the prompt as a table of text: 500 rows, 500
characters of a cell, 200,000 characters at most. Ours holds instructions and the digest. Both are counted in
characters, for each sample run. The exit code is 1 unless ours is at most an eighth in total, and for each run whose
reference way is long enough to cost something. Runs that the reference way can't read count nothing on its side and in
full on ours.

`packed` is the reference with each run of spaces as one, since padding costs few tokens; it decides nothing.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from evalbench.ledger import Run
from evalbench.readers.assemble import read_run
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.scoring import score_run
from evalbench.summaries.digest import digest_of
from evalbench.summaries.prompt import build_prompt

INCLUDE = Path(__file__).resolve().parent.parent / "include"
TEMPLATE = INCLUDE / "prompts" / "run_summary_v1.md"
LATER = datetime(2027, 1, 1, tzinfo=UTC)
ROWS, CELL, MOST = 500, 500, 200_000
AT_MOST_AN = 8
MATTERS = 50_000  # characters of the reference way below which a prompt costs next to nothing either way


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Characters of both ways for one run; the reference way's are None where it can't read the directory."""

    name: str
    ours: int
    reference: int | None
    packed: int | None

    @property
    def times(self) -> float:
        """How many of our prompts fit into the reference one."""
        return (self.reference or 0) / self.ours


def sizes(runs: Path, template: str) -> Iterator[Size]:
    """Every run directory below `runs`, by name."""
    for directory in sorted(path for path in runs.iterdir() if path.is_dir()):
        run = read(directory)
        if run is not None:
            prompt = build_prompt(template, digest_of(score_run(run)))
            text = reference(directory)
            yield Size(
                name=directory.name,
                ours=len(prompt.system) + len(prompt.user),
                reference=None if text is None else len(text),
                packed=None if text is None else len(re.sub(" {2,}", " ", text)),
            )


def read(directory: Path) -> Run | None:
    """The run in a directory, None when it holds none."""
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    snapshot = Snapshot(path=directory.name, files=files, newest_mtime=LATER)
    found = read_run(snapshot, ReadOptions(now=LATER, grace=timedelta(0)))
    return found if isinstance(found, Run) else None


def reference(directory: Path) -> str | None:
    """Both heads as text."""
    try:
        return (head(directory / "evals.csv") + head(directory / "scores.csv"))[:MOST]
    except (FileNotFoundError, pd.errors.ParserError):
        return None


def head(path: Path) -> str:
    """The first rows of a CSV file as a table of text."""
    return pd.read_csv(path).head(ROWS).to_string(max_colwidth=CELL)


def main() -> int:
    """Measure, print, and say whether the prompts keep to their share."""
    found = list(sizes(INCLUDE / "samples" / "runs", TEMPLATE.read_text(encoding="utf-8")))
    total = Size(
        name="in total",
        ours=sum(each.ours for each in found),
        reference=sum(each.reference or 0 for each in found),
        packed=sum(each.packed or 0 for each in found),
    )
    print(f"{'run':<38} {'reference':>10} {'packed':>10} {'ours':>8} {'times':>6}")
    for each in (*found, total):
        theirs = " ".join(f"{'-' if size is None else f'{size:,}':>10}" for size in (each.reference, each.packed))
        print(f"{each.name:<38} {theirs} {each.ours:>8,} {each.times:>6.1f}")
    long = [each for each in (*found, total) if (each.reference or 0) >= MATTERS and each.times < AT_MOST_AN]
    for each in long:
        print(f"FAULT {each.name}: {each.ours:,} characters are more than an eighth of {each.reference:,}")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
