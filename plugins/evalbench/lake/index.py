"""What is known of every run directory: a growing set of immutable segments, `index/<hash>.parquet`.

A segment holds entries; of all entries of one directory the latest look counts. Segments are only ever added, by any
number of writers at once, so none can take back what another one added. Compacting writes the union of some segments
as one, then deletes them.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from operator import attrgetter

import msgspec

from evalbench.accounting import TASK_LOST, WITH_FACTS, DirectoryState, Disposition, Identity
from evalbench.lake.facts import DAMAGED
from evalbench.lake.objects import damaged, to_json
from evalbench.lake.plans import Plan
from evalbench.lake.records import Record, decode_records, encode_records
from evalbench.ledger import RunState
from evalbench.storage import Storage

FOLDER = "index"
KIND = "entry"
SEGMENT = re.compile(rf"{FOLDER}/[0-9a-f]{{64}}\.parquet")
FORGOTTEN = "forgotten"
RESTORE = (
    "restore it from a backup: without it forgotten runs whose directories are still there come back, and runs whose"
    " directories are gone leave the tables"
)
MOST_SEGMENTS = 24
"""Segments before they are compacted: reading a night's index must not cost more with every night."""
ATTEMPTS = 20
"""Times a reader starts again because a segment it listed was compacted away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The facts that stand for a run directory."""

    facts: str
    content: str
    run_id: str
    run_time: datetime
    state: RunState

    @property
    def run_date(self) -> date:
        """UTC date of `run_time`."""
        return self.run_time.date()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One run directory as it was last looked at, and the facts that stand for it.

    seen: how many looks found something new. plan_id: the execution that looked last. hint, reading: of the last look;
    while both are the same, what it found still holds. disposition, reason, message: where the look ended. run_id,
    run_time: what it found, facts or none. standing: survives a look that yields no ledger. path: None for a forgotten
    one. identity: whose run it is, where the last look gave no facts of a run that must not be missing in silence.
    """

    run_key: str
    path: str | None
    seen: int
    hint: str | None
    reading: str
    disposition: Disposition
    plan_id: str
    reason: str | None = None
    message: str = ""
    format: str | None = None
    content: str | None = None
    run_id: str | None = None
    run_time: datetime | None = None
    began: datetime | None = None
    beside: str | None = None
    standing: Standing | None = None
    identity: Identity | None = None

    @property
    def lost(self) -> bool:
        """Whether the last look never came back."""
        return self.reason == TASK_LOST

    @property
    def forgotten(self) -> bool:
        """Whether the run was purged; only the hash of its path is kept."""
        return self.reason == FORGOTTEN


Index = dict[str, IndexEntry]
"""The latest entry of every run directory by run key, sorted by it."""


def segments(lake: Storage) -> tuple[str, ...]:
    """Names of the segments there are; the same names hold the same entries."""
    return tuple(name for name in lake.paths(FOLDER) if SEGMENT.fullmatch(name))


def read_index(lake: Storage) -> Index:
    """The union of all segments, empty for a new lake. Raises PipelineError when one is damaged."""
    return read_segments(lake)[1]


def read_segments(lake: Storage) -> tuple[tuple[str, ...], Index]:
    """(names of the segments, their union). Raises PipelineError when one is damaged."""
    for _ in range(ATTEMPTS):
        names = segments(lake)
        found = lake.read_many(names)
        if len(found) == len(names):  # else one was compacted meanwhile: its entries are in another segment
            return names, merged(entry for name, data in found.items() for entry in _decoded(lake, name, data))
    raise damaged(lake, FOLDER, FileNotFoundError("segments vanish while they are read"))


def every_entry(lake: Storage) -> list[IndexEntry]:
    """Also those that later looks superseded, as far as they weren't compacted away."""
    return [entry for name, data in lake.read_many(segments(lake)).items() for entry in _decoded(lake, name, data)]


def write_segment(lake: Storage, entries: Iterable[IndexEntry]) -> str | None:
    """Add entries as one segment; its name, None when there are none."""
    rows = sorted(entries, key=attrgetter("run_key"))
    if not rows:
        return None
    data = encode_records(Record(kind=KIND, payload=to_json(entry)) for entry in rows)
    name = f"{FOLDER}/{hashlib.sha256(data).hexdigest()}.parquet"
    lake.create(name, data)
    return name


def compact(lake: Storage, *, most: int = MOST_SEGMENTS) -> int:
    """Replace the segments by their union when there are more than `most`; how many were removed."""
    names, index = read_segments(lake)
    if len(names) <= most:
        return 0
    kept = write_segment(lake, index.values())
    return sum(lake.delete(name) for name in names if name != kept)


def merged(entries: Iterable[IndexEntry]) -> Index:
    """The latest entry of every directory. Of two equally late ones always the same is taken, facts first."""
    latest: Index = {}
    for entry in entries:
        known = latest.get(entry.run_key)
        if known is None or _rank(entry) > _rank(known):
            latest[entry.run_key] = entry
    return {key: latest[key] for key in sorted(latest)}


def updated(index: Index, states: Iterable[DirectoryState], reading: str, plan: Plan) -> list[IndexEntry]:
    """Entries that the looks of a plan add to an index.

    None for a look that found what is known already, nor for one that another execution has overtaken since the
    directory was listed: of two that saw different files, the one that was published first is kept, and the next sweep
    sees whether it still holds.
    """
    known = ((index.get(state.run_key), state) for state in states)
    found = (_entry(entry, state, reading, plan) for entry, state in known if not _overtaken(entry, state, plan))
    return [entry for entry in found if entry is not None]


