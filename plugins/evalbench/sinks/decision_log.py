"""The decision log in the lake: one file per entry, created once, `trends/decision_log/run_date=…/<log_id>.parquet`."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from evalbench.canonical import canonical_json
from evalbench.errors import PipelineError
from evalbench.sinks.parquet import Published, partition_bytes
from evalbench.tables import table_named

DECISION_LOG = table_named("decision_log")
SUBJECT = ("product", "suite", "environment", "candidate")
AGE = ("decided_at", "log_id")
ID_LENGTH = 32
"""Characters of a log_id in a file's name."""
UNREADABLE = ("this entry of the decision log", "restore the file, or delete it and lose the entry")
"""What can't be read, and what to do then: an entry made anew would be another decision of record."""


class EntryStore(Protocol):
    """The part of a storage this sink needs."""

    def paths(self, prefix: str, /) -> list[str]:
        """Every file below a folder."""

    def read(self, path: str, /) -> bytes:
        """The bytes of a file."""

    def create(self, path: str, data: bytes, /) -> bool:
        """Write a file that is never rewritten; False when it is there already."""

    def write_atomic(self, path: str, data: bytes, /) -> bool:
        """Replace a file whole."""


def entry_path(day: date, log_id: str) -> str:
    """Path of an entry's file, relative to the lake."""
    return f"{_folder(day)}/{log_id[:ID_LENGTH]}.parquet"


def append_decisions(store: EntryStore, day: date, rows: Sequence[Mapping[str, Any]]) -> Published:
    """Add those of a date's decisions (as `trends.decision_log_rows` gives them) that its log doesn't hold yet.

    What is in the log stays as it is: an entry that comes again is `unchanged` and keeps the time of its first
    decision. A new one names the newest entry of its subject as `supersedes`. Raises PipelineError for an entry of the
    date that can't be read.
    """
    known = frozenset(store.paths(_folder(day)))
    new = {path: row for row in rows if (path := entry_path(day, row["log_id"])) not in known}
    newest = _newest(store, known) if new else {}
    written: list[str] = []
    for path, row in sorted(new.items(), key=lambda item: _age(item[1])):
        before = newest.get(_subject(row))
        entry = {**row, "supersedes": None if before is None else before[1]}
        if store.create(path, partition_bytes(DECISION_LOG, [entry])):
            written.append(path)
        newest[_subject(row)] = _age(row)
    there = {entry_path(day, row["log_id"]) for row in rows}.difference(written)
    return Published(written=tuple(sorted(written)), unchanged=tuple(sorted(there)))


def forget_run(store: EntryStore, run_id: str, instead: str) -> list[str]:
    """Write another word where entries name a run, the one thing the log ever gives up; files rewritten, by path."""
    return [path for path in _files(store) if _without(store, path, run_id, instead)]


def _files(store: EntryStore) -> list[str]:
    return [path for path in store.paths(f"trends/{DECISION_LOG.name}") if path.endswith(".parquet")]


def _without(store: EntryStore, path: str, run_id: str, instead: str) -> bool:
    (row,) = pq.read_table(io.BytesIO(store.read(path)), use_threads=False).to_pylist()
    runs = json.loads(row["runs"])
    if run_id not in runs:
        return False
    kept = canonical_json([instead if run == run_id else run for run in runs])
    return store.write_atomic(path, partition_bytes(DECISION_LOG, [{**row, "runs": kept}]))


def _folder(day: date) -> str:
    return f"trends/{DECISION_LOG.name}/run_date={day.isoformat()}"


def _newest(store: EntryStore, paths: Iterable[str]) -> dict[tuple[str, ...], tuple[datetime, str]]:
    """Subject → the newest of its entries: the one that none supersedes, whatever the clock said."""
    entries = sorted((row for path in paths for row in _read(store, path)), key=_age)
    superseded = {row["supersedes"] for row in entries}
    return {_subject(row): _age(row) for row in entries if row["log_id"] not in superseded}


def _read(store: EntryStore, path: str) -> list[dict[str, Any]]:
    try:
        return pq.read_table(
            io.BytesIO(store.read(path)), columns=[*SUBJECT, *AGE, "supersedes"], use_threads=False
        ).to_pylist()
    except (pa.ArrowException, OSError) as error:
        what, then = UNREADABLE
        raise PipelineError(f"{store}/{path}: {what} can't be read ({type(error).__name__}); {then}") from error


def _subject(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in SUBJECT)


def _age(row: Mapping[str, Any]) -> tuple[datetime, str]:
    """What entries are ordered by: the newest is the one that is superseded."""
    return row["decided_at"], row["log_id"]
