"""A decided date as partitions in the lake, and the pipeline's own book-keeping beside them."""

from collections import Counter
from collections.abc import Iterable
from datetime import date

from evalbench.accounting import DirectoryState, Disposition
from evalbench.comparators import COMPARATORS_VERSION
from evalbench.evaluators import evaluators_digest
from evalbench.gate.decision import GATE_VERSION
from evalbench.lake.facts import read_head
from evalbench.readers.assemble import READER_VERSION
from evalbench.routing import Routing
from evalbench.settings import SummariesMode
from evalbench.signals import SIGNALS_VERSION
from evalbench.sinks.parquet import Published, partition_path, publish_partition
from evalbench.standing import DecidedDay
from evalbench.storage import Storage
from evalbench.summaries.offline import OFFLINE_VERSION
from evalbench.tables import PUBLISHED_TABLES
from evalbench.trends import CodeVersions, EntryState, operational_rows, partition_rows
from evalbench.writing import write_summary

VERSIONS = CodeVersions(
    readers=READER_VERSION,
    evaluators=evaluators_digest(),
    comparators=COMPARATORS_VERSION,
    signals=SIGNALS_VERSION,
    gate=GATE_VERSION,
    summaries=OFFLINE_VERSION,
)


def publish_day(lake: Storage, day: DecidedDay, routing: Routing, summaries: SummariesMode) -> Published:
    """Replace a date's partitions of every table; a date without runs has none."""
    if not day.runs:
        paths = [partition_path(table, day.day) for table in PUBLISHED_TABLES]
        return Published(removed=tuple(path for path in paths if lake.delete(path)))
    texts = [write_summary(lake, scored, summaries) for scored in day.runs]
    rows = partition_rows(day.day, day.runs, day.decided, texts, routing, VERSIONS)
    return publish_partition(lake, day.day, rows)


def publish_operations(
    lake: Storage, today: date, plan_id: str, states: Iterable[DirectoryState], routing: Routing
) -> None:
    """Replace today's `run_states` and `accounting`: what this execution made of everything it listed."""
    found = list(states)
    counts = Counter((state.disposition.value, _reason(state)) for state in found)
    rows = operational_rows(
        today,
        plan_id,
        (_entry(lake, state) for state in found),
        {("listed", None): len(found), **counts},
        routing,
        VERSIONS,
    )
    publish_partition(lake, today, rows)


def _entry(lake: Storage, state: DirectoryState) -> EntryState:
    """A state as a row; with its run's names where its facts are in the lake."""
    facts = state.facts if state.facts is not None and lake.exists(state.facts) else None
    return EntryState(
        path=state.path,
        state=state.disposition.value,
        reason=_reason(state),
        detail=state.message or None,
        run_key=state.run_key,
        run_id=state.run_id,
        run_time=state.run_time,
        content=state.content,
        run=None if facts is None else read_head(lake, facts),
    )


def _reason(state: DirectoryState) -> str | None:
    """Reasons are counted for what was quarantined or ignored."""
    return state.reason if state.disposition in (Disposition.QUARANTINED, Disposition.IGNORED) else None