def claims(index: Index) -> tuple[dict[str, IndexEntry], dict[str, str]]:
    """(entries whose facts count, by run key; duplicates: run key → path of the directory that has the run id first).

    Of directories with one run id the first by (run_time, path) has it. One that is deleted leaves it to a directory
    with the same content: that is where it was moved to.
    """
    by_id: dict[str, list[IndexEntry]] = defaultdict(list)
    for entry in index.values():
        if (claim := _claim(entry)) is not None:
            by_id[claim[0]].append(entry)
    duplicates: dict[str, str] = {}
    for same in by_id.values():
        first = min(_without_moved(same), key=_first)
        duplicates |= {entry.run_key: first.path or "" for entry in same if entry is not first}
    counting = {key: e for key, e in index.items() if e.standing is not None and key not in duplicates}
    return counting, duplicates


def missing_entries(index: Index) -> Iterator[IndexEntry]:
    """Directories whose content is in no facts, and of which is known whose they are: lost, or unreadable now."""
    return (entry for entry in index.values() if entry.identity is not None)


def forgotten(entry: IndexEntry) -> IndexEntry:
    """What is kept of a purged run: the hash of its path, to know its directory again; nothing of what it was."""
    return IndexEntry(
        run_key=entry.run_key,
        path=None,
        seen=entry.seen + 1,
        hint=None,
        reading=entry.reading,
        disposition=Disposition.IGNORED,
        plan_id=FORGOTTEN,
        reason=FORGOTTEN,
    )


def _decoded(lake: Storage, name: str, data: bytes) -> list[IndexEntry]:
    try:
        return [msgspec.json.decode(record.payload, type=IndexEntry) for record in decode_records(data)]
    except DAMAGED as error:
        raise damaged(lake, name, error, RESTORE) from error


def _rank(entry: IndexEntry) -> tuple[int, bool, bool, bytes]:
    return entry.seen, entry.disposition in WITH_FACTS, entry.standing is not None, to_json(entry)


def _overtaken(known: IndexEntry | None, state: DirectoryState, plan: Plan) -> bool:
    """Whether another execution looked since the listing, and this look adds nothing to what that one saw.

    It adds something where both saw the same files and only this one made facts of them.
    """
    if known is None or known.seen <= state.seen or known.plan_id == plan.plan_id:
        return False
    first_facts = state.disposition in WITH_FACTS and known.disposition is not Disposition.SCORED
    return not (first_facts and known.hint == state.hint)


def _entry(known: IndexEntry | None, state: DirectoryState, reading: str, plan: Plan) -> IndexEntry | None:
    """The entry a look makes; None where it remembers nothing or found nothing new."""
    if known is None and state.hint is None and state.reason != TASK_LOST:
        return None
    if known is not None and known.forgotten:
        return None
    same_look = known is not None and known.hint is not None and (known.hint, known.reading) == (state.hint, reading)
    standing = _standing(known, state, plan)
    out_of_range = state.disposition is Disposition.OUT_OF_RANGE
    if known is not None and same_look and out_of_range and standing == known.standing:
        return None
    entry = IndexEntry(
        run_key=state.run_key,
        path=state.path,
        seen=1 if known is None else known.seen + 1,
        hint=state.hint,
        reading=reading,
        disposition=Disposition.SCORED if state.disposition is Disposition.UNCHANGED else state.disposition,
        plan_id=plan.plan_id,
        reason=state.reason,
        message=state.message,
        format=state.format,
        content=state.content,
        run_id=state.run_id,
        run_time=state.run_time,
        began=state.began,
        beside=state.beside,
        standing=standing,
        identity=state.identity,
    )
    return None if known is not None and replace(entry, seen=known.seen, plan_id=known.plan_id) == known else entry


def _standing(known: IndexEntry | None, state: DirectoryState, plan: Plan) -> Standing | None:
    """The facts that stand after a look.

    They go when their directory has moved from a date in range to one out of range: they no longer describe it, and its
    new facts are another execution's to make.
    """
    if state.disposition in WITH_FACTS and state.facts and state.run_id and state.run_time and state.state:
        return Standing(
            facts=state.facts,
            content=state.content or "",
            run_id=state.run_id,
            run_time=state.run_time,
            state=state.state,
        )
    before = known.standing if known is not None else None
    moved = before is not None and state.run_date is not None and state.run_date != before.run_date
    if before is not None and moved and state.disposition is Disposition.OUT_OF_RANGE:
        return None if plan.covers(before.run_date) else before
    return before


def _claim(entry: IndexEntry) -> tuple[str, datetime] | None:
    """(run id, run time) that a directory claims: by its facts, or by a date out of range."""
    if entry.standing is not None:
        return entry.standing.run_id, entry.standing.run_time
    if entry.disposition is Disposition.OUT_OF_RANGE and entry.run_id is not None and entry.run_time is not None:
        return entry.run_id, entry.run_time
    return None


def _first(entry: IndexEntry) -> tuple[datetime, str]:
    claim = _claim(entry)
    if claim is None:
        raise ValueError(f"{entry.run_key} claims no run id")
    return claim[1], entry.path or ""


def _without_moved(same: list[IndexEntry]) -> list[IndexEntry]:
    """Without deleted directories whose content another one has."""
    here = {_content(entry) for entry in same if entry.disposition is not Disposition.DELETED}
    kept = [entry for entry in same if entry.disposition is not Disposition.DELETED or _content(entry) not in here]
    return kept or same


def _content(entry: IndexEntry) -> str | None:
    return entry.standing.content if entry.standing is not None else entry.content
