"""Which facts stand for which run directory: `index/current.json`, rewritten whole by publish.

One entry per run directory, its latest facts. Of two directories with one run id only the first by (run_time, path)
stands, whatever arrived first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from evalbench.accounting import WITH_FACTS, DirectoryState, Disposition
from evalbench.lake.objects import read_json, to_json
from evalbench.ledger import RunState
from evalbench.storage import Storage

PATH = "index/current.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """The facts that stand for a run directory."""

    run_key: str
    path: str
    facts: str
    run_id: str
    run_time: datetime
    state: RunState
    content: str

    @property
    def run_date(self) -> date:
        """UTC date of `run_time`."""
        return self.run_time.date()


Index = dict[str, IndexEntry]
"""Entries by run key, sorted by it."""


def read_index(lake: Storage) -> Index:
    """The lake's index, empty for a new lake. Raises PipelineError when it is damaged."""
    return {entry.run_key: entry for entry in read_json(lake, PATH, list[IndexEntry]) or ()}


def write_index(lake: Storage, index: Index) -> bool:
    """Replace the lake's index; whether it changed."""
    return lake.write_atomic(PATH, to_json([index[key] for key in sorted(index)]))


def updated(index: Index, states: Iterable[DirectoryState]) -> tuple[Index, dict[str, str]]:
    """(the index after these states, duplicates: run key → path of the directory that has the run id first).

    A scored or unchanged directory gets its entry. One that moved out of range with other content loses its old entry,
    which no longer describes it. One that yields no ledger now keeps what was known of it.
    """
    merged = dict(index)
    firsts: dict[str, tuple[datetime, str, str]] = {}
    for state in states:
        if state.run_id is None or state.run_time is None:
            continue
        if state.disposition in WITH_FACTS and state.facts and state.state and state.content:
            merged[state.run_key] = IndexEntry(
                run_key=state.run_key,
                path=state.path,
                facts=state.facts,
                run_id=state.run_id,
                run_time=state.run_time,
                state=state.state,
                content=state.content,
            )
        elif state.disposition is Disposition.OUT_OF_RANGE:
            if state.run_key in merged and merged[state.run_key].content != state.content:
                del merged[state.run_key]
            _first(firsts, state.run_id, (state.run_time, state.path, state.run_key))
    for entry in merged.values():
        _first(firsts, entry.run_id, (entry.run_time, entry.path, entry.run_key))
    duplicates = {key: firsts[entry.run_id][1] for key, entry in merged.items() if firsts[entry.run_id][2] != key}
    return {key: merged[key] for key in sorted(merged.keys() - duplicates.keys())}, duplicates


def changed_dates(before: Mapping[str, IndexEntry], after: Mapping[str, IndexEntry]) -> frozenset[date]:
    """Run dates on which another set of facts stands now."""
    gone = {(entry.run_date, entry.facts) for entry in before.values()}
    here = {(entry.run_date, entry.facts) for entry in after.values()}
    return frozenset(day for day, _ in gone ^ here)


def _first(firsts: dict[str, tuple[datetime, str, str]], run_id: str, claim: tuple[datetime, str, str]) -> None:
    """Keep the earliest claim to a run id."""
    if run_id not in firsts or claim < firsts[run_id]:
        firsts[run_id] = claim
