"""A decided date as partitions in the lake, and the pipeline's own book-keeping beside them.

What has to be published is derived, never remembered: a date is right when its commit record names the evidence and the
rules that hold now, and its partitions are there. So whatever was interrupted is repeated, and nothing else is touched.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime

from evalbench.accounting import DirectoryState, Disposition
from evalbench.canonical import sha256_json
from evalbench.comparators import COMPARATORS_VERSION
from evalbench.evaluators import evaluators_digest
from evalbench.gate.decision import GATE_VERSION
from evalbench.lake.commits import Commit, StoredObject, commit_path, read_commit, write_commit
from evalbench.lake.facts import read_head
from evalbench.readers.assemble import READER_VERSION
from evalbench.report import is_provisional
from evalbench.routing import Routing
from evalbench.scoring import scoring_digest
from evalbench.settings import Settings
from evalbench.signals import SIGNALS_VERSION
from evalbench.sinks.decision_log import append_decisions
from evalbench.sinks.parquet import Published, partition_bytes, partition_objects, partition_path
from evalbench.standing import DecidedDay, Latest, Standing
from evalbench.storage import Files, Storage
from evalbench.subjects import Rules
from evalbench.summaries.offline import OFFLINE_VERSION
from evalbench.tables import OPERATIONAL_TABLES, PUBLISHED_TABLES
from evalbench.trends import CodeVersions, EntryState, decision_log_rows, operational_rows, partition_rows
from evalbench.trends.context import TRENDS_VERSION
from evalbench.writing import stored_summary

VERSIONS = CodeVersions(
    readers=READER_VERSION,
    evaluators=evaluators_digest(),
    comparators=COMPARATORS_VERSION,
    signals=SIGNALS_VERSION,
    gate=GATE_VERSION,
    summaries=OFFLINE_VERSION,
)
UNTOLD = frozenset({Disposition.UNCHANGED, Disposition.OUT_OF_RANGE})
"""Where an entry ends that is no news: counted in `accounting`, not told in `run_states`."""
EXCLUDED = "excluded"
REPLACED = frozenset(table.name for table in PUBLISHED_TABLES)
PARTITION = re.compile(r"trends/(\w+)/run_date=(\d{4}-\d\d-\d\d)/part-0\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution of the pipeline, as far as what it publishes depends on it."""

    plan_id: str
    now: datetime
    settings: Settings


def rules_hash(rules: Rules) -> str:
    """Hash of all beside the evidence that can change what is decided or how it is told: operator's files, code."""
    code = {name: version for name, version in asdict(VERSIONS).items() if name != "summaries"}
    schemas = {table.name: [str(table.version), *table.column_names] for table in PUBLISHED_TABLES}
    return sha256_json({"rules": rules.digest, "code": [code, scoring_digest(), TRENDS_VERSION, schemas]})


def texts_hash(settings: Settings) -> str:
    """Hash of what can change the summaries that are shown. No decision knows of it."""
    return sha256_json(
        [VERSIONS.summaries, settings.summaries.value, settings.summary_prompt_tokens, settings.summary_models]
    )


def unpublished(
    standing: Standing,
    commits: Mapping[date, Commit],
    sizes: Mapping[str, int],
    rules: str | None,
    texts: str | None,
) -> frozenset[date]:
    """Dates whose partitions are not what they should be.

    commits: by date. sizes: of the files below `trends/`. rules, texts: see `rules_hash` and `texts_hash`; None where a
    date published under others is left as it is.
    """
    emptied = {day for day, commit in commits.items() if commit.objects or commit.writing}
    emptied |= {day for path in sizes if (day := _day_of(path)) is not None and day not in commits}
    return frozenset(
        day
        for day in {*standing.days, *emptied}
        if not _is_right(commits.get(day), standing.evidence(day), rules, texts, sizes)
    )


def publish_date(lake: Storage, day: date, latest: Latest, execution: Execution) -> tuple[Published, Published]:
    """Make a date's partitions what they should be: (partitions, new entries of the decision log).

    One publisher of the date at a time, and again whenever the evidence changed meanwhile: of any number of publishers
    the last one has seen what all of them added. What is right already is not written.
    """

    def replace_them(files: Files) -> tuple[Standing, Published, Published]:
        standing = latest()
        return standing, *_replace(lake, files, standing.on(day), standing, execution)

    partitions, logged = Published(), Published()
    while True:
        lock, paths = f"_ops/locks/{day.isoformat()}.lock", [commit_path(day), *_paths(day)]
        standing, replaced, added = lake.alone(lock, paths, replace_them)
        partitions, logged = partitions + replaced, logged + added
        if latest().evidence(day) == standing.evidence(day):
            return partitions, logged


