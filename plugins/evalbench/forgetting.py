"""Forgetting a run: it is purged from every object that was derived from it.

What stays is a hash of its path, so that a directory that is still there isn't read again (under another name it would
be), and in the decision log that a decision was made, without the run's name. A dataset that follows the lake is purged
with it. Not safe beside a running pipeline: one that read the run before may write it again.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from evalbench.delivery import deliver, warehouse_of
from evalbench.errors import PipelineError, UsageError
from evalbench.lake.commits import read_commit, read_commits
from evalbench.lake.facts import read_head
from evalbench.lake.index import IndexEntry, compact, every_entry, forgotten, read_index, write_segment
from evalbench.lake.texts import texts_of
from evalbench.lake.transcripts import transcripts_of
from evalbench.publishing import Execution, publish_date, rules_hash, unpublished
from evalbench.rulebook import read_rules
from evalbench.settings import Settings
from evalbench.sinks.decision_log import forget_run
from evalbench.sinks.parquet import without_rows
from evalbench.standing import Latest, loader
from evalbench.storage import Storage, lake_of

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
    """Purge a run from facts, verdicts, transcripts, summaries, tables, decision log, index and past executions.

    Interrupted, it can be repeated. Raises UsageError when there is no such lake, or it knows no such run.
    """
    lake = lake_of(settings)
    if not lake.is_there():
        raise UsageError(f"{lake}: no such lake; check --lake")
    known_facts = lake.paths("facts")
    owners = lake.at_once(lambda path: _run_id_of(lake, path), known_facts)
    facts = [path for path, owner in zip(known_facts, owners, strict=True) if owner == run_id]
    keys = {path.split("/")[1] for path in facts}
    keys |= {entry.run_key for entry in every_entry(lake) if run_id in _names(entry)}
    if not keys:
        raise UsageError(f"{run_id}: the lake {lake} knows no such run; give the run id as the table runs has it")
    known = read_index(lake)
    _check_rules(lake, settings, (known[key] for key in keys if key in known))
    write_segment(
        lake, (forgotten(known[key]) for key in sorted(keys) if key in known and run_id in _names(known[key]))
    )
    dates = _publish_anew(lake, settings)
    states = _files(lake, "trends/run_states")
    purged = lake.at_once(lambda path: without_rows(lake, path, "run_key", keys), states)
    rewritten = [path for path, had in zip(states, purged, strict=True) if had]
    rewritten += forget_run(lake, run_id, REDACTED)
    if (warehouse := warehouse_of(settings)) is not None:
        deliver(lake, warehouse, news=True)
    told = _told(lake, {run_id, *keys})
    derived = [*texts_of(lake, run_id), *told, *_verdicts(lake, facts), *transcripts_of(lake, facts), *facts]
    removed = [path for path in derived if lake.delete(path)]
    compact(lake, most=0)
    lake.remove_unfinished(timedelta(0))
    return Forgotten(run_id=run_id, directories=len(keys), dates=dates, removed=len(removed), rewritten=len(rewritten))


def _names(entry: IndexEntry) -> set[str | None]:
    return {entry.run_id, entry.standing.run_id if entry.standing is not None else None}


def _run_id_of(lake: Storage, facts: str) -> str | None:
    """Whose facts these are, None where they can't be read."""
    with suppress(PipelineError):
        return read_head(lake, facts).run_id
    return None


def _files(lake: Storage, folder: str) -> list[str]:
    return [path for path in lake.paths(folder) if path.endswith(".parquet")]


def _check_rules(lake: Storage, settings: Settings, entries: Iterable[IndexEntry]) -> None:
    """Dates published again must not be decided by other rules on the way."""
    own = rules_hash(read_rules(settings))
    days = {entry.standing.run_date for entry in entries if entry.standing is not None}
    for day in sorted(days):
        commit = read_commit(lake, day)
        if commit is not None and commit.rules not in (None, own):
            raise UsageError(
                f"{day} was published under other rules; give --routing and --policy as the nights have them, or run"
                " the pipeline under these first"
            )


def _verdicts(lake: Storage, facts: Iterable[str]) -> Iterator[str]:
    """Verdicts on these facts, by whatever versions."""
    for path in facts:
        stem = path.removeprefix("facts/").removesuffix("parquet")
        yield from (
            found for found in lake.paths(f"verdicts/{stem.partition('/')[0]}") if found.startswith(f"verdicts/{stem}")
        )


def _publish_anew(lake: Storage, settings: Settings) -> tuple[date, ...]:
    """Every date whose evidence the run was."""
    execution = Execution(plan_id="forget", now=settings.now(), settings=settings)
    latest = Latest(lake, read_rules(settings), execution.now, loader(lake, store=True))
    days = unpublished(latest(), read_commits(lake), lake.sizes("trends"), None, None)
    for day in sorted(days):
        publish_date(lake, day, latest, execution)
    return tuple(sorted(days))


def _told(lake: Storage, names: Collection[str]) -> Iterator[str]:
    """Plans, results, reports and the like of past executions that name the run, or one of its directories by key."""
    naming = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w-])")
    records = [path for path in lake.paths("_ops") if path.endswith(".json")]
    naming_it = lake.at_once(lambda path: bool(naming.search(path)) or _tells(lake.read(path), naming), records)
    yield from (path for path, tells in zip(records, naming_it, strict=True) if tells)


def _tells(data: bytes, naming: re.Pattern[str]) -> bool:
    """Whether a record names the run. One that can't be read may, and is of no other use."""
    try:
        return bool(data) and any(naming.search(text) for text in _texts(json.loads(data)))
    except ValueError:
        return True


def _texts(value: object) -> Iterator[str]:
    """Every text in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for item in value.items() for part in item for text in _texts(part))
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))
