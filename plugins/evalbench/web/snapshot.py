"""One state of the lake, of whole dates only. A new state is a new snapshot, which takes over what didn't change."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeVar

import pyarrow as pa

from evalbench import __version__
from evalbench.canonical import sha256_json
from evalbench.errors import PipelineError
from evalbench.lake.commits import FOLDER, RECORD, Commit, commit_path
from evalbench.lake.objects import read_jsons
from evalbench.storage import Storage
from evalbench.web.database import Database
from evalbench.web.derived import derived_rows
from evalbench.web.partitions import Rows, committed_rows, table_rows
from evalbench.web.tables import FILE, GROWING, HELD

DATES_AT_ONCE = 4
FILES_AT_ONCE = 256
"""What is in memory beside the database while a snapshot is taken."""
VERSION_LETTERS = 16
OPERATIONAL = ("run_states", "accounting")
"""Growing tables that tell how executions of the pipeline went; no decision rests on them."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What listings tell of a lake: digests of its commit records, sizes of the files that no record vouches for."""

    commits: Mapping[str, str]
    growing: Mapping[str, int]

    @classmethod
    def of(cls, lake: Storage) -> "Seen":
        """How the lake looks now."""
        commits = {path: digest for path, digest in lake.digests(FOLDER).items() if RECORD.fullmatch(path)}
        sizes = {path: size for name in GROWING for path, size in lake.sizes(f"trends/{name}").items()}
        return cls(commits=commits, growing={path: size for path, size in sizes.items() if path.endswith(".parquet")})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """What of a lake isn't held as it is there.

    shown_before, left_out: dates that aren't whole there, with rows of before, and without any. misfits: those of them
    whose record says that nobody is publishing, by its digest, while their files are others. lost: the misfits that
    were so at two looks in a row under the same record: nobody publishes them. unreadable: operational files that can't
    be read, by path, each with why.
    """

    shown_before: tuple[date, ...] = ()
    left_out: tuple[date, ...] = ()
    misfits: Mapping[date, str] = field(default_factory=dict)
    lost: tuple[date, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Rows of the lake.

    seen: how the lake looked. settled: commit records under whose digest rows are held. version: changes with the rows,
    and with the code; the same in every process.
    """

    database: Database
    seen: Seen
    settled: Mapping[str, str]
    version: str
    unsettled: Unsettled

    @property
    def unsure(self) -> bool:
        """Whether it may be another one though the lake looks the same: a file that didn't fit may fit now."""
        return bool(self.unsettled.misfits or self.unsettled.unreadable)

    @property
    def unproven(self) -> bool:
        """Whether another look tells if a date is being published, or has lost a file."""
        return len(self.unsettled.misfits) > len(self.unsettled.lost)


def take_snapshot(lake: Storage, seen: Seen, before: Snapshot | None) -> Snapshot:
    """The lake as it looks now; what `before` holds of it already isn't read again, and where that is all, it is kept.

    A date that is being published keeps the rows it had before, and has none where there was no before. Raises
    PipelineError for a damaged file, StorageError when the lake can't be reached.
    """
    held = before.settled if before is not None else {}
    stale = [path for path, digest in seen.commits.items() if held.get(path) != digest]
    commits = sorted(read_jsons(lake, stale, Commit).values(), key=lambda commit: commit.run_date)
    database = Database()
    loaded = _add_dates(database, lake, [commit for commit in commits if not commit.writing])
    days = frozenset(commit.run_date for commit in loaded)
    files = _stale_files(seen, before, days)
    unreadable = _add_files(database, lake, files)
    unsettled = _unsettled(seen, before, [commit for commit in commits if commit.run_date not in days], unreadable)
    if before is not None:
        gone = frozenset(date.fromisoformat(path[-15:-5]) for path in held.keys() - seen.commits.keys())
        dropped = {*files, *(before.seen.growing.keys() - seen.growing.keys())}
        if not days and not gone and dropped <= unreadable.keys() & before.unsettled.unreadable.keys():
            same = before.seen == seen and before.unsettled == unsettled
            return before if same else replace(before, seen=seen, unsettled=unsettled)
        _take_over(database, before.database, days | gone, dropped)
    database.finish()
    fresh = {path: seen.commits[path] for commit in loaded if (path := commit_path(commit.run_date)) in seen.commits}
    settled = {path: digest for path, digest in held.items() if path in seen.commits} | fresh
    readable = {path: size for path, size in seen.growing.items() if path not in unreadable}
    return Snapshot(
        database=database,
        seen=seen,
        settled=settled,
        version=sha256_json([__version__, settled, readable])[:VERSION_LETTERS],
        unsettled=unsettled,
    )


def _unsettled(
    seen: Seen, before: Snapshot | None, commits: Sequence[Commit], unreadable: Mapping[str, str]
) -> Unsettled:
    """commits: those of which no rows could be read now."""
    held = before.settled if before is not None else {}
    known = before.unsettled.misfits if before is not None else {}
    misfits = {
        commit.run_date: digest
        for commit in commits
        if not commit.writing and (digest := seen.commits.get(commit_path(commit.run_date))) is not None
    }
    return Unsettled(
        shown_before=tuple(commit.run_date for commit in commits if commit_path(commit.run_date) in held),
        left_out=tuple(commit.run_date for commit in commits if commit_path(commit.run_date) not in held),
        misfits=misfits,
        lost=tuple(day for day, digest in misfits.items() if known.get(day) == digest),
        unreadable=unreadable,
    )


def _add_dates(database: Database, lake: Storage, commits: Sequence[Commit]) -> list[Commit]:
    """Those whose rows were as their record says, and are in the database now."""
    added: list[Commit] = []
    for chunk in _chunks(commits, DATES_AT_ONCE):
        found = zip(chunk, committed_rows(lake, chunk), strict=True)
        whole = [(commit, rows) for commit, rows in found if rows is not None]
        dates = [rows for _, rows in whole]
        for rows in (*dates, derived_rows(dates)):
            _add(database, rows)
        added += [commit for commit, _ in whole]
    return added


def _add(database: Database, rows: Rows) -> None:
    for name in rows.keys() & HELD.keys():
        database.add(name, rows[name])


def _stale_files(seen: Seen, before: Snapshot | None, days: Collection[date]) -> list[str]:
    """Growing files to be read. Those of a date published anew are: forgetting a run rewrites both."""
    known = before.seen.growing if before is not None else {}
    unreadable = before.unsettled.unreadable if before is not None else {}
    again = tuple(f"run_date={day.isoformat()}/" for day in days)
    return [
        path
        for path, size in seen.growing.items()
        if known.get(path) != size or path in unreadable or any(part in path for part in again)
    ]


def _add_files(database: Database, lake: Storage, files: Sequence[str]) -> dict[str, str]:
    """Add growing files; those about executions that can't be read are passed over: path → why, in a sentence."""
    unreadable: dict[str, str] = {}
    for chunk in _chunks(files, FILES_AT_ONCE):
        rows: dict[str, list[pa.Table]] = {}
        for path, data in lake.read_many(chunk).items():
            name = path.split("/")[1]
            try:
                table = table_rows(lake, name, path, data)
            except PipelineError as error:
                if name not in OPERATIONAL:
                    raise
                unreadable[path] = str(error)
                continue
            rows.setdefault(name, []).append(table.append_column(FILE, pa.array([path] * table.num_rows, pa.string())))
        for name, found in rows.items():
            database.add(name, pa.concat_tables(found))
    return unreadable


def _take_over(database: Database, before: Database, days: Collection[date], files: Collection[str]) -> None:
    """Rows of the snapshot before, without those of these dates and files."""
    for name in HELD:
        column, without = (FILE, sorted(files)) if name in GROWING else ("run_date", sorted(days))
        kept = f"SELECT * FROM {name} WHERE NOT list_contains(?, {column})"
        database.add(name, before.arrow(kept, [without]))


def _chunks(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
