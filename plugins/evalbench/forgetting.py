"""Forgetting a run: it is purged from every object that was derived from it.

What stays is a hash of its path and of its content, so that a directory that is still there isn't read again, and in
the decision log that a decision was made, without the run's name. Not safe beside a running pipeline: one that read the
run before may write it again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from evalbench.errors import UsageError
from evalbench.lake.commits import read_commits
from evalbench.lake.index import IndexEntry, compact, every_entry, forgotten, read_index, write_segment
from evalbench.publishing import Execution, publish_date, unpublished
from evalbench.rulebook import read_rules
from evalbench.settings import Settings
from evalbench.sinks.decision_log import forget_run
from evalbench.sinks.parquet import without_rows
from evalbench.standing import Latest, loader
from evalbench.storage import Storage

REDACTED = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was purged. directories: run directories that had the run id. dates: published anew. removed: files."""

    run_id: str
    directories: int
    dates: tuple[date, ...]
    removed: int
    rewritten: int


def forget(settings: Settings, run_id: str) -> Forgotten:
    """Purge a run from facts, verdicts, summaries, tables, decision log, index and the records of past executions.

    Interrupted, it can be repeated. Raises UsageError when there is no such lake, or it knows no such run.
    """
    lake = Storage(settings.require_lake())
    if not lake.root.is_dir():
        raise UsageError(f"{lake}: no such lake; check --lake")
    keys = {entry.run_key for entry in every_entry(lake) if run_id in _names(entry)}
    if not keys:
        raise UsageError(f"{run_id}: the lake {lake} knows no such run; give the run id as the table runs has it")
    derived = [path for run_key in sorted(keys) for path in _derived(lake, run_key)]
    known = read_index(lake)
    write_segment(lake, (forgotten(known[run_key]) for run_key in keys if not known[run_key].forgotten))
    dates = _publish_anew(lake, settings)
    rewritten = [path for path in lake.paths("trends/run_states") if without_rows(lake, path, "run_key", keys)]
    rewritten += forget_run(lake, run_id, REDACTED)
    removed = [path for path in (*derived, *_mentions(lake, run_id, keys)) if lake.delete(path)]
    compact(lake, most=0)
    lake.remove_unfinished(timedelta(0))
    return Forgotten(run_id=run_id, directories=len(keys), dates=dates, removed=len(removed), rewritten=len(rewritten))


def _names(entry: IndexEntry) -> set[str | None]:
    return {entry.run_id, entry.standing.run_id if entry.standing is not None else None}


def _derived(lake: Storage, run_key: str) -> Iterator[str]:
    """Facts and verdicts of a directory, of every content it ever had."""
    yield from lake.paths(f"facts/{run_key}")
    yield from lake.paths(f"verdicts/{run_key}")


def _publish_anew(lake: Storage, settings: Settings) -> tuple[date, ...]:
    """Every date whose evidence the run was."""
    execution = Execution(plan_id="forget", now=settings.now(), settings=settings)
    latest = Latest(lake, read_rules(settings), execution.now, loader(lake, store=True))
    days = unpublished(latest(), read_commits(lake), lake.sizes("trends"), None)
    for day in sorted(days):
        publish_date(lake, day, latest, execution)
    return tuple(sorted(days))


def _mentions(lake: Storage, run_id: str, keys: set[str]) -> Iterator[str]:
    """Summaries, and plans, results and reports of past executions, that name the run or its directory."""
    words = [word.encode() for word in (run_id, *sorted(keys))]
    for path in (*lake.paths("summaries"), *lake.paths("_ops")):
        if path.endswith(".json") and any(word in lake.read(path) or word.decode() in path for word in words):
            yield path