def publish_operations(
    lake: Storage, execution: Execution, states: Iterable[DirectoryState], gone: Iterable[DirectoryState], rules: Rules
) -> None:
    """This execution's part of today's `run_states` and `accounting`: what it made of everything it listed.

    gone: known directories that are listed no more.
    """
    today, found = execution.now.date(), list(states)
    counts = Counter((state.disposition.value, _reason(state)) for state in found)
    told = [_told(state, rules) for state in (*found, *gone)]
    news = [state for state in told if state.disposition not in UNTOLD or state.reason == EXCLUDED]
    rows = operational_rows(
        today,
        execution.plan_id,
        lake.at_once(lambda state: _entry(lake, state), news),
        {("listed", None): len(found), **counts},
        rules.routing,
        VERSIONS,
        execution.now,
    )
    for table in OPERATIONAL_TABLES:
        path = partition_path(table, today, execution.plan_id)
        lake.write_atomic(path, partition_bytes(table, rows[table.name]))


def _day_of(path: str) -> date | None:
    """The date of a partition that is replaced; None for any other file."""
    found = PARTITION.fullmatch(path)
    return date.fromisoformat(found[2]) if found is not None and found[1] in REPLACED else None


def _is_right(
    commit: Commit | None, evidence: str, rules: str | None, texts: str | None, sizes: Mapping[str, int]
) -> bool:
    if commit is None or commit.writing or commit.evidence != evidence:
        return False
    if rules not in (None, commit.rules) or texts not in (None, commit.texts):
        return False
    there = {path for path in _paths(commit.run_date) if path in sizes}
    return there <= commit.objects.keys() and all(
        sizes.get(path) == stored.size for path, stored in commit.objects.items()
    )


def _replace(
    lake: Storage, files: Files, day: DecidedDay, standing: Standing, execution: Execution
) -> tuple[Published, Published]:
    """Replace what differs. Partitions before the record that vouches for them, a date's log before both are done.

    A record left `writing` may be of a publisher that is still at it where nothing is locked: then every partition is
    written, so that whatever it still wants to write is refused.
    """
    before = read_commit(lake, day.day)
    unsettled = before is not None and before.writing
    objects = _objects(lake, day, standing.rules.routing, execution.settings)
    stale = {path: data for path, data in objects.items() if unsettled or not files.holds(path, data)}
    surplus = [path for path in _paths(day.day) if path not in objects and files.exists(path)]
    seq = before.seq if before is not None else 0
    record = Commit(
        run_date=day.day,
        seq=seq + 1 if stale or surplus else seq,
        writing=False,
        evidence=standing.evidence(day.day),
        rules=rules_hash(standing.rules),
        texts=texts_hash(execution.settings),
        objects={path: _stored(data) for path, data in objects.items()},
    )
    if stale or surplus:
        write_commit(files, replace(record, writing=True, evidence=None, rules=None, texts=None))
    wrote = lake.at_once(lambda item: files.write_atomic(*item), stale.items())
    written = tuple(path for path, done in zip(stale, wrote, strict=True) if done)
    for path in surplus:
        files.delete(path)
    logged = _log(lake, day, standing.rules.routing, execution)
    write_commit(files, record)
    unchanged = tuple(path for path in objects if path not in written)
    return Published(written=written, unchanged=unchanged, removed=tuple(surplus)), logged


def _objects(lake: Storage, day: DecidedDay, routing: Routing, settings: Settings) -> dict[str, bytes]:
    """A date's partition files; a date without runs and decisions has none."""
    if not day.runs and not day.decided:
        return {}
    texts = lake.at_once(lambda scored: stored_summary(lake, scored, settings), day.runs)
    return partition_objects(day.day, partition_rows(day.day, day.runs, day.decided, texts, routing, VERSIONS))


def _log(lake: Storage, day: DecidedDay, routing: Routing, execution: Execution) -> Published:
    """Put a date's decisions on record, once it is over."""
    if is_provisional(day.day, execution.now.date()):
        return Published()
    rows = decision_log_rows(day.day, execution.now, day.decided, routing, VERSIONS)
    return append_decisions(lake, day.day, rows)


def _paths(day: date) -> list[str]:
    return [partition_path(table, day) for table in PUBLISHED_TABLES]


def _stored(data: bytes) -> StoredObject:
    return StoredObject(size=len(data), sha256=hashlib.sha256(data).hexdigest())


def _told(state: DirectoryState, rules: Rules) -> DirectoryState:
    """A state as it is told: a voided run says so, and on whose word."""
    exclusion = rules.exclusions.of(state.run_id) if state.run_id is not None else None
    if exclusion is None:
        return state
    message = f"{exclusion.reason} ({exclusion.owner}, {exclusion.day.isoformat()})"
    return replace(state, reason=EXCLUDED, message=message)


def _entry(lake: Storage, state: DirectoryState) -> EntryState:
    """A state as a row; with its run's names where its facts are in the lake."""
    facts = state.facts if state.facts is not None and lake.exists(state.facts) else None
    return EntryState(
        path=state.path,
        state=state.disposition.value,
        reason=state.reason if state.reason == EXCLUDED else _reason(state),
        detail=state.message or None,
        change=state.change.value if state.change is not None else None,
        run_key=state.run_key,
        run_id=state.run_id,
        run_time=state.run_time,
        content=state.content,
        run=None if facts is None else read_head(lake, facts),
    )


def _reason(state: DirectoryState) -> str | None:
    """Reasons are counted for what was quarantined or ignored."""
    return state.reason if state.disposition in (Disposition.QUARANTINED, Disposition.IGNORED) else None
