"""What processes do to one lake at the same time: publish into it, read it, add to its index.

A process finds these functions by their module's name, which it can't for those of a test module.
"""

import io
import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import date
from pathlib import Path

from tests.lakes import AFTER, ask

from evalbench import nightly
from evalbench.accounting import Disposition
from evalbench.cli import main
from evalbench.errors import PipelineError
from evalbench.lake.index import IndexEntry, read_index, write_segment
from evalbench.settings import Settings
from evalbench.storage import LocalStorage

COUNTS = """
SELECT run_date, count(*) AS n, count(DISTINCT run_id) AS ids FROM runs GROUP BY ALL
UNION ALL SELECT run_date, count(*), count(DISTINCT run_id) FROM trials GROUP BY ALL
UNION ALL SELECT run_date, count(*), count(DISTINCT run_id) FROM effects GROUP BY ALL
UNION ALL SELECT run_date, count(*), count(DISTINCT run_id) FROM summaries GROUP BY ALL
UNION ALL SELECT run_date, sum(run_count)::BIGINT, sum(run_count)::BIGINT FROM decisions GROUP BY ALL
"""
"""A run here is one trial with one effect, and counts in one decision where no window pools days."""
POLICIES = """
SELECT run_date, policy_hash FROM decisions
UNION SELECT run_date, policy_hash FROM gate_checks
UNION SELECT run_date, policy_hash FROM signals
UNION SELECT run_date, policy_hash FROM policies
"""


def score(used: Settings, plan_id: str, day: date | None = None) -> None:
    """Discover, score and summarize, as the DAG does: a sweep, or a backfill of one date."""
    for number, _ in enumerate(nightly.discover(used, plan_id, since=day, until=day)):
        list(nightly.score_batch(used, plan_id, number))
        list(nightly.summarize_batch(used, plan_id, number))


def dag_run(used: Settings, plan_id: str, day: date | None = None, arriving: Path | None = None) -> None:
    """A whole DAG run, after a directory came in."""
    arrive(used, arriving)
    score(used, plan_id, day)
    nightly.publish(used, plan_id)


def command(used: Settings, arriving: Path | None = None) -> None:
    """`evalbench run`, after a directory came in."""
    arrive(used, arriving)
    os.environ["EVALBENCH_CLOCK"] = AFTER
    with redirect_stdout(io.StringIO()):
        assert main(["run", used.require_runs(), "--lake", used.require_lake(), "--grace-hours", "0"]) in (0, 3, 4)


def arrive(used: Settings, arriving: Path | None) -> None:
    """Put a directory into the runs root, whole."""
    if arriving is not None:
        arriving.rename(Path(used.require_runs()) / arriving.name)


def half_dates(lake: Path) -> list[str] | None:
    """What a reader sees of a date that can't be: half of its runs, two policies. None when it got no answer."""
    try:
        counts, policies = ask(lake, COUNTS), ask(lake, POLICIES)
    except PipelineError:
        return None
    runs, hashes = defaultdict[object, set[object]](set), defaultdict[object, set[object]](set)
    for row in counts:
        runs[row["run_date"]] |= {row["n"], row["ids"]}
    for row in policies:
        hashes[row["run_date"]].add(row["policy_hash"])
    return [f"{day}: {found}" for seen in (runs, hashes) for day, found in seen.items() if len(found) > 1]


def entry(name: str) -> IndexEntry:
    """What is known of a directory that is no run."""
    ignored = Disposition.IGNORED
    return IndexEntry(run_key=name, path=name, seen=1, hint="h", reading="1", disposition=ignored, plan_id="p")


def add_entries(lake: LocalStorage, names: Sequence[str]) -> list[str]:
    """Add to the index one by one; what wasn't there as soon as it was added, or wasn't any more."""
    lost = []
    for number, name in enumerate(names, start=1):
        write_segment(lake, [entry(name)])
        lost += sorted(set(names[:number]) - read_index(lake).keys())
    return lost
