"""Real partitions for tests: runs decided as the pipeline decides them, published into a lake in `tmp_path`."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa

from evalbench.decided import DecidedSubject, decide_subject
from evalbench.gate.case import Case, Subject, as_of
from evalbench.lake.commits import read_commits
from evalbench.ledger import Run, ScoredRun
from evalbench.policy import Policy, parse_policy
from evalbench.pool import pool_runs
from evalbench.readers.assemble import read_run
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.routing import Routing, parse_routing
from evalbench.scoring import score_run
from evalbench.sinks.duckdb import query
from evalbench.sinks.parquet import Published, partition_objects
from evalbench.storage import LocalStorage
from evalbench.trends import CodeVersions, Row, RunSummary, partition_rows

NO_ROUTES = parse_routing("schema: 1", "routing.yaml")
VERSIONS = CodeVersions(readers="1", evaluators="e", comparators="1", signals="1", gate="1", summaries="1")
LATER = datetime(2027, 1, 1, tzinfo=UTC)


def subject_of(run: Run, routing: Routing = NO_ROUTES) -> Subject:
    """The subject a run belongs to."""
    return Subject(
        product=run.product, suite=routing.suite_of(run), environment=run.environment, candidate=run.candidate
    )


def decided_on(
    day: date, scored: Iterable[ScoredRun], policies: Iterable[Policy], routing: Routing = NO_ROUTES
) -> list[DecidedSubject]:
    """Every subject with a run on `day`, decided over its window by each of the policies."""
    known = list(scored)
    chosen = list(policies)
    subjects = sorted({subject_of(item.run, routing) for item in known if item.run.run_date == day})
    return [decide_subject(_case(subject, day, policy, known, routing)) for subject in subjects for policy in chosen]


def _case(subject: Subject, day: date, policy: Policy, known: list[ScoredRun], routing: Routing) -> Case:
    first = day - timedelta(days=policy.window.days - 1)
    runs = [item for item in known if subject_of(item.run, routing) == subject and first <= item.run.run_date <= day]
    return Case(subject=subject, on=day, policy=policy, pool=pool_runs(runs, policy, as_of(day)))


def rows_of(
    day: date, scored: Sequence[ScoredRun], policies: Iterable[Policy], routing: Routing = NO_ROUTES
) -> dict[str, list[Row]]:
    """A date's rows, each run with a text beside it."""
    on_day = [item for item in scored if item.run.run_date == day]
    texts = [RunSummary(run=item.run, state="offline", text=f"About {item.run.run_id}.") for item in on_day]
    return partition_rows(day, on_day, decided_on(day, scored, policies, routing), texts, routing, VERSIONS)


def publish_partition(store: LocalStorage, day: date, rows: Mapping[str, Sequence[Row]]) -> Published:
    """Replace a date's partitions of the tables in `rows`."""
    changed = {path: store.write_atomic(path, data) for path, data in partition_objects(day, rows).items()}
    return Published(
        written=tuple(path for path, wrote in changed.items() if wrote),
        unchanged=tuple(path for path, wrote in changed.items() if not wrote),
    )


def publish(
    lake: Path, scored: Sequence[ScoredRun], policies: Sequence[Policy], routing: Routing = NO_ROUTES
) -> list[Published]:
    """Publish every date that has a run."""
    days = sorted({item.run.run_date for item in scored})
    store = LocalStorage(str(lake))
    return [publish_partition(store, day, rows_of(day, scored, policies, routing)) for day in days]


def ask(lake: Path, sql: str) -> list[dict[str, object]]:
    """The rows of a query."""
    table: pa.Table = query(LocalStorage(str(lake)), sql, partial(read_commits, LocalStorage(str(lake))))
    return table.to_pylist()


def mismatches(lake: Path) -> list[dict[str, object]]:
    """Signals that SQL recomputes differently from what is published."""
    return ask(lake, "SELECT * EXCLUDE (matches) FROM recompute_signals WHERE NOT matches")


def sample(directory: Path) -> ScoredRun:
    """A shipped run directory, read and scored."""
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    found = read_run(
        Snapshot(path=directory.name, files=files, newest_mtime=LATER), ReadOptions(now=LATER, grace=timedelta(0))
    )
    assert isinstance(found, Run), found
    return score_run(found)


def sample_policy(path: Path) -> Policy:
    """A shipped policy."""
    return parse_policy(path.read_text(encoding="utf-8"), path.name)


def bytes_below(lake: Path) -> dict[str, bytes]:
    """Every file of a lake by its path."""
    return {str(path.relative_to(lake)): path.read_bytes() for path in sorted(lake.rglob("*")) if path.is_file()}
